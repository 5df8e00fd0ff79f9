"""Dropout and its kin against PyTorch: the same streams give the same elements, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, random_array, torch

KINDS: dict[str, tuple[int, ...]] = {
    "dropout": (3, 5), "alpha_dropout": (3, 5), "feature_alpha_dropout": (3, 5, 2), "dropout1d": (3, 5, 2),
    "dropout2d": (3, 5, 2, 2), "dropout3d": (2, 3, 2, 2, 2),
}  # fmt: skip


def dropped(
    f: Any, name: str, p: float, kind: str, inplace: bool, contiguous: bool = True
) -> tuple[np.ndarray, np.ndarray, str]:
    f.manual_seed(11)
    x = f.from_numpy(random_array(*KINDS[name])).to(getattr(f, kind))
    x = x if contiguous else x.transpose(0, 1)
    x.requires_grad_()
    given = x * 1 if inplace else x
    y = getattr(f.nn.functional, name)(given, p, training=True, inplace=inplace)
    assert (y is given) == inplace or p == 0
    y.backward(f.ones_like(y))
    return y.detach().float().numpy(), x.grad.float().numpy(), type(y.grad_fn).__name__


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("inplace", [False, True])
def test_the_same_elements_fall(name, p, kind, inplace):
    theirs, mine = (dropped(f, name, p, kind, inplace) for f in (torch, pellucid))
    exact = "alpha" not in name
    for left, right in zip(theirs[:2], mine[:2], strict=True):
        np.testing.assert_allclose(
            right, left, rtol=0 if exact else 3e-2 if kind == "bfloat16" else 1e-6, atol=0 if exact else 1e-6
        )
    if p:
        assert mine[2] == theirs[2]


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
def test_strided_inputs_draw_in_the_same_order(name):
    theirs, mine = (dropped(f, name, 0.4, "float32", False, contiguous=False) for f in (torch, pellucid))
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_evaluation_and_nothing(name):
    x = pellucid.ones(KINDS[name])
    assert getattr(pellucid.nn.functional, name)(x, 0.5, training=False) is x or x.equal(
        getattr(pellucid.nn.functional, name)(x, 0.5, training=False)
    )
    assert getattr(pellucid.nn.functional, name)(x[:0], 0.5, training=True).shape == x[:0].shape


@pytest.mark.parametrize("train", [True, False, None])
def test_native_dropout(train):
    found = []
    for f in (torch, pellucid):
        f.manual_seed(3)
        x = f.from_numpy(random_array(6)).requires_grad_()
        y, mask = f.native_dropout(x, 0.4, train)
        y.sum().backward()
        gradient = x.grad.numpy() if train is not None else 0  # PyTorch's own lacks the factor there
        found.append((y.detach().numpy(), mask.numpy(), gradient, type(y.grad_fn).__name__))
    for theirs, mine in zip(*found, strict=True):
        assert np.array_equal(theirs, mine)


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_names_of_the_top_namespace(name):
    results = []
    for f in (torch, pellucid):
        f.manual_seed(4)
        x = f.from_numpy(random_array(4, 3))
        y = getattr(f, name)(x, 0.5, True)
        z = getattr(f, name + "_")(x, 0.5, True)
        assert z is x
        results.append((y.numpy(), z.numpy()))
    np.testing.assert_allclose(results[1], results[0])


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (
            lambda f: f.nn.functional.dropout(f.ones(2), 1.5),
            "dropout probability has to be between 0 and 1, but got 1.5",
        ),
        (lambda f: f.dropout(f.ones(2), -0.5, True), "dropout probability has to be between 0 and 1, but got -0.5"),
        (lambda f: f.nn.functional.dropout(f.ones(2).long(), 0.5), "can't be cast to the desired output type Long"),
        (lambda f: f.nn.functional.dropout1d(f.ones(2)), "dropout1d: Expected 2D or 3D input, but received a 1D input"),
        (
            lambda f: f.feature_dropout(f.ones(3), 0.5, True),
            "Feature dropout requires at least 2 dimensions in the input",
        ),
        (
            lambda f: f.nn.functional.alpha_dropout(f.ones(2), 2.0),
            "dropout probability has to be between 0 and 1, but got 2.0",
        ),
    ],
)
def test_errors(call, phrase):
    assert_same_error(call, phrase)
