"""Convolutions at the shapes of ResNet-18/50, MobileNet, audio and video: forward, and forward with both gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.pairs import compare
from benchmarks.table import Table

PAIRS = 9
# name, batch, in, out, groups, size, kernel, stride, padding
SHAPES = [
    ("stem 7x7", 16, 3, 64, 1, (224, 224), 7, 2, 3),
    ("3x3, 64, 56²", 16, 64, 64, 1, (56, 56), 3, 1, 1),
    ("3x3, 64 to 128, 56², stride 2", 16, 64, 128, 1, (56, 56), 3, 2, 1),
    ("3x3, 128, 28²", 16, 128, 128, 1, (28, 28), 3, 1, 1),
    ("3x3, 128 to 256, 28², stride 2", 16, 128, 256, 1, (28, 28), 3, 2, 1),
    ("3x3, 256, 14²", 16, 256, 256, 1, (14, 14), 3, 1, 1),
    ("3x3, 256 to 512, 14², stride 2", 16, 256, 512, 1, (14, 14), 3, 2, 1),
    ("3x3, 512, 7²", 16, 512, 512, 1, (7, 7), 3, 1, 1),
    ("1x1, 64 to 128, 56², stride 2", 16, 64, 128, 1, (56, 56), 1, 2, 0),
    ("1x1, 64 to 256, 56²", 16, 64, 256, 1, (56, 56), 1, 1, 0),
    ("1x1, 256 to 64, 56²", 16, 256, 64, 1, (56, 56), 1, 1, 0),
    ("1x1, 256 to 512, 56², stride 2", 16, 256, 512, 1, (56, 56), 1, 2, 0),
    ("1x1, 512 to 128, 28²", 16, 512, 128, 1, (28, 28), 1, 1, 0),
    ("1x1, 128 to 512, 28²", 16, 128, 512, 1, (28, 28), 1, 1, 0),
    ("1x1, 1024 to 256, 14²", 16, 1024, 256, 1, (14, 14), 1, 1, 0),
    ("1x1, 256 to 1024, 14²", 16, 256, 1024, 1, (14, 14), 1, 1, 0),
    ("1x1, 2048 to 512, 7²", 16, 2048, 512, 1, (7, 7), 1, 1, 0),
    ("1x1, 512 to 2048, 7²", 16, 512, 2048, 1, (7, 7), 1, 1, 0),
    ("depthwise 3x3, 64, 112²", 16, 64, 64, 64, (112, 112), 3, 1, 1),
    ("depthwise 3x3, 128, 56², stride 2", 16, 128, 128, 128, (56, 56), 3, 2, 1),
    ("depthwise 3x3, 512, 14²", 16, 512, 512, 512, (14, 14), 3, 1, 1),
    ("depthwise 5x5, 960, 7²", 16, 960, 960, 960, (7, 7), 5, 1, 2),
    ("1-D audio, 1 to 64, 16000, kernel 10, stride 5", 16, 1, 64, 1, (16000,), 10, 5, 0),
    ("1-D audio, 256, 1000, kernel 3", 16, 256, 256, 1, (1000,), 3, 1, 1),
    ("3-D 3x3x3, 32 to 64, 8x28²", 4, 32, 64, 1, (8, 28, 28), 3, 1, 1),
]


def made(framework: ModuleType, *shape: int, seed: int) -> Any:
    """The same normal numbers in either framework, with a gradient."""
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return framework.from_numpy(values).requires_grad_()


def passes(framework: ModuleType, row: tuple[Any, ...], layout: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Forward, and forward with both gradients."""
    _, batch, inputs, outputs, groups, size, kernel, stride, padding = row
    function = getattr(framework.nn.functional, f"conv{len(size)}d")
    x = made(framework, batch, inputs, *size, seed=0)
    weight = made(framework, outputs, inputs // groups, *[kernel] * len(size), seed=1)
    if layout is not None:
        x, weight = (each.detach().to(memory_format=layout).requires_grad_() for each in (x, weight))
    how = {"stride": stride, "padding": padding, "groups": groups}
    dy = framework.ones_like(function(x, weight, **how)) * 0.5

    def forward() -> Any:
        with framework.no_grad():
            return function(x, weight, **how)

    def both() -> Any:
        return framework.autograd.grad(function(x, weight, **how), [x, weight], dy)

    return forward, both


def agree(ours: Any, theirs: Any, name: str) -> None:
    """Stop if the two frameworks did not compute the same."""
    for our, their in zip(ours, theirs, strict=True):
        scale = max(1.0, float(their.abs().max()))
        difference = float(np.abs(our.detach().numpy() - their.detach().numpy()).max())
        if not difference < 2e-4 * scale:
            raise AssertionError(f"{name}: results differ by {difference}")


def run() -> Table:
    notes = (
        f"Median of {PAIRS} pairs, times of Pellucid and the ratio to PyTorch {torch.__version__} eager with "
        f"{torch.get_num_threads()} threads; in brackets, PyTorch with channels_last. float32."
    )
    table = Table("convolution", ["shape", "forward", "ratio", "forward + backward", "ratio"], notes)
    logs: tuple[list[float], list[float]] = ([], [])
    for row in SHAPES:
        ours, theirs = passes(pellucid, row, None), passes(torch, row, None)
        agree([ours[0]()], [theirs[0]()], row[0])
        agree(ours[1](), theirs[1](), row[0])
        last = passes(torch, row, torch.channels_last) if len(row[5]) == 2 else None
        cells = [row[0]]
        for kind in (0, 1):
            found = compare(ours[kind], theirs[kind], PAIRS)
            logs[kind].append(math.log(found.ratio))
            other = f" ({compare(ours[kind], last[kind], PAIRS).ratio:.2f})" if last else ""
            cells += [found.cells()[0], f"{found.ratio:.2f}{other}"]
        table.add(*cells)
    means = [f"{math.exp(sum(each) / len(each)):.2f}" for each in logs]
    table.add("geometric mean", "", means[0], "", means[1])
    return table
