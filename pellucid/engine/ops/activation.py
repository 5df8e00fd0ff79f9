"""Activation functions that are not plain mathematics: gelu, silu, leaky and exponential units, soft and hard
variants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import random as streams
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op, pointwise
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import add, div, mul, neg, sub
from pellucid.engine.ops.comparison import ge, gt, le, logical_and, logical_or, lt, where
from pellucid.engine.ops.error_function import erf, erf_array
from pellucid.engine.ops.exponential import exp, sigmoid, square, tanh
from pellucid.engine.ops.joining import cat
from pellucid.engine.ops.random import source
from pellucid.engine.ops.shape import slice_

ROOT_HALF = 0.7071067811865476
ROOT_TWO_OVER_PI = 0.7978845608028654
INVERSE_ROOT_TWO_PI = 0.3989422804014327


@pointwise(accepts="floating", grad_name="GeluBackward0")
def gelu(x: Any) -> Any:
    """x times the normal distribution function of x."""
    return 0.5 * x * (1 + erf_array(x * ROOT_HALF).astype(x.dtype))


@gelu.vjp("x")
def gelu_dx(dy: Any, x: Any) -> Any:
    below = mul(add(erf(mul(x, ROOT_HALF)), 1), 0.5)
    density = mul(exp(mul(square(x), -0.5)), INVERSE_ROOT_TWO_PI)
    return mul(dy, add(below, mul(x, density)))


@pointwise(accepts="floating", grad_name="GeluBackward0")
def gelu_tanh(x: Any) -> Any:
    """gelu by its tanh approximation (Hendrycks and Gimpel, 2016)."""
    return 0.5 * x * (1 + np.tanh(ROOT_TWO_OVER_PI * (x + 0.044715 * x * x * x)))


@gelu_tanh.vjp("x")
def gelu_tanh_dx(dy: Any, x: Any) -> Any:
    inner = mul(add(x, mul(mul(square(x), x), 0.044715)), ROOT_TWO_OVER_PI)
    bend = tanh(inner)
    slope = mul(add(mul(square(x), 3 * 0.044715), 1), ROOT_TWO_OVER_PI)
    return mul(dy, add(mul(add(bend, 1), 0.5), mul(mul(mul(x, 0.5), sub(1, square(bend))), slope)))


@pointwise(accepts="floating", grad_name="SiluBackward0")
def silu(x: Any) -> Any:
    """x times sigmoid(x)."""
    return x / (1 + np.exp(-x))


@silu.vjp("x")
def silu_dx(dy: Any, x: Any) -> Any:
    s = sigmoid(x)
    return mul(dy, mul(s, add(mul(x, sub(1, s)), 1)))


@pointwise(accepts="floating", grad_name=lambda settings: settings.get("node", "LeakyReluBackward0"))
def leaky_relu(x: Any, *, negative_slope: float, node: str = "LeakyReluBackward0") -> Any:
    """x above 0, a small multiple of it elsewhere."""
    return np.where(x > 0, x, x * negative_slope)


@leaky_relu.vjp("x")
def leaky_relu_dx(dy: Any, x: Any, negative_slope: float) -> Any:
    return where(gt(x, 0), dy, mul(dy, negative_slope))


@pointwise(accepts="floating", grad_name=lambda settings: settings.get("node", "EluBackward0"))
def elu(x: Any, *, alpha: float, scale: float, input_scale: float, node: str = "EluBackward0") -> Any:
    """scale * x above 0, scale * alpha * (exp(input_scale * x) - 1) elsewhere."""
    return np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale))


@elu.vjp("x")
def elu_dx(dy: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    below = mul(exp(mul(where(lt(x, 0), x, 0), input_scale)), alpha * scale * input_scale)
    return where(le(x, 0), mul(dy, below), mul(dy, scale))


@pointwise(accepts="floating", grad_name="SoftplusBackward0")
def softplus(x: Any, *, beta: float, threshold: float) -> Any:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


@softplus.vjp("x")
def softplus_dx(dy: Any, x: Any, beta: float, threshold: float) -> Any:
    scaled = mul(x, beta)
    return where(gt(scaled, threshold), dy, mul(dy, sigmoid(scaled)))


@pointwise(accepts="floating", grad_name="LogSigmoidBackward0")
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) without overflow."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@log_sigmoid.vjp("x")
def log_sigmoid_dx(dy: Any, x: Any) -> Any:
    return mul(dy, sigmoid(neg(x)))


@pointwise(accepts="floating", grad_name="MishBackward0")
def mish(x: Any) -> Any:
    """x times tanh(softplus(x)) (Misra, 2019)."""
    return x * np.tanh(np.logaddexp(x, 0))


@mish.vjp("x")
def mish_dx(dy: Any, x: Any) -> Any:
    bend = tanh(softplus(x, beta=1.0, threshold=20.0))
    return mul(dy, add(bend, mul(mul(x, sigmoid(x)), sub(1, square(bend)))))


@pointwise(accepts="real number", grad_name="HardtanhBackward0")
def hardtanh(x: Any, *, low: float, high: float) -> Any:
    """x kept between two bounds; no gradient at or beyond them."""
    return np.minimum(np.maximum(x, low), high)


@hardtanh.vjp("x")
def hardtanh_dx(dy: Any, x: Any, low: float, high: float) -> Any:
    return where(logical_or(le(x, low), ge(x, high)), 0, dy)


@pointwise(accepts="floating", grad_name="HardswishBackward0")
def hardswish(x: Any) -> Any:
    """x * relu6(x + 3) / 6 (Howard et al., 2019)."""
    return x * np.minimum(np.maximum(x + 3, 0), 6) / 6


@hardswish.vjp("x")
def hardswish_dx(dy: Any, x: Any) -> Any:
    middle = mul(dy, add(div(x, 3), 0.5))
    return where(le(x, -3), 0, where(lt(x, 3), middle, dy))


@pointwise(accepts="floating", grad_name="HardsigmoidBackward0")
def hardsigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return np.minimum(np.maximum(x + 3, 0), 6) / 6


@hardsigmoid.vjp("x")
def hardsigmoid_dx(dy: Any, x: Any) -> Any:
    return where(logical_and(gt(x, -3), lt(x, 3)), div(dy, 6), 0)


@pointwise(accepts="floating", grad_name="SoftshrinkBackward0")
def softshrink(x: Any, *, lambd: float) -> Any:
    """x drawn towards 0 by lambd, 0 within it; a NaN stays."""
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


@softshrink.vjp("x")
def softshrink_dx(dy: Any, x: Any, lambd: float) -> Any:
    return where(logical_and(ge(x, -lambd), le(x, lambd)), 0, dy)


@pointwise(accepts="floating", grad_name="HardshrinkBackward0")
def hardshrink(x: Any, *, lambd: float) -> Any:
    """x, 0 within lambd of 0."""
    return np.where((x >= -lambd) & (x <= lambd), 0, x)


@hardshrink.vjp("x")
def hardshrink_dx(dy: Any, x: Any, lambd: float) -> Any:
    return where(logical_and(ge(x, -lambd), le(x, lambd)), 0, dy)


@pointwise(accepts="real", grad_name="ThresholdBackward0")
def threshold(x: Any, *, threshold: float, value: float) -> Any:
    """x above the threshold, `value` elsewhere; a NaN stays."""
    return np.where(x <= threshold, np.asarray(value).astype(x.dtype), x)


@threshold.vjp("x")
def threshold_dx(dy: Any, x: Any, threshold: float) -> Any:
    return where(le(x, threshold), 0, dy)


@pointwise(accepts="floating", grad_name="PreluKernelBackward0")
def prelu(x: Any, weight: Any) -> Any:
    """x above 0, weight times x elsewhere."""
    return np.where(x > 0, x, x * weight)


@prelu.vjp("x")
def prelu_dx(dy: Any, x: Any, weight: Any) -> Any:
    return where(gt(x, 0), dy, mul(dy, weight))


@prelu.vjp("weight")
def prelu_dweight(dy: Any, x: Any) -> Any:
    return where(gt(x, 0), 0, mul(dy, x))


@op(grad_name="GluBackward0")
def glu(x: np.ndarray, *, dim: int) -> np.ndarray:
    """The first half along an axis times the sigmoid of the second (Dauphin et al., 2016)."""
    value, gate = np.split(x, 2, dim)
    return value / (1 + np.exp(-gate))


@glu.meta
def glu_meta(x: Meta, *, dim: int) -> Meta:
    size = x.shape[dim]
    check(size % 2 == 0, f"Halving dimension must be even, but dimension {dim} is size {size}")
    check(x.dtype.category == 2, f"\"glu_cpu\" not implemented for '{title(x.dtype)}'", NotImplementedError)
    return x.like((*x.shape[:dim], size // 2, *x.shape[dim + 1 :]))


@glu.vjp("x")
def glu_dx(dy: Any, x: Any, x_meta: Meta, dim: int) -> Any:
    half = x_meta.shape[dim] // 2
    value = slice_(x, dim=dim, start=0, end=half, step=1)
    opening = sigmoid(slice_(x, dim=dim, start=half, end=2 * half, step=1))
    given = mul(dy, opening)
    return cat(given, mul(mul(given, sub(1, opening)), value), dim=dim)


@op(half="keep")
def rrelu_slopes(x: np.ndarray, *, lower: float, upper: float, generator: Any) -> np.ndarray:
    """A slope drawn from [lower, upper) for each element that is not above 0, in row-major order; 1 for the others."""
    slopes = np.ones(x.shape, x.dtype)
    below = x <= 0
    drawn = streams.uniform(source(generator), (int(np.count_nonzero(below)),), np.dtype(np.float64), lower, upper)
    slopes[below] = drawn.astype(x.dtype)
    return slopes


@rrelu_slopes.meta
def rrelu_slopes_meta(x: Meta, *, lower: float, upper: float, generator: Any) -> Meta:
    check(
        x.dtype.category == 2,
        f"\"rrelu_with_noise_out_cpu\" not implemented for '{title(x.dtype)}'",
        NotImplementedError,
    )
    return x.like()


@pointwise(accepts="floating", grad_name="RreluWithNoiseBackward0")
def rrelu(x: Any, slopes: Any) -> Any:
    """x times the slope that was drawn for it."""
    return x * slopes


@rrelu.vjp("x")
def rrelu_dx(dy: Any, slopes: Any) -> Any:
    return mul(dy, slopes)
