"""How much disk Pellucid and PyTorch take with all that they need, counted from the installed files."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

import pellucid
from benchmarks.table import Table


def closure(package: str) -> set[str]:
    """The package and everything that it requires, extras aside, as far as it is installed."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        found.add(name)
        waiting += [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed if "extra ==" not in line]
    return found


def size_of(package: str) -> int:
    """Bytes of a package's installed files, without bytecode; Pellucid's are those of its folder."""
    if package == "pellucid":
        paths = list(Path(pellucid.__file__).parent.rglob("*"))
    else:
        paths = [Path(str(file.locate())) for file in distribution(package).files or []]
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())


def run() -> Table:
    table = Table("installed_size", ["package", "own files", "with all that it needs", "packages"],
                  "Sizes on disk in this environment, bytecode left out.")  # fmt: skip
    for package in ("pellucid", "torch"):
        needed = closure(package)
        total = sum(size_of(name) for name in needed)
        table.add(package, f"{size_of(package) / 1e6:.1f} MB", f"{total / 1e6:.0f} MB", ", ".join(sorted(needed)))
    return table
