"""Tensors' methods, infix operators and properties in the form that asks for `__torch_function__`.

The methods of `Tensor` are raw functions, so that calling one costs nothing more. `torch.Tensor.add`, asked of the
class, is the public form, which programs compare and call. While something can override methods (a subclass that has
`__torch_function__`, a mode, a type that is no tensor but takes part) `switch` puts `OverridingMethods` in front of
the raw methods, by one assignment to `Tensor.__bases__`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pellucid.engine.core.data import Classes, TensorData
from pellucid.engine.tensor import overrides
from pellucid.engine.tensor.overrides import dispatch, plain, titled, who_overrides

# What stands in a tensor's class and never asks: what makes a tensor, or is about the object and not about the data.
_RAW = frozenset(
    (
        "__new__", "__init__", "__init_subclass__", "__hash__", "__torch_function__", "as_subclass",
    )
)  # fmt: skip
_PRIVATE = frozenset(("_coalesced_", "_dimI", "_dimV", "_indices", "_is_view", "_nnz", "_values", "_version"))

# Infix operators: the method that overriding classes see in their place, or None where they see the operator itself.
_INFIX = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__rsub__": None, "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__rtruediv__": None, "__rdiv__": None, "__floordiv__": None, "__rfloordiv__": None,
    "__mod__": "remainder", "__rmod__": None, "__pow__": None, "__rpow__": None, "__matmul__": "matmul",
    "__rmatmul__": None, "__and__": None, "__or__": None, "__xor__": None, "__rand__": "bitwise_and",
    "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__lshift__": None, "__rlshift__": None, "__rshift__": None,
    "__rrshift__": None, "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__eq__": None,
    "__ne__": "ne",
}  # fmt: skip
_SEEN_AS = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__neg__": "neg", "__pos__": "positive",
    "__abs__": "abs", "nelement": "numel", "ndimension": "dim",
}  # fmt: skip


class _Rows:
    """The public forms made so far, by name, and the raw entries that they are made of."""

    made: dict[str, Any] = {}
    raw: dict[str, Any] = {}


def raw_entries() -> dict[str, Any]:
    """Every raw method and property of tensors, as its class's body holds it."""
    if not _Rows.raw:
        found: dict[str, Any] = {}
        for base in reversed(_raw_base().__mro__[:-1]):
            for name, entry in base.__dict__.items():
                found.pop(name, None)
                if isinstance(entry, FunctionType | property | bool) and _may_ask(name):
                    found[name] = entry
        _Rows.raw = found
    return _Rows.raw


def _raw_base() -> Any:
    return Classes.tensor.__bases__[-1]


def _may_ask(name: str) -> bool:
    if name in _RAW:
        return False
    return not name.startswith("_") or name.startswith("__") or name in _PRIVATE


def public_form(name: str) -> Any:
    """`torch.Tensor.add` for "add": the same object every time."""
    made = _Rows.made.get(name)
    if made is None:
        made = _Rows.made[name] = _make(name, raw_entries()[name])
    return made


def _make(name: str, entry: Any) -> Any:
    if isinstance(entry, bool):
        return OverridableProperty(name, property(lambda self: entry))
    if isinstance(entry, property):
        return OverridableProperty(name, entry)
    if name in _INFIX:
        return _infix(name, entry, _INFIX[name])
    if name == "__iter__":
        return _iteration(entry)
    if name in _SEEN_AS:
        return _seen_as(name, entry, _SEEN_AS[name])
    return _method(name, entry)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A method: as `overridable` makes it of a function, and a TypeError where the first argument is no tensor."""

    def public(*args: Any, **kwargs: Any) -> Any:
        if not args or not isinstance(args[0], TensorData):
            need_self(name, *args[:1])
        for x in args:
            if x.__class__ not in plain:
                break
        else:
            if not kwargs:
                return function(*args)
            for x in kwargs.values():
                if x.__class__ not in plain:
                    break
            else:
                return function(*args, **kwargs)
        overriding = who_overrides(args, kwargs)
        if overriding is None:
            return function(*args, **kwargs)
        return dispatch(public, overriding, args, kwargs)

    return titled(public, function, name, "pellucid", "Tensor")


def _infix(name: str, function: Callable[[Any, Any], Any], seen_as: str | None) -> Callable[[Any, Any], Any]:
    """An infix operator: a TypeError of who overrides it lets Python ask the other operand."""

    def public(self: Any, other: Any) -> Any:
        if self.__class__ in plain and other.__class__ in plain and isinstance(self, TensorData):
            return function(self, other)
        overriding = who_overrides((self, other), {})
        if overriding is None:
            need_self(name, self)
            return function(self, other)
        try:
            return dispatch(public_form(seen_as or name), overriding, (self, other), {})
        except TypeError:
            return NotImplemented

    return titled(public, function, name, "pellucid", "Tensor")


def _seen_as(name: str, function: Callable[..., Any], seen_as: str) -> Callable[..., Any]:
    """An operator that overriding classes see as the method of another name."""

    def public(*args: Any) -> Any:
        overriding = who_overrides(args, {})
        if overriding is None:
            need_self(name, *args[:1])
            return function(*args)
        return dispatch(public_form(seen_as), overriding, args, {})

    return titled(public, function, name, "pellucid", "Tensor")


def _iteration(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Iterating over a tensor, which overriding classes see as `unbind(0)`."""

    def public(self: Any) -> Any:
        if self.__class__ in plain or who_overrides((self,), {}) is None or not self.dim():
            return function(self)
        return iter(self.unbind(0))

    return titled(public, function, "__iter__", "pellucid", "Tensor")


