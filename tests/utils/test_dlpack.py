"""Memory is shared with NumPy and PyTorch through DLPack, in both directions, for every type that DLPack carries."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16"]
DTYPES += ["float32", "float64", "complex64", "complex128"]
DTYPES += ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_from_torch(dtype: str) -> None:
    theirs = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    for source in (theirs, theirs.t(), theirs[:, ::2], theirs[0, 1], theirs[:0]):
        for ours in (from_dlpack(source), from_dlpack(torch.utils.dlpack.to_dlpack(source))):
            assert repr(ours) == repr(source)
            assert ours.data_ptr() == source.data_ptr() or source.numel() == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_torch(dtype: str) -> None:
    ours = pellucid.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(pellucid, dtype))
    for source in (ours, ours.t(), ours[:, ::2], ours[0, 1], ours[:0]):
        for theirs in (torch.from_dlpack(source), torch.utils.dlpack.from_dlpack(to_dlpack(source))):
            assert repr(source) == repr(theirs)


def test_writes_are_seen_on_both_sides() -> None:
    theirs = torch.zeros(3)
    from_dlpack(torch.utils.dlpack.to_dlpack(theirs)).add_(1)
    assert theirs.tolist() == [1.0, 1.0, 1.0]
    array = np.zeros(3)
    pellucid.from_dlpack(array).add_(2)
    assert array.tolist() == [2.0, 2.0, 2.0]
    ours = pellucid.zeros(2)
    np.from_dlpack(ours)[0] = 5
    assert ours.tolist() == [5.0, 0.0]


def test_copy_and_device() -> None:
    theirs = torch.zeros(3)
    assert from_dlpack(theirs, copy=True).data_ptr() != theirs.data_ptr()
    assert from_dlpack(theirs, copy=False, device="cpu").data_ptr() == theirs.data_ptr()
    assert from_dlpack(theirs, device="meta").device.type == "meta"
    with pytest.raises(AssertionError, match="not supported when ext_tensor is already a DLPack capsule"):
        from_dlpack(to_dlpack(pellucid.ones(1)), copy=True)


def test_a_capsule_is_used_once() -> None:
    capsule = to_dlpack(pellucid.ones(1))
    from_dlpack(capsule)
    for library in (pellucid, torch):
        with pytest.raises(RuntimeError, match="can be consumed only once"):
            library.from_dlpack(capsule)
        with pytest.raises(RuntimeError, match="received an invalid capsule"):
            library.from_dlpack(3)


def test_memory_lives_as_long_as_either_side() -> None:
    array = np.arange(1000.0)
    before = sys.getrefcount(array)
    tensors = [from_dlpack(array) for _ in range(3)]
    view = tensors[0][5:]
    del tensors
    gc.collect()
    assert sys.getrefcount(array) == before + 1
    assert view[0].item() == 5.0
    del view
    gc.collect()
    assert sys.getrefcount(array) == before
    ours = pellucid.ones(1000)
    theirs = torch.from_dlpack(ours)
    del ours
    gc.collect()
    assert theirs.sum() == 1000


def test_a_read_only_array_cannot_be_written_through_a_tensor() -> None:
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="may not be written"):
        from_dlpack(array).add_(1)


class Old:
    """A producer from before DLPack 1.0."""

    def __init__(self, array: np.ndarray, kind: int = 1) -> None:
        self.array = array
        self.kind = kind

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0


def test_old_producers_and_other_devices() -> None:
    array = np.zeros(2)
    from_dlpack(Old(array)).add_(1)
    assert array.tolist() == [1.0, 1.0]
    assert from_dlpack(Old(array), copy=True).add_(1).tolist() == [2.0, 2.0]
    assert array.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Unsupported device_type"):
        from_dlpack(Old(array, int(DLDeviceType.kDLCUDA)))


def test_what_cannot_be_exported() -> None:
    for library in (pellucid, torch):
        with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach()"):
            library.ones(2, requires_grad=True).__dlpack__()
        with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
            library.ones(2, device="meta").__dlpack__()
        with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
            library.ones(2).__dlpack__(stream="a")
        with pytest.raises(ValueError, match="Unknown device type meta"):
            library.ones(2, device="meta").__dlpack_device__()
    with pytest.raises(ValueError, match="negative"):
        from_dlpack(np.arange(3)[::-1])
