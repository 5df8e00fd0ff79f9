"""Building blocks of hostile files: pickles opcode by opcode, archives, and files of the older format.

`CANARY` stands in the files for a path that must not come into existence: every payload that could run would create it.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import NamedTuple

from pellucid.engine.export.archive_writer import ArchiveWriter

CANARY = "/tmp/canary-that-no-load-may-create"
SHELL = f"touch {CANARY}"


class Case(NamedTuple):
    name: str
    content: bytes
    ending: str = ".pt"
    words: tuple[str, ...] = ()
    harmless: bool = False  # may load, because what was damaged carries no meaning


def unicode(text: str) -> bytes:
    raw = text.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def name(module: str, attribute: str, protocol: int = 2) -> bytes:
    if protocol < 4:
        return b"c" + f"{module}\n{attribute}\n".encode()
    return unicode(module) + unicode(attribute) + b"\x93"


def number(value: int) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def pickled(body: bytes, protocol: int = 2) -> bytes:
    return b"\x80" + bytes((protocol,)) + body + b"."


def storage(
    kind: str = "FloatStorage", key: bytes = unicode("0"), location: bytes = unicode("cpu"), numel: bytes = number(4)
) -> bytes:
    module = "torch.storage" if kind == "UntypedStorage" else "torch"
    return b"(" + unicode("storage") + name(module, kind) + key + location + numel + b"tQ"


def tensor(
    source: bytes | None = None,
    offset: bytes = number(0),
    size: bytes = b"K\x04\x85",
    stride: bytes = b"K\x01\x85",
    grad: bytes = b"\x89",
    more: bytes = b"",
    function: str = "_rebuild_tensor_v2",
) -> bytes:
    hooks = name("collections", "OrderedDict") + b")R"
    body = (storage() if source is None else source) + offset + size + stride + grad + hooks + more
    return name("torch._utils", function) + b"(" + body + b"tR"


def archive(content: bytes, data: dict[str, bytes] | None = None, **others: bytes) -> bytes:
    stream = io.BytesIO()
    writer = ArchiveWriter(stream.write, "archive")
    writer.add("data.pkl", content)
    writer.add("byteorder", others.get("byteorder", b"little"))
    for key, raw in ({"0": struct.pack("<4f", 1, 2, 3, 4)} if data is None else data).items():
        writer.add(f"data/{key}", raw)
    writer.close()
    return stream.getvalue()


def sound() -> bytes:
    """A file that loads: a dictionary of two tensors that share a storage, one of another type, and some plain
    values.
    """
    shared, other = storage(), storage("LongStorage", unicode("1"), numel=number(2))
    items = unicode("a") + tensor(shared) + unicode("b") + tensor(shared, number(1), b"K\x03\x85")
    items += unicode("c") + tensor(other, size=b"K\x02\x85") + unicode("lr") + b"G" + struct.pack(">d", 0.1)
    return archive(pickled(b"}(" + items + b"u"), {"0": struct.pack("<4f", 1, 2, 3, 4), "1": struct.pack("<2q", 5, 6)})


def legacy(
    body: bytes,
    keys: bytes | None = None,
    data: bytes | None = None,
    magic: int = 0x1950A86A20F9469CFC6C,
    version: int = 1001,
) -> bytes:
    machine = pickle.dumps(
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}, 2
    )
    keys = pickle.dumps(["0"], 2) if keys is None else keys
    data = struct.pack("<q4f", 4, 1, 2, 3, 4) if data is None else data
    return pickle.dumps(magic, 2) + pickle.dumps(version, 2) + machine + pickled(body) + keys + data


def old_storage(view: bytes = b"N", numel: bytes = number(4)) -> bytes:
    return storage(numel=numel)[: -len(b"tQ")] + view + b"tQ"


def numpy_type(code: bytes) -> bytes:
    return name("numpy", "dtype") + code + b"\x89\x88\x87R"


def numpy_array(code: bytes, raw: bytes, size: bytes = number(1)) -> bytes:
    made = name("numpy._core.multiarray", "_reconstruct") + name("numpy", "ndarray") + b"K\0\x85C\x01b\x87R"
    return made + b"(K\1" + size + b"\x85" + numpy_type(code) + b"\x89" + raw + b"tb"


class Payload:
    """Pickles as a call of `os.system`, through whatever chain a case builds around it."""

    def __reduce__(self) -> tuple[object, ...]:
        import os

        return os.system, (SHELL,)
