"""Reductions along axes: sums, extremes, norms. `dim` is always a tuple of axes counted from the front; () reduces nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import composite, op
from pellucid.engine.ops.shape import expand, unsqueeze_axes

Dims = tuple[int, ...]


def reduced_shape(shape: tuple[int, ...], dim: Dims, keepdim: bool) -> tuple[int, ...]:
    """The shape after the axes in `dim` were reduced."""
    if keepdim:
        return tuple([1 if axis in dim else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in dim])


def restore(gradient: Any, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Any:
    """A reduction's gradient spread over the reduced axes again (a view)."""
    if not keepdim and dim:
        gradient = unsqueeze_axes(gradient, axes=tuple(sorted(dim)))
    return expand(gradient, size=tuple(shape))


@op(name="sum")
def sum_(x: np.ndarray, *, dim: Dims, keepdim: bool, dtype: dtype_type) -> np.ndarray:
    """Sum; bools and integers add up as int64 unless `dtype` says otherwise. An empty sum is 0."""
    accumulate = np.float32 if dtype in dtypes.HALF else dtype.numpy
    if x.dtype.kind == "c" and not dtype.is_complex:
        x = x.real
    return np.sum(x, axis=dim, keepdims=keepdim, dtype=accumulate)


@sum_.meta
def sum_meta(x: Meta, *, dim: Dims, keepdim: bool, dtype: dtype_type) -> Meta:
    return Meta.of(reduced_shape(x.shape, dim, keepdim), dtype, x.device)


@sum_.vjp("x")
def sum_dx(dy: Any, x_meta: Meta, dim: Dims, keepdim: bool) -> Any:
    return restore(dy, x_meta.shape, dim, keepdim)


@composite
def sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    """`x` summed over the axes along which `shape` was broadcast."""
    found = x._meta.shape
    missing = len(found) - len(shape)
    dim = tuple([axis for axis, size in enumerate(found) if axis < missing or (shape[axis - missing] == 1 and size != 1)])
    kind = x._meta.dtype
    summed = sum_(x, dim=dim, keepdim=True, dtype=kind) if dim else x
    return summed if missing == 0 else _drop_leading(summed, missing)


def _drop_leading(x: Any, count: int) -> Any:
    from pellucid.engine.ops.shape import squeeze_axes

    return squeeze_axes(x, axes=tuple(range(count)))
