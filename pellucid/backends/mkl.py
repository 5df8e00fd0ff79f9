"""`torch.backends.mkl`: MKL is not used."""

from __future__ import annotations


def is_available() -> bool:
    """Whether MKL can be used: no.

    >>> import pellucid as torch
    >>> torch.backends.mkl.is_available()
    False
    """
    return False
