"""Makes damaged and hostile files: each case is a name, the file's bytes, its ending, and words that the error must have.

`CANARY` stands in the files for a path that must not come into existence: every payload that could run would create it.
"""

from __future__ import annotations

import io
import pickle
import random
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from pellucid.engine.export.archive_writer import CENTRAL_HEADER, END, END64, END64_LOCATOR, LOCAL_HEADER, ArchiveWriter

CANARY = "/tmp/canary-that-no-load-may-create"


class Case(NamedTuple):
    name: str
    content: bytes
    ending: str = ".pt"
    words: tuple[str, ...] = ()
    harmless: bool = False  # may load, because what was damaged carries no meaning


# -- building blocks ------------------------------------------------------------------------------------------------


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
    """A file that loads: a dictionary of two tensors that share a storage, one of another type, and some plain values."""
    shared, other = storage(), storage("LongStorage", unicode("1"), numel=number(2))
    items = unicode("a") + tensor(shared) + unicode("b") + tensor(shared, number(1), b"K\x03\x85")
    items += unicode("c") + tensor(other, size=b"K\x02\x85") + unicode("lr") + b"G" + struct.pack(">d", 0.1)
    return archive(pickled(b"}(" + items + b"u"), {"0": struct.pack("<4f", 1, 2, 3, 4), "1": struct.pack("<2q", 5, 6)})


# -- damaged archives -----------------------------------------------------------------------------------------------


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
        central += CENTRAL_HEADER.pack(
            b"PK\x01\x02", 20, 20, entry.flags, entry.method, 0, 0, crc, stored, size, len(entry.name), len(entry.extra), 0, 0, 0, 0, offset
        ) + entry.name + entry.extra  # fmt: skip
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


# -- hostile pickles ------------------------------------------------------------------------------------------------

_SHELL = f"touch {CANARY}"
_PYTHON = f"open({CANARY!r}, 'w')"
CALLABLES = [
    ("os", "system", _SHELL), ("posix", "system", _SHELL), ("nt", "system", _SHELL), ("os", "popen", _SHELL), ("os.path", "exists", "/"),
    ("subprocess", "Popen", _SHELL), ("subprocess", "call", _SHELL), ("subprocess", "getoutput", _SHELL), ("commands", "getoutput", _SHELL),
    ("builtins", "eval", _PYTHON), ("builtins", "exec", _PYTHON), ("__builtin__", "eval", _PYTHON), ("builtins", "open", CANARY),
    ("builtins", "__import__", "os"), ("builtins", "compile", _PYTHON), ("builtins", "breakpoint", ""), ("builtins", "getattr", "os"),
    ("builtins", "globals", ""), ("builtins", "type", "x"), ("builtins", "object", ""), ("builtins", "vars", ""), ("io", "open", CANARY),
    ("importlib", "import_module", "antigravity"), ("importlib", "__import__", "os"), ("runpy", "run_path", CANARY), ("pty", "spawn", _SHELL),
    ("shutil", "rmtree", CANARY), ("socket", "create_connection", "x"), ("webbrowser", "open", "http://localhost"), ("ctypes", "CDLL", "libc.so.6"),
    ("pickle", "loads", "N."), ("_pickle", "loads", "N."), ("marshal", "loads", "N"), ("numpy", "load", CANARY), ("numpy", "save", CANARY),
    ("numpy.testing._private.utils", "runstring", _PYTHON), ("functools", "partial", "x"), ("operator", "attrgetter", "x"),
    ("operator", "methodcaller", "system"), ("types", "CodeType", "x"), ("types", "FunctionType", "x"), ("code", "interact", "x"), ("pdb", "run", _PYTHON),
    ("timeit", "timeit", _PYTHON), ("cProfile", "run", _PYTHON), ("bdb", "Bdb", ""), ("doctest", "debug_script", _PYTHON), ("sys", "exit", "1"),
    ("sys", "modules", "x"), ("sys", "setrecursionlimit", "1"), ("signal", "alarm", "1"), ("threading", "Thread", "x"), ("asyncio", "run", "x"),
    ("pip", "main", "x"), ("logging.config", "listen", "x"), ("tempfile", "NamedTemporaryFile", "x"), ("pathlib", "Path", CANARY), ("torch", "load", CANARY),
    ("torch.serialization", "load", CANARY), ("torch.hub", "load", "x"), ("torch.jit", "load", CANARY), ("torch.storage", "_load_from_bytes", "N."),
    ("torch._C", "_VariableFunctionsClass", "x"), ("torch.serialization", "os.system", _SHELL), ("torch", "os.system", _SHELL), ("torch.utils.data", "DataLoader", "x"),
    ("pellucid.serialization", "load", CANARY), ("pellucid", "load", CANARY), ("pellucid.serialization", "os.system", _SHELL),
    ("collections", "OrderedDict.fromkeys", "x"), ("collections", "namedtuple", "x"), ("collections", "defaultdict", "x"), ("torch._utils", "_import_dotted_name", "os.system"),
    ("torch._utils", "_rebuild_tensor_v2.__globals__", "x"), ("torch.nn.modules.module", "Module", ""), ("torch.distributed.rpc", "rpc_async", "x"), ("__main__", "main", ""),
    ("copyreg", "_reconstructor", "x"), ("copy_reg", "_reconstructor", "x"), ("datetime", "datetime", "x"), ("uuid", "UUID", "x"), ("_codecs", "decode", "x"),
    ("codecs", "encode", "x"), ("idlelib.run", "main", "x"), ("unittest.mock", "patch", "os.system"), ("", "", ""), ("torch", "", ""), ("a" * 60000, "b", ""),
]  # fmt: skip


