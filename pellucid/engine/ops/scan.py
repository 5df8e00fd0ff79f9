"""Running sums, products and extremes along an axis."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import whole
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import is_differentiated
from pellucid.engine.core.op import by_name, op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import add, conjugate, div, mul, sub
from pellucid.engine.ops.comparison import eq, where


@op
def cumsum(x: np.ndarray, *, dim: int, dtype: dtype_type) -> np.ndarray:
    """Sums of the elements up to and including each."""
    if not x.ndim:
        return x.astype(dtype.numpy)
    return np.cumsum(x, axis=dim, dtype=np.float32 if dtype in dtypes.HALF else dtype.numpy)


@op
def cumprod(x: np.ndarray, *, dim: int, dtype: dtype_type) -> np.ndarray:
    """Products of the elements up to and including each."""
    if not x.ndim:
        return x.astype(dtype.numpy)
    return np.cumprod(x, axis=dim, dtype=np.float32 if dtype in dtypes.HALF else dtype.numpy)


def _running_meta(x: Meta, *, dim: int, dtype: dtype_type) -> Meta:
    return Meta.of(x.shape, dtype, x.device)


cumsum.meta(_running_meta)
cumprod.meta(_running_meta)


def reversed_cumsum(x: Any, dim: int) -> Any:
    """Sums of the elements from each to the end."""
    if not x._meta.ndim:
        return x
    flip = by_name["flip"]
    return flip(cumsum(flip(x, dims=(dim,)), dim=dim, dtype=x._meta.dtype), dims=(dim,))


@cumsum.vjp("x")
def cumsum_dx(dy: Any, dim: int) -> Any:
    return reversed_cumsum(dy, dim)


@cumprod.vjp("x")
def cumprod_dx(dy: Any, x: Any, y: Any, x_meta: Meta, dim: int) -> Any:
    """Where no element is 0, a reversed running sum of dy*y, over x; where one is, the products without it."""
    if not x_meta.ndim or not x_meta.numel:
        return dy
    safe = where(eq(x, 0), 1, x)
    smooth = div(reversed_cumsum(mul(dy, conjugate(y)), dim), conjugate(safe))
    if not by_name["any"](eq(whole(x), 0), dim=None, keepdim=False).item():
        return smooth
    if is_differentiated():
        return _products_without(dy, x, dim, x_meta)
    return where(eq(x, 0), _zeros_gradient(dy, x, dim, x_meta), smooth)


def _products_without(dy: Any, x: Any, dim: int, meta: Meta) -> Any:
    """Each element's gradient from products that leave it out, in n**2 steps: right at zeros when differentiated
    again.
    """
    total, cut, join = by_name["sum"], by_name["slice"], by_name["cat"]
    size = meta.shape[dim]
    products = cumprod(x, dim=dim, dtype=meta.dtype)
    parts = []
    for k in range(size):
        before = (
            where(eq(cut(x, dim=dim, start=0, end=1, step=1), 0), 1, 1)
            if k == 0
            else cut(products, dim=dim, start=k - 1, end=k, step=1)
        )
        after = cumprod(cut(x, dim=dim, start=k + 1, end=size, step=1), dim=dim, dtype=meta.dtype)
        without = join(before, mul(after, before), dim=dim)
        weighted = mul(cut(dy, dim=dim, start=k, end=size, step=1), conjugate(without))
        parts.append(total(weighted, dim=(dim,), keepdim=True, dtype=meta.dtype))
    return join(*parts, dim=dim)


def _zeros_gradient(dy: Any, x: Any, dim: int, meta: Meta) -> Any:
    """At each zero, dy summed with the products in which that zero is replaced by 1: only the first zero of a line has
    any.
    """
    is_zero = eq(x, 0)
    nth = cumsum(is_zero, dim=dim, dtype=dtypes.int64)
    first = by_name["logical_and"](is_zero, eq(nth, 1))
    replaced = where(first, 1, x)
    products = cumprod(replaced, dim=dim, dtype=meta.dtype)
    from_first = where(by_name["gt"](nth, 0), products, 0)
    return where(first, reversed_cumsum(mul(dy, conjugate(from_first)), dim), 0)


def _running_extreme(x: np.ndarray, dim: int, better: Any) -> tuple[np.ndarray, np.ndarray]:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    moved = np.moveaxis(x, dim, 0)
    values, places = moved.copy(), np.zeros(moved.shape, np.int64)
    for i in range(1, len(moved)):
        current, best = moved[i], values[i - 1]
        take = (better(current, best) & (best == best)) | (current != current)
        values[i] = np.where(take, current, best)
        places[i] = np.where(take, i, places[i - 1])
    return np.moveaxis(values, 0, dim), np.moveaxis(places, 0, dim)


@op(outputs=("values", "indices"))
def cummax(x: np.ndarray, *, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest element so far and where it is last found; a NaN wins from then on."""
    return _running_extreme(x, dim, np.greater_equal)


