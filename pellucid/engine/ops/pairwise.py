"""Distances between all pairs of rows of one matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import div, mul, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.embedding import embedding, embedding_rows
from pellucid.engine.ops.exponential import absolute, pow_scalar, sgn
from pellucid.engine.ops.shape import select, unsqueeze_axes


@op
def pairs(*, n: int) -> np.ndarray:
    """The pairs i < j of 0 … n-1, in order: (2, n (n - 1) / 2)."""
    return np.stack(np.triu_indices(n, 1)).astype(np.int64)


@pairs.meta
def pairs_meta(*, n: int) -> Meta:
    return Meta.of((2, n * (n - 1) // 2), dtypes.int64)


@op(grad_name="PdistBackward0")
def pdist(x: np.ndarray, *, p: float) -> np.ndarray:
    """The p-norm of the difference of every two rows i < j."""
    first, second = np.triu_indices(len(x), 1)
    distance = np.abs(x[first] - x[second])
    if p == np.inf:
        return np.max(distance, 1, initial=0)
    if p == 0:
        return np.sum(distance != 0, 1).astype(x.dtype)
    if p == 1:
        return np.sum(distance, 1)
    return np.sqrt(np.sum(np.square(distance), 1)) if p == 2 else np.sum(distance**p, 1) ** (1 / p)


@pdist.meta
def pdist_meta(x: Meta, *, p: float) -> Meta:
    return x.like((x.shape[0] * (x.shape[0] - 1) // 2,))


@pdist.vjp("x")
def pdist_dx(dy: Any, x: Any, y: Any, x_meta: Meta, p: float) -> Any:
    """Each pair's gradient, added to one row and subtracted from the other; 0 between equal rows."""
    if p == 0:
        return mul(x, 0)
    both, rows = pairs(n=x_meta.shape[0]), x_meta.shape[0]
    first, second = select(both, dim=0, index=0), select(both, dim=0, index=1)
    look = lambda index: embedding(x, index, padding_idx=-1, scale_grad_by_freq=False)  # noqa: E731
    pull = _pull(sub(look(first), look(second)), unsqueeze_axes(dy, axes=(1,)), unsqueeze_axes(y, axes=(1,)), p)
    spread = lambda index: embedding_rows(pull, index, rows=rows, padding_idx=-1, scale_grad_by_freq=False)  # noqa: E731
    return sub(spread(first), spread(second))


def _pull(difference: Any, given: Any, norm: Any, p: float) -> Any:
    if p == math.inf:
        return where(eq(absolute(difference), norm), mul(sgn(difference), given), 0)
    if p == 1:
        return mul(sgn(difference), given)
    if p == 2:
        return mul(difference, where(eq(norm, 0), 0, div(given, norm)))
    size = absolute(difference)
    powers = where(eq(size, 0), 0, mul(sgn(difference), pow_scalar(where(eq(size, 0), 1, size), p - 1)))
    return mul(powers, where(eq(norm, 0), 0, div(given, pow_scalar(norm, p - 1))))
