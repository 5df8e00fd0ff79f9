"""Segments: memory that several processes map, as NumPy byte arrays.

A segment is a file descriptor without a name, so nothing can be left behind, whatever kills a process. Its pages are
reserved when it is made, so a lack of space is an error with numbers instead of a bus error at the first write. Tensors
over segments are in `shared_tensors.py`, what a message needs of them in `arenas.py`, the messages in `transport.py`.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

ALIGNMENT = 64
PAGE = mmap.PAGESIZE
SHARED_MEMORY_FOLDER = "/dev/shm"

_NO_SPACE = (errno.ENOSPC, errno.ENOMEM, errno.EDQUOT, errno.EFBIG)
_UNAVAILABLE = (errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT, errno.EISDIR)
_count = itertools.count()

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
if _libc is not None:
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    _libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Mapping:
    """The addresses at which this process sees a segment; given back when no array uses them any more."""

    __slots__ = ("__array_interface__", "__weakref__", "address", "descriptor", "nbytes", "owner")

    def __init__(self, address: int, nbytes: int, descriptor: int | None) -> None:
        self.address = address
        self.nbytes = nbytes
        self.descriptor = descriptor
        self.owner = os.getpid()
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}

    # What it calls was found when it was defined: arrays may go when modules are gone already.
    def __del__(self, munmap: Any = _libc and _libc.munmap, close: Callable[[int], None] = os.close) -> None:
        if munmap is not None:
            munmap(self.address, self.nbytes)
        if self.descriptor is not None:
            close(self.descriptor)


def map_segment(descriptor: int, nbytes: int, *, is_private: bool = False, keep: bool = False) -> np.ndarray:
    """The segment's bytes as an array; `is_private` writes stay in this process, `keep` takes over the descriptor.

    Without `keep` no descriptor is held: a program may keep any number of batches without meeting `ulimit -n`.
    """
    if _libc is None:
        raise NotImplementedError(
            "sharing memory between processes needs a POSIX system; use num_workers=0 or worker_type='thread' here"
        )
    flags = (mmap.MAP_PRIVATE if is_private else mmap.MAP_SHARED) | (0 if is_private else _populate())
    address = _libc.mmap(None, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise RuntimeError(
            f"unable to map {describe_size(nbytes)} of shared memory: {os.strerror(code)}. The process may have too "
            "many mappings (vm.max_map_count) or too little address space (ulimit -v): keep fewer batches at a time"
        )
    return np.asarray(Mapping(address, nbytes, descriptor if keep else None))


def _populate() -> int:
    return getattr(mmap, "MAP_POPULATE", 0)


class Use:
    """One use of a mapping that is used again later: the arrays of this use keep it alive, and nobody else does."""

    __slots__ = ("__array_interface__", "__weakref__", "mapping", "on_end")

    def __init__(self, mapping: Mapping, on_end: Callable[[], None] | None = None) -> None:
        self.mapping = mapping
        self.on_end = on_end
        self.__array_interface__ = mapping.__array_interface__

    def __del__(self) -> None:
        if self.on_end is not None:
            self.on_end()


def mapping_of(array: np.ndarray) -> Mapping | None:
    """The mapping that an array lies in, or None where its memory is this process's own."""
    base: object = array
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, Use):
        return base.mapping
    return base if isinstance(base, Mapping) else None


def create_segment(nbytes: int, purpose: str = "") -> int:
    """Descriptor of a new segment with its pages reserved: anonymous memory, or a nameless file where that is missing.

    Raises RuntimeError with the sizes and the remedy when no place has room; `purpose` says what needs it.
    """
    nbytes = max(int(nbytes), 1)
    descriptor = _anonymous_memory(nbytes)
    if descriptor is not None:
        return descriptor
    for folder in (SHARED_MEMORY_FOLDER, tempfile.gettempdir()):
        descriptor = _nameless_file(folder, nbytes)
        if descriptor is not None:
            if folder != SHARED_MEMORY_FOLDER:
                _warn_of_fallback(folder, nbytes)
            return descriptor
    raise RuntimeError(_no_room(nbytes, purpose))


