"""The one place where the file formats touch tensors: taking one apart, and putting one together from a storage.

The `rebuild_*` functions are what PyTorch's pickles call, with PyTorch's arguments; all their checks hold for files
that nobody trusts.
"""

from __future__ import annotations

import importlib
import io
from collections import OrderedDict
from typing import Any

import numpy as np

from pellucid.engine.core import data, dtypes
from pellucid.engine.core.device import CPU, META, device
from pellucid.engine.core.meta import Meta, contiguous_strides
from pellucid.engine.core.storage import Storage

# Types whose storages PyTorch writes without an element type, naming the type at each tensor instead.
UNTYPED_DTYPES = frozenset(
    (
        "float8_e5m2",
        "float8_e4m3fn",
        "float8_e5m2fnuz",
        "float8_e4m3fnuz",
        "float8_e8m0fnu",
        "uint16",
        "uint32",
        "uint64",
    )
)


class StoredBytes:
    """A storage on its way into or out of a file, with the type of its elements (uint8 where untyped) and its
    device.
    """

    __slots__ = ("_dtype", "storage", "untyped", "where")

    def __init__(self, storage: Storage, kind: dtypes.dtype, where: device = CPU, *, untyped: bool = False) -> None:
        self.storage = storage
        self._dtype = kind
        self.where = where
        self.untyped = untyped

    @property
    def dtype(self) -> dtypes.dtype:
        return self._dtype

    @property
    def device(self) -> device:
        return self.where

    def nbytes(self) -> int:
        return self.storage.nbytes

    def cpu(self) -> StoredBytes:
        """The storage in the CPU's memory, where it is."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return load_bytes, (self._dtype.name, self.storage.buffer.tobytes(), self.untyped)


def load_bytes(dtype_name: str, content: bytes, untyped: bool) -> StoredBytes:
    """A storage from its bytes; what a tensor's plain pickle holds."""
    return StoredBytes(
        storage_over(np.frombuffer(bytearray(content), np.uint8)), dtypes.by_name(dtype_name), untyped=untyped
    )


def as_stored(value: Any) -> StoredBytes | None:
    """The storage behind `value` where `value` is one of the storage classes, else None."""
    return value if isinstance(value, StoredBytes) else None


def with_type(source: StoredBytes, kind: dtypes.dtype, *, untyped: bool) -> StoredBytes:
    """The same storage, seen as elements of `kind`."""
    if source.dtype is kind and source.untyped == untyped:
        return source
    return StoredBytes(source.storage, kind, source.where, untyped=untyped)


def storage_over(buffer: np.ndarray) -> Storage:
    """A storage over a one-dimensional uint8 array, without a copy."""
    return Storage(buffer)


def is_tensor(value: Any) -> bool:
    return isinstance(value, data.TensorData)


def is_on_meta(tensor: Any) -> bool:
    return tensor._meta.device is META


def is_strided(tensor: Any) -> bool:
    """Whether the tensor is a dense view of one storage."""
    meta = getattr(tensor, "_meta", None)
    return isinstance(meta, Meta) and not meta.is_sparse


def dtype_of(tensor: Any) -> dtypes.dtype:
    return tensor._meta.dtype


def memory_span(tensor: Any) -> tuple[int, int]:
    """Address of a contiguous tensor's first byte and of the byte behind its last."""
    size = tensor._meta.dtype.itemsize
    start = tensor._storage.address + tensor._offset * size
    return start, start + tensor._meta.numel * size


def numel(tensor: Any) -> int:
    return tensor._meta.numel


def stored(tensor: Any) -> StoredBytes:
    """A tensor's storage, as files refer to it."""
    kind = tensor._meta.dtype
    untyped = kind.name in UNTYPED_DTYPES
    return StoredBytes(tensor._storage, dtypes.uint8 if untyped else kind, tensor._meta.device, untyped=untyped)


def contiguous_bytes(tensor: Any) -> np.ndarray:
    """A tensor's elements in row-major order as a one-dimensional uint8 array, without a copy where they lie so."""
    return np.ascontiguousarray(tensor._array).reshape(-1).view(np.uint8)


def tensor_from(buffer: np.ndarray, kind: dtypes.dtype, shape: tuple[int, ...]) -> Any:
    """A tensor over all of a one-dimensional uint8 array."""
    return data.from_storage(storage_over(buffer), kind, 0, shape, contiguous_strides(shape))


# -- out ------------------------------------------------------------------------------------------------------------


