"""Norms of vectors along axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import div, mul
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import absolute, pow_scalar, sgn
from pellucid.engine.ops.reduce import Dims, count, lifted, reduced_shape, share_ties


@op(grad_name="LinalgVectorNormBackward0")
def vector_norm(x: np.ndarray, *, ord: float, dim: Dims, keepdim: bool) -> np.ndarray:
    """The ord-norm of the elements along axes: largest (inf), smallest (-inf), number not 0 (0), or the root of a sum
    of powers.
    """
    size = np.abs(x)
    if ord == math.inf:
        return (
            np.max(size, axis=dim, keepdims=keepdim)
            if count(x.shape, dim)
            else np.sum(size, axis=dim, keepdims=keepdim)
        )
    if ord == -math.inf:
        return np.min(size, axis=dim, keepdims=keepdim)
    if ord == 0:
        return np.sum(size != 0, axis=dim, keepdims=keepdim).astype(size.dtype)
    if ord == 1:
        return np.sum(size, axis=dim, keepdims=keepdim)
    if ord == 2:
        return np.sqrt(np.sum(size * size, axis=dim, keepdims=keepdim))
    return np.power(np.sum(np.power(size, ord), axis=dim, keepdims=keepdim), 1.0 / ord)


@vector_norm.meta
def vector_norm_meta(x: Meta, *, ord: float, dim: Dims, keepdim: bool) -> Meta:
    check(
        x.dtype.category >= 2,
        f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {title(x.dtype)}",
    )
    if ord < 0 or ord == math.inf:
        check(
            x.numel or not any(x.shape[axis] == 0 for axis in (range(x.ndim) if dim is None else dim)),
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does "
            "not have an identity",
        )
    return Meta.of(reduced_shape(x.shape, dim, keepdim), x.dtype.to_real(), x.device)


@vector_norm.vjp("x")
def vector_norm_dx(dy: Any, x: Any, y: Any, x_meta: Meta, ord: float, dim: Dims, keepdim: bool) -> Any:
    """0 where the norm is 0: the subgradient of least norm."""
    given, norm = lifted(dy, x_meta, dim, keepdim), lifted(y, x_meta, dim, keepdim)
    if ord == 0:
        return mul(x, 0)
    if ord == 1:
        return mul(sgn(x), given)
    if ord == 2:
        return mul(x, where(eq(norm, 0), 0, div(given, norm)))
    if abs(ord) == math.inf:
        return mul(sgn(x), share_ties(dy, absolute(x), y, x_meta, dim, keepdim))
    if ord < 1:
        powers = where(eq(x, 0), 0, mul(sgn(x), pow_scalar(absolute(x), ord - 1)))
        return mul(powers, mul(given, pow_scalar(norm, 1 - ord)))
    if ord < 2:
        powers = where(eq(x, 0), 0, mul(sgn(x), pow_scalar(absolute(x), ord - 1)))
        return mul(powers, where(eq(norm, 0), 0, div(given, pow_scalar(norm, ord - 1))))
    scaled = mul(x, pow_scalar(absolute(x), ord - 2))
    return mul(scaled, where(eq(norm, 0), 0, div(given, pow_scalar(norm, ord - 1))))
