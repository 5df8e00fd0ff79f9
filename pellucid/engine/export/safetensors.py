"""The safetensors format, from its definition: a length, a JSON header, and the tensors' bytes without gaps.

Eight bytes give the header's length, little endian; the header maps each name to `dtype`, `shape` and `data_offsets`
(from the header's end), and `__metadata__` to strings. Nothing is allocated before it was checked against the file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.export import tensors

HEADER_LIMIT = 100_000_000
_LENGTH_BYTES = 8
_LARGEST = (1 << 64) - 1

# Codes in the order in which the format's own writer sorts tensors: the last come first in a file, so that wide
# elements
# are aligned.
_CODES = (
    "BOOL",
    "F4",
    "F6_E2M3",
    "F6_E3M2",
    "U8",
    "I8",
    "F8_E5M2",
    "F8_E4M3",
    "F8_E8M0",
    "F8_E4M3FNUZ",
    "F8_E5M2FNUZ",
    "I16",
    "U16",
    "F16",
    "BF16",
    "I32",
    "U32",
    "F32",
    "C64",
    "F64",
    "I64",
    "U64",
)
_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
_CODE_OF = {name: code for code, name in _NAMES.items()}


class SafetensorError(Exception):
    """A safetensors file is malformed, or does not have what was asked for."""


class Entry(NamedTuple):
    """One tensor of a file; `start` and `end` count from the end of the header."""

    code: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type; SafetensorError for the formats of less than a byte, which have none here."""
        name = _NAMES.get(self.code)
        if name is None:
            _refuse(f"the dtype {self.code} has no counterpart in Pellucid")
        return dtypes.by_name(name)


class Header(NamedTuple):
    """What the header of a file says; `data_start` is where the tensors' bytes begin in the file."""

    entries: dict[str, Entry]
    metadata: dict[str, str] | None
    data_start: int


def _refuse(reason: str) -> NoReturn:
    raise SafetensorError(f"Error while deserializing: {reason}")


# -- writing --------------------------------------------------------------------------------------------------------


def write(named: Mapping[str, Any], metadata: Mapping[str, str] | None, stream: Any) -> None:
    """Write contiguous tensors to a binary stream, in the order and layout of the format's own writer."""
    order = sorted(named, key=lambda name: (-_CODES.index(code_of(name, named[name])), name.encode()))
    stream.write(_header_bytes(named, order, metadata))
    for name in order:
        array = tensors.contiguous_bytes(named[name])
        stream.write(_little_endian(array, tensors.dtype_of(named[name])).data)


def code_of(name: str, tensor: Any) -> str:
    """The format's code for a tensor's element type."""
    code = _CODE_OF.get(tensors.dtype_of(tensor).name)
    if code is None:
        raise ValueError(
            f"tensor {name!r} has the dtype {tensors.dtype_of(tensor)}, which the safetensors format does not have"
        )
    return code


def _header_bytes(named: Mapping[str, Any], order: list[str], metadata: Mapping[str, str] | None) -> bytes:
    header: dict[str, Any] = {}
    if metadata is not None:
        if not all(type(key) is str and type(value) is str for key, value in metadata.items()):
            raise TypeError("metadata of a safetensors file maps strings to strings")
        header["__metadata__"] = dict(metadata)
    position = 0
    for name in order:
        nbytes = tensors.numel(named[name]) * tensors.dtype_of(named[name]).itemsize
        header[name] = {
            "dtype": code_of(name, named[name]),
            "shape": list(named[name].shape),
            "data_offsets": [position, position + nbytes],
        }
        position += nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    if len(text) > HEADER_LIMIT:
        raise SafetensorError(f"the header would have {len(text)} bytes; the format allows {HEADER_LIMIT}")
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text


def _little_endian(array: np.ndarray, kind: dtypes.dtype) -> np.ndarray:
    """The bytes with the format's byte order, swapped on machines that have the other."""
    size = kind.itemsize // (2 if kind.is_complex else 1)
    return array if sys.byteorder == "little" or size == 1 else array.reshape(-1, size)[:, ::-1].reshape(-1)


# -- the header -----------------------------------------------------------------------------------------------------


