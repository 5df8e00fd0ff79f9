"""`torch.backends.opt_einsum`: the package is not used."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether opt_einsum chooses the order of contractions: no.

    >>> import pellucid as torch
    >>> torch.backends.opt_einsum.is_available()
    False
    """
    return False
