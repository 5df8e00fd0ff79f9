"""`torch.backends.mps`: there is no backend for Apple's GPUs."""

from __future__ import annotations


def is_built() -> bool:
    """Whether there is a backend for Apple's GPUs: no.

    >>> import pellucid as torch
    >>> torch.backends.mps.is_built()
    False
    """
    return False


def is_available() -> bool:
    """Whether tensors can be on an Apple GPU: no.

    >>> import pellucid as torch
    >>> torch.backends.mps.is_available()
    False
    """
    return False
