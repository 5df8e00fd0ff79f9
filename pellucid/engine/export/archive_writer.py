"""Writing PyTorch's container: a zip archive of stored records whose data starts at multiples of 64 bytes.

The layout (padding field, data descriptors, zip64 end record) is the one that PyTorch's own writer produces, byte for
byte where it does not depend on chance, so that its reader may compute offsets instead of looking them up.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ALIGNMENT = 64
LIMIT32 = 0xFFFFFFFF
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
END64 = struct.Struct("<4sQ2H2I4Q")
END64_LOCATOR = struct.Struct("<4sIQI")
_UTF8_NAME = 0x800
_HAS_DESCRIPTOR = 0x8
_FORMAT_VERSION = b"3\n"


class _Written(NamedTuple):
    name: bytes
    flags: int
    crc: int
    size: int
    offset: int


class ArchiveWriter:
    """Appends records to a binary stream; `close` writes the directory, without which nobody can read the archive."""

    def __init__(self, write: Callable[[bytes | memoryview], object], root: str, *, checksums: bool = True) -> None:
        self._write = write
        self._root = root
        self._checksums = checksums
        self._position = 0
        self._records: list[_Written] = []

    def _put(self, data: bytes | memoryview) -> None:
        written = self._write(data)
        self._position += len(data)
        while isinstance(written, int) and written < len(data):  # An unbuffered file may take a part only.
            data = data[written:]
            written = self._write(data)

    def add(self, name: str, data: bytes | np.ndarray | None, size: int | None = None) -> None:
        """Append the record `root/name`; `data` is bytes or a one-dimensional uint8 array, None for `size` zero
        bytes.
        """
        view = None if data is None else memoryview(data)  # type: ignore[arg-type]
        length = size if view is None else view.nbytes
        assert length is not None
        offset = self._position
        full_name = f"{self._root}/{name}".encode()
        flags = _UTF8_NAME | (_HAS_DESCRIPTOR if length else 0)
        crc = zlib.crc32(view) if view is not None and self._checksums else 0
        extra = _wide_sizes(length, offset)
        extra += _padding(offset + LOCAL_HEADER.size + len(full_name) + len(extra))
        self._put(LOCAL_HEADER.pack(b"PK\x03\x04", 0, flags, 0, 0, 0, 0, 0, 0, len(full_name), len(extra)))
        self._put(full_name + extra)
        if view is not None:
            self._put(view)
        else:
            self._put_zeros(length)
        if length:
            wide = length >= LIMIT32 or offset >= LIMIT32
            self._put(struct.pack("<4sIQQ" if wide else "<4sIII", b"PK\x07\x08", crc, length, length))
        self._records.append(_Written(full_name, flags, crc, length, offset))

    def _put_zeros(self, count: int) -> None:
        block = bytes(min(count, 1 << 20))
        while count > 0:
            self._put(memoryview(block)[: min(count, len(block))])
            count -= len(block)

    def close(self) -> None:
        """Append `version` and the archive's identity, then the central directory."""
        self.add("version", _FORMAT_VERSION)
        self.add(".data/serialization_id", self._identity())
        start = self._position
        for record in self._records:
            self._put(_central_entry(record))
        size, count = self._position - start, len(self._records)
        end64 = self._position
        self._put(END64.pack(b"PK\x06\x06", END64.size - 12, 0x031E, 0x002D, 0, 0, count, count, size, start))
        self._put(END64_LOCATOR.pack(b"PK\x06\x07", 0, end64, 1))
        short_count = min(count, 0xFFFF)
        self._put(END.pack(b"PK\x05\x06", 0, 0, short_count, short_count, min(size, LIMIT32), min(start, LIMIT32), 0))

    def _identity(self) -> bytes:
        """Forty digits that depend on the names and the checksums of all records, as PyTorch's do."""
        names = zlib.crc32(b"\0".join(record.name.rpartition(b"/")[2] for record in self._records))
        contents = 0
        for record in self._records:
            contents = (contents * 1_000_003 + record.crc) % (1 << 64)
        return f"{names:020d}{contents:020d}".encode()


def _wide_sizes(size: int, offset: int) -> bytes:
    """The zip64 field of a local header, empty where 32 bits are enough."""
    wide = struct.pack("<QQ", size, size) if size >= LIMIT32 else b""
    wide += struct.pack("<Q", offset) if offset >= LIMIT32 else b""
    return struct.pack("<HH", 1, len(wide)) + wide if wide else b""


def _padding(position: int) -> bytes:
    """The field 'FB' of Z's after which data starts at a multiple of the alignment; `position` is where the field
    starts.
    """
    count = -(position + 4) % ALIGNMENT
    return b"FB" + struct.pack("<H", count) + b"Z" * count


def _central_entry(record: _Written) -> bytes:
    extra = _wide_sizes(record.size, record.offset)
    size = min(record.size, LIMIT32)
    header = CENTRAL_HEADER.pack(
        b"PK\x01\x02", 0, 0, record.flags, 0, 0, 0, record.crc, size, size,
        len(record.name), len(extra), 0, 0, 0, 0, min(record.offset, LIMIT32),
    )  # fmt: skip
    return header + record.name + extra
