"""Recurrent networks against PyTorch: outputs, states, gradients and second gradients, packed batches, cells,
errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_function, random_array, torch

LAYERS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}), ("GRU", {}), ("RNN", {}), ("RNN", {"nonlinearity": "relu", "batch_first": True}),
    ("LSTM", {"bias": False}), ("LSTM", {"proj_size": 2, "bidirectional": True, "num_layers": 2}),
    ("GRU", {"bidirectional": True, "num_layers": 2, "bias": False}), ("LSTM", {"num_layers": 2, "dropout": 0.4}),
    ("GRU", {"num_layers": 2, "dropout": 1.0}),
]  # fmt: skip
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def everything(
    f: Any, name: str, settings: dict[str, Any], weights: dict[str, np.ndarray], packed: bool
) -> list[np.ndarray]:
    """Outputs, states, gradients, and gradients of gradients of one layer."""
    layer = getattr(f.nn, name)(3, 4, dtype=f.float64, **settings)
    layer.load_state_dict({key: f.from_numpy(value.copy()) for key, value in weights.items()})
    x = f.from_numpy(random_array(5, 5, 3)).requires_grad_()
    f.manual_seed(1)
    given = f.nn.utils.rnn.pack_padded_sequence(x, [5, 3, 5, 1, 2], enforce_sorted=False) if packed else x
    output, states = layer(given)
    output = output.data if packed else output
    states = states if isinstance(states, tuple) else (states,)
    loss = (output**2).sum() + sum((each**3).sum() for each in states)
    leaves = [x, *layer.parameters()]
    plain = f.autograd.grad(loss, leaves, retain_graph=True)
    first = f.autograd.grad(loss, leaves, create_graph=True)
    second = f.autograd.grad(sum((each**2).sum() for each in first), leaves)
    return [each.detach().numpy() for each in (output, *states, *plain, *first, *second)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("name", "settings"), LAYERS, ids=str)
def test_layers(name, settings, packed):
    torch.manual_seed(0)
    weights = {
        key: value.numpy()
        for key, value in getattr(torch.nn, name)(3, 4, dtype=torch.float64, **settings).state_dict().items()
    }
    theirs, mine = (everything(f, name, settings, weights, packed) for f in (torch, pellucid))
    for position, (left, right) in enumerate(zip(theirs, mine, strict=True)):
        np.testing.assert_allclose(right, left, rtol=1e-7, atol=1e-9, err_msg=f"result {position}")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch", [(2,), ()])
@pytest.mark.parametrize("name", GATES)
def test_cells(name, batch, bias):
    gates = GATES[name] * 4
    arrays = [random_array(*batch, 3), random_array(*batch, 4), random_array(gates, 3), random_array(gates, 4, seed=1)]
    arrays += [random_array(gates, seed=2), random_array(gates, seed=3)] if bias else []

    def call(f, x, h, *weights):
        cell = getattr(f, f"{name}_cell")
        return cell(x, (h, h * 0.5), *weights) if name == "lstm" else cell(x, h, *weights)

    if batch:
        assert_same_function(call, *arrays, name=False)


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"x": (4, 2, 5)}, "input.size(-1) must be equal to input_size. Expected 3, got 5"),
        ({"x": (4, 3, 3)}, "Expected hidden size (1, 3, 4), got [1, 2, 4]"),
        ({"h": (2, 2, 4)}, "Expected hidden size (1, 2, 4), got [2, 2, 4]"),
        ({"x": (4, 3)}, "input must have 3 dimensions, got 2"),
        ({"x": (0, 2, 3)}, "Expected sequence length to be larger than 0 in RNN"),
    ],
)
def test_wrong_sizes_are_refused(change, phrase):
    x, h = pellucid.zeros(change.get("x", (4, 2, 3))), pellucid.zeros(change.get("h", (1, 2, 4)))
    weights = [pellucid.zeros(12, 3), pellucid.zeros(12, 4), pellucid.zeros(12), pellucid.zeros(12)]
    with pytest.raises(RuntimeError) as caught:
        pellucid.gru(x, h, weights, True, 1, 0.0, False, False, False)
    assert phrase in str(caught.value)
    with pytest.raises(RuntimeError, match="lstm expects two hidden states"):
        pellucid.lstm(x, (h,), weights, True, 1, 0.0, False, False, False)
