"""Airy's function against values of mpmath where it is installed, and against PyTorch."""

import numpy as np
import pytest

import pellucid


def test_it_is_within_a_few_units_in_the_last_place():
    mpmath = pytest.importorskip("mpmath")
    places = np.concatenate(
        [np.linspace(-30, 20, 301), [-9.5, -9.4999, 1.0, 1.5, 1.5001, 9.4, 9.6, 50.0, 100.0, -500.0]]
    )
    found = pellucid.special.airy_ai(pellucid.from_numpy(places)).numpy()
    with mpmath.workdps(40):
        for x, value in zip(places.tolist(), found.tolist(), strict=True):
            exact = mpmath.airyai(mpmath.mpf(x))
            size = abs(exact) if x > -1 else max(abs(exact), 0.56 * mpmath.mpf(-x) ** -0.25)
            assert abs(mpmath.mpf(value) - exact) <= (12 if x < -100 else 5) * 2.0**-52 * size, x


def test_edges_are_pytorchs():
    torch = pytest.importorskip("torch")
    for values in ([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e3], [1, 2, -3], [True, False]):
        expected = torch.special.airy_ai(torch.tensor(values))
        found = pellucid.special.airy_ai(pellucid.tensor(values))
        assert str(found.dtype) == str(expected.dtype)
        torch.testing.assert_close(torch.from_numpy(found.numpy()), expected, equal_nan=True)
    assert not pellucid.special.airy_ai(pellucid.ones(1, requires_grad=True)).requires_grad
