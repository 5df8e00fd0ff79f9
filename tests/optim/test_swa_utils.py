"""Averaged models hold PyTorch's averages, of parameters and of buffers; SWALR is PyTorch's schedule."""

import copy

import numpy as np
import pytest

import pellucid

from .comparison import FRAMEWORKS, array, assert_same, make
from .test_lr_scheduler import close, follow, optimizer_for


def network(framework):
    nn = framework.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    random = np.random.default_rng(0)
    with framework.no_grad():
        for param in model.parameters():
            param.copy_(make(framework, random.standard_normal(tuple(param.shape)), "float32"))
    return model


def averaged(framework, steps=4, **settings):
    """The state of a model averaged over some noisy steps."""
    utilities = framework.optim.swa_utils
    model = network(framework)
    average = utilities.AveragedModel(model, **{key: value(utilities) for key, value in settings.items()})
    random = np.random.default_rng(1)
    for _ in range(steps):
        model(make(framework, random.standard_normal((5, 3)), "float32"))
        with framework.no_grad():
            for param in model.parameters():
                param.add_(make(framework, random.standard_normal(tuple(param.shape)), "float32"))
        average.update_parameters(model)
    return average


AVERAGES = {
    "default": {},
    "with buffers": {"use_buffers": lambda utilities: True},
    "ema": {"avg_fn": lambda utilities: utilities.get_ema_avg_fn(0.9)},
    "multi ema with buffers": {
        "multi_avg_fn": lambda utilities: utilities.get_ema_multi_avg_fn(0.9),
        "use_buffers": lambda utilities: True,
    },
    "multi swa": {"multi_avg_fn": lambda utilities: utilities.get_swa_multi_avg_fn()},
    "swa": {"avg_fn": lambda utilities: utilities.get_swa_avg_fn()},
    "own": {"avg_fn": lambda utilities: lambda average, current, count: 0.3 * average + 0.7 * current},
}


@pytest.mark.parametrize("name", sorted(AVERAGES))
def test_averages_are_pytorchs(name):
    ours, theirs = (averaged(framework, **AVERAGES[name]) for framework in FRAMEWORKS)
    assert_same(dict(ours.state_dict()), dict(theirs.state_dict()), 1e-5)
    data = np.random.default_rng(2).standard_normal((6, 3))
    outputs = [
        array(average.eval()(make(framework, data, "float32")))
        for average, framework in zip((ours, theirs), FRAMEWORKS, strict=True)
    ]
    np.testing.assert_allclose(*outputs, rtol=1e-4, atol=1e-5)


def test_an_averaged_model_saves_and_goes_on():
    average = averaged(pellucid, 3)
    fresh = pellucid.optim.swa_utils.AveragedModel(network(pellucid))
    fresh.load_state_dict(copy.deepcopy(average.state_dict()))
    assert fresh.n_averaged.item() == 3
    model = network(pellucid)
    fresh.update_parameters(model)
    average.update_parameters(model)
    for mine, other in zip(fresh.parameters(), average.parameters(), strict=True):
        np.testing.assert_array_equal(array(mine), array(other))


def test_only_one_averaging_function():
    utilities = pellucid.optim.swa_utils
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        utilities.AveragedModel(network(pellucid), avg_fn=lambda *a: a[0], multi_avg_fn=lambda *a: None)
    for make_function in (utilities.get_ema_avg_fn, utilities.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value"):
            make_function(1.5)


@pytest.mark.parametrize("batch", ["tensors", "pairs"])
def test_update_bn_computes_the_statistics_of_the_data(batch):
    states = []
    for framework in FRAMEWORKS:
        model = network(framework).eval()
        random = np.random.default_rng(3)
        data = [make(framework, random.standard_normal((4, 3)), "float32") for _ in range(3)]
        loader = data if batch == "tensors" else [[inputs, 0] for inputs in data]
        framework.optim.swa_utils.update_bn(loader, model)
        assert not model.training and model[1].momentum == 0.1
        states.append(dict(model.state_dict()))
    assert_same(*states, 1e-5)
    pellucid.optim.swa_utils.update_bn(None, pellucid.nn.Linear(1, 1))


@pytest.mark.parametrize(
    "settings",
    [
        {"swa_lr": 0.05},
        {"swa_lr": [0.05, 0.3], "anneal_epochs": 4, "anneal_strategy": "linear"},
        {"swa_lr": 0.05, "anneal_epochs": 0},
    ],
)
def test_swalr_is_pytorchs(settings):
    paths, states = [], []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        scheduler = framework.optim.swa_utils.SWALR(optimizer, **settings)
        path = follow(optimizer, scheduler, 6)
        state = scheduler.state_dict()
        scheduler = framework.optim.swa_utils.SWALR(optimizer, swa_lr=settings["swa_lr"])
        scheduler.load_state_dict(state)
        paths.append(path + follow(optimizer, scheduler, 8))
        states.append(scheduler.state_dict())
    close(*paths)
    assert_same(*states, 1e-9)


@pytest.mark.parametrize("settings", [{"anneal_strategy": "other"}, {"anneal_epochs": -1}, {"swa_lr": [0.1]}])
def test_swalr_errors(settings):
    for framework in FRAMEWORKS:
        with pytest.raises(ValueError):
            framework.optim.swa_utils.SWALR(optimizer_for(framework), **{"swa_lr": 0.1, **settings})
