"""differentiable=True: gradients through a step, with respect to parameters, gradients and tensor settings."""

import numpy as np
import pytest

import pellucid

from .comparison import FRAMEWORKS, array

SETTINGS = {
    "SGD": [{"weight_decay": 0.1}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9}],
    "Adam": [{"weight_decay": 0.1}, {"decoupled_weight_decay": True, "weight_decay": 0.1}, {"amsgrad": True}],
    "AdamW": [{}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1}],
    "Adagrad": [{"lr_decay": 0.1, "weight_decay": 0.1}],
    "Adadelta": [{"weight_decay": 0.1}],
    "Adamax": [{"weight_decay": 0.1}],
    "NAdam": [{"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "betas": (0.5, 0.6)}],
    "ASGD": [{"weight_decay": 0.1}],
    "Rprop": [{}],
}
CASES = [pytest.param(name, kw, id=f"{name}-{i}") for name, kws in SETTINGS.items() for i, kw in enumerate(kws)]


def gradients_through_steps(framework, name, settings, steps, lr=0.3):
    """The gradients of a function of the parameter after some steps, in its start and in the steps' gradients."""
    random = np.random.default_rng(0)
    start = framework.from_numpy(random.standard_normal(4)).requires_grad_()
    slopes = [framework.from_numpy(random.standard_normal(4)).requires_grad_() for _ in range(steps)]
    param = start.clone()
    rate = lr(framework) if callable(lr) else lr
    optimizer = getattr(framework.optim, name)([param], lr=rate, differentiable=True, **settings)
    for slope in slopes:
        param.grad = slope * slope * slope
        optimizer.step()
    (param * param).sum().backward()
    wanted = [start, *slopes] + ([rate] if callable(lr) else [])
    return [np.zeros(4) if leaf.grad is None else array(leaf.grad) for leaf in wanted]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_gradients_of_one_step_are_pytorchs(name, settings):
    ours, theirs = (gradients_through_steps(framework, name, settings, 1) for framework in FRAMEWORKS)
    for mine, other in zip(ours, theirs, strict=True):
        # PyTorch's Adam corrects its bias in float32 here, whatever the parameter's dtype.
        np.testing.assert_allclose(mine, other, rtol=2e-5 if "Adam" in name else 1e-6, atol=1e-9)


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_gradients_of_several_steps_are_finite_differences(name, settings):
    """PyTorch refuses some of these: its graph keeps tensors that the next step writes into."""
    random = np.random.default_rng(0)
    start, slopes = random.standard_normal(4), [random.standard_normal(4) for _ in range(3)]

    def after(point):
        param = pellucid.from_numpy(point.copy()).requires_grad_().clone()
        optimizer = getattr(pellucid.optim, name)([param], lr=0.3, differentiable=True, **settings)
        for slope in slopes:
            param.grad = pellucid.from_numpy(slope**3)
            optimizer.step()
        return (param * param).sum().item()

    gradient = gradients_through_steps(pellucid, name, settings, 3)[0]
    for index in range(4):
        shift = np.zeros(4)
        shift[index] = 1e-5
        difference = (after(start + shift) - after(start - shift)) / 2e-5
        assert gradient[index] == pytest.approx(difference, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("name", "settings"), [("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {})])
def test_the_learning_rate_has_a_gradient(name, settings):
    def rate(framework):
        return framework.tensor(0.3, dtype=framework.float64).requires_grad_()

    ours, theirs = (gradients_through_steps(framework, name, settings, 1, rate) for framework in FRAMEWORKS)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-9)
    assert abs(ours[-1]) > 1e-3
