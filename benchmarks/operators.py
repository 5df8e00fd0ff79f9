"""Single operators, forward and where it says so backward, against PyTorch with the same threads and data."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.pairs import Action, compare
from benchmarks.table import PAIRS, Table

Make = Callable[[ModuleType], Action]
_MILLIONS = 1 << 20


def tensor(framework: ModuleType, *shape: int, grad: bool = False, seed: int = 0) -> Any:
    """The same normal numbers in either framework."""
    made = framework.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))
    return made.requires_grad_() if grad else made


def add(framework: ModuleType) -> Action:
    """add, 4 M elements, new result"""
    a, b = tensor(framework, 4 * _MILLIONS), tensor(framework, 4 * _MILLIONS, seed=1)
    return lambda: a + b


def gelu_chain(framework: ModuleType) -> Action:
    """GELU(x w + b) as three operators, 4 M"""
    x, w, b = [tensor(framework, 4 * _MILLIONS, seed=each) for each in range(3)]
    gelu = framework.nn.functional.gelu
    return lambda: gelu(x * w + b)


def both_ways(framework: ModuleType, function: Callable[[Any], Any], *shape: int) -> Action:
    """Forward and backward of a function of one tensor."""
    x = tensor(framework, *shape, grad=True)
    y = function(x)
    cotangent = None if not y.ndim else tensor(framework, *y.shape, seed=1)

    def action() -> Any:
        x.grad = None
        function(x).backward(cotangent)
        return x.grad

    return action


def softmax(framework: ModuleType) -> Action:
    """softmax, forward and backward, 4096 x 1024"""
    return both_ways(framework, lambda x: framework.softmax(x, -1), 4096, 1024)


def layer_norm(framework: ModuleType) -> Action:
    """LayerNorm, forward and backward, 4096 x 1024"""
    weight, bias = tensor(framework, 1024, grad=True), tensor(framework, 1024, grad=True)
    function = framework.nn.functional.layer_norm
    return both_ways(framework, lambda x: function(x, (1024,), weight, bias), 4096, 1024)


def cross_entropy(framework: ModuleType) -> Action:
    """cross-entropy, forward and backward, 4096 x 1024"""
    target = framework.tensor(np.random.default_rng(0).integers(0, 1024, 4096))
    return both_ways(framework, lambda x: framework.nn.functional.cross_entropy(x, target), 4096, 1024)


def reduction(name: str, dims: tuple[int, ...]) -> Make:
    """One reduction of 16 M elements."""

    def make(framework: ModuleType) -> Action:
        x = tensor(framework, 4096, 4096)
        if name == "max":
            return lambda: framework.amax(x, dims)
        return lambda: getattr(framework, name)(x, dims)

    where = {(0,): "outer axis", (1,): "inner axis", (0, 1): "all axes"}[dims]
    make.__doc__ = f"{name} over {where}, 16 M"
    return make


def embedding(framework: ModuleType) -> Action:
    """embedding and its gradient, 50k x 256, 8192 indices"""
    index = framework.tensor(np.random.default_rng(0).integers(0, 50_000, 8192))
    return both_ways(framework, lambda table: framework.nn.functional.embedding(index, table), 50_000, 256)


def adamw(framework: ModuleType) -> Action:
    """AdamW step, 11 M parameters in 60 tensors"""
    parameters = [framework.nn.Parameter(tensor(framework, 430, 430, seed=each)) for each in range(60)]
    for number, each in enumerate(parameters):
        each.grad = tensor(framework, 430, 430, seed=100 + number)
    return framework.optim.AdamW(parameters, lr=1e-3).step


def small_add(framework: ModuleType) -> Action:
    """16-element add, no gradient"""
    a, b = tensor(framework, 16), tensor(framework, 16, seed=1)
    return lambda: a + b


def small_add_with_gradient(framework: ModuleType) -> Action:
    """16-element add, with gradient"""
    a, b = tensor(framework, 16), tensor(framework, 16, seed=1, grad=True)
    return lambda: a + b


def max_pool(framework: ModuleType) -> Action:
    """max pooling 3 x 3, stride 2, forward and backward, 16 x 64 x 112 x 112"""
    pool = framework.nn.functional.max_pool2d
    return both_ways(framework, lambda x: pool(x, 3, 2, 1), 16, 64, 112, 112)


def batch_norm(framework: ModuleType) -> Action:
    """BatchNorm in training, forward and backward, 16 x 64 x 56 x 56"""
    norm = framework.nn.BatchNorm2d(64)
    return both_ways(framework, norm, 16, 64, 56, 56)


_WORKS: list[Make] = [
    add, gelu_chain, softmax, layer_norm, cross_entropy,
    *[reduction(name, dims) for name in ("sum", "mean", "var", "max") for dims in ((1,), (0,), (0, 1))],
    embedding, adamw, max_pool, batch_norm, small_add, small_add_with_gradient,
]  # fmt: skip


def _check_same(ours: Action, theirs: Action, name: str) -> None:
    found, expected = ours(), theirs()
    if expected is None:  # an optimizer's step
        return
    a, b = [np.asarray(each.detach().numpy()) for each in (found, expected)]
    if not np.allclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(b).max()))):
        raise AssertionError(f"{name}: the two frameworks computed different things")


def run() -> Table:
    """Time every operator of the list."""
    threads = pellucid.get_num_threads()
    torch.set_num_threads(threads)
    notes = f"Median of 15 pairs; PyTorch {torch.__version__} eager, both with {threads} threads, float32."
    table = Table("operators", PAIRS, notes)
    for make in _WORKS:
        name = make.__doc__ or ""
        ours, theirs = make(pellucid), make(torch)
        _check_same(ours, theirs, name)
        table.add(name, *compare(ours, theirs).cells())
    return table
