"""Inverses and scaled forms of the error function, entropy terms, and the logit, on NumPy arrays in float64.

Starting values of erfinv by Giles (GPU Computing Gems, 2010), of ndtri by Moshier's Cephes library (ndtri.c).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import absorb, add, div, is_number, mul, neg, sub
from pellucid.engine.ops.comparison import eq, ge, le, logical_and, ne, where
from pellucid.engine.ops.error_function import RA, RB, SA, SB, TWO_OVER_ROOT_PI, erf_array, erfc_array, horner
from pellucid.engine.ops.exponential import exp, log, log1p, square

CENTRE = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
ROOT_TWO_PI = math.sqrt(2 * math.pi)
ROOT_HALF = math.sqrt(0.5)
# Cephes: p from exp(-2) to 1 - exp(-2), then by z = sqrt(-2 log p) from 2 to 8 and from 8 to 64.
P0 = (
    -1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1, 9.80010754185999661536e1,
    -5.99633501014107895267e1,
)  # fmt: skip
Q0 = (
    -1.18331621121330003142e0, 1.59056225126211695515e1, -8.20372256168333339912e1, 2.00260212380060660359e2,
    -2.25462687854119370527e2, 8.63602421390890590575e1, 4.67627912898881538453e0, 1.95448858338141759834e0,
    1.0,
)  # fmt: skip
P1 = (
    -8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1,
    2.18663306850790267539e0, 1.46849561928858024014e1, 4.40805073893200834700e1, 5.71628192246421288162e1,
    3.15251094599893866154e1, 4.05544892305962419923e0,
)  # fmt: skip
Q1 = (
    -9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1,
    2.50464946208309415979e0, 1.50425385692907503408e1, 4.13172038254672030440e1, 4.53907635128879210584e1,
    1.57799883256466749731e1, 1.0,
)  # fmt: skip
P2 = (
    6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4, 1.23716634817820021358e-2,
    2.01485389549179081538e-1, 1.33303460815807542389e0, 3.93881025292474443415e0, 6.91522889068984211695e0,
    3.23774891776946035970e0,
)  # fmt: skip
Q2 = (
    6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4, 1.34204006088543189037e-2,
    2.16236993594496635890e-1, 1.37702099489081330271e0, 3.67983563856160859403e0, 6.02427039364742014255e0,
    1.0,
)  # fmt: skip


def erfinv_array(x: np.ndarray) -> np.ndarray:
    """The inverse of erf: up to 1/2 a polynomial and two steps of Halley's method, beyond that ndtri; infinite at 1."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    near = np.where(size < 0.5, size, 0.0)
    y = near * horner(-np.log((1 - near) * (1 + near)) - 2.5, CENTRE)
    for _ in range(2):
        step = (erf_array(y) - near) / (TWO_OVER_ROOT_PI * np.exp(-y * y))
        y = y - step / (1 + y * step)
    return np.copysign(np.where(size < 0.5, y, -ROOT_HALF * ndtri_array((1 - size) / 2)), x)


def erfcx_array(x: np.ndarray) -> np.ndarray:
    """exp(x**2) * erfc(x), which neither over- nor underflows for positive x."""
    x = np.asarray(x, np.float64)
    size = np.clip(np.abs(x), 1.25, 50)
    inverse = 1 / (size * size)
    near = size < 1 / 0.35
    ratio = np.where(near, horner(inverse, RA) / horner(inverse, SA), horner(inverse, RB) / horner(inverse, SB))
    tail = np.exp(ratio - 0.5625) / size
    far = np.maximum(x, 26)
    series = np.ones_like(far)
    for factor in (6.5, 5.5, 4.5, 3.5, 2.5, 1.5, 0.5):  # the asymptotic expansion, from its smallest term
        series = 1 - factor / far / far * series
    series = series / far / math.sqrt(math.pi)
    inner = np.clip(x, -1.25, 1.25)
    left = 2 * np.exp(x * x) - tail
    result = np.where(
        x > 26, series, np.where(x > 1.25, tail, np.where(x < -1.25, left, np.exp(inner * inner) * erfc_array(inner)))
    )
    return np.where(x != x, x, result)


def ndtri_array(p: np.ndarray) -> np.ndarray:
    """The quantile of the normal distribution; infinite at 0 and 1, NaN outside."""
    p = np.asarray(p, np.float64)
    inside = (p > 0) & (p < 1)
    upper = p > 1 - math.exp(-2)
    low = np.where(inside, np.where(upper, 1 - p, p), 0.5)
    centred = low - 0.5
    z = centred * centred
    middle = (centred + centred * (z * horner(z, P0) / horner(z, Q0))) * ROOT_TWO_PI
    root = np.sqrt(-2 * np.log(np.minimum(low, math.exp(-2))))
    inverse = 1 / root
    near = inverse * horner(inverse, P1) / horner(inverse, Q1)
    far = inverse * horner(inverse, P2) / horner(inverse, Q2)
    tail = root - np.log(root) / root - np.where(root < 8, near, far)
    result = np.where(low > math.exp(-2), middle, np.where(upper, tail, -tail))
    edge = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    return np.where(inside, result, edge)


