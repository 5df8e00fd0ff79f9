"""`torch.mps`: there is no backend for Apple's GPUs."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether tensors can be on an Apple GPU: no.

    >>> import pellucid as torch
    >>> torch.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """How many Apple GPUs there are to use: none.

    >>> import pellucid as torch
    >>> torch.mps.device_count()
    0
    """
    return 0


def _none(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError, since there is no backend for Apple's GPUs."""
    raise RuntimeError("Pellucid has no MPS backend: use device='cpu', or ask torch.mps.is_available() first")


synchronize = empty_cache = manual_seed = seed = get_rng_state = set_rng_state = current_allocated_memory = _none
