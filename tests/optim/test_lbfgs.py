"""L-BFGS follows PyTorch's path: with and without line search, over several calls, resumed, on complex numbers."""

import copy

import numpy as np
import pytest

import pellucid

from .comparison import FRAMEWORKS, array, assert_same, convert, make

SETTINGS = [
    {},
    {"lr": 0.3, "max_iter": 5},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2},
    {"line_search_fn": "strong_wolfe", "max_iter": 10, "max_eval": 3},
    {"history_size": 3, "max_iter": 8, "lr": 0.1},
    {"lr": pellucid.tensor(0.3), "max_iter": 3},
    {"lr": 10.0, "line_search_fn": "strong_wolfe", "max_iter": 6},
]


def rosenbrock(framework, dtype, settings, count=4):
    """A minimisation of two parameters with a curved valley; returns losses, parameters, evaluations, optimizer."""
    x = make(framework, np.array([-1.2, 0.7]), dtype).requires_grad_()
    y = make(framework, np.array([[1.0], [0.3]]), dtype).requires_grad_()
    unused = make(framework, np.array([5.0]), dtype).requires_grad_()
    optimizer = framework.optim.LBFGS([x, unused, y], **convert(settings, framework))
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        loss = (5 * (y.reshape(-1) - x * x) ** 2 + (1 - x) ** 2).sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(count)]
    return losses, [array(x).copy(), array(y).copy(), array(unused).copy()], evaluations, optimizer, closure


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_path_is_pytorchs(settings, dtype):
    ours, theirs = (rosenbrock(framework, dtype, settings) for framework in FRAMEWORKS)
    tolerance = 1e-9 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(ours[0], theirs[0], rtol=tolerance, atol=tolerance)
    for mine, other in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
    if dtype == "float64":
        assert ours[2] == theirs[2]
        assert_same(ours[3].state_dict(), theirs[3].state_dict(), 1e-6, "state_dict")


def test_it_reaches_the_minimum():
    _, (x, y, unused), *_ = rosenbrock(pellucid, "float64", {"line_search_fn": "strong_wolfe"}, 8)
    np.testing.assert_allclose(x, [1.0, 1.0], atol=1e-4)
    np.testing.assert_allclose(y.ravel(), [1.0, 1.0], atol=1e-4)
    assert unused.tolist() == [5.0]


def test_a_state_of_pytorch_goes_on_here():
    settings = {"max_iter": 4, "line_search_fn": "strong_wolfe"}
    ours, theirs = (rosenbrock(framework, "float64", settings, 1) for framework in FRAMEWORKS)
    ours[3].load_state_dict(convert(copy.deepcopy(theirs[3].state_dict()), pellucid))
    for _ in range(2):
        assert ours[3].step(ours[4]).item() == pytest.approx(theirs[3].step(theirs[4]).item(), rel=1e-9)
    assert_same(ours[3].state_dict(), theirs[3].state_dict(), 1e-6)


def test_complex_parameters():
    results = []
    for framework in FRAMEWORKS:
        z = make(framework, np.array([1 + 2j, -0.5 - 1j])).requires_grad_()
        optimizer = framework.optim.LBFGS([z], max_iter=5, line_search_fn="strong_wolfe")

        def closure(z=z, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((z - (1 - 1j)).abs() ** 2).sum() + (z.abs() ** 2).sum() ** 2
            loss.backward()
            return loss

        optimizer.step(closure)
        results.append(array(z))
    np.testing.assert_allclose(*results, rtol=1e-8)


def test_nothing_is_done_at_a_minimum():
    x = pellucid.zeros(2).requires_grad_()
    optimizer = pellucid.optim.LBFGS([x])

    def closure():
        x.grad = pellucid.zeros(2)
        return pellucid.tensor(3.0)

    assert optimizer.step(closure).item() == 3.0
    assert optimizer.state[x] == {"func_evals": 1, "n_iter": 0}


def test_an_unknown_line_search_raises():
    optimizer = pellucid.optim.LBFGS([pellucid.ones(1).requires_grad_()], line_search_fn="other")
    param = optimizer.param_groups[0]["params"][0]

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)
    with pytest.raises(TypeError):
        optimizer.step()
