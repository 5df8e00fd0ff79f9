"""The base class: groups, hooks, closures, gradients to zero, and the errors that PyTorch's classes raise."""

import copy
import pickle
import warnings

import pytest

import pellucid
from pellucid.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)

from .comparison import FRAMEWORKS, array, torch

NOT_OPTIMIZERS = ("lr_scheduler", "swa_utils", "Optimizer", "swap_in_optimizer_params_and_state")
NAMES = [name for name in pellucid.optim.__all__ if name not in NOT_OPTIMIZERS]


def leaf(framework=pellucid, values=(1.0, 2.0)):
    return framework.tensor(list(values)).requires_grad_()


def matrix_for(name, framework):
    return framework.ones(2, 2).requires_grad_() if name == "Muon" else leaf(framework)


@pytest.mark.parametrize("name", NAMES)
def test_defaults_and_printed_form_are_pytorchs(name):
    ours, theirs = (getattr(framework.optim, name)([matrix_for(name, framework)]) for framework in FRAMEWORKS)
    assert ours.defaults == theirs.defaults
    assert repr(ours) == repr(theirs)
    assert set(ours.param_groups[0]) == set(theirs.param_groups[0])


BAD_SETTINGS = [
    *[(name, {"lr": -0.1}) for name in NAMES],
    ("SparseAdam", {"lr": 0.0}),
    ("SparseAdam", {"eps": 0.0}),
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    *[(name, {"weight_decay": -1.0}) for name in NAMES if name not in ("LBFGS", "SparseAdam", "Rprop")],
    *[(name, {"betas": (1.0, 0.9)}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(name, {"betas": (0.9, -0.1)}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(name, {"eps": -1.0}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad")],
    ("NAdam", {"momentum_decay": -0.1}),
    ("Adam", {"betas": (0.9, 0)}),
    ("Rprop", {"etas": (1.5, 1.2)}),
    ("Adadelta", {"rho": 1.1}),
    ("RMSprop", {"alpha": -0.1}),
    ("RMSprop", {"momentum": -0.1}),
    ("Adagrad", {"lr_decay": -0.1}),
    ("Adagrad", {"initial_accumulator_value": -0.1}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"beta2_decay": 0.5}),
    ("Adafactor", {"eps": (-1.0, 0.1)}),
    ("Adafactor", {"eps": (None, -0.1)}),
    ("Muon", {"momentum": -0.1}),
    ("Muon", {"adjust_lr_fn": "other"}),
    *[(name, {"fused": True, "foreach": True}) for name in ("SGD", "Adam", "AdamW", "Adagrad")],
    *[(name, {"fused": True, "differentiable": True}) for name in ("SGD", "Adam", "AdamW", "Adagrad")],
]


@pytest.mark.parametrize(("name", "settings"), BAD_SETTINGS)
def test_settings_out_of_range_raise_what_pytorch_raises(name, settings):
    with pytest.raises(Exception) as theirs:
        getattr(torch.optim, name)([matrix_for(name, torch)], **settings)
    with pytest.raises(theirs.type) as ours:
        getattr(pellucid.optim, name)([matrix_for(name, pellucid)], **settings)
    assert str(theirs.value) in str(ours.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_learning_rate_has_one_element(name):
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        getattr(pellucid.optim, name)([matrix_for(name, pellucid)], lr=pellucid.tensor([0.1, 0.2]))


def test_adam_refuses_tensor_settings_with_foreach():
    for settings in (
        {"lr": pellucid.tensor(0.1)},
        {"betas": (pellucid.tensor(0.9), pellucid.tensor(0.9))},
    ):
        with pytest.raises(ValueError, match="not supported for capturable=False and foreach=True"):
            pellucid.optim.Adam([leaf()], foreach=True, **settings)
    with pytest.raises(ValueError, match="both floats or both Tensors"):
        pellucid.optim.Adam([leaf()], betas=(pellucid.tensor(0.9), 0.9))


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
@pytest.mark.parametrize("settings", [{"capturable": True}, {"foreach": True, "differentiable": True}])
def test_flags_that_the_cpu_refuses_raise_assertion_error(name, settings):
    for framework in FRAMEWORKS:
        param = leaf(framework)
        optimizer = getattr(framework.optim, name)([param], **settings)
        param.grad = framework.ones(2)
        with pytest.raises(AssertionError):
            optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_refuses_complex_parameters(name):
    for framework in FRAMEWORKS:
        param = framework.ones(2, dtype=framework.complex64).requires_grad_()
        optimizer = getattr(framework.optim, name)([param], fused=True)
        param.grad = framework.ones(2, dtype=framework.complex64)
        with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors"):
            optimizer.step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_unscales_gradients_and_skips_on_inf(name):
    values = []
    for framework in FRAMEWORKS:
        param = leaf(framework)
        optimizer = getattr(framework.optim, name)([param], lr=0.1, fused=True)
        assert optimizer._step_supports_amp_scaling
        for found in (0.0, 1.0, 0.0):
            param.grad = framework.tensor([4.0, -8.0])
            optimizer.grad_scale, optimizer.found_inf = framework.tensor(4.0), framework.tensor(found)
            optimizer.step()
            values.append(array(param).tolist())
    assert values[:3] == [pytest.approx(value, rel=1e-6) for value in values[3:]]
    assert values[0] == values[1] != values[2]


def test_parameters_that_cannot_be_optimized_raise_what_pytorch_raises():
    def attempts(framework):
        param, other = leaf(framework), leaf(framework)
        sgd = framework.optim.SGD
        yield lambda: sgd([])
        yield lambda: sgd(param)
        yield lambda: sgd([param * 2])
        yield lambda: sgd([1.0])
        yield lambda: sgd({param})
        yield lambda: sgd([{"params": {param}}])
        yield lambda: sgd([{"params": [param]}, {"params": [param]}])
        yield lambda: sgd([("a", param), other])
        yield lambda: sgd([{"params": [("a", param)]}, {"params": [other]}])
        yield lambda: sgd([param]).add_param_group([other])
        yield lambda: framework.optim.LBFGS([{"params": [param]}, {"params": [other]}])
        yield lambda: framework.optim.Muon([param])
        yield lambda: framework.optim.SparseAdam([framework.ones(1, dtype=framework.complex64).requires_grad_()])

    raised = 0
    for ours, theirs in zip(attempts(pellucid), attempts(torch), strict=True):
        try:
            theirs()
        except Exception as error:
            with pytest.raises(type(error)):
                ours()
            raised += 1
        else:
            ours()
    assert raised == 12


def test_duplicates_warn():
    param = leaf()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        pellucid.optim.SGD([param, param])


def test_a_required_setting_must_be_given():
    class Own(Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": required})

        def step(self, closure=None):
            pass

    assert repr(required) == "<required parameter>"
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Own([leaf()])
    assert Own([{"params": [leaf()], "lr": 1.0}]).param_groups[0]["lr"] == 1.0


def test_add_param_group_takes_defaults_and_names():
    optimizer = pellucid.optim.SGD([leaf()], lr=0.3, momentum=0.5)
    optimizer.add_param_group({"params": leaf(), "lr": 0.1})
    assert optimizer.param_groups[1]["lr"] == 0.1 and optimizer.param_groups[1]["momentum"] == 0.5
    with pytest.raises(ValueError, match="cannot add param group with names"):
        optimizer.add_param_group({"params": [("name", leaf())]})


def test_zero_grad_drops_or_clears():
    param = leaf()
    optimizer = pellucid.optim.SGD([param])
    (param * param).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.tolist() == [0.0, 0.0] and not param.grad.requires_grad
    optimizer.zero_grad()
    assert param.grad is None
    optimizer.zero_grad(set_to_none=False)


def quadratic_losses(framework, name, steps=30, **settings):
    param = framework.tensor([1.5, -2.0, 0.5]).requires_grad_()
    target = framework.tensor([0.3, 0.7, -1.1])
    if name == "Muon":
        param = param.detach().reshape(1, 3).clone().requires_grad_()
    optimizer = getattr(framework.optim, name)([param], **settings)

    def closure():
        optimizer.zero_grad()
        loss = ((param - target) ** 2 + 0.1 * (param * 3).sin()).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(steps)]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("SparseAdam", "LBFGS")])
def test_loss_curves_through_a_closure_are_pytorchs(name):
    tolerance = 2e-2 if name == "Muon" else 1e-4
    ours, theirs = (quadratic_losses(framework, name, lr=0.05) for framework in FRAMEWORKS)
    assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance)


def test_step_hooks_run_in_order_and_may_change_arguments():
    calls = []
    handles = [
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: calls.append("global pre")),
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: calls.append("global post")),
    ]
    optimizer = pellucid.optim.SGD([leaf()])
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: (args, {"closure": lambda: "loss"}))
    optimizer.register_step_post_hook(lambda optimizer, args, kwargs: calls.append(sorted(kwargs)))
    assert optimizer.step() == "loss"
    assert calls == ["global pre", ["closure"], "global post"]
    for handle in handles:
        handle.remove()
    calls.clear()
    optimizer.step()
    assert calls == [["closure"]]