def _anonymous_memory(nbytes: int) -> int | None:
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create(f"pellucid-{os.getpid()}-{next(_count)}")
    except OSError as error:
        if error.errno in _UNAVAILABLE + _NO_SPACE:
            return None
        raise _explained(error) from None
    return _reserve(descriptor, nbytes)


def _nameless_file(folder: str, nbytes: int) -> int | None:
    if not os.path.isdir(folder):
        return None
    descriptor: int | None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except (OSError, AttributeError) as error:
        if isinstance(error, OSError) and error.errno not in _UNAVAILABLE + _NO_SPACE:
            raise _explained(error) from None
        descriptor = _unlinked_file(folder)
    return None if descriptor is None else _reserve(descriptor, nbytes)


def _unlinked_file(folder: str) -> int | None:
    try:
        descriptor, name = tempfile.mkstemp(prefix=f"pellucid-{os.getpid()}-", dir=folder)
    except OSError as error:
        if error.errno in _UNAVAILABLE + _NO_SPACE:
            return None
        raise _explained(error) from None
    os.unlink(name)
    return descriptor


def _reserve(descriptor: int, nbytes: int) -> int | None:
    try:
        os.ftruncate(descriptor, nbytes)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, nbytes)
    except OSError as error:
        os.close(descriptor)
        if error.errno in _NO_SPACE + _UNAVAILABLE:
            return None
        raise
    return descriptor


def _explained(error: OSError) -> OSError | RuntimeError:
    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return error
    return RuntimeError(
        "Too many open files. Communication with the workers is no longer possible. Please increase the limit using "
        f"`ulimit -n` in the shell (this process has {open_descriptors()} open), or close files that are not needed"
    )


def open_descriptors() -> str:
    """How many descriptors this process has open, in words."""
    try:
        return str(len(os.listdir("/proc/self/fd")))
    except OSError:
        return "an unknown number"


class Fallback:
    """Whether a lack of shared memory was reported yet, and to whom: a loader's worker lets its parent warn."""

    is_reported = False
    report: Callable[[str], None] = staticmethod(warnings.warn)


def _warn_of_fallback(folder: str, nbytes: int) -> None:
    if Fallback.is_reported:
        return
    Fallback.is_reported = True
    Fallback.report(
        f"shared memory is short: a batch needs {describe_size(nbytes)}, {describe_room(SHARED_MEMORY_FOLDER)}. "
        f"Batches now travel through files in {folder}, which is slower. Give the container more shared memory "
        "(docker run --shm-size=2g, or an emptyDir of medium Memory at /dev/shm in Kubernetes)"
    )


def _no_room(nbytes: int, purpose: str) -> str:
    places = "; ".join(describe_room(folder) for folder in (SHARED_MEMORY_FOLDER, tempfile.gettempdir()))
    return (
        f"unable to allocate shared memory (shm): {purpose or 'a segment'} needs {describe_size(nbytes)}, but {places}"
        ": No space left on device. Give the container more shared memory (docker run --shm-size=2g, or an emptyDir of "
        "medium Memory at /dev/shm in Kubernetes), point TMPDIR at a disk with room, or need less of it: a smaller "
        "batch_size, fewer num_workers or a smaller prefetch_factor; num_workers=0 and worker_type='thread' need none"
    )


def describe_room(folder: str) -> str:
    """How much of a folder's file system is free, in words."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return f"{folder} is not usable ({error.strerror})"
    return f"{folder} has {describe_size(usage.free)} of {describe_size(usage.total)} free"


def describe_size(nbytes: float) -> str:
    """A number of bytes in the unit that suits it."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "bytes" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} TiB"


def padded(nbytes: int, unit: int = ALIGNMENT) -> int:
    """The next multiple of `unit`."""
    return -(-nbytes // unit) * unit
