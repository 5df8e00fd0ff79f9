"""Saving and loading tensors in the safetensors format, with the functions of `safetensors.torch`."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.export import safetensors as format
from pellucid.engine.export.atomic import replacing
from pellucid.engine.export.safetensors import SafetensorError as SafetensorError
from pellucid.engine.export.tensors import memory_span

__all__ = ["SafetensorError", "load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

_Path = str | os.PathLike[str]


# -- writing --------------------------------------------------------------------------------------------------------


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file with these tensors, which must be contiguous and share no memory.

    >>> import pellucid as torch
    >>> from pellucid.safetensors import load, save
    >>> load(save({"weight": torch.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    stream = io.BytesIO()
    format.write(_checked(tensors), metadata, stream)
    return stream.getvalue()


def save_file(tensors: dict[str, Tensor], filename: _Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a safetensors file, which is replaced as a whole once the new one is safely on the disk.

    >>> import os, tempfile, pellucid as torch
    >>> from pellucid.safetensors import load_file, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"weight": torch.ones(2)}, os.path.join(folder, "model.safetensors"), {"by": "me"})
    ...     load_file(os.path.join(folder, "model.safetensors"))
    {'weight': tensor([1., 1.])}
    """
    checked = _checked(tensors)
    with replacing(filename) as stream:
        format.write(checked, metadata, stream)


def save_model(
    model: Any, filename: _Path, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Write a module's parameters and buffers; of names for the same tensor one is kept, the others go to the
    metadata.
    """
    kept, dropped = _without_aliases(model.state_dict())
    metadata = {**(metadata or {}), **dropped} if metadata or dropped else None
    save_file(
        {name: tensor.contiguous() if force_contiguous else tensor for name, tensor in kept.items()}, filename, metadata
    )


def _checked(tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Refuse what the format cannot hold: anything but dense, contiguous tensors with memory of their own."""
    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if tensor.layout != pellucid.strided:
            raise ValueError(
                f"You are trying to save a sparse tensors: `{[name]}` which the format does not support. Make it "
                "dense with `.to_dense()`."
            )
        if tensor.device.type == "meta":
            raise ValueError(f"tensor `{name}` is on the meta device and has no data to save")
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. Call "
                "`.contiguous()` on it; "
                "where it is a view of another tensor that is saved, save that one and slice it after loading."
            )
    shared = [sorted(group) for group in _overlapping(tensors) if len(group) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
            "when loading them "
            f"again: {shared}. Save one of each group, or a module with `save_model`, which remembers the other names."
        )
    return tensors


def _overlapping(tensors: Mapping[str, Tensor]) -> list[list[str]]:
    """Names grouped by overlapping memory; a tensor without elements overlaps nothing."""
    groups: list[list[str]] = []
    end = -1
    spans = [(memory_span(tensor), name) for name, tensor in tensors.items() if tensor.numel()]
    for (start, stop), name in sorted(spans):
        if start < end:
            groups[-1].append(name)
        else:
            groups.append([name])
        end = max(end, stop)
    return groups


