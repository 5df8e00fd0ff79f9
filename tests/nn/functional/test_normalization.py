"""Normalising functions against PyTorch: values, gradients and second gradients, running statistics, half types,
errors.
"""

from __future__ import annotations

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array, torch

SHAPES = [(4, 6), (2, 6, 3), (2, 6, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm_in_training(shape, affine):
    parameters = (random_array(6, seed=1), random_array(6, seed=2)) if affine else ()
    call = lambda f, x, w=None, b=None: f.nn.functional.batch_norm(x, None, None, w, b, True)  # noqa: E731
    assert_same_function(call, random_array(*shape), *parameters)


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_evaluation(shape):
    mean, var = random_array(6, seed=3), np.abs(random_array(6, seed=4))
    call = lambda f, x, w, b: f.nn.functional.batch_norm(x, f.from_numpy(mean.copy()), f.from_numpy(var.copy()), w, b)  # noqa: E731
    assert_same_function(call, random_array(*shape), random_array(6, seed=1), random_array(6, seed=2))


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_move_alike(name):
    found = []
    for f in (torch, pellucid):
        mean, var = f.zeros(6, dtype=f.float64), f.ones(6, dtype=f.float64)
        for seed in range(3):
            flag = {"training" if name == "batch_norm" else "use_input_stats": True}
            x = f.from_numpy(random_array(2, 6, 3, seed=seed))
            getattr(f.nn.functional, name)(x, mean, var, momentum=0.3, **flag)
        found.append((mean.numpy(), var.numpy()))
    np.testing.assert_allclose(found[1], found[0])


@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm(last, affine):
    shape = (3, 2)[-last:]
    parameters = (random_array(*shape, seed=1), random_array(*shape, seed=2)) if affine else ()
    call = lambda f, x, w=None, b=None: f.nn.functional.layer_norm(x, shape, w, b)  # noqa: E731
    assert_same_function(call, random_array(4, 3, 2), *parameters)


@pytest.mark.parametrize("affine", [False, True])
def test_rms_norm(affine):
    parameters = (random_array(5, seed=1),) if affine else ()
    assert_same_function(
        lambda f, x, w=None: f.nn.functional.rms_norm(x, (5,), w), random_array(4, 5), *parameters, name=False
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm(shape, groups):
    if groups == 6 and len(shape) == 2:
        return
    call = lambda f, x, w, b: f.nn.functional.group_norm(x, groups, w, b)  # noqa: E731
    assert_same_function(call, random_array(*shape), random_array(6, seed=1), random_array(6, seed=2))


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_instance_norm(shape):
    call = lambda f, x, w, b: f.nn.functional.instance_norm(x, weight=w, bias=b)  # noqa: E731
    assert_same_function(call, random_array(*shape), random_array(6, seed=1), random_array(6, seed=2), name=False)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_local_response_norm(size):
    call = lambda f, x: f.nn.functional.local_response_norm(x, size, alpha=0.3)  # noqa: E731
    assert_same_function(call, random_array(2, 4, 3))
    assert_same_function(call, random_array(2, 4, 3, 2))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_normalize(p):
    assert_same_function(lambda f, x: f.nn.functional.normalize(x, p, dim=0), random_array(3, 4))


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["layer", "batch", "group", "rms"])
def test_float32_and_half_types(name, kind):
    calls = {
        "layer": lambda f, x: f.nn.functional.layer_norm(x, (6,)),
        "batch": lambda f, x: f.nn.functional.batch_norm(x, None, None, training=True),
        "group": lambda f, x: f.nn.functional.group_norm(x, 2),
        "rms": lambda f, x: f.nn.functional.rms_norm(x, (6,)),
    }
    found = []
    for f in (torch, pellucid):
        x = f.from_numpy(random_array(5, 6)).to(getattr(f, kind)).requires_grad_()
        y = calls[name](f, x)
        y.backward(f.from_numpy(random_array(5, 6, seed=2)).to(y.dtype))
        assert str(y.dtype) == str(x.grad.dtype) == f"torch.{kind}"
        found.append((y.detach().float().numpy(), x.grad.float().numpy()))
    tolerance = {"float32": 1e-5, "bfloat16": 6e-2, "float16": 1e-2}[kind]
    for theirs, mine in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 1), (0, 2)])
