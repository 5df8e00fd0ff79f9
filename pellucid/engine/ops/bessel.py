"""Bessel functions of order 0 and 1 on NumPy arrays in float64, without tables.

Power series and asymptotic expansions (Abramowitz & Stegun 9.2, 9.6, 9.7), Miller's backward recurrence with Neumann's
series (9.1.46, 9.1.88), and the trapezoidal rule on the integral of K (9.6.24).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import absorb, div, mul, sub
from pellucid.engine.ops.comparison import gt, where
from pellucid.engine.ops.exponential import absolute, sign

EULER = 0.57721566490153286061
SWITCH = 30.0  # from here on asymptotic expansions reach float64


def _series_scaled(x: np.ndarray, order: int) -> np.ndarray:
    """exp(-x) I(x) below SWITCH: all terms are positive."""
    quarter = x * x / 4
    term = total = np.ones_like(x)
    for k in range(1, 70):
        term = term * (quarter / (k * (k + order)))
        total = total + term
    return total * np.exp(-x) * (x / 2 if order else 1)


def _asymptotic(x: np.ndarray, order: int, direction: int) -> np.ndarray:
    """The sum of the asymptotic expansions of I (direction -1) and K (1) without their exponentials."""
    term = total = np.ones_like(x)
    for k in range(1, 24):
        term = term * (direction * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * x))
        total = total + term
    return total


def i_scaled(x: np.ndarray, order: int) -> np.ndarray:
    """exp(-|x|) I(x) of order 0 or 1."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    near = _series_scaled(np.minimum(size, SWITCH), order)
    large = np.maximum(size, SWITCH)
    far = _asymptotic(large, order, -1) / np.sqrt(2 * math.pi * large)
    result = np.where(size < SWITCH, near, far)
    return np.where(x < 0, -result, result) if order else result


def i_array(x: np.ndarray, order: int) -> np.ndarray:
    """I(x) of order 0 or 1."""
    half = np.exp(np.abs(np.asarray(x, np.float64)) / 2)  # in two factors, so that it overflows only where I does
    return i_scaled(x, order) * half * half


def k_scaled(x: np.ndarray, order: int) -> np.ndarray:
    """exp(x) K(x) of order 0 or 1; infinite at 0, NaN below."""
    x = np.asarray(x, np.float64)
    small, middle, large = np.clip(x, 1e-308, 1.0), np.clip(x, 1.0, SWITCH), np.maximum(x, SWITCH)
    total = np.zeros_like(x)
    for node in range(60):  # the integral of exp(-x (cosh t - 1)) cosh(order t)
        t = node * 0.08
        total = total + (0.5 if node == 0 else 1.0) * math.cosh(order * t) * np.exp(-middle * (math.cosh(t) - 1))
    far = _asymptotic(large, order, 1) * np.sqrt(math.pi / (2 * large))
    result = np.where(x < 1, _k_series(small, order) * np.exp(small), np.where(x < SWITCH, total * 0.08, far))
    return np.where(x > 0, result, np.where(x == 0, np.inf, np.nan))


def _k_series(x: np.ndarray, order: int) -> np.ndarray:
    """K below 1."""
    quarter, logarithm = x * x / 4, np.log(x / 2)
    term, digammas = np.ones_like(x), -EULER if order == 0 else 0.5 - EULER
    total = term * (digammas - logarithm)
    for k in range(1, 14):
        term = term * (quarter / (k * (k + order)))
        digammas += 1 / k if order == 0 else 0.5 / k + 0.5 / (k + 1)
        total = total + term * (digammas - logarithm)
    return total if order == 0 else 1 / x - x / 2 * total


