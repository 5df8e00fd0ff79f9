"""Losses that are one node of the graph with their reduction: regression, binary and multi-class losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, broadcast_shapes
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import common_type, title
from pellucid.engine.ops.arithmetic import add, div, mul, neg, sub
from pellucid.engine.ops.comparison import clamp, ge, lt, where
from pellucid.engine.ops.exponential import absolute, exp, log, log1p, sigmoid, sign


def reduced(values: np.ndarray, reduction: str) -> np.ndarray:
    """Element losses as they are, or their mean or sum; the mean of nothing is NaN."""
    if reduction == "none":
        return values
    summed = np.sum(values)
    return summed if reduction == "sum" else np.divide(summed, np.asarray(values.size, values.dtype))


def share(dy: Any, x: Meta, reduction: str) -> Any:
    """The cotangent of each element's loss (of shape () or that of `x`)."""
    return div(dy, max(x.numel, 1)) if reduction == "mean" else dy


def _loss_meta(name: str) -> Any:
    def rule(x: Meta, target: Meta, *others: Any, reduction: str, **settings: Any) -> Meta:
        kind = common_type([x, target])
        check(
            kind.category == 2,
            f"\"{name}_cpu\" not implemented for '{title(kind)}': convert the input with .float()",
            NotImplementedError,
        )
        shape = broadcast_shapes(x.shape, target.shape, *[each.shape for each in others if each is not None])
        return Meta.of(shape if reduction == "none" else (), kind, x.device)

    return rule


@op(grad_name="MseLossBackward0")
def squared_error(x: np.ndarray, target: np.ndarray, *, reduction: str) -> np.ndarray:
    """(x - target)**2."""
    return reduced(np.square(x - target), reduction)


squared_error.meta(_loss_meta("mse"))


@squared_error.vjp("x", "target")
def squared_error_gradients(dy: Any, x: Any, target: Any, x_meta: Meta, reduction: str) -> Any:
    slope = mul(mul(sub(x, target), 2 / max(x_meta.numel, 1) if reduction == "mean" else 2), dy)
    return slope, neg(slope)


@op(grad_name="SmoothL1LossBackward0")
def smooth_l1(x: np.ndarray, target: np.ndarray, *, beta: float, reduction: str) -> np.ndarray:
    """0.5 d**2 / beta below beta, d - 0.5 beta above, for d = |x - target|."""
    distance = np.abs(x - target)
    values = np.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)
    return reduced(values.astype(distance.dtype, copy=False), reduction)


smooth_l1.meta(_loss_meta("smooth_l1"))


@smooth_l1.vjp("x", "target")
def smooth_l1_gradients(dy: Any, x: Any, target: Any, x_meta: Meta, beta: float, reduction: str) -> Any:
    difference = sub(x, target)
    bend = where(ge(absolute(difference), beta), sign(difference), div(difference, beta))
    slope = mul(share(dy, x_meta, reduction), bend)
    return slope, neg(slope)


@op(grad_name="HuberLossBackward0")
def huber(x: np.ndarray, target: np.ndarray, *, delta: float, reduction: str) -> np.ndarray:
    """0.5 d**2 below delta, delta (d - 0.5 delta) above, for d = |x - target|."""
    distance = np.abs(x - target)
    values = np.where(distance < delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))
    return reduced(values.astype(distance.dtype, copy=False), reduction)


huber.meta(_loss_meta("huber"))


@huber.vjp("x", "target")
def huber_gradients(dy: Any, x: Any, target: Any, x_meta: Meta, delta: float, reduction: str) -> Any:
    slope = mul(share(dy, x_meta, reduction), clamp(sub(x, target), -delta, delta))
    return slope, neg(slope)


@op(grad_name="SoftMarginLossBackward0")
def soft_margin(x: np.ndarray, target: np.ndarray, *, reduction: str) -> np.ndarray:
    """log(1 + exp(-target x))."""
    return reduced(np.log1p(np.exp(-target * x)), reduction)


