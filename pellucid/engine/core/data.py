"""`TensorData`: the slots of a tensor, and the few functions that make one. The class people use, `Tensor`, adds
methods only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.engine.core.device import CPU, META, device
from pellucid.engine.core.dtypes import dtype, from_numpy_dtype
from pellucid.engine.core.meta import Meta, is_dense
from pellucid.engine.core.modes import state
from pellucid.engine.core.storage import Storage, Version

INFERENCE = Version()  # the version counter of inference tensors: it never counts


class TensorData:
    """What a tensor is made of.

    `_array`: NumPy view of the data (None on meta); `_meta`: its facts; `_storage` and `_offset` (in elements): where
    it lies; `_counter`: who counts writes (the storage, or a Version of its own after `.data`); the rest is autograd's.
    """

    __slots__ = (
        "__dict__", "__weakref__", "_accumulator", "_array", "_base", "_counter", "_grad", "_grad_fn", "_hooks",
        "_meta", "_needs_grad",
        "_offset", "_origin", "_output_nr", "_post_hooks", "_retains", "_storage", "_view_version",
    )  # fmt: skip

    _array: np.ndarray
    _meta: Meta
    _storage: Storage
    _offset: int
    _counter: Any
    _needs_grad: bool  # for a leaf: set by the user; else: made by a recorded operator
    _grad_fn: Any  # the node that made it; stale for a view whose base was written since (backward.grad_fn_of)
    _output_nr: int
    _grad: Any
    _base: Any  # the tensor that this one is a view of, or None
    _origin: str | None  # how the view was made where that restricts in-place writes: "no_grad", "multi", "custom"
    _view_version: int
    _hooks: Any
    _post_hooks: Any
    _accumulator: Any
    _retains: bool

    if TYPE_CHECKING:  # every tensor that exists is a Tensor, whose methods stand in engine/tensor

        def __getattr__(self, name: str) -> Any: ...


class Classes:
    """The class of the tensors that operators return; `engine/tensor` sets it when it is imported."""

    tensor: type[TensorData] = TensorData


_new = object.__new__


def make(array: Any, meta: Meta, storage: Storage, offset: int, counter: Any) -> Any:
    """A tensor with these parts that requires no gradient."""
    tensor = _new(Classes.tensor)
    tensor._array = array
    tensor._meta = meta
    tensor._storage = storage
    tensor._offset = offset
    tensor._counter = counter
    tensor._needs_grad = tensor._retains = False
    tensor._grad_fn = tensor._grad = tensor._base = tensor._hooks = tensor._post_hooks = tensor._accumulator = (
        tensor._origin
    ) = None
    tensor._output_nr = tensor._view_version = 0
    return tensor


def wrap(array: Any, meta: Meta) -> Any:
    """A new tensor over a dense array of its own, which must have the strides of `meta`."""
    storage = Storage(array if array is not None else _NOTHING)
    return make(array, meta, storage, 0, INFERENCE if state.inference else storage)


_NOTHING = np.zeros(0, np.uint8)  # the storage of a meta tensor


def allocate(meta: Meta) -> Any:
    """An uninitialised array with the strides of `meta` (None on the meta device)."""
    if meta.device is META:
        return None
    if meta.is_contiguous:
        return np.empty(meta.shape, meta.dtype.numpy)
    order = sorted(range(meta.ndim), key=lambda axis: -meta.strides[axis])
    dense = np.empty([meta.shape[axis] for axis in order], meta.dtype.numpy)
    return dense.transpose(np.argsort(order))


def empty(meta: Meta) -> Any:
    """An uninitialised tensor."""
    return wrap(allocate(meta), meta)


def view_of(storage: Storage, meta: Meta, offset: int) -> Any:
    """The array that reads `storage` from element `offset` with the shape and strides of `meta`; bounds are checked."""
    if meta.device is META:
        return None
    start = offset * meta.dtype.itemsize if meta.numel else 0
    return np.ndarray(meta.shape, meta.dtype.numpy, storage.buffer, start, meta.byte_strides)


def from_storage(storage: Storage, kind: dtype, offset: int, shape: Any, strides: Any, where: device = CPU) -> Any:
    """A tensor that views `storage`; RuntimeError when the view would leave it."""
    meta = Meta.of(tuple(shape), kind, where, tuple(strides))
    if where is not META:
        check_bounds(storage, meta, offset)
    return make(view_of(storage, meta, offset), meta, storage, offset, storage)


def check_bounds(storage: Storage, meta: Meta, offset: int) -> None:
    """RuntimeError unless every element lies inside the storage."""
    if any(size < 0 for size in meta.shape) or any(stride < 0 for stride in meta.strides) or offset < 0:
        raise RuntimeError(
            f"sizes, strides and storage offset must not be negative: {list(meta.shape)}, "
            f"{list(meta.strides)}, {offset}"
        )
    if meta.numel == 0:
        return
    last = offset + sum((size - 1) * stride for size, stride in zip(meta.shape, meta.strides, strict=True))
    if (last + 1) * meta.dtype.itemsize > storage.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(meta.shape)}, strides {list(meta.strides)}, storage offset {offset}, and itemsize"
            f" {meta.dtype.itemsize} requiring a storage size of {(last + 1) * meta.dtype.itemsize} are out of "
            "bounds for"
            f" storage of size {storage.nbytes}"
        )


def from_array(array: np.ndarray) -> Any:
    """A tensor that shares memory with a NumPy array; strides must be whole and not negative."""
    kind = from_numpy_dtype(array.dtype)
    if array.dtype.byteorder == ">" and kind.itemsize > 1:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion is not supported."
        )
    item = kind.itemsize
    if any(stride < 0 for stride, size in zip(array.strides, array.shape, strict=True) if size > 1):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently supported."
            " (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if any(stride % item for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy array to make it contiguous."
        )
    strides = tuple([stride // item for stride in array.strides])
    if array.size == 0 or all(size == 1 for size in array.shape):
        meta = Meta.of(array.shape, kind, CPU)
    else:
        meta = Meta.of(array.shape, kind, CPU, strides)
    owner = array if is_dense(meta.shape, meta.strides) else _span(array, meta)
    storage = Storage(owner)
    return make(array, meta, storage, 0, INFERENCE if state.inference else storage)


def _span(array: np.ndarray, meta: Meta) -> np.ndarray:
    """The bytes from an array's first element to its last, as one contiguous array over the same memory."""
    last = sum((size - 1) * stride for size, stride in zip(meta.shape, meta.strides, strict=True)) if array.size else -1
    raw = array.view(f"V{array.itemsize}")  # NumPy cannot name every type of ml_dtypes
    return np.lib.stride_tricks.as_strided(raw, (last + 1,), (array.itemsize,), writeable=array.flags.writeable)


def shallow(tensor: Any) -> Any:
    """Another tensor over the same data and counter, without gradient history: what `detach` gives."""
    return make(tensor._array, tensor._meta, tensor._storage, tensor._offset, tensor._counter)
