"""erf and erfc on NumPy arrays, by Sun's rational approximations (fdlibm, s_erf.c, 1993): within 1 ulp of float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import absorb, mul, neg
from pellucid.engine.ops.exponential import exp, square

ERX = 0.845062911510467529297
PP = (
    1.28379167095512558561e-01,
    -3.25042107247001499370e-01,
    -2.84817495755985104766e-02,
    -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)
QQ = (
    1.0,
    3.97917223959155352819e-01,
    6.50222499887672944485e-02,
    5.08130628187576562776e-03,
    1.32494738004321644526e-04,
    -3.96022827877536812320e-06,
)
PA = (
    -2.36211856075265944077e-03,
    4.14856118683748331666e-01,
    -3.72207876035701323847e-01,
    3.18346619901161753674e-01,
    -1.10894694282396677476e-01,
    3.54783043256182359371e-02,
    -2.16637559486879084300e-03,
)
QA = (
    1.0,
    1.06420880400844228286e-01,
    5.40397917702171048937e-01,
    7.18286544141962662868e-02,
    1.26171219808761642112e-01,
    1.36370839120290507362e-02,
    1.19844998467991074170e-02,
)
RA = (
    -9.86494403484714822705e-03,
    -6.93858572707181764372e-01,
    -1.05586262253232909814e01,
    -6.23753324503260060396e01,
    -1.62396669462573470355e02,
    -1.84605092906711035994e02,
    -8.12874355063065934246e01,
    -9.81432934416914548592e00,
)
SA = (
    1.0,
    1.96512716674392571292e01,
    1.37657754143519042600e02,
    4.34565877475229228821e02,
    6.45387271733267880336e02,
    4.29008140027567833386e02,
    1.08635005541779435134e02,
    6.57024977031928170135e00,
    -6.04244152148580987438e-02,
)
RB = (
    -9.86494292470009928597e-03,
    -7.99283237680523006574e-01,
    -1.77579549177547519889e01,
    -1.60636384855821916062e02,
    -6.37566443368389627722e02,
    -1.02509513161107724954e03,
    -4.83519191608651397019e02,
)
SB = (
    1.0,
    3.03380607434824582924e01,
    3.25792512996573918826e02,
    1.53672958608443695994e03,
    3.19985821950859553908e03,
    2.55305040643316442583e03,
    4.74528541206955367215e02,
    -2.24409524465858183362e01,
)
TWO_OVER_ROOT_PI = 1.1283791670955126


def horner(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """A polynomial, its coefficients from the constant upwards."""
    result = np.full_like(x, coefficients[-1])
    for each in reversed(coefficients[:-1]):
        result = result * x + each
    return result


def _tail(size: np.ndarray) -> np.ndarray:
    """erfc(size) for size >= 1.25."""
    inverse = 1 / (size * size)
    near = size < 1 / 0.35
    ratio = np.where(near, horner(inverse, RA) / horner(inverse, SA), horner(inverse, RB) / horner(inverse, SB))
    head = size.astype(np.float32).astype(np.float64)  # its square is exact
    return np.exp(-head * head - 0.5625) * np.exp((head - size) * (head + size) + ratio) / size


def erf_array(x: np.ndarray) -> np.ndarray:
    """erf, computed in float64."""
    traced = getattr(x, "function", None)  # a traced scalar of a narrower type has a polynomial of its own
    if traced is not None and x.dtype != np.float64:
        return traced("erf")
    wide = x.astype(np.float64)
    size = np.abs(wide)
    z = wide * wide
    small = wide + wide * (horner(z, PP) / horner(z, QQ))
    if traced is None and not np.any(size >= 0.84375):
        return small
    s = size - 1
    middle = ERX + horner(s, PA) / horner(s, QA)
    large = 1 - _tail(np.maximum(size, 1.25))
    outer = np.where(size < 1.25, middle, np.where(size < 6, large, 1.0))
    return np.where(size < 0.84375, small, np.where(wide != wide, wide, np.copysign(outer, wide)))


def erfc_array(x: np.ndarray) -> np.ndarray:
    """erfc, computed in float64."""
    wide = x.astype(np.float64)
    size = np.abs(wide)
    inner = 1 - erf_array(np.clip(wide, -1.25, 1.25))
    tail = np.where(size < 28, _tail(np.clip(size, 1.25, 28)), 0.0)
    outer = np.where(wide > 0, tail, 2 - tail)
    return np.where(wide != wide, wide, np.where(size < 1.25, inner, outer))


@pointwise(result="float", accepts="real")
def erf(x: Any) -> Any:
    """The error function."""
    return erf_array(x)


@erf.vjp("x")
def erf_dx(dy: Any, x: Any) -> Any:
    return mul(dy, mul(exp(neg(square(x))), TWO_OVER_ROOT_PI))


@pointwise(result="float", accepts="real")
def erfc(x: Any) -> Any:
    """1 - erf(x), exact where that is small."""
    return erfc_array(x)


@erfc.vjp("x")
def erfc_dx(dy: Any, x: Any) -> Any:
    return absorb(dy, mul(exp(neg(square(x))), -TWO_OVER_ROOT_PI))
