"""The safetensors format against the package of that name, both ways, and its rules."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import pellucid
from pellucid.safetensors import SafetensorError, load, load_file, load_model, safe_open, save, save_file, save_model

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("safetensors.torch")
safetensors = pytest.importorskip("safetensors")

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int16",
    "uint16",
    "float16",
    "bfloat16",
    "int32",
    "uint32",
    "float32",
    "complex64",
    "float64",
    "int64",
    "uint64",
]


def every_dtype() -> dict[str, torch.Tensor]:
    raw = torch.arange(48, dtype=torch.uint8)
    made = {
        f"of {dtype}": (raw % 2 if dtype == "bool" else raw).view(getattr(torch, dtype)).clone() for dtype in DTYPES
    }
    return {
        **made,
        "scalar": torch.tensor(1.5),
        "empty": torch.empty(0, 3),
        "square": torch.ones(2, 3),
        "ümläut": torch.ones(1),
    }


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
def test_both_ways_and_byte_for_byte(metadata):
    tensors = every_dtype()
    content = theirs.save(tensors, metadata)
    ours = load(content)
    assert {name: (str(each.dtype), tuple(each.shape)) for name, each in ours.items()} == {
        name: (str(each.dtype), tuple(each.shape)) for name, each in tensors.items()
    }
    assert save(ours, metadata) == content
    # The package writes F8_E8M0 and does not read it.
    back = theirs.load(save({name: each for name, each in ours.items() if "e8m0" not in name}, metadata))
    for name, each in back.items():
        assert each.dtype == tensors[name].dtype and each.shape == tensors[name].shape
        assert not each.numel() or torch.equal(
            each.reshape(-1).view(torch.uint8), tensors[name].reshape(-1).view(torch.uint8)
        )


def test_files(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"w": pellucid.ones(2, 3), "b": pellucid.zeros(3)}, path, {"by": "us"})
    assert theirs.load_file(path)["w"].tolist() == [[1, 1, 1], [1, 1, 1]]
    theirs.save_file({"w": torch.arange(6.0)}, path)
    assert load_file(path)["w"].tolist() == [0, 1, 2, 3, 4, 5]
    assert load_file(path, device="meta")["w"].device.type == "meta"
    assert pellucid.load(path)["w"].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="dict map_location is not supported"):
        pellucid.load(path, map_location={"cpu": "cpu"})


def test_tensors_of_a_file_are_independent(tmp_path):
    save_file({"a": pellucid.ones(2), "b": pellucid.ones(2)}, tmp_path / "x.safetensors")
    loaded = load_file(tmp_path / "x.safetensors")
    loaded["a"]._array[0] = 5
    assert loaded["b"].tolist() == [1, 1] and load_file(tmp_path / "x.safetensors")["a"].tolist() == [1, 1]


def test_safe_open(tmp_path):
    path = tmp_path / "x.safetensors"
    values = torch.arange(12.0).reshape(3, 4)
    theirs.save_file({"b": values, "a": torch.ones(2, dtype=torch.int64)}, path, {"k": "v"})
    with safe_open(path, framework="pt") as ours, safetensors.safe_open(path, framework="pt") as other:
        assert (
            ours.keys() == sorted(other.keys())
            and ours.offset_keys() == other.offset_keys()
            and ours.metadata() == other.metadata()
        )
        assert ours.get_slice("b").get_shape() == other.get_slice("b").get_shape() == [3, 4]
        assert ours.get_slice("b").get_dtype() == other.get_slice("b").get_dtype() == "F32"
        for index in (0, slice(1, None), (slice(None), slice(0, 4, 2)), (Ellipsis, 1)):
            assert ours.get_slice("b")[index].tolist() == other.get_slice("b")[index].tolist()
        assert set(ours.get_tensors()) == {"a", "b"}
        with pytest.raises(SafetensorError, match="File does not contain tensor c"):
            ours.get_tensor("c")
    with pytest.raises(SafetensorError, match="File is closed"):
        ours.keys()
    with safe_open(path, framework="np") as arrays:
        assert isinstance(arrays.get_tensor("b"), np.ndarray)
    with pytest.raises(FileNotFoundError):
        safe_open(tmp_path / "none", "pt")
    with pytest.raises(SafetensorError, match="framework"):
        safe_open(path, "paddle")


def test_what_the_format_cannot_hold_is_refused():
    base = pellucid.ones(4, 4)
    with pytest.raises(ValueError, match="Expected a dict"):
        save([base])
    with pytest.raises(ValueError, match="Key `a` is invalid, expected torch.Tensor"):
        save({"a": 1})
    with pytest.raises(ValueError, match="non contiguous tensor: `a`"):
        save({"a": base.t()[:, :2]})
    with pytest.raises(RuntimeError, match="share memory.*'a', 'b'"):
        save({"a": base, "b": base[1:], "c": pellucid.ones(2)})
    with pytest.raises(ValueError, match="complex128"):
        save({"a": pellucid.zeros(2, dtype=pellucid.complex128)})
    assert set(load(save({"a": base[:2], "b": base[2:]}))) == {"a", "b"}


def file(header, body: bytes = b"", length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + body


def entry(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"123",
        file({}, b"xx"),
        file({}, length=100),
        file({}, length=100_000_001),
        file({}, length=1 << 60),
        file(b"{"),
        file(b"[]"),
        file(b"\xff\xff"),
        file({"a": entry([1], 0, 4)}, b"12345"),
        file({"a": entry([2], 0, 4)}, b"1234"),
        file({"a": entry([1], 4, 8)}, b"12345678"),
        file({"a": entry([1], 0, 4, "X")}, b"1234"),
        file({"a": entry([-1], 0, 4)}, b"1234"),
        file({"a": entry([1 << 62, 4], 0, 4)}, b"1234"),
        file({"a": entry([1], 4, 0)}, b"1234"),
        file({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, b"1234"),
        file({"a": entry([1.0], 0, 4)}, b"1234"),
        file({"a": entry([0, 1 << 64], 0, 0)}),
        file({"__metadata__": {"a": 1}}),
        file({"a": {"dtype": "F32", "shape": [0]}}),
    ],
)
def test_what_the_package_refuses_we_refuse(content):
    with pytest.raises(safetensors.SafetensorError):
        theirs.load(content)
    with pytest.raises(SafetensorError, match="Error while deserializing: ."):
        load(content)


@pytest.mark.parametrize(
    "content",
    [
        file({}),
        file(b"{}  "),
        file({"__metadata__": {"a": "b"}}),
        file({"a": entry([0], 0, 0)}),
        file({"b": entry([1], 0, 4), "a": entry([1], 4, 8), "c": entry([2, 0], 8, 8)}, b"12345678"),
    ],
)
def test_what_the_package_reads_we_read(content):
    assert {name: each.tolist() for name, each in load(content).items()} == {
        name: each.tolist() for name, each in theirs.load(content).items()
    }


def test_models_with_tied_weights(tmp_path):
    path = tmp_path / "model.safetensors"

    def tied(framework):
        model = framework.nn.Sequential(framework.nn.Linear(3, 3), framework.nn.Linear(3, 3))
        model[1].weight = model[0].weight
        return model

    source = tied(torch)
    theirs.save_model(source, path)
    ours = tied(pellucid)
    assert load_model(ours, path) == (set(), [])
    assert np.array_equal(ours[1].weight.detach().numpy(), source[0].weight.detach().numpy())
    save_model(ours, path)
    again = tied(torch)
    theirs.load_model(again, path)
    assert torch.equal(again[1].bias, source[1].bias) and torch.equal(again[1].weight, source[1].weight)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        load_model(pellucid.nn.Linear(3, 3), path)
