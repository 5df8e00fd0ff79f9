"""Tensors computed from others: registering, assigning, caching, removing; weight norm, spectral norm and
orthogonality.
"""

import copy
import pickle

import pytest

import pellucid
from pellucid import nn
from pellucid.nn.utils import parametrizations, parametrize

from .oracle import assert_same, assert_same_gradients, both, ours, torch


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Double(nn.Module):
    def forward(self, x):
        return 2 * x


def test_reading_computes_and_assigning_inverts():
    layer = nn.Linear(3, 3)
    original = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias") and not parametrize.is_parametrized(nn.Linear(1, 1))
    assert layer.parametrizations.weight.original is original
    assert bool((layer.weight == layer.weight.mT).all())
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    layer.weight = pellucid.eye(3)
    assert bool((layer.weight == pellucid.eye(3)).all()) and layer.parametrizations.weight.original is original
    layer(pellucid.ones(1, 3)).sum().backward()
    assert original.grad is not None
    assert parametrize.type_before_parametrizations(layer) is nn.Linear


def test_several_are_applied_in_order_and_removed_together():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Double())
    value = layer.weight.detach().clone()
    with pytest.raises(RuntimeError, match="parametrization Double does not implement right_inverse"):
        layer.weight = value
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    assert bool((layer.weight == value).all()) and not hasattr(layer, "parametrizations")
    parametrize.register_parametrization(layer, "weight", Double())
    original = layer.parametrizations.weight.original.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert bool((layer.weight == original).all())


