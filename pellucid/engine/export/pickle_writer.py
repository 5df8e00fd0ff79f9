"""Pickling for PyTorch's files: storages leave the stream for records of their own, and our classes get PyTorch's
names.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import Classes
from pellucid.engine.core.storage import Storage
from pellucid.engine.export import names, tensors
from pellucid.engine.tensor.layout import layout

# Types that need no look for a tensor among their bases.
_PLAIN = frozenset(
    (int, float, str, bytes, bool, type(None), tuple, list, dict, set, names.TorchName, tensors.StoredBytes)
)
PersistentId = Callable[[Any], Any]


class StorageTable:
    """Numbers the storages that a pickle refers to, each once however many tensors share it.

    In the older format PyTorch cannot load what is called an UntypedStorage; there it is called a ByteStorage.
    """

    def __init__(self, location_of: Callable[[tensors.StoredBytes], str], *, name_untyped: bool = True) -> None:
        self._location_of = location_of
        self._name_untyped = name_untyped
        self.storages: dict[str, Storage] = {}
        self._keys: dict[int, str] = {}
        self.dtypes: dict[str, dtypes.dtype] = {}

    def refer(self, source: tensors.StoredBytes) -> tuple[Any, ...]:
        """The persistent id of a storage: what stands in the pickle in place of its bytes."""
        kind = source.dtype
        key = self._keys.setdefault(id(source.storage), str(len(self._keys)))
        self.storages[key] = source.storage
        if source.storage.nbytes and self.dtypes.setdefault(key, kind) is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types "
                f"({self.dtypes[key]} and {kind}). Save a clone() of one of them."
            )
        self.dtypes.setdefault(key, kind)
        return (
            "storage",
            _storage_name(source, self._name_untyped),
            key,
            self._location_of(source),
            source.storage.nbytes // kind.itemsize,
        )


def _storage_name(source: tensors.StoredBytes, name_untyped: bool) -> names.TorchName:
    if source.untyped:
        return (
            names.TorchName("torch.storage", "UntypedStorage")
            if name_untyped
            else names.TorchName("torch", "ByteStorage")
        )
    return names.TorchName("torch", names.STORAGE_NAMES[source.dtype.name])


# The pure-Python pickler: only it lets globals be renamed. Its methods are documented nowhere and typed nowhere.
_PythonPickler: Any = pickle._Pickler


def _taken_apart(obj: Any) -> Any:
    """The reduction of a tensor whose class does not say otherwise; NotImplemented for all else."""
    kind = type(obj)
    if kind in _PLAIN or not tensors.is_tensor(obj):
        return NotImplemented
    if kind.__reduce_ex__ is Classes.tensor.__reduce_ex__ and kind.__reduce__ is Classes.tensor.__reduce__:
        return tensors.reduce_tensor(obj)
    return NotImplemented


class ArchivePickler(_PythonPickler):
    """Writes PyTorch's global names and hands every storage to `refer`."""

    dispatch = dict(_PythonPickler.dispatch)

    def __init__(self, stream: Any, protocol: int, refer: PersistentId) -> None:
        super().__init__(stream, protocol)
        self._refer = refer
        self._written_names: dict[tuple[str, str], tuple[str, str]] = {}

    def persistent_id(self, obj: Any) -> Any:
        return self._refer(obj)

    def reducer_override(self, obj: Any) -> Any:
        return _taken_apart(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A class or function under PyTorch's name where it is ours, and under its own otherwise."""
        found = names.torch_name(obj)
        if found is None:
            super().save_global(obj, name)
        else:
            self._save_name(*found, obj)

    def _save_name(self, module: str, name: str, obj: Any) -> None:
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def _save_torch_name(self, obj: names.TorchName) -> None:
        # One object per name, so that a later use finds the first in the memo.
        self._save_shared(self._written_names.setdefault((obj.module, obj.name), (obj.module, obj.name)))

    def _save_shared(self, pair: tuple[str, str]) -> None:
        known = self.memo.get(id(pair))
        if known is not None:
            self.write(self.get(known[0]))
        else:
            self._save_name(*pair, pair)

    def _save_dtype(self, obj: dtypes.dtype) -> None:
        self._save_shared(self._written_names.setdefault(("torch", obj.name), ("torch", obj.name)))

    def _save_layout(self, obj: Any) -> None:
        self.save_reduce(tensors.layout_of, (str(obj),), obj=obj)

    dispatch[layout] = _save_layout
    dispatch[names.TorchName] = _save_torch_name
    dispatch[dtypes.dtype] = _save_dtype
    dispatch[FunctionType] = save_global


def dump(obj: Any, protocol: int, pickle_module: Any, refer: PersistentId) -> bytes:
    """The pickle of `obj` with `refer` as its `persistent_id`."""
    stream = io.BytesIO()
    if pickle_module is pickle:
        ArchivePickler(stream, protocol, refer).dump(obj)
    else:
        _foreign_pickler(pickle_module, refer)(stream, protocol=protocol).dump(obj)
    return stream.getvalue()


def _foreign_pickler(pickle_module: Any, refer: PersistentId) -> type[Any]:
    """A pickler of another module (dill, cloudpickle); it writes our own names, which only Pellucid reads."""

    base: Any = pickle_module.Pickler
    inherited = getattr(base, "reducer_override", None)

    class ForeignPickler(base):
        def persistent_id(self, obj: Any) -> Any:
            identity = refer(obj)
            # Other picklers cannot write a class that does not exist here, so the storage's type is a string.
            return None if identity is None else (identity[0], identity[1].name, *identity[2:])

        def reducer_override(self, obj: Any) -> Any:
            reduced = _taken_apart(obj)
            return inherited(self, obj) if reduced is NotImplemented and inherited is not None else reduced

    return ForeignPickler
