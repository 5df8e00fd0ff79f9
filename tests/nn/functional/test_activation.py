"""Activation functions against PyTorch: values, gradients and second gradients, edges, half types, in place, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array, torch

SMOOTH: dict[str, Any] = {
    "relu": {}, "relu6": {}, "elu": {"alpha": 0.7}, "selu": {}, "celu": {"alpha": 2.0},
    "leaky_relu": {"negative_slope": 0.2}, "rrelu": {}, "gelu": {}, "silu": {}, "mish": {},
    "softplus": {"beta": 2.0, "threshold": 1.0}, "logsigmoid": {}, "hardtanh": {}, "hardswish": {}, "hardsigmoid": {},
    "softshrink": {"lambd": 0.3}, "hardshrink": {"lambd": 0.3}, "tanhshrink": {}, "softsign": {},
    "threshold": {"threshold": 0.1, "value": 2.0}, "glu": {}, "tanh": {}, "sigmoid": {}, "softmax": {"dim": -1},
    "softmin": {"dim": 0}, "log_softmax": {"dim": 1},
}  # fmt: skip
EDGES = [0.0, -0.0, 3.0, -3.0, 0.3, -0.3, 6.0, 1.0, -1.0, 0.1, 100.0, -100.0]
IN_PLACE = [
    "relu",
    "relu6",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "rrelu",
    "silu",
    "mish",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
]


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2), (0, 2), (2,)])
def test_values_and_two_gradients(name, shape):
    settings = {"dim": 0} if name == "log_softmax" and len(shape) == 1 else SMOOTH[name]
    call = lambda framework, x: getattr(framework.nn.functional, name)(x, **settings)  # noqa: E731
    assert_same_function(call, random_array(*shape), second=name != "hardsigmoid", strides=0 not in shape)


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_gradients_at_kinks_and_far_out(name):
    settings = {"dim": 0} if "dim" in SMOOTH[name] else SMOOTH[name]
    call = lambda framework, x: getattr(framework.nn.functional, name)(x, **settings)  # noqa: E731
    assert_same_function(call, np.array(EDGES), second=name not in ("tanhshrink", "hardsigmoid"))


@pytest.mark.parametrize("name", [name for name in SMOOTH if name not in ("glu", "gelu")])
def test_values_at_infinities_and_nan(name):
    x = np.array([[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0]])
    results = [
        getattr(f.nn.functional, name)(f.from_numpy(x.copy()), **SMOOTH[name]).numpy() for f in (torch, pellucid)
    ]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", SMOOTH)
def test_half_types_and_float32(name, kind):
    values = random_array(4, 6)
    found = []
    for framework in (torch, pellucid):
        x = framework.from_numpy(values).to(getattr(framework, kind)).requires_grad_()
        y = getattr(framework.nn.functional, name)(x, **SMOOTH[name])
        y.backward(framework.ones_like(y))
        assert str(y.dtype) == f"torch.{kind}"
        found.append((y.detach().float().numpy(), x.grad.float().numpy()))
    tolerance = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 4e-3}[kind]
    for theirs, mine in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_changes_the_tensor_and_keeps_the_gradient(name):
    def call(framework, x):
        copy = x * 1
        result = getattr(framework.nn.functional, name)(copy, inplace=True)
        assert result is copy
        return result

    assert_same_function(call, random_array(3, 4), second=name != "hardsigmoid")


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_prelu_with_one_slope_and_one_per_channel(shape):
    call = lambda framework, x, w: framework.nn.functional.prelu(x, w)  # noqa: E731
    assert_same_function(call, random_array(2, 3, 2), random_array(*shape) if shape else np.array(0.3))


def test_gelu_by_tanh():
    assert_same_function(lambda f, x: f.nn.functional.gelu(x, approximate="tanh"), random_array(3, 5))


def test_rrelu_draws_the_same_slopes():
    def call(framework, x):
        framework.manual_seed(3)
        return framework.nn.functional.rrelu(x, 0.1, 0.4, training=True)

    assert_same_function(call, random_array(5, 7))


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax_draws_the_same_noise(hard):
    def call(framework, x):
        framework.manual_seed(5)
        return framework.nn.functional.gumbel_softmax(x, tau=0.7, hard=hard, dim=0)

    assert_same_function(call, random_array(4, 3), second=False, name=False)


@pytest.mark.parametrize("name", ["hardtanh", "relu6", "relu", "threshold"])
def test_integers_where_pytorch_takes_them(name):
    x = np.array([-3, 0, 2, 9])
    results = [
        getattr(f.nn.functional, name)(f.from_numpy(x.copy()), *((1, 5) if name == "threshold" else ()))
        for f in (torch, pellucid)
    ]
    assert results[0].tolist() == results[1].tolist() and str(results[0].dtype) == str(results[1].dtype)


def test_names_in_the_top_namespace():
    x = pellucid.tensor([-1.0, 0.2, 3.0])
    functional = pellucid.nn.functional
    for name in ("selu", "celu", "relu_", "rrelu", "hardshrink", "selu_", "celu_", "rrelu_"):
        assert getattr(pellucid, name)(x.clone()).tolist() == getattr(functional, name)(x.clone()).tolist()
    assert x.hardshrink().tolist() == functional.hardshrink(x).tolist()
    assert x.prelu(pellucid.tensor([0.5])).tolist() == functional.prelu(x, pellucid.tensor([0.5])).tolist()
    assert pellucid.threshold(x, 0.5, 0.0).tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda f: f.nn.functional.glu(f.ones(2, 3)), "Halving dimension must be even, but dimension 1 is size 3"),
        (lambda f: f.nn.functional.glu(f.tensor(1.0)), "glu does not support scalars"),
        (lambda f: f.nn.functional.glu(f.ones(2, 2), 5), "Dimension out of range"),
        (lambda f: f.nn.functional.glu(f.ones(2, 2).long()), "\"glu_cpu\" not implemented for 'Long'"),
        (lambda f: f.nn.functional.celu(f.ones(2), 0.0), "alpha cannot be 0 for CELU"),
        (
            lambda f: f.nn.functional.gelu(f.ones(2), approximate="x"),
            "approximate argument must be either none or tanh.",
        ),
        (lambda f: f.nn.functional.softshrink(f.ones(2), -1.0), "lambda must be in range"),
        (lambda f: f.nn.functional.prelu(f.ones(2, 3), f.ones(2)), "Found parameter numbers = 2 and channel size = 3"),
        (lambda f: f.nn.functional.prelu(f.ones(2, 3), f.ones(1, 1)), "Expected `weight` to be a scalar or 1D tensor"),
        (
            lambda f: f.nn.functional.prelu(f.ones(2, 3), f.ones(3).double()),
            "Type promoting not supported. Got Float and Double",
        ),
        (
            lambda f: f.nn.functional.rrelu(f.ones(2), 1, 0),
            "Lower bound should be less than or equal to the upper bound",
        ),
        (lambda f: f.nn.functional.hardtanh(f.ones(2), 1, -1), "min_val cannot be greater than max_val"),
        (lambda f: f.nn.functional.softmax(f.ones(2), 3), "Dimension out of range"),
        (lambda f: f.nn.functional.softmax(f.ones(2).long(), 0), "not implemented for 'Long'"),
    ],
)
def test_errors(call, phrase):
    assert_same_error(call, phrase)
