"""LSTM and GRU over a sequence, forward and backward, in both frameworks."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.pairs import compare
from benchmarks.table import PAIRS, Table


def action(framework: ModuleType, kind: str) -> Callable[[], Any]:
    """Two layers of 256, 64 steps, batch 32."""
    framework.manual_seed(0)
    layer = getattr(framework.nn, kind)(256, 256, num_layers=2)
    x = framework.from_numpy(np.random.default_rng(0).standard_normal((64, 32, 256)).astype(np.float32))
    inputs = [x.requires_grad_(), *layer.parameters()]

    def step() -> Any:
        return framework.autograd.grad(layer(x)[0].square().mean(), inputs)[0]

    return step


def run() -> Table:
    """Time both."""
    threads = pellucid.get_num_threads()
    torch.set_num_threads(threads)
    notes = f"Median of 15 pairs; PyTorch {torch.__version__} eager, both with {threads} threads, float32."
    table = Table("recurrent", PAIRS, notes)
    for kind in ("LSTM", "GRU"):
        ours, theirs = action(pellucid, kind), action(torch, kind)
        if not np.allclose(ours().numpy(), theirs().numpy(), rtol=1e-3, atol=1e-7):
            raise AssertionError(f"{kind}: the two frameworks computed different things")
        table.add(f"{kind} 2 x 256, 64 steps, batch 32, forward and backward", *compare(ours, theirs).cells())
    return table