@op(outputs=("values", "indices"))
def cummin(x: np.ndarray, *, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest element so far and where it is last found; a NaN wins from then on."""
    return _running_extreme(x, dim, np.less_equal)


def _running_extreme_meta(x: Meta, *, dim: int) -> tuple[Meta, Meta]:
    return Meta.of(x.shape, x.dtype, x.device), Meta.of(x.shape, dtypes.int64, x.device)


cummax.meta(_running_extreme_meta)
cummin.meta(_running_extreme_meta)


def _scatter_back(dvalues: Any, indices: Any, x_meta: Meta, dim: int) -> Any:
    from pellucid.engine.ops.reduce import place

    return place(dvalues, indices, x_meta, dim, True)


@cummax.vjp("x")
def cummax_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int) -> Any:
    return _scatter_back(dvalues, indices, x_meta, dim)


@cummin.vjp("x")
def cummin_dx(dvalues: Any, indices: Any, x_meta: Meta, dim: int) -> Any:
    return _scatter_back(dvalues, indices, x_meta, dim)


def _log_of_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(exp(a) + exp(b)) of complex numbers, by the larger real part."""
    swap = a.real < b.real
    high, low = np.where(swap, b, a), np.where(swap, a, b)
    both = high + np.log1p(np.exp(low - high))
    return np.where(np.isneginf(high.real), high, both)


@op
def logcumsumexp(x: np.ndarray, *, dim: int) -> np.ndarray:
    """Logarithms of the running sums of exponentials, each step from the larger of its two terms."""
    if not x.ndim or not x.size:
        return x.copy()
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=dim)
    moved = np.moveaxis(x, dim, 0).copy()
    for i in range(1, len(moved)):
        moved[i] = _log_of_sum(moved[i - 1], moved[i])
    return np.moveaxis(moved, 0, dim)


@logcumsumexp.meta
def logcumsumexp_meta(x: Meta, *, dim: int) -> Meta:
    check(
        x.dtype.category >= 2, f"\"logcumsumexp_out_cpu\" not implemented for '{title(x.dtype)}'", NotImplementedError
    )
    return Meta.of(x.shape, x.dtype, x.device)


@logcumsumexp.vjp("x")
def logcumsumexp_dx(dy: Any, x: Any, y: Any, x_meta: Meta, dim: int) -> Any:
    """Sums over the later places j of dy[j] * exp(x - y[j]), as logarithms: positive and negative parts apart."""
    flip, log, exp = by_name["flip"], by_name["log"], by_name["exp"]
    if not x_meta.ndim:
        return dy

    def pulled(logs: Any) -> Any:
        later = flip(logcumsumexp(flip(sub(logs, y), dims=(dim,)), dim=dim), dims=(dim,))
        return exp(add(later, x))

    if x_meta.dtype.is_complex:
        return conjugate(pulled(log(conjugate(dy))))
    logs, lowest = (
        log(by_name["abs"](dy)),
        float(ml_dtypes.finfo(x_meta.dtype.numpy).min),
    )  # not -inf: this differentiates
    return sub(pulled(where(by_name["gt"](dy, 0), logs, lowest)), pulled(where(by_name["lt"](dy, 0), logs, lowest)))
