"""Fused multiply-add, casts and the C library's functions, against exact fractions and `math`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pellucid.engine.core import random as streams
from pellucid.engine.core import random_arithmetic


def exact_float32(value: Fraction) -> np.float32:
    """The float32 nearest to a fraction, ties to even, by comparing the neighbours."""
    guess = np.float32(float(value))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda f: (abs(Fraction(float(f)) - value), int(f.view(np.int32)) & 1))


@pytest.mark.parametrize("sign", (1, -1))
def test_fused_float32_rounds_once(sign):
    """The sum lies 2**-70 beside the middle of two floats: double rounds it to the middle, and then it goes astray."""
    a, b = np.float32(sign * (1 + 2.0**-23) * 2.0**-24), np.float32(1 - 2.0**-23)
    for k in range(5):
        c = np.float32(1 + k * 2.0**-23)
        exact = exact_float32(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))
        assert random_arithmetic.fused_float32(np.array([a, a]), b, c).tolist() == [exact, exact]


def test_fused_float32_among_the_subnormal_numbers():
    source = np.random.default_rng(5)
    a = source.standard_normal(500).astype(np.float32)
    for b, c in ((1e-20, 1e-41), (1e-42, 0.0), (2.0**-149, 2.0**-149), (1.5e-45, -1e-44)):
        b, c = np.float32(b), np.float32(c)
        ours = random_arithmetic.fused_float32(a, b, c)
        exact = [exact_float32(Fraction(float(x)) * Fraction(float(b)) + Fraction(float(c))) for x in a]
        assert ours.tolist() == exact


def test_fused_float64_equals_exact_arithmetic():
    source = np.random.default_rng(5)
    for exponent in (0, 5, -30, 300, -320):
        a = source.standard_normal(300)
        b, c = 0.7310585786300049 * 10.0 ** min(exponent, 0), -0.26894142136999505 * 10.0**exponent
        expected = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
        assert random_arithmetic.fused_float64(a, b, c).tolist() == expected


def test_fused_float64_rounds_once():
    """As for float32: the middle of two doubles, and cancellation down to the last bit."""
    a = np.array([(1 + 2.0**-52) * 2.0**-53, -(1 + 2.0**-52) * 2.0**-53, 1 + 2.0**-52, 1 - 2.0**-53, 2.0**-53, 0.0])
    for b in (1 - 2.0**-52, 1 - 2.0**-53, 1 + 2.0**-52, 3.0):
        for c in (1.0, 1 + 2.0**-52, 1 + 2.0**-51, -1.0, -3.0):
            expected = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
            assert random_arithmetic.fused_float64(a, b, c).tolist() == expected


def test_fused_float64_with_infinities_and_overflow():
    a = np.array([1e308, -1e308, np.inf, np.nan, 2.0])
    assert random_arithmetic.fused_float64(a, 10.0, 1.0)[:3].tolist() == [np.inf, -np.inf, np.inf]
    assert np.isnan(random_arithmetic.fused_float64(a, 10.0, 1.0)[3])
    assert random_arithmetic.fused_float64(a, 10.0, 1.0)[4] == 21.0


def test_halves_are_narrowed_by_way_of_float32():
    """1 + 2**-11 + 2**-40 is above the middle of two halves, but float32 rounds it to the middle first."""
    values = np.array([1 + 2.0**-11 + 2.0**-40])
    assert random_arithmetic.narrow(values, np.dtype(np.float16))[0] == 1.0
    assert values.astype(np.float16)[0] != 1.0


def test_libm_functions_equal_the_c_librarys():
    x = streams.uniform(streams.Generator(), (20000,), np.dtype("float64"))
    assert random_arithmetic.libm_exp(20 * x - 10).tolist() == [math.exp(v) for v in (20 * x - 10).tolist()]
    cosine, sine = random_arithmetic.libm_cos_sin(7 * x)
    assert cosine.tolist() == [math.cos(v) for v in (7 * x).tolist()]
    assert sine.tolist() == [math.sin(v) for v in (7 * x).tolist()]
    assert random_arithmetic.libm_log(np.array([0.0, 1.0, 0.3])).tolist() == [-math.inf, 0.0, math.log(0.3)]
