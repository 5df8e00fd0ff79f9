"""Reading and writing at positions given by tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.graph import zeros
from pellucid.engine.core.meta import Meta, axis_order, strides_in_order
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title

Indices = tuple[Any, ...]  # per axis: an integer array, or None for the whole axis


def _key(x: np.ndarray, indices: Indices) -> tuple[Any, ...]:
    """The NumPy index, after a check of the bounds in PyTorch's words; where there is nothing to read, no bound is
    wrong.
    """
    empty = any(each is not None and not each.size for each in indices)
    refuse_empty_axes(x.shape, indices)
    if empty or not x.size:
        return tuple([slice(None) if each is None else np.zeros_like(each) for each in indices])
    for axis, each in enumerate(indices):
        if each is None:
            continue
        size = x.shape[axis]
        wrong = (each < -size) | (each >= size)
        if wrong.any():
            raise IndexError(f"index {int(each[wrong][0])} is out of bounds for dimension {axis} with size {size}")
    return tuple([slice(None) if each is None else each for each in indices])


def refuse_empty_axes(shape: tuple[int, ...], indices: Indices) -> None:
    """IndexError where an index names a position on an axis that has none; on arrays or tensors."""
    sizes = [1 if each is None else math.prod(each.shape) for each in indices]
    if all(sizes) and any(each is not None and not shape[axis] for axis, each in enumerate(indices)):
        raise IndexError("index is out of bounds for dimension with size 0")


def indexed_shape(shape: tuple[int, ...], indices: Indices) -> tuple[int, ...]:
    """The shape of `x[indices]`: the indices' common shape stands where they are adjacent, else in front."""
    axes = [axis for axis, each in enumerate(indices) if each is not None]
    shapes = [tuple(indices[axis].shape) for axis in axes]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join([str(list(each)) for each in shapes])
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
        ) from None
    rest = [size for axis, size in enumerate(shape) if axis >= len(indices) or indices[axis] is None]
    adjacent = axes == list(range(axes[0], axes[-1] + 1)) if axes else True
    place = axes[0] if axes and adjacent else 0
    return (*rest[:place], *common, *rest[place:])


@op(half="keep")
def index(x: np.ndarray, *indices: Any) -> np.ndarray:
    """Elements of `x` at integer positions along some axes; a negative position counts from the end."""
    return x[_key(x, indices)]


@index.meta
def index_meta(x: Meta, *indices: Any) -> Meta:
    check(len(indices) <= x.ndim, f"too many indices for tensor of dimension {x.ndim} (got {len(indices)})", IndexError)
    shape = indexed_shape(x.shape, indices)
    return Meta.of(shape, x.dtype, x.device, _indexed_strides(x, indices, shape))


def _indexed_strides(x: Meta, indices: Indices, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of `x[indices]`: the axes that no index takes keep their order of memory."""
    axes = [axis for axis, each in enumerate(indices) if each is not None]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    common = len(shape) - len(rest)
    before = axes[0] if axes and axes == list(range(axes[0], axes[-1] + 1)) else 0
    strides = [x.strides[axis] for axis in rest]
    source = [*strides[:before], *[0] * common, *strides[before:]]
    others = []
    for axis in axes:
        each = indices[axis]
        aligned = [0] * (common - each.ndim) + [
            0 if n == 1 else s for n, s in zip(each.shape, each.strides, strict=True)
        ]
        others.append([*[0] * before, *aligned, *[0] * (len(rest) - before)])
    order = axis_order(shape, [source, *others])
    return None if order == list(range(len(shape) - 1, -1, -1)) else strides_in_order(shape, order)


@index.vjp("x")
def index_dx(dy: Any, x_meta: Meta, indices: Indices) -> Any:
    return index_put(zeros(x_meta), dy, *indices, accumulate=True)


@op(half="keep")
def index_put(x: np.ndarray, values: np.ndarray, *indices: Any, accumulate: bool) -> np.ndarray:
    """A copy of `x` with `values` written at (or, accumulating, added to) integer positions; equal positions add in
    order.
    """
    result = x.copy()
    key = _key(x, indices)
    if not accumulate:
        result[key] = values
    else:  # NumPy's `at` is wrong where values broadcast against an index of several axes
        add = np.logical_or if x.dtype == np.bool_ else np.add
        add.at(
            result,
            key,
            np.broadcast_to(values.reshape(()) if values.size == 1 else values, indexed_shape(x.shape, indices)),
        )
    return result


@index_put.meta
def index_put_meta(x: Meta, values: Meta, *indices: Any, accumulate: bool) -> Meta:
    check(len(indices) <= x.ndim, f"too many indices for tensor of dimension {x.ndim} (got {len(indices)})", IndexError)
    check(
        x.dtype is values.dtype,
        "Index put requires the source and destination dtypes match, got"
        f" {title(x.dtype)} for the destination and {title(values.dtype)} for the source.",
    )
    target = indexed_shape(x.shape, indices)
    fits = values.ndim <= len(target) and all(
        b in (1, a) for a, b in zip(reversed(target), reversed(values.shape), strict=False)
    )
    check(
        fits or values.numel == 1,
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
        f"shape {list(target)}",
    )
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@index_put.vjp("x")
def index_put_dx(dy: Any, values_meta: Meta, indices: Indices, accumulate: bool) -> Any:
    return dy if accumulate else index_put(dy, zeros(values_meta), *indices, accumulate=False)


@index_put.vjp("values")
def index_put_dvalues(dy: Any, indices: Indices) -> Any:
    return index(dy, *indices)


@op(half="keep", dynamic=True)
def nonzero(x: np.ndarray) -> np.ndarray:
    """Positions of the elements that are not 0, a row each, in row-major order."""
    return np.argwhere(x) if x.ndim else np.zeros((int(bool(x)), 0), np.int64)


@nonzero.meta
def nonzero_meta(x: Meta) -> Meta:
    return Meta.of((0, x.ndim), dtypes.int64, x.device)