@pointwise(result="float", accepts="real")
def erfinv(x: Any) -> Any:
    """The inverse of erf."""
    return erfinv_array(x)


@erfinv.vjp("x")
def erfinv_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, mul(exp(square(erfinv(x))), 1 / TWO_OVER_ROOT_PI))


@pointwise(result="float", accepts="real", grad_name="SpecialErfcxBackward0")
def erfcx(x: Any) -> Any:
    """exp(x**2) * erfc(x)."""
    return erfcx_array(x)


@erfcx.vjp("x")
def erfcx_dx(dy: Any, x: Any, y: Any) -> Any:
    return absorb(dy, sub(mul(mul(x, y), 2), TWO_OVER_ROOT_PI))


@pointwise(result="float", accepts="real", grad_name="MulBackward1")
def ndtr(x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return 0.5 * erfc_array(-ROOT_HALF * np.asarray(x, np.float64))


@ndtr.vjp("x")
def ndtr_dx(dy: Any, x: Any) -> Any:
    return mul(dy, mul(exp(mul(square(x), -0.5)), 1 / ROOT_TWO_PI))


@pointwise(result="float", accepts="real", grad_name="SpecialNdtriBackward0")
def ndtri(p: Any) -> Any:
    """The inverse of ndtr."""
    return ndtri_array(p)


@ndtri.vjp("p")
def ndtri_dp(dy: Any, y: Any) -> Any:
    return absorb(dy, mul(exp(mul(square(y), 0.5)), ROOT_TWO_PI))


@pointwise(result="float", accepts="real", grad_name="SpecialLogNdtrBackward0")
def log_ndtr(x: Any) -> Any:
    """The logarithm of ndtr, exact far to the left."""
    x = np.asarray(x, np.float64)
    left = np.log(erfcx_array(-np.minimum(x, -1) * ROOT_HALF) / 2) - 0.5 * x * x
    return np.where(x < -1, left, np.log1p(-0.5 * erfc_array(x * ROOT_HALF)))


@log_ndtr.vjp("x")
def log_ndtr_dx(dy: Any, x: Any) -> Any:
    return mul(div(dy, erfcx(mul(x, -ROOT_HALF))), math.sqrt(2 / math.pi))


@pointwise(result="float", accepts="real", grad_name="SpecialEntrBackward0")
def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below."""
    safe = np.where(x > 0, x, x.dtype.type(1))
    return np.where(
        x > 0, -x * np.log(safe), np.where(x == 0, x.dtype.type(0), np.where(x < 0, x.dtype.type(-np.inf), x))
    )


@entr.vjp("x")
def entr_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, sub(neg(log(x)), 1))


@pointwise(result="float", accepts="real", grad_name="SpecialXlog1PyBackward0")
def xlog1py(a: Any, b: Any) -> Any:
    """a * log(1 + b), and 0 where `a` is 0 and `b` is no NaN."""
    product = a * np.log1p(b)
    return np.where((a == 0) & (b == b), product.dtype.type(0), product)


# PyTorch's graph nodes say which operand was a number.
xlog1py_of_number = pointwise(
    xlog1py.body, name="xlog1py_of_number", result="float", accepts="real", grad_name="SpecialXlog1PyBackward1"
)
xlog1py_by_number = pointwise(
    xlog1py.body, name="xlog1py_by_number", result="float", accepts="real", grad_name="SpecialXlog1PyBackward2"
)


@xlog1py_by_number.vjp("a")
@xlog1py.vjp("a")
def xlog1py_da(dy: Any, a: Any, b: Any) -> Any:
    if is_number(b):
        with np.errstate(all="ignore"):
            product = mul(dy, float(np.log1p(float(b))))
        return where(eq(a, 0), 0, product) if b <= -1 else product
    return where(logical_and(eq(a, 0), le(b, -1)), 0, mul(dy, log1p(b)))


@xlog1py_of_number.vjp("b")
@xlog1py.vjp("b")
def xlog1py_db(dy: Any, a: Any, b: Any) -> Any:
    return absorb(dy, div(a, add(b, 1)))


@pointwise(result="float", accepts="real")
def logit(x: Any, *, eps: float | None) -> Any:
    """log(x / (1 - x)), of x moved into [eps, 1 - eps] where that is given."""
    kept = x if eps is None else np.clip(x, x.dtype.type(eps), x.dtype.type(1 - eps))
    return np.log(kept / (1 - kept))


@logit.vjp("x")
def logit_dx(dy: Any, x: Any, eps: float | None) -> Any:
    slope = div(1, mul(x, sub(1, x)))
    if eps is None:
        inside = logical_and(ge(x, 0), le(x, 1))
        return absorb(dy, where(inside, where(eq(x, 0), math.inf, slope), math.nan))  # also of -0 the slope is inf
    inside = logical_and(ge(x, eps), le(x, 1 - eps))
    return where(inside, mul(dy, slope), where(ne(x, x), x, 0))
