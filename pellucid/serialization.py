"""`save` and `load` of PyTorch's files, and the settings of `torch.serialization`. The formats are in
`engine/export`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import pickle
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import pellucid
from pellucid.engine.core.device import META, device
from pellucid.engine.export import safetensors
from pellucid.engine.export.allowed import permitted_names
from pellucid.engine.export.archive_reader import SIGNATURE, ArchiveReader
from pellucid.engine.export.atomic import replacing
from pellucid.engine.export.devices import Placement
from pellucid.engine.export.devices import default_restore_location as default_restore_location
from pellucid.engine.export.devices import location_tag as location_tag
from pellucid.engine.export.devices import register_package as register_package
from pellucid.engine.export.devices import validate_cuda_device as validate_cuda_device
from pellucid.engine.export.devices import validate_hpu_device as validate_hpu_device
from pellucid.engine.export.legacy import looks_like_tar, read_legacy, take_apart_legacy, write_legacy
from pellucid.engine.export.names import StorageType as StorageType
from pellucid.engine.export.pickle_reader import safe_table
from pellucid.engine.export.pickle_scan import scan
from pellucid.engine.export.torch_file import HowToLoad, read_archive, take_apart, write_archive
from pellucid.engine.export.unpickle import HowToUnpickle

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]

DEFAULT_PROTOCOL = 2
MAP_PRIVATE, MAP_SHARED = 2, 1  # as in the mmap module, which not every system has
_TRUE = ("1", "y", "yes", "true")


class SourceChangeWarning(Warning):
    """The source of a module's class differs from the source that was saved with it."""


class LoadEndianness(Enum):
    """The byte order assumed for a file that does not state its own."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Settings:
    """What the `set_*` functions below change, for the whole process."""

    checksums = True
    endianness: LoadEndianness | None = None
    mmap_flags: int = MAP_PRIVATE
    safe_globals: list[Any] = []


class _ThreadSettings(threading.local):
    skip_data = False


_thread = _ThreadSettings()


# -- settings -------------------------------------------------------------------------------------------------------


def get_crc32_options() -> bool:
    """Whether `save` writes checksums; true unless `set_crc32_options(False)` was called."""
    return _Settings.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether `save` writes a CRC-32 for each record; without them a damaged file is not noticed when it is read.

    >>> import pellucid as torch
    >>> torch.serialization.set_crc32_options(True)
    """
    _Settings.checksums = bool(compute_crc32)


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed where a file states none; None means little endian."""
    return _Settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Assume this byte order for files that state none (PyTorch writes it since 2.1)."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness: pass a LoadEndianness or None")
    _Settings.endianness = endianness


def get_default_mmap_options() -> int | None:
    """The flag with which `load(mmap=True)` maps a file: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`."""
    return _Settings.mmap_flags


class set_default_mmap_options:  # noqa: N801 - PyTorch's name
    """Map files privately (writes stay in memory) or shared (writes reach the file); also a context manager.

    >>> import mmap, pellucid as torch
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
    ...     pass
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options: expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = _Settings.mmap_flags
        _Settings.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _Settings.mmap_flags = self.prev


class skip_data:  # noqa: N801 - PyTorch's name
    """Within this context `save` writes zeros in place of tensors' data, and `load` does not read the data.

    >>> import io, pellucid as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0); torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError(
                "skip_data(materialize_fake_tensors=True): Pellucid has no fake tensors; leave it False"
            )
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._previous = _thread.skip_data
        _thread.skip_data = True

    def __exit__(self, *exception: object) -> None:
        _thread.skip_data = self._previous


# -- what an untrusted file may use ---------------------------------------------------------------------------------


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Let `load(weights_only=True)` use these classes and functions, or `(object, "name.in.the.file")` pairs.

    >>> import argparse, pellucid as torch
    >>> torch.serialization.add_safe_globals([argparse.Namespace])
    >>> torch.serialization.clear_safe_globals()
    """
    safe_table(list(safe_globals))  # Raises for a malformed pair.
    for item in safe_globals:
        if item not in _Settings.safe_globals:
            _Settings.safe_globals = [*_Settings.safe_globals, item]


def clear_safe_globals() -> None:
    """Forget everything that `add_safe_globals` allowed."""
    _Settings.safe_globals = []


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """What `add_safe_globals` has allowed."""
    return list(_Settings.safe_globals)


class safe_globals:  # noqa: N801 - PyTorch's name
    """`add_safe_globals` for the length of a `with` block.

    >>> import argparse, pellucid as torch
    >>> with torch.serialization.safe_globals([argparse.Namespace]):
    ...     len(torch.serialization.get_safe_globals())
    1
    """

    def __init__(self, safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        _Settings.safe_globals = [each for each in _Settings.safe_globals if each not in self.safe_globals]


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Names in a file that `load(weights_only=True)` would refuse; nothing in the file is run.

    >>> import argparse, io, pellucid as torch
    >>> file = io.BytesIO(); torch.save(argparse.Namespace(lr=0.1), file); _ = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['argparse.Namespace']
    """
    with _opened(f) as stream:
        if not _is_archive(stream):
            raise ValueError("Expected input to be a checkpoint returned by torch.save, which is a zip archive")
        archive = ArchiveReader(stream)
        if _is_torchscript(archive):
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        found = scan(archive.read("data.pkl")).globals
    return sorted(found - permitted_names() - set(safe_table(_Settings.safe_globals)))


# -- save -----------------------------------------------------------------------------------------------------------


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` to a path or a binary file object, in a format that PyTorch reads.

    A path is replaced as a whole once everything is safely on the disk: a crash, a full disk or an object that
    cannot be
    pickled leaves the old file. Tensors that share memory still share it when they are loaded.

    >>> import io, pellucid as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, file); _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.])}
    """
    _check_dill(pickle_module)
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, not {type(f).__name__}"
        )
    if _use_new_zipfile_serialization:
        pickled = take_apart(obj, pickle_protocol, pickle_module, location_tag)
        root = _archive_name(os.fspath(f)) if is_path else "archive"
        with _target(f, is_path) as stream:
            write_archive(
                pickled,
                stream,
                root,
                checksums=_Settings.checksums,
                byteorder=not _disable_byteorder_record,
                skip_data=_thread.skip_data,
            )
        return
    if _thread.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    content, table = take_apart_legacy(obj, pickle_protocol, pickle_module, location_tag)
    with _target(f, is_path) as stream:
        write_legacy(content, table, stream, pickle_protocol, pickle_module)


@contextlib.contextmanager
def _target(f: Any, is_path: bool) -> Iterator[Any]:
    if is_path:
        with replacing(f) as stream:
            yield stream
        return
    yield f
    if hasattr(f, "flush"):
        f.flush()


def _archive_name(path: str) -> str:
    """The folder inside the archive: the file's name without its ending, where that is a safe name."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return stem if stem.isascii() and stem.strip(".") and not set(stem) & set("\\/:\0") else "archive"


