"""Reductions along axes: sums, means, variances, extremes, truth. `dim` is a tuple of axes counted from the front, or
None for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import composite, op
from pellucid.engine.ops.arithmetic import conjugate, div, mul, sub
from pellucid.engine.ops.comparison import eq, isnan, where
from pellucid.engine.ops.memory import cast
from pellucid.engine.ops.shape import expand, squeeze_axes, unsqueeze_axes

Dims = tuple[int, ...] | None


def reduced_shape(shape: tuple[int, ...], dim: Dims, keepdim: bool) -> tuple[int, ...]:
    """The shape after the axes in `dim` were reduced."""
    if dim is None:
        return (1,) * len(shape) if keepdim else ()
    if keepdim:
        return tuple([1 if axis in dim else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in dim])


def count(shape: tuple[int, ...], dim: Dims) -> int:
    """How many elements each result of a reduction comes from."""
    total = 1
    for axis, size in enumerate(shape):
        if dim is None or axis in dim:
            total *= size
    return total


def lifted(x: Any, meta: Meta, dim: Dims, keepdim: bool) -> Any:
    """A reduction's result with the reduced axes back as sizes of 1 (a view)."""
    axes = tuple(range(meta.ndim)) if dim is None else tuple(sorted(dim))
    return x if keepdim or not axes else unsqueeze_axes(x, axes=axes)


def restore(gradient: Any, meta: Meta, dim: Dims, keepdim: bool) -> Any:
    """A reduction's gradient spread over the reduced axes again (a view)."""
    return expand(lifted(gradient, meta, dim, keepdim), size=tuple(meta.shape))


def _named(stem: str) -> Any:
    return lambda settings: f"{stem}Backward{0 if settings['dim'] is None else 1}"


@op(name="sum", grad_name=_named("Sum"))
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
    return restore(dy, x_meta, dim, keepdim)


def total(x: Any, dim: Dims, keepdim: bool = True) -> Any:
    """Sum in the operand's own dtype, for gradient rules."""
    return sum_(x, dim=dim, keepdim=keepdim, dtype=x._meta.dtype)


@composite
def sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    """`x` summed over the axes along which `shape` was broadcast."""
    found = x._meta.shape
    missing = len(found) - len(shape)
    dim = tuple(
        [axis for axis, size in enumerate(found) if axis < missing or (shape[axis - missing] == 1 and size != 1)]
    )
    summed = total(x, dim) if dim else x
    return summed if missing == 0 else squeeze_axes(summed, axes=tuple(range(missing)))


@op(grad_name=_named("Mean"))
def mean(x: np.ndarray, *, dim: Dims, keepdim: bool, dtype: dtype_type) -> np.ndarray:
    """Arithmetic mean; of nothing, NaN."""
    accumulate = np.float32 if dtype in dtypes.HALF else dtype.numpy
    return np.sum(x, axis=dim, keepdims=keepdim, dtype=accumulate) / np.asarray(count(x.shape, dim), accumulate)


@mean.meta
def mean_meta(x: Meta, *, dim: Dims, keepdim: bool, dtype: dtype_type) -> Meta:
    return Meta.of(reduced_shape(x.shape, dim, keepdim), dtype, x.device)


@mean.vjp("x")
def mean_dx(dy: Any, x_meta: Meta, dim: Dims, keepdim: bool) -> Any:
    return div(restore(dy, x_meta, dim, keepdim), count(x_meta.shape, dim))


@op(grad_name="VarBackward0")
def var(x: np.ndarray, *, dim: Dims, correction: float, keepdim: bool) -> np.ndarray:
    """Mean of squared distances from the mean, with n - correction in the denominator (not below 0)."""
    n = count(x.shape, dim)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64  # NumPy adds strided runs one by one
    centred = x - (np.sum(x, axis=dim, keepdims=True, dtype=wide) / n if n else np.nan)
    squares = centred.real**2 + centred.imag**2 if x.dtype.kind == "c" else centred * centred
    return np.sum(squares, axis=dim, keepdims=keepdim) / np.asarray(max(n - correction, 0), squares.dtype)


@var.meta
def var_meta(x: Meta, *, dim: Dims, correction: float, keepdim: bool) -> Meta:
    check(x.dtype.category >= 2, "std and var only support floating point and complex dtypes")
    return Meta.of(reduced_shape(x.shape, dim, keepdim), x.dtype.to_real(), x.device)


