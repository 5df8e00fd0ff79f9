"""`torch.backends.cudnn`: cuDNN is not there; its flags hold what was set."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

enabled = True
benchmark = False
benchmark_limit: int | None = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN can be used: no.

    >>> import pellucid as torch
    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


def version() -> int | None:
    """The version of cuDNN: None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would compute on this tensor: no."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Set the flags that are given, and return the former values of all."""
    global enabled, benchmark, benchmark_limit, deterministic, allow_tf32
    former = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    enabled = enabled if _enabled is None else _enabled
    benchmark = benchmark if _benchmark is None else _benchmark
    benchmark_limit = benchmark_limit if _benchmark_limit is None else _benchmark_limit
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return former


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """The flags inside a `with` block."""
    former = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*former)
