"""Every optimizer takes PyTorch's steps, whatever its flags, the dtype and the layout of its parameters."""

import numpy as np
import pytest

import pellucid

from .comparison import Run, array, assert_same_run, torch

SETTINGS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3},
        {"lr": 0.1, "weight_decay": 0.2},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True},
    ],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.3}, {"lr": 0.1, "amsgrad": True}, {"lr": 0.1, "weight_decay": 0.0}],
    "RMSprop": [
        {},
        {"lr": 0.1, "alpha": 0.5, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "centered": True},
        {"lr": 0.1, "momentum": 0.5, "centered": True, "weight_decay": 0.1},
    ],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "initial_accumulator_value": 0.4}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}],
    "Adamax": [{}, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1, "eps": 1e-3}],
    "NAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "betas": (0.8, 0.9)},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "ASGD": [{}, {"lr": 0.1, "t0": 2, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.7), "step_sizes": (0.05, 0.2)}],
    "Adafactor": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "d": 2.0},
        {"lr": 0.1, "beta2_decay": -0.3, "eps": (1e-4, 0.01)},
    ],
    "Muon": [
        {},
        {"lr": 0.1, "nesterov": False, "weight_decay": 0.3},
        {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "momentum": 0.5},
    ],
}
CASES = [pytest.param(name, kw, id=f"{name}-{i}") for name, kws in SETTINGS.items() for i, kw in enumerate(kws)]
# Muon iterates in bfloat16, where another order of summation shows in the third digit.
BFLOAT16_TOLERANCE = 2e-2
WITH_MAXIMIZE = sorted(set(SETTINGS) - {"Muon"})
WITH_FOREACH = sorted(set(SETTINGS) - {"Muon"})
WITH_FUSED = ["SGD", "Adam", "AdamW", "Adagrad"]
COMPLEX = sorted(set(SETTINGS) - {"Muon", "Adafactor"})


def tolerance_of(name):
    return BFLOAT16_TOLERANCE if name == "Muon" else None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_steps_and_state_are_pytorchs(name, settings, dtype):
    assert_same_run(name, settings, dtype=dtype, tolerance=tolerance_of(name))


@pytest.mark.parametrize("name", WITH_MAXIMIZE)
def test_maximize_climbs(name):
    assert_same_run(name, {**SETTINGS[name][-1], "maximize": True})


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("name", WITH_FOREACH)
def test_foreach_gives_the_same_steps(name, flag):
    assert_same_run(name, {**SETTINGS[name][-1], "foreach": flag}, tolerance=1e-5)


@pytest.mark.parametrize("name", WITH_FUSED)
def test_fused_gives_the_same_steps(name):
    for settings in SETTINGS[name]:
        assert_same_run(name, {**settings, "fused": True}, tolerance=1e-5)


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_learning_rate_may_be_a_tensor(name):
    rate = pellucid.tensor(0.05)
    assert_same_run(name, {"lr": rate}, tolerance=tolerance_of(name))
    assert_same_run(name, {"lr": rate.reshape(1)}, tolerance=tolerance_of(name))


def test_betas_of_adam_may_be_tensors():
    betas = (pellucid.tensor(0.8), pellucid.tensor([0.95]))
    assert_same_run("Adam", {"betas": betas, "lr": 0.1})
    assert_same_run("AdamW", {"betas": betas, "lr": pellucid.tensor(0.1)}, dtype="float64", tolerance=1e-6)


