"""Order: sort, topk, and what is found by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, preserved_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.random_ties import smallest_first
from pellucid.engine.ops.reduce import place, reduced_shape

Pair = tuple[np.ndarray, np.ndarray]


def _keys(x: np.ndarray, descending: bool) -> np.ndarray:
    """Keys whose ascending order is the wanted one: a NaN counts as the largest value."""
    if x.dtype.kind == "b":
        x = x.astype(np.int8)
    if not descending:
        return x
    if x.dtype.kind == "u":
        return np.iinfo(x.dtype).max - x
    if x.dtype.kind == "i":
        return -1 - x  # -x would overflow for the smallest
    return np.where(np.isnan(x), -np.inf, -x) if x.dtype.kind == "f" else -x


def _order(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    keys = _keys(x, descending)
    if descending and x.dtype.kind == "f" and np.isnan(x).any():  # NaN before +inf
        return np.lexsort((keys, ~np.isnan(x)), axis=dim)
    return np.argsort(keys, axis=dim, kind="stable")


@op(outputs=("values", "indices"), grad_name="SortBackward0")
def sort(x: np.ndarray, *, dim: int, descending: bool) -> Pair:
    """The elements in order along an axis, equal ones in their old order, and where they were."""
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


@sort.meta
def sort_meta(x: Meta, *, dim: int, descending: bool) -> tuple[Meta, Meta]:
    check(not x.dtype.is_complex, "Sort currently does not support complex dtypes on CPU")
    strides = preserved_strides(x)
    return Meta.of(x.shape, x.dtype, x.device, strides), Meta.of(x.shape, dtypes.int64, x.device, strides)


@sort.vjp("x")
def sort_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int) -> Any:
    return place(dvalues, indices, x_meta, dim, True)


@op(outputs=("values", "indices"), grad_name="TopkBackward0")
def topk(x: np.ndarray, *, k: int, dim: int, largest: bool) -> Pair:
    """The k largest (or smallest) elements along an axis, in order, and where they were."""
    if not x.ndim:
        return (x.copy(), np.zeros((), np.int64)) if k else (x.reshape(1)[:0], np.zeros(0, np.int64))
    moved = np.moveaxis(x, dim, -1)
    rows = _keys(moved, largest).reshape(-1, moved.shape[-1])
    if largest and x.dtype.kind == "f" and np.isnan(x).any():
        order = _order(moved, moved.ndim - 1, True)[..., :k].reshape(len(rows), k)
    else:
        order = np.argsort(rows, axis=-1, kind="stable")[:, :k]
        tied = [row for row in range(len(rows)) if k and _has_ties(rows[row], order[row])]
        for row in tied:
            order[row] = smallest_first(rows[row], k)
    order = np.moveaxis(order.reshape(*moved.shape[:-1], k), -1, dim)
    return np.take_along_axis(x, order, dim), order


def _has_ties(keys: np.ndarray, order: np.ndarray) -> bool:
    picked = keys[order]
    return bool((picked[1:] == picked[:-1]).any() or (keys == picked[-1]).sum() > 1)


@topk.meta
def topk_meta(x: Meta, *, k: int, dim: int, largest: bool) -> tuple[Meta, Meta]:
    size = x.shape[dim] if x.ndim else 1
    check(0 <= k <= size, f"selected index k out of range: k is {k}, the dimension has {size} elements")
    shape = (*x.shape[:dim], k, *x.shape[dim + 1 :]) if x.ndim else (() if k else (0,))
    return Meta.of(shape, x.dtype, x.device), Meta.of(shape, dtypes.int64, x.device)


@topk.vjp("x")
def topk_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int) -> Any:
    return place(dvalues, indices, x_meta, dim, True)


@op(outputs=("values", "indices"), grad_name="KthvalueBackward0")
def kthvalue(x: np.ndarray, *, k: int, dim: int, keepdim: bool) -> Pair:
    """The k-th smallest element along an axis (from 1), and where it was."""
    return _at_rank(x, dim, keepdim, np.full([*x.shape[:dim], 1, *x.shape[dim + 1 :]], k - 1))


def _at_rank(x: np.ndarray, dim: int, keepdim: bool, rank: np.ndarray) -> Pair:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    places = np.take_along_axis(_order(x, dim, False), rank, dim)
    values = np.take_along_axis(x, places, dim)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _pair_meta(x: Meta, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    shape = reduced_shape(x.shape, (dim,) if x.ndim else (), keepdim)
    return Meta.of(shape, x.dtype, x.device), Meta.of(shape, dtypes.int64, x.device)


@kthvalue.meta
def kthvalue_meta(x: Meta, *, k: int, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    size = x.shape[dim] if x.ndim else 1
    check(1 <= k <= size, f"kthvalue(): selected number k out of range for dimension {dim}: k is {k}, the size {size}")
    return _pair_meta(x, dim, keepdim)


@kthvalue.vjp("x")
def kthvalue_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int, keepdim: bool) -> Any:
    return place(dvalues, indices, x_meta, dim, keepdim)


@op(outputs=("values", "indices"), grad_name="MedianBackward1")
def median(x: np.ndarray, *, dim: int, keepdim: bool, ignore_nan: bool) -> Pair:
    """The middle element along an axis (the lower of two), and where it was; a NaN wins unless NaNs are ignored."""
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    size = x.shape[dim]
    shape = [*x.shape[:dim], 1, *x.shape[dim + 1 :]]
    nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, np.bool_)
    if ignore_nan:
        rank = np.maximum((size - nan.sum(axis=dim, keepdims=True) - 1) // 2, 0)
    else:
        middle = np.full(shape, (size - 1) // 2)
        first_nan = size - nan.sum(axis=dim, keepdims=True)
        rank = np.where(nan.any(axis=dim, keepdims=True), np.minimum(first_nan, size - 1), middle)
    return _at_rank(x, dim, keepdim, rank)


@median.meta
def median_meta(x: Meta, *, dim: int, keepdim: bool, ignore_nan: bool) -> tuple[Meta, Meta]:
    check(not x.ndim or x.shape[dim], f"median(): Expected reduction dim {dim} to have non-zero size.", IndexError)
    return _pair_meta(x, dim, keepdim)


@median.vjp("x")
def median_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int, keepdim: bool) -> Any:
    return place(dvalues, indices, x_meta, dim, keepdim)


@op(outputs=("values", "indices"), grad_name="ModeBackward0")
def mode(x: np.ndarray, *, dim: int, keepdim: bool) -> Pair:
    """The commonest element along an axis (the smallest of equals), and where it is last found."""
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    moved = np.moveaxis(x, dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    values, places = np.empty(len(rows), x.dtype), np.empty(len(rows), np.int64)
    for i, row in enumerate(rows):
        found, counts = np.unique(row, return_counts=True)
        values[i] = found[np.argmax(counts)]
        places[i] = np.flatnonzero(row == values[i])[-1] if values[i] == values[i] else len(row) - 1
    shape = moved.shape[:-1]
    values, places = values.reshape(shape), places.reshape(shape)
    return (np.expand_dims(values, dim), np.expand_dims(places, dim)) if keepdim else (values, places)


@mode.meta
def mode_meta(x: Meta, *, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
    check(not x.ndim or x.shape[dim], f"mode(): Expected reduction dim {dim} to have non-zero size.", IndexError)
    return _pair_meta(x, dim, keepdim)


@mode.vjp("x")
def mode_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int, keepdim: bool) -> Any:
    return place(dvalues, indices, x_meta, dim, keepdim)


@op(outputs=("values", "inverse", "counts"), dynamic=True, half="keep")
def unique(x: np.ndarray, *, dim: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different elements (or slices along an axis) in ascending order, which of them each is, and how often each
    occurs.
    """
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    return values, inverse.reshape(x.shape if dim is None else -1), counts


@op(outputs=("values", "inverse", "counts"), dynamic=True, half="keep")
def unique_consecutive(x: np.ndarray, *, dim: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elements (or slices) without those equal to the one before, which of them each is, and the lengths of the
    runs.
    """
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    flat = rows.reshape(len(rows), -1) if rows.size else rows.reshape(len(rows), 0)
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = (flat[1:] != flat[:-1]).any(axis=1)
    inverse = np.cumsum(starts) - 1
    values = rows[starts] if dim is None else np.moveaxis(rows[starts], 0, dim)
    counts = np.diff(np.append(np.flatnonzero(starts), len(rows)))
    return values, inverse.reshape(x.shape if dim is None else -1), counts


def _unique_meta(x: Meta, *, dim: int | None) -> tuple[Meta, Meta, Meta]:
    return (
        Meta.of((0,), x.dtype, x.device),
        Meta.of((0,), dtypes.int64, x.device),
        Meta.of((0,), dtypes.int64, x.device),
    )


unique.meta(_unique_meta)
unique_consecutive.meta(_unique_meta)
