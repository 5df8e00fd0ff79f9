"""PyTorch's `torch.utils`: data loading, checkpointing, hooks and more; each part loads when it is first asked for."""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Load a part on first use; AttributeError for what there is not."""
    try:
        return importlib.import_module(f"pellucid.utils.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"pellucid.utils.{name}":
            raise
    raise AttributeError(
        f"module 'pellucid.utils' has no attribute '{name}': Pellucid does not have torch.utils.{name}"
    )