# -- load -----------------------------------------------------------------------------------------------------------


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` wrote, here or in PyTorch, from a path or a seekable binary file object.

    Nothing in the file is run unless `weights_only=False`. `map_location` says where tensors go: a device, a dictionary
    from the file's devices to others, or a function of storage and device; without it, tensors of a device that is not
    here come to the CPU with one warning. `mmap=True` reads a tensor's data when it is first used.

    >>> import io, pellucid as torch
    >>> file = io.BytesIO(); torch.save(torch.arange(3), file); _ = file.seek(0)
    >>> torch.load(file, map_location="cpu")
    tensor([0, 1, 2])
    """
    weights_only, pickle_module = _trust(weights_only, pickle_module)
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    _check_dill(pickle_module)
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    load_args = {"encoding": "utf-8", **pickle_load_args}
    unpickling = HowToUnpickle(weights_only, pickle_module, safe_table(_Settings.safe_globals), load_args)
    placement = Placement(map_location)
    with _opened(f) as stream:
        loading = _how_to_load(f, stream, placement, map_location, mmap)
        try:
            made = _read(stream, f, unpickling, loading, map_location)
        except pickle.UnpicklingError as error:
            if weights_only:
                raise pickle.UnpicklingError(_advice(f, error)) from None
            raise
    message = placement.fallback_message()
    if message:
        warnings.warn(message, UserWarning, stacklevel=2)
    return made


def _trust(weights_only: bool | None, pickle_module: Any) -> tuple[bool, Any]:
    """Whether the file is read without trust, and the pickle module for one that is trusted."""
    forced = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    forbidden = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if forced and forbidden:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if forbidden and weights_only is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        weights_only = False
    weights_only = True if forced else pickle_module is None if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified; pass weights_only=False if "
            "you trust the file"
        )
    return weights_only, pickle if pickle_module is None else pickle_module


def _how_to_load(f: Any, stream: Any, placement: Placement, map_location: Any, mmap: bool | None) -> HowToLoad:
    map_path = None
    if mmap:
        if not _is_archive(stream):
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`, "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        if not isinstance(f, (str, os.PathLike)):
            raise ValueError("f must be a file path in order to use the mmap argument")
        map_path = os.fspath(f)
    on_meta = isinstance(map_location, (str, device)) and str(map_location).split(":")[0] == META.type
    order = {LoadEndianness.NATIVE: sys.byteorder, LoadEndianness.BIG: "big"}.get(_Settings.endianness, "little")  # type: ignore[arg-type]
    return HowToLoad(placement.restore, map_path, _Settings.mmap_flags == MAP_SHARED, on_meta, _thread.skip_data, order)


