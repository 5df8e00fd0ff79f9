"""The incomplete gamma functions where their argument is large: halves at x = a, tails of the normal distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pellucid


@pytest.mark.parametrize("a", [1e5, 3e5, 1e6, 1e8, 1e12])
def test_far_from_the_middle_they_are_the_normal_distributions(a: float) -> None:
    for distance in (-8.0, -3.0, -0.5, 0.0, 0.5, 3.0, 8.0):
        x = a + distance * math.sqrt(a)
        lower, upper = (
            function(pellucid.tensor(a, dtype=pellucid.float64), pellucid.tensor(x, dtype=pellucid.float64)).item()
            for function in (pellucid.igamma, pellucid.igammac)
        )
        assert lower + upper == pytest.approx(1, abs=1e-15)
        # Wilson and Hilferty (1931): the cube root is normal but for a relative error of about distance**4 / a**(1/2).
        normal = 3 * math.sqrt(a) * ((x / a) ** (1 / 3) - 1 + 1 / (9 * a))
        assert lower == pytest.approx(math.erfc(-normal / math.sqrt(2)) / 2, rel=0.01)


def test_pytorch_agrees_in_the_middle() -> None:
    torch = pytest.importorskip("torch")
    a = np.repeat([2e5, 1e6, 1e9], 9)
    x = a + np.tile(np.linspace(-4, 4, 9), 3) * np.sqrt(a)
    for name in ("igamma", "igammac"):
        expected, actual = (
            getattr(each, name)(each.from_numpy(a), each.from_numpy(x)).numpy() for each in (torch, pellucid)
        )
        np.testing.assert_allclose(actual, expected, rtol=1e-10)


def test_the_two_methods_meet() -> None:
    for x in (0.99e5, 1e5, 1.01e5):
        values = [
            pellucid.igamma(
                pellucid.tensor(a, dtype=pellucid.float64), pellucid.tensor(x, dtype=pellucid.float64)
            ).item()
            for a in (math.nextafter(1e5, 0), 1e5)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-9)