@var.vjp("x")
def var_dx(dy: Any, x: Any, x_meta: Meta, dim: Dims, correction: float, keepdim: bool) -> Any:
    scale = count(x_meta.shape, dim) - correction
    spread = restore(dy, x_meta, dim, keepdim)
    centred = sub(x, mean(x, dim=dim, keepdim=True, dtype=x_meta.dtype))
    return mul(spread, mul(centred, 2 / scale if scale > 0 else float("inf")))


@op(grad_name="StdBackward0")
def std(x: np.ndarray, *, dim: Dims, correction: float, keepdim: bool) -> np.ndarray:
    """The square root of the variance."""
    return np.sqrt(var.body(x, dim=dim, correction=correction, keepdim=keepdim))


std.meta(var_meta)


@std.vjp("x")
def std_dx(dy: Any, x: Any, y: Any, x_meta: Meta, dim: Dims, correction: float, keepdim: bool) -> Any:
    slope = where(eq(y, 0), 0, div(dy, mul(y, 2)))
    return var_dx(slope, x, x_meta, dim, correction, keepdim)


@op(grad_name=_named("Prod"))
def prod(x: np.ndarray, *, dim: Dims, keepdim: bool, dtype: dtype_type) -> np.ndarray:
    """Product; bools and integers multiply as int64 unless `dtype` says otherwise. An empty product is 1."""
    accumulate = np.float32 if dtype in dtypes.HALF else dtype.numpy
    return np.prod(x, axis=dim, keepdims=keepdim, dtype=accumulate)


@prod.meta
def prod_meta(x: Meta, *, dim: Dims, keepdim: bool, dtype: dtype_type) -> Meta:
    return Meta.of(reduced_shape(x.shape, dim, keepdim), dtype, x.device)


@prod.vjp("x")
def prod_dx(dy: Any, x: Any, x_meta: Meta, dim: Dims, keepdim: bool) -> Any:
    """Each element's gradient is the product of the others: exact where elements are 0."""
    from pellucid.engine.ops.scan import cumprod
    from pellucid.engine.ops.shape import reshape_to

    if dim is None:
        others = _products_of_others(reshape_to(x, (x_meta.numel,)), 0, cumprod)
        return mul(restore(dy, x_meta, dim, keepdim), conjugate(reshape_to(others, tuple(x_meta.shape))))
    if not x_meta.ndim:
        return dy
    others = _products_of_others(x, dim[0], cumprod)
    return mul(restore(dy, x_meta, dim, keepdim), conjugate(others))


def _products_of_others(x: Any, axis: int, cumprod: Any) -> Any:
    from pellucid.engine.core.op import by_name
    from pellucid.engine.ops.joining import cat
    from pellucid.engine.ops.shape import slice_

    n = x._meta.shape[axis]
    if n == 0:
        return x
    flip = by_name["flip"]
    meta = x._meta
    one_shape = (*meta.shape[:axis], 1, *meta.shape[axis + 1 :])
    one = by_name["full"](size=one_shape, value=1, dtype=meta.dtype, device=meta.device)
    before = cat(one, slice_(cumprod(x, dim=axis, dtype=meta.dtype), dim=axis, start=0, end=n - 1, step=1), dim=axis)
    reverse = flip(x, dims=(axis,))
    after = cat(
        one, slice_(cumprod(reverse, dim=axis, dtype=meta.dtype), dim=axis, start=0, end=n - 1, step=1), dim=axis
    )
    return mul(before, flip(after, dims=(axis,)))


def _need_elements(name: str, x: Meta, dim: Dims) -> None:
    if x.numel:
        return
    if dim is None or (not dim and x.ndim):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
            "dim with the 'dim' argument."
        )
    for axis in dim:
        check(x.shape[axis] != 0, f"{name}(): Expected reduction dim {axis} to have non-zero size.", IndexError)


def _refuse_complex(name: str, x: Meta) -> None:
    from pellucid.engine.core.promotion import title

    check(not x.dtype.is_complex, f"\"{name}\" not implemented for '{title(x.dtype)}'", NotImplementedError)


@op(half="keep")
def amax(x: np.ndarray, *, dim: Dims, keepdim: bool) -> np.ndarray:
    """Largest value; a NaN wins. Ties share the gradient equally."""
    return np.max(x, axis=dim, keepdims=keepdim)


