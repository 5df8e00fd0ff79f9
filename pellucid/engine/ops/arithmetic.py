"""Sums, products, quotients: pointwise arithmetic and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.graph import zeros
from pellucid.engine.core.op import pointwise
from pellucid.engine.core.plan import number_as


@pointwise(accepts="number", grad_name="ConjBackward0")
def conj(x: Any) -> Any:
    """Complex conjugate; a real tensor is copied."""
    return np.conj(x) if x.dtype.kind == "c" else x.copy()


@conj.vjp("x")
def conj_dx(dy: Any) -> Any:
    return conjugate(dy)


def conjugate(x: Any) -> Any:
    """The conjugate of a complex tensor or number; anything real itself, without an operator."""
    if is_number(x):
        return x.conjugate()
    return conj(x) if x._meta.dtype.is_complex else x


@pointwise(numbers="rounded")
def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """`a + alpha * b`; of bools, logical or."""
    return a + b if alpha == 1 else a + number_as(alpha, b.dtype) * b


@add.vjp("a")
def add_da(dy: Any) -> Any:
    return dy


@add.vjp("b")
def add_db(dy: Any, alpha: Any) -> Any:
    return _times(dy, alpha)


@pointwise(accepts="number", numbers="rounded")
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """`a - alpha * b`."""
    return a - b if alpha == 1 else a - number_as(alpha, b.dtype) * b


@sub.vjp("a")
def sub_da(dy: Any) -> Any:
    return dy


@sub.vjp("b")
def sub_db(dy: Any, alpha: Any) -> Any:
    return _times(neg(dy), alpha)


def _times(dy: Any, alpha: Any) -> Any:
    return dy if alpha == 1 else mul(dy, conjugate(alpha))


@pointwise
def mul(a: Any, b: Any) -> Any:
    """Product; of bools, logical and."""
    return a * b


@mul.vjp("a")
def mul_da(dy: Any, b: Any) -> Any:
    return mul(dy, conjugate(b))


@mul.vjp("b")
def mul_db(dy: Any, a: Any) -> Any:
    return mul(dy, conjugate(a))


@pointwise(accepts="number")
def neg(x: Any) -> Any:
    """The negative; of an unsigned integer, modulo its range."""
    return -x


@neg.vjp("x")
def neg_dx(dy: Any) -> Any:
    return neg(dy)


@pointwise(result="float")
def div(a: Any, b: Any) -> Any:
    """Quotient; integers give floats, and x/0 is an infinity or NaN."""
    return a / b


@div.vjp("a")
def div_da(dy: Any, b: Any) -> Any:
    return div(dy, conjugate(b)) if is_number(b) and b else absorbed_quotient(dy, conjugate(b))


@div.vjp("b")
def div_db(dy: Any, a: Any, b: Any) -> Any:
    return absorb(dy, conjugate(neg(div(div(a, b), b))))


# `div` with an explicit rounding_mode=None, which has a node of its own in PyTorch.
div_mode = pointwise(div.body, name="div_mode", result="float", grad_name="DivBackward2")
div_mode.vjp("a")(div_da)
div_mode.vjp("b")(div_db)


@pointwise(result="float")
def reciprocal(x: Any) -> Any:
    """1/x; of 0, an infinity."""
    return 1 / x


@reciprocal.vjp("x")
def reciprocal_dx(dy: Any, y: Any) -> Any:
    return absorb(dy, neg(conjugate(mul(y, y))))


@pointwise
def absorb(cotangent: Any, slope: Any) -> Any:
    """The product in which a cotangent of 0 gives 0 whatever the slope: a branch that was not taken adds no NaN to a
    gradient.
    """
    return np.where(cotangent == 0, 0, cotangent * slope)


@absorb.vjp("cotangent")
def absorb_dcotangent(dy: Any, slope: Any) -> Any:
    return absorb(dy, conjugate(slope))


@absorb.vjp("slope")
def absorb_dslope(dy: Any, cotangent: Any) -> Any:
    return mul(dy, conjugate(cotangent))


@pointwise(grad_name="DivBackward0")
def absorbed_quotient(cotangent: Any, divisor: Any) -> Any:
    """`absorb` of a slope 1/divisor, rounded once."""
    return np.where(cotangent == 0, 0, cotangent / divisor)


@absorbed_quotient.vjp("cotangent")
def absorbed_quotient_dcotangent(dy: Any, divisor: Any) -> Any:
    return absorbed_quotient(dy, conjugate(divisor))


@absorbed_quotient.vjp("divisor")
def absorbed_quotient_ddivisor(dy: Any, divisor: Any, y: Any) -> Any:
    return absorb(dy, conjugate(neg(absorbed_quotient(y, divisor))))


def _meets_zero(a: Any, b: Any) -> bool:
    return bool(np.any(b == 0)) and np.broadcast(a, b).size > 0


@pointwise(accepts="real number", grad_name="DivBackward2")
def floor_divide(a: Any, b: Any) -> Any:
    """Quotient rounded down; of integers by 0, an error."""
    if a.dtype.kind in "biu" and _meets_zero(a, b):
        raise RuntimeError("ZeroDivisionError")
    return np.floor_divide(a, b)


@pointwise(accepts="real number", grad_name="DivBackward2")
def trunc_divide(a: Any, b: Any) -> Any:
    """Quotient rounded towards 0; of integers by 0, an error."""
    if a.dtype.kind not in "biu":
        return np.trunc(a / b)
    if _meets_zero(a, b):
        raise RuntimeError("ZeroDivisionError")
    if a.dtype.kind != "i":
        return a // b
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)


def no_slope(dy: Any) -> Any:
    """The gradient through a step function: zeros, also for a cotangent that is infinite or a NaN."""
    return zeros(dy._meta)


@pointwise(half="keep", accepts="real floating", grad_name="DivBackward2")
def floor_divide_half(a: Any, b: Any) -> Any:
    """`floor_divide` within a half type, every step of which PyTorch rounds to that type."""
    left = np.fmod(a, b)
    quotient = (a - left) / b
    quotient = np.where((left != 0) & ((b < 0) != (left < 0)), quotient - a.dtype.type(1), quotient)
    whole = np.floor(quotient)
    whole = np.where(quotient - whole > a.dtype.type(0.5), whole + a.dtype.type(1), whole)
    true = a / b
    return np.where(b == 0, true, np.where(quotient != 0, whole, np.copysign(a.dtype.type(0), true)))


@pointwise(half="keep", accepts="real floating", grad_name="DivBackward2")
def trunc_divide_half(a: Any, b: Any) -> Any:
    """`trunc_divide` within a half type: the quotient is rounded to it first, as in PyTorch."""
    return np.trunc(a / b)


@trunc_divide_half.vjp("a", "b")
@floor_divide_half.vjp("a", "b")
@trunc_divide.vjp("a", "b")
def trunc_divide_dab(dy: Any, b: Any) -> Any:
    return no_slope(dy), no_slope(dy)


@floor_divide.vjp("a", "b")
def floor_divide_dab(dy: Any, b: Any) -> Any:
    return no_slope(dy), no_slope(dy)


@pointwise(accepts="real number", numbers="rounded")
def remainder(a: Any, b: Any) -> Any:
    """What floor division leaves: it has the sign of the divisor."""
    if a.dtype.kind in "biu" and _meets_zero(a, b):
        raise RuntimeError("ZeroDivisionError")
    return np.remainder(a, b)


@pointwise(accepts="real number", numbers="rounded")
def fmod(a: Any, b: Any) -> Any:
    """What division rounded towards 0 leaves: it has the sign of the dividend."""
    if a.dtype.kind in "biu" and _meets_zero(a, b):
        raise RuntimeError("ZeroDivisionError")
    return np.fmod(a, b)


@remainder.vjp("a")
def remainder_da(dy: Any) -> Any:
    return dy


@remainder.vjp("b")
def remainder_db(dy: Any, a: Any, b: Any) -> Any:
    return mul(neg(dy), floor_divide(a, b))


@fmod.vjp("a")
def fmod_da(dy: Any) -> Any:
    return dy


@fmod.vjp("b")
def fmod_db(dy: Any, a: Any, b: Any) -> Any:
    return mul(neg(dy), trunc_divide(a, b))


@pointwise
def addcmul(x: Any, a: Any, b: Any, *, value: Any) -> Any:
    """`x + value * a * b`."""
    return x + value * (a * b)


@addcmul.vjp("x")
def addcmul_dx(dy: Any) -> Any:
    return dy


@addcmul.vjp("a")
def addcmul_da(dy: Any, b: Any, value: Any) -> Any:
    return mul(dy, mul(conjugate(b), conjugate(value)))


@addcmul.vjp("b")
def addcmul_db(dy: Any, a: Any, value: Any) -> Any:
    return mul(dy, mul(conjugate(a), conjugate(value)))


@pointwise(accepts="floating")
def addcdiv(x: Any, a: Any, b: Any, *, value: Any) -> Any:
    """`x + value * a / b`."""
    return x + value * (a / b)


@addcdiv.vjp("x")
def addcdiv_dx(dy: Any) -> Any:
    return dy


@addcdiv.vjp("a")
def addcdiv_da(dy: Any, b: Any, value: Any) -> Any:
    return absorb(dy, conjugate(div(value, b)))


@addcdiv.vjp("b")
def addcdiv_db(dy: Any, a: Any, b: Any, value: Any) -> Any:
    return absorb(neg(dy), conjugate(div(mul(a, value), mul(b, b))))


@pointwise(accepts="floating")
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """`x + weight * (end - x)`, computed from the nearer end, so that weights 0 and 1 are exact."""
    return np.where(np.abs(weight) < 0.5, x + weight * (end - x), end - (end - x) * (1 - weight))


@lerp.vjp("x")
def lerp_dx(dy: Any, weight: Any) -> Any:
    return mul(dy, conjugate(sub(1, weight) if not is_number(weight) else 1 - weight))


@lerp.vjp("end")
def lerp_dend(dy: Any, weight: Any) -> Any:
    return mul(dy, conjugate(weight))


@lerp.vjp("weight")
def lerp_dweight(dy: Any, x: Any, end: Any) -> Any:
    return mul(dy, conjugate(sub(end, x)))


def is_number(value: Any) -> bool:
    """Whether an operand is a number and not a tensor."""
    return isinstance(value, bool | int | float | complex | np.generic)
