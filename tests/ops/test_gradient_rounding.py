"""Gradients of quotients and logarithms equal PyTorch's to the bit: a slope 1/x is one division."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x / y": lambda t, x, y: x / y,
    "x / 3": lambda t, x, y: x / 3,
    "3 / x": lambda t, x, y: 3 / x,
    "x / zero-dim": lambda t, x, y: x / y[0].detach(),
    "log": lambda t, x, y: t.log(y),
    "log2": lambda t, x, y: t.log2(y),
    "log10": lambda t, x, y: t.log10(y),
    "log1p": lambda t, x, y: t.log1p(y),
    "atan": lambda t, x, y: t.atan(x),
    "atanh": lambda t, x, y: t.atanh(x.clamp(-0.9, 0.9)),
    "reciprocal": lambda t, x, y: t.reciprocal(y),
    "addcdiv": lambda t, x, y: t.addcdiv(x, x, y, value=0.3),
    "weighted cov": lambda t, x, y: t.cov(x[:9].reshape(3, 3), aweights=y[:3].float()),
}


def gradients(framework: Any, function: Callable[[Any, Any, Any], Any], kind: str) -> list[np.ndarray]:
    random = np.random.default_rng(11)
    x, y = (
        framework.from_numpy(each.astype(kind)).requires_grad_()
        for each in (random.normal(size=500) * 5, random.random(500) + 0.01)
    )
    result = function(framework, x, y)
    weights = framework.from_numpy(random.normal(size=tuple(result.shape)).astype(kind))
    result.backward(weights)
    return [each.grad.numpy() for each in (x, y) if each.grad is not None]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_have_pytorchs_bits(name: str, kind: str) -> None:
    if name == "weighted cov" and kind == "float32":
        return  # products of matrices add in the order of their library
    expected, actual = (gradients(each, FUNCTIONS[name], kind) for each in (torch, pellucid))
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("function", [lambda x: 1 / x, lambda x: x.log(), lambda x: x.sqrt(), lambda x: x.log1p()])
def test_a_cotangent_of_zero_stays_zero(function: Callable[[Any], Any]) -> None:
    x = pellucid.tensor([-2.0, -1.0, 0.0, 4.0], requires_grad=True)
    pellucid.where(x > 1, function(x), 0).sum().backward()
    assert x.grad[:3].tolist() == [0.0, 0.0, 0.0]
    assert bool(x.grad[3] != 0)
