"""The format of PyTorch before 1.6: five pickles one after another, then the bytes of the storages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, NamedTuple

import numpy as np

from pellucid.engine.core.device import META
from pellucid.engine.export import names, tensors
from pellucid.engine.export.pickle_reader import read_pickle
from pellucid.engine.export.pickle_scan import BoundedStream, next_pickle, scan
from pellucid.engine.export.pickle_writer import StorageTable, dump
from pellucid.engine.export.tensors import StoredBytes
from pellucid.engine.export.torch_file import HowToLoad, LocationOf, checked_identity, persistent_ids, swapped
from pellucid.engine.export.unpickle import HowToUnpickle, unpickle

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257


class Section(NamedTuple):
    """Where the elements of one storage lie in the file."""

    start: int
    nbytes: int


# -- writing --------------------------------------------------------------------------------------------------------


def take_apart_legacy(
    obj: Any, protocol: int, pickle_module: Any, location_of: LocationOf
) -> tuple[bytes, StorageTable]:
    """The pickle of `obj` in the older format, and the storages that it refers to."""
    table = StorageTable(location_of, name_untyped=False)
    refer = persistent_ids(table)

    def persistent_id(obj: Any) -> Any:
        identity = refer(obj)
        return None if identity is None else (*identity, None)  # the storage is no view of another storage

    return dump(obj, protocol, pickle_module, persistent_id), table


def write_legacy(content: bytes, table: StorageTable, stream: Any, protocol: int, pickle_module: Any) -> None:
    """Write the older format to a binary stream."""
    machine = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, machine):
        stream.write(pickle_module.dumps(head, protocol=protocol))
    stream.write(content)
    keys = sorted(table.storages)
    stream.write(pickle_module.dumps(keys, protocol=protocol))
    for key in keys:
        storage = table.storages[key]
        count = storage.nbytes // table.dtypes[key].itemsize
        stream.write(count.to_bytes(8, "little"))
        stream.write(storage.buffer.data)


# -- reading --------------------------------------------------------------------------------------------------------


def looks_like_tar(stream: Any) -> bool:
    """Whether the stream holds a tar archive, as PyTorch wrote them before 0.1.11."""
    start = stream.tell()
    stream.seek(start + _TAR_MARK_AT)
    mark = stream.read(len(_TAR_MARK))
    stream.seek(start)
    return mark == _TAR_MARK


def read_legacy(stream: Any, unpickling: HowToUnpickle, loading: HowToLoad, check_source: Callable[..., None]) -> Any:
    """The object in a file of the older format, which starts at the stream's position."""
    bounded = BoundedStream(stream)
    _check_head(stream, bounded)
    little = _machine_is_little(read_pickle(next_pickle(stream, bounded), source="the description of the machine"))
    content = next_pickle(stream, bounded)
    kinds = _storage_kinds(content)
    keys = read_pickle(next_pickle(stream, bounded), source="the list of storages")
    sections = _find_sections(stream, bounded, keys, kinds)
    end = bounded.tell()
    loader = LegacyStorageLoader(stream, sections, loading, "little" if little else "big", check_source)
    made = unpickle(content, unpickling, loader.persistent_load, "the object's pickle")
    stream.seek(end)  # Files of this format may follow one another in a stream.
    return made


def _check_head(stream: Any, bounded: BoundedStream) -> None:
    first = next_pickle(stream, bounded)
    # Only a short pickle can be the number; a long one is somebody's data and is not even looked at.
    number = read_pickle(first, source="the magic number") if len(first) < 64 else None
    if number != MAGIC_NUMBER:
        raise RuntimeError(
            "Invalid magic number; corrupt file? It is neither an archive nor an older file that save() wrote; a plain "
            "pickle is read with pickle.load(), if you trust it."
        )
    version = read_pickle(next_pickle(stream, bounded), source="the version")
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version!r:.40}")


def _machine_is_little(machine: Any) -> bool:
    if not isinstance(machine, dict) or type(machine.get("little_endian")) is not bool:
        raise UnpicklingError("the file does not say in which byte order it was written: it is damaged")
    return machine["little_endian"]


