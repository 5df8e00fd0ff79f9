"""Two dictionaries that meet here: the names that PyTorch's files use, and the objects that Pellucid has for them.

A file that we write says `torch.nn.modules.linear.Linear`, so that PyTorch opens it; when we read the name we look in
`pellucid`. Nothing here decides whether a name may be used: see allowed.py.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.device import device
from pellucid.engine.core.meta import Size

# Class names that PyTorch's files use for a storage, with the type of its elements.
STORAGE_DTYPES: dict[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
}
STORAGE_NAMES = {dtype_name: storage_name for storage_name, dtype_name in STORAGE_DTYPES.items()}

# Where PyTorch keeps what Pellucid keeps elsewhere: (module, name) there -> (module, name) here.
_MOVED: dict[tuple[str, str], tuple[str, str]] = {
    ("torch", "Tensor"): ("pellucid.engine.core.data", "Classes.tensor"),
    ("torch._tensor", "Tensor"): ("pellucid.engine.core.data", "Classes.tensor"),
    ("torch.tensor", "Tensor"): ("pellucid.engine.core.data", "Classes.tensor"),
    ("torch.autograd.variable", "Variable"): ("pellucid.engine.core.data", "Classes.tensor"),
    ("torch._tensor", "_rebuild_from_type_v2"): ("pellucid.engine.export.tensors", "rebuild_from_type_v2"),
    ("torch.tensor", "_rebuild_from_type_v2"): ("pellucid.engine.export.tensors", "rebuild_from_type_v2"),
    ("torch.storage", "_load_from_bytes"): ("pellucid.engine.export.tensors", "load_from_bytes"),
    ("torch.serialization", "_get_layout"): ("pellucid.engine.export.tensors", "layout_of"),
    ("torch._C", "Generator"): ("pellucid", "Generator"),
    ("torch._C", "_VariableFunctionsClass"): ("pellucid", ""),
    ("torch._C", "_VariableFunctions"): ("pellucid", ""),
    ("torch._utils", "_rebuild_parameter"): ("pellucid.nn.parameter", "_rebuild_parameter"),
    ("torch._utils", "_rebuild_parameter_with_state"): ("pellucid.nn.parameter", "_rebuild_parameter_with_state"),
}
for _name in (
    "rebuild_tensor",
    "rebuild_tensor_v2",
    "rebuild_tensor_v3",
    "rebuild_sparse_tensor",
    "rebuild_meta_tensor_no_storage",
    "rebuild_qtensor",
    "rebuild_nested_tensor",
    "rebuild_wrapper_subclass",
    "rebuild_device_tensor_from_numpy",
    "rebuild_device_tensor_from_cpu_tensor",
    "rebuild_xla_tensor",
):
    _MOVED["torch._utils", f"_{_name}"] = ("pellucid.engine.export.tensors", _name)

_NAMES_HERE = {here: there for there, here in reversed(_MOVED.items())}
# Modules whose functions PyTorch implements natively and therefore pickles under a private name.
_MOVED_MODULES = {"torch._C._nn": "pellucid.nn.functional", "torch.functional": "pellucid", "torch._VF": "pellucid"}
# Files of ours whose classes PyTorch keeps in another file; a name before a dot stands for all files in the package.
_FILES = {
    "pellucid.nn.functional.": "torch.nn.functional",
    "pellucid.nn.modules.attention": "torch.nn.modules.activation",
    "pellucid.nn.modules.softmax": "torch.nn.modules.activation",
    "pellucid.nn.modules.margin_loss": "torch.nn.modules.loss",
    "pellucid.nn.modules.rnn_cells": "torch.nn.modules.rnn",
    "pellucid.distributions.transform": "torch.distributions.transforms",
    "pellucid.distributions.scalar_transforms": "torch.distributions.transforms",
    "pellucid.distributions.matrix_transforms": "torch.distributions.transforms",
    "pellucid.distributions.joined_transforms": "torch.distributions.transforms",
    "pellucid.optim._adafactor": "torch.optim",
    "pellucid.optim._muon": "torch.optim",
    "pellucid.optim.lr_scheduler.": "torch.optim.lr_scheduler",
    "pellucid.random": "torch",
}
# Public modules that re-export what is defined in the engine.
_PUBLIC = ("pellucid", "pellucid.nn.functional", "pellucid.linalg", "pellucid.fft", "pellucid.special")


class StorageType:
    """What the class of a storage is replaced with when a file is read: its name and the type of its elements."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._dtype = dtypes.by_name(STORAGE_DTYPES.get(name, "uint8"))

    @property
    def dtype(self) -> dtypes.dtype:
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


