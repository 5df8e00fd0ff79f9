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
