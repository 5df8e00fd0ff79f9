"""`__torch_function__`: arguments, and modes around a call, that answer for a public function in its place.

What a program calls as `torch.add` is `overridable(add)`: one frame that looks at the types of the arguments, and runs
the raw function when none of them, and no mode, overrides it. Tensors' methods are raw as long as nothing in the
process can override them (overridable_methods.py). What programs import is re-exported by `pellucid/overrides.py`.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from pellucid.engine.core.data import Classes, TensorData
from pellucid.engine.core.device import device
from pellucid.engine.core.dtypes import dtype
from pellucid.engine.core.errors import user_level
from pellucid.engine.core.meta import Size
from pellucid.engine.tensor.numpy_names import renamed

ENABLED, SUBCLASSES_DISABLED, ALL_DISABLED = 0, 1, 2


class State(threading.local):
    """Of one thread: the modes, the innermost last, and what is switched off."""

    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.level = ENABLED
        self.skip_next = False  # whether the next question is answered with no: `redispatch_function`


state = State()

# Types that override nothing, as most arguments have. `plain` is what calls look into: it is emptied while a mode is
# entered in some thread, so that one test per argument finds the modes too.
_PLAIN: set[type] = {
    bool, int, float, complex, str, type(None), slice, type(...), Size, dtype, device, np.ndarray, np.float32,
    np.float64, np.int64, FunctionType,
}  # fmt: skip
plain: set[type] = set(_PLAIN)
_SEQUENCES = (list, tuple)
_lock = threading.Lock()
_modes_entered = 0


def add_plain(kind: type) -> None:
    """Say that instances of this very class override nothing."""
    _PLAIN.add(kind)
    if not _modes_entered:
        plain.add(kind)


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As a class's `__torch_function__`: its instances are treated as plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def disabled_torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As a class's `__torch_dispatch__`: it sees no operator. Pellucid has no other kind (`refuse_dispatch`)."""
    return func(*args, **(kwargs or {}))


def refuse_dispatch(cls: type) -> None:
    """NotImplementedError for a class that wants to see operators below autograd."""
    method = getattr(cls, "__torch_dispatch__", disabled_torch_dispatch)
    if method is not disabled_torch_dispatch:
        raise NotImplementedError(
            f"{cls.__name__} defines __torch_dispatch__, which Pellucid does not call: it has no operators below "
            "autograd to show. Define __torch_function__ instead, or set `__torch_dispatch__ = "
            "torch._C._disabled_torch_dispatch_impl`."
        )


def overrides(kind: type) -> bool:
    """Whether instances of a type may answer for functions: it has a `__torch_function__` and is not `Tensor`."""
    if kind in _PLAIN:
        return False
    if issubclass(kind, TensorData):  # not through the metaclass, which answers in Python
        method = type.__getattribute__(kind, "__torch_function__")
    else:
        method = getattr(kind, "__torch_function__", None)
    return method is not None and method is not disabled_torch_function


def overloaded(arguments: Iterable[Any], counts_tensors: bool = False) -> list[Any]:
    """The arguments whose types override, one per type, in the order in which they are asked: from left to right,
    subclasses before their bases.
    """
    found: list[Any] = []
    for x in arguments:
        kind = type(x)
        if kind not in _PLAIN and overrides(kind) or counts_tensors and kind is Classes.tensor:
            _put_in_order(found, x)
    return found


def _put_in_order(found: list[Any], x: Any) -> None:
    kind = type(x)
    place = len(found)
    for index, each in enumerate(found):
        if type(each) is kind:
            return
        if issubclass(kind, type(each)) and place > index:
            place = index
    found.insert(place, x)


def _overloaded_of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """`overloaded` of a call's arguments and of the elements of those that are lists or tuples."""
    found: list[Any] = []
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind in _PLAIN:
            continue
        if issubclass(kind, _SEQUENCES):
            for each in overloaded(x):
                _put_in_order(found, each)
        elif overrides(kind):
            _put_in_order(found, x)
    return found


