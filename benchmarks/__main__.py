"""Run benchmarks: `python -m benchmarks [NAME ...]`, all without a name; `--write` puts them into RESULTS.md."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
from pathlib import Path

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "RESULTS.md"
FRAME = {"__init__", "__main__", "models", "pairs", "table"}
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in FRAME)


def machine() -> str:
    """What the numbers belong to, in a line."""
    cpu = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpu.read_text()) if cpu.exists() else None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    name = model.group(1) if model else platform.processor()
    return f"{name}, {cores} cores, Python {platform.python_version()}, {platform.system()}."


def write(name: str, section: str) -> None:
    """Replace a benchmark's section of RESULTS.md, or add it at the end."""
    text = RESULTS.read_text(encoding="utf-8")
    pattern = re.compile(rf"^## {re.escape(name)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(text):
        text = pattern.sub(lambda _: section + "\n", text)
    else:
        text = text.rstrip() + "\n\n" + section
    RESULTS.write_text(text.rstrip() + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(NAMES)}")
    parser.add_argument("--write", action="store_true", help="also put the results into RESULTS.md")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    print(machine())
    for name in options.names or NAMES:
        table = importlib.import_module(f"benchmarks.{name}").run()
        table.notes += f" {machine()}"
        print("\n" + table.markdown(), flush=True)
        if options.write:
            write(name, table.markdown())


if __name__ == "__main__":
    main()