soft_margin.meta(_loss_meta("soft_margin"))


@soft_margin.vjp("x")
def soft_margin_dx(dy: Any, x: Any, target: Any, x_meta: Meta, reduction: str) -> Any:
    return mul(share(dy, x_meta, reduction), mul(neg(target), sigmoid(mul(neg(target), x))))


@op(grad_name="BinaryCrossEntropyBackward0")
def binary_cross_entropy(x: np.ndarray, target: np.ndarray, weight: Any, *, reduction: str) -> np.ndarray:
    """-(t log x + (1 - t) log(1 - x)), logarithms not below -100; x must be in [0, 1]."""
    outside = ~((x >= 0) & (x <= 1))
    if outside.any():
        raise RuntimeError(
            f"all elements of input should be between 0 and 1, but there is {x[outside][0]}: does the model lack a "
            "sigmoid before"
            " binary_cross_entropy? (binary_cross_entropy_with_logits takes any number)"
        )
    values = (target - 1) * np.maximum(np.log1p(-x), -100) - target * np.maximum(np.log(x), -100)
    return reduced(values if weight is None else values * weight, reduction)


binary_cross_entropy.meta(_loss_meta("binary_cross_entropy"))


@binary_cross_entropy.vjp("x")
def binary_cross_entropy_dx(dy: Any, x: Any, target: Any, weight: Any, x_meta: Meta, reduction: str) -> Any:
    variance = mul(x, sub(1, x))
    slope = mul(share(dy, x_meta, reduction), div(sub(x, target), where(lt(variance, 1e-12), 1e-12, variance)))
    return slope if weight is None else mul(slope, weight)


@binary_cross_entropy.vjp("target")
def binary_cross_entropy_dtarget(dy: Any, x: Any, weight: Any, x_meta: Meta, reduction: str) -> Any:
    slope = mul(share(dy, x_meta, reduction), sub(log1p(neg(x)), log(x)))  # without the floor, as PyTorch has it
    return slope if weight is None else mul(slope, weight)


def _log_sigmoid(x: np.ndarray) -> np.ndarray:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@op(grad_name="BinaryCrossEntropyWithLogitsBackward0")
def logits_cross_entropy(
    x: np.ndarray, target: np.ndarray, weight: Any, positive: Any, *, reduction: str
) -> np.ndarray:
    """Binary cross entropy of sigmoid(x), without overflow; `positive` multiplies the loss of positives."""
    smooth = _log_sigmoid(x)
    if positive is not None:
        smooth = ((positive - 1) * target + 1) * smooth
    values = (1 - target) * x - smooth
    return reduced(values if weight is None else values * weight, reduction)


logits_cross_entropy.meta(_loss_meta("log_sigmoid"))


@logits_cross_entropy.vjp("x")
def logits_cross_entropy_dx(
    dy: Any, x: Any, target: Any, weight: Any, positive: Any, x_meta: Meta, reduction: str
) -> Any:
    if positive is None:
        slope = sub(sigmoid(x), target)
    else:
        scaled = mul(positive, target)
        slope = sub(mul(sub(add(scaled, 1), target), sigmoid(x)), scaled)
    slope = mul(slope, share(dy, x_meta, reduction))
    return slope if weight is None else mul(slope, weight)


@logits_cross_entropy.vjp("target")
def logits_cross_entropy_dtarget(dy: Any, x: Any, weight: Any, positive: Any, x_meta: Meta, reduction: str) -> Any:
    slope = neg(x)
    if positive is not None:
        smooth = neg(log1p(exp(neg(absolute(x)))))
        smooth = add(where(lt(x, 0), x, 0), smooth)
        slope = sub(slope, mul(sub(positive, 1), smooth))
    slope = mul(slope, share(dy, x_meta, reduction))
    return slope if weight is None else mul(slope, weight)
