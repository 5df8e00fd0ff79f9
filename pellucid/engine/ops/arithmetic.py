"""Sums, products, quotients: pointwise arithmetic and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise


@pointwise(accepts="number", grad_name="ConjBackward0")
def conj(x: Any) -> Any:
    """Complex conjugate; a real tensor is copied."""
    return np.conj(x) if x.dtype.kind == "c" else x.copy()


@conj.vjp("x")
def conj_dx(dy: Any) -> Any:
    return conjugate(dy)


def conjugate(x: Any) -> Any:
    """The conjugate of a complex tensor or number; anything real itself, without an operator."""
    if isinstance(x, bool | int | float):
        return x
    if isinstance(x, complex):
        return x.conjugate()
    return conj(x) if x._meta.dtype.is_complex else x


@pointwise
def add(a: Any, b: Any) -> Any:
    """Sum; of bools, logical or."""
    return a + b


@add.vjp("a")
def add_da(dy: Any) -> Any:
    return dy


@add.vjp("b")
def add_db(dy: Any) -> Any:
    return dy


@pointwise(accepts="number")
def sub(a: Any, b: Any) -> Any:
    """Difference."""
    return a - b


@sub.vjp("a")
def sub_da(dy: Any) -> Any:
    return dy


@sub.vjp("b")
def sub_db(dy: Any) -> Any:
    return neg(dy)


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
    return absorb(dy, reciprocal_of(conjugate(b)))


@div.vjp("b")
def div_db(dy: Any, b: Any, y: Any) -> Any:
    return absorb(dy, conjugate(neg(div(y, b))))


def reciprocal_of(x: Any) -> Any:
    """1/x of a tensor or a number; 1/0 of a number is an infinity."""
    if isinstance(x, bool | int | float | complex):
        return 1 / x if x else float("inf")
    return div(1, x)


@pointwise
def absorb(cotangent: Any, slope: Any) -> Any:
    """The product in which a cotangent of 0 gives 0 whatever the slope: a branch that was not taken adds no NaN to a gradient."""
    return np.where(cotangent == 0, 0, cotangent * slope)


@absorb.vjp("cotangent")
def absorb_dcotangent(dy: Any, slope: Any) -> Any:
    return absorb(dy, conjugate(slope))


@absorb.vjp("slope")
def absorb_dslope(dy: Any, cotangent: Any) -> Any:
    return mul(dy, conjugate(cotangent))
