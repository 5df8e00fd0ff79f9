"""Which operators have a kernel of their own here, and in which file; the rest is pointwise or runs its reference."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pellucid.engine.core.meta import Meta

Kernel = Callable[[list[Any], dict[str, Any]], Any]
Maker = Callable[[Any, tuple[Any, ...], tuple[Meta, ...], dict[str, Any]], Kernel | None]

_makers: dict[str, list[Maker]] = {}
# The file whose import registers an operator's kernels; files load when the first such operator is planned.
FILES: dict[str, str] = {}
_loaded: set[str] = set()


def kernel(*names: str) -> Callable[[Maker], Maker]:
    """Register a maker for these operators: (op, operand metas, result metas, settings) -> a kernel, or None."""

    def register(maker: Maker) -> Maker:
        for name in names:
            _makers.setdefault(name, []).append(maker)
        return maker

    return register


def kernel_for(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Kernel | None:
    """The first registered kernel that takes these operands; None where the reference runs."""
    file = FILES.get(op.name)
    if file is not None and file not in _loaded:
        importlib.import_module(f"pellucid.engine.backends.cpu.{file}")
        _loaded.add(file)
    for maker in _makers.get(op.name, ()):
        found = maker(op, metas, results, settings)
        if found is not None:
            return found
    return None
