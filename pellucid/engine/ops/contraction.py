"""Traces, cross products and distances between all pairs of rows. Matrix products are in linalg.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, broadcast_shapes
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import conjugate, div, mul, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import absolute, pow_scalar, sgn
from pellucid.engine.ops.joining import embed_diagonal
from pellucid.engine.ops.reduce import total
from pellucid.engine.ops.shape import expand, squeeze_axes, unsqueeze_axes


@op
def trace(x: np.ndarray) -> np.ndarray:
    """Sum of a matrix's diagonal; integers add up as int64."""
    return np.trace(x, dtype=np.int64 if x.dtype.kind in "biu" else None)


@trace.meta
def trace_meta(x: Meta) -> Meta:
    check(x.ndim == 2, f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return Meta.of((), dtypes.int64 if x.dtype.category <= 1 else x.dtype, x.device)


@trace.vjp("x")
def trace_dx(dy: Any, x_meta: Meta) -> Any:
    spread = expand(dy, size=(min(x_meta.shape),))
    return embed_diagonal(spread, size=tuple(x_meta.shape), offset=0, dim1=0, dim2=1)


@op(grad_name="LinalgCrossBackward0")
def cross(a: np.ndarray, b: np.ndarray, *, dim: int) -> np.ndarray:
    """Vector product of 3-vectors along an axis (counted from the back); the others broadcast."""
    next_, last = [1, 2, 0], [2, 0, 1]
    forward = np.take(a, next_, dim) * np.take(b, last, dim)
    return forward - np.take(a, last, dim) * np.take(b, next_, dim)


@cross.meta
def cross_meta(a: Meta, b: Meta, *, dim: int) -> Meta:
    check(a.dtype is not dtypes.bool_, "\"cross\" not implemented for 'Bool'", NotImplementedError)
    check(
        a.dtype is b.dtype,
        f"linalg.cross: expected both inputs to have the same dtype, but got {title(a.dtype)} and {title(b.dtype)}",
    )
    return Meta.of(broadcast_shapes(a.shape, b.shape), a.dtype, a.device)


@cross.vjp("a")
def cross_da(dy: Any, b: Any, dim: int) -> Any:
    return cross(conjugate(b), dy, dim=dim)


@cross.vjp("b")
def cross_db(dy: Any, a: Any, dim: int) -> Any:
    return cross(dy, conjugate(a), dim=dim)


@op(grad_name="CdistBackward0")
def cdist(a: np.ndarray, b: np.ndarray, *, p: float, by_products: bool) -> np.ndarray:
    """The p-norm of the difference of every row of `a` and every row of `b`; batches broadcast."""
    if by_products:  # |a - b|^2 = |a|^2 - 2ab + |b|^2: one matrix product instead of all the differences
        squares = np.sum(a * a, -1)[..., :, None] + np.sum(b * b, -1)[..., None, :]
        return np.sqrt(np.maximum(squares - 2 * np.matmul(a, b.swapaxes(-1, -2)), 0))
    distance = np.abs(a[..., :, None, :] - b[..., None, :, :])
    if p == math.inf:
        return np.max(distance, -1, initial=0)
    if p == 0:
        return np.sum(distance != 0, -1).astype(a.dtype)
    if p == 1:
        return np.sum(distance, -1)
    if p == 2:
        return np.sqrt(np.sum(distance * distance, -1))
    return np.sum(distance**p, -1) ** (1 / p)


@cdist.meta
def cdist_meta(a: Meta, b: Meta, *, p: float, by_products: bool) -> Meta:
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return Meta.of((*lead, a.shape[-2], b.shape[-2]), a.dtype, a.device)


def _pull(dy: Any, a: Any, b: Any, y: Any, p: float) -> Any:
    """Each pair's gradient with respect to `a - b`, with the pairs' two axes; 0 where the two rows are equal."""
    difference = sub(unsqueeze_axes(a, axes=(a._meta.ndim - 1,)), unsqueeze_axes(b, axes=(b._meta.ndim - 2,)))
    given, norm = unsqueeze_axes(dy, axes=(dy._meta.ndim,)), unsqueeze_axes(y, axes=(y._meta.ndim,))
    if p == 0:
        return mul(difference, 0)
    if p == 1:
        return mul(sgn(difference), given)
    if p == math.inf:
        return where(eq(absolute(difference), norm), mul(sgn(difference), given), 0)
    if p == 2:
        return mul(difference, where(eq(norm, 0), 0, div(given, norm)))
    size = absolute(difference)
    powers = where(eq(size, 0), 0, mul(sgn(difference), pow_scalar(where(eq(size, 0), 1, size), p - 1)))
    return mul(powers, where(eq(norm, 0), 0, div(given, pow_scalar(norm, p - 1))))


@cdist.vjp("a")
def cdist_da(dy: Any, a: Any, b: Any, y: Any, p: float) -> Any:
    pull = _pull(dy, a, b, y, p)
    axis = pull._meta.ndim - 2
    return squeeze_axes(total(pull, (axis,)), axes=(axis,))


@cdist.vjp("b")
def cdist_db(dy: Any, a: Any, b: Any, y: Any, p: float) -> Any:
    pull = _pull(mul(dy, -1), a, b, y, p)
    axis = pull._meta.ndim - 3
    return squeeze_axes(total(pull, (axis,)), axes=(axis,))