def test_a_pre_hook_that_returns_something_else_raises():
    optimizer = pellucid.optim.Adam([leaf()])
    optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: 1)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()
    assert not optimizer._inside_step


def test_hooks_run_once_for_a_subclass_that_calls_super():
    class Own(pellucid.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    pellucid.optim.SGD([leaf()]).step()
    calls = []
    optimizer = Own([leaf()])
    optimizer.register_step_pre_hook(lambda *arguments: calls.append("pre"))
    optimizer.register_step_post_hook(lambda *arguments: calls.append("post"))
    optimizer.step()
    assert calls == ["pre", "post"] and optimizer._step_attempts == 1


def test_a_users_own_optimizer_has_hooks_and_state():
    class SignDescent(Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @pellucid.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    self.state[param]["count"] = self.state[param].get("count", 0) + 1
                    param.add_(param.grad.sign(), alpha=-group["lr"])

    param = leaf()
    optimizer, calls = SignDescent([param], lr=0.5), []
    optimizer.register_step_post_hook(lambda *arguments: calls.append(1))
    param.grad = pellucid.tensor([3.0, -3.0])
    optimizer.step()
    assert param.tolist() == [0.5, 2.5] and calls == [1]
    assert optimizer.state_dict()["state"] == {0: {"count": 1}}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copied_optimizer_goes_on_by_itself(copied):
    param = leaf()
    optimizer = pellucid.optim.Adam([param], lr=0.1)
    param.grad = pellucid.ones(2)
    optimizer.step()
    again, twin = copied((optimizer, param))
    for owner, value in ((optimizer, param), (again, twin)):
        value.grad = pellucid.tensor([1.0, -1.0])
        owner.step()
    assert twin is not param and twin.tolist() == param.tolist()
    assert again.state[twin]["step"].item() == 2.0


def test_a_step_leaves_grad_mode_and_graph_alone():
    param = leaf()
    optimizer = pellucid.optim.SGD([param], lr=0.1)
    param.grad = pellucid.ones(2)
    optimizer.step()
    assert pellucid.is_grad_enabled() and param.is_leaf and param.requires_grad
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    assert pellucid.is_grad_enabled() and not optimizer._inside_step


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("LBFGS", "SparseAdam", "Muon", "Adafactor")])
def test_steps_warn_of_nothing(name):
    param = leaf()
    optimizer = getattr(pellucid.optim, name)([param])
    param.grad = pellucid.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()


