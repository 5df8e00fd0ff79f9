"""`x[...]` for reading and writing, in all of PyTorch's forms: basic indices become views, tensors become one `index`
call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes, graph
from pellucid.engine.core.batching import is_batched
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import CPU
from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.errors import check
from pellucid.engine.core.histories import is_tracked
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import state
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import indexing as ops
from pellucid.engine.ops import memory, shape
from pellucid.engine.tensor.arguments import as_bool, fitting, need_tensor
from pellucid.engine.tensor.creation import tensor as make_tensor

_INDEX_KINDS = (dtypes.int64, dtypes.int32, dtypes.uint8, dtypes.bool_)


def as_tuple(key: Any) -> tuple[Any, ...]:
    """The indices of `x[key]`; a list that holds anything but numbers counts as a tuple, as PyTorch has it."""
    if isinstance(key, tuple):
        return key
    if (
        isinstance(key, list)
        and len(key) < 32
        and any(
            each is None or each is Ellipsis or isinstance(each, slice | list | tuple | TensorData | np.ndarray)
            for each in key
        )
    ):
        return tuple(key)
    return (key,)


def _consumed(each: Any) -> int:
    if each is None or each is Ellipsis or isinstance(each, bool | np.bool_):
        return 0
    if isinstance(each, TensorData) and each._meta.dtype in (dtypes.bool_, dtypes.uint8):
        return each._meta.ndim
    return 1


def _as_index_tensor(each: Any) -> Any:
    if isinstance(each, TensorData):
        return each
    if isinstance(each, np.ndarray):
        return make_tensor(each)
    try:
        made = make_tensor(list(each) if isinstance(each, range) else each)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(each, list | tuple | str):
            raise TypeError(f"new(): invalid data type '{type(each).__name__}' for an index ({error})") from None
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
            f" (got {type(each).__name__})"
        ) from None
    return made if made._meta.numel else made.to(dtypes.int64)


def _bounds(each: slice, size: int) -> tuple[int, int, int]:
    step = 1 if each.step is None else each.step.__index__() if hasattr(each.step, "__index__") else each.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if isinstance(step, int) and step < 0:
        raise ValueError("step must be greater than zero (a tensor has no negative strides; use flip)")
    start, end, step = each.indices(size)
    return start, max(start, end), step


class _Cursor:
    """The view made so far, the axis that the next index applies to, and the tensor indices collected per axis."""

    def __init__(self, source: Any, writing: bool = False) -> None:
        self.view = source
        self.writing = writing
        self.axis = 0
        self.tensors: dict[int, Any] = {}
        self.masks = self.mask_axes = 0

    def integer(self, value: int) -> None:
        meta = self.view._meta
        if not meta.ndim:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
                "to convert a 0-dim tensor"
                " to a number"
            )
        size = meta.shape[self.axis]
        if not -size <= value < size:
            raise IndexError(f"index {value} is out of bounds for dimension {self.axis} with size {size}")
        self.view = shape.select(self.view, dim=self.axis, index=value % size)

    def slice(self, each: slice, alone: bool = False) -> None:
        """`alone`: x[a:b] makes a slice even of everything, x[a:b, ...] passes over it."""
        meta = self.view._meta
        if not meta.ndim:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        size = meta.shape[self.axis]
        start, end, step = _bounds(each, size)
        whole = (each.start is None or each.start.__index__() == 0) and (
            each.stop is None or each.stop.__index__() >= size
        )
        if alone or not whole or step != 1:
            self.view = shape.slice_(self.view, dim=self.axis, start=start, end=end, step=step)
        self.axis += 1

    def new_axis(self) -> None:
        self.view = shape.unsqueeze_axes(self.view, axes=(self.axis,))
        self.axis += 1

    def truth(self, value: bool) -> None:
        self.view = shape.unsqueeze_axes(self.view, axes=(self.axis,))
        self._collect(make_tensor([0] if value else [], dtype=dtypes.int64))

    def tensor(self, index: Any) -> None:
        kind = index._meta.dtype
        if is_batched(index) and kind in (dtypes.bool_, dtypes.uint8):
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                "indexing with a boolean mask. Use torch.where, or masked_fill."
            )
        if index._meta.ndim == 0 and kind.category == 1 and kind is not dtypes.uint8 and not is_batched(index):
            self.integer(int(index.item()))
            return
        if kind in (dtypes.bool_, dtypes.uint8):
            self._mask(index)
        else:
            self._collect(index)

    def _mask(self, mask: Any) -> None:
        if not mask._meta.ndim:
            self.truth(bool(mask.item()))
            return
        sizes = self.view._meta.shape
        for position, size in enumerate(mask._meta.shape):
            if self.axis + position >= len(sizes) or sizes[self.axis + position] != size:
                if self.writing:
                    graph.check_in_place(self.view, "index_put", recorded=False)
                raise IndexError(
                    f"The shape of the mask {list(mask._meta.shape)} at index {position} does not match the "
                    "shape of the indexed tensor"
                    f" {list(sizes)} at index {self.axis + position}"
                )
        self.masks += 1
        self.mask_axes += mask._meta.ndim
        places = ops.nonzero(mask)
        for axis in range(mask._meta.ndim):
            self._collect(shape.select(places, dim=1, index=axis))

    def _collect(self, index: Any) -> None:
        self.tensors[self.axis] = index
        self.axis += 1

    def indices(self) -> tuple[Any, ...]:
        for each in self.tensors.values():
            if each._meta.dtype not in _INDEX_KINDS:
                raise IndexError(
                    f"tensors used as indices must be long, int, byte or bool tensors (got {each._meta.dtype})"
                )
        return tuple([self.tensors.get(axis) for axis in range(max(self.tensors) + 1)])


def _apply(source: Any, key: Any, writing: bool = False) -> _Cursor:
    indices = [
        each
        if each is None or each is Ellipsis or isinstance(each, bool | np.bool_ | slice | TensorData)
        else each.__index__()
        if isinstance(each, int | np.integer)
        else _as_index_tensor(each)
        for each in _checked(as_tuple(key))
    ]
    consumed = sum(map(_consumed, indices))
    ndim = source._meta.ndim
    if consumed > ndim:
        if not ndim:
            _Cursor(source).integer(0)
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    cursor = _Cursor(source, writing)
    for each in indices:
        if each.__class__ is int:
            cursor.integer(each)
        elif isinstance(each, slice):
            cursor.slice(each)
        elif each is None:
            cursor.new_axis()
        elif each is Ellipsis:
            cursor.axis += ndim - consumed
        elif isinstance(each, bool | np.bool_):
            cursor.truth(bool(each))
        else:
            cursor.tensor(each)
    return cursor


def _checked(indices: tuple[Any, ...]) -> Iterator[Any]:
    for each in indices:
        if isinstance(each, float | complex | dict | set):
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
                f" (got {type(each).__name__})"
            )
        yield each


def getitem(self: Any, key: Any) -> Any:
    """`self[key]`: a view for integers, slices, None and ...; a copy where a tensor, list or mask selects."""
    if key.__class__ is int:  # by far the most common
        cursor = _Cursor(self)
        cursor.integer(key)
        return cursor.view
    if key.__class__ is slice:
        cursor = _Cursor(self)
        cursor.slice(key, alone=True)
        return cursor.view
    cursor = _apply(self, key)
    if cursor.tensors:
        return ops.index(cursor.view, *cursor.indices())
    return shape.alias(cursor.view) if cursor.view is self else cursor.view


def setitem(self: Any, key: Any, value: Any) -> None:
    """`self[key] = value`: written through the view, or at the places that tensors select."""
    if self._meta.is_sparse:
        raise TypeError("Cannot assign to a sparse tensor: build a new one, or call .to_dense() first")
    value = _as_value(self, value)
    if key is False or (isinstance(key, np.bool_) and not key):
        return
    before, state.grad_enabled = (
        state.grad_enabled,
        state.grad_enabled and (is_tracked(self) or is_tracked(value)),
    )
    try:
        cursor = _apply(self, key, writing=True)
    finally:
        state.grad_enabled = before
    view = cursor.view
    if not state.grad_enabled or view is self:
        pass
    elif view._origin == "no_grad":  # made here, for this write
        view._origin = self._origin
    if not cursor.tensors and view._meta.ndim and not value._meta.ndim:
        memory.fill_from(view, value, out=InPlace(view))
        return
    if not cursor.tensors:
        fitted = _without_leading_ones(value, view._meta.ndim)
        _check_expands(fitted._meta, view._meta.shape)
        memory.copy(view, fitted, out=InPlace(view))
        return
    _put(cursor, value)


def _check_expands(value: Meta, target: Any) -> None:
    """RuntimeError where a value cannot be written into the place of shape `target`."""
    shape = value.shape
    if shape == target:
        return
    if len(shape) > len(target):
        raise RuntimeError(
            f"expand(torch.{title(value.dtype)}Tensor{{{list(shape)}}}, size={list(target)}): the number of sizes "
            f"provided ({len(target)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)}): the value that is assigned has more dimensions than its place"
        )
    for axis in range(-1, -len(shape) - 1, -1):
        if shape[axis] not in (1, target[axis]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[axis]}) must match the existing size ({shape[axis]}) at "
                f"non-singleton dimension {len(target) + axis}.  Target sizes: {list(target)}.  Tensor sizes: "
                f"{list(shape)}. Assign a value that broadcasts to the indexed part."
            )


def _put(cursor: _Cursor, value: Any) -> None:
    view = cursor.view
    if cursor.masks == 1 and len(cursor.tensors) == cursor.mask_axes and value._meta.numel == 1:
        value = value.to(view._meta.dtype)  # one number under one mask is converted, anything else must have the dtype
    try:
        indices = cursor.indices()
        target = ops.indexed_shape(view._meta.shape, indices)
        ops.index_put(view, _without_leading_ones(value, len(target)), *indices, accumulate=False, out=InPlace(view))
    except IndexError:
        graph.check_in_place(view, "index_put", graph.requires_grad(value))
        raise
    except RuntimeError:  # of several mistakes, PyTorch names these first
        graph.check_in_place(view, "index_put", graph.requires_grad(value))
        ops.refuse_empty_axes(view._meta.shape, indices)
        raise


def _as_value(self: Any, value: Any) -> Any:
    if isinstance(value, TensorData):
        return value
    if not isinstance(value, bool | int | float | complex | np.generic):
        raise TypeError(
            "can't assign a "
            f"{type(value).__module__ + '.' if type(value).__module__ == 'numpy' else ''}{type(value).__name__}"
            f" to a torch.{title(self._meta.dtype)}Tensor (make it a tensor first, with torch.as_tensor)"
        )
    return memory.full(
        size=(),
        value=fitting(value, self._meta.dtype),
        dtype=self._meta.dtype,
        device=self._meta.device if self.is_meta else CPU,
    )


def _without_leading_ones(value: Any, ndim: int) -> Any:
    sizes = value._meta.shape
    drop = 0
    while len(sizes) - drop > ndim and sizes[drop] == 1:
        drop += 1
    return shape.squeeze_axes(value, axes=tuple(range(drop))) if drop else value


def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write `values` at the places that a tuple of index tensors (one per leading dimension) selects, or add to what is
    there.
    """
    try:
        cursor = _apply_tensors(self, indices)
    except IndexError:
        graph.check_in_place(self, "index_put", graph.requires_grad(values))
        raise
    return ops.index_put(
        cursor.view,
        values,
        *cursor.indices(),
        accumulate=as_bool(accumulate, "index_put_", "accumulate", 4),
        out=InPlace(self),
    )


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy of `input` with `values` written at the places that index tensors select, or added to what is there.

    >>> import pellucid as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor(1.0))
    tensor([1., 0., 1.])
    """
    need_tensor(input, "index_put")
    need_tensor(values, "index_put", "values", 3)
    if input.is_meta and any(isinstance(each, TensorData) and each._meta.dtype is dtypes.bool_ for each in indices):
        return input.clone()  # where a mask is true is data
    cursor = _apply_tensors(input, indices)
    return ops.index_put(input, values, *cursor.indices(), accumulate=as_bool(accumulate, "index_put", "accumulate", 4))


def _apply_tensors(self: Any, indices: Any) -> _Cursor:
    check(
        len(indices) <= self._meta.ndim,
        f"too many indices for tensor of dimension {self._meta.ndim} (got {len(indices)})",
        IndexError,
    )
    wrong = next((i for i, each in enumerate(indices) if each is not None and not isinstance(each, TensorData)), None)
    if wrong is not None:
        raise TypeError(f"expected Tensor as element {wrong} in argument 0, but got {type(indices[wrong]).__name__}")
    cursor = _Cursor(self)
    for each in indices:
        if each is None:
            cursor.axis += 1
        elif each._meta.dtype in (dtypes.bool_, dtypes.uint8):
            cursor._mask(each)
        else:
            check(
                each._meta.dtype in _INDEX_KINDS,
                "tensors used as indices must be long, int, byte or bool tensors",
                IndexError,
            )
            cursor._collect(each)
    return cursor


def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not 0: a row each, or (as a tuple) one vector per dimension.

    >>> import pellucid as torch
    >>> torch.nonzero(torch.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """
    need_tensor(input, "nonzero")
    as_bool(as_tuple, "nonzero", "as_tuple")
    if not as_tuple:
        return ops.nonzero(input, out=out)
    places = ops.nonzero(input if input._meta.ndim else input.unsqueeze(0))
    return shape.unbind(places, dim=1)


class IndexingMethods:
    """Rows of `Tensor`."""

    __getitem__ = getitem
    __setitem__ = setitem
    index_put_ = index_put_
    index_put = index_put
    nonzero = nonzero

    def __iter__(self: Any) -> Iterator[Any]:
        if not self._meta.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(shape.unbind(self, dim=0))

    def __reversed__(self: Any) -> Any:
        return self.flip(0) if self._meta.ndim else self
