"""Writing a file so that a crash at any instant leaves the old file or the new one, never a part of either.

The bytes go to a temporary file in the same folder, which is flushed to the disk and then renamed over the target.
What the bytes mean is no business of this file.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import stat
import zlib
from collections.abc import Iterator
from typing import BinaryIO

_TEMPORARY_NAME = re.compile(r"^\..+\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-[0-9a-f]{8}\.tmp$")


def _host() -> str:
    """Eight hexadecimal digits that tell this machine from others that may share the folder."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _temporary_path(target: str) -> str:
    """A fresh hidden name beside `target`; it carries host and process so that leftovers can be told from live
    files.
    """
    folder, name = os.path.split(target)
    # Longest file name is 255 bytes nearly everywhere; the suffix takes 40 of them.
    short = name.encode()[:200].decode(errors="ignore")
    return os.path.join(folder, f".{short}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _sync_folder(folder: str) -> None:
    """Make a rename inside `folder` durable; silently skipped where folders cannot be synchronised."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # Some network file systems refuse to fsync a folder; the file's own bytes are safe already.
    finally:
        os.close(descriptor)


def _permissions_of(target: str) -> int | None:
    """Permission bits of an existing regular file, None where there is no such file."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file for writing that becomes `path` on a clean exit and leaves `path` untouched on an exception.

    A symbolic link is followed, permissions of a file that is replaced are kept, and devices and pipes are written
    directly, since they cannot be replaced.
    """
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist. Create it before saving {os.fspath(path)!r}.")
    if os.path.isdir(target):
        raise RuntimeError(f"open file failed with strerror: Is a directory: {os.fspath(path)!r}. Name a file in it.")
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as stream:
            yield stream
        return
    temporary = _temporary_path(target)
    permissions = _permissions_of(target)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as stream:
            if permissions is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, permissions)
            yield stream
            stream.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _is_running(process: int) -> bool:
    """Whether a process of that number exists on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # It exists and belongs to somebody else.
    return True


def remove_leftovers(folder: str | os.PathLike[str]) -> list[str]:
    """Delete temporary files that killed processes of this machine left in `folder`; returns their names."""
    removed = []
    for name in os.listdir(folder):
        match = _TEMPORARY_NAME.match(name)
        if match and match["host"] == _host() and not _is_running(int(match["process"])):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
                removed.append(name)
    return sorted(removed)