def reduce_tensor(tensor: Any) -> tuple[Any, ...]:
    """What a pickle holds of a tensor: a `rebuild_*` function and its arguments. Gradients and hooks are left out."""
    made = _reduce_plain(tensor)
    state = {name: value for name, value in getattr(tensor, "__dict__", {}).items() if not _is_internal(name)}
    if type(tensor) is data.Classes.tensor and not state:
        return made
    return rebuild_from_type_v2, (made[0], type(tensor), made[1], state)


def _is_internal(name: str) -> bool:
    return name in ("_is_param", "_backward_hooks", "_post_accumulate_grad_hooks")


def _reduce_plain(tensor: Any) -> tuple[Any, ...]:
    if not is_strided(tensor):
        return rebuild_sparse_tensor, (tensor.layout, _sparse_parts(tensor))
    meta = tensor._meta
    if is_on_meta(tensor):
        return rebuild_meta_tensor_no_storage, (
            meta.dtype,
            tuple(meta.shape),
            tuple(meta.strides),
            tensor.requires_grad,
        )
    arguments: tuple[Any, ...] = (
        stored(tensor),
        tensor._offset,
        tuple(meta.shape),
        tuple(meta.strides),
        tensor.requires_grad,
        OrderedDict(),
    )
    if meta.dtype.name in UNTYPED_DTYPES:
        return rebuild_tensor_v3, (*arguments, meta.dtype)
    return rebuild_tensor_v2, arguments


def _sparse_parts(tensor: Any) -> tuple[Any, ...]:
    """Indices, values and size of a sparse tensor, as PyTorch's files have them."""
    name = str(tensor.layout)
    if name == "torch.sparse_coo":
        return tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced()
    by_row = name in ("torch.sparse_csr", "torch.sparse_bsr")
    compressed = tensor.crow_indices() if by_row else tensor.ccol_indices()
    return compressed, tensor.col_indices() if by_row else tensor.row_indices(), tensor.values(), tensor.size()


# -- in -------------------------------------------------------------------------------------------------------------


def rebuild_tensor(source: Any, offset: int, size: Any, stride: Any) -> Any:
    """A tensor that views a storage; RuntimeError when the view would leave it."""
    return _view(source, source.dtype, offset, size, stride)


def rebuild_tensor_v2(
    source: Any, offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, metadata: Any = None
) -> Any:
    """A tensor that views a storage, with its gradient flag; hooks in old files are dropped."""
    return _finished(_view(source, source.dtype, offset, size, stride), requires_grad, metadata)


def rebuild_tensor_v3(
    source: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    """As `rebuild_tensor_v2`, for element types that the storage's class cannot name."""
    return _finished(_view(source, dtype, offset, size, stride), requires_grad, metadata)


def _view(source: Any, kind: Any, offset: Any, size: Any, stride: Any) -> Any:
    if not isinstance(source, StoredBytes):
        raise TypeError(f"a tensor's pickle refers to {type(source).__name__} where a storage belongs")
    if not isinstance(kind, dtypes.dtype):
        raise TypeError(f"a tensor's pickle has the element type {type(kind).__name__}, not a dtype")
    numbers = [offset, *size, *stride]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers) or len(size) != len(stride):
        raise RuntimeError(
            f"a tensor's pickle has the impossible size {size!r}, stride {stride!r} and offset {offset!r}"
        )
    if len(size) > 64:
        raise RuntimeError(f"a tensor's pickle has {len(size)} dimensions; at most 64 are possible")
    return data.from_storage(source.storage, kind, offset, size, stride, source.where)


def _finished(tensor: Any, requires_grad: bool, metadata: Any) -> Any:
    if metadata:
        tensor = _materialised(tensor, dict(metadata))
    if requires_grad is True:
        tensor.requires_grad = True
    return tensor


def _materialised(tensor: Any, metadata: dict[str, Any]) -> Any:
    """PyTorch's lazy conjugate and negative views, computed, since tensors here have no such flags."""
    unknown = set(metadata) - {"conj", "neg"}
    if unknown:
        raise RuntimeError(f"a tensor's pickle has the unknown flags {sorted(map(str, unknown))}")
    if is_on_meta(tensor):
        return tensor
    array = tensor._array
    if array.nbytes > tensor._storage.nbytes:
        raise RuntimeError(
            "a tensor in the file is a lazily conjugated expanded view; call resolve_conj() before saving it"
        )
    array = np.conjugate(array) if metadata.get("conj") else array
    array = np.negative(array) if metadata.get("neg") else array
    return data.from_array(np.ascontiguousarray(array)) if array is not tensor._array else tensor


def rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    """A tensor on the meta device: shape, strides and type without data."""
    source = StoredBytes(storage_over(np.zeros(0, np.uint8)), dtypes.uint8, META, untyped=True)
    return _finished(_view(source, dtype, 0, size, stride), requires_grad, None)


def rebuild_from_type_v2(rebuild: Any, kind: type, arguments: tuple[Any, ...], state: Any) -> Any:
    """A tensor of a subclass, or one that carries attributes."""
    tensor = rebuild(*arguments)
    if type(tensor) is not kind:
        tensor = tensor.as_subclass(kind)
    if getattr(type(tensor), "__setstate__", None) is not getattr(data.Classes.tensor, "__setstate__", None):
        tensor.__setstate__(state)
    else:
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        for name, value in {**(attributes or {}), **(slots or {})}.items():
            setattr(tensor, name, value)
    return tensor


def rebuild_device_tensor_from_numpy(array: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """A tensor of an accelerator that was saved through NumPy; it comes to the CPU."""
    return _finished(data.from_array(np.array(array)).to(dtype), requires_grad, None)


rebuild_xla_tensor = rebuild_device_tensor_from_numpy


def rebuild_device_tensor_from_cpu_tensor(tensor: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """A tensor of an accelerator that was saved through the CPU, where it stays."""
    return _finished(tensor.to(dtype), requires_grad, None)


def rebuild_sparse_tensor(layout: Any, parts: tuple[Any, ...]) -> Any:
    """A sparse tensor from its indices, values and size; the indices are checked."""
    torch = importlib.import_module("pellucid")
    name = str(layout)
    if name == "torch.sparse_coo":
        indices, values, size, *coalesced = parts
        if coalesced and coalesced[0]:
            return torch.sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=True)
        return torch.sparse_coo_tensor(indices, values, size, check_invariants=True)
    compressed, plain, values, size = parts
    return torch.sparse_compressed_tensor(compressed, plain, values, size, layout=layout, check_invariants=True)


def layout_of(name: str) -> Any:
    """The layout called, for example, `torch.sparse_coo`."""
    torch = importlib.import_module("pellucid")
    short = str(name).removeprefix("torch.")
    if short not in (
        "strided",
        "sparse_coo",
        "sparse_csr",
        "sparse_csc",
        "sparse_bsr",
        "sparse_bsc",
        "_mkldnn",
        "jagged",
    ):
        raise ValueError(f"the file names the unknown tensor layout {name!r}")
    return getattr(torch, short)


def _unsupported(what: str, advice: str) -> Any:
    def rebuild(*arguments: Any) -> Any:
        raise RuntimeError(f"the file holds a {what}, which Pellucid does not have. {advice}")

    return rebuild


rebuild_qtensor = _unsupported("quantized tensor", "In PyTorch, save tensor.dequantize() instead.")
rebuild_nested_tensor = _unsupported("nested tensor", "In PyTorch, save the list from tensor.unbind() instead.")
rebuild_wrapper_subclass = _unsupported(
    "tensor of a wrapper subclass", "In PyTorch, save the plain tensors inside it instead."
)


def load_from_bytes(content: bytes) -> Any:
    """A storage that PyTorch pickled outside of an archive: a legacy file in a string of bytes."""
    serialization = importlib.import_module("pellucid.serialization")
    return serialization.load(io.BytesIO(content), weights_only=False)


# -- storages between a file and a device ---------------------------------------------------------------------------


def on_meta(source: Any) -> StoredBytes:
    """The storage without its bytes, on the meta device."""
    kind = source.dtype if isinstance(source, StoredBytes) else dtypes.uint8
    return StoredBytes(storage_over(np.zeros(0, np.uint8)), kind, META, untyped=not isinstance(source, StoredBytes))


def public_storage(source: StoredBytes) -> Any:
    """What a `map_location` function or a registered deserializer is given."""
    return source


def required_stored(result: Any, source: StoredBytes) -> StoredBytes:
    """The storage that such a function returned, with the element type of the one it was given."""
    found = as_stored(result)
    if found is None:
        raise TypeError(f"map_location returned {type(result).__name__}; a function must return a storage or None")
    return with_type(found, source.dtype, untyped=source.untyped)
