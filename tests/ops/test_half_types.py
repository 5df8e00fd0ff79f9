"""bfloat16 and float16 are rounded where PyTorch rounds them: numbers, quotients, and every operator to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

NAMES = ("bfloat16", "float16")
NUMBER = 0.3

WITH_NUMBERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + n": lambda t, x, y: x + NUMBER,
    "n + x": lambda t, x, y: NUMBER + x,
    "x - n": lambda t, x, y: x - NUMBER,
    "n - x": lambda t, x, y: NUMBER - x,
    "x * n": lambda t, x, y: x * NUMBER,
    "x / n": lambda t, x, y: x / NUMBER,
    "n / x": lambda t, x, y: NUMBER / x,
    "x % n": lambda t, x, y: x % NUMBER,
    "fmod": lambda t, x, y: t.fmod(x, NUMBER),
    "x ** n": lambda t, x, y: x.abs() ** NUMBER,
    "n ** x": lambda t, x, y: NUMBER**x,
    "x // n": lambda t, x, y: x // NUMBER,
    "trunc": lambda t, x, y: t.div(x, NUMBER, rounding_mode="trunc"),
    "x + 257": lambda t, x, y: x + 257,
    "zero-dim float32": lambda t, x, y: x + t.tensor(NUMBER),
    "zero-dim float32 product": lambda t, x, y: x * t.tensor(NUMBER),
    "in place": lambda t, x, y: x.clone().add_(NUMBER),
    "out": lambda t, x, y: t.add(x, NUMBER, out=t.empty_like(x)),
    "where": lambda t, x, y: t.where(x > 0, x, NUMBER),
    "clamp": lambda t, x, y: x.clamp(min=NUMBER),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.25),
}
OF_TENSORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x / y": lambda t, x, y: x / y,
    "x // y": lambda t, x, y: x // y,
    "trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
    "floor": lambda t, x, y: t.div(x, y, rounding_mode="floor"),
    "floor of zeros": lambda t, x, y: t.div(x, y * 0, rounding_mode="floor"),
    "x % y": lambda t, x, y: x % y,
    "x == y": lambda t, x, y: x == y,
}


def tensors(framework: Any, name: str) -> tuple[Any, Any]:
    random = np.random.default_rng(5)
    values = (random.normal(size=3000) * 5).astype(np.float32), random.normal(size=3000).astype(np.float32)
    x, y = (framework.from_numpy(each).to(getattr(framework, name)) for each in values)
    return x, y


def bits(tensor: Any) -> np.ndarray:
    return tensor.to(dtype=tensor.dtype).float().numpy() if tensor.is_floating_point() else tensor.numpy()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", [*WITH_NUMBERS, *[f"{each} of tensors" for each in OF_TENSORS]])
def test_results_equal_pytorch_to_the_bit(name: str, which: str) -> None:
    function = OF_TENSORS[which[: -len(" of tensors")]] if which.endswith(" of tensors") else WITH_NUMBERS[which]
    expected, actual = (bits(function(each, *tensors(each, name))) for each in (torch, pellucid))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", ["add", "sub"])
def test_alpha_is_rounded_too(name: str, function: str) -> None:
    results = []
    for each in (torch, pellucid):
        x, y = tensors(each, name)
        results.append(bits(getattr(each, function)(x, y, alpha=NUMBER)))
    wrong = results[0] != results[1]
    assert wrong.mean() < 2e-3  # PyTorch multiplies and adds in one step: a tie may fall to the other side


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("function", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_number_that_rounds_to_an_element_equals_it(name: str, function: str) -> None:
    results = []
    for each in (torch, pellucid):
        x, _ = tensors(each, name)
        results.append(getattr(each, function)(x, x[0].item() * (1 + 2**-14)).numpy())
    np.testing.assert_array_equal(results[1], results[0])


def test_promoted_halves_keep_the_number() -> None:
    expected, actual = (
        (each.ones(2, dtype=each.bfloat16) + each.ones(2)).add(NUMBER).tolist() for each in (torch, pellucid)
    )
    assert actual == expected
