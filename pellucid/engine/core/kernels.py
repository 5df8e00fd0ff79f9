"""Where core finds compiled kernels: a backend by device name, imported on first use, and the choice not to use it."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("cpu", "numpy")


class _Choice:
    """What this process computes with: unknown until the first operator, then a backend or None (the references)."""

    known = False
    backend: Any = None


def of_cpu() -> Any:
    """The cpu backend; None with `PELLUCID_KERNELS=numpy`, and where llvmlite is not installed."""
    if not _Choice.known:
        _Choice.backend = _backend(os.environ.get("PELLUCID_KERNELS", "cpu"))
        _Choice.known = True
    return _Choice.backend


def _backend(name: str) -> Any:
    if name not in NAMES:
        raise ValueError(f"PELLUCID_KERNELS must be 'cpu' or 'numpy', not {name!r}")
    if name == "numpy" or importlib.util.find_spec("llvmlite") is None:
        return None
    return importlib.import_module("pellucid.engine.backends.cpu").backend()


@contextmanager
def using(name: str) -> Iterator[None]:
    """Compute with other kernels inside the block; plans that were made with the old ones are forgotten."""
    before = of_cpu()
    _switch(_backend(name))
    try:
        yield
    finally:
        _switch(before)


def _switch(backend: Any) -> None:
    from pellucid.engine.core.graph import by_name

    _Choice.backend = backend
    for op in by_name.values():
        if hasattr(op, "plans"):
            op.plans.clear()
            for rule in op.rules:
                rule.fused.clear()


def update(rule: Any, items: list[Any], settings: dict[str, Any]) -> list[Any]:
    """Apply a rule to (parameter, gradient, state) items in compiled loops; the items that it has to do itself."""
    backend = of_cpu()
    return backend.update(rule, items, settings) if backend else items


def empty_cache() -> None:
    """Give freed memory that the backend keeps back to the system."""
    backend = of_cpu()
    if backend:
        backend.empty_cache()


def memory_statistics() -> dict[str, int]:
    """Bytes in use, taken from the system, and kept, as the backend counts them."""
    backend = of_cpu()
    return backend.memory_statistics() if backend else {}


def set_threads(count: int) -> None:
    """Tell a backend that is in use how many threads its kernels may take; another one asks when it starts."""
    if _Choice.known and _Choice.backend:
        _Choice.backend.set_threads(count)
