"""Pruning: what each method masks, one after another, for all parameters together, and for good."""

import importlib

import pytest

import pellucid
from pellucid import nn

from .oracle import assert_same, both, ours, torch

FRAMEWORKS = [torch, pellucid]
for framework in FRAMEWORKS:  # neither loads it unasked
    importlib.import_module(f"{framework.__name__}.nn.utils.prune")
METHODS = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", 0.4),
    "l1 number": lambda p, m: p.l1_unstructured(m, "bias", 1),
    "random": lambda p, m: p.random_unstructured(m, "weight", 0.5),
    "random structured": lambda p, m: p.random_structured(m, "weight", 2, dim=1),
    "ln": lambda p, m: p.ln_structured(m, "weight", 0.5, n=2, dim=0),
    "ln last": lambda p, m: p.ln_structured(m, "weight", 1, n=1, dim=-1),
    "nothing": lambda p, m: p.ln_structured(m, "weight", 0, n=1, dim=-1),
    "twice": lambda p, m: p.ln_structured(p.l1_unstructured(m, "weight", 0.3), "weight", 1, n=2, dim=1),
    "thrice": lambda p, m: p.l1_unstructured(
        p.random_structured(p.l1_unstructured(m, "weight", 2), "weight", 1, 0), "weight", 3
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_masks_are_pytorch_s(name):
    pair = both(lambda f: f.nn.Linear(4, 5))
    x = torch.randn(2, 4)
    results = []
    for framework, module, input in zip(FRAMEWORKS, pair, (x, ours(x)), strict=True):
        framework.manual_seed(3)
        assert METHODS[name](framework.nn.utils.prune, module) is module
        output = module(input)
        output.pow(2).sum().backward()
        state = module.state_dict()
        gradients = [p.grad for _, p in sorted(module.named_parameters())]
        results.append((output, list(state), list(state.values()), gradients))
        assert framework.nn.utils.prune.is_pruned(module)
    assert_same(*results, 1e-4)
    tensor = "bias" if name == "l1 number" else "weight"
    for framework, module in zip(FRAMEWORKS, pair, strict=True):
        framework.nn.utils.prune.remove(module, tensor)
        assert not framework.nn.utils.prune.is_pruned(module)
    assert_same(*(sorted(m.state_dict()) for m in pair))
    assert_same(getattr(pair[0], tensor), getattr(pair[1], tensor))


def test_all_parameters_together():
    pair = both(lambda f: f.nn.Sequential(f.nn.Linear(3, 4), f.nn.Linear(4, 2)))
    for framework, net in zip(FRAMEWORKS, pair, strict=True):
        prune = framework.nn.utils.prune
        prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=0.5)
        prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=2)
    assert_same([m.weight_mask for m in pair[0]], [m.weight_mask for m in pair[1]])


def test_given_masks_scores_and_tensors():
    prune = nn.utils.prune
    layer = prune.custom_from_mask(nn.Linear(2, 1), "weight", pellucid.tensor([[1, 0]]))
    assert layer.weight[0, 1] == 0 and isinstance(layer.weight_orig, nn.Parameter)
    scores = pellucid.tensor([[1.0, 5.0]])
    layer = prune.l1_unstructured(nn.Linear(2, 1), "weight", 1, importance_scores=scores)
    assert layer.weight_mask.tolist() == [[0, 1]]
    assert prune.L1Unstructured(1).prune(pellucid.tensor([3.0, -1.0])).tolist() == [3, 0]


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda f, p: p.l1_unstructured(f.nn.Linear(2, 2), "weight", 9), ValueError),
        (lambda f, p: p.l1_unstructured(f.nn.Linear(2, 2), "weight", 1.5), ValueError),
        (lambda f, p: p.l1_unstructured(f.nn.Linear(2, 2), "weight", "x"), TypeError),
        (lambda f, p: p.ln_structured(f.nn.Linear(2, 2), "bias", 1, 2, 0), ValueError),
        (lambda f, p: p.ln_structured(f.nn.Linear(2, 2), "weight", 1, 2, 2), IndexError),
        (lambda f, p: p.remove(f.nn.Linear(2, 2), "weight"), ValueError),
        (lambda f, p: p.global_unstructured(3, p.L1Unstructured, amount=1), TypeError),
        (lambda f, p: p.l1_unstructured(f.nn.Linear(2, 2), "weight", 1, f.ones(3)), AssertionError),
    ],
)
def test_errors_leave_the_module_alone(call, kind):
    for framework in FRAMEWORKS:
        with pytest.raises(kind):
            call(framework, framework.nn.utils.prune)
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="should be smaller than the number of parameters"):
        nn.utils.prune.l1_unstructured(layer, "weight", 9)
    assert list(layer.state_dict()) == ["weight", "bias"] and not nn.utils.prune.is_pruned(layer)