def read_header(stream: BinaryIO, size: int) -> Header:
    """The header of a file of `size` bytes, with every rule of the format checked."""
    if size < _LENGTH_BYTES:
        _refuse(f"header too small: the file has {size} bytes")
    length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
    if length > HEADER_LIMIT:
        _refuse(f"header too large: it claims {length} bytes, the format allows {HEADER_LIMIT}")
    if length > size - _LENGTH_BYTES:
        _refuse(f"invalid header length: it claims {length} bytes, the file has {size - _LENGTH_BYTES} left")
    header = _parsed(stream.read(length))
    metadata = _checked_metadata(header.pop("__metadata__", None))
    entries = {name: _checked_entry(name, fields) for name, fields in header.items()}
    _check_coverage(entries, size - _LENGTH_BYTES - length)
    return Header(entries, metadata, _LENGTH_BYTES + length)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse(f"invalid UTF-8 in header: {error.reason} at byte {error.start}")
    try:
        header = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        _refuse(f"invalid JSON in header: {error!s:.200}")
    if not isinstance(header, dict):
        _refuse(f"invalid JSON in header: it is no object but {type(header).__name__}")
    return header


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name appears twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _checked_metadata(metadata: Any) -> dict[str, str] | None:
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not all(type(value) is str for value in metadata.values()):
        _refuse("invalid JSON in header: __metadata__ must map strings to strings")
    return metadata


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _checked_entry(name: str, fields: Any) -> Entry:
    if not isinstance(fields, dict) or not {"dtype", "shape", "data_offsets"} <= fields.keys():
        _refuse(f"invalid JSON in header: tensor `{name:.80}` lacks dtype, shape or data_offsets")
    code, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if type(code) is not str or code not in _CODES:
        _refuse(f"invalid JSON in header: tensor `{name:.80}` has the unknown dtype {code!r:.40}")
    if not isinstance(shape, list) or not all(map(_is_size, shape)):
        _refuse(f"invalid JSON in header: tensor `{name:.80}` has the shape {shape!r:.80}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        _refuse(f"invalid JSON in header: tensor `{name:.80}` has the data_offsets {offsets!r:.80}")
    entry = Entry(code, tuple(shape), offsets[0], offsets[1])
    if entry.end - entry.start != _nbytes(entry):
        _refuse(f"invalid shape, data type, or offset for tensor `{name:.80}`")
    return entry


def _bits(code: str) -> int:
    if code in _NAMES:
        return 8 * dtypes.by_name(_NAMES[code]).itemsize
    return 4 if code == "F4" else 6


def _nbytes(entry: Entry) -> int:
    """How many bytes the shape and type need; an error where they are more than any file can have."""
    bits = _bits(entry.code)
    for size in entry.shape:
        bits *= size
        if bits > 8 * _LARGEST:
            _refuse("overflow computing buffer size from shape and/or element type")
    if bits % 8:
        _refuse(f"{entry.code} tensors must fill whole bytes")
    return bits // 8


def _check_coverage(entries: dict[str, Entry], size: int) -> None:
    """The tensors must cover the bytes after the header once, without holes or overlaps."""
    position = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)):
        if entry.start != position:
            kind = "a hole before it" if entry.start > position else "an overlap with another tensor"
            _refuse(f"invalid offset for tensor `{name:.80}`: there is {kind}")
        position = entry.end
    if position != size:
        _refuse(f"incomplete metadata, file not fully covered: tensors have {position} bytes, the file {size}")


# -- reading --------------------------------------------------------------------------------------------------------


class SafetensorsReader:
    """Reads single tensors of an open file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0, os.SEEK_END)
        size = stream.tell()
        stream.seek(0)
        self.header = read_header(stream, size)

    def entry(self, name: str) -> Entry:
        """What the header says of a tensor; SafetensorError where the file has none of that name."""
        found = self.header.entries.get(name)
        if found is None:
            raise SafetensorError(f"File does not contain tensor {name}; it has {_some(self.header.entries)}")
        return found

    def names_by_offset(self) -> list[str]:
        """All names, in the order of the data."""
        return sorted(
            self.header.entries, key=lambda name: (self.header.entries[name].start, self.header.entries[name].end)
        )

    def read(self, name: str) -> Any:
        """A tensor with memory of its own."""
        entry = self.entry(name)
        buffer = np.empty(entry.end - entry.start, np.uint8)
        self._stream.seek(self.header.data_start + entry.start)
        if self._stream.readinto(buffer.data) != len(buffer):  # type: ignore[attr-defined]
            raise SafetensorError(f"tensor {name!r:.80} ends early: the file became shorter while it was open")
        return tensors.tensor_from(_little_endian(buffer, entry.dtype), entry.dtype, entry.shape)


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "") if listed else "none"


def read_stream(stream: BinaryIO) -> dict[str, Any]:
    """All tensors of an open file, sorted by name."""
    reader = SafetensorsReader(stream)
    return {name: reader.read(name) for name in reader.names_by_offset()}


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """All tensors of a file."""
    with open(path, "rb") as stream:
        return read_stream(stream)
