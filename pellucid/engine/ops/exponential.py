"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import (
    absorb,
    absorbed_quotient,
    add,
    conjugate,
    is_number,
    mul,
    no_slope,
    reciprocal,
    sub,
)
from pellucid.engine.ops.comparison import eq, ge, le, logical_and, where

LN2 = 0.6931471805599453
LN10 = 2.3025850929940456  # as PyTorch writes it: a unit in the last place below the logarithm of 10


def _whole_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Integer powers; a negative one is 0 but for the bases 1 and -1."""
    result = np.power(base, np.maximum(exponent, 0))
    if exponent.dtype.kind == "u" or not np.any(exponent < 0):
        return result
    odd = exponent % 2 != 0
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(odd, -1, 1), 0)).astype(result.dtype)
    return np.where(exponent < 0, inverse, result)


def _power(base: Any, exponent: Any) -> Any:
    if base.dtype.kind in "iu":
        return _whole_power(base, exponent)
    if base.dtype.kind == "c":
        return np.where(exponent == 0, 1, np.power(base, exponent))
    if np.ndim(exponent) == 0 and np.ndim(base):
        if exponent == 2:
            return base * base
        if exponent == 3:
            return base * base * base
        if exponent == 1:
            return base.copy()
        if exponent == 0.5:
            return np.sqrt(base)
        if exponent == -1:
            return 1 / base
        if exponent == -2:
            return 1 / (base * base)
    return np.power(base, exponent)


@pointwise(name="pow_scalar", accepts="number", grad_name="PowBackward0", numbers="rounded")
def pow_scalar(base: Any, exponent: Any) -> Any:
    """Power with a number as exponent; x**0 is 1, also for a NaN."""
    return _power(base, exponent)


@pointwise(name="pow", accepts="number", grad_name="PowBackward1", numbers="rounded")
def pow_tensor(base: Any, exponent: Any) -> Any:
    """Power; x**0 is 1, also for a NaN."""
    return _power(base, exponent)


@pow_scalar.vjp("base")
def pow_scalar_dbase(dy: Any, base: Any, exponent: Any) -> Any:
    if exponent == 0:
        return no_slope(dy)
    return absorb(dy, conjugate(mul(pow_scalar(base, exponent - 1), exponent)))


@pow_tensor.vjp("base")
def pow_tensor_dbase(dy: Any, base: Any, exponent: Any) -> Any:
    slope = mul(pow_tensor(base, sub(exponent, 1)), exponent)
    return where(eq(exponent, 0), 0, absorb(dy, conjugate(slope)))


@pow_tensor.vjp("exponent")
def pow_tensor_dexponent(dy: Any, base: Any, exponent: Any, y: Any) -> Any:
    if is_number(base):
        slope = mul(y, _log_of(base))
        if base == 0 and not y._meta.dtype.is_complex:
            return where(ge(exponent, 0), 0, absorb(dy, slope))
        return no_slope(dy) if base == 0 else absorb(dy, conjugate(slope))
    slope = mul(y, log(base))
    at_zero = eq(base, 0) if y._meta.dtype.is_complex else logical_and(eq(base, 0), ge(exponent, 0))
    return where(at_zero, 0, absorb(dy, conjugate(slope)))


def _log_of(base: Any) -> Any:
    """The logarithm of a Python number, with the infinities and NaN of floating point."""
    with np.errstate(all="ignore"):
        return np.log(complex(base) if isinstance(base, complex) else float(base)).item()


@pointwise(accepts="number", grad_name="PowBackward0")
def square(x: Any) -> Any:
    """x * x."""
    return x * x


@square.vjp("x")
def square_dx(dy: Any, x: Any) -> Any:
    return mul(dy, conjugate(mul(x, 2)))


@pointwise(result="float")
def sqrt(x: Any) -> Any:
    """Square root; of a negative number, NaN. The slope at 0 is infinite."""
    return np.sqrt(x)


@sqrt.vjp("x")
def sqrt_dx(dy: Any, y: Any) -> Any:
    return absorbed_quotient(dy, conjugate(mul(y, 2)))


@pointwise(result="float")
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


@rsqrt.vjp("x")
def rsqrt_dx(dy: Any, y: Any) -> Any:
    return absorb(dy, conjugate(mul(mul(mul(y, y), y), -0.5)))


@pointwise(result="float")
def exp(x: Any) -> Any:
    """e to the x."""
    return np.exp(x)


@exp.vjp("x")
def exp_dx(dy: Any, y: Any) -> Any:
    return absorb(dy, conjugate(y))


@pointwise(result="float")
def exp2(x: Any) -> Any:
    """2 to the x."""
    if x.dtype.kind != "c":
        return np.exp2(x)
    scaled = np.empty_like(x)  # by parts: an infinity times 0j is a NaN
    scaled.real, scaled.imag = x.real * x.real.dtype.type(LN2), x.imag * x.real.dtype.type(LN2)
    return np.exp(scaled)


@exp2.vjp("x")
def exp2_dx(dy: Any, y: Any) -> Any:
    return absorb(dy, conjugate(mul(y, LN2)))


@pointwise(result="float")
def expm1(x: Any) -> Any:
    """exp(x) - 1, exact for small x."""
    return np.expm1(x)


@expm1.vjp("x")
def expm1_dx(dy: Any, y: Any) -> Any:
    return absorb(dy, conjugate(add(y, 1)))


@pointwise(result="float")
def log(x: Any) -> Any:
    """Natural logarithm; of 0, -inf; of a negative number, NaN."""
    return np.log(x)


@log.vjp("x")
def log_dx(dy: Any, x: Any) -> Any:
    return absorbed_quotient(dy, conjugate(x))


@pointwise(result="float")
def log2(x: Any) -> Any:
    """Logarithm to the base 2."""
    return np.log2(x)


@log2.vjp("x")
def log2_dx(dy: Any, x: Any) -> Any:
    return absorbed_quotient(dy, conjugate(mul(x, LN2)))


@pointwise(result="float")
def log10(x: Any) -> Any:
    """Logarithm to the base 10."""
    return np.log10(x)


@log10.vjp("x")
def log10_dx(dy: Any, x: Any) -> Any:
    return absorbed_quotient(dy, conjugate(mul(x, LN10)))


@pointwise(result="float", grad_name="Log1PBackward0")
def log1p(x: Any) -> Any:
    """log(1 + x), exact for small x."""
    return np.log1p(x)


@log1p.vjp("x")
def log1p_dx(dy: Any, x: Any) -> Any:
    return absorbed_quotient(dy, conjugate(add(x, 1)))


@pointwise(accepts="floating")
def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) without overflow; of complex numbers, the value next to the larger one."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    larger, smaller = np.where(a.real >= b.real, a, b), np.where(a.real >= b.real, b, a)
    return np.where(
        larger == smaller, larger + np.log(2).astype(a.real.dtype), larger + np.log(1 + np.exp(smaller - larger))
    )


@logaddexp.vjp("a")
def logaddexp_da(dy: Any, a: Any, y: Any) -> Any:
    return absorb(dy, _share_of(a, y))


@logaddexp.vjp("b")
def logaddexp_db(dy: Any, b: Any, y: Any) -> Any:
    return absorb(dy, _share_of(b, y))


def _share_of(part: Any, y: Any) -> Any:
    """exp(part - y): 0 where both are -inf, and 1 where both are +inf."""
    if y._meta.dtype.is_complex:
        return conjugate(exp(sub(part, y)))
    same = eq(part, y)
    return where(same, where(eq(y, float("-inf")), 0, 1), exp(sub(part, y)))


@pointwise(accepts="real floating")
def logaddexp2(a: Any, b: Any) -> Any:
    """log2(2**a + 2**b) without overflow."""
    return np.logaddexp2(a, b)


@logaddexp2.vjp("a")
def logaddexp2_da(dy: Any, a: Any, y: Any) -> Any:
    return absorb(dy, _share_of(mul(a, LN2), mul(y, LN2)))


@logaddexp2.vjp("b")
def logaddexp2_db(dy: Any, b: Any, y: Any) -> Any:
    return absorb(dy, _share_of(mul(b, LN2), mul(y, LN2)))


@pointwise(result="float")
def xlogy(a: Any, b: Any) -> Any:
    """a * log(b), 0 where a is 0 (unless b is a NaN)."""
    return np.where(b != b, b, np.where(a == 0, 0, a * np.log(b)))


@xlogy.vjp("a")
def xlogy_da(dy: Any, a: Any, b: Any) -> Any:
    if is_number(a):
        return None
    not_positive = b <= 0 if is_number(b) else le(b, 0)
    return where(logical_and(eq(a, 0), not_positive), 0, absorb(dy, _log_of(b) if is_number(b) else log(b)))


@xlogy.vjp("b")
def xlogy_db(dy: Any, a: Any, b: Any) -> Any:
    return absorb(dy, mul(reciprocal(b), a))


@pointwise(result="real", accepts="number", name="abs")
def absolute(x: Any) -> Any:
    """Absolute value (of a complex number, its modulus); the gradient at 0 is 0."""
    return np.abs(x)


@absolute.vjp("x")
def absolute_dx(dy: Any, x: Any) -> Any:
    return mul(dy, sgn(x))


@pointwise
def sgn(x: Any) -> Any:
    """The sign (0 for a NaN); of a complex number, the number of modulus 1 in its direction (0 for 0)."""
    if x.dtype.kind == "c":
        size = np.abs(x)
        return np.where(size == 0, 0, x / np.where(size == 0, 1, size))
    return (
        np.where(np.isnan(x), 0, np.sign(x)) if x.dtype.kind == "f" else np.sign(x) if x.dtype.kind != "b" else x.copy()
    )


@sgn.vjp("x")
def sgn_dx(dy: Any, x: Any, y: Any) -> Any:
    if not y._meta.dtype.is_complex:
        return no_slope(dy)
    from pellucid.engine.ops.arithmetic import div

    size = absolute(x)
    along = real_of(mul(conjugate(y), dy))
    return where(eq(size, 0), 0, div(sub(dy, mul(along, y)), size))


def real_of(x: Any) -> Any:
    """The real part of a tensor, as a tensor of its own real type."""
    from pellucid.engine.ops.memory import cast

    return cast(x, dtype=x._meta.dtype.to_real()) if x._meta.dtype.is_complex else x


@pointwise(accepts="real")
def sign(x: Any) -> Any:
    """-1, 0 or 1; of a NaN, 0."""
    return np.where(x != x, 0, np.sign(x)) if x.dtype.kind == "f" else np.sign(x) if x.dtype.kind != "b" else x.copy()


@sign.vjp("x")
def sign_dx(dy: Any) -> Any:
    return no_slope(dy)


def _rounding(name: str, function: Any) -> Any:
    def body(x: Any) -> Any:
        return function(x) if x.dtype.kind == "f" else x.copy()

    body.__doc__ = f"Rounded: {name}; integers as they are."
    made = pointwise(body, name=name, accepts="real number")
    made.vjp("x")(no_slope)
    return made


floor = _rounding("floor", np.floor)
ceil = _rounding("ceil", np.ceil)
trunc = _rounding("trunc", np.trunc)
round_ = _rounding("round", np.rint)


@pointwise(accepts="real floating", grad_name="RoundBackward1")
def round_decimals(x: Any, *, decimals: int) -> Any:
    """Rounded half to even at a number of decimals (negative: tens, hundreds, …)."""
    scale = 10.0 ** abs(decimals)
    return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale


round_decimals.vjp("x")(no_slope)


@pointwise(accepts="real floating")
def frac(x: Any) -> Any:
    """What truncation drops."""
    return x - np.trunc(x)


@frac.vjp("x")
def frac_dx(dy: Any) -> Any:
    return dy


@pointwise(result="float")
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


@sigmoid.vjp("x")
def sigmoid_dx(dy: Any, y: Any) -> Any:
    return mul(dy, conjugate(mul(sub(1, y), y)))


@pointwise(result="float")
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return np.tanh(x)


@tanh.vjp("x")
def tanh_dx(dy: Any, y: Any) -> Any:
    return mul(dy, conjugate(sub(1, mul(y, y))))


@pointwise(accepts="real")
def relu(x: Any) -> Any:
    """max(x, 0); a NaN stays NaN, and the gradient at 0 is 0."""
    return np.maximum(x, 0)


@relu.vjp("x")
def relu_dx(dy: Any, y: Any) -> Any:
    return where(le(y, 0), 0, dy)  # through a NaN, which compares as nothing, all of it
