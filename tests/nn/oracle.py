"""PyTorch beside Pellucid: tensors carried from one to the other, modules given the same weights, results compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")


def ours(value: Any) -> Any:
    """PyTorch's tensors in `value` as Pellucid's, in containers too."""
    if isinstance(value, torch.Tensor):
        return pellucid.from_numpy(value.detach().numpy().copy()).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(ours(each) for each in value)
    if isinstance(value, dict):
        return {name: ours(each) for name, each in value.items()}
    return value


def array(tensor: Any) -> np.ndarray:
    """A tensor's values."""
    return np.asarray(tensor.detach().numpy())


def assert_same(expected: Any, found: Any, tolerance: float = 1e-5, what: str = "result") -> None:
    """The same structure, dtypes, shapes and, up to rounding, values."""
    if isinstance(expected, torch.Tensor):
        assert str(found.dtype) == str(expected.dtype), f"{what}: {found.dtype} instead of {expected.dtype}"
        assert tuple(found.shape) == tuple(expected.shape), f"{what}: {found.shape} instead of {expected.shape}"
        np.testing.assert_allclose(array(found), array(expected), rtol=tolerance, atol=tolerance, err_msg=what)
    elif isinstance(expected, (list, tuple)):
        assert len(expected) == len(found), what
        for i, (left, right) in enumerate(zip(expected, found, strict=True)):
            assert_same(left, right, tolerance, f"{what}[{i}]")
    else:
        assert expected == found, what


def copy_weights(source: Any, target: Any) -> Any:
    """Give Pellucid's `target` the parameters and buffers of PyTorch's `source`."""
    target.load_state_dict({name: ours(value) for name, value in source.state_dict().items()})
    return target.train(source.training)


def both(build: Any) -> tuple[Any, Any]:
    """The module that `build(framework)` makes, in PyTorch and in Pellucid, with the same weights."""
    theirs = build(torch)
    return theirs, copy_weights(theirs, build(pellucid))


def assert_same_gradients(theirs: Any, mine: Any, tolerance: float = 1e-4) -> None:
    """Every parameter has the same gradient in both."""
    for (name, left), (other, right) in zip(theirs.named_parameters(), mine.named_parameters(), strict=True):
        assert name == other
        assert (left.grad is None) == (right.grad is None), f"gradient of {name}"
        if left.grad is not None:
            assert_same(left.grad, right.grad, tolerance, f"gradient of {name}")
