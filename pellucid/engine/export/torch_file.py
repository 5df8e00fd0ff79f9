"""PyTorch's `.pt` files: a pickle and one record per storage in a zip archive. The older format is in legacy.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pellucid.engine.core.device import META
from pellucid.engine.core.storage import Storage
from pellucid.engine.export import names, tensors
from pellucid.engine.export.archive_reader import ArchiveReader
from pellucid.engine.export.archive_writer import ALIGNMENT, ArchiveWriter
from pellucid.engine.export.pickle_writer import StorageTable, dump
from pellucid.engine.export.tensors import StoredBytes
from pellucid.engine.export.unpickle import HowToUnpickle, unpickle

LocationOf = Callable[[StoredBytes], str]
Restore = Callable[[StoredBytes, str], StoredBytes]


# -- writing --------------------------------------------------------------------------------------------------------


class Pickled(NamedTuple):
    """An object taken apart: everything that can fail has been done, and no file has been touched."""

    content: bytes
    storages: dict[str, Storage]


def take_apart(obj: Any, protocol: int, pickle_module: Any, location_of: LocationOf) -> Pickled:
    """The pickle of `obj` and the storages that it refers to."""
    table = StorageTable(location_of)
    content = dump(obj, protocol, pickle_module, persistent_ids(table))
    return Pickled(content, table.storages)


def persistent_ids(table: StorageTable) -> Callable[[Any], Any]:
    """The `persistent_id` of a pickler: storages are referred to, all else stands in the pickle."""

    def persistent_id(obj: Any) -> Any:
        source = tensors.as_stored(obj)
        return None if source is None else table.refer(source)

    return persistent_id


def write_archive(
    pickled: Pickled, stream: Any, root: str, *, checksums: bool = True, byteorder: bool = True, skip_data: bool = False
) -> None:
    """Write a zip archive to a binary stream; with `skip_data` the storages' bytes are zeros."""
    writer = ArchiveWriter(stream.write, root, checksums=checksums)
    writer.add("data.pkl", pickled.content)
    writer.add(".format_version", b"1")
    writer.add(".storage_alignment", str(ALIGNMENT).encode())
    if byteorder:
        writer.add("byteorder", sys.byteorder.encode())
    for key, storage in pickled.storages.items():
        writer.add(f"data/{key}", None if skip_data else storage.buffer, storage.nbytes)
    writer.close()


# -- reading --------------------------------------------------------------------------------------------------------


class HowToLoad(NamedTuple):
    """The reader's choices about storages.

    `map_path` names the file to map into memory in place of reading it, `shared` lets writes reach it; `on_meta` and
    `skip_data` leave the bytes unread; `byteorder` is assumed where the file does not say.
    """

    restore: Restore
    map_path: str | None = None
    shared: bool = False
    on_meta: bool = False
    skip_data: bool = False
    byteorder: str = "little"


def read_archive(archive: ArchiveReader, unpickling: HowToUnpickle, loading: HowToLoad) -> Any:
    """The object in an archive."""
    return unpickle(archive.read("data.pkl"), unpickling, StorageLoader(archive, loading).persistent_load, "data.pkl")


def stated_byteorder(archive: ArchiveReader, default: str) -> str:
    """`little` or `big`, from the archive's own record where it has one."""
    if "byteorder" not in archive:
        return default
    stated = archive.read("byteorder")
    if stated not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: {stated.decode('ascii', 'replace'):.40}")
    return stated.decode()


class StorageLoader:
    """Turns a pickle's persistent ids into storages, each read once."""

    def __init__(self, archive: ArchiveReader, loading: HowToLoad) -> None:
        self._archive = archive
        self._loading = loading
        self._byteorder = stated_byteorder(archive, loading.byteorder)
        self._loaded: dict[str, StoredBytes] = {}
        self._map: np.ndarray | None = None

    def persistent_load(self, identity: Any) -> Any:
        """The storage called `("storage", type, key, location, number of elements)`."""
        kind, key, location, count = checked_identity(identity, 4)
        nbytes = count * kind.dtype.itemsize
        if key not in self._loaded:
            self._loaded[key] = self._load(kind, key, location, nbytes)
        found = self._loaded[key]
        if found.where is not META and found.storage.nbytes != nbytes:
            raise RuntimeError(f"the file gives storage {key!r:.40} the two sizes {found.storage.nbytes} and {nbytes}")
        return tensors.with_type(found, kind.dtype, untyped=kind.name == "UntypedStorage")

    def _load(self, kind: names.StorageType, key: str, location: str, nbytes: int) -> StoredBytes:
        untyped = kind.name == "UntypedStorage"
        if self._loading.on_meta:
            return StoredBytes(tensors.storage_over(np.zeros(0, np.uint8)), kind.dtype, META, untyped=untyped)
        record = self._archive.record(f"data/{key}")
        if record.size != nbytes:
            raise RuntimeError(
                f"the pickle says that storage {key!r:.40} has {nbytes} bytes, and its record has {record.size}: "
                "the file is damaged"
            )
        source = StoredBytes(tensors.storage_over(self._bytes(f"data/{key}", kind)), kind.dtype, untyped=untyped)
        return self._loading.restore(source, location)

    def _bytes(self, name: str, kind: names.StorageType) -> np.ndarray:
        if self._loading.skip_data:
            return np.zeros(self._archive.record(name).size, np.uint8)
        buffer = self._archive.read_array(name) if self._loading.map_path is None else self._mapped(name, kind)
        return swapped(buffer, kind) if self._byteorder != sys.byteorder else buffer

    def _mapped(self, name: str, kind: names.StorageType) -> np.ndarray:
        """A view of the file in memory; its bytes are read when they are first used, and their CRC is not checked."""
        if self._map is None:
            mode: Any = "r+" if self._loading.shared else "c"
            assert self._loading.map_path is not None
            self._map = np.memmap(self._loading.map_path, np.uint8, mode).view(np.ndarray)
        record = self._archive.record(name)
        start = self._archive.absolute_start(record)
        part = self._map[start : start + record.size]
        # Archives of other programs may not align their records; unaligned elements would be slow everywhere.
        return part if start % kind.dtype.itemsize == 0 else part.copy()


def checked_identity(identity: Any, count: int) -> tuple[names.StorageType, str, str, int]:
    """The parts of a persistent id after the word `storage`, of the types that they must have."""
    if not isinstance(identity, tuple) or len(identity) != count + 1:
        raise RuntimeError(f"a storage is referred to by {type(identity).__name__} of unknown form")
    kind, key, location, numel = identity[1:5]
    kind = names.STORAGE_TYPES.get(kind) if type(kind) is str else kind
    location = location.decode("ascii") if isinstance(location, bytes) else location
    key = str(key) if type(key) is int else key
    if not isinstance(kind, names.StorageType) or type(key) is not str or type(location) is not str:
        raise RuntimeError("a storage is referred to by a name, type or device of unknown form")
    if type(numel) is not int or not 0 <= numel < 1 << 62:
        raise RuntimeError(f"a storage is said to have {numel!r:.40} elements")
    return kind, key, location, numel


def swapped(buffer: np.ndarray, kind: names.StorageType) -> np.ndarray:
    """The bytes with every number's byte order reversed (each part of a complex number by itself)."""
    size = kind.dtype.itemsize // (2 if kind.dtype.is_complex else 1)
    return buffer if size == 1 else buffer.reshape(-1, size)[:, ::-1].reshape(-1)
