"""The gamma function's logarithm and its derivatives, and the Hurwitz zeta function, on NumPy arrays in float64.

Stirling's series and its derivative (Abramowitz & Stegun 6.1.41, 6.3.18), the Taylor series about 2 (6.1.33), and
Euler-Maclaurin summation for zeta (25.11.7 of DLMF).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import absorb, add, mul, neg, sub

EULER = 0.57721566490153286061
# B(2k) / (2k (2k - 1)) and B(2k) / 2k, the coefficients of Stirling's series and of its derivative.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
STIRLING = tuple([b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)])
STIRLING_SLOPE = tuple([b / (2 * k) for k, b in enumerate(BERNOULLI, 1)])
HALF_LOG_TWO_PI = 0.91893853320467274178


def _zeta_minus_one(k: int) -> float:
    """Riemann's zeta(k) - 1 by Euler-Maclaurin summation from 60 on."""
    n = 60.0
    tail = n ** (1 - k) / (k - 1) + n**-k / 2 + k * n ** (-k - 1) / 12 - k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
    tail += k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * n ** (-k - 5) / 30240
    return math.fsum([float(m) ** -k for m in range(2, 60)]) + tail


TAYLOR = tuple([(-1) ** k * _zeta_minus_one(k) / k for k in range(2, 30)])


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    result: Any = coefficients[-1]
    for each in reversed(coefficients[:-1]):
        result = result * x + each
    return result


def _log_gamma_positive(x: np.ndarray) -> np.ndarray:
    large = np.maximum(x, 9.0)
    series = _polynomial(1 / (large * large), STIRLING) / large
    stirling = (large - 0.5) * np.log(large) - large + HALF_LOG_TWO_PI + series
    reduced, product = np.clip(x, 1e-300, 9.0), np.ones_like(x)
    for _ in range(7):  # down to [1.5, 2.5], where the series converges
        high = reduced > 2.5
        reduced = np.where(high, reduced - 1, reduced)
        product = np.where(high, product * reduced, product)
    z = np.where(reduced > 1.5, reduced - 2, np.where(reduced < 0.5, reduced, reduced - 1))
    near_two = z * (1 - EULER) + z * z * _polynomial(z, TAYLOR)
    below = np.where(reduced < 0.5, -np.log(np.maximum(x, 5e-324)) - np.log1p(z), -np.log1p(z))
    small = np.where(reduced > 1.5, near_two + np.log(product), near_two + below)
    return np.where(x >= 9, stirling, small)


def lgamma_array(x: np.ndarray) -> np.ndarray:
    """log|gamma(x)|; infinite at 0, the negative integers and the infinities."""
    x = np.asarray(x, np.float64)
    positive = _log_gamma_positive(np.where(x > 0, x, 1 - x))
    from_nearest = x - np.rint(x)
    reflected = math.log(math.pi) - np.log(np.abs(np.sin(math.pi * from_nearest))) - positive
    result = np.where(x > 0, positive, np.where(from_nearest == 0, np.inf, reflected))
    return np.where(np.isinf(x), np.inf, result)


def digamma_array(x: np.ndarray) -> np.ndarray:
    """The derivative of log gamma; at the zeros -inf and inf, at the negative integers NaN."""
    x = np.asarray(x, np.float64)
    shifted = np.where(x > 0, x, 1 - x)
    below = np.zeros_like(shifted)
    for _ in range(10):
        low = shifted < 10
        below = np.where(low, below - 1 / shifted, below)
        shifted = np.where(low, shifted + 1, shifted)
    inverse = 1 / (shifted * shifted)
    positive = np.log(shifted) - 0.5 / shifted - inverse * _polynomial(inverse, STIRLING_SLOPE) + below
    from_nearest = x - np.rint(x)
    reflected = positive - math.pi / np.tan(math.pi * from_nearest)
    result = np.where(x > 0, positive, np.where(from_nearest == 0, np.nan, reflected))
    return np.where(
        x == 0, -np.copysign(np.inf, x), np.where(x == -np.inf, np.nan, np.where(x == np.inf, np.inf, result))
    )


