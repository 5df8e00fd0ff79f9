"""Element-wise and per-item losses whose gradients have forms of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op, pointwise
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import div, mul, neg, sub
from pellucid.engine.ops.comparison import clamp, ge, le, lt, where
from pellucid.engine.ops.exponential import absolute, log, log1p, sign


def _by_class(index: np.ndarray, weight: Any, kind: np.dtype, ignore_index: int, classes: int) -> np.ndarray:
    """The weight of each item: its class's, 0 where it is ignored. IndexError for a class that does not exist."""
    ignored = index == ignore_index
    wrong = ~ignored & ((index < 0) | (index >= classes))
    if wrong.any():
        raise IndexError(f"Target {int(index[wrong][0])} is out of bounds: there are {classes} classes, 0 to {classes - 1}.")
    if weight is None:
        return np.where(ignored, 0, 1).astype(kind)
    return np.where(ignored, 0, weight[np.where(ignored, 0, index)]).astype(kind) if classes else np.zeros(index.shape, kind)


@op
def nll_weights(target: np.ndarray, weight: Any, x: np.ndarray, *, ignore_index: int) -> np.ndarray:
    """The weight of each item's class, 0 where it is ignored."""
    return _by_class(target, weight, x.dtype, ignore_index, x.shape[1])


@nll_weights.meta
def nll_weights_meta(target: Meta, weight: Any, x: Meta, *, ignore_index: int) -> Meta:
    return Meta.of(target.shape, x.dtype, x.device)


@op(grad_name="NllLossBackward0")
def nll(x: np.ndarray, target: np.ndarray, weight: Any, *, ignore_index: int) -> np.ndarray:
    """Minus x at each item's class (axis 1), times the class's weight; 0 for an ignored item."""
    scale = _by_class(target, weight, x.dtype, ignore_index, x.shape[1])
    safe = np.where(target == ignore_index, 0, target)
    if not x.shape[1]:
        return np.zeros(target.shape, x.dtype)
    picked = np.take_along_axis(x, np.expand_dims(safe, 1), 1).squeeze(1)
    return np.where(scale == 0, 0, -picked * scale)


@nll.meta
def nll_meta(x: Meta, target: Meta, weight: Any, *, ignore_index: int) -> Meta:
    check(
        target.dtype in (dtypes.int64, dtypes.uint8, dtypes.int32),
        f"expected scalar type Long but found {title(target.dtype)} (class indices: convert the target with .long())",
    )
    check(
        weight is None or weight.ndim == 1 and weight.numel == x.shape[1],
        f"weight tensor should be defined either for all {x.shape[1]} classes or no classes but got weight tensor of shape:"
        f" {list(getattr(weight, 'shape', ()))}",
    )
    return Meta.of(target.shape, x.dtype, x.device)


@nll.vjp("x")
def nll_dx(dy: Any, target: Any, weight: Any, x_meta: Meta, ignore_index: int) -> Any:
    return nll_spread(dy, target, weight, size=tuple(x_meta.shape), ignore_index=ignore_index)


@op(grad_name="NllLossBackwardBackward0")
def nll_spread(cotangent: np.ndarray, target: np.ndarray, weight: Any, *, size: tuple[int, ...], ignore_index: int) -> np.ndarray:
    """Zeros of the shape of x with minus the weighted cotangent at each item's class."""
    result = np.zeros(size, cotangent.dtype)
    if not result.size:
        return result
    scale = _by_class(target, weight, cotangent.dtype, ignore_index, size[1])
    safe = np.where(target == ignore_index, 0, target)
    values = np.where(scale == 0, 0, -cotangent * scale)
    np.put_along_axis(result, np.expand_dims(safe, 1), np.expand_dims(values, 1), 1)
    return result


@nll_spread.meta
def nll_spread_meta(cotangent: Meta, target: Meta, weight: Any, *, size: tuple[int, ...], ignore_index: int) -> Meta:
    return Meta.of(size, cotangent.dtype, cotangent.device)


@nll_spread.vjp("cotangent")
def nll_spread_dcotangent(dy: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    return nll(dy, target, weight, ignore_index=ignore_index)


@pointwise(accepts="floating", grad_name="MseLossBackward0")
def squared_error(x: Any, target: Any) -> Any:
    """(x - target)**2."""
    return np.square(x - target)


@squared_error.vjp("x")
def squared_error_dx(dy: Any, x: Any, target: Any) -> Any:
    return mul(dy, mul(sub(x, target), 2))


@squared_error.vjp("target")
def squared_error_dtarget(dy: Any, x: Any, target: Any) -> Any:
    return mul(dy, mul(sub(target, x), 2))


@pointwise(accepts="floating", grad_name="SmoothL1LossBackward0")
def smooth_l1(x: Any, target: Any, *, beta: float) -> Any:
    """0.5 d**2 / beta below beta, d - 0.5 beta above, for d = |x - target|."""
    distance = np.abs(x - target)
    return np.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


def _smooth_slope(x: Any, target: Any, beta: float) -> Any:
    difference = sub(x, target)
    return where(ge(absolute(difference), beta), sign(difference), div(difference, beta))


@smooth_l1.vjp("x", "target")
def smooth_l1_gradients(dy: Any, x: Any, target: Any, beta: float) -> Any:
    slope = mul(dy, _smooth_slope(x, target, beta))
    return slope, neg(slope)


@pointwise(accepts="floating", grad_name="HuberLossBackward0")
def huber(x: Any, target: Any, *, delta: float) -> Any:
    """0.5 d**2 below delta, delta (d - 0.5 delta) above, for d = |x - target|."""
    distance = np.abs(x - target)
    return np.where(distance < delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


@huber.vjp("x", "target")
def huber_gradients(dy: Any, x: Any, target: Any, delta: float) -> Any:
    slope = mul(dy, clamp(sub(x, target), -delta, delta))
    return slope, neg(slope)


@pointwise(accepts="floating", grad_name="BinaryCrossEntropyBackward0")
def binary_cross_entropy(x: Any, target: Any) -> Any:
    """-(t log x + (1 - t) log(1 - x)), logarithms not below -100."""
    return (target - 1) * np.maximum(np.log1p(-x), -100) - target * np.maximum(np.log(x), -100)


@binary_cross_entropy.vjp("x")
def binary_cross_entropy_dx(dy: Any, x: Any, target: Any) -> Any:
    variance = mul(x, sub(1, x))
    return mul(dy, div(sub(x, target), where(lt(variance, 1e-12), 1e-12, variance)))


@binary_cross_entropy.vjp("target")
def binary_cross_entropy_dtarget(dy: Any, x: Any) -> Any:
    return mul(dy, sub(log1p(neg(x)), log(x)))  # without the floor of the forward, as PyTorch has it