def _storage_kinds(content: bytes) -> dict[str, tuple[names.StorageType, int]]:
    """The element type and count of every storage that the object's pickle refers to."""
    kinds: dict[str, tuple[names.StorageType, int]] = {}
    for identity in scan(content, source="the object's pickle").storages:
        kind, key, _, count = checked_identity(identity[:5] if isinstance(identity, tuple) else identity, 4)
        first = kinds.setdefault(key, (kind, count))
        if first[0].dtype.itemsize * first[1] != kind.dtype.itemsize * count:
            raise UnpicklingError(f"the file gives storage {key!r:.40} two sizes: it is damaged")
    return kinds


def _find_sections(
    stream: Any, bounded: BoundedStream, keys: Any, kinds: dict[str, tuple[names.StorageType, int]]
) -> dict[str, Section]:
    """Where each storage's bytes lie; every size is checked against the file before anything is allocated."""
    if not isinstance(keys, list) or len(set(map(str, keys))) != len(keys) or set(map(str, keys)) != set(kinds):
        raise UnpicklingError("the storages that the file lists are not those that its object refers to: it is damaged")
    sections = {}
    for key in map(str, keys):
        kind, count = kinds[key]
        stated = int.from_bytes(bounded.read(8), "little")
        nbytes = count * kind.dtype.itemsize
        if stated != count or nbytes > bounded.remaining():
            raise UnpicklingError(
                f"storage {key!r:.40} should have {count} elements ({nbytes} bytes), the file says {stated} and has "
                f"{bounded.remaining()} bytes left: it is damaged or incomplete"
            )
        sections[key] = Section(bounded.tell(), nbytes)
        stream.seek(nbytes, 1)
    return sections


class LegacyStorageLoader:
    """Turns the older format's persistent ids into storages, each read once."""

    def __init__(
        self,
        stream: Any,
        sections: dict[str, Section],
        loading: HowToLoad,
        byteorder: str,
        check_source: Callable[..., None],
    ) -> None:
        self._stream = stream
        self._sections = sections
        self._loading = loading
        self._byteorder = byteorder
        self._check_source = check_source
        self._loaded: dict[str, StoredBytes] = {}
        self._views: dict[str, StoredBytes] = {}

    def persistent_load(self, identity: Any) -> Any:
        """A storage, a part of a storage, or the class of a module that was saved with its source."""
        if isinstance(identity, tuple) and identity and identity[0] in ("module", b"module"):
            self._check_source(*identity[1:4])
            return identity[1]
        if isinstance(identity, tuple) and len(identity) == 5:
            identity = (*identity, None)
        kind, key, location, _ = checked_identity(identity, 5)
        if key not in self._loaded:
            self._loaded[key] = self._load(kind, key, location)
        found = tensors.with_type(self._loaded[key], kind.dtype, untyped=kind.name == "UntypedStorage")
        return found if identity[5] is None else self._view(found, identity[5])

    def _load(self, kind: names.StorageType, key: str, location: str) -> StoredBytes:
        untyped = kind.name == "UntypedStorage"
        if self._loading.on_meta:
            return StoredBytes(tensors.storage_over(np.zeros(0, np.uint8)), kind.dtype, META, untyped=untyped)
        section = self._sections[key]
        buffer = np.zeros(section.nbytes, np.uint8) if self._loading.skip_data else self._read(section)
        if self._byteorder != sys.byteorder:
            buffer = swapped(buffer, kind)
        return self._loading.restore(StoredBytes(tensors.storage_over(buffer), kind.dtype, untyped=untyped), location)

    def _read(self, section: Section) -> np.ndarray:
        self._stream.seek(section.start)
        buffer = np.frombuffer(bytearray(self._stream.read(section.nbytes)), np.uint8)
        if len(buffer) != section.nbytes:
            raise UnpicklingError("the file became shorter while it was read")
        return buffer

    def _view(self, source: StoredBytes, view: Any) -> StoredBytes:
        """A part of a storage: how PyTorch 0.3 and older wrote what shares memory."""
        if not isinstance(view, tuple) or len(view) != 3 or not all(type(number) is int for number in view[1:]):
            raise UnpicklingError("a part of a storage is described in an unknown form")
        key, offset, count = view
        size = source.dtype.itemsize
        if not 0 <= offset <= offset + count or (offset + count) * size > source.nbytes():
            raise UnpicklingError("a part of a storage lies outside of it")
        if str(key) not in self._views:
            part = source.storage.buffer[offset * size : (offset + count) * size]
            self._views[str(key)] = StoredBytes(
                tensors.storage_over(part), source.dtype, source.where, untyped=source.untyped
            )
        return self._views[str(key)]