@op(half="keep")
def amin(x: np.ndarray, *, dim: Dims, keepdim: bool) -> np.ndarray:
    """Smallest value; a NaN wins. Ties share the gradient equally."""
    return np.min(x, axis=dim, keepdims=keepdim)


@amax.meta
def amax_meta(x: Meta, *, dim: Dims, keepdim: bool) -> Meta:
    _refuse_complex("amax", x)
    _need_elements("amax", x, dim)
    return Meta.of(reduced_shape(x.shape, dim, keepdim), x.dtype, x.device)


@amin.meta
def amin_meta(x: Meta, *, dim: Dims, keepdim: bool) -> Meta:
    _refuse_complex("amin", x)
    _need_elements("amin", x, dim)
    return Meta.of(reduced_shape(x.shape, dim, keepdim), x.dtype, x.device)


def share_ties(dy: Any, x: Any, y: Any, meta: Meta, dim: Dims, keepdim: bool) -> Any:
    """The gradient of an extreme, divided equally among the elements that equal it."""
    extreme = lifted(y, meta, dim, keepdim)
    hit = where(isnan(extreme), isnan(x), eq(x, extreme))
    hits = sum_(hit, dim=dim, keepdim=True, dtype=dtypes.int64)
    return where(hit, div(lifted(dy, meta, dim, keepdim), cast(hits, dtype=dy._meta.dtype)), 0)


@amax.vjp("x")
def amax_dx(dy: Any, x: Any, y: Any, x_meta: Meta, dim: Dims, keepdim: bool) -> Any:
    return share_ties(dy, x, y, x_meta, dim, keepdim)


@amin.vjp("x")
def amin_dx(dy: Any, x: Any, y: Any, x_meta: Meta, dim: Dims, keepdim: bool) -> Any:
    return share_ties(dy, x, y, x_meta, dim, keepdim)


@op(half="keep", grad_name="MaxBackward1")
def max_all(x: np.ndarray) -> np.ndarray:
    """Largest value of all; a NaN wins. Ties share the gradient equally."""
    return np.max(x)


@op(half="keep", grad_name="MinBackward1")
def min_all(x: np.ndarray) -> np.ndarray:
    """Smallest value of all; a NaN wins. Ties share the gradient equally."""
    return np.min(x)


@max_all.meta
def max_all_meta(x: Meta) -> Meta:
    _refuse_complex("max_all", x)
    _need_elements("max", x, None)
    return Meta.of((), x.dtype, x.device)


@min_all.meta
def min_all_meta(x: Meta) -> Meta:
    _refuse_complex("min_all", x)
    _need_elements("min", x, None)
    return Meta.of((), x.dtype, x.device)


@max_all.vjp("x")
def max_all_dx(dy: Any, x: Any, y: Any, x_meta: Meta) -> Any:
    return share_ties(dy, x, y, x_meta, None, False)


@min_all.vjp("x")
def min_all_dx(dy: Any, x: Any, y: Any, x_meta: Meta) -> Any:
    return share_ties(dy, x, y, x_meta, None, False)


def _extreme_along(x: np.ndarray, dim: int, keepdim: bool, pick: Any) -> tuple[np.ndarray, np.ndarray]:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    places = np.expand_dims(_first_extreme(x, dim, pick), dim)
    values = np.take_along_axis(x, places, dim)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _first_extreme(x: np.ndarray, dim: int | None, pick: Any) -> np.ndarray:
    if x.dtype.kind == "V":  # bfloat16: NumPy's argmax does not know its NaN
        x = x.astype(np.float32)
    return pick(x, axis=dim)


