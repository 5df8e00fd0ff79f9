"""Compiled kernels on disk: written atomically, read only when they are ours, whole, and made for this machine.

An entry is `magic, SHA-256 of the rest, object code`; its name is the digest of everything that decides the code. What
does not check out (truncated, written by somebody else, in a folder that others may write) is not loaded: the kernel is
built anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

_MAGIC = b"PLCDKRN1"


@functools.cache
def folder() -> Path | None:
    """Where kernels are kept: `PELLUCID_CACHE_DIR` or the user's cache folder; None when it is not safely ours."""
    given = os.environ.get("PELLUCID_CACHE_DIR")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pellucid"
    path = base / "kernels" / source_digest()[:16]
    try:
        fresh = not path.exists()
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = os.lstat(path)
        above = os.lstat(path.parent)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode) or not (_is_ours(found) and _is_ours(above)):
        return None
    if fresh:
        _forget_old(path.parent)
    return path


_KEPT_DAYS = 30


def _forget_old(kernels: Path) -> None:
    """Delete what other versions of the generator left and nothing has been added to for a month."""
    limit = time.time() - _KEPT_DAYS * 86400
    with contextlib.suppress(OSError):
        for entry in os.scandir(kernels):
            if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < limit:
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_ours(found: os.stat_result) -> bool:
    """Whether only this user can have written it."""
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load(key: str) -> bytes | None:
    """The object code kept under `key`, or None."""
    where = folder()
    if where is None:
        return None
    try:
        descriptor = os.open(where / f"{key}.o", os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not _is_ours(found):
            return None
        content = file.read()
    digest, code = content[len(_MAGIC) : len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(key.encode() + code).digest() != digest:
        return None
    return code


def store(key: str, code: bytes) -> None:
    """Keep object code under `key`; a disk that is full or read-only only costs the next process its time."""
    where = folder()
    if where is None:
        return
    try:
        descriptor, temporary = tempfile.mkstemp(dir=where, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(key.encode() + code).digest() + code)
            os.replace(temporary, where / f"{key}.o")
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return


@functools.cache
def source_digest() -> str:
    """A digest of the code that generates kernels: a new version of it never meets old entries."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
