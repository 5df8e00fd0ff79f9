"""Safetensors files that break the rules of the format."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from .build import Case


def safetensors_files(chance: random.Random) -> Iterator[Case]:
    def file(header: bytes, body: bytes = b"", length: int | None = None) -> bytes:
        return struct.pack("<Q", len(header) if length is None else length) + header + body

    entry = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    good = file(b'{"a":' + entry + b"}", b"1234")
    for place in range(len(good)):
        if place % 5 == 0 or place < 10:
            yield Case(f"safetensors truncated at {place}", good[:place], ".safetensors")
    headers = {
        "no object": b"[]",
        "no JSON": b"{",
        "not UTF-8": b'{"\xff":1}',
        "deep": b'{"a":' + b"[" * 100_000,
        "deep in metadata": b'{"__metadata__":' + b"[" * 100_000,
        "NaN": b'{"a":NaN}',
        "number of a million digits": b'{"a":' + b"9" * 1_000_000 + b"}",
        "entry a list": b'{"a":[]}',
        "entry None": b'{"a":null}',
        "nothing in it": b'{"a":{}}',
        "name twice": b'{"a":' + entry + b',"a":' + entry + b"}",
        "field twice": b'{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        "metadata of numbers": b'{"__metadata__":{"a":1},"a":' + entry + b"}",
        "metadata a list": b'{"__metadata__":[],"a":' + entry + b"}",
        "hole": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}',
        "overlap": b'{"a":' + entry + b',"b":' + entry + b"}",
        "uncovered end": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        "offsets backwards": b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[4,3]}}',
        "offset behind the end": b'{"a":{"dtype":"U8","shape":[100],"data_offsets":[0,100]}}',
        "offset of 2**70": b'{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (1 << 70, 1 << 70),
        "three offsets": b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}}',
        "negative offset": b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}}',
        "negative shape": b'{"a":{"dtype":"U8","shape":[-4,-1],"data_offsets":[0,4]}}',
        "float shape": b'{"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}}',
        "bool shape": b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}',
        "shape that overflows": b'{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967],"data_offsets":[0,4]}}',
        "shape and size differ": b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}',
        "unknown dtype": b'{"a":{"dtype":"X9","shape":[4],"data_offsets":[0,4]}}',
        "dtype a number": b'{"a":{"dtype":9,"shape":[4],"data_offsets":[0,4]}}',
        "half a byte": b'{"a":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}}',
        "F4, which is not here": b'{"a":{"dtype":"F4","shape":[8],"data_offsets":[0,4]}}',
    }
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
