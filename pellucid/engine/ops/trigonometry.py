"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import absorb, add, conjugate, div, mul, neg, reciprocal, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import rsqrt, sqrt, square


@pointwise(result="float")
def sin(x: Any) -> Any:
    """Sine of an angle in radians."""
    return np.sin(x)


@sin.vjp("x")
def sin_dx(dy: Any, x: Any) -> Any:
    return mul(dy, conjugate(cos(x)))


@pointwise(result="float")
def cos(x: Any) -> Any:
    """Cosine of an angle in radians."""
    return np.cos(x)


@cos.vjp("x")
def cos_dx(dy: Any, x: Any) -> Any:
    return mul(dy, conjugate(neg(sin(x))))


@pointwise(result="float")
def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    return np.tan(x)


@tan.vjp("x")
def tan_dx(dy: Any, y: Any) -> Any:
    return mul(dy, conjugate(add(square(y), 1)))


@pointwise(result="float")
def asin(x: Any) -> Any:
    """The angle of a sine; outside [-1, 1], NaN."""
    return np.arcsin(x)


@asin.vjp("x")
def asin_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(rsqrt(sub(1, square(x)))))


@pointwise(result="float")
def acos(x: Any) -> Any:
    """The angle of a cosine; outside [-1, 1], NaN."""
    return np.arccos(x)


@acos.vjp("x")
def acos_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(neg(rsqrt(sub(1, square(x))))))


@pointwise(result="float")
def atan(x: Any) -> Any:
    """The angle of a tangent."""
    return np.arctan(x)


@atan.vjp("x")
def atan_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(reciprocal(add(square(x), 1))))


@pointwise(result="float", accepts="real")
def atan2(a: Any, b: Any) -> Any:
    """The angle of the point (b, a), in (-pi, pi]."""
    return np.arctan2(a, b)


@atan2.vjp("a", "b")
def atan2_gradients(dy: Any, a: Any, b: Any) -> Any:
    length = add(mul(a, a), mul(b, b))
    scale = where(eq(length, 0), 0, div(dy, length))
    return mul(scale, b), mul(scale, neg(a))


@pointwise(result="float")
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    return np.sinh(x)


@sinh.vjp("x")
def sinh_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(cosh(x)))


@pointwise(result="float")
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    return np.cosh(x)


@cosh.vjp("x")
def cosh_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(sinh(x)))


@pointwise(result="float")
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
    return np.arcsinh(x)


@asinh.vjp("x")
def asinh_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(rsqrt(add(square(x), 1))))


@pointwise(result="float")
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; below 1, NaN."""
    return np.arccosh(x)


@acosh.vjp("x")
def acosh_dx(dy: Any, x: Any) -> Any:
    if x._meta.dtype.is_complex:
        return absorb(dy, conjugate(reciprocal(mul(sqrt(sub(x, 1)), sqrt(add(x, 1))))))
    return absorb(dy, rsqrt(sub(square(x), 1)))


@pointwise(result="float")
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; outside [-1, 1], NaN."""
    return np.arctanh(x)


@atanh.vjp("x")
def atanh_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(reciprocal(sub(1, square(x)))))
