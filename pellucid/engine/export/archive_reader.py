"""Reading PyTorch's container, distrustfully: every offset and size is checked against the file before it is used.

Nothing is extracted to disk, entries may not overlap, and no buffer is allocated for bytes that the file does not have.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from pellucid.engine.export.archive_writer import CENTRAL_HEADER, END, END64, END64_LOCATOR, LIMIT32, LOCAL_HEADER

SIGNATURE = b"PK\x03\x04"
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1
_FIRST_VERSION, _LAST_VERSION = 1, 10
# Compressed records may grow to this many bytes more than the file has; weights hardly compress, bombs do.
INFLATION_LIMIT = 64 << 20


class Record(NamedTuple):
    """One entry: where its bytes lie in the file (`start`, `stored`), how many they are when read, and their CRC-32."""

    name: str
    start: int
    stored: int
    size: int
    crc: int
    method: int


def corrupt(reason: str) -> RuntimeError:
    """The error for a damaged archive, with PyTorch's opening words."""
    return RuntimeError(
        f"PytorchStreamReader failed reading zip archive: {reason}. The file is damaged or incomplete; "
        "copy or download it again, or load an earlier checkpoint."
    )


class ArchiveReader:
    """The records of an archive that starts at the current position of a seekable binary stream and ends with it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._base = stream.tell()
        stream.seek(0, 2)
        self._size = stream.tell() - self._base
        directory, start, count = self._find_directory()
        records = self._read_directory(directory, start, count)
        self.root = records[0].name.partition("/")[0]
        self._records = self._by_name(records)
        self._check_overlaps(records, start)
        self._has_checksums = any(record.crc for record in records)
        self._check_version()

    # -- the directory ------------------------------------------------------------------------------------------

    def _read_at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes; a caller has checked that the file is that long, so fewer mean that it shrank."""
        self._stream.seek(self._base + offset)
        data = self._stream.read(size)
        if len(data) != size:
            raise corrupt(f"{size} bytes at offset {offset} could not be read")
        return data

    def _find_directory(self) -> tuple[bytes, int, int]:
        """The central directory's bytes, its offset, and how many entries it claims."""
        tail_size = min(self._size, END.size + 0xFFFF)
        tail_start = self._size - tail_size
        tail = self._read_at(tail_start, tail_size)
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or at + END.size > len(tail):
            raise corrupt("failed finding central directory")
        _, disk, first_disk, _, count, size, start, comment = END.unpack_from(tail, at)
        end = tail_start + at
        if at + END.size + comment > len(tail) or (disk, first_disk) != (0, 0):
            raise corrupt("failed finding central directory (its end record is malformed)")
        locator = end - END64_LOCATOR.size
        if locator >= 0 and self._read_at(locator, 4) == b"PK\x06\x07":
            end, count, size, start = self._find_wide_directory(locator)
        if start + size > end:
            raise corrupt("the central directory does not fit in the file")
        if count * CENTRAL_HEADER.size > size or count == 0:
            raise corrupt(f"the central directory cannot hold its {count} entries")
        return self._read_at(start, size), start, count

    def _find_wide_directory(self, locator: int) -> tuple[int, int, int, int]:
        """Where the zip64 end record is, and the count, size and offset that it gives."""
        end = END64_LOCATOR.unpack(self._read_at(locator, END64_LOCATOR.size))[2]
        if end + END64.size > locator:
            raise corrupt("the zip64 end record does not fit in the file")
        signature, _, _, _, _, _, _, count, size, start = END64.unpack(self._read_at(end, END64.size))
        if signature != b"PK\x06\x06":
            raise corrupt("the zip64 end record is missing")
        return end, count, size, start

    def _read_directory(self, directory: bytes, start: int, count: int) -> list[Record]:
        records = []
        position = 0
        for _ in range(count):
            if position + CENTRAL_HEADER.size > len(directory):
                raise corrupt("the central directory ends early")
            fields = CENTRAL_HEADER.unpack_from(directory, position)
            if fields[0] != b"PK\x01\x02":
                raise corrupt("the central directory is malformed")
            name_at = position + CENTRAL_HEADER.size
            extra_at = name_at + fields[10]
            position = extra_at + fields[11] + fields[12]
            if position > len(directory):
                raise corrupt("the central directory ends early")
            records.append(self._entry(fields, directory[name_at:extra_at], directory[extra_at:position], start))
        return records

    def _entry(self, fields: tuple[Any, ...], raw_name: bytes, extra: bytes, directory_start: int) -> Record:
        """One directory entry joined with its local header."""
        name = _checked_name(raw_name)
        flags, method, crc = fields[3], fields[4], fields[7]
        if flags & _ENCRYPTED:
            raise corrupt(f"record {name!r} is encrypted")
        if method not in (_STORED, _DEFLATED):
            raise corrupt(f"record {name!r} uses the unknown compression method {method}")
        stored, size, offset = _wide_values(name, fields[8], fields[9], fields[16], extra)
        if method == _STORED and stored != size:
            raise corrupt(f"record {name!r} has two different sizes, {stored} and {size}")
        if offset + LOCAL_HEADER.size > directory_start:
            raise corrupt(f"record {name!r} lies outside of the file")
        header = LOCAL_HEADER.unpack(self._read_at(offset, LOCAL_HEADER.size))
        start = offset + LOCAL_HEADER.size + header[9] + header[10]
        if header[0] != SIGNATURE or header[3] != method or start + stored > directory_start:
            raise corrupt(f"record {name!r} has no valid local header or lies outside of the file")
        if self._read_at(offset + LOCAL_HEADER.size, header[9]) != raw_name:
            raise corrupt(f"record {name!r} has another name in its local header")
        return Record(name, start, stored, size, crc, method)

    def _by_name(self, records: list[Record]) -> dict[str, Record]:
        found: dict[str, Record] = {}
        for record in records:
            if not record.name.startswith(f"{self.root}/"):
                raise corrupt(f"file in archive is not in a subdirectory {self.root}/: {record.name}")
            if record.name in found:
                raise corrupt(f"record {record.name!r} appears twice")
            found[record.name] = record
        return found

    def _check_overlaps(self, records: list[Record], directory_start: int) -> None:
        """Bytes that two entries share are how small files claim to be large ones."""
        end = 0
        for record in sorted(records, key=lambda each: each.start):
            if record.start - LOCAL_HEADER.size - len(record.name.encode()) < end:
                raise corrupt(f"record {record.name!r} overlaps another one")
            end = record.start + record.stored
        if sum(record.size - record.stored for record in records) > INFLATION_LIMIT:
            raise corrupt(
                f"its compressed records would grow to over {INFLATION_LIMIT >> 20} MiB more than the file has, "
                "as in a zip "
                "bomb; if you trust it, unpack it and zip it again without compression (zip -0)"
            )

    def _check_version(self) -> None:
        text = self.read("version" if "version" in self else ".data/version") if self._has_version() else b"1"
        if not text.strip().isdigit() or len(text) > 8:
            raise corrupt(f"its version record holds {text[:20]!r}, not a number")
        if not _FIRST_VERSION <= int(text) <= _LAST_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {int(text)}, but the maximum supported version "
                "for reading is "
                f"{_LAST_VERSION} (and the minimum {_FIRST_VERSION}). Save it again with an older PyTorch."
            )

    def _has_version(self) -> bool:
        return "version" in self or ".data/version" in self

    # -- records ------------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return f"{self.root}/{name}" in self._records

    def names(self) -> list[str]:
        """Names of all records, without the root folder."""
        return [name[len(self.root) + 1 :] for name in self._records]

    def record(self, name: str) -> Record:
        """The entry called `root/name`; RuntimeError where there is none."""
        found = self._records.get(f"{self.root}/{name}")
        if found is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found in archive {self.root!r}; "
                "the file is damaged, or was not written by save()."
            )
        return found

    def read(self, name: str) -> bytes:
        """A record's bytes, checked against its CRC."""
        return self.read_array(name).tobytes()

    def read_array(self, name: str) -> np.ndarray:
        """A record's bytes in a fresh one-dimensional uint8 array, checked against its CRC."""
        record = self.record(name)
        if record.method == _DEFLATED:
            array = self._inflate(record)
        else:
            array = np.empty(record.size, np.uint8)
            self._read_into(record, array.data)
        if not self._is_unchecked(record) and zlib.crc32(array.data) != record.crc:
            raise corrupt(f"record {record.name!r} has a wrong CRC-32: its bytes have changed since they were written")
        return array

    def _is_unchecked(self, record: Record) -> bool:
        """Whether the writer left the checksum out: of all records, or of data that was to be filled in later."""
        return not self._has_checksums or (record.crc == 0 and record.name.startswith(f"{self.root}/data/"))

    def _read_into(self, record: Record, target: memoryview) -> None:
        self._stream.seek(self._base + record.start)
        done = 0
        while done < len(target):
            count = _read_some(self._stream, target[done:])
            if not count:
                raise corrupt(f"record {record.name!r} ends early")
            done += count

    def _inflate(self, record: Record) -> np.ndarray:
        inflater = zlib.decompressobj(-15)
        try:
            data = inflater.decompress(self._read_at(record.start, record.stored), record.size + 1)
        except zlib.error as error:
            raise corrupt(f"record {record.name!r} cannot be decompressed ({error})") from None
        if len(data) != record.size:
            raise corrupt(f"record {record.name!r} does not decompress to its {record.size} bytes")
        return np.frombuffer(bytearray(data), np.uint8)

    def absolute_start(self, record: Record) -> int:
        """Where a record's bytes start in the whole file, for mapping it into memory."""
        if record.method != _STORED:
            raise RuntimeError(f"record {record.name!r} is compressed and cannot be mapped; load with mmap=False")
        return self._base + record.start


