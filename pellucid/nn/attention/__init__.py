"""Naming the implementation of scaled dot-product attention, as PyTorch programs do; Pellucid has one, which serves for
all names.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """PyTorch's names for its implementations of attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


class _Chosen:
    """The names that the innermost `sdpa_kernel` gave, for those who ask."""

    backends: list[SDPBackend] = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """While it lasts, attention may use these implementations, in this order with `set_priority`; there is one for all
    names.

    So results do not depend on it.

    >>> import pellucid as torch
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     pass
    """
    if isinstance(backends, SDPBackend):
        backends = [backends]
    if not isinstance(backends, list) or not all(isinstance(each, SDPBackend) for each in backends):
        kind = type(backends).__name__
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {kind}")
    outer, _Chosen.backends = _Chosen.backends, list(dict.fromkeys(backends))
    try:
        yield
    finally:
        _Chosen.backends = outer


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The names that are chosen now."""
    return list(_Chosen.backends)