def test_caching_computes_once():
    calls = []

    class Counting(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    layer = parametrize.register_parametrization(nn.Linear(1, 1), "weight", Counting())
    calls.clear()
    with parametrize.cached():
        first = layer.weight
        assert layer.weight is first
    assert len(calls) == 1 and layer.weight is not first


def test_what_changes_shape_or_dtype_is_refused_and_leaves_the_module_alone():
    class Wide(nn.Module):
        def forward(self, x):
            return x.repeat(2, 1)

    class Wrong(nn.Module):
        def forward(self, x):
            return x.double()

    layer = nn.Linear(2, 2)
    for bad, text in ((Wide(), "may not change the shape"), (Wrong(), "may not change the dtype")):
        with pytest.raises(ValueError, match=text):
            parametrize.register_parametrization(layer, "weight", bad)
        assert type(layer) is nn.Linear and list(layer.state_dict()) == ["weight", "bias"]
    parametrize.register_parametrization(layer, "weight", Wide(), unsafe=True)
    assert layer.weight.shape == (4, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element"):
        parametrize.register_parametrization(layer, "nothing", Double())
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.remove_parametrizations(layer, "bias")


def test_copies_and_pickles():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    twin = copy.deepcopy(layer)
    assert type(twin) is type(layer) and bool((twin.weight == layer.weight).all())
    with pellucid.no_grad():
        twin.parametrizations.weight.original.zero_()
    assert float(layer.weight.detach().abs().sum()) > 0
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(layer)


def test_transfer():
    source = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    target = nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(source, target)
    assert target.parametrizations.weight.original is source.parametrizations.weight.original


def compare(build, x, after=None):
    """The module of both frameworks: state, two outputs in training and one in evaluation, gradients."""
    modules = []
    for framework in (torch, pellucid):
        framework.manual_seed(4)
        modules.append(build(framework))
    theirs, mine = modules
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert_same(value, mine.state_dict()[name], 1e-4, name)
    y = ours(x)
    for _ in range(2):
        left, right = theirs(x), mine(y)
        assert_same(left, right, 1e-4)
    left.pow(2).sum().backward()
    right.pow(2).sum().backward()
    assert_same_gradients(theirs, mine, 1e-3)
    assert_same(theirs.eval()(x), mine.eval()(y), 1e-4)
    return theirs, mine


@pytest.mark.parametrize("dim", [0, 1, None, -1])
def test_weight_norm(dim):
    compare(lambda f: f.nn.utils.parametrizations.weight_norm(f.nn.Linear(3, 4), dim=dim), torch.randn(2, 3))
    conv = lambda f: f.nn.utils.parametrizations.weight_norm(f.nn.Conv1d(2, 3, 2), dim=dim)  # noqa: E731
    theirs, mine = compare(conv, torch.randn(1, 2, 4))
    parametrize.remove_parametrizations(mine, "weight")
    torch.nn.utils.parametrize.remove_parametrizations(theirs, "weight")
    assert_same(theirs.weight, mine.weight)


def test_weight_norm_takes_states_of_the_older_form():
    layer = parametrizations.weight_norm(nn.Linear(2, 3))
    state = {"bias": pellucid.ones(3), "weight_g": pellucid.ones(3, 1), "weight_v": pellucid.ones(3, 2)}
    assert layer.load_state_dict(state).missing_keys == []
    assert float(layer.parametrizations.weight.original1.sum()) == 6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dim", [0, 1, None])
def test_the_older_weight_norm(dim):
    theirs, mine = compare(lambda f: f.nn.utils.weight_norm(f.nn.Linear(3, 4), dim=dim), torch.randn(2, 3))
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        nn.utils.weight_norm(mine)
    nn.utils.remove_weight_norm(mine)
    torch.nn.utils.remove_weight_norm(theirs)
    assert_same(theirs.weight, mine.weight)
    assert list(dict(mine.named_parameters())) == ["bias", "weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        nn.utils.remove_weight_norm(mine)


@pytest.mark.parametrize(
    "build, shape",
    [
        (lambda f: f.nn.Linear(3, 4), (2, 3)),
        (lambda f: f.nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
        (lambda f: f.nn.ConvTranspose1d(2, 3, 2), (1, 2, 4)),
    ],
)
def test_spectral_norm(build, shape):
    x = torch.randn(shape)
    compare(lambda f: f.nn.utils.parametrizations.spectral_norm(build(f), n_power_iterations=2), x)
    theirs, mine = compare(lambda f: f.nn.utils.spectral_norm(build(f)), x)
    assert mine.state_dict()._metadata == theirs.state_dict()._metadata
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks"):
        nn.utils.spectral_norm(mine)
    nn.utils.remove_spectral_norm(mine)
    torch.nn.utils.remove_spectral_norm(theirs)
    assert_same(theirs.weight, mine.weight, 1e-4)
    assert not mine._load_state_dict_pre_hooks and not mine._state_dict_hooks


def test_spectral_norm_has_norm_one_and_checks_its_arguments():
    layer = parametrizations.spectral_norm(nn.Linear(4, 3), n_power_iterations=20)
    assert abs(float(pellucid.linalg.matrix_norm(layer.weight.detach(), 2)) - 1) < 1e-3
    for framework in (torch, pellucid):
        tool = framework.nn.utils.parametrizations
        with pytest.raises(ValueError, match="Expected n_power_iterations to be positive"):
            tool.spectral_norm(framework.nn.Linear(1, 1), n_power_iterations=0)
        with pytest.raises(IndexError, match="Dimension out of range"):
            tool.spectral_norm(framework.nn.Linear(1, 1), dim=2)
        with pytest.raises(ValueError, match="no parameter or buffer with name 'nothing'"):
            tool.orthogonal(framework.nn.Linear(1, 1), "nothing")


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)], ids=str)
@pytest.mark.parametrize("trivialization", [True, False])
def test_orthogonal(kind, shape, trivialization):
    def build(framework):
        layer = framework.nn.Linear(*shape)
        return framework.nn.utils.parametrizations.orthogonal(layer, "weight", kind, use_trivialization=trivialization)

    if not trivialization and kind != "householder":
        layer = build(pellucid)
    else:
        theirs, layer = both(build)
        assert_same(theirs.weight, layer.weight, 1e-4)
    weight = layer.weight.detach()
    small = weight @ weight.mT if weight.shape[0] <= weight.shape[1] else weight.mT @ weight
    assert bool(pellucid.allclose(small, pellucid.eye(small.shape[0]), atol=1e-4))
    layer(pellucid.ones(2, shape[0])).pow(2).sum().backward()
    original = layer.parametrizations.weight.original
    assert bool(pellucid.isfinite(original.grad).all())