def test_softmax_and_logsumexp(dims):
    x = random_array(3, 4, 2)
    assert_same_function(lambda f, x: f.logsumexp(x, dims, keepdim=True), x)
    assert_same_function(lambda f, x: f.softmax(x, dims[0]), x)
    assert_same_function(lambda f, x: f.log_softmax(x, dims[0], dtype=f.float64), x)


def test_logsumexp_of_nothing_has_no_nan():
    x = pellucid.full((2,), -float("inf"), requires_grad=True)
    y = pellucid.logsumexp(x, 0)
    y.backward()
    assert y == -float("inf") and x.grad.tolist() == [0, 0]


def test_native_forms_return_their_statistics():
    x, w, b = random_array(2, 6, 4), random_array(4, seed=1), random_array(4, seed=2)
    for call in (
        lambda f, x, w, b: f.native_layer_norm(x, (4,), w, b, 1e-5),
        lambda f, x, w, b: f.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5),
        lambda f, x, w, b: f.native_group_norm(x, None, None, 2, 6, 4, 3, 1e-5),
        lambda f, x, w, b: (f.layer_norm(x, (4,), w, b), f.group_norm(x, 2), f.rms_norm(x, (4,), w)),
        lambda f, x, w, b: (f.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False),),
        lambda f, x, w, b: (f.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False),),
    ):
        theirs, mine = (
            [each.numpy() for each in call(f, *(f.from_numpy(a.copy()) for a in (x, w, b)))] for f in (torch, pellucid)
        )
        assert len(theirs) == len(mine)
        for left, right in zip(theirs, mine, strict=True):
            np.testing.assert_allclose(right, left, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (
            lambda f: f.nn.functional.batch_norm(f.ones(1, 2), None, None, training=True),
            "Expected more than 1 value per channel when training",
        ),
        (lambda f: f.nn.functional.batch_norm(f.ones(4, 2), None, None), "must be defined in evaluation mode"),
        (
            lambda f: f.nn.functional.batch_norm(f.ones(4, 2), f.ones(3), f.ones(2)),
            "running_mean should contain 2 elements not 3",
        ),
        (
            lambda f: f.nn.functional.batch_norm(f.ones(4, 2), None, None, training=True, eps=0.0),
            "eps must be positive during training",
        ),
        (
            lambda f: f.nn.functional.batch_norm(f.ones(4, 2).long(), None, None, training=True),
            "\"batch_norm\" not implemented for 'Long'",
        ),
        (
            lambda f: f.nn.functional.layer_norm(f.ones(4, 2), (3,)),
            "Given normalized_shape=[3], expected input with shape [*, 3]",
        ),
        (
            lambda f: f.nn.functional.layer_norm(f.ones(4, 2), (2,), f.ones(3)),
            "Expected weight to be of same shape as normalized_shape",
        ),
        (lambda f: f.nn.functional.layer_norm(f.ones(4, 2), (2,), f.ones(2).double()), "mixed dtype (CPU)"),
        (
            lambda f: f.nn.functional.layer_norm(f.ones(4, 2), ()),
            "Expected normalized_shape to be at least 1-dimensional",
        ),
        (
            lambda f: f.nn.functional.group_norm(f.ones(2, 5, 2), 2),
            "Expected number of channels in input to be divisible by num_groups",
        ),
        (lambda f: f.nn.functional.group_norm(f.ones(1, 3), 3), "Expected more than 1 value per channel when training"),
        (
            lambda f: f.nn.functional.instance_norm(f.ones(2, 3, 1)),
            "Expected more than 1 spatial element when training",
        ),
        (lambda f: f.nn.functional.local_response_norm(f.ones(2, 3), 2), "Expected 3D or higher dimensionality"),
    ],
)
def test_errors(call, phrase):
    assert_same_error(call, phrase)
