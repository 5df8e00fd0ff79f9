"""Recurrent layers and cells: construction, checks, states, dropout between layers."""

import pytest

import pellucid

from .oracle import assert_same, assert_same_gradients, both, ours, torch

FRAMEWORKS = [torch, pellucid]


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"num_layers": 3, "dropout": 0.5},
        {"bias": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_batched", [True, False])
def test_layers_give_pytorch_s_outputs_states_and_gradients(kind, settings, is_batched):
    theirs, mine = both(lambda framework: getattr(framework.nn, kind)(3, 4, **settings))
    assert repr(mine) == repr(theirs) and list(mine.state_dict()) == list(theirs.state_dict())
    torch.manual_seed(2)
    x = torch.randn((5, 2, 3) if is_batched else (5, 3), requires_grad=True)
    y = ours(x)
    results = []
    for framework, layer, input in ((torch, theirs, x), (pellucid, mine, y)):
        framework.manual_seed(7)
        output, hidden = layer(input)
        output.pow(2).sum().backward()
        results.append((output, hidden))
    assert_same(*results)
    assert_same(x.grad, y.grad, 1e-4)
    assert_same_gradients(theirs, mine)


def test_relu_recurrence_by_keyword_and_by_position():
    for build in (lambda f: f.nn.RNN(2, 3, nonlinearity="relu"), lambda f: f.nn.RNN(2, 3, 1, "relu")):
        theirs, mine = both(build)
        x = torch.randn(4, 1, 2)
        assert_same(theirs(x), mine(ours(x)))
        assert mine.nonlinearity == "relu" and mine.mode == "RNN_RELU"


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_all_weights_and_their_names(kind):
    theirs, mine = both(lambda f: getattr(f.nn, kind)(2, 3, 2, bidirectional=True))
    assert [[tuple(w.shape) for w in ws] for ws in mine.all_weights] == [
        [tuple(w.shape) for w in ws] for ws in theirs.all_weights
    ]
    assert mine.flatten_parameters() is None
    mine.weight_ih_l0 = pellucid.nn.Parameter(pellucid.zeros_like(mine.weight_ih_l0))
    assert mine._flat_weights[0] is mine.weight_ih_l0


@pytest.mark.parametrize(
    "build, kind, text",
    [
        (lambda nn: nn.LSTM(0, 3), ValueError, "input_size must be greater than zero"),
        (lambda nn: nn.LSTM(2, 3.0), TypeError, "hidden_size should be of type int, got: float"),
        (lambda nn: nn.GRU(2, 3, 0), ValueError, "num_layers must be greater than zero"),
        (lambda nn: nn.LSTM(2, 3, proj_size=3), ValueError, "proj_size has to be smaller than hidden_size"),
        (lambda nn: nn.LSTM(2, 3, dropout=1.5), ValueError, r"dropout should be a number in range \[0, 1\]"),
        (lambda nn: nn.LSTM(2, 3, batch_first=1), TypeError, "batch_first should be of type bool, got: int"),
        (lambda nn: nn.RNN(2, 3, nonlinearity="gelu"), ValueError, "Unknown nonlinearity 'gelu'"),
    ],
)
def test_settings_that_no_layer_has(build, kind, text):
    for framework in FRAMEWORKS:
        with pytest.raises(kind, match=text):
            build(framework.nn)


def test_dropout_on_one_layer_warns():
    for framework in FRAMEWORKS:
        with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1"):
            framework.nn.LSTM(2, 3, dropout=0.1)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda f: f.nn.LSTM(2, 3)(f.ones(1, 1, 5)), RuntimeError, "must be equal to input_size. Expected 2, got 5"),
        (lambda f: f.nn.GRU(2, 3)(f.ones(1, 1, 1, 2)), ValueError, "GRU: Expected input to be 2D or 3D, got 4D"),
        (lambda f: f.nn.GRU(2, 3)(f.ones(1, 1, 2), f.ones(1, 2, 3)), RuntimeError, "Expected hidden size"),
        (lambda f: f.nn.LSTM(2, 3)(f.ones(1, 2), (f.ones(1, 1, 3),) * 2), RuntimeError, "hx and cx should also be 2-D"),
        (lambda f: f.nn.RNN(2, 3)(f.ones(1, 1, 2), f.ones(1, 3)), RuntimeError, "hx should also be 3-D but got 2-D"),
        (lambda f: f.nn.RNN(2, 3)(f.ones(1, 1, 2, dtype=f.float64)), ValueError, "does not match weight dtype"),
        (
            lambda f: f.nn.LSTM(2, 3)(f.ones(1, 1, 2), (f.ones(1, 1, 3), f.ones(1, 1, 4))),
            RuntimeError,
            r"Expected hidden\[1\]",
        ),
        (lambda f: f.nn.LSTMCell(2, 3)(f.ones(1, 1, 2)), ValueError, "LSTMCell: Expected input to be 1D or 2D"),
        (
            lambda f: f.nn.GRUCell(2, 3)(f.ones(1, 2), f.ones(1, 1, 3)),
            ValueError,
            "GRUCell: Expected hidden to be 1D or 2D",
        ),
    ],
)
def test_inputs_that_do_not_fit(call, kind, text):
    for framework in FRAMEWORKS:
        with pytest.raises(kind, match=text):
            call(framework)


@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("is_batched", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_cells(kind, is_batched, bias):
    theirs, mine = both(lambda f: getattr(f.nn, kind)(3, 4, bias=bias))
    assert repr(mine) == repr(theirs)
    x = torch.randn((2, 3) if is_batched else (3,))
    first, found = theirs(x), mine(ours(x))
    assert_same(first, found)
    again, found = theirs(x, first), mine(ours(x), found)
    assert_same(again, found)
    for result in (again, found):
        (result[0] if isinstance(result, tuple) else result).pow(2).sum().backward()
    assert_same_gradients(theirs, mine)
