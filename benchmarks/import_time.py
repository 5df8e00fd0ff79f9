"""How long `import pellucid` takes, beside `import numpy` and `import torch`, in fresh interpreters."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from benchmarks.pairs import duration
from benchmarks.table import Table

RUNS = 15
PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds_to_import(package: str) -> float:
    """The time that the import statement takes in a new process; the interpreter's own start is not part of it."""
    command = [sys.executable, "-c", PROGRAM.format(package)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def run() -> Table:
    packages = ["numpy", "pellucid", "torch"]
    for package in packages:
        seconds_to_import(package)  # bytecode is written and files are cached
    times: dict[str, list[float]] = {package: [] for package in packages}
    for _ in range(RUNS):
        for package in packages:
            times[package].append(seconds_to_import(package))
    numpy = statistics.median(times["numpy"])
    notes = f"Median of {RUNS} fresh processes each, taken in turn, files cached."
    table = Table("import_time", ["import", "median", "fastest", "times numpy", "above numpy"], notes)
    for package, seconds in times.items():
        median = statistics.median(seconds)
        above = f"{(median - numpy) * 1000:.0f} ms"
        table.add(package, duration(median), duration(min(seconds)), f"{median / numpy:.2f}", above)
    return table
