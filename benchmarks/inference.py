"""ResNet-50 on 224 x 224 images without gradients, one image and eight."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.models import resnet50
from benchmarks.pairs import compare
from benchmarks.table import PAIRS, Table


def forward_of(framework: ModuleType, batch: int, channels_last: bool = False) -> Callable[[], Any]:
    """A function that classifies always the same images."""
    framework.manual_seed(0)
    model = resnet50(framework).eval()
    images = framework.randn(batch, 3, 224, 224)
    if channels_last:
        model, images = (
            model.to(memory_format=framework.channels_last),
            images.to(memory_format=framework.channels_last),
        )

    def action() -> Any:
        with framework.no_grad():
            return model(images)

    return action


def run() -> Table:
    """Time both batch sizes, against PyTorch's usual layout and its channels_last."""
    threads = pellucid.get_num_threads()
    torch.set_num_threads(threads)
    notes = f"Median of 9 pairs; PyTorch {torch.__version__} eager, both with {threads} threads, float32."
    table = Table("inference", PAIRS, notes)
    for batch in (1, 8):
        ours = forward_of(pellucid, batch)
        for channels_last in (False, True):
            theirs = forward_of(torch, batch, channels_last)
            found, expected = ours().numpy(), theirs().numpy()
            if not np.allclose(found, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max())):
                raise AssertionError("the two frameworks classified differently")
            name = f"ResNet-50, batch {batch}" + (", PyTorch in channels_last" if channels_last else "")
            table.add(name, *compare(ours, theirs, pairs=9).cells())
    return table