@op(name="max_dim", half="keep", outputs=("values", "indices"), grad_name="MaxBackward0")
def max_dim(x: np.ndarray, *, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """Largest value along an axis and where it is first found; a NaN wins."""
    return _extreme_along(x, dim, keepdim, np.argmax)


@op(name="min_dim", half="keep", outputs=("values", "indices"), grad_name="MinBackward0")
def min_dim(x: np.ndarray, *, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """Smallest value along an axis and where it is first found; a NaN wins."""
    return _extreme_along(x, dim, keepdim, np.argmin)


def _extreme_meta(name: str, x: Meta, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    _refuse_complex(name, x)
    _need_elements(name, x, (dim,) if x.ndim else ())
    shape = reduced_shape(x.shape, (dim,) if x.ndim else (), keepdim)
    return Meta.of(shape, x.dtype, x.device), Meta.of(shape, dtypes.int64, x.device)


@max_dim.meta
def max_dim_meta(x: Meta, *, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    return _extreme_meta("max", x, dim, keepdim)


@min_dim.meta
def min_dim_meta(x: Meta, *, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    return _extreme_meta("min", x, dim, keepdim)


def place(dvalues: Any, indices: Any, x_meta: Meta, dim: int, keepdim: bool) -> Any:
    """A gradient put back to where its values were picked along an axis."""
    from pellucid.engine.core.graph import zeros
    from pellucid.engine.core.op import by_name

    if not x_meta.ndim:
        return dvalues
    if not keepdim:
        dvalues, indices = unsqueeze_axes(dvalues, axes=(dim,)), unsqueeze_axes(indices, axes=(dim,))
    return by_name["scatter"](zeros(x_meta), dvalues, indices, dim=dim, reduce="add")


@max_dim.vjp("x")
def max_dim_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int, keepdim: bool) -> Any:
    return place(dvalues, indices, x_meta, dim, keepdim)


@min_dim.vjp("x")
def min_dim_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int, keepdim: bool) -> Any:
    return place(dvalues, indices, x_meta, dim, keepdim)


@op(half="keep")
def argmax(x: np.ndarray, *, dim: int | None, keepdim: bool) -> np.ndarray:
    """Where the largest value is first found; a NaN wins."""
    return _argument(x, dim, keepdim, np.argmax)


@op(half="keep")
def argmin(x: np.ndarray, *, dim: int | None, keepdim: bool) -> np.ndarray:
    """Where the smallest value is first found; a NaN wins."""
    return _argument(x, dim, keepdim, np.argmin)


def _argument(x: np.ndarray, dim: int | None, keepdim: bool, pick: Any) -> np.ndarray:
    if not x.ndim:
        return np.zeros((), np.int64)
    found = np.asarray(_first_extreme(x, dim, pick))
    if not keepdim:
        return found
    return found.reshape((1,) * x.ndim) if dim is None else np.expand_dims(found, dim)


def _argument_meta(name: str, x: Meta, dim: int | None, keepdim: bool) -> Meta:
    check(x.dtype is not dtypes.bool_, f"{name}(): does not support bool input")
    _refuse_complex(f"{name}_cpu", x)
    if x.numel == 0 and dim is None:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    _need_elements(name, x, None if dim is None else (dim,))
    return Meta.of(
        reduced_shape(x.shape, None if dim is None or not x.ndim else (dim,), keepdim), dtypes.int64, x.device
    )


@argmax.meta
def argmax_meta(x: Meta, *, dim: int | None, keepdim: bool) -> Meta:
    return _argument_meta("argmax", x, dim, keepdim)


@argmin.meta
def argmin_meta(x: Meta, *, dim: int | None, keepdim: bool) -> Meta:
    return _argument_meta("argmin", x, dim, keepdim)


@op(name="all", half="keep")
def all_(x: np.ndarray, *, dim: Dims, keepdim: bool) -> np.ndarray:
    """Whether every element is not 0 (a NaN counts as not 0); true of nothing."""
    return np.all(x, axis=dim, keepdims=keepdim)


@op(name="any", half="keep")
def any_(x: np.ndarray, *, dim: Dims, keepdim: bool) -> np.ndarray:
    """Whether some element is not 0 (a NaN counts as not 0); false of nothing."""
    return np.any(x, axis=dim, keepdims=keepdim)


def _truth_meta(x: Meta, *, dim: Dims, keepdim: bool) -> Meta:
    kind = dtypes.uint8 if x.dtype is dtypes.uint8 else dtypes.bool_
    return Meta.of(reduced_shape(x.shape, dim, keepdim), kind, x.device)


all_.meta(_truth_meta)
any_.meta(_truth_meta)


@op(half="keep")
def count_nonzero(x: np.ndarray, *, dim: Dims) -> np.ndarray:
    """How many elements are not 0."""
    return np.count_nonzero(x, axis=dim)


@count_nonzero.meta
def count_nonzero_meta(x: Meta, *, dim: Dims) -> Meta:
    return Meta.of(reduced_shape(x.shape, dim, False), dtypes.int64, x.device)
