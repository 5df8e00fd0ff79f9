"""Start values: PyTorch's numbers for the same seed, and its errors."""

import math

import numpy as np
import pytest

import pellucid

from .oracle import array, assert_same, torch

CALLS = {
    "uniform": lambda init, t: init.uniform_(t, -2.0, 3.0),
    "normal": lambda init, t: init.normal_(t, 1.0, 0.5),
    "trunc_normal": lambda init, t: init.trunc_normal_(t, 0.0, 1.0, -0.5, 2.0),
    "trunc_normal narrow": lambda init, t: init.trunc_normal_(t, 0.0, 1.0, 0.4, 0.6),
    "trunc_normal tail": lambda init, t: init.trunc_normal_(t, 0.0, 1.0, 2.0, 4.0),
    "xavier_uniform": lambda init, t: init.xavier_uniform_(t, gain=2.0),
    "xavier_normal": lambda init, t: init.xavier_normal_(t),
    "kaiming_uniform": lambda init, t: init.kaiming_uniform_(t, a=math.sqrt(5)),
    "kaiming_normal fan_out": lambda init, t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
    "constant": lambda init, t: init.constant_(t, 0.3),
    "ones": lambda init, t: init.ones_(t),
    "zeros": lambda init, t: init.zeros_(t),
}
SHAPES = [(3, 5), (20, 30), (4, 3, 2), (2, 3, 3, 3)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_numbers(name, shape, dtype):
    results = []
    for framework in (torch, pellucid):
        framework.manual_seed(11)
        tensor = framework.empty(shape, dtype=getattr(framework, dtype))
        filled = CALLS[name](framework.nn.init, tensor)
        assert filled is tensor and not tensor.requires_grad
        results.append((tensor, framework.rand(2)))
    np.testing.assert_allclose(array(results[1][0]), array(results[0][0]), rtol=1e-6, atol=1e-7)
    assert_same(results[0][1], results[1][1], 0, "where the stream stands afterwards")


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (4, 3, 2)], ids=str)
def test_orthogonal(shape):
    results = []
    for framework in (torch, pellucid):
        framework.manual_seed(5)
        results.append(framework.nn.init.orthogonal_(framework.empty(shape), gain=1.5))
    assert_same(*results, 1e-4)
    flat = results[1].reshape(shape[0], -1)
    small = flat @ flat.mT if flat.shape[0] <= flat.shape[1] else flat.mT @ flat
    assert bool(pellucid.allclose(small, 2.25 * pellucid.eye(small.shape[0]), atol=1e-4))


def test_sparse_and_dirac_and_eye():
    calls = [
        lambda f: f.nn.init.sparse_(f.empty(5, 3), 0.4),
        lambda f: f.nn.init.dirac_(f.empty(4, 3, 3)),
        lambda f: f.nn.init.dirac_(f.empty(4, 2, 3, 5), groups=2),
        lambda f: f.nn.init.dirac_(f.empty(2, 2, 3, 2, 1)),
        lambda f: f.nn.init.eye_(f.empty(3, 4)),
        lambda f: f.nn.init.eye_(f.nn.Parameter(f.empty(3, 4))),
    ]
    for call in calls:
        results = []
        for framework in (torch, pellucid):
            framework.manual_seed(1)
            results.append(call(framework))
        assert_same(*results)


def test_a_generator_of_its_own():
    results = []
    for framework in (torch, pellucid):
        generator = framework.Generator().manual_seed(9)
        results.append(framework.nn.init.xavier_normal_(framework.empty(3, 4), generator=generator))
    assert_same(*results, 1e-6)


def test_gains():
    for name in ("linear", "conv_transpose2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert pellucid.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    assert pellucid.nn.init.calculate_gain("leaky_relu", 1) == 1


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda f: f.nn.init.calculate_gain("what"), ValueError, "Unsupported nonlinearity what"),
        (lambda f: f.nn.init.calculate_gain("leaky_relu", True), ValueError, "negative_slope True not a valid number"),
        (lambda f: f.nn.init.xavier_uniform_(f.empty(3)), ValueError, "fewer than 2 dimensions"),
        (lambda f: f.nn.init.kaiming_normal_(f.empty(3, 3), mode="in"), ValueError, "Mode in not supported"),
        (lambda f: f.nn.init.eye_(f.empty(3)), ValueError, "Only tensors with 2 dimensions are supported"),
        (lambda f: f.nn.init.dirac_(f.empty(3, 3)), ValueError, "Only tensors with 3, 4, or 5 dimensions"),
        (lambda f: f.nn.init.dirac_(f.empty(3, 3, 3), groups=2), ValueError, "dim 0 must be divisible by groups"),
        (lambda f: f.nn.init.orthogonal_(f.empty(3)), ValueError, "Only tensors with 2 or more dimensions"),
        (lambda f: f.nn.init.sparse_(f.empty(3), 0.1), ValueError, "Only tensors with 2 dimensions"),
    ],
)
def test_errors(call, kind, text):
    for framework in (torch, pellucid):
        with pytest.raises(kind, match=text):
            call(framework)


def test_empty_tensors_and_old_names_warn():
    for framework in (torch, pellucid):
        with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
            framework.nn.init.kaiming_uniform_(framework.empty(0, 3))
        with pytest.warns(FutureWarning, match="`nn.init.uniform` is now deprecated in favor of `nn.init.uniform_`"):
            framework.nn.init.uniform(framework.empty(2))
        with pytest.warns(UserWarning, match="more than 2 std"):
            framework.nn.init.trunc_normal_(framework.empty(2), mean=5.0)


def test_parameters_are_filled_outside_autograd():
    weight = pellucid.nn.Parameter(pellucid.empty(3, 3))
    assert pellucid.nn.init.orthogonal_(weight) is weight and weight.is_leaf and weight.requires_grad


def build_all(framework):
    nn = framework.nn
    yield nn.Linear(5, 3)
    yield nn.Conv2d(4, 6, 3, groups=2)
    yield nn.ConvTranspose1d(4, 2, 3)
    yield nn.Bilinear(2, 3, 4)
    yield nn.Embedding(5, 3, padding_idx=-1)
    yield nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    yield nn.GRUCell(3, 4)
    yield nn.MultiheadAttention(8, 2, add_bias_kv=True, kdim=3)
    yield nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10], head_bias=True)
    yield nn.Transformer(8, 2, 1, 1, 16)


@pytest.mark.filterwarnings("ignore")
def test_layers_draw_the_same_numbers_in_the_same_order():
    states = []
    for framework in (torch, pellucid):
        framework.manual_seed(3)
        states.append([module.state_dict() for module in build_all(framework)])
    for left, right in zip(*states, strict=True):
        assert list(left) == list(right)
        for name in left:
            assert_same(left[name], right[name], 1e-6, name)
