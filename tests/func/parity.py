"""Programs that run in PyTorch and in Pellucid, and how their results and errors are compared."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pellucid

torch: Any = pytest.importorskip("torch")
Program = Callable[[ModuleType], Any]


def arrays(value: Any, framework: ModuleType) -> Any:
    """The result with NumPy arrays in place of tensors; dictionaries by sorted names."""
    if framework.is_tensor(value):
        return value.detach().clone().numpy()
    if isinstance(value, dict):
        return [arrays(value[name], framework) for name in sorted(value)]
    if isinstance(value, tuple | list):
        return [arrays(each, framework) for each in value]
    return value


def compare(ours: Any, theirs: Any, tolerance: float, where: str = "result") -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for position, (mine, expected) in enumerate(zip(ours, theirs, strict=True)):
            compare(mine, expected, tolerance, f"{where}[{position}]")
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape, where
        assert ours.dtype == theirs.dtype, where
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=where)
    else:
        assert ours == theirs, where


def same_in_both(program: Program, tolerance: float = 1e-5) -> None:
    """The program gives the same in both frameworks, from one seed."""
    found = []
    for framework in (pellucid, torch):
        framework.manual_seed(0)
        found.append(arrays(program(framework), framework))
    compare(found[0], found[1], tolerance)


def same_error_in_both(program: Program, phrase: str) -> None:
    """The program fails in both frameworks, with the same class of error and a phrase of PyTorch's message."""
    errors = []
    for framework in (pellucid, torch):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is what is compared
            program(framework)
        errors.append(caught.value)
    ours, theirs = errors
    assert type(ours).__name__.removeprefix("_") == type(theirs).__name__.removeprefix("_"), str(ours)
    assert phrase in str(theirs), str(theirs)
    assert phrase in str(ours), str(ours)
