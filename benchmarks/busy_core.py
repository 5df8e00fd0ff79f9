"""How much a ResNet-18 training step slows down while another process keeps one of the cores busy."""

from __future__ import annotations

import statistics
import subprocess
import sys

import torch

import pellucid
from benchmarks.pairs import time_once
from benchmarks.table import Table
from benchmarks.training_step import resnet_step

_ROUNDS = 5
_BUSY = "while True: pass"


def run() -> Table:
    """Each round times both frameworks alone, then both beside a process that never rests."""
    threads = pellucid.get_num_threads()
    torch.set_num_threads(threads)
    steps = {}
    for framework in (pellucid, torch):
        framework.manual_seed(0)
        steps[framework.__name__] = resnet_step(framework)
        steps[framework.__name__]()
    seconds: dict[tuple[str, bool], list[float]] = {(name, busy): [] for name in steps for busy in (False, True)}
    for _ in range(_ROUNDS):
        for busy in (False, True):
            other = subprocess.Popen([sys.executable, "-c", _BUSY]) if busy else None
            for name, step in steps.items():
                seconds[name, busy].append(time_once(step, 1))
            if other is not None:
                other.kill()
                other.wait()
    notes = f"Medians of {_ROUNDS} rounds; PyTorch {torch.__version__} eager, both with {threads} threads."
    table = Table("busy_core", ["", "alone", "beside a busy process", "slowdown"], notes)
    for name in steps:
        alone, busy_time = [statistics.median(seconds[name, busy]) for busy in (False, True)]
        table.add(name, f"{alone * 1e3:.0f} ms", f"{busy_time * 1e3:.0f} ms", f"{busy_time / alone:.2f}")
    return table