def _read_some(stream: Any, target: memoryview) -> int:
    """Fill a part of `target` from a stream that may offer `read` alone; the number of bytes read."""
    readinto = getattr(stream, "readinto", None)
    if readinto is not None:
        return readinto(target) or 0
    data = stream.read(min(len(target), 1 << 24))
    target[: len(data)] = data
    return len(data)


def _checked_name(raw: bytes) -> str:
    """An entry's name; one that would leave its folder if extracted marks a hostile archive, though nothing is
    extracted.
    """
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise corrupt(f"the name {raw[:60]!r} of a record is not UTF-8") from None
    parts = name.split("/")
    if not name or name[0] == "/" or "\\" in name or "\0" in name or ".." in parts or parts[0][1:] == ":":
        raise corrupt(f"the archive has the unsafe entry name {name[:200]!r}")
    return name


def _wide_values(name: str, stored: int, size: int, offset: int, extra: bytes) -> tuple[int, int, int]:
    """Stored size, size and offset of an entry, from its zip64 field where the short ones are saturated."""
    if LIMIT32 not in (stored, size, offset):
        return stored, size, offset
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        position += 4
        if kind == 1 and position + length <= len(extra):
            values = list(struct.unpack_from(f"<{length // 8}Q", extra, position))
            wanted = [size == LIMIT32, stored == LIMIT32, offset == LIMIT32]
            if len(values) < sum(wanted):
                break
            size, stored, offset = (
                values.pop(0) if wide else short for wide, short in zip(wanted, (size, stored, offset), strict=True)
            )
            return stored, size, offset
        position += length
    raise corrupt(f"record {name!r} has no valid zip64 field")
