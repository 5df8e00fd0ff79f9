"""Scaled dot-product attention, forward and backward, in both frameworks."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.pairs import compare
from benchmarks.table import PAIRS, Table

# name, batch, heads, positions, depth, causal
WORKS = [
    ("8 heads, 512 x 64, causal", 1, 8, 512, 64, True),
    ("8 heads, 512 x 64", 1, 8, 512, 64, False),
    ("batch 4, 6 heads, 256 x 64, causal", 4, 6, 256, 64, True),
    ("12 heads, 1024 x 64, causal", 1, 12, 1024, 64, True),
]


def action(framework: ModuleType, work: tuple[Any, ...]) -> Callable[[], Any]:
    """Forward and backward of one attention."""
    _, batch, heads, positions, depth, causal = work
    random = np.random.default_rng(0)
    given = [
        framework.from_numpy(random.standard_normal((batch, heads, positions, depth)).astype(np.float32))
        for _ in range(4)
    ]
    inputs = [each.requires_grad_() for each in given[:3]]
    attend = framework.nn.functional.scaled_dot_product_attention
    return lambda: framework.autograd.grad(attend(*inputs, is_causal=causal), inputs, given[3])


def run() -> Table:
    notes = f"Median of 15 pairs; PyTorch {torch.__version__} eager with {torch.get_num_threads()} threads, float32."
    table = Table("attention", PAIRS, notes)
    for work in WORKS:
        ours, theirs = action(pellucid, work), action(torch, work)
        for our, their in zip(ours(), theirs(), strict=True):
            if not np.allclose(our.numpy(), their.numpy(), atol=1e-4):
                raise AssertionError(f"{work[0]}: the two frameworks computed different things")
        table.add(work[0], *compare(ours, theirs).cells())
    return table
