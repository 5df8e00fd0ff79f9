"""Optimizer states: PyTorch's layout, loaded into and out of PyTorch, matched by name where there are names."""

import copy

import numpy as np
import pytest

import pellucid

from .comparison import Run, array, assert_same, convert, torch
from .test_rules import SETTINGS, tolerance_of

CASES = [pytest.param(name, kw, id=f"{name}-{i}") for name, kws in SETTINGS.items() for i, kw in enumerate(kws)]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_state_of_pytorch_goes_on_here_and_back(name, settings):
    theirs, ours = Run(torch, name, settings), Run(pellucid, name, settings)
    theirs.step(3)
    saved = convert(copy.deepcopy(theirs.optimizer.state_dict()), pellucid)
    ours.step(3)
    fresh = type(ours.optimizer)(ours.params, lr=0.77)
    fresh.load_state_dict(saved)
    ours.optimizer = fresh
    assert fresh.param_groups[0]["lr"] == theirs.optimizer.param_groups[0]["lr"]
    tolerance = tolerance_of(name) or 1e-5
    for mine, other in zip(ours.step(3)[-1], theirs.step(3)[-1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
    back = convert(fresh.state_dict(), torch)
    assert_same(fresh.state_dict(), theirs.optimizer.state_dict(), tolerance, "state_dict")
    resumed = type(theirs.optimizer)(theirs.params, lr=0.77)
    resumed.load_state_dict(back)
    theirs.optimizer = resumed
    for mine, other in zip(ours.step(2)[-1], theirs.step(2)[-1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_resumed_run_is_the_uninterrupted_one(name):
    whole, first = (Run(pellucid, name, SETTINGS[name][-1]) for _ in range(2))
    whole.step(6)
    first.step(3)
    saved = copy.deepcopy(first.optimizer.state_dict())
    fresh = type(first.optimizer)(first.params, lr=0.5)
    fresh.load_state_dict(saved)
    first.optimizer = fresh
    first.step(3)
    for mine, other in zip(first.params, whole.params, strict=True):
        np.testing.assert_array_equal(array(mine), array(other))


def named(names, framework=pellucid, values=None):
    values = values or {name: [float(index), index + 0.5] for index, name in enumerate(names)}
    return [(name, framework.tensor(values[name]).requires_grad_()) for name in names]


def step_by_name(optimizer, pairs):
    for name, param in pairs:
        param.grad = pellucid.full((2,), float(len(name)))
    optimizer.step()


def test_reordered_names_find_their_own_state():
    pairs = named(["a", "bb", "cccc"])
    optimizer = pellucid.optim.Adam(pairs, lr=0.1)
    for _ in range(3):
        step_by_name(optimizer, pairs)
    saved = copy.deepcopy(optimizer.state_dict())
    values = {name: param.tolist() for name, param in pairs}
    reordered = named(["cccc", "a", "bb"], values=values)
    again = pellucid.optim.Adam(reordered, lr=0.9)
    again.load_state_dict(saved)
    assert again.param_groups[0]["param_names"] == ["cccc", "a", "bb"]
    step_by_name(optimizer, pairs)
    step_by_name(again, reordered)
    assert dict((name, param.tolist()) for name, param in reordered) == {n: p.tolist() for n, p in pairs}


def test_other_names_raise_and_are_named():
    saved = pellucid.optim.Adam(named(["a", "bb"])).state_dict()
    with pytest.raises(ValueError, match=r"no state for \[other\], and has state for \[bb\]"):
        pellucid.optim.Adam(named(["a", "other"])).load_state_dict(saved)
    del saved["param_groups"][0]["param_names"]
    pellucid.optim.Adam(named(["a", "other"])).load_state_dict(saved)


def test_names_of_wrapped_models_match():
    pairs = named(["module.a", "module.bb"])
    optimizer = pellucid.optim.Adam(pairs)
    step_by_name(optimizer, pairs)
    plain = pellucid.optim.Adam(named(["bb", "a"]))
    plain.load_state_dict(optimizer.state_dict())
    first, second = (plain.state[param]["exp_avg"] for param in plain.param_groups[0]["params"])
    assert first[0].item() > second[0].item()
    assert plain.param_groups[0]["param_names"] == ["bb", "a"]


def test_a_state_with_names_loads_without_and_the_reverse():
    pairs = named(["a", "bb"])
    with_names, without = pellucid.optim.Adam(pairs), pellucid.optim.Adam([param for _, param in named(["x", "y"])])
    step_by_name(with_names, pairs)
    without.load_state_dict(with_names.state_dict())
    assert without.param_groups[0]["param_names"] == ["a", "bb"]
    fresh = pellucid.optim.Adam(named(["p", "q"]))
    saved = pellucid.optim.Adam([param for _, param in named(["x", "y"])]).state_dict()
    fresh.load_state_dict(saved)
    assert fresh.param_groups[0]["param_names"] == ["p", "q"]


def test_named_states_are_pytorchs_and_load_there():
    ours, theirs = (framework.optim.Adam(named(["a", "bb"], framework), lr=0.1) for framework in (pellucid, torch))
    for optimizer, framework in ((ours, pellucid), (theirs, torch)):
        for param in optimizer.param_groups[0]["params"]:
            param.grad = framework.ones(2)
        optimizer.step()
    assert_same(ours.state_dict(), theirs.state_dict(), 1e-6)
    theirs.load_state_dict(convert(ours.state_dict(), torch))
    ours.load_state_dict(convert(theirs.state_dict(), pellucid))


def test_groups_of_other_sizes_raise():
    one = pellucid.optim.SGD([param for _, param in named(["a"])])
    two = pellucid.optim.SGD([param for _, param in named(["a", "b"])])
    groups = pellucid.optim.SGD([{"params": [param]} for _, param in named(["a", "b"])])
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        one.load_state_dict(two.state_dict())
    with pytest.raises(ValueError, match="different number of parameter groups"):
        two.load_state_dict(groups.state_dict())


def test_loaded_state_takes_the_parameters_dtype_but_not_the_counter():
    run = Run(pellucid, "Adam", dtype="float64")
    run.step(2)
    low = [pellucid.zeros(shape, dtype=pellucid.bfloat16).requires_grad_() for shape in run.shapes]
    optimizer = pellucid.optim.Adam(low)
    optimizer.load_state_dict(run.optimizer.state_dict())
    state = optimizer.state[low[0]]
    assert state["exp_avg"].dtype == pellucid.bfloat16 and state["step"].dtype == pellucid.float32


@pytest.mark.parametrize(
    ("name", "counters"), [("Adam", ["step"]), ("NAdam", ["step", "mu_product"]), ("ASGD", ["eta"])]
)
def test_counters_that_are_numbers_in_old_files_become_tensors(name, counters):
    run = Run(pellucid, name)
    run.step(2)
    saved = copy.deepcopy(run.optimizer.state_dict())
    for state in saved["state"].values():
        for counter in counters:
            state[counter] = state[counter].item()
    del saved["param_groups"][0]["maximize"]
    run.optimizer.load_state_dict(saved)
    state = run.optimizer.state[run.params[0]]
    assert all(isinstance(state[counter], pellucid.Tensor) for counter in counters)
    assert run.optimizer.param_groups[0]["maximize"] is False
    run.step(1)


def test_an_old_adamw_file_stays_decoupled():
    run = Run(pellucid, "AdamW")
    saved = copy.deepcopy(run.optimizer.state_dict())
    del saved["param_groups"][0]["decoupled_weight_decay"]
    run.optimizer.load_state_dict(saved)
    assert run.optimizer.param_groups[0]["decoupled_weight_decay"] is True


def test_hooks_around_saving_and_loading():
    calls = []
    optimizer = pellucid.optim.SGD([param for _, param in named(["a"])], lr=0.5)
    optimizer.register_state_dict_pre_hook(lambda own: calls.append("saving"))
    optimizer.register_state_dict_post_hook(lambda own, state: calls.append(sorted(state)))
    optimizer.register_state_dict_post_hook(lambda own, state: {**state, "epoch": 3}, prepend=True)
    saved = optimizer.state_dict()
    assert saved["epoch"] == 3 and calls == ["saving", ["epoch", "param_groups", "state"]]
    optimizer.register_load_state_dict_pre_hook(lambda own, state: calls.append("loading"))
    optimizer.register_load_state_dict_pre_hook(
        lambda own, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.25}]}, prepend=True
    )
    optimizer.register_load_state_dict_post_hook(lambda own: calls.append(own.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert calls[2:] == ["loading", 0.25] and saved["param_groups"][0]["lr"] == 0.5


def test_state_that_belongs_to_no_parameter_is_kept():
    optimizer = pellucid.optim.SGD([param for _, param in named(["a"])])
    optimizer.load_state_dict({**optimizer.state_dict(), "state": {"extra": 7}})
    assert optimizer.state_dict()["state"] == {"extra": 7}
