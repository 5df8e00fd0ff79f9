"""Resident memory at its highest during three training steps, above what the imports take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.table import Table

_PROGRAM = """
import resource
import {name} as framework
from benchmarks.training_step import {step}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
framework.manual_seed(0)
step = {step}(framework)
for _ in range(3):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _megabytes(name: str, step: str) -> float:
    program = _PROGRAM.format(name=name, step=step)
    root = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=root)
    return int(found.stdout) / 1024


def run() -> Table:
    """Each step in a fresh process of its own, which has imported both frameworks."""
    notes = f"Three steps in a fresh process each; PyTorch {torch.__version__} eager; what imports take is subtracted."
    table = Table("peak_memory", ["", "Pellucid", "PyTorch", "ratio"], notes)
    for title, step in (("MLP", "mlp_step"), ("GPT", "gpt_step"), ("ResNet-18", "resnet_step")):
        ours, theirs = _megabytes("pellucid", step), _megabytes("torch", step)
        table.add(title, f"{ours:.0f} MB", f"{theirs:.0f} MB", f"{ours / theirs:.2f}")
    return table
