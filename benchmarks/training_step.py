"""A step of training (forward, loss, backward, AdamW) of a small MLP and a small CNN, in both frameworks."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import torch

import pellucid
from benchmarks.pairs import compare
from benchmarks.table import PAIRS, Table


def mlp(framework: ModuleType) -> tuple:
    """Three layers of 256 on 128 rows of 64 numbers."""
    nn = framework.nn
    layers = [nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers), framework.randn(128, 64)


def cnn(framework: ModuleType) -> tuple:
    """Four convolutions with BatchNorm on 64 images of 16x16."""
    nn = framework.nn

    def block(inputs: int, outputs: int, stride: int) -> list:
        conv = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        return [conv, nn.BatchNorm2d(outputs), nn.ReLU()]

    body = [*block(3, 16, 1), *block(16, 16, 1), *block(16, 32, 2), *block(32, 64, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*body, *head), framework.randn(64, 3, 16, 16)


def step_of(framework: ModuleType, build: Callable[[ModuleType], tuple]) -> Callable[[], object]:
    """A function that trains one step, always on the same batch."""
    framework.manual_seed(0)
    model, inputs = build(framework)
    labels = framework.randint(0, 10, (len(inputs),))
    optimizer = framework.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        framework.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return step


def run() -> Table:
    notes = f"Median of 15 pairs; PyTorch {torch.__version__} eager with {torch.get_num_threads()} threads."
    table = Table("training_step", PAIRS, notes)
    for build in (mlp, cnn):
        table.add(build.__doc__ or "", *compare(step_of(pellucid, build), step_of(torch, build)).cells())
    return table