def shown(module: str, attribute: str) -> str:
    """How the error must name a callable, in today's names."""
    renamed = {"__builtin__": "builtins", "copy_reg": "copyreg", "commands": "subprocess"}
    return f"{renamed.get(module, module)}.{attribute}".removeprefix("builtins.")[:150]


def hostile_calls() -> Iterator[Case]:
    for module, attribute, argument in CALLABLES:
        for protocol in (2, 4):
            body = name(module, attribute, protocol) + unicode(argument) + b"\x85R"
            yield Case(
                f"{module[:40]}.{attribute} by REDUCE, protocol {protocol}", archive(pickled(b"}" + unicode("key") + body + b"s", protocol)),
                words=(shown(module, attribute), "add_safe_globals", "weights_only=False", "['key']"),
            )  # fmt: skip
    for module, attribute, argument in CALLABLES[:12]:
        call = unicode(argument)
        yield Case(
            f"{module}.{attribute} by INST",
            archive(pickled(b"(" + call + f"i{module}\n{attribute}\n".encode())),
            words=("INST",),
        )
        yield Case(
            f"{module}.{attribute} by OBJ",
            archive(pickled(b"(" + name(module, attribute) + call + b"o")),
            words=(attribute,),
        )
        yield Case(
            f"{module}.{attribute} by NEWOBJ",
            archive(pickled(name(module, attribute) + call + b"\x85\x81")),
            words=(attribute,),
        )
        yield Case(
            f"{module}.{attribute} by BUILD",
            archive(pickled(name(module, attribute) + b"}" + call + call + b"sb")),
            words=(attribute,),
        )


class Payload:
    """Pickles as a call of `os.system`, through whatever chain a case builds around it."""

    def __reduce__(self) -> tuple[object, ...]:
        import os

        return os.system, (_SHELL,)


class StatefulPayload:
    def __reduce__(self) -> tuple[object, ...]:
        return dict, (), {"x": Payload()}


def hostile_objects() -> Iterator[Case]:
    nests = {
        "list": [Payload()],
        "key": {(1, 2): {"deep": [0, (1, Payload())]}},
        "state": StatefulPayload(),
        "exception": ValueError(Payload()),
    }
    for label, nest in nests.items():
        for protocol in (0, 1, 2, 3, 4, 5):
            yield Case(
                f"os.system in a {label}, protocol {protocol}",
                archive(pickle.dumps(nest, protocol)),
                words=("was run",),
            )
    for label, body in ILLEGAL.items():
        yield Case(label, archive(pickled(body, 4)), words=("data.pkl, byte",))


