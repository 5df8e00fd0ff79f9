"""How many threads an operator may use: those of compiled kernels and those of NumPy's BLAS library alike.

`PELLUCID_NUM_THREADS` sets the number before the first operator; else it is BLAS's own choice, the processors in reach.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pellucid.engine.core import kernels

# OpenBLAS as NumPy's wheels rename it, and as distributions install it.
_NAMES = [(prefix, suffix) for prefix in ("scipy_openblas", "openblas") for suffix in ("64_", "_64", "")]


class _Library(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], object]


class _Found:
    library: _Library | None = None
    count: int | None = None
    looked = False


def get_num_threads() -> int:
    """The number of threads that an operator may use.

    >>> import pellucid as torch
    >>> torch.get_num_threads() >= 1
    True
    """
    if _Found.count is None:
        _Found.count = _initial()
    return _Found.count


def _initial() -> int:
    given = os.environ.get("PELLUCID_NUM_THREADS")
    library = _library()
    if given is None:
        return library.get() if library else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not given.isdigit() or not int(given):
        raise ValueError(f"PELLUCID_NUM_THREADS must be a positive integer, not {given!r}")
    if library:
        library.set(int(given))
    return int(given)


def set_num_threads(num: int) -> None:
    """Use at most this many threads within an operator; a RuntimeError for what is not a positive integer.

    >>> import pellucid as torch
    >>> before = torch.get_num_threads()
    >>> torch.set_num_threads(1)
    >>> torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {num}")
    library = _library()
    _Found.count = num
    kernels.set_threads(num)
    if library:
        library.set(num)
    elif kernels.of_cpu() is None and num > 1 or (os.cpu_count() or 1) > 1:
        warnings.warn(
            "set_num_threads has no effect: NumPy multiplies matrices with a library other than OpenBLAS here. "
            "Set OMP_NUM_THREADS before the program starts.",
            stacklevel=2,
        )


def _library() -> _Library | None:
    """OpenBLAS as this process has it loaded, looked for once."""
    if not _Found.looked:
        _Found.looked = True
        _Found.library = next(filter(None, map(_open, _candidates())), None)
    return _Found.library


def _candidates() -> list[Path]:
    """Where the library may lie: beside NumPy in its wheels, else wherever this process mapped it from."""
    packages = Path(np.__file__).parents[1]
    beside = [*packages.glob("numpy.libs/*openblas*"), *packages.glob("numpy/.dylibs/*openblas*")]
    maps = Path("/proc/self/maps")
    if beside or not maps.exists():
        return beside
    lines = maps.read_text(encoding="utf-8", errors="replace").splitlines()
    return sorted({Path(line[line.index("/") :]) for line in lines if "openblas" in line and "/" in line})


def _open(path: Path) -> _Library | None:
    import ctypes

    library = ctypes.CDLL(str(path))
    for prefix, suffix in _NAMES:
        get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
        set_ = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
        if get and set_:
            set_.restype = None
            return _Library(get, set_)
    return None
