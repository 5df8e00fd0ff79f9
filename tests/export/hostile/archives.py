"""Archives that are damaged, and archives whose every field may lie."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from pellucid.engine.export.archive_writer import CENTRAL_HEADER, END, END64, END64_LOCATOR, LOCAL_HEADER

from .build import Case, archive, pickled, sound, tensor


def structures(file: bytes) -> list[int]:
    """Offsets at which the parts of an archive begin, and some inside them."""
    end = file.rfind(b"PK\x05\x06")
    directory = END.unpack_from(file, end)[6]
    places = [directory, end, end + 10, file.rfind(b"PK\x06\x06"), file.rfind(b"PK\x06\x07")]
    position = directory
    while file[position : position + 4] == b"PK\x01\x02":
        fields = CENTRAL_HEADER.unpack_from(file, position)
        local, size = fields[16], fields[8]
        start = local + LOCAL_HEADER.size + sum(struct.unpack_from("<HH", file, local + 26))
        places += [position, position + 20, local, local + 10, start, start + size // 2, start + size, start + size + 8]
        position += CENTRAL_HEADER.size + fields[10] + fields[11] + fields[12]
    return sorted(set(places))


def damaged_archives(chance: random.Random) -> Iterator[Case]:
    file = sound()
    for place in structures(file):
        yield Case(f"truncated at {place}", file[:place])
    for place in sorted(chance.sample(range(4, len(file)), 120)):
        flipped = bytearray(file)
        flipped[place] ^= 1 << chance.randrange(8)
        yield Case(f"bit flipped at {place}", bytes(flipped), harmless=True)
    for count in (1, 4, 100):
        yield Case(f"{count} bytes of garbage in front", chance.randbytes(count) + file)
    for size in (1, 22, 5000):
        yield Case(f"{size} random bytes after the signature", b"PK\x03\x04" + chance.randbytes(size))
    yield Case("an empty file", b"", words=("Ran out of input",))
    yield Case("random bytes", chance.randbytes(5000))
    yield Case("zeros", bytes(5000))


class Entry(NamedTuple):
    name: bytes
    data: bytes
    size: int | None = None
    stored: int | None = None
    crc: int | None = None
    method: int = 0
    flags: int = 0
    offset: int | None = None
    extra: bytes = b""


def raw_zip(
    entries: list[Entry],
    count: int | None = None,
    directory_offset: int | None = None,
    directory_size: int | None = None,
) -> bytes:
    """A zip archive in which every field may lie."""
    file, central = b"", b""
    for entry in entries:
        offset = len(file) if entry.offset is None else entry.offset
        stored = len(entry.data) if entry.stored is None else entry.stored
        size = stored if entry.size is None else entry.size
        crc = zlib.crc32(entry.data) if entry.crc is None else entry.crc
        if entry.offset is None:
            file += (
                LOCAL_HEADER.pack(b"PK\x03\x04", 20, entry.flags, entry.method, 0, 0, 0, 0, 0, len(entry.name), 0)
                + entry.name
                + entry.data
            )
        central += (
            CENTRAL_HEADER.pack(
                b"PK\x01\x02",
                20,
                20,
                entry.flags,
                entry.method,
                0,
                0,
                crc,
                stored,
                size,
                len(entry.name),
                len(entry.extra),
                0,
                0,
                0,
                0,
                offset,
            )
            + entry.name
            + entry.extra
        )
    count = len(entries) if count is None else count
    start = len(file) if directory_offset is None else directory_offset
    length = len(central) if directory_size is None else directory_size
    return file + central + END.pack(b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, length, start, 0)


def lying_archives() -> Iterator[Case]:
    good = Entry(b"archive/data.pkl", pickled(b"N"))
    for bad in (
        b"../../escape",
        b"archive/../../escape",
        b"/etc/cron.d/escape",
        b"C:/escape",
        b"archive\\..\\escape",
        b"archive/a\0b",
        b"",
        b"archive/\xff\xfe",
    ):
        yield Case(f"entry called {bad!r}", raw_zip([good, Entry(bad, b"x")]))
        yield Case(f"first entry called {bad!r}", raw_zip([Entry(bad, b"x"), good]))
    yield Case(
        "entry outside of the root", raw_zip([good, Entry(b"other/data/0", b"x")]), words=("not in a subdirectory",)
    )
    yield Case("duplicate entries", raw_zip([good, good]), words=("twice",))
    yield Case("overlapping entries", raw_zip([good, Entry(b"archive/data/0", b"", stored=5, offset=0)]))
    kernel = Entry(b"archive/data.pkl", pickled(b"N") + bytes(1000))
    quoted = [kernel] + [Entry(b"archive/data.pkl", b"", stored=len(kernel.data), offset=0)] * 500
    yield Case("five hundred entries for one record", raw_zip(quoted))
    for field in ("stored", "size"):
        for value in (0xFFFFFFFE, 0xFFFFFFFF, 10_000):
            yield Case(f"{field} is {value}", raw_zip([good._replace(**{field: value})]))
    wide = struct.pack("<HHQQ", 1, 16, 1 << 62, 1 << 62)
    yield Case("zip64 sizes of 2**62", raw_zip([good._replace(stored=0xFFFFFFFF, size=0xFFFFFFFF, extra=wide)]))
    yield Case("zip64 field cut short", raw_zip([good._replace(stored=0xFFFFFFFF, size=0xFFFFFFFF, extra=wide[:6])]))
    yield Case("entry behind the end", raw_zip([good._replace(offset=1 << 30)]))
    yield Case("wrong checksum", raw_zip([good._replace(crc=12345)]), words=("CRC",))
    yield Case("encrypted", raw_zip([good._replace(flags=1)]), words=("encrypted",))
    yield Case("unknown compression", raw_zip([good._replace(method=14)]), words=("compression method",))
    yield Case("no entries", raw_zip([]))
    yield Case("more entries than there are", raw_zip([good], count=0xFFFF))
    yield Case("directory behind the end", raw_zip([good], directory_offset=0xFFFFFFFE))
    yield Case("directory longer than the file", raw_zip([good], directory_size=0xFFFFFFFE))
    yield from bombs(good)


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def bombs(good: Entry) -> Iterator[Case]:
    small = deflated(bytes(1 << 28))
    yield Case(
        "zip bomb", raw_zip([good, Entry(b"archive/data/0", small, size=1 << 28, crc=0, method=8)]), words=("bomb",)
    )
    yield Case(
        "zip bomb in the pickle", raw_zip([Entry(b"archive/data.pkl", small, size=1 << 28, method=8)]), words=("bomb",)
    )
    yield Case("zip bomb that denies it", raw_zip([Entry(b"archive/data.pkl", small, size=1000, method=8)]))
    yield Case("no deflate stream", raw_zip([Entry(b"archive/data.pkl", b"\xff" * 50, size=1000, method=8)]))
    file = archive(pickled(b"N"))
    end = file.rfind(b"PK\x05\x06")
    locator = end - END64_LOCATOR.size
    yield Case(
        "zip64 record behind the end", file[:locator] + END64_LOCATOR.pack(b"PK\x06\x07", 0, 1 << 60, 1) + file[end:]
    )
    at = file.rfind(b"PK\x06\x06")
    for values in ((1 << 60, 1 << 60, 100, 0), (2, 2, 1 << 62, 0), (2, 2, 100, 1 << 62), (0, 0, 0, 0)):
        wide = END64.pack(b"PK\x06\x06", 44, 0, 45, 0, 0, *values)
        yield Case(f"zip64 record with {values}", file[:at] + wide + file[at + END64.size :])
    yield Case("unreadable version", raw_zip([good, Entry(b"archive/version", b"three")]))
    yield Case("version 99", raw_zip([good, Entry(b"archive/version", b"99")]), words=("version",))
    yield Case("unknown byte order", archive(pickled(tensor()), byteorder=b"middle"), words=("endianness",))
    yield Case("no pickle", raw_zip([Entry(b"archive/version", b"3")]), words=("data.pkl",))
    yield Case("no storage", archive(pickled(tensor()), {}), words=("data/0",))
