"""Scaled dot-product attention of 4-dimensional queries, keys and values as one operator, and its gradients as another.

What is more general (dropout, masks that want a gradient, other numbers of dimensions) is made of products and softmax
in nn/functional/attention.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.data import from_array
from pellucid.engine.core.dtypes import bool_
from pellucid.engine.core.meta import Meta, pointwise_strides
from pellucid.engine.core.modes import is_differentiated
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import add, mul, sub
from pellucid.engine.ops.comparison import where
from pellucid.engine.ops.linalg import bmm
from pellucid.engine.ops.normalization import safe_softmax
from pellucid.engine.ops.reduce import sum_
from pellucid.engine.ops.shape import expand, reshape_to, transpose


def _scores(query: np.ndarray, key: np.ndarray, mask: Any, scale: float, is_causal: bool) -> np.ndarray:
    """Scaled products, -inf where a query does not see a key."""
    scores = np.matmul(query, key.swapaxes(-1, -2)) * np.asarray(scale, query.dtype)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return scores.astype(query.dtype, copy=False)


@op(outputs=("y", "logsumexp"), grad_name="ScaledDotProductFlashAttentionForCpuBackward0")
def attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: Any = None, *, scale: float, is_causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """softmax(query @ key.T * scale + mask) @ value, and the logarithms of the sums that the softmax divides by.

    A row of which no key is seen gives 0, and infinity as its logarithm.
    """
    scores = _scores(query, key, mask, scale, is_causal)
    top = np.max(scores, -1, keepdims=True, initial=-np.inf)
    level = np.where(np.isneginf(top), 0, top)
    weights = np.exp(scores - level)
    share = np.sum(weights, -1, keepdims=True)
    unseen = np.isneginf(top)
    lse = np.where(unseen, np.inf, level + np.log(share))
    y = np.matmul(weights / np.where(unseen, 1, share), value)
    return y, lse[..., 0]


@attention.meta
def attention_meta(
    query: Meta, key: Meta, value: Meta, mask: Any = None, *, scale: float, is_causal: bool
) -> tuple[Meta, Meta]:
    batch, heads, rows, _ = query.shape
    shape = (batch, heads, rows, value.shape[3])
    like_query = pointwise_strides(shape, [query], True) if shape == query.shape else None
    return Meta.of(shape, query.dtype, query.device, like_query), query.like((batch, heads, rows))


def _heads_inside(rows: Meta, width: int) -> Meta:
    """(batch, heads, rows, width) that lies in memory as (batch, rows, heads, width), as PyTorch lays it out."""
    batch, heads, count, _ = rows.shape
    strides = (count * heads * width, width, heads * width, 1)
    return Meta.of((batch, heads, count, width), rows.dtype, rows.device, strides)


@attention.vjp("query", "key", "value")
def attention_dinputs(
    dy: Any, query: Any, key: Any, value: Any, mask: Any, y: Any, logsumexp: Any, scale: float, is_causal: bool
) -> Any:
    if not is_differentiated():
        return attention_gradients(dy, query, key, value, y, logsumexp, mask, scale=scale, is_causal=is_causal)
    return _differentiable(dy, query, key, value, mask, scale, is_causal)


def _differentiable(dy: Any, query: Any, key: Any, value: Any, mask: Any, scale: float, is_causal: bool) -> Any:
    """The gradients by plain operators, whose history goes on."""
    batch, heads, rows, _ = query._meta.shape
    keys = key._meta.shape[2]
    dy, q, k, v = (reshape_to(x, (batch * heads, *x._meta.shape[2:])) for x in (dy, query, key, value))
    scores = mul(bmm(q, _turned(k)), scale)
    if mask is not None:
        full = reshape_to(expand(mask, size=(batch, heads, rows, keys)), (batch * heads, rows, keys))
        scores = where(full, scores, -np.inf) if mask._meta.dtype is bool_ else add(scores, full)
    if is_causal:
        scores = where(from_array(np.tri(rows, keys, dtype=bool)), scores, -np.inf)
    weights = safe_softmax(scores, dim=2, dtype=scores._meta.dtype)
    slopes = bmm(dy, _turned(v))
    level = sum_(mul(slopes, weights), dim=(2,), keepdim=True, dtype=slopes._meta.dtype)
    slopes = mul(mul(weights, sub(slopes, level)), scale)
    found = (bmm(slopes, k), bmm(_turned(slopes), q), bmm(_turned(weights), dy))
    return tuple([reshape_to(x, tuple(like._meta.shape)) for x, like in zip(found, (query, key, value), strict=True)])


def _turned(x: Any) -> Any:
    return transpose(x, dim0=1, dim1=2)


@op(outputs=("dquery", "dkey", "dvalue"))
def attention_gradients(
    given: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, result: np.ndarray,
    logsumexp: np.ndarray, mask: Any = None, *, scale: float, is_causal: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The gradients of `attention` from its result and the logarithms that it kept."""
    weights = np.exp(_scores(query, key, mask, scale, is_causal) - logsumexp[..., None])
    level = np.sum(given * result, -1, keepdims=True)
    slopes = weights * (np.matmul(given, value.swapaxes(-1, -2)) - level) * np.asarray(scale, query.dtype)
    turned = slopes.swapaxes(-1, -2)
    return np.matmul(slopes, key), np.matmul(turned, query), np.matmul(weights.swapaxes(-1, -2), given)


@attention_gradients.meta
def attention_gradients_meta(
    given: Meta, query: Meta, key: Meta, value: Meta, result: Meta, logsumexp: Meta, mask: Any = None, *,
    scale: float, is_causal: bool,
) -> tuple[Meta, Meta, Meta]:  # fmt: skip
    return _heads_inside(query, query.shape[3]), _heads_inside(key, key.shape[3]), _heads_inside(value, value.shape[3])
