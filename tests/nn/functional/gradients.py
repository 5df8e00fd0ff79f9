"""A function run by PyTorch and by Pellucid on the same arrays: values, gradients and second gradients compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

Function = Callable[..., Any]  # (framework, *tensors) -> tensor, or a tuple whose first entry is differentiated


def random_array(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal numbers in double precision."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def _run(framework: Any, function: Function, arrays: tuple[np.ndarray, ...], second: bool) -> tuple[list[Any], str]:
    inputs = [framework.from_numpy(each.copy()) for each in arrays]
    for each in inputs:
        if each.dtype.is_floating_point:
            each.requires_grad_()
    found = function(framework, *inputs)
    outputs = found if isinstance(found, tuple) else (found,)
    leaves = [each for each in inputs if each.requires_grad]
    cotangent = framework.from_numpy(random_array(*outputs[0].shape, seed=1)).requires_grad_()
    gradients = framework.autograd.grad(outputs[0], leaves, cotangent, create_graph=second)
    results = [*outputs, *gradients]
    if second:
        mixed = sum((each * each * each).sum() for each in gradients)
        seconds = framework.autograd.grad(mixed, [*leaves, cotangent], allow_unused=True)
        shapes = [*leaves, cotangent]
        results += [framework.zeros_like(leaf) if g is None else g for g, leaf in zip(seconds, shapes, strict=True)]
    return results, type(outputs[0].grad_fn).__name__


def assert_same_function(
    function: Function, *arrays: np.ndarray, second: bool = True, name: bool = True, strides: bool = True
) -> None:
    """The same values, strides, node name, gradients and (with `second`) gradients of gradients."""
    expected, expected_name = _run(torch, function, arrays, second)
    found, found_name = _run(pellucid, function, arrays, second)
    assert not name or found_name == expected_name
    for position, (theirs, mine) in enumerate(zip(expected, found, strict=True)):
        assert tuple(mine.shape) == tuple(theirs.shape), position
        assert str(mine.dtype) == str(theirs.dtype), position
        np.testing.assert_allclose(
            mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-7, atol=1e-8, err_msg=f"result {position}"
        )
    if strides:
        assert found[0].stride() == expected[0].stride()


def error_of(framework: Any, call: Callable[[Any], Any]) -> BaseException:
    """What `call(framework)` raises."""
    with pytest.raises(Exception) as caught:
        call(framework)
    return caught.value


def assert_same_error(call: Callable[[Any], Any], phrase: str) -> None:
    """Both raise an error of one class, whose text has the phrase."""
    theirs, mine = error_of(torch, call), error_of(pellucid, call)
    assert type(mine) is type(theirs), f"{mine!r} instead of {theirs!r}"
    assert phrase in str(theirs), theirs
    assert phrase in str(mine), mine
