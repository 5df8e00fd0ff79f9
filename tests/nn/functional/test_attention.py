"""Scaled dot-product attention against PyTorch: masks, causality, grouped heads, dropout, empty sizes, errors."""

from __future__ import annotations

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array, torch

Q, K, V = random_array(2, 4, 3, 8), random_array(2, 4, 5, 8, seed=1), random_array(2, 4, 5, 6, seed=2)
ALLOWED = random_array(3, 5, seed=3) > 0


def attend(f, *args, **settings):
    return f.nn.functional.scaled_dot_product_attention(*args, **settings)


@pytest.mark.parametrize(
    "settings", [{}, {"scale": 2.0}, {"scale": 0.0}, {"is_causal": True}, {"is_causal": True, "scale": 0.3}], ids=str
)
@pytest.mark.parametrize("ndim", [2, 3, 4])
def test_values_and_two_gradients(settings, ndim):
    q, k, v = (x[(0,) * (4 - ndim)] for x in (Q, K, V))
    assert_same_function(lambda f, q, k, v: attend(f, q, k, v, **settings), q, k, v, name=False, strides=False)


def test_masks():
    allowed = lambda f: f.from_numpy(ALLOWED.copy())  # noqa: E731
    assert_same_function(lambda f, q, k, v: attend(f, q, k, v, allowed(f)), Q, K, V, name=False, strides=False)
    assert_same_function(
        lambda f, q, k, v, m: attend(f, q, k, v, m), Q, K, V, random_array(2, 1, 3, 5), name=False, strides=False
    )


def test_a_row_that_may_look_at_nothing_gives_zeros_and_no_gradient():
    mask = pellucid.ones(3, 5, dtype=pellucid.bool)
    mask[1] = False
    for given in (mask, pellucid.zeros(3, 5, dtype=pellucid.float64).masked_fill(~mask, -float("inf"))):
        q, k, v = (pellucid.from_numpy(x.copy()).requires_grad_() for x in (Q, K, V))
        y = attend(pellucid, q, k, v, given)
        y.sum().backward()
        assert not y[:, :, 1].any() and not q.grad[:, :, 1].any()
        assert all(each.grad.isfinite().all() for each in (q, k, v))


@pytest.mark.parametrize("heads", [(2, 2), (1, 1), (4, 2), (2, 1)])
def test_heads_that_share_keys(heads):
    call = lambda f, q, k, v: attend(f, q, k, v, enable_gqa=True)  # noqa: E731
    assert_same_function(
        call, Q, K[:, : heads[0]].copy(), V[:, : heads[1]].copy(), second=False, name=False, strides=False
    )


@pytest.mark.parametrize(
    "settings", [{"dropout_p": 0.5}, {"dropout_p": 0.3, "is_causal": True}, {"dropout_p": 1.0}], ids=str
)
def test_dropout_falls_alike(settings):
    def call(f, q, k, v):
        f.manual_seed(3)
        return attend(f, q, k, v, **settings)

    assert_same_function(call, Q, K, V, second=False, name=False, strides=False)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_float32_and_bfloat16(kind):
    theirs, mine = (
        attend(f, *(f.from_numpy(x.copy()).to(getattr(f, kind)) for x in (Q, K, V)), f.from_numpy(ALLOWED.copy()))
        for f in (torch, pellucid)
    )
    assert str(mine.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(mine.float().numpy(), theirs.float().numpy(), atol=1e-5 if kind == "float32" else 3e-2)


@pytest.mark.parametrize("cut", ["keys", "queries", "features", "batch"])
def test_empty_sizes(cut):
    cuts = {
        "keys": (Q, K[:, :, :0], V[:, :, :0]), "queries": (Q[:, :, :0], K, V), "features": (Q[..., :0], K[..., :0], V),
        "batch": (Q[:0], K[:0], V[:0]),
    }  # fmt: skip
    theirs, mine = (attend(f, *(f.from_numpy(x.copy()) for x in cuts[cut])).numpy() for f in (torch, pellucid))
    assert theirs.shape == mine.shape
    np.testing.assert_allclose(mine, theirs)


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (
            lambda f: attend(f, *[f.ones(2, 3)] * 3, f.ones(2, 2).bool(), is_causal=True),
            "Explicit attn_mask should not be set when is_causal=True",
        ),
        (
            lambda f: attend(f, f.ones(2, 3), f.ones(2, 3).double(), f.ones(2, 3)),
            "Expected query, key, and value to have the same dtype",
        ),
        (lambda f: attend(f, f.ones(3), f.ones(2, 3), f.ones(2, 3)), "to all be  at least 2 dimensional"),
        (
            lambda f: attend(f, *[f.ones(2, 3)] * 3, f.ones(2, 2).long()),
            "Expected attn_mask dtype to be bool or float or to match query dtype",
        ),
        (
            lambda f: attend(f, *[f.ones(1, 2, 3)] * 3, f.ones(1, 2, 4).bool()),
            "must match the size of tensor b (4) at non-singleton dimension",
        ),
        (
            lambda f: attend(f, f.ones(1, 4, 2, 3), *[f.ones(1, 3, 2, 3)] * 2, enable_gqa=True),
            "Number of heads in key and value must divide",
        ),
        (
            lambda f: attend(f, *[f.ones(1, 2, 3)] * 3, dropout_p=1.5),
            "dropout probability has to be between 0 and 1, but got 1.5",
        ),
    ],
)
def test_errors(call, phrase):
    assert_same_error(call, phrase)
