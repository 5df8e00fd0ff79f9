"""`torch.backends.openmp`: OpenMP is not used."""

from __future__ import annotations


def is_available() -> bool:
    """Whether OpenMP can be used: no.

    >>> import pellucid as torch
    >>> torch.backends.openmp.is_available()
    False
    """
    return False