def who_overrides(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """The overriding arguments of a call, in the order in which they are asked; None where the raw function is to
    run.
    """
    if state.level == ALL_DISABLED or state.skip_next:
        state.skip_next = False
        return None
    found = [] if state.level else _overloaded_of_call(args, kwargs)
    if found and not isinstance(found[0], TensorData):
        _duck_types_exist()
    return found if found or state.modes else None


@functools.cache
def _duck_types_exist() -> None:
    """From the first argument on that overrides and is no tensor, methods of tensors look for such arguments too."""
    from pellucid.engine.tensor.overridable_methods import switch

    switch(1)


def first_notice(value: Any, function: str) -> str:
    """What an error of a raw method adds when the argument that it refuses is the first of the program that overrides
    and is no tensor: from then on methods ask too.
    """
    if not overrides(type(value)):
        return ""
    _duck_types_exist()
    return (
        f". It has __torch_function__, which methods of tensors look for only once a program has used it: call "
        f"torch.{function}(...) first, or call again"
    )


def infix_with(tensor: Any, other: Any, operator: str) -> Any:
    """What a type that is no tensor makes of an infix operator on a tensor; NotImplemented where it does not override.

    Raw operators end here with an operand that they do not know: the first such operand of a program is noticed so.
    """
    if state.level or not overrides(type(other)):
        return NotImplemented
    from pellucid.engine.tensor.overridable_methods import public_form

    return public_form(operator)(tensor, other)


def dispatch(function: Callable[..., Any], overriding: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, or else the first overriding argument that does not return NotImplemented, makes of a
    call.
    """
    types = tuple([type(x) for x in overriding])
    if state.modes and state.level < ALL_DISABLED:
        mode = state.modes.pop()
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            state.modes.append(mode)
        if result is not NotImplemented:
            return result
    for x in overriding:
        method = x.__torch_function__
        if getattr(method, "__self__", None) is x:
            warnings.warn(
                "Defining your `__torch_function__ as a plain method is deprecated and will be an error in future, "
                "please define it as a classmethod.",
                UserWarning,
                stacklevel=user_level(),
            )
        result = method(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(_nobody(function, types))


def _nobody(function: Callable[..., Any], types: tuple[type, ...]) -> str:
    name = name_of(function)
    mode = state.modes[-1] if state.modes and state.level < ALL_DISABLED else None
    asked = ([] if mode is None else [f"mode object {mode!r}"]) + [f"tensor subclass {each!r}" for each in types]
    where = "" if mode is None else f" nor in mode {mode!r}"
    return (
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n  - "
        + "\n  - ".join(asked)
        + f"\n\nno implementation found for '{name}' on types that implement __torch_function__: {list(types)}{where}. "
        "Handle the function there, or call super().__torch_function__(func, types, args, kwargs)."
    )


def name_of(function: Any) -> str:
    """A public function's name with its module, in PyTorch's words: "torch.nn.functional.relu"."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, property):
        return f"torch.Tensor.{getattr(owner, '__name__', '?')}.{function.__name__}"
    module = (getattr(function, "__module__", None) or "").replace("pellucid", "torch", 1)
    return f"{module}.{getattr(function, '__qualname__', function)}"


def overridable(function: Callable[..., Any], name: str, module: str) -> Callable[..., Any]:
    """The public form of a raw function: an argument that overrides it, or a mode, is asked first.

    It is called `name` and found in `module`, which is how it pickles.
    """

    has_numpy_names = module != "pellucid.nn.functional"

    def public(*args: Any, **kwargs: Any) -> Any:
        overriding = None
        for x in args:
            if x.__class__ not in plain:
                overriding = who_overrides(args, kwargs)
                break
        else:
            if not kwargs:
                return function(*args)
            for x in kwargs.values():
                if x.__class__ not in plain:
                    overriding = who_overrides(args, kwargs)
                    break
        if overriding is not None:
            return dispatch(public, overriding, args, kwargs)
        try:
            return function(*args, **kwargs)
        except TypeError:  # Python's, for a name that is not there
            other = renamed(function, kwargs) if has_numpy_names and kwargs else None
            if other is None:
                raise
        return function(*args, **other)

    return titled(public, function, name, module)


def visible_to_modes(function: Callable[..., Any], name: str, module: str) -> Callable[..., Any]:
    """The public form of a function that takes any data, such as `torch.tensor`: only modes are asked, no argument."""

    def public(*args: Any, **kwargs: Any) -> Any:
        if not plain and state.modes and state.level < ALL_DISABLED:
            return dispatch(public, [], args, kwargs)
        if args and args[0].__class__ not in plain and isinstance(args[0], TensorData):
            with DisableTorchFunctionSubclass():  # the data of an overriding tensor, which is not asked
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    return titled(public, function, name, module)


def titled(
    public: Callable[..., Any], function: Callable[..., Any], name: str, module: str, owner: str = ""
) -> Callable[..., Any]:
    """The public form of a function under the name by which programs find it: `module.name`, or `module.owner.name`
    for a method. (`functools.wraps` takes thrice as long, and hundreds are made on import.)
    """
    public.__name__ = name
    public.__qualname__ = f"{owner}.{name}" if owner else name
    public.__module__ = module
    public.__doc__ = function.__doc__
    public.__wrapped__ = function  # type: ignore[attr-defined]
    return public


# -- what the protocol does for tensors by default --------------------------------------------------------------------


def default_torch_function(cls: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the function on plain terms; tensors in what it returns become instances of `cls`."""
    for each in types:
        if not issubclass(cls, each):
            return NotImplemented
    before, state.level = state.level, max(state.level, SUBCLASSES_DISABLED)
    try:
        result = func(*args, **kwargs)
        return result if _reads_a_stored_tensor(func) else converted(result, cls)
    finally:
        state.level = before


def _reads_a_stored_tensor(func: Any) -> bool:
    """Whether `func` gives a tensor that stands in an attribute, which must be the same object every time."""
    return getattr(func, "__name__", "") == "__get__" and getattr(func.__self__, "__name__", "") in ("grad", "_grad")


def converted(result: Any, cls: Any) -> Any:
    """A result with its tensors, also those in tuples and lists, as instances of `cls`."""
    if isinstance(result, TensorData):
        return result if cls is Classes.tensor or isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, Size) or not isinstance(result, tuple | list):
        return result
    each_converted = [converted(each, cls) for each in result]
    return type(result)._make(each_converted) if hasattr(result, "_make") else type(result)(each_converted)


class _Level:
    """Sets, for a block, what of the protocol is switched off in this thread."""

    level = ENABLED

    def __enter__(self) -> None:
        self._before = state.level
        state.level = max(self.level, state.level) if self.level else ENABLED

    def __exit__(self, *exception: object) -> None:
        state.level = self._before


class DisableTorchFunctionSubclass(_Level):
    """A block in which no argument overrides a function; modes still do.

    >>> import pellucid as torch
    >>> class Named(torch.Tensor): ...
    >>> with torch._C.DisableTorchFunctionSubclass():
    ...     type(torch.ones(2).as_subclass(Named) + 1) is torch.Tensor
    True
    """

    level = SUBCLASSES_DISABLED


class DisableTorchFunction(_Level):
    """A block in which neither an argument nor a mode overrides a function."""

    level = ALL_DISABLED


class EnableTorchFunction(_Level):
    """A block in which the protocol works, whatever is switched off around it."""

    level = ENABLED


def enter_mode(mode: Any) -> None:
    """Ask this mode first, from now on, for every public function that this thread calls."""
    from pellucid.engine.tensor.overridable_methods import switch

    global _modes_entered
    with _lock:
        _modes_entered += 1
        plain.clear()
    switch(1)
    state.modes.append(mode)


def leave_mode() -> Any:
    """Take the innermost mode away, and return it."""
    from pellucid.engine.tensor.overridable_methods import switch

    global _modes_entered
    mode = state.modes.pop()
    switch(-1)
    with _lock:
        _modes_entered -= 1
        if not _modes_entered:
            plain.update(_PLAIN)
    return mode