def test_subpackages_hold_the_classes():
    import importlib

    for module, name in (("adam", "Adam"), ("sgd", "SGD"), ("lbfgs", "LBFGS"), ("optimizer", "Optimizer")):
        assert getattr(importlib.import_module(f"pellucid.optim.{module}"), name) is getattr(pellucid.optim, name)


def test_other_parameters_swapped_in_for_a_while():
    results = []
    for framework in FRAMEWORKS:
        swap = framework.optim.swap_in_optimizer_params_and_state
        param, other = leaf(framework), leaf(framework, (3.0, 4.0))
        optimizer = framework.optim.Adam([param], lr=0.1)
        with pytest.raises(RuntimeError, match="requires initialized optimizer state"), swap(optimizer, {}, {}):
            pass
        param.grad, other.grad = framework.ones(2), framework.ones(2)
        optimizer.step()
        saved = copy.deepcopy(optimizer.state_dict())
        saved["param_groups"][0]["lr"] = 0.5
        with swap(optimizer, {"other": other}, saved):
            optimizer.step()
        assert optimizer.param_groups[0]["params"][0] is param and optimizer.param_groups[0]["lr"] == 0.1
        for broken in ({"state": []}, {"param_groups": ()}, {"param_groups": [{"params": ["a"]}]}):
            with pytest.raises(RuntimeError), swap(optimizer, {"other": other}, {**saved, **broken}):
                pass
        with pytest.raises(RuntimeError, match="ordering"), swap(optimizer, {}, saved):
            pass
        optimizer.step()
        results.append([array(param), array(other)])
    for mine, reference in zip(*results, strict=True):
        assert mine.tolist() == pytest.approx(reference.tolist(), rel=1e-6)
