"""A whole training step (forward, loss, backward, optimizer) of an MLP, a ResNet-18 and a GPT, in both frameworks."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import pellucid
from benchmarks.models import gpt, resnet18
from benchmarks.pairs import compare
from benchmarks.table import PAIRS, Table

Step = Callable[[], Any]


def mlp_step(framework: ModuleType) -> Step:
    """MLP 784-128-10, batch 64, SGD with momentum"""
    nn = framework.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = framework.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return step_of(framework, model, optimizer, framework.randn(64, 784), framework.randint(0, 10, (64,)))


def resnet_step(framework: ModuleType) -> Step:
    """ResNet-18 on CIFAR shapes, batch 64, SGD with momentum and weight decay"""
    model = resnet18(framework, classes=10, small_images=True)
    optimizer = framework.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    return step_of(framework, model, optimizer, framework.randn(64, 3, 32, 32), framework.randint(0, 10, (64,)))


def gpt_step(framework: ModuleType) -> Step:
    """GPT, 6 layers, width 384, 256 tokens, batch 4, AdamW"""
    model = gpt(framework, vocabulary=1000, layers=6, width=384, heads=6, context=256)
    optimizer = framework.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = framework.randint(0, 1000, (4, 256))
    return step_of(framework, model, optimizer, tokens, framework.randint(0, 1000, (4 * 256,)))


def step_of(framework: ModuleType, model: Any, optimizer: Any, inputs: Any, labels: Any) -> Step:
    """A function that trains one step, always on the same batch, and returns the loss."""

    def step() -> Any:
        optimizer.zero_grad()
        found = model(inputs)
        loss = framework.nn.functional.cross_entropy(found.view(-1, found.shape[-1]), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def run() -> Table:
    """Time the three steps; the losses of the first two must agree."""
    threads = pellucid.get_num_threads()
    torch.set_num_threads(threads)
    notes = f"Median of the pairs; PyTorch {torch.__version__} eager, both with {threads} threads, float32."
    table = Table("training_step", PAIRS, notes)
    for build, pairs in ((mlp_step, 15), (gpt_step, 9), (resnet_step, 9)):
        steps = []
        for framework in (pellucid, torch):
            framework.manual_seed(0)
            steps.append(build(framework))
        for _ in range(2):
            ours, theirs = [step().item() for step in steps]
            if abs(ours - theirs) > 1e-2 * abs(theirs):
                raise AssertionError(f"{build.__doc__}: losses {ours} and {theirs} part")
        table.add(build.__doc__ or "", *compare(*steps, pairs=pairs).cells())
    return table
