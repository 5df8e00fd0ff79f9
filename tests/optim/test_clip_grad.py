"""Gradients are clipped as PyTorch clips them, and also where its sum of squares overflows."""

import warnings

import numpy as np
import pytest

import pellucid
from pellucid.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from pellucid.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

from .comparison import FRAMEWORKS, array, make, torch

GRADIENTS = [np.array([[3.0, -4.0], [0.5, 0.0]]), np.array([12.0, -1.0, 2.0]), np.array(0.25), None]


def parameters(framework, gradients=GRADIENTS, dtype="float32"):
    made = []
    for gradient in gradients:
        shape = () if gradient is None else gradient.shape
        param = framework.zeros(shape, dtype=getattr(framework, dtype)).requires_grad_()
        param.grad = None if gradient is None else make(framework, gradient, dtype)
        made.append(param)
    return made


def gradients_of(params):
    return [None if param.grad is None else array(param.grad) for param in params]


def same_gradients(ours, theirs, tolerance=1e-6):
    for mine, other in zip(gradients_of(ours), gradients_of(theirs), strict=True):
        if other is None:
            assert mine is None
        else:
            np.testing.assert_allclose(mine, other, rtol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("norm_type", [2.0, 1, 3.5, 0.5, float("inf"), "inf", 0])
@pytest.mark.parametrize("max_norm", [0.7, 1e3])
def test_clip_by_norm_is_pytorchs(norm_type, max_norm, dtype):
    ours, theirs = (parameters(framework, dtype=dtype) for framework in FRAMEWORKS)
    mine = clip_grad_norm_(ours, max_norm, norm_type)
    other = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    tolerance = 2e-2 if dtype == "bfloat16" else 1e-6
    assert mine.item() == pytest.approx(other.item(), rel=tolerance)
    assert str(mine.dtype).split(".")[1] == str(other.dtype).split(".")[1]
    same_gradients(ours, theirs, tolerance)


def test_clip_takes_a_tensor_an_iterator_and_nothing():
    for framework, clip in ((pellucid, clip_grad_norm_), (torch, torch.nn.utils.clip_grad_norm_)):
        one, *_ = parameters(framework)
        assert clip(one, 1.0).item() == pytest.approx(5.0249, rel=1e-4)
        assert clip(iter(parameters(framework)), 1.0).item() == pytest.approx(13.2027, rel=1e-4)
        assert clip([], 1.0).item() == 0.0
        with pytest.warns(UserWarning, match="empty generator"):
            clip((param for param in []), 1.0)


@pytest.mark.parametrize(
    ("values", "norm", "clipped"),
    [
        ([1e20, 1e20], 1.41421356e20, [0.70710678, 0.70710678]),
        ([3e38, 0.0], 3e38, [1.0, 0.0]),
        ([-2e30, 1.0], 2e30, [-1.0, 5e-31]),
    ],
)
def test_finite_gradients_are_clipped_right_where_their_squares_overflow(values, norm, clipped):
    (param,) = parameters(pellucid, [np.array(values)])
    assert clip_grad_norm_([param], 1.0).item() == pytest.approx(norm, rel=1e-6)
    np.testing.assert_allclose(array(param.grad), clipped, rtol=1e-4)


def test_float16_gradients_whose_norm_is_no_float16():
    (param,) = parameters(pellucid, [np.full(4, 6e4)], "float16")
    assert clip_grad_norm_([param], 1.0).item() == pytest.approx(1.2e5, rel=1e-3)
    np.testing.assert_allclose(array(param.grad), np.full(4, 0.5), rtol=1e-2)


@pytest.mark.parametrize("values", [[float("inf"), 1.0], [float("nan"), 1.0], [float("-inf"), float("nan")]])
def test_gradients_that_are_not_finite(values):
    ours, theirs = (parameters(framework, [np.array(values), np.ones(2)]) for framework in FRAMEWORKS)
    mine, other = clip_grad_norm_(ours, 1.0), torch.nn.utils.clip_grad_norm_(theirs, 1.0)
    np.testing.assert_equal(mine.item(), other.item())
    same_gradients(ours, theirs)
    params = parameters(pellucid, [np.ones((2, 3)), np.array(values)])
    before = gradients_of(params)
    with pytest.raises(RuntimeError, match=r"non-finite, so it cannot be clipped \(gradient 1 of shape \(2,\) holds"):
        clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    for mine, other in zip(gradients_of(params), before, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_foreach_changes_nothing():
    ours, theirs = (parameters(framework) for framework in FRAMEWORKS)
    clip_grad_norm_(ours, 1.0, foreach=True)
    clip_grad_value_(ours, 0.1, foreach=True)
    torch.nn.utils.clip_grad_norm_(theirs, 1.0, foreach=False)
    torch.nn.utils.clip_grad_value_(theirs, 0.1, foreach=False)
    same_gradients(ours, theirs)


def test_norm_and_scaling_apart():
    ours, theirs = (parameters(framework) for framework in FRAMEWORKS)
    mine = get_total_norm([param.grad for param in ours if param.grad is not None])
    other = torch.nn.utils.get_total_norm([param.grad for param in theirs if param.grad is not None])
    assert mine.item() == pytest.approx(other.item(), rel=1e-6)
    clip_grads_with_norm_(ours, 0.5, mine)
    torch.nn.utils.clip_grads_with_norm_(theirs, 0.5, other)
    same_gradients(ours, theirs)


@pytest.mark.parametrize("limit", [0.6, 100, 0.0])
def test_clip_by_value_is_pytorchs(limit):
    ours, theirs = (parameters(framework) for framework in FRAMEWORKS)
    clip_grad_value_(ours, limit)
    torch.nn.utils.clip_grad_value_(theirs, limit)
    same_gradients(ours, theirs)
    clip_grad_value_(ours[0], 0.1)
    assert array(ours[0].grad).max() <= 0.1 + 1e-6


def test_the_old_name_warns():
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        assert clip_grad_norm(parameters(pellucid)[0], 1.0).item() == pytest.approx(5.0249, rel=1e-4)


def test_clipping_leaves_graph_and_grad_mode_alone():
    params = parameters(pellucid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not clip_grad_norm_(params, 1.0).requires_grad
    assert pellucid.is_grad_enabled() and not params[0].grad.requires_grad


def test_parameters_as_a_vector_and_back():
    for framework, forth, back in (
        (pellucid, parameters_to_vector, vector_to_parameters),
        (torch, torch.nn.utils.parameters_to_vector, torch.nn.utils.vector_to_parameters),
    ):
        params = [
            make(framework, np.arange(6.0).reshape(2, 3)).requires_grad_(),
            make(framework, np.array([9.0])).requires_grad_(),
        ]
        vector = forth(params)
        assert array(vector).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0]
        (vector * vector).sum().backward()
        assert array(params[0].grad).tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
        source = framework.ones(7, dtype=framework.float64)
        back(source, iter(params))
        assert array(params[1]).tolist() == [1.0] and params[0].requires_grad and params[0].is_leaf
        source[0] = 5.0
        assert array(params[0])[0, 0] == 5.0
        with pytest.raises(TypeError, match="expected torch.Tensor"):
            back([1.0], params)
