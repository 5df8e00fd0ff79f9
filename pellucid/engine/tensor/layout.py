"""`layout` and `memory_format` objects, and the strides that a memory format means."""

from __future__ import annotations

import warnings
from typing import Any

from pellucid.engine.core.device import usable
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.core.meta import Meta, channels_last_strides, contiguous_strides, preserved_strides


class layout:  # noqa: N801 - PyTorch's name
    """How a tensor's elements are kept: strided, or one of the sparse layouts."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return self._name


def refuse_pinning(pin_memory: bool, device: Any) -> None:
    """RuntimeError where page-locked memory is asked for on the CPU: no accelerator is there to allocate it."""
    check(
        not pin_memory or usable(device).type != "cpu",
        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
        "system. Leave pin_memory= away",
    )


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
BY_NAME = {each._name: each for each in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)}


class memory_format:  # noqa: N801 - PyTorch's name
    """An order of the axes in memory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return self._name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def strides_for(meta: Meta, wanted: memory_format | None) -> tuple[int, ...] | None:
    """The strides of a copy of `meta` in that memory format (None for row-major); RuntimeError for a rank that it does
    not fit.
    """
    if wanted is None or wanted is preserve_format:
        return preserved_strides(meta)
    if wanted is contiguous_format:
        return contiguous_strides(meta.shape)
    rank = 4 if wanted is channels_last else 5
    if meta.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {wanted._name} format (got shape {list(meta.shape)})")
    return channels_last_strides(meta.shape)


def follows(meta: Meta, wanted: memory_format) -> bool:
    """Whether a tensor's strides are those of the memory format."""
    if wanted is contiguous_format or wanted is preserve_format:
        return meta.is_contiguous
    rank = 4 if wanted is channels_last else 5
    if meta.ndim != rank:
        return False
    expected = channels_last_strides(meta.shape)
    return meta.numel == 0 or all(s == e for s, e, n in zip(meta.strides, expected, meta.shape, strict=True) if n != 1)


def warn_of_T(ndim: int) -> None:
    """Say what to use in place of `x.T` of a tensor that is no matrix."""
    said = (
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
        "an error in a future release. Consider `x.mT` to transpose batches of matrices or "
        "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        if ndim
        else "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
    )
    warnings.warn(said, UserWarning, stacklevel=user_level())
