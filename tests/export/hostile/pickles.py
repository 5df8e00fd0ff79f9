"""Pickles whose opcodes make no sense, and pickles that would take time or memory out of proportion."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .build import Case, archive, name, number, pickled, storage, tensor, unicode


def illegal_opcodes() -> Iterator[Case]:
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