def zeta_array(x: Any, q: Any) -> np.ndarray:
    """The Hurwitz zeta function: the sum of (q + k)**-x over k from 0."""
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    invalid = (x < 1) | ((q <= 0) & (q != np.floor(q)) & (x != np.floor(x))) | (x != x) | (q != q)
    infinite = (x == 1) | ((x > 1) & (q <= 0) & (q == np.floor(q)))
    invalid |= q == np.inf  # as PyTorch and Cephes
    usable = ~(invalid | infinite)
    x, q = np.where(usable, x, 2.0), np.where(usable, q, 1.0)
    total, at = np.zeros_like(q), q.copy()
    if q.size and q.min() < -1e6:
        raise RuntimeError("zeta(): a second argument below -1000000 would need as many terms; use larger arguments")
    enough = 12 + np.minimum(x, 60)  # beyond it the series converges to float64
    for _ in range(math.ceil(np.max(enough - q)) if q.size else 0):
        term = np.power(at, -x)
        low = at < enough
        total = np.where(low, total + term, total)
        at = np.where(low, at + 1, at)
    power = np.power(at, -x)
    total = total + power * at / (x - 1) + 0.5 * power
    factor = x * power / at
    for k, each in enumerate(BERNOULLI, 1):
        total = total + each / math.factorial(2 * k) * factor
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (at * at)
    return np.where(infinite, np.inf, np.where(invalid, np.nan, total))


@pointwise(result="float", accepts="real")
def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return lgamma_array(x)


@lgamma.vjp("x")
def lgamma_dx(dy: Any, x: Any) -> Any:
    return mul(dy, digamma(x))


@pointwise(result="float", accepts="real")
def digamma(x: Any) -> Any:
    """The derivative of lgamma."""
    return digamma_array(x)


@digamma.vjp("x")
def digamma_dx(dy: Any, x: Any) -> Any:
    return mul(dy, polygamma(x, n=1))


@pointwise(result="float", accepts="real")
def polygamma(x: Any, *, n: int) -> Any:
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma_array(x)
    result = (-1) ** (n + 1) * math.gamma(n + 1) * zeta_array(float(n + 1), x) if n < 170 else np.full_like(x, np.nan)
    return np.where(np.isinf(x), np.where(x > 0, 0, np.nan), result) if n == 1 else result


@polygamma.vjp("x")
def polygamma_dx(dy: Any, x: Any, n: int) -> Any:
    return mul(dy, polygamma(x, n=n + 1))


@pointwise(result="float", accepts="real", grad_name="MvlgammaBackward0")
def mvlgamma(x: Any, *, p: int) -> Any:
    """The logarithm of the multivariate gamma function of p dimensions."""
    halves = [lgamma_array(np.asarray(x, np.float64) - k / 2) for k in range(p)]
    return p * (p - 1) / 4 * math.log(math.pi) + np.sum(halves, axis=0)


@mvlgamma.vjp("x")
def mvlgamma_dx(dy: Any, x: Any, p: int) -> Any:
    slope = digamma(x)
    for k in range(1, p):
        slope = add(slope, digamma(sub(x, k / 2)))
    return mul(dy, slope)


@pointwise(result="float", accepts="real", grad_name="SpecialZetaBackward0")
def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function."""
    return zeta_array(x, q)


# PyTorch's graph nodes say which operand was a number.
zeta_of_number = pointwise(
    zeta.body, name="zeta_of_number", result="float", accepts="real", grad_name="SpecialZetaBackward1"
)
zeta_by_number = pointwise(
    zeta.body, name="zeta_by_number", result="float", accepts="real", grad_name="SpecialZetaBackward2"
)


@zeta_by_number.vjp("x")
@zeta.vjp("x")
def zeta_dx(dy: Any) -> Any:
    raise NotImplementedError("the derivative for 'zeta' is not implemented (with respect to its first argument)")


@zeta_of_number.vjp("q")
@zeta.vjp("q")
def zeta_dq(dy: Any, x: Any, q: Any) -> Any:
    return absorb(dy, mul(neg(x), zeta(add(x, 1), q)))