def _backward(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """J0, J1, Y0 and Y1 between 0 and SWITCH by backward recurrence."""
    above, here = np.zeros_like(x), np.full_like(x, 1e-300)
    scale, even, odd = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for n in range(90, 0, -1):  # here is J(n)
        if n % 2 == 0:
            scale = scale + 2 * here
            even = even + (-1) ** (n // 2) * here / (n // 2)
        elif n > 1:
            k = n // 2
            odd = odd + (-1) ** k * (1 / k + 1 / (k + 1)) * here
        above, here = here, 2 * n / x * here - above
        grown = np.abs(here) > 1e250
        shrink = np.where(grown, 1e-250, 1.0)
        above, here, scale, even, odd = above * shrink, here * shrink, scale * shrink, even * shrink, odd * shrink
    scale = scale + here
    j0, j1, even, odd = here / scale, above / scale, even / scale, odd / scale
    logarithm = np.log(x / 2) + EULER
    y0 = 2 / math.pi * (logarithm * j0 - 2 * even)
    y1 = 2 / math.pi * (logarithm * j1 - j1 - odd - j0 / x)
    return j0, j1, y0, y1


def _oscillating(x: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """J and Y from SWITCH on, by Hankel's expansions."""
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 24):
        term = term * ((4 * order * order - (2 * k - 1) ** 2) / (8 * k * x))
        turn = (1, 1, -1, -1)[k % 4]
        p, q = (p + turn * term, q) if k % 2 == 0 else (p, q + turn * term)
    sine, cosine, root = np.sin(x), np.cos(x), np.sqrt(1 / (math.pi * x))
    c, s = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)
    return root * (p * c - q * s), root * (p * s + q * c)


def j_array(x: np.ndarray, order: int) -> np.ndarray:
    """J of order 0 or 1; at the infinities NaN, as in PyTorch."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    near = _backward(np.clip(size, 0.25, SWITCH))[order]
    tiny = _small_j(np.minimum(size, 0.25), order)
    far = _oscillating(np.maximum(size, SWITCH), order)[0]
    result = np.where(size < 0.25, tiny, np.where(size < SWITCH, near, far))
    return np.where(x < 0, -result, result) if order else result


def _small_j(x: np.ndarray, order: int) -> np.ndarray:
    term = total = np.ones_like(x) if order == 0 else x / 2
    for k in range(1, 8):
        term = term * (-x * x / (4 * k * (k + order)))
        total = total + term
    return total


def y_array(x: np.ndarray, order: int) -> np.ndarray:
    """Y of order 0 or 1: -inf at 0, NaN below."""
    x = np.asarray(x, np.float64)
    near = _backward(np.clip(x, 0.25, SWITCH))[2 + order]
    small = np.clip(x, 1e-308, 0.25)
    far = _oscillating(np.maximum(x, SWITCH), order)[1]
    result = np.where(x < 0.25, _small_y(small, order), np.where(x < SWITCH, near, far))
    return np.where(x > 0, result, np.where(x == 0, -np.inf, np.nan))


def _small_y(x: np.ndarray, order: int) -> np.ndarray:
    logarithm = 2 / math.pi * np.log(x / 2)
    quarter = -x * x / 4
    term, digammas = np.ones_like(x), -2 * EULER if order == 0 else 1 - 2 * EULER
    total = term * digammas
    for k in range(1, 8):
        term = term * (quarter / (k * (k + order)))
        digammas += 2 / k if order == 0 else 1 / k + 1 / (k + 1)
        total = total + term * digammas
    head = 0 if order == 0 else -2 / (math.pi * x)
    return head + logarithm * _small_j(x, order) - (total if order == 0 else x / 2 * total) / math.pi


@pointwise(result="float", accepts="real")
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, order 0."""
    return i_array(x, 0)


@i0.vjp("x")
def i0_dx(dy: Any, x: Any) -> Any:
    return mul(dy, i1(x))


@pointwise(result="float", accepts="real", grad_name="SpecialI0EBackward0")
def i0e(x: Any) -> Any:
    """exp(-|x|) i0(x)."""
    return i_scaled(x, 0)


@i0e.vjp("x")
def i0e_dx(dy: Any, x: Any, y: Any) -> Any:
    return mul(dy, sub(i1e(x), mul(sign(x), y)))


@pointwise(result="float", accepts="real", grad_name="SpecialI1Backward0")
def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind, order 1."""
    return i_array(x, 1)


@i1.vjp("x")
def i1_dx(dy: Any, x: Any, y: Any) -> Any:
    regular = gt(absolute(x), 0)  # neither 0 nor NaN
    slope = where(regular, sub(i0(x), div(y, where(regular, x, 1))), 0.5)
    return absorb(dy, slope)


@pointwise(result="float", accepts="real", grad_name="SpecialI1EBackward0")
def i1e(x: Any) -> Any:
    """exp(-|x|) i1(x)."""
    return i_scaled(x, 1)


@i1e.vjp("x")
def i1e_dx(dy: Any, x: Any, y: Any) -> Any:
    regular = gt(absolute(x), 0)  # neither 0 nor NaN
    slope = sub(sub(i0e(x), mul(sign(x), y)), div(y, where(regular, x, 1)))
    return mul(dy, where(regular, slope, 0.5))


def _without_gradient(name: str, function: Any, order: int, summary: str) -> Any:
    def body(x: Any) -> Any:
        return function(x, order)

    body.__doc__ = summary
    return pointwise(body, name=name, result="float", accepts="real", zero_gradient=True)


def _k(x: Any, order: int) -> np.ndarray:
    return k_scaled(x, order) * np.exp(-np.asarray(x, np.float64))


bessel_j0 = _without_gradient("bessel_j0", j_array, 0, "The Bessel function of the first kind, order 0.")
bessel_j1 = _without_gradient("bessel_j1", j_array, 1, "The Bessel function of the first kind, order 1.")
bessel_y0 = _without_gradient("bessel_y0", y_array, 0, "The Bessel function of the second kind, order 0.")
bessel_y1 = _without_gradient("bessel_y1", y_array, 1, "The Bessel function of the second kind, order 1.")
modified_bessel_i0 = _without_gradient("modified_bessel_i0", i_array, 0, "i0, without a gradient.")
modified_bessel_i1 = _without_gradient("modified_bessel_i1", i_array, 1, "i1, without a gradient.")
modified_bessel_k0 = _without_gradient(
    "modified_bessel_k0", _k, 0, "The modified Bessel function of the second kind, order 0."
)
modified_bessel_k1 = _without_gradient(
    "modified_bessel_k1", _k, 1, "The modified Bessel function of the second kind, order 1."
)
scaled_modified_bessel_k0 = _without_gradient("scaled_modified_bessel_k0", k_scaled, 0, "exp(x) K0(x).")
scaled_modified_bessel_k1 = _without_gradient("scaled_modified_bessel_k1", k_scaled, 1, "exp(x) K1(x).")


@pointwise(result="float", accepts="real", zero_gradient=True)
def spherical_bessel_j0(x: Any) -> Any:
    """sin(x) / x; 1 at 0 and 0 at the infinities."""
    one = x.dtype.type(1)
    return np.where(np.isinf(x), one * 0, np.where(x == 0, one, np.sin(x) / np.where(x == 0, one, x)))