_OD = name("collections", "OrderedDict") + b")R"
_OS = unicode("os")
ILLEGAL: dict[str, bytes] = {
    "a call of a string": _OS + b")R",
    "a call of a dictionary": b"})R",
    "a call of a tensor": tensor() + b")R",
    "arguments that are a list": name("collections", "OrderedDict") + b"]R",
    "a new object of a string": _OS + b")\x81",
    "a new object of a dtype": name("torch", "float32") + b")\x81",
    "a new object with keywords": name("collections", "OrderedDict") + b")}" + _OS + b"Ns\x92",
    "keywords that are a list": name("collections", "OrderedDict") + b")]\x92",
    "BUILD on a list": b"]}b",
    "BUILD on a string": _OS + b"}b",
    "BUILD hiding OrderedDict.items": _OD + b"}" + unicode("items") + _OS + b"sb",
    "BUILD hiding __class__": _OD + b"}" + unicode("__class__") + _OS + b"sb",
    "BUILD hiding __setstate__": _OD + b"}" + unicode("__reduce__") + _OS + b"sb",
    "BUILD with a list as state": _OD + b"]b",
    "BUILD on a tensor": tensor() + b"}" + unicode("_storage") + b"Nsb",
    "BUILD on a tensor with a tuple": tensor() + storage() + b"K\0)\x87b",
    "BUILD on a dtype": name("torch", "float32") + b"}b",
    "BUILD on a storage": storage() + b"}b",
    "append to a string": _OS + b"Na",
    "append to a tuple": b")Na",
    "append to a tensor": tensor() + b"Na",
    "extend a dictionary": b"}(NNe",
    "set an item of a list": b"]NNs",
    "set an item of a tensor": tensor() + b"K\0K\1s",
    "add to a list": b"](N\x90",
    "an odd number of items": b"}(NNNu",
    "an odd number of items in DICT": b"(NNNd",
    "a list as a key": b"}]Ns",
    "a dictionary as a key": b"}}Ns",
    "an unmatched mark": b"(N",
    "two values": b"NN",
    "no value": b"",
    "items without a mark": b"]e",
    "tuple of nothing": b"\x87",
    "memo that was not written": b"h\x05",
    "long memo that was not written": b"j\xff\xff\xff\xff",
    "negative memo": b"Np-5\n",
    "memo of nothing": b"q\x00",
    "text persistent id": b"P1234\n",
    "persistent id of a module": b"(" + unicode("module") + b"NNNtQ",
    "persistent id of None": b"NQ",
    "persistent id of an empty tuple": b")Q",
    "persistent id of a list": b"(" + b"]" + b"tQ",
    "protocol 9": b"\x80\x09N",
    "extension code": b"\x82\x01",
    "extension code of two bytes": b"\x83\x01\x00",
    "next buffer": b"\x97",
    "readonly buffer": b"N\x98",
    "an unknown opcode": b"\xff",
    "a global that is no string": b"NN\x93",
    "a global that is not UTF-8": b"c\xff\xfe\nx\n",
    "a global without an end": b"c" + b"a" * 200,
    "a string without an end": b"X\xff\xff\xff\x7fabc",
    "a string of 2**63 bytes": b"\x8d" + b"\xff" * 8,
    "bytes of 2**63": b"\x8e" + b"\xff" * 8,
    "a bytearray of 2**63": b"\x96" + b"\xff" * 8,
    "a number of 2**31 bytes": b"\x8b\xff\xff\xff\xff",
    "a frame without an end": b"\x95\xff",
    "a string that is not UTF-8": b"\x8c\x02\xff\xfe",
    "a number of a million digits": b"L" + b"9" * 1_000_000 + b"L\n",
    "a number that is none": b"Ixyz\n",
    "a float that is none": b"Fxyz\n",
    "a quoted string with code": b"S'\\x41' + str(1)\n",
}


