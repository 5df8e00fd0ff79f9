"""The regularised incomplete gamma functions in float64: series and continued fraction (DLMF 8.7.1, 8.9.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import add, mul, neg, sub
from pellucid.engine.ops.exponential import exp, log
from pellucid.engine.ops.gamma import lgamma, lgamma_array

_EPSILON = 2.0**-53
_TERMS = 10_000  # enough for a = x = 1e6, where about sqrt(a) times a few are needed


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


def _both(a: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper function; their sum is 1."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    inner = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    below = inner & (x < a + 1)
    low = _series(np.where(below, a, 1.0), np.where(below, x, 1.0))
    above = inner & ~below
    high = _fraction(np.where(above, a, 1.0), np.where(above, x, 3.0))
    lower = np.where(below, low, 1 - high)
    upper = np.where(below, 1 - low, high)
    zero = ((a > 0) & (x == 0)) | ((a == np.inf) & (x >= 0) & (x != np.inf))
    one = ((a == 0) & (x > 0)) | ((a > 0) & (a != np.inf) & (x == np.inf))
    lower = np.where(inner, lower, np.where(zero, 0, np.where(one, 1, np.nan)))
    return lower, np.where(inner, upper, np.where(zero, 1, np.where(one, 0, np.nan)))


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