LAYOUTS = {
    "transposed": lambda tensor: tensor.t().clone().t() if tensor.dim() == 2 else tensor,
    "strided": lambda tensor: tensor.repeat(*([1] * (tensor.dim() - 1) + [2]))[..., ::2] if tensor.dim() else tensor,
}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_parameters_need_not_be_contiguous(name, layout):
    assert_same_run(name, SETTINGS[name][-1], layout=LAYOUTS[layout], steps=3, tolerance=tolerance_of(name))


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_parameters_are_pairs_of_real_ones(name):
    for settings in SETTINGS[name]:
        assert_same_run(name, settings, dtype="complex64", steps=4, tolerance=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam"])
def test_half_precision_stays_within_its_rounding(name, dtype):
    settings = {"lr": 0.1, "eps": 1e-3} if name != "SGD" else {"lr": 0.1, "momentum": 0.9}
    assert_same_run(name, settings, dtype=dtype, steps=3, tolerance=3e-2)


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - {"Muon", "Adafactor"}))
def test_empty_parameters_are_left_alone(name):
    assert_same_run(name, SETTINGS[name][-1], shapes=((0, 3), (2,)), steps=2)


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - {"Muon", "Adafactor"}))
def test_nan_and_inf_gradients_do_what_they_do_in_pytorch(name):
    after = []
    for framework in (pellucid, torch):
        param = framework.tensor([1.0, 2.0, 3.0, 4.0]).requires_grad_()
        optimizer = getattr(framework.optim, name)([param], lr=0.1)
        for gradient in ([1.0, float("nan"), float("inf"), -2.0], [1.0, 1.0, 1.0, 1.0]):
            param.grad = framework.tensor(gradient)
            optimizer.step()
        after.append(array(param))
    np.testing.assert_allclose(*after, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_parameter_groups_keep_their_own_settings(name):
    def grouped(params):
        return [{"params": params[:1], "lr": 0.05}, {"params": params[1:]}]

    assert_same_run(name, {"lr": 0.2}, grouped=grouped, tolerance=tolerance_of(name))


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_parameters_without_gradient_keep_value_and_get_no_state(name):
    run = Run(pellucid, name, SETTINGS[name][-1])
    before = [array(param).copy() for param in run.params]
    run.params[0].grad = pellucid.ones_like(run.params[0])
    run.optimizer.step()
    assert not np.array_equal(array(run.params[0]), before[0])
    for param, value in zip(run.params[1:], before[1:], strict=True):
        np.testing.assert_array_equal(array(param), value)
    states = run.optimizer.state_dict()["state"]
    assert set(states) == ({0, 1, 2} if name == "Adagrad" else {0})


@pytest.mark.parametrize("name", ["AdamW", "NAdam", "RAdam"])
def test_a_decay_below_the_precision_of_the_parameter_is_not_lost(name):
    # 1 - lr * decay rounds to 1 in float32; over 4000 steps the decay is 4e-5 of the parameter.
    def mean_after(weight_decay, dtype):
        random = np.random.default_rng(0)
        param = pellucid.ones(64, dtype=dtype).requires_grad_()
        settings = {} if name == "AdamW" else {"decoupled_weight_decay": True}
        optimizer = getattr(pellucid.optim, name)([param], lr=1e-4, weight_decay=weight_decay, **settings)
        for _ in range(1500):
            param.grad = pellucid.from_numpy(random.choice([-1.0, 1.0], 64)).to(dtype)
            optimizer.step()
        return array(param).astype(np.float64).mean()

    effect = mean_after(1e-4, pellucid.float32) - mean_after(0.0, pellucid.float32)
    exact = mean_after(1e-4, pellucid.float64) - mean_after(0.0, pellucid.float64)
    assert exact == pytest.approx(-1.5e-5, rel=0.05)
    assert effect == pytest.approx(exact, abs=3e-6)


def test_counters_on_the_device_compute_what_numbers_compute():
    """capturable=True is refused on the CPU, but its rules can be run there; float32 counters cost some precision."""
    for name in ("Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"):
        for settings in SETTINGS[name]:
            plain, device = (Run(pellucid, name, settings, dtype="float64") for _ in range(2))
            own = device.optimizer._settings
            device.optimizer._settings = lambda group, own=own: {**own(group), "capturable": True}
            for ours, theirs in zip(device.step(7), plain.step(7), strict=True):
                for mine, other in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5, err_msg=f"{name} {settings}")