def bombs_in_pickles() -> Iterator[Case]:
    def case(label: str, body: bytes) -> Case:
        return Case(label, archive(pickled(body, 4)), words=("data.pkl, byte",))

    def repeated(make: bytes, use: bytes, times: int) -> bytes:
        return make + b"\x94" + b"0" + b"](" + use * times + b"e"

    text = unicode("x" * 100_000)
    yield case("a million lists, unclosed", b"]" * 3_000_000)
    yield case("nested lists, a million deep", b"]" * 1_000_000 + b"a" * 1_000_000)
    yield case("a million marks", b"(" * 3_000_000)
    yield case("nested tuples as a key", b"}" + b")" + b"\x85" * 100_000 + b"Ns")
    yield case("shared tuples as a key", b"}" + b")" + b"2\x86" * 60 + b"Ns")
    yield case("shared tuples in a set", b"\x8f(" + b")" + b"2\x86" * 60 + b"\x90")
    yield case("shared tuples in a frozenset", b"(" + b")" + b"2\x86" * 60 + b"\x91")
    yield case("shared tuples in set()", name("builtins", "set") + b"]" + b")" + b"2\x86" * 60 + b"a\x85R")
    yield case(
        "shared tuples in OrderedDict()",
        name("collections", "OrderedDict") + b"]" + b")" + b"2\x86" * 60 + b"N\x86a\x85R",
    )
    colliding = b"".join(number(k * ((1 << 61) - 1)) + b"N" for k in range(1, 20_000))
    yield case("keys with equal hashes", b"}(" + colliding + b"u")
    encode = name("_codecs", "encode") + b"\x94" + b"h\x00" + unicode("latin1") + b"\x86R0"
    yield case(
        "a string encoded ten thousand times",
        text + b"\x94" + encode + b"](" + (b"h\x01h\x00" + unicode("latin1") + b"\x86R") * 10_000 + b"e",
    )
    pairs = b"](" + b"".join(number(k) + b"N\x86" for k in range(2000)) + b"e"
    ordered = name("collections", "OrderedDict") + b"\x94"
    yield case(
        "a dictionary copied fifty thousand times",
        pairs + b"\x94" + ordered + b"](" + b"h\x01h\x00\x85R" * 50_000 + b"e",
    )
    yield case(
        "a set copied fifty thousand times",
        pairs + b"\x94" + name("builtins", "set") + b"\x94" + b"](" + b"h\x01h\x00\x85R" * 50_000 + b"e",
    )
    array = name("builtins", "bytearray") + b"\x94"
    yield case(
        "a bytearray copied ten thousand times",
        b"B"
        + struct.pack("<I", 100_000)
        + bytes(100_000)
        + b"\x94"
        + array
        + b"]("
        + b"h\x01h\x00\x85R" * 10_000
        + b"e",
    )
    yield case("a bytearray of 2**40 bytes", name("builtins", "bytearray") + number(1 << 40) + b"\x85R")
    yield case("bytes of 2**40", name("builtins", "bytes") + number(1 << 40) + b"\x85R")
    yield case("a tensor of 2**40 elements", name("torch", "Tensor") + number(1 << 40) + b"\x85R")
    yield case("a slow codec", name("_codecs", "encode") + text + unicode("idna") + b"\x86R")
    yield case("recursion through _rebuild_from_type_v2", nested_rebuild(2000))


def nested_rebuild(depth: int) -> bytes:
    rebuild, kind = name("torch._tensor", "_rebuild_from_type_v2"), name("torch", "Tensor")
    body = tensor()[: -len(b"tR")].replace(name("torch._utils", "_rebuild_tensor_v2") + b"(", b"(", 1) + b"t"
    inner = name("torch._utils", "_rebuild_tensor_v2")
    for _ in range(depth):
        body = b"(" + inner + kind + body + b"}t"
        inner = rebuild
    return rebuild + body + b"R"


# -- tensors that cannot be -----------------------------------------------------------------------------------------


