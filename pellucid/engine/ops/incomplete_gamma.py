"""The regularised incomplete gamma functions in float64: series and continued fraction (DLMF 8.7.1, 8.9.2), and for
large `a` Temme's uniform expansion (DLMF 8.12.3 to 8.12.8).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import add, mul, neg, sub
from pellucid.engine.ops.error_function import erfc_array, horner
from pellucid.engine.ops.exponential import exp, log
from pellucid.engine.ops.gamma import lgamma, lgamma_array

_EPSILON = 2.0**-53
_TERMS = 10_000  # enough for a = x = 1e6, where about sqrt(a) times a few are needed
_LARGE = 1e5  # from here on the uniform expansion
# Its coefficients as series in eta (DLMF 8.12.11 ff.); the n-th belongs to a**-n.
_UNIFORM = (
    (
        -1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515, -571 / 261273600, -281 / 151559100,
    ),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 7 / 34020),
    (25 / 6048, -139 / 51840, 1 / 1296),
)  # fmt: skip


def _head(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x**a exp(-x) / gamma(a)."""
    return np.exp(a * np.log(x) - x - lgamma_array(a))


def _series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The lower function, for x below a + 1."""
    term = total = 1 / a
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        total = total + term
        if not np.any(term > total * _EPSILON):
            break
    return total * _head(a, x)


def _fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The upper function, for x from a + 1 on, by Lentz's evaluation of the continued fraction."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    result = d
    for n in range(1, _TERMS):
        numerator = n * (a - n)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        result = result * (c * d)
        if not np.any(np.abs(c * d - 1) > 2 * _EPSILON):
            break
    return result * _head(a, x)


def _uniform(a: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both functions for a large `a`: an error function of the distance from x = a, and a correction."""
    far = (x - a) / a
    r = far / (2 + far)
    square = r * r
    tail = np.zeros_like(r)
    for n in range(19, 1, -2):
        tail = tail * square + 2 / n
    half = np.where(np.abs(far) < 0.2, far * r - r * square * tail, far - np.log1p(far))  # eta**2 / 2, exact at 0
    eta = np.copysign(np.sqrt(2 * half), far)
    near = np.clip(eta, -0.2, 0.2)
    apart = np.abs(eta) >= 0.2
    first = 1 / np.where(apart, far, 1.0) - 1 / np.where(apart, eta, 1.0)
    first = np.where(apart, first, horner(near, _UNIFORM[0]))
    correction = first + horner(near, _UNIFORM[1]) / a + horner(near, _UNIFORM[2]) / (a * a)
    correction = correction * np.exp(-a * half) / np.sqrt(2 * np.pi * a)
    root = eta * np.sqrt(a / 2)
    return erfc_array(-root) / 2 - correction, erfc_array(root) / 2 + correction


def _both(a: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper function; their sum is 1."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    inner = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    large = inner & (a >= _LARGE)
    far_lower, far_upper = _uniform(np.where(large, a, _LARGE), np.where(large, x, _LARGE))
    inner = inner & ~large
    below = inner & (x < a + 1)
    low = _series(np.where(below, a, 1.0), np.where(below, x, 1.0))
    above = inner & ~below
    high = _fraction(np.where(above, a, 1.0), np.where(above, x, 3.0))
    lower = np.where(below, low, 1 - high)
    upper = np.where(below, 1 - low, high)
    zero = ((a > 0) & (x == 0)) | ((a == np.inf) & (x >= 0) & (x != np.inf))
    one = ((a == 0) & (x > 0)) | ((a > 0) & (a != np.inf) & (x == np.inf))
    lower = np.where(inner, lower, np.where(large, far_lower, np.where(zero, 0, np.where(one, 1, np.nan))))
    upper = np.where(inner, upper, np.where(large, far_upper, np.where(zero, 1, np.where(one, 0, np.nan))))
    return lower, upper


@pointwise(accepts="real floating")
def igamma(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function."""
    return _both(a, x)[0]


@pointwise(accepts="real floating")
def igammac(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function."""
    return _both(a, x)[1]


def _density(a: Any, x: Any) -> Any:
    return exp(sub(mul(sub(a, 1), log(x)), add(x, lgamma(a))))


@igamma.vjp("x")
def igamma_dx(dy: Any, a: Any, x: Any) -> Any:
    return mul(dy, _density(a, x))


@igammac.vjp("x")
def igammac_dx(dy: Any, a: Any, x: Any) -> Any:
    return mul(dy, neg(_density(a, x)))


@igamma.vjp("a")
def igamma_da(dy: Any) -> Any:
    raise NotImplementedError("the derivative for 'igamma: input' is not implemented.")


@igammac.vjp("a")
def igammac_da(dy: Any) -> Any:
    raise NotImplementedError("the derivative for 'igammac: input' is not implemented.")