STORAGE_TYPES = {name: StorageType(name) for name in (*STORAGE_DTYPES, "UntypedStorage")}


class TorchName:
    """Stands in a pickle for the global `module.name` of PyTorch, which need not exist here."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name


def _own(value: Any) -> tuple[str, str]:
    return getattr(value, "__module__", None) or "", getattr(value, "__qualname__", None) or ""


def torch_name(value: Any) -> tuple[str, str] | None:
    """PyTorch's name for a class or function of ours; None for what is not ours."""
    if value is Size:
        return "torch", "Size"
    if value is device or value is dtypes.dtype:
        return "torch", value.__name__
    module, name = _own(value)
    if module.partition(".")[0] != "pellucid":
        return None
    moved = _NAMES_HERE.get((module, name))
    if moved is not None:
        return moved
    if value is _classes().tensor:
        return "torch", "Tensor"
    if module.startswith("pellucid.engine."):
        return _public_name(value, name)
    return _FILES.get(module) or _FILES.get(module.rpartition(".")[0] + ".") or _there(module), name


def _there(module: str) -> str:
    return "torch" + module.removeprefix("pellucid")


def _classes() -> Any:
    from pellucid.engine.core.data import Classes

    return Classes


def _public_name(value: Any, name: str) -> tuple[str, str] | None:
    """The public place of something defined in the engine, if it has one."""
    for public in _PUBLIC:
        module = sys.modules.get(public)
        if module is not None and getattr(module, name, None) is value:
            return _there(public), name
    return None


def resolve(module: str, name: str) -> Any:
    """Our object for PyTorch's global `module.name`; AttributeError or ImportError, saying so, where there is none."""
    if name in STORAGE_TYPES and module in ("torch", "torch.cuda", "torch.storage"):
        return STORAGE_TYPES[name]
    found = _as_dtype(module, name)
    if found is not None:
        return found
    here, path = _MOVED.get((module, name)) or (_module_here(module), name)
    for place in (here, *_public_packages(here)):
        target = _look_up(place, path)
        if target is not _MISSING:
            return target
    raise AttributeError(f"Can't get attribute {name!r}: Pellucid has nothing for PyTorch's {module}.{name}")


_MISSING = object()


def _as_dtype(module: str, name: str) -> dtypes.dtype | None:
    if module != "torch":
        return None
    return next((each for each in dtypes.ALL if each.name == name), None)


def _module_here(module: str) -> str:
    return _MOVED_MODULES.get(module) or "pellucid" + module.removeprefix("torch")


def _public_packages(module: str) -> tuple[str, ...]:
    """Where a class of `torch.nn.modules.*` is found whatever file of ours it stands in, and so for the others."""
    packages = {
        "pellucid.nn.modules": "pellucid.nn",
        "pellucid.optim": "pellucid.optim",
        "pellucid.utils.data": "pellucid.utils.data",
    }
    return tuple(public for private, public in packages.items() if module.startswith(private + "."))


def _look_up(place: str, path: str) -> Any:
    """What the module `place` calls `path`, which may have dots; _MISSING where there is no such module or name."""
    try:
        target: Any = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise  # The module is there and misses something else.
        return _MISSING
    for part in path.split(".") if path else ():
        target = getattr(target, part, _MISSING)
        if target is _MISSING:
            break
    return target


def is_torch_module(module: str) -> bool:
    """Whether a global of this module is PyTorch's and must be looked up here instead."""
    return module == "torch" or module.startswith("torch.")