def _read(stream: Any, f: Any, unpickling: HowToUnpickle, loading: HowToLoad, map_location: Any) -> Any:
    if not _is_archive(stream):
        if looks_like_tar(stream):
            raise RuntimeError(
                "the file has the tar format of PyTorch before 0.1.11, which is not read. Open it with a PyTorch "
                "that reads it "
                "(torch.load(..., weights_only=False)) and torch.save() it again."
            )
        return read_legacy(stream, unpickling, loading, _check_container_source)
    start = stream.tell()
    archive = ArchiveReader(stream)
    if not _is_torchscript(archive):
        return read_archive(archive, unpickling, loading)
    if unpickling.weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
            "Call torch.jit.load, or pass weights_only=False if you trust the file."
        )
    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' "
        "(call 'torch.jit.load' directly to silence this warning)",
        UserWarning,
        stacklevel=3,
    )
    stream.seek(start)
    return pellucid.jit.load(stream, map_location=map_location)


def _advice(f: Any, error: Exception) -> str:
    name = f"{os.fspath(f)!r}" if isinstance(f, (str, os.PathLike)) else "this file"
    return (
        f"Weights only load failed for {name}; nothing in it was run.\n{error}\n"
        "If you trust the file, allow single names with torch.serialization.add_safe_globals([...]), or "
        "everything in it, "
        "including code, with torch.load(..., weights_only=False)."
    )


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[Any]:
    """A seekable binary stream for a path or a file object."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as stream:
            yield stream
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a "
            "buffer like "
            "io.BytesIO and try to load from it instead."
        ) from None
    yield f


def _is_archive(stream: Any) -> bool:
    start = stream.tell()
    head = stream.read(len(SIGNATURE))
    stream.seek(start)
    return bool(head == SIGNATURE)


def _is_torchscript(archive: ArchiveReader) -> bool:
    return "constants.pkl" in archive


def _load_safetensors(path: str, map_location: Any) -> dict[str, Any]:
    if map_location is not None and not isinstance(map_location, (str, device)):
        raise RuntimeError(
            f"Loading safetensors file with {'dict' if isinstance(map_location, dict) else 'callable'} "
            "map_location is not "
            "supported. Use a device string or torch.device instead."
        )
    where = device("cpu" if map_location is None else map_location)
    return {name: tensor.to(where) for name, tensor in safetensors.read_file(path).items()}


# -- odds and ends of torch.serialization ---------------------------------------------------------------------------


def _check_container_source(container: Any, source_file: Any, source: Any) -> None:
    """Warn where the class of a module that was saved with its source has another source now."""
    if not source_file or not source or not isinstance(container, type):
        return
    try:
        current = inspect.getsource(container)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {container.__name__}. It won't be checked for "
            "correctness upon loading.",
            stacklevel=2,
        )
        return
    if current != source:
        warnings.warn(
            f"source code of class '{container.__module__}.{container.__qualname__}' has changed.",
            SourceChangeWarning,
            stacklevel=2,
        )


def _check_dill(pickle_module: Any) -> None:
    if pickle_module is not None and pickle_module.__name__ == "dill":
        if not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
            raise ValueError(
                f"'torch' supports dill >= 0.3.1, but you have dill {pickle_module.__version__}. Please upgrade "
                "dill or switch to 'pickle'"
            )


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether `module.__version__`, read part by part as the types of `req_version_tuple`, is at least that version.

    >>> import numpy, pellucid as torch
    >>> torch.serialization.check_module_version_greater_or_equal(numpy, (1, 0))
    True
    """
    try:
        parts = module.__version__.split(".")
        version = tuple(type(wanted)(parts[position]) for position, wanted in enumerate(req_version_tuple))
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be "
            "compared with tuple "
            f"{req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True
    return version >= req_version_tuple


@contextlib.contextmanager
def mkdtemp() -> Iterator[str]:
    """A temporary folder that is deleted with the `with` block."""
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def normalize_storage_type(storage_type: type) -> Any:
    """The storage class of the `torch` namespace with the name of `storage_type`."""
    return getattr(pellucid, storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The tensor class for a storage class: FloatTensor for FloatStorage."""
    return getattr(pellucid, type(storage).__name__.replace("Storage", "Tensor"))
