"""Picking and placing elements along an axis by integer tensors, and by masks."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.graph import zeros
from pellucid.engine.core.meta import Meta, broadcast_shapes, preserved_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.plan import number_as
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import absorb, div, mul, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.shape import expand, reshape_to


def _same_rank(x: Meta, index: Meta, name: str) -> None:
    check(
        index.dtype in (dtypes.int64, dtypes.int32) or not index.numel,
        f"{name}(): Expected dtype int32/int64 for index",
    )
    check(
        index.numel == 0 or max(index.ndim, 1) == max(x.ndim, 1),
        f"Index tensor must have the same number of dimensions as input tensor ({name}: index "
        f"{list(index.shape)}, input {list(x.shape)})",
    )


def _in_bounds(index: np.ndarray, size: int, dim: int) -> np.ndarray:
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < 0 or high >= size:
            raise RuntimeError(
                f"index {low if low < 0 else high} is out of bounds for dimension {dim} with size {size}"
            )
    return index.astype(np.int64, copy=False)


def _lines(shape: tuple[int, ...], index: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """The NumPy index that replaces coordinate `dim` of every place of `index` by its value."""
    key = list(np.ogrid[tuple(slice(0, size) for size in index.shape)])
    key[dim] = index
    return tuple(key)


@op(half="keep")
def gather(x: np.ndarray, index: np.ndarray, *, dim: int, sparse_grad: bool = False) -> np.ndarray:
    """y[i][j] = x[index[i][j]][j] along axis `dim`; the index may be smaller than `x` along the others."""
    if not x.ndim:
        _in_bounds(index, 1, dim)
        return np.full(index.shape, x)
    if not index.size:
        return np.zeros(index.shape, x.dtype)
    index = _in_bounds(index, x.shape[dim], dim)
    return x[_lines(x.shape, index if index.ndim else index.reshape(1), dim)].reshape(index.shape)


@gather.meta
def gather_meta(x: Meta, index: Meta, *, dim: int, sparse_grad: bool = False) -> Meta:
    _same_rank(x, index, "gather")
    for axis in range(index.ndim if index.numel and x.ndim else 0):
        check(
            axis == dim or index.shape[axis] <= x.shape[axis],
            f"Size does not match at dimension {axis} expected index {list(index.shape)} to be no larger than "
            f"self {list(x.shape)} apart from"
            f" dimension {dim}",
        )
    return Meta.of(index.shape, x.dtype, x.device)


@gather.vjp("x")
def gather_dx(dy: Any, index: Any, x_meta: Meta, dim: int, sparse_grad: bool) -> Any:
    if sparse_grad:  # by name: most programs have no sparse gradients
        layouts = importlib.import_module("pellucid.engine.ops.sparse_shape")
        return layouts.gathered_entries(dy, index, x_meta, dim)
    return scatter(zeros(x_meta), dy, index, dim=dim, reduce="add")


_AT: dict[str, Any] = {"add": np.add, "multiply": np.multiply}


@op(
    half="keep", grad_name=lambda settings: "ScatterAddBackward0" if settings["reduce"] == "add" else "ScatterBackward0"
)
def scatter(x: np.ndarray, source: np.ndarray, index: np.ndarray, *, dim: int, reduce: str | None) -> np.ndarray:
    """A copy of `x` with source[i][j] written at, or combined with, y[index[i][j]][j] along axis `dim`."""
    result = x.copy().reshape(x.shape or (1,))
    if not index.size:
        return result.reshape(x.shape)
    index = _in_bounds(index, result.shape[dim], dim).reshape(index.shape or (1,))
    values = (
        np.broadcast_to(source, index.shape) if not source.ndim else source[tuple(slice(0, n) for n in index.shape)]
    )
    key = _lines(result.shape, index, dim)
    if reduce is None:
        result[key] = values
    elif reduce == "add" and x.dtype.kind in "fc" and x.dtype.itemsize >= 4:
        _add_at(result, key, values)
    else:
        (np.logical_or if x.dtype == np.bool_ else _AT[reduce]).at(result, key, values)
    return result.reshape(x.shape)


def _add_at(result: np.ndarray, key: tuple[np.ndarray, ...], values: np.ndarray) -> None:
    """Add in order of the places: `np.add.at` on flat positions, which is its fast path."""
    places = np.ravel_multi_index(np.broadcast_arrays(*key), result.shape)
    flat = result.reshape(-1)
    np.add.at(flat, places.reshape(-1), np.broadcast_to(values, places.shape).reshape(-1))


@scatter.meta
def scatter_meta(x: Meta, source: Meta, index: Meta, *, dim: int, reduce: str | None) -> Meta:
    name = "scatter_add" if reduce == "add" else "scatter"
    _same_rank(x, index, name)
    check(
        x.dtype is source.dtype,
        f"{name}(): Expected self.dtype to be equal to src.dtype (got {title(x.dtype)} and {title(source.dtype)})",
    )
    for axis in range(index.ndim if index.numel and x.ndim else 0):
        small = index.shape[axis] <= (x.shape[axis] if axis != dim else index.shape[axis])
        fits = not source.ndim or index.shape[axis] <= source.shape[axis]
        check(
            small and fits,
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from "
            f"dimension {dim} and to be no larger"
            f" size than src {list(source.shape)}",
        )
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@scatter.vjp("x")
def scatter_dx(dy: Any, source_meta: Meta, index: Any, dim: int, reduce: str | None) -> Any:
    if reduce == "add":
        return dy
    check(
        reduce is None,
        "the gradient of scatter with reduce='multiply' is not defined; use scatter_reduce with reduce='prod'",
    )
    return scatter(dy, zeros(source_meta.like(())), index, dim=dim, reduce=None)


@scatter.vjp("source")
def scatter_dsource(dy: Any, source_meta: Meta, index: Any, dim: int) -> Any:
    picked = gather(dy, index, dim=dim)
    if not source_meta.ndim or source_meta.shape == picked._meta.shape:
        return picked
    return _padded(picked, source_meta)


def _padded(part: Any, whole: Meta) -> Any:
    from pellucid.engine.ops.joining import embed_slice

    for axis in range(whole.ndim):
        size = (*part._meta.shape[:axis], whole.shape[axis], *part._meta.shape[axis + 1 :])
        if part._meta.shape[axis] != whole.shape[axis]:
            part = embed_slice(part, size=size, dim=axis, start=0, end=part._meta.shape[axis], step=1)
    return part


@op(half="keep")
def index_select(x: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    """Whole slices of `x` along an axis, in the order of a vector of positions."""
    size = x.shape[dim] if x.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = int(index.min()) if index.min() < 0 else int(index.max())
        if dim == 1:  # PyTorch has a routine of its own there, with an error of its own
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}")
        raise IndexError(
            f"index out of range in self: {wrong} is not in 0..{size - 1} (index_select along dimension {dim})"
        )
    if not x.ndim:
        return x.copy()
    return np.take(x, index.reshape(-1), axis=dim)


@index_select.meta
def index_select_meta(x: Meta, index: Meta, *, dim: int) -> Meta:
    check(index.ndim <= 1, "index_select(): Index is supposed to be a vector", IndexError)
    check(index.dtype in (dtypes.int64, dtypes.int32), "index_select(): Expected dtype int32 or int64 for index")
    if not x.ndim:
        check(index.numel == 1, "index_select(): Index to scalar can have only 1 value, got 1 value(s)")
        return Meta.of((), x.dtype, x.device)
    return Meta.of((*x.shape[:dim], index.numel, *x.shape[dim + 1 :]), x.dtype, x.device)


@index_select.vjp("x")
def index_select_dx(dy: Any, index: Any, x_meta: Meta, dim: int) -> Any:
    return index_add(zeros(x_meta), dy, index, dim=dim, alpha=1)


@op(half="keep")
def index_add(x: np.ndarray, source: np.ndarray, index: np.ndarray, *, dim: int, alpha: Any) -> np.ndarray:
    """A copy of `x` to whose slices along an axis those of `alpha * source` are added, in the order of the index."""
    result = x.copy().reshape(x.shape or (1,))
    if index.size and (index.min() < 0 or index.max() >= result.shape[dim]):
        if x.ndim == 2:  # PyTorch takes index_add of matrices for a scatter_add
            _in_bounds(index, result.shape[dim], dim)
        raise IndexError(f"index out of range in self (index_add along dimension {dim} of size {result.shape[dim]})")
    scaled = source if alpha == 1 else (source * number_as(alpha, source.dtype)).astype(x.dtype)
    moved = np.moveaxis(result, dim, 0)
    np.add.at(moved, index.reshape(-1), np.moveaxis(scaled.reshape(scaled.shape or (1,)), dim, 0))
    return result.reshape(x.shape)


@index_add.meta
def index_add_meta(x: Meta, source: Meta, index: Meta, *, dim: int, alpha: Any) -> Meta:
    check(
        index.ndim <= 1,
        f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {title(index.dtype)}",
        IndexError,
    )
    check(index.dtype in (dtypes.int64, dtypes.int32), "index_add_(): Expected dtype int32/int64 for index")
    check(x.dtype is source.dtype, "index_add_(): self and source must have the same scalar type")
    rows = source.shape[dim] if source.ndim else 1
    check(
        rows == index.numel,
        f"index_add_(): Number of indices ({index.numel}) should be equal to source.size(dim): ({rows}), for "
        f"dim: {dim}",
    )
    rest = (*x.shape[:dim], *x.shape[dim + 1 :])
    check(
        not x.ndim or (*source.shape[:dim], *source.shape[dim + 1 :]) == rest,
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
        f"= {list(x.shape)}"
        f" source.shape = {list(source.shape)}",
    )
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@index_add.vjp("x")
def index_add_dx(dy: Any) -> Any:
    return dy


@index_add.vjp("source")
def index_add_dsource(dy: Any, source_meta: Meta, index: Any, dim: int, alpha: Any) -> Any:
    picked = reshape_to(index_select(dy, index, dim=dim), tuple(source_meta.shape))
    return picked if alpha == 1 else mul(picked, alpha)


@op(half="keep")
def index_copy(x: np.ndarray, source: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    """A copy of `x` whose slices along an axis are replaced by those of `source`, in the order of the index."""
    result = x.copy().reshape(x.shape or (1,))
    if index.size and (index.min() < 0 or index.max() >= result.shape[dim]):
        raise IndexError(f"index_copy_(): index out of range for dimension {dim} of size {result.shape[dim]}")
    np.moveaxis(result, dim, 0)[index.reshape(-1)] = np.moveaxis(source.reshape(source.shape or (1,)), dim, 0)
    return result.reshape(x.shape)


@index_copy.meta
def index_copy_meta(x: Meta, source: Meta, index: Meta, *, dim: int) -> Meta:
    check(index.ndim <= 1, f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})", IndexError)
    check(index.dtype is dtypes.int64, "index_copy_(): Expected a long tensor for index, but got " + title(index.dtype))
    check(
        x.dtype is source.dtype,
        f"index_copy_(): self and source expected to have the same dtype, but got (self) {title(x.dtype)} and "
        f"(source) {title(source.dtype)}",
    )
    rows = source.shape[dim] if source.ndim else 1
    check(
        rows == index.numel,
        f"index_copy_(): Number of indices ({index.numel}) should be equal to source.size(dim) ({rows})",
        IndexError,
    )
    rest = (*x.shape[:dim], *x.shape[dim + 1 :])
    check(
        not x.ndim or not source.ndim or (*source.shape[:dim], *source.shape[dim + 1 :]) == rest,
        "index_copy_(): Source/destination tensor must have same slice shapes."
        f" Destination slice shape: {list(rest)} at dimension {dim} and source slice shape: {list(source.shape)}",
    )
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@index_copy.vjp("x")
def index_copy_dx(dy: Any, source_meta: Meta, index: Any, dim: int) -> Any:
    return index_copy(dy, zeros(source_meta), index, dim=dim)


@index_copy.vjp("source")
def index_copy_dsource(dy: Any, source_meta: Meta, index: Any, dim: int) -> Any:
    return reshape_to(index_select(dy, index, dim=dim), tuple(source_meta.shape))


@op(half="keep", grad_name=lambda settings: settings["node"])
def index_fill(x: np.ndarray, value: np.ndarray, index: np.ndarray, *, dim: int, node: str) -> np.ndarray:
    """A copy of `x` whose slices at `index` along an axis hold `value`, a zero-dim array; negative positions count
    back.
    """
    result = x.copy()
    places = index.reshape(-1)
    size = x.shape[dim] if x.ndim else 1
    wrong = (places < -size) | (places >= size)
    if wrong.any():
        raise IndexError(f"index {int(places[wrong][0])} is out of bounds for dimension {dim} with size {size}")
    (result if x.ndim else result.reshape(1))[(slice(None),) * dim + (places,)] = value.astype(x.dtype)
    return result


@index_fill.meta
def index_fill_meta(x: Meta, value: Meta, index: Meta, *, dim: int, node: str) -> Meta:
    check(
        value.ndim == 0,
        f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).",
    )
    check(index.dtype in (dtypes.int64, dtypes.int32), "index_fill_(): Expected dtype int64 for index.", IndexError)
    check(index.ndim <= 1, "Index has to be a vector/scalar", IndexError)
    return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x))


@index_fill.vjp("x")
def index_fill_dx(dy: Any, value_meta: Meta, index: Any, dim: int, node: str) -> Any:
    return index_fill(dy, zeros(value_meta), index, dim=dim, node=node)


@index_fill.vjp("value")
def index_fill_dvalue(dy: Any, value_meta: Meta, index: Any, dim: int, node: str) -> Any:
    """A place that is named twice counts once."""
    return sub(dy, index_fill(dy, zeros(value_meta), index, dim=dim, node=node)).sum()


@op(half="keep", grad_name="MaskedFillBackward0")
def masked_fill(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    """`value` where the mask holds, `x` elsewhere; in the dtype of `x`."""
    filler = value[()] if isinstance(value, np.ndarray) else value
    if x.dtype.kind in "iu" and isinstance(filler, int):
        filler = number_as(filler, x.dtype)
    return np.where(mask, np.asarray(filler).astype(x.dtype), x)


@masked_fill.meta
def masked_fill_meta(x: Meta, mask: Meta, value: Any) -> Meta:
    check(
        mask.dtype is dtypes.bool_,
        f"masked_fill_ only supports boolean masks, but got mask with dtype {title(mask.dtype).lower()}",
    )
    check(
        not isinstance(value, Meta) or value.ndim == 0,
        "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
        f"{getattr(value, 'ndim', 0)} dimension(s).",
    )
    complex_value = isinstance(value, complex) or (isinstance(value, Meta) and value.dtype.is_complex)
    check(
        x.dtype.is_complex or x.dtype.category == 0 or not complex_value,
        "value cannot be converted to type float without overflow",
    )
    shape = broadcast_shapes(x.shape, mask.shape)
    return Meta.of(shape, x.dtype, x.device, preserved_strides(x) if shape == x.shape else None)


@masked_fill.vjp("x")
def masked_fill_dx(dy: Any, mask: Any) -> Any:
    return masked_fill(dy, mask, 0)


@masked_fill.vjp("value")
def masked_fill_dvalue(dy: Any, mask: Any) -> Any:
    return where(mask, dy, 0)


@op(half="keep")
def flip(x: np.ndarray, *, dims: tuple[int, ...]) -> np.ndarray:
    """The elements in reverse order along some axes."""
    return np.flip(x, dims).copy() if x.ndim else x.copy()


@flip.meta
def flip_meta(x: Meta, *, dims: tuple[int, ...]) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x))


@flip.vjp("x")
def flip_dx(dy: Any, dims: tuple[int, ...]) -> Any:
    return flip(dy, dims=dims)


@op(half="keep")
def roll(x: np.ndarray, *, shifts: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """The elements moved along axes; what leaves at one end comes in at the other."""
    return np.roll(x, shifts, dims) if x.ndim else x.copy()


@roll.meta
def roll_meta(x: Meta, *, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device)


@roll.vjp("x")
def roll_dx(dy: Any, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    return roll(dy, shifts=tuple([-each for each in shifts]), dims=dims)


def _triangle_meta(name: str) -> Any:
    def rule(x: Meta, *, diagonal: int) -> Meta:
        check(x.ndim >= 2, f"{name}: input tensor must have at least 2 dimensions")
        return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x))

    return rule


@op(half="keep")
def tril(x: np.ndarray, *, diagonal: int) -> np.ndarray:
    """The matrices with zeros above a diagonal."""
    return np.where(np.tri(*x.shape[-2:], k=diagonal, dtype=np.bool_), x, np.zeros((), x.dtype))


@op(half="keep")
def triu(x: np.ndarray, *, diagonal: int) -> np.ndarray:
    """The matrices with zeros below a diagonal."""
    return np.where(np.tri(*x.shape[-2:], k=diagonal - 1, dtype=np.bool_), np.zeros((), x.dtype), x)


tril.meta(_triangle_meta("tril"))
triu.meta(_triangle_meta("triu"))


@tril.vjp("x")
def tril_dx(dy: Any, diagonal: int) -> Any:
    return tril(dy, diagonal=diagonal)


@triu.vjp("x")
def triu_dx(dy: Any, diagonal: int) -> Any:
    return triu(dy, diagonal=diagonal)


@op(half="keep")
def repeat(x: np.ndarray, *, counts: tuple[int, ...]) -> np.ndarray:
    """The tensor set beside itself along each axis; leading axes are added as needed."""
    return np.tile(x, counts)


@repeat.meta
def repeat_meta(x: Meta, *, counts: tuple[int, ...]) -> Meta:
    check(
        len(counts) >= x.ndim,
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
    )
    check(
        all(each >= 0 for each in counts),
        f"Trying to create tensor with negative dimension: repeat counts {list(counts)}",
    )
    padded = (*(1,) * (len(counts) - x.ndim), *x.shape)
    return Meta.of(tuple([a * b for a, b in zip(padded, counts, strict=True)]), x.dtype, x.device)


@repeat.vjp("x")
def repeat_dx(dy: Any, x_meta: Meta, counts: tuple[int, ...]) -> Any:
    from pellucid.engine.ops.reduce import total

    padded = (*(1,) * (len(counts) - x_meta.ndim), *x_meta.shape)
    if 0 in counts or not x_meta.ndim and not counts:
        return zeros(x_meta) if 0 in counts else dy
    split = tuple([each for pair in zip(counts, padded, strict=True) for each in pair])
    summed = total(reshape_to(dy, split), tuple(range(0, len(split), 2)), keepdim=False)
    return reshape_to(summed, tuple(x_meta.shape))


@op(half="keep", outputs=("y",))
def scatter_reduce(
    x: np.ndarray, source: np.ndarray, index: np.ndarray, *, dim: int, reduce: str, include_self: bool
) -> np.ndarray:
    """Like `scatter` with a sum, product, mean or extreme of all that falls on a place, with or without what was
    there.
    """
    shape = x.shape or (1,)
    result = x.reshape(shape).copy()
    if not index.size:
        return result.reshape(x.shape)
    index = _in_bounds(index, shape[dim], dim).reshape(index.shape or (1,))
    source = source.reshape(source.shape or (1,))[tuple(slice(0, n) for n in index.shape)]
    key = _lines(shape, index, dim)
    if not include_self:
        result[key] = _identity(reduce, x.dtype)
    {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce].at(
        result, key, source
    )
    if reduce == "mean":
        counts = np.full(shape, int(include_self), np.int64)
        if not include_self:
            touched = np.zeros(shape, np.bool_)
            touched[key] = True
            counts[~touched] = 1
        np.add.at(counts, key, 1)
        result = result // counts.astype(x.dtype) if x.dtype.kind in "iu" else (result / counts).astype(x.dtype)
    return result.reshape(x.shape)


def _identity(reduce: str, kind: np.dtype) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind in "iu":
        return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max
    if kind.kind == "b":
        return reduce != "amax"
    return -np.inf if reduce == "amax" else np.inf


@scatter_reduce.meta
def scatter_reduce_meta(x: Meta, source: Meta, index: Meta, *, dim: int, reduce: str, include_self: bool) -> Meta:
    check(
        reduce in ("sum", "prod", "mean", "amax", "amin"),
        f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}",
    )
    return scatter_meta(x, source, index, dim=dim, reduce="add")


@scatter_reduce.vjp("x", "source")
def scatter_reduce_dx(
    dy: Any, x: Any, source: Any, index: Any, y: Any, x_meta: Meta, dim: int, reduce: str, include_self: bool
) -> Any:
    kept = dy if include_self else scatter(dy, zeros(x_meta.like(())), index, dim=dim, reduce=None)
    if reduce == "sum":
        return kept, gather(dy, index, dim=dim)
    ones = expand(_one(x_meta), size=tuple(index._meta.shape))
    if reduce == "mean":
        base = expand(_one(x_meta), size=tuple(x_meta.shape)) if include_self else zeros(x_meta)
        number = scatter(base, ones, index, dim=dim, reduce="add")
        number = where(eq(number, 0), 1, number)
        return div(kept, number), gather(div(dy, number), index, dim=dim)
    if reduce == "prod":
        return _product_gradients(dy, x, source, index, y, kept, dim, include_self)
    here = eq(x, y) if include_self else eq(_one(x_meta), 0)
    there = eq(source, gather(y, index, dim=dim))
    self_hits = where(here, expand(_one(x_meta), size=tuple(x_meta.shape)), 0)
    hits = scatter(self_hits, where(there, ones, 0), index, dim=dim, reduce="add")
    no_extreme = eq(hits, 0)  # nothing equals a NaN, whose gradient is a NaN for all that fell on its place
    part = div(dy, where(no_extreme, 1, hits))
    first = where(no_extreme, math.nan, where(here, part, 0))
    if not include_self:
        touched = scatter(zeros(x_meta), ones, index, dim=dim, reduce=None)
        first = where(eq(touched, 0), dy, 0)
    lost = gather(no_extreme, index, dim=dim)
    return first, where(lost, math.nan, where(there, gather(part, index, dim=dim), 0))


def _one(meta: Meta) -> Any:
    from pellucid.engine.ops.memory import full

    return full(size=(), value=1, dtype=meta.dtype, device=meta.device)


def _product_gradients(
    dy: Any, x: Any, source: Any, index: Any, y: Any, kept: Any, dim: int, include_self: bool
) -> Any:
    safe_x, safe_source = where(eq(x, 0), 1, x), where(eq(source, 0), 1, source)
    x_slope = where(
        eq(x, 0),
        scatter_reduce(where(eq(x, 0), 1, x), source, index, dim=dim, reduce="prod", include_self=True),
        div(y, safe_x),
    )
    there = gather(y, index, dim=dim)
    zero_count = scatter(zeros(x._meta), where(eq(source, 0), _one(x._meta), 0), index, dim=dim, reduce="add")
    without = scatter_reduce(x, safe_source, index, dim=dim, reduce="prod", include_self=include_self)
    alone = where(eq(gather(zero_count, index, dim=dim), 1), gather(without, index, dim=dim), 0)
    source_slope = where(eq(source, 0), alone, div(there, safe_source))
    return absorb(kept, x_slope), mul(gather(dy, index, dim=dim), source_slope)


@op(dynamic=True)
def repeated_positions(counts: np.ndarray) -> np.ndarray:
    """Each position as often as its count says."""
    return np.repeat(np.arange(counts.size), counts)


@repeated_positions.meta
def repeated_positions_meta(counts: Meta) -> Meta:
    check(counts.ndim == 1, "repeat_interleave only accept 1D vector as repeat")
    check(counts.dtype in (dtypes.int64, dtypes.int32), "repeats has to be Long or Int tensor")
    return Meta.of((0,), counts.dtype, counts.device)
