"""From starting Python to the end of the first ResNet-18 training step, with an empty and with a warm kernel cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.table import Table

_ROUNDS = 3
_PROGRAM = """
import {name} as framework
from benchmarks.training_step import resnet_step
framework.manual_seed(0)
resnet_step(framework)()
"""
_IMPORT = "import {name}\nimport torch\nfrom benchmarks.training_step import resnet_step\n"


def _seconds(program: str, folder: str) -> float:
    started = time.perf_counter()
    environment = {**os.environ, "PELLUCID_CACHE_DIR": folder}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=Path(__file__).parents[1])
    return time.perf_counter() - started


def run() -> Table:
    """Each program runs in a fresh process; the imports alone are timed too and subtracted."""
    notes = f"Medians of {_ROUNDS} fresh processes each, imports (of both frameworks) subtracted; batch 64, 32 x 32."
    table = Table("first_step", ["", "above imports", "kernels", "cache"], notes)
    rows: dict[str, list[float]] = {
        "Pellucid, empty cache": [],
        "Pellucid, warm cache": [],
        f"PyTorch {torch.__version__}": [],
    }
    kernels = size = 0
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            above = _seconds(_IMPORT.format(name="pellucid"), folder)
            for name in list(rows)[:2]:
                rows[name].append(_seconds(_PROGRAM.format(name="pellucid"), folder) - above)
            entries = list(Path(folder).rglob("*.o"))
            kernels, size = len(entries), sum([each.stat().st_size for each in entries])
            rows[list(rows)[2]].append(_seconds(_PROGRAM.format(name="torch"), folder) - above)
    for name, seconds in rows.items():
        ours = name.startswith("Pellucid")
        table.add(
            name,
            f"{statistics.median(seconds):.2f} s",
            str(kernels) if ours else "",
            f"{size / 1e6:.1f} MB" if ours else "",
        )
    return table
