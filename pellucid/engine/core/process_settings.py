"""Switches of the whole process that programs set on any machine, and what they come to here."""

from __future__ import annotations

import warnings


class _Settings:
    warn_always = False


def get_num_interop_threads() -> int:
    """How many operators run at the same time: 1, since each waits for the one before.

    >>> import pellucid as torch
    >>> torch.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(num: int) -> None:
    """Operators run one after the other, so that any number but 1 only gives a warning; `set_num_threads` is for within
    one.

    >>> import pellucid as torch
    >>> torch.set_num_interop_threads(1)
    """
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {num}")
    if num > 1:
        warnings.warn(f"set_num_interop_threads({num}) has no effect: operators run one after the other", stacklevel=2)


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers could be made to count as 0: False, they are always computed with.

    >>> import pellucid as torch
    >>> torch.set_flush_denormal(True)
    False
    """
    return False


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given.

    >>> import pellucid as torch
    >>> torch.is_warn_always_enabled()
    False
    """
    return _Settings.warn_always


def set_warn_always(b: bool, /) -> None:
    """Remembered only: warnings go through Python's `warnings`, whose filters decide how often each is shown.

    >>> import pellucid as torch
    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _Settings.warn_always = b
