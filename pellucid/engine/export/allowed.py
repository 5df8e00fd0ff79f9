"""What a file that nobody trusts may call, and with which arguments.

Every entry checks its arguments itself and charges the reader for what it copies, so that no call can run code, block,
or build more than a fixed multiple of the file. Names are PyTorch's, as they stand in the file.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import Classes
from pellucid.engine.core.device import device
from pellucid.engine.core.meta import Size
from pellucid.engine.export import names, tensors

# Nothing from these modules is ever called, whatever was declared safe.
BLOCKED_MODULES = frozenset(("sys", "os", "posix", "nt"))
_KEY_PARTS = 100
_LARGEST_KEY = 1 << 61  # Python hashes integers modulo 2**61 - 1; beyond it equal hashes are easy to make.
_DTYPE_CODE = re.compile(r"^[<>=|]?(?:\?|b1|[biufc](?:1|2|4|8|16)|[SU]\d{1,6})$")


class NotPermittedError(Exception):
    """A file asks for something that is not on the list; the unpickler adds where in the file."""


class Reader(Protocol):
    """The part of the unpickler that a call needs; it counts the bytes that calls make out of few bytes of file."""

    def charge(self, count: int) -> None: ...

    def call(self, function: Any, arguments: Any) -> Any: ...

    def check_class(self, kind: Any) -> None: ...


Call = Callable[[Reader, tuple[Any, ...]], Any]


def check_key(key: Any) -> None:
    """NotPermittedError unless hashing and comparing `key` is sure to be quick."""
    pending, parts = [key], 0
    while pending:
        part = pending.pop()
        parts += 1
        if parts > _KEY_PARTS:
            raise NotPermittedError(f"a dictionary key or set element has more than {_KEY_PARTS} parts")
        if isinstance(part, (tuple, frozenset)):
            pending.extend(part)
        elif type(part) is int and not -_LARGEST_KEY < part < _LARGEST_KEY:
            raise NotPermittedError("a dictionary key or set element is an integer of more than 61 bits")


def set_item(reader: Reader, target: Any, key: Any, value: Any) -> None:
    """`target[key] = value` for the dictionaries that a file may fill."""
    if type(key) is not str:
        check_key(key)
    target[key] = value


def _expect(condition: object, name: str, arguments: tuple[Any, ...]) -> None:
    if not condition:
        kinds = ", ".join(type(argument).__name__ for argument in arguments[:8])
        raise NotPermittedError(f"{name} is called with arguments ({kinds}) that PyTorch never gives it")


def _filled(reader: Reader, kind: type, name: str, arguments: tuple[Any, ...]) -> Any:
    """A dictionary of `kind` from nothing, from a dictionary, or from pairs."""
    _expect(len(arguments) <= 1, name, arguments)
    made = kind()
    source = arguments[0] if arguments else ()
    _expect(isinstance(source, (dict, list, tuple)), name, arguments)
    reader.charge(100 * len(source))
    for item in source.items() if isinstance(source, dict) else source:
        _expect(isinstance(item, (list, tuple)) and len(item) == 2, name, arguments)
        set_item(reader, made, item[0], item[1])
    return made


def _ordered_dict(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    return _filled(reader, OrderedDict, "collections.OrderedDict", arguments)


def _counter(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    return _filled(reader, Counter, "collections.Counter", arguments)


def _set(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(len(arguments) <= 1 and all(isinstance(each, (list, tuple)) for each in arguments), "set", arguments)
    made: set[Any] = set()
    for item in arguments[0] if arguments else ():
        reader.charge(100)
        check_key(item)
        made.add(item)
    return made


def _frozenset(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    return frozenset(_set(reader, arguments))


def _complex(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(len(arguments) == 2 and all(type(each) in (int, float) for each in arguments), "complex", arguments)
    return complex(*arguments)


def _encode(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    """How protocol 2 writes bytes: as a string whose characters are the bytes."""
    _expect(
        len(arguments) == 2 and type(arguments[0]) is str and arguments[1] in ("latin1", "latin-1", "utf-8"),
        "_codecs.encode", arguments,
    )  # fmt: skip
    reader.charge(len(arguments[0]))
    return arguments[0].encode(arguments[1])


def _bytes(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(not arguments or (len(arguments) == 1 and type(arguments[0]) in (bytes, bytearray)), "bytes", arguments)
    return bytes(*arguments)


def _bytearray(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    if len(arguments) == 2:
        arguments = (_encode(reader, arguments),)
    _expect(not arguments or (len(arguments) == 1 and type(arguments[0]) is bytes), "bytearray", arguments)
    reader.charge(len(arguments[0]) if arguments else 0)
    return bytearray(*arguments)


def _size(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(len(arguments) == 1 and isinstance(arguments[0], (tuple, list)), "torch.Size", arguments)
    _expect(all(type(each) is int for each in arguments[0]), "torch.Size", arguments)
    reader.charge(8 * len(arguments[0]))
    return Size(arguments[0])


def _device(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(1 <= len(arguments) <= 2 and all(type(each) in (str, int) for each in arguments), "torch.device", arguments)
    return device(*arguments)


def _layout(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(len(arguments) == 1 and type(arguments[0]) is str, "torch.serialization._get_layout", arguments)
    return tensors.layout_of(arguments[0])


def _parameter(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    """`Parameter(data, requires_grad)`, and `_rebuild_parameter`, which has hooks as a third argument."""
    _expect(1 <= len(arguments) <= 4 and tensors.is_tensor(arguments[0]), "Parameter", arguments)
    _expect(all(type(flag) is bool for flag in arguments[1:2]), "Parameter", arguments)
    parameter = names.resolve("torch.nn.parameter", "Parameter")(*arguments[:2])
    if len(arguments) == 4:
        set_attributes(parameter, arguments[3])
    return parameter


def _variable(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(arguments and tensors.is_tensor(arguments[0]), "torch.autograd.Variable", arguments)
    return arguments[0]


def _array_tensor(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    """A tensor that was saved through NumPy or the CPU; its conversion makes a copy."""
    _expect(len(arguments) == 4 and isinstance(arguments[1], dtypes.dtype), "_rebuild_device_tensor", arguments)
    source, kind = arguments[:2]
    if isinstance(source, np.ndarray):
        reader.charge(source.size * kind.itemsize)
        return tensors.rebuild_device_tensor_from_numpy(*arguments)
    _expect(tensors.is_tensor(source), "_rebuild_device_tensor", arguments)
    reader.charge(source.numel() * kind.itemsize)
    return tensors.rebuild_device_tensor_from_cpu_tensor(*arguments)


def _tensor_v2(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    if len(arguments) > 6 and arguments[6] and isinstance(arguments[0], tensors.StoredBytes):
        reader.charge(arguments[0].nbytes())
    return tensors.rebuild_tensor_v2(*arguments)


def _tensor_v3(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    return tensors.rebuild_tensor_v3(*arguments)


def _simple(function: Callable[..., Any]) -> Call:
    """A call of a function that checks its own arguments and copies nothing."""

    def call(reader: Reader, arguments: tuple[Any, ...]) -> Any:
        return function(*arguments)

    return call


def _sparse(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(len(arguments) == 2 and isinstance(arguments[1], tuple), "_rebuild_sparse_tensor", arguments)
    parts = [part for part in arguments[1] if tensors.is_tensor(part)]
    reader.charge(sum(part.numel() * tensors.dtype_of(part).itemsize for part in parts))
    return tensors.rebuild_sparse_tensor(*arguments)


def _from_type(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    """A tensor with attributes; its rebuild function is called as if the file had called it directly."""
    _expect(len(arguments) == 4 and isinstance(arguments[2], tuple), "_rebuild_from_type_v2", arguments)
    rebuild, kind, inner, state = arguments
    tensor = reader.call(rebuild, inner)
    _expect(tensors.is_tensor(tensor), "_rebuild_from_type_v2", arguments)
    if kind is Classes.tensor:
        set_attributes(tensor, state)
        return tensor
    reader.check_class(kind)
    return tensors.rebuild_from_type_v2(lambda: tensor, kind, (), state)


def set_attributes(target: Any, state: Any) -> None:
    """Put attributes from the file on a tensor, none of which may hide something that its class defines."""
    state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (state, slots):
        if part is None:
            continue
        if not isinstance(part, dict):
            raise NotPermittedError(
                f"attributes of {type(target).__name__} are given by {type(part).__name__}, not by a dict"
            )
        for name, value in part.items():
            if type(name) is not str or hasattr(type(target), name):
                raise NotPermittedError(
                    f"the file would overwrite the attribute {name!r:.80} of a {type(target).__name__}"
                )
            target.__dict__[name] = value


# -- NumPy ----------------------------------------------------------------------------------------------------------


def _numpy_dtype(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(1 <= len(arguments) <= 3 and type(arguments[0]) is str, "numpy.dtype", arguments)
    if not _DTYPE_CODE.match(arguments[0]):
        raise NotPermittedError(f"numpy.dtype({arguments[0][:40]!r}) is not a plain number or string type")
    return np.dtype(arguments[0], align=False, copy=True)


def set_dtype_state(target: np.dtype[Any], state: Any) -> None:
    """Byte order of a dtype that `_numpy_dtype` made for this file alone; fields and metadata are refused."""
    plain = isinstance(state, tuple) and len(state) >= 5 and state[0] == 3 and not any(state[2:5])
    if not plain or state[1] not in ("<", ">", "=", "|"):
        raise NotPermittedError("a numpy.dtype has fields or metadata, which only weights_only=False reads")
    sizes = (target.itemsize, target.alignment) if target.kind in "SU" else (-1, -1)
    restore: Any = target.__setstate__  # type: ignore[attr-defined]
    restore((3, state[1], None, None, None, *sizes, 0))


def _numpy_scalar(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(
        len(arguments) == 2 and isinstance(arguments[0], np.dtype) and type(arguments[1]) is bytes,
        "numpy scalar",
        arguments,
    )
    kind, raw = arguments
    _expect(not kind.hasobject and kind.itemsize == len(raw) and raw, "numpy scalar", arguments)
    return np.frombuffer(raw, kind)[0]


def _numpy_reconstruct(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    _expect(
        len(arguments) == 3 and arguments[0] is np.ndarray and arguments[1] in ((0,), [0]), "numpy array", arguments
    )
    reader.charge(100)
    return np.ndarray((0,), np.int8)


def set_array_state(reader: Reader, target: np.ndarray[Any, Any], state: Any) -> None:
    """Shape, type and bytes of an array that `_reconstruct` made; the bytes must be exactly as many as the shape
    needs.
    """
    if not isinstance(state, tuple) or len(state) != 5:
        raise NotPermittedError("a numpy array has a malformed state")
    version, shape, kind, is_fortran, raw = state
    sound = isinstance(kind, np.dtype) and not kind.hasobject and type(raw) is bytes and isinstance(shape, tuple)
    if not sound or version != 1 or len(shape) > 32 or not all(type(size) is int and size >= 0 for size in shape):
        raise NotPermittedError(
            "a numpy array of Python objects, or with a malformed state, is not read with weights_only=True"
        )
    count = 1
    for size in shape:
        count *= size
    if count * kind.itemsize != len(raw):
        raise NotPermittedError(
            f"a numpy array of shape {shape} and type {kind} needs {count * kind.itemsize} bytes, not {len(raw)}"
        )
    reader.charge(len(raw))
    restore: Any = target.__setstate__
    restore((1, shape, kind, bool(is_fortran), raw))


def _numpy_frombuffer(reader: Reader, arguments: tuple[Any, ...]) -> Any:
    """How protocol 5 writes an array: its bytes, type, shape and order."""
    _expect(
        len(arguments) == 4 and type(arguments[0]) in (bytes, bytearray) and arguments[3] in ("C", "F"),
        "numpy array",
        arguments,
    )
    target = np.ndarray((0,), np.int8)
    set_array_state(reader, target, (1, arguments[2], arguments[1], arguments[3] == "F", bytes(arguments[0])))
    return target


# -- the table ------------------------------------------------------------------------------------------------------

_CALLS: dict[str, Call] = {
    "collections.OrderedDict": _ordered_dict,
    "collections.Counter": _counter,
    "builtins.set": _set,
    "builtins.frozenset": _frozenset,
    "builtins.complex": _complex,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytearray,
    "_codecs.encode": _encode,
    "torch.Size": _size,
    "torch.device": _device,
    "torch.serialization._get_layout": _layout,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.autograd.variable.Variable": _variable,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._utils._rebuild_tensor": _simple(tensors.rebuild_tensor),
    "torch._utils._rebuild_tensor_v2": _tensor_v2,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": _simple(tensors.rebuild_meta_tensor_no_storage),
    "torch._utils._rebuild_qtensor": _simple(tensors.rebuild_qtensor),
    "torch._utils._rebuild_nested_tensor": _simple(tensors.rebuild_nested_tensor),
    "torch._utils._rebuild_wrapper_subclass": _simple(tensors.rebuild_wrapper_subclass),
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_device_tensor_from_numpy": _array_tensor,
    "torch._utils._rebuild_xla_tensor": _array_tensor,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _array_tensor,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch.tensor._rebuild_from_type_v2": _from_type,
    "numpy.dtype": _numpy_dtype,
    "numpy._core.multiarray.scalar": _numpy_scalar,
    "numpy._core.multiarray._reconstruct": _numpy_reconstruct,
    "numpy._core.numeric._frombuffer": _numpy_frombuffer,
}
# NumPy 1 had these modules without the underscore.
_CALLS.update({name.replace("numpy._core", "numpy.core"): call for name, call in _CALLS.items() if "._core." in name})


class Global:
    """What a permitted name puts on the unpickler's stack: the name, the checked call, and the object that it stands
    for.
    """

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Call) -> None:
        self.name = name
        self.call = call


_GLOBALS = {name: Global(name, call) for name, call in _CALLS.items()}
# Names that stand for a value, and are not called.
_VALUES: dict[str, Any] = {
    **{f"torch.{each.name}": each for each in dtypes.ALL},
    **{f"torch.{name}": kind for name, kind in names.STORAGE_TYPES.items() if name != "UntypedStorage"},
    **{f"torch.cuda.{name}": kind for name, kind in names.STORAGE_TYPES.items() if name != "UntypedStorage"},
    "torch.storage.UntypedStorage": names.STORAGE_TYPES["UntypedStorage"],
    "torch.UntypedStorage": names.STORAGE_TYPES["UntypedStorage"],
    "torch.per_tensor_affine": "torch.per_tensor_affine",
    "torch.per_channel_affine": "torch.per_channel_affine",
    "numpy.ndarray": np.ndarray,
}


def permitted(name: str) -> Any:
    """The value or `Global` that a name in a file stands for, None where it is not on the list."""
    if name in ("torch.Tensor", "torch._tensor.Tensor"):
        return Classes.tensor
    found = _GLOBALS.get(name)
    return found if found is not None else _VALUES.get(name)


def permitted_names() -> set[str]:
    """Every name that `permitted` knows."""
    return {*_GLOBALS, *_VALUES, "torch.Tensor", "torch._tensor.Tensor"}