def impossible_tensors() -> Iterator[Case]:
    big, minus = number(1 << 60), number(-1)
    bodies = {
        "2**60 elements": tensor(storage(numel=big)), "minus one element": tensor(storage(numel=minus)), "numel True": tensor(storage(numel=b"\x88")),
        "five elements for four": tensor(storage(numel=number(5))), "three elements for four": tensor(storage(numel=number(3))),
        "numel of 2**100": tensor(storage(numel=number(1 << 100))), "numel a string": tensor(storage(numel=_OS)), "numel a float": tensor(storage(numel=b"G" + bytes(8))),
        "unknown key": tensor(storage(key=unicode("7"))), "key that climbs": tensor(storage(key=unicode("../data.pkl"))), "key None": tensor(storage(key=b"N")),
        "location None": tensor(storage(location=b"N")), "type a string": tensor(storage().replace(name("torch", "FloatStorage"), _OS)),
        "type a dtype": tensor(storage().replace(name("torch", "FloatStorage"), name("torch", "float32"))), "unknown storage class": tensor(storage("EvilStorage")),
        "double for float": tensor(storage("DoubleStorage")), "identity too short": tensor(b"(" + unicode("storage") + b"tQ"),
        "size of 2**60": tensor(size=big + b"\x85"), "size of 2**100": tensor(size=number(1 << 100) + b"\x85"), "negative size": tensor(size=minus + b"\x85"),
        "five of four": tensor(size=b"K\x05\x85"), "negative stride": tensor(stride=minus + b"\x85"), "stride of 2**62": tensor(stride=number(1 << 62) + b"\x85"),
        "offset of one": tensor(offset=number(1)), "negative offset": tensor(offset=minus), "offset of 2**62": tensor(offset=number(1 << 62)), "size a list of strings": tensor(size=_OS + b"\x85"),
        "size a number": tensor(size=b"K\x04"), "size None": tensor(size=b"N"), "two strides for one size": tensor(stride=b"K\x01K\x01\x86"), "float size": tensor(size=b"G" + bytes(8) + b"\x85"),
        "a hundred thousand dimensions": tensor(size=b"(" + b"K\x01" * 100_000 + b"t", stride=b"(" + b"K\x01" * 100_000 + b"t"),
        "empty with a huge dimension": tensor(size=b"K\x00" + number(1 << 100) + b"\x86", stride=b"K\x01K\x01\x86"), "storage None": tensor(b"N"), "storage a tensor": tensor(tensor()),
        "dtype a string": tensor(storage("UntypedStorage", numel=number(16)), more=_OS, function="_rebuild_tensor_v3"), "dtype None": tensor(storage("UntypedStorage", numel=number(16)), more=b"N", function="_rebuild_tensor_v3"),
        "v3 with too large a dtype": tensor(storage("UntypedStorage", numel=number(16)), size=b"K\x03\x85", more=name("torch", "float64"), function="_rebuild_tensor_v3"),
        "unknown flags": tensor(more=b"}" + unicode("evil") + b"\x88s"), "flags that are a list": tensor(more=b"](K\1e"), "expanded and conjugated": tensor(size=number(1 << 40) + b"\x85", stride=b"K\0\x85", more=b"}" + unicode("conj") + b"\x88s"),
        "too few arguments": name("torch._utils", "_rebuild_tensor_v2") + b")R", "a gradient flag for integers": tensor(storage("IntStorage"), grad=b"\x88"),
        "a parameter of a string": name("torch._utils", "_rebuild_parameter") + b"(" + _OS + b"\x88" + _OD + b"tR", "a parameter of nothing": name("torch.nn.parameter", "Parameter") + b")R",
        "attributes that hide methods": name("torch._tensor", "_rebuild_from_type_v2") + b"(" + name("torch._utils", "_rebuild_tensor") + name("torch", "Tensor") + b"(" + storage() + number(0) + b"K\4\x85K\1\x85t}" + unicode("backward") + b"NstR",
        "attributes that replace the storage": name("torch._tensor", "_rebuild_from_type_v2") + b"(" + name("torch._utils", "_rebuild_tensor") + name("torch", "Tensor") + b"(" + storage() + number(0) + b"K\4\x85K\1\x85t}" + unicode("_storage") + b"NstR",
        "a subclass nobody allowed": name("torch._tensor", "_rebuild_from_type_v2") + b"(" + name("torch._utils", "_rebuild_tensor") + name("torch", "float32") + b"(" + storage() + number(0) + b"K\4\x85K\1\x85t}tR",
        "a size of strings": name("torch", "Size") + b"(" + _OS + b"t\x85R", "a size of 2**40": name("torch", "Size") + number(1 << 40) + b"\x85R", "an unknown device": name("torch", "device") + unicode("evil") + b"\x85R",
        "a layout called os": name("torch.serialization", "_get_layout") + _OS + b"\x85R", "a quantized tensor": name("torch._utils", "_rebuild_qtensor") + b")R",
        "a sparse tensor of nothing": name("torch._utils", "_rebuild_sparse_tensor") + b"NN\x86R", "a meta tensor of a string": name("torch._utils", "_rebuild_meta_tensor_no_storage") + b"(" + _OS + b"))\x89tR",
        "an array of objects": numpy_array(b"X\x02\0\0\0O8", b"B\x08\0\0\0" + bytes(8)), "an array of a billion bytes each": numpy_array(unicode("V1000000000"), b"C\0"), "a string type of 2**31": numpy_array(unicode("S2147483647"), b"C\0"),
        "an array shorter than its shape": numpy_array(unicode("f8"), b"C\x08" + bytes(8), size=number(2)), "an array of 2**60": numpy_array(unicode("f8"), b"C\x08" + bytes(8), size=number(1 << 60)),
        "a scalar of objects": name("numpy._core.multiarray", "scalar") + numpy_type(unicode("O8")) + b"C\x08" + bytes(8) + b"\x86R", "a scalar of the wrong size": name("numpy._core.multiarray", "scalar") + numpy_type(unicode("f8")) + b"C\x04" + bytes(4) + b"\x86R",
        "a dtype with fields": numpy_type(unicode("f8")) + b"(K\3" + unicode("<") + b"N" + b"(" + unicode("a") + b"t" + b"}" + b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb", "an array type that is a tensor": name("numpy._core.multiarray", "_reconstruct") + name("torch", "Tensor") + b"K\0\x85C\1b\x87R",
    }  # fmt: skip
    for label, body in bodies.items():
        yield Case(f"impossible: {label}", archive(pickled(body, 4)))


