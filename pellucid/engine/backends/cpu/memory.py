"""Freed memory is kept by the C library's allocator up to a bound, so that the next tensor meets no page faults.

A fresh page costs the kernel more time than an addition of its content costs us. NumPy allocates with `malloc`; by
default glibc hands blocks of 32 MiB and more straight back to the system, and trims the rest. Here it keeps up to
`PELLUCID_CACHE_BYTES` (1 GiB; 0 leaves the allocator alone).
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's malloc.h


@functools.cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def bound() -> int:
    """The bytes that may be kept; a ValueError for a setting that is no size."""
    given = os.environ.get("PELLUCID_CACHE_BYTES", str(1 << 30))
    try:
        size = int(given)
    except ValueError:
        size = -1
    if size < 0:
        raise ValueError(f"PELLUCID_CACHE_BYTES must be a number of bytes (0: keep nothing), not {given!r}")
    return size


@functools.cache
def keep_freed_memory() -> None:
    """Tell the allocator, once per process."""
    size = bound()
    library = _library()
    if library is not None and size:
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, min(size, 2**31 - 1))


def give_back() -> None:
    """Hand what is kept back to the system."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


class _Information(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                     "keepcost")
    ]  # fmt: skip


def statistics() -> dict[str, int]:
    """Bytes in use, kept and taken from the system by this process's allocator; empty where it does not tell."""
    library = _library()
    if library is None or not hasattr(library, "mallinfo2"):
        return {}
    library.mallinfo2.restype = _Information
    found = library.mallinfo2()
    return {
        "allocated_bytes.all.current": found.uordblks + found.hblkhd,
        "reserved_bytes.all.current": found.arena + found.hblkhd,
        "inactive_split_bytes.all.current": found.fordblks,
    }
