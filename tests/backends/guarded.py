"""Arrays that end, or begin, where memory may not be touched: a kernel that leaves them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

_library = ctypes.CDLL(None, use_errno=True)
_kept: list[mmap.mmap] = []


def guarded(x: np.ndarray, at_end: bool = True) -> np.ndarray:
    """A copy of `x`, in the same layout, that adjoins a page nobody may touch: behind it, or in front."""
    span = sum((size - 1) * step for size, step in zip(x.shape, x.strides, strict=True)) + x.itemsize if x.size else 0
    page = mmap.PAGESIZE
    pages = -(-max(span, 1) // page)
    memory = mmap.mmap(-1, (pages + 2) * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    _kept.append(memory)
    for closed in (address, address + (pages + 1) * page):
        if _library.mprotect(ctypes.c_void_p(closed), ctypes.c_size_t(page), 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    start = page + (pages * page - span if at_end else 0)
    made: Any = np.ndarray(x.shape, x.dtype, memory, start, x.strides)
    made[...] = x
    return made