def numpy_type(code: bytes) -> bytes:
    return name("numpy", "dtype") + code + b"\x89\x88\x87R"


def numpy_array(code: bytes, raw: bytes, size: bytes = number(1)) -> bytes:
    made = name("numpy._core.multiarray", "_reconstruct") + name("numpy", "ndarray") + b"K\0\x85C\x01b\x87R"
    return made + b"(K\1" + size + b"\x85" + numpy_type(code) + b"\x89" + raw + b"tb"


# -- older files ----------------------------------------------------------------------------------------------------


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


def older_files(chance: random.Random) -> Iterator[Case]:
    good = tensor(old_storage())
    file = legacy(good)
    for place in sorted({*chance.sample(range(1, len(file)), 25), len(file) - 1, len(file) - 17}):
        yield Case(f"older file truncated at {place}", file[:place])
    for place in chance.sample(range(len(file) - 24), 25):
        flipped = bytearray(file)
        flipped[place] ^= 1 << chance.randrange(8)
        yield Case(f"older file with a bit flipped at {place}", bytes(flipped), harmless=True)
    for module, attribute, argument in CALLABLES[:16]:
        yield Case(
            f"older file calling {module}.{attribute}",
            legacy(name(module, attribute) + unicode(argument) + b"\x85R", pickle.dumps([], 2), b""),
            words=(shown(module, attribute),),
        )
    yield Case("wrong magic number", legacy(good, magic=5), words=("magic number",))
    yield Case("a plain pickle", pickle.dumps({"a": [1, 2, 3]}, 2), words=("magic number",))
    yield Case("a plain hostile pickle", pickle.dumps(Payload(), 2))
    yield Case("a hostile magic number", pickle.dumps(Payload(), 2) + file)
    yield Case("wrong version", legacy(good, version=7), words=("protocol version",))
    yield Case("hostile key list", legacy(good, pickle.dumps([Payload()], 2)))
    yield Case("missing key", legacy(good, pickle.dumps([], 2)))
    yield Case("unknown key", legacy(good, pickle.dumps(["0", "1"], 2)))
    yield Case("key twice", legacy(good, pickle.dumps(["0", "0"], 2)))
    yield Case("keys that are a number", legacy(good, pickle.dumps(5, 2)))
    for stated in (5, -1, 1 << 60, 0):
        yield Case(f"storage that claims {stated} elements", legacy(good, data=struct.pack("<q4f", stated, 1, 2, 3, 4)))
    yield Case(
        "pickle that claims 2**60 elements",
        legacy(tensor(old_storage(numel=number(1 << 60))), data=struct.pack("<q4f", 1 << 60, 1, 2, 3, 4)),
    )
    for offset, count in ((0, 5), (-1, 2), (4, 1), (1 << 60, 1), (0, -1)):
        view = b"(" + unicode("v") + number(offset) + number(count) + b"t"
        yield Case(f"view of {count} from {offset}", legacy(tensor(old_storage(view))))
    tar = bytearray(10240)
    tar[257:262] = b"ustar"
    yield Case("a tar file", bytes(tar), words=("tar format",))


