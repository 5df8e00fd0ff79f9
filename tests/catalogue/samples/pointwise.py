"""Arithmetic and mathematical functions of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table import FLOATING, Case, Make, Sample, call, pairs
from .views import REAL, copied


def shapes(make: Make) -> list[Sample]:
    return [call(make(3, 4)), call(make()), call(make(0)), call(make(2, 1, 3)), call(make.values([0, 1, -1, 2, 0.5]))]


def unit(make: Make) -> list[Sample]:
    poles = [0.3, 0.5, 2, 3, -0.5] if make.dtype.startswith("complex") else [0, 1, -1, 0.5, 2]
    return [call(make.unit(3, 4)), call(make.unit()), call(make(0)), call(make.values(poles))]


def positive(make: Make) -> list[Sample]:
    poles = [1, 0.5, 4, 2, 3] if make.dtype.startswith("complex") else [0, 1, -1, 0.5, 4]
    return [call(make.positive(3, 4)), call(make.positive()), call(make(0)), call(make.values(poles))]


def binary(make: Make) -> list[Sample]:
    return [
        call(make(3, 4), make(3, 4)),
        call(make(3, 1), make(4)),
        call(make(2, 3), make()),
        call(make(), make(2, 2)),
        call(make(0, 3), make(3)),
        call(make(2, 3), make(2, 3, dtype="int64")),
        call(make(2, 3), make(dtype="float64", grad=False)),
        call(make.ties(3, 4), make.ties(3, 4)),
        call(make(2, 2, dtype="int32"), make(2, 2)),
    ]


def binary_or_number(make: Make) -> list[Sample]:
    return [*binary(make), call(make(3, 2), 2), call(make(3, 2), -1.5), call(make(3), True), call(make(2), 0)]


def edges_but_minus_infinity(make: Make) -> list[Sample]:
    return [call(make.values([0.0, -0.0, np.inf, np.nan, -1.0, 5.0, -40.0, 40.0]))]


def without_negative_integers(make: Make) -> list[Sample]:
    whole: dict[str, Any] = {"low": 0, "high": 4} if not make.is_floating else {}
    return [
        call(make(3, 4), make(3, 4, **whole)),
        call(make(3, 1), make(4, **whole)),
        call(make(), make(2, 2, **whole)),
        call(make(0, 3), make(3, **whole)),
        call(make(2, 3), make(2, 3, dtype="int64", low=0, high=4)),
        call(make(2, 2, dtype="int32"), make(2, 2, **whole)),
    ]


def nonzero_divisor(make: Make) -> list[Sample]:
    return [
        call(make(3, 4, low=-9, high=9), make.positive(3, 4)),
        call(make(3, 4, low=-9, high=9), make(4, low=1, high=3)),
        call(make(3, 4, low=-9, high=9), 2),
        call(make(3, low=-9, high=9), -1.5),
        call(make(low=-9, high=9), make(2, 2, low=-4, high=-1)),
        call(make(0, 3), make(3)),
        call(make(3, low=-9, high=9), make(3, low=1, high=3, dtype="int64")),
        call(make(2, 3), make(2, 3)),
    ]


def mismatched(make: Make) -> list[Sample]:
    return [call(make(3), make(4)), call(make(2, 3), make(3, 2)), call(make(2), None), call(make(2), "x")]


def with_alpha(make: Make) -> list[Sample]:
    return [*binary_or_number(make), call(make(3), make(3), alpha=2), call(make(3), 2, alpha=3)]


CASES = [
    *pairs(
        "abs absolute neg negative positive sign sgn square exp exp2 expm1 sin cos tan sinh tanh asinh arcsinh atan "
        "arctan sinc erf erfc floor ceil trunc fix round frac sigmoid rad2deg deg2rad angle nan_to_num isnan isinf "
        "isfinite isposinf isneginf isreal signbit logical_not special.expit special.exp2 special.expm1 special.erf "
        "special.sinc special.erfcx special.i0 special.i0e special.i1 special.i1e special.ndtr "
        "conj_physical resolve_conj resolve_neg cosh i0 special.round",
        shapes,
    ),
    *pairs("asin arcsin acos arccos atanh arctanh logit special.logit erfinv special.erfinv special.ndtri", unit),
    *pairs(
        "sqrt rsqrt log log2 log10 log1p reciprocal acosh arccosh special.log1p special.entr",
        positive,
    ),
    *pairs(  # what a gradient is at a pole depends on the rounding of pi
        "digamma lgamma special.digamma special.psi special.gammaln",
        lambda make: positive(make)[:3],
        edges=False,
    ),
    *pairs(
        "digamma lgamma special.digamma special.psi special.gammaln",
        lambda make: positive(make)[3:],
        gradients=False,
        note="at poles",
    ),
    Case("special.log_ndtr", shapes, edges=False),  # the slope at -inf is infinite here, NaN in PyTorch
    Case("special.log_ndtr", edges_but_minus_infinity, dtypes=FLOATING, nonfinite=False, note="edges"),
    Case("bitwise_not", shapes, gradients=False),
    *pairs("add sub subtract rsub", with_alpha, errors=mismatched),
    *pairs("mul multiply", binary_or_number, errors=mismatched),
    *pairs(
        "maximum minimum fmax fmin hypot atan2 arctan2 heaviside nextafter",
        binary,
        errors=mismatched,
    ),
    Case("ldexp", without_negative_integers, errors=mismatched),
    # PyTorch's gradient takes 2**other as an integer power, which is 0 for a negative one
    Case("ldexp", binary, gradients=False, note="negative integers"),
    *pairs("logaddexp logaddexp2", binary, errors=mismatched, edges=False),
    *pairs("copysign xlogy special.xlogy special.xlog1py", binary_or_number, errors=mismatched),
    *pairs("logical_and logical_or logical_xor", binary, gradients=False, errors=mismatched),
    *pairs("bitwise_and bitwise_or bitwise_xor", binary_or_number, gradients=False, errors=mismatched),
    *pairs(
        "bitwise_left_shift bitwise_right_shift",
        lambda make: [call(make(4, low=0, high=9), make(4, low=0, high=3)), call(make(3, low=0, high=9), 2)],
        gradients=False,
    ),
    *pairs("gcd lcm", lambda make: [call(make(3, 4, low=-20, high=20), make(4, low=-20, high=20))], gradients=False),
    *pairs("div divide true_divide floor_divide remainder fmod", nonzero_divisor, errors=mismatched),
    Case(
        "div",
        lambda make: (
            [
                call(make(3, 4, low=-9, high=9), make(4, low=1, high=3), rounding_mode=mode)
                for mode in ("floor", "trunc")
            ]
            + [call(make(3, low=-9, high=9), -2, rounding_mode="floor")]
            + [call(make(3, 4, low=-9, high=9), other, rounding_mode=None) for other in (make.positive(4), 3)]
        ),
        errors=lambda make: [call(make(3), make.positive(3), rounding_mode="up")],
        note="rounded",
    ),
    Case(
        "pow",
        lambda make: [
            call(make.positive(3, 4), make.positive(3, 4)),
            call(make(3), 2),
            call(make(3), 3),
            call(make.positive(3), 0.5),
            call(make.positive(3), -1),
            call(make(3), 0),
            call(2, make(3)),
            *([] if make.dtype.startswith("complex") else [call(0, make.positive(3))]),
            call(2.5, make.positive(2, 2)),
            *(
                []
                if make.dtype.startswith("complex")
                else [call(make.values([0, 0, 1, -1, -2]), make.values([0, 1, 0, 2, 3]))]
            ),
            call(make.positive(3, 1), make(4, dtype="int64", low=0, high=3)),
        ],
        errors=mismatched,
    ),
    Case(
        "float_power",
        lambda make: [call(make.positive(3), 2), call(make.positive(3), make.positive(3)), call(2, make(3))],
    ),
    Case(
        "round", lambda make: [call(make(5, low=-9, high=9), decimals=1), call(make(4), decimals=-1)], note="decimals"
    ),
    Case(
        "clamp",
        lambda make: [
            call(make(3, 4), -1, 1),
            call(make(3, 4), min=0),
            call(make(3, 4), max=0.5),
            call(make(3, 4), make(4), make.positive(3, 1)),
            call(make(3), None, make(3)),
            call(make(3), 1, -1),
            call(make.values([-1, 0, 1]), -1, 1),
            call(make(0), 0, 1),
        ],
        errors=lambda make: [call(make(3)), call(make(3), make(2), None)],
    ),
    Case("clip", lambda make: [call(make(3, 4), -1, 1), call(make(3), max=1)]),
    *pairs("clamp_min clamp_max", lambda make: [call(make(3, 4), 0), call(make(3, 4), make(4)), call(make(3), 0.5)]),
    Case(
        "lerp",
        lambda make: [
            call(make(3, 4), make(3, 4), 0.25),
            call(make(3, 4), make(4), make.unit(3, 4)),
            call(make(3), make(3), 0.75),
            call(make(2), make(2), make.unit()),
        ],
        errors=lambda make: [call(make(3), make(4), 0.5)],
    ),
    *pairs(
        "addcmul addcdiv",
        lambda make: [
            call(make(3, 4), make(3, 4), make.positive(3, 4)),
            call(make(3, 4), make(4), make.positive(3, 1), value=0.5),
            call(make(3), make(3), make.positive(3), value=2),
        ],
        errors=lambda make: [call(make(3), make(4), make(3))],
    ),
    Case(
        "nan_to_num", lambda make: [call(make(4), nan=1.0, posinf=2.0, neginf=-2.0), call(make(3), 0.5)], note="given"
    ),
    *pairs(
        "mvlgamma special.multigammaln",
        lambda make: [call(make(3, low=3, high=5), 2), call(make(2, 2, low=3, high=5), 3)],
        nonfinite=False,
    ),
    *pairs("polygamma special.polygamma", lambda make: [call(n, make.positive(3)) for n in (0, 1, 2)], tolerance=10),
    *pairs(
        "igamma igammac special.gammainc special.gammaincc",
        lambda make: [call(make.positive(4), make.positive(4))],
        gradients=False,
        tolerance=10,
    ),
    Case(
        "special.zeta", lambda make: [call(make(3, low=1.5, high=4), make.positive(3))], gradients=False, tolerance=10
    ),
    *pairs(
        "special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.modified_bessel_i0 "
        "special.modified_bessel_i1",
        positive,
        gradients=False,
        tolerance=10,
    ),
    Case("frexp", shapes, gradients=False),
    *pairs("real imag", lambda make: [call(make(3, 4)), call(make())]),
    Case("polar", lambda make: [call(make.positive(3), make(3))], dtypes=("float32", "float64")),
    Case(
        "complex",
        lambda make: [call(make(3), make(3)), call(make(2, 1), make(3))],
        dtypes=("float32", "float64"),
        errors=lambda make: [call(make(2), make(2, dtype="float64"))],
    ),
    *pairs("view_as_real", lambda make: [call(make(3)), call(make(2, 2))], dtypes=("complex64",)),
    Case(
        "view_as_complex",
        lambda make: [call(make(3, 2)), call(make(2, 2, 2))],
        dtypes=("float32", "float64"),
        errors=lambda make: [call(make(3))],
    ),
    Case("conj", lambda make: [call(make(3)), call(make(2, 2))], dtypes=REAL),
    Case("conj", lambda make: [call(make(3))], dtypes=("complex64",), through=copied, note="complex"),
]
