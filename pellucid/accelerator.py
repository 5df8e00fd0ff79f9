"""`torch.accelerator`: there is none."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is an accelerator: no.

    >>> import pellucid as torch
    >>> torch.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """How many accelerators there are: none.

    >>> import pellucid as torch
    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """The accelerator's device: None.

    >>> import pellucid as torch
    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return None


def _none(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError, since there is no accelerator."""
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Ask torch.accelerator.is_available() first."
    )


synchronize = current_device_index = set_device_index = current_stream = set_stream = empty_cache = _none
