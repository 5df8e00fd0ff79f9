"""`torch.xpu`: there is no backend for Intel's GPUs."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether tensors can be on an Intel GPU: no.

    >>> import pellucid as torch
    >>> torch.xpu.is_available()
    False
    """
    return False


def device_count() -> int:
    """How many Intel GPUs there are to use: none.

    >>> import pellucid as torch
    >>> torch.xpu.device_count()
    0
    """
    return 0


def _none(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError, since there is no backend for Intel's GPUs."""
    raise RuntimeError("Pellucid has no XPU backend: use device='cpu', or ask torch.xpu.is_available() first")


synchronize = empty_cache = manual_seed = seed = get_rng_state = set_rng_state = current_allocated_memory = _none
