"""Circular and hyperbolic functions, their inverses, and angles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import absorb, absorbed_quotient, add, conjugate, div, mul, neg, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import rsqrt, square

RADIANS = math.pi / 180
DEGREES = 180 / math.pi


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
    """The angle in [-pi/2, pi/2] with this sine; NaN outside of [-1, 1]."""
    return np.arcsin(x)


@asin.vjp("x")
def asin_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(rsqrt(sub(1, square(x)))))


@pointwise(result="float")
def acos(x: Any) -> Any:
    """The angle in [0, pi] with this cosine; NaN outside of [-1, 1]."""
    return np.arccos(x)


@acos.vjp("x")
def acos_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, conjugate(neg(rsqrt(sub(1, square(x))))))


@pointwise(result="float")
def atan(x: Any) -> Any:
    """The angle in [-pi/2, pi/2] with this tangent."""
    return np.arctan(x)


@atan.vjp("x")
def atan_dx(dy: Any, x: Any) -> Any:
    return absorbed_quotient(dy, conjugate(add(square(x), 1)))


@pointwise(result="float", accepts="real")
def atan2(a: Any, b: Any) -> Any:
    """The angle in [-pi, pi] of the point (b, a)."""
    return np.arctan2(a, b)


@atan2.vjp("a", "b")
def atan2_dab(dy: Any, a: Any, b: Any) -> Any:
    size = add(square(a), square(b))
    at_zero = eq(size, 0)
    share = where(at_zero, 0, div(dy, where(at_zero, 1, size)))
    return mul(share, b), mul(share, neg(a))


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
    """Inverse hyperbolic cosine; NaN below 1."""
    return np.arccosh(x)


@acosh.vjp("x")
def acosh_dx(dy: Any, x: Any) -> Any:
    if x._meta.dtype.is_complex:  # the root of a product has its cut elsewhere
        return absorb(dy, conjugate(mul(rsqrt(add(x, 1)), rsqrt(sub(x, 1)))))
    return absorb(dy, rsqrt(sub(square(x), 1)))


@pointwise(result="float")
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; NaN outside of [-1, 1]."""
    return np.arctanh(x)


@atanh.vjp("x")
def atanh_dx(dy: Any, x: Any) -> Any:
    return absorbed_quotient(dy, conjugate(sub(1, square(x))))


@pointwise(result="float")
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); 1 at 0."""
    angle = np.asarray(x * x.dtype.type(math.pi))
    return np.where(x == 0, x.dtype.type(1), np.sin(angle) / np.where(x == 0, x.dtype.type(1), angle))


@sinc.vjp("x")
def sinc_dx(dy: Any, x: Any) -> Any:
    at_zero = eq(x, 0)
    nonzero = where(at_zero, 1, x)
    angle = mul(nonzero, math.pi)
    slope = div(sub(mul(cos(angle), angle), sin(angle)), mul(mul(nonzero, nonzero), math.pi))
    near_zero = mul(x, -math.pi * math.pi / 3)  # 0 at 0, but its own slope is right too
    return mul(dy, conjugate(where(at_zero, near_zero, slope)))


@pointwise(result="float", accepts="real", grad_name="Deg2RadBackward0")
def deg2rad(x: Any) -> Any:
    """Degrees in radians."""
    return x * RADIANS


@deg2rad.vjp("x")
def deg2rad_dx(dy: Any) -> Any:
    return mul(dy, RADIANS)


@pointwise(result="float", accepts="real", grad_name="Rad2DegBackward0")
def rad2deg(x: Any) -> Any:
    """Radians in degrees."""
    return x * DEGREES


@rad2deg.vjp("x")
def rad2deg_dx(dy: Any) -> Any:
    return mul(dy, DEGREES)


@pointwise(accepts="real floating")
def hypot(a: Any, b: Any) -> Any:
    """sqrt(a**2 + b**2) without overflow."""
    return np.hypot(a, b)


@hypot.vjp("a")
def hypot_da(dy: Any, a: Any, y: Any) -> Any:
    return absorb(dy, div(a, y))


@hypot.vjp("b")
def hypot_db(dy: Any, b: Any, y: Any) -> Any:
    return absorb(dy, div(b, y))
