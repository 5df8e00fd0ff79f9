"""Where core finds compiled kernels: a backend by device name, imported on first use."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from typing import Any


@functools.cache
def of_cpu() -> Any:
    """The cpu backend; None with `PELLUCID_KERNELS=numpy`, and where llvmlite is not installed."""
    if os.environ.get("PELLUCID_KERNELS", "cpu") == "numpy" or importlib.util.find_spec("llvmlite") is None:
        return None
    return importlib.import_module("pellucid.engine.backends.cpu").backend()


def update(rule: Any, items: list[Any], settings: dict[str, Any]) -> list[Any]:
    """Apply an optimizer's rule to (parameter, gradient, state) items in compiled loops; the items it has to do itself."""
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