def _without_aliases(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """One name for each tensor, and the dropped names with the name that was kept."""
    kept, dropped = dict(tensors), {}
    for group in _overlapping(tensors):
        if len(group) < 2:
            continue
        largest = max(tensors[name].numel() for name in group)
        whole = sorted(name for name in group if tensors[name].numel() == largest)
        if any(memory_span(tensors[name]) != memory_span(tensors[whole[0]]) for name in group):
            raise RuntimeError(
                f"the tensors {sorted(group)} share a part of their memory only; clone() one of them before "
                "saving the model"
            )
        for name in whole[1:]:
            dropped[name] = whole[0]
            del kept[name]
    return kept, dropped


# -- reading --------------------------------------------------------------------------------------------------------


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a safetensors file; SafetensorError where they break a rule of the format."""
    return format.read_stream(io.BytesIO(data))


def load_file(filename: _Path, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file, each with memory of its own."""
    where = pellucid.device(device)
    return {name: tensor.to(where) for name, tensor in format.read_file(filename).items()}


def load_model(model: Any, filename: _Path, strict: bool = True, device: Any = "cpu") -> tuple[set[str], list[str]]:
    """Fill a module from a file of `save_model`; returns the names that the file lacks and those that the module
    lacks.
    """
    state = load_file(filename, device)
    own = model.state_dict()
    groups = [set(group) for group in _overlapping(own)]
    for name in list(own):
        source = next((other for group in groups if name in group for other in sorted(group) if other in state), None)
        if name not in state and source is not None:
            state[name] = state[source]
    missing, unexpected = set(own) - set(state), sorted(set(state) - set(own))
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(model).__name__}:"
            + (f"\n    Missing key(s) in state_dict: {', '.join(sorted(missing))}" if missing else "")
            + (f"\n    Unexpected key(s) in state_dict: {', '.join(unexpected)}" if unexpected else "")
        )
    model.load_state_dict(state, strict=False)
    return missing, unexpected


class safe_open:  # noqa: N801 - the name in safetensors
    """Opens a safetensors file without reading its tensors; a context manager.

    `framework` is "pt" for tensors or "np" for NumPy arrays.

    >>> import os, tempfile, pellucid as torch
    >>> from pellucid.safetensors import safe_open, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file({"weight": torch.ones(2, 3)}, os.path.join(folder, "model.safetensors"))
    ...     with safe_open(os.path.join(folder, "model.safetensors"), framework="pt") as file:
    ...         print(file.keys(), file.get_slice("weight").get_shape())
    ['weight'] [2, 3]
    """

    def __init__(self, filename: _Path, framework: str = "pt", device: Any = "cpu") -> None:
        if framework not in ("pt", "torch", "pytorch", "np", "numpy"):
            raise SafetensorError(f"framework {framework!r} is invalid; 'pt' gives tensors and 'np' NumPy arrays")
        self._as_arrays = framework in ("np", "numpy")
        self._device = pellucid.device(device)
        self._stream: Any = open(filename, "rb")  # noqa: SIM115 - closed by __exit__
        try:
            self._reader: format.SafetensorsReader | None = format.SafetensorsReader(self._stream)
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *exception: object) -> None:
        self._reader = None
        self._stream.close()

    def _open(self) -> format.SafetensorsReader:
        if self._reader is None:
            raise SafetensorError("File is closed")
        return self._reader

    def keys(self) -> list[str]:
        """Names of all tensors, sorted."""
        return sorted(self._open().header.entries)

    def offset_keys(self) -> list[str]:
        """Names of all tensors, in the order of their data."""
        return self._open().names_by_offset()

    def metadata(self) -> dict[str, str] | None:
        """The strings that were saved with the tensors, None where there are none."""
        return self._open().header.metadata

    def get_tensor(self, name: str) -> Any:
        """One tensor, read now."""
        tensor = self._open().read(name)
        return tensor.numpy() if self._as_arrays else tensor.to(self._device)

    def get_tensors(self) -> dict[str, Any]:
        """All tensors by name."""
        return {name: self.get_tensor(name) for name in self.offset_keys()}

    def get_slice(self, name: str) -> TensorSlice:
        """A tensor that is read when it is indexed."""
        return TensorSlice(self, name, self._open().entry(name))


class TensorSlice:
    """A tensor of an open file: its shape and type are known, and indexing reads it."""

    def __init__(self, file: safe_open, name: str, entry: format.Entry) -> None:
        self._file = file
        self._name = name
        self._entry = entry

    def get_shape(self) -> list[int]:
        """Its size along each dimension."""
        return list(self._entry.shape)

    def get_dtype(self) -> str:
        """The format's code for its element type, such as `F32`."""
        return self._entry.code

    def __getitem__(self, index: Any) -> Any:
        return self._file.get_tensor(self._name)[index]