# -- safetensors ----------------------------------------------------------------------------------------------------


def safetensors_files(chance: random.Random) -> Iterator[Case]:
    def file(header: bytes, body: bytes = b"", length: int | None = None) -> bytes:
        return struct.pack("<Q", len(header) if length is None else length) + header + body

    entry = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    good = file(b'{"a":' + entry + b"}", b"1234")
    for place in range(len(good)):
        if place % 5 == 0 or place < 10:
            yield Case(f"safetensors truncated at {place}", good[:place], ".safetensors")
    headers = {
        "no object": b"[]", "no JSON": b"{", "not UTF-8": b'{"\xff":1}', "deep": b'{"a":' + b"[" * 100_000, "deep in metadata": b'{"__metadata__":' + b"[" * 100_000,
        "NaN": b'{"a":NaN}', "number of a million digits": b'{"a":' + b"9" * 1_000_000 + b"}", "entry a list": b'{"a":[]}', "entry None": b'{"a":null}', "nothing in it": b'{"a":{}}',
        "name twice": b'{"a":' + entry + b',"a":' + entry + b"}", "field twice": b'{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        "metadata of numbers": b'{"__metadata__":{"a":1},"a":' + entry + b"}", "metadata a list": b'{"__metadata__":[],"a":' + entry + b"}",
        "hole": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}', "overlap": b'{"a":' + entry + b',"b":' + entry + b"}", "uncovered end": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        "offsets backwards": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[4,3]}}', "offset behind the end": b'{"a":{"dtype":"U8","shape":[100],"data_offsets":[0,100]}}',
        "offset of 2**70": b'{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (1 << 70, 1 << 70), "three offsets": b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}}',
        "negative offset": b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}}', "negative shape": b'{"a":{"dtype":"U8","shape":[-4,-1],"data_offsets":[0,4]}}',
        "float shape": b'{"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}}', "bool shape": b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}', "shape that overflows": b'{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]}}',
        "shape and size differ": b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', "unknown dtype": b'{"a":{"dtype":"X9","shape":[4],"data_offsets":[0,4]}}', "dtype a number": b'{"a":{"dtype":9,"shape":[4],"data_offsets":[0,4]}}',
        "half a byte": b'{"a":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}}', "F4, which is not here": b'{"a":{"dtype":"F4","shape":[8],"data_offsets":[0,4]}}',
    }  # fmt: skip
    for label, header in headers.items():
        yield Case(f"safetensors header: {label}", file(header, b"1234"), ".safetensors", words=("deserializing",))
    for length in (0, 1, 10_000, 100_000_001, 1 << 40, (1 << 64) - 1):
        yield Case(
            f"safetensors header of {length} bytes", file(b'{"a":' + entry + b"}", b"1234", length), ".safetensors"
        )
    for place in chance.sample(range(len(good)), 20):
        flipped = bytearray(good)
        flipped[place] ^= 1 << chance.randrange(8)
        yield Case(f"safetensors with a bit flipped at {place}", bytes(flipped), ".safetensors", harmless=True)


def cases(seed: int = 0) -> list[Case]:
    """All cases, the same for the same seed."""
    chance = random.Random(seed)
    return [
        *damaged_archives(chance), *lying_archives(), *hostile_calls(), *hostile_objects(), *bombs_in_pickles(), *impossible_tensors(),
        *older_files(chance), *safetensors_files(chance),
    ]  # fmt: skip


if __name__ == "__main__":
    print(len(cases()), file=sys.stderr)