def need_self(name: str, *receiver: Any) -> None:
    """A TypeError, in Python's words for built-in methods, unless there is one receiver and it is a tensor."""
    if not receiver:
        raise TypeError(f"unbound method Tensor.{name}() needs an argument")
    if not isinstance(receiver[0], TensorData):
        raise TypeError(
            f"descriptor '{name}' for 'torch.Tensor' objects doesn't apply to a '{type(receiver[0]).__name__}' object"
        )


class OverridableProperty(property):
    """A tensor's property; who overrides it sees `torch.Tensor.shape.__get__` (or `__set__`, `__delete__`)."""

    def __init__(self, name: str, raw: property) -> None:
        self.raw = raw
        self.__name__, self.__qualname__ = name, f"Tensor.{name}"
        super().__init__(self._read, self._write if raw.fset else None, self._remove if raw.fdel else None, raw.__doc__)

    def _read(self, tensor: Any) -> Any:
        overriding = None if tensor.__class__ in plain else who_overrides((tensor,), {})
        if overriding is None:
            need_self(self.__name__, tensor)
            return self.raw.fget(tensor)  # type: ignore[misc]
        return dispatch(self.__get__, overriding, (tensor,), {})

    def _write(self, tensor: Any, value: Any) -> None:
        overriding = who_overrides((tensor,), {})
        if overriding is None:
            self.raw.fset(tensor, value)  # type: ignore[misc]
        else:
            dispatch(self.__set__, overriding, (tensor, value), {})

    def _remove(self, tensor: Any) -> None:
        overriding = who_overrides((tensor,), {})
        if overriding is None:
            self.raw.fdel(tensor)  # type: ignore[misc]
        else:
            dispatch(self.__delete__, overriding, (tensor,), {})


class TensorMeta(type):
    """The class of `Tensor`: asked of the class, a method is its public form."""

    def __getattribute__(cls, name: str) -> Any:
        found = type.__getattribute__(cls, name)
        if found.__class__ in _ENTRIES and raw_entries().get(name, raw_entries) is found:
            return public_form(name)
        return found


_ENTRIES = (FunctionType, property, bool)


class _Switch:
    """How many reasons there are to let methods ask, and whether they do."""

    reasons = 0
    on = False
    lock = threading.Lock()
    methods: type | None = None


def switch(change: int) -> None:
    """Count one more (or, with -1, one less) reason for tensors' methods to ask who overrides them."""
    with _Switch.lock:
        _Switch.reasons += change
        if (_Switch.reasons > 0) is _Switch.on:
            return
        _Switch.on = not _Switch.on
        raw = _raw_base()
        Classes.tensor.__bases__ = (_overriding_methods(), raw) if _Switch.on else (raw,)


def _overriding_methods() -> type:
    if _Switch.methods is None:
        rows = {name: public_form(name) for name in raw_entries()}
        rows["__hash__"] = _raw_base().__hash__  # a class with __eq__ alone would have none
        _Switch.methods = type("OverridingMethods", (), {"__slots__": (), "__module__": __name__, **rows})
    return _Switch.methods


def prepare_subclass(cls: Any) -> None:
    """What a new subclass of Tensor needs: one that overrides switches tensors' methods over, one that does not is
    as plain as Tensor.
    """
    if not overrides.overrides(cls):
        overrides.add_plain(cls)
    elif not getattr(cls, "_switches_when_made", False):
        switch(1)
