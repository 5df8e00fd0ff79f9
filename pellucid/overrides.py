"""`torch.overrides`: what programs use to take part in `__torch_function__`, and to ask what can be overridden.

The protocol itself is in engine/tensor/overrides.py; the lists of functions are in engine/tensor/publishing.py's terms.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import pellucid
from pellucid.engine.tensor import overridable_methods
from pellucid.engine.tensor import overrides as protocol
from pellucid.engine.tensor.overridable_methods import OverridableProperty, public_form, raw_entries
from pellucid.late_names import LATE, METHODS

__all__ = [
    "enable_reentrant_dispatch", "get_ignored_functions", "get_overridable_functions", "get_testing_overrides",
    "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property",
    "redispatch_function", "resolve_name", "wrap_torch_function",
]  # fmt: skip


# -- taking part ------------------------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any], /) -> bool:
    """Whether one of the arguments overrides functions, or a mode is entered; plain tensors do not.

    >>> import pellucid as torch
    >>> class Named(torch.Tensor): ...
    >>> torch.overrides.has_torch_function((torch.ones(1),)), torch.overrides.has_torch_function((Named([1.0]),))
    (False, True)
    """
    state = protocol.state
    if state.level == protocol.ALL_DISABLED or state.skip_next:
        state.skip_next = False
        return False
    if state.modes:
        return True
    return not state.level and any(protocol.overrides(type(x)) for x in relevant_args)


def has_torch_function_unary(obj: Any, /) -> bool:
    """`has_torch_function` of one argument.

    >>> import pellucid as torch
    >>> torch.overrides.has_torch_function_unary(torch.ones(1))
    False
    """
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments one by one.

    >>> import pellucid as torch
    >>> torch.overrides.has_torch_function_variadic(torch.ones(1), 2)
    False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What the innermost mode, or the first overriding argument that can, makes of `public_api(*args, **kwargs)`.

    TypeError where nobody does.

    >>> import pellucid as torch
    >>> class Named(torch.Tensor): ...
    >>> def double(x):
    ...     if torch.overrides.has_torch_function_unary(x):
    ...         return torch.overrides.handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> double(Named([1.0]))
    Named([2.])
    """
    overriding = [] if protocol.state.level else protocol.overloaded(relevant_args, counts_tensors=True)
    return protocol.dispatch(public_api, overriding, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function overridable; `dispatcher`, called like it, names the arguments that may override it.

    >>> import pellucid as torch
    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(1))
    tensor([2.])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(public, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return public

    return decorate


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Call the raw function behind `func`: it is not overridden, what it calls in turn may be.

    >>> import pellucid as torch
    >>> torch.overrides.redispatch_function(torch.add, (), (torch.ones(1), 1), {})
    tensor([2.])
    """
    raw = _raw_behind(func)
    if raw is not None:
        with protocol.DisableTorchFunction():  # PyTorch's own functions are one step, whatever ours call inside
            return raw(*args, **(kwargs or {}))
    protocol.state.skip_next = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        protocol.state.skip_next = False


def _raw_behind(func: Any) -> Any:
    """The raw function behind a public form of ours; None for a function that asks in its own way."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, OverridableProperty):
        return getattr(owner.raw, func.__name__)
    code = getattr(func, "__code__", None)
    return func.__wrapped__ if code is not None and code.co_filename in _OWN_FILES else None


_OWN_FILES = (protocol.__file__, overridable_methods.__file__)


# -- asking -----------------------------------------------------------------------------------------------------------


def is_tensor_like(inp: Any) -> bool:
    """Whether `inp` is a tensor, or of a type that has `__torch_function__`.

    >>> import pellucid as torch
    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
    (True, False)
    """
    return type(inp) is pellucid.Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether `func` is a method of `torch.Tensor`, or the `__get__` of one of its properties.

    >>> import pellucid as torch
    >>> is_method = torch.overrides.is_tensor_method_or_property
    >>> is_method(torch.Tensor.add), is_method(torch.add), is_method(torch.Tensor.shape.__get__)
    (True, False, True)
    """
    return func in _tensor_methods() or func.__name__ == "__get__"


@functools.cache
def _tensor_methods() -> frozenset[Any]:
    return frozenset(get_overridable_functions()[pellucid.Tensor])


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name under which a function that was passed to `__torch_function__` is found; None for one that is not ours.

    >>> import pellucid as torch
    >>> torch.overrides.resolve_name(torch.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    return _overridable()[1].get(f)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Which functions can be overridden: a list for each namespace, and one for each property.

    >>> import pellucid as torch
    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return _overridable()[0]


@functools.cache
def _overridable() -> tuple[dict[Any, list[Callable[..., Any]]], dict[Any, str]]:
    found: dict[Any, list[Callable[..., Any]]] = {}
    names: dict[Any, str] = {}
    ignored = get_ignored_functions()
    for name, space in _namespaces():
        for member in dir(space):
            value = getattr(space, member)
            if _raw_behind(value) is None or member.startswith("__"):
                continue
            names[value] = f"{name}.{member}"
            hidden = member.startswith("_") or member.endswith("_")
            if not hidden and value not in ignored:
                found.setdefault(space, []).append(value)
    _add_tensor_methods(found, names, ignored)
    return found, names


def _namespaces() -> list[tuple[str, ModuleType]]:
    torch: Any = pellucid
    for name in (*LATE, *METHODS):  # so that dir() has them
        getattr(torch, name)
    return [
        ("torch", torch), ("torch.functional", torch.functional), ("torch.nn.functional", torch.nn.functional),
        ("torch.nn.init", torch.nn.init), ("torch.linalg", torch.linalg), ("torch.fft", torch.fft),
        ("torch.special", torch.special),
    ]  # fmt: skip


def _add_tensor_methods(found: dict[Any, list[Callable[..., Any]]], names: dict[Any, str], ignored: set[Any]) -> None:
    for name in sorted(raw_entries()):
        form = public_form(name)
        if isinstance(form, property):
            names[form.__get__] = f"torch.Tensor.{name}.__get__"
            names[form.__set__] = f"torch.Tensor.{name}.__set__"
            found.setdefault(form, []).append(form.__get__)
            continue
        names[form] = f"torch.Tensor.{name}"
        if form not in ignored:
            found.setdefault(pellucid.Tensor, []).append(form)


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each overridable function a stand-in with its signature that returns -1, for tests of overriding types.

    >>> import inspect, pellucid as torch
    >>> inspect.signature(torch.overrides.get_testing_overrides()[torch.neg])
    <Signature (input: 'Any', *, out: 'Any' = None) -> 'Any'>
    """
    functions = {function for group in get_overridable_functions().values() for function in group}
    functions |= {f for f, name in _overridable()[1].items() if f not in get_ignored_functions()}
    return {function: _stand_in(function) for function in functions}


def _stand_in(function: Callable[..., Any]) -> Callable[..., Any]:
    owner = getattr(function, "__self__", None)
    raw: Any = function
    if isinstance(owner, OverridableProperty):
        raw = _one_argument if function.__name__ == "__get__" else _two_arguments
    signature = inspect.signature(raw)

    def stand_in(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    stand_in.__signature__ = signature  # type: ignore[attr-defined]
    return stand_in


def _one_argument(self: Any) -> None: ...


def _two_arguments(self: Any, value: Any) -> None: ...


_MAKERS = (
    "arange", "as_strided", "bartlett_window", "blackman_window", "broadcast_shapes", "empty", "empty_permuted",
    "empty_strided", "eye", "fill", "frombuffer", "full", "hamming_window", "hann_window", "kaiser_window", "linspace",
    "logspace", "normal", "ones", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    "range", "result_type", "scalar_tensor", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor",
    "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "tril_indices", "triu_indices", "vander", "zeros",
)  # fmt: skip
_NOT_ABOUT_TENSORS = (
    "are_deterministic_algorithms_enabled", "as_tensor", "asarray", "can_cast", "clear_autocast_cache", "device",
    "dtype", "enable_grad", "finfo", "from_numpy", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "get_default_device", "get_default_dtype", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_rng_state", "iinfo",
    "inference_mode", "initial_seed", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "is_deterministic_algorithms_warn_only_enabled", "is_grad_enabled", "is_inference_mode_enabled", "is_storage",
    "is_tensor", "is_warn_always_enabled", "layout", "load", "manual_seed", "memory_format", "no_grad",
    "promote_types", "save", "seed", "set_anomaly_enabled", "set_autocast_cache_enabled", "set_autocast_dtype",
    "set_autocast_enabled", "set_default_device", "set_default_tensor_type", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_grad_enabled", "set_num_interop_threads",
    "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always", "tensor", "typename",
    "use_deterministic_algorithms",
)  # fmt: skip
_REMOVED = ("eig", "lstsq", "solve", "symeig")
_OF_NN = ("hardsigmoid", "hardswish", "sigmoid", "tanh", "upsample", "upsample_bilinear", "upsample_nearest")
_OF_INIT = (
    "calculate_gain", "constant", "dirac", "eye", "kaiming_normal", "kaiming_uniform", "normal", "orthogonal",
    "sparse", "uniform", "xavier_normal", "xavier_uniform",
)  # fmt: skip
_OF_FFT = ("fftfreq", "rfftfreq")
_OF_TENSOR = (
    "__delitem__", "__dir__", "__hash__", "__init__", "__init_subclass__", "__iter__", "__new__",
    "__torch_function__", "as_subclass", "_make_subclass", "_make_wrapper_subclass", "new", "new_empty",
    "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros", "stride", "to_sparse_bsc",
    "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr", "unflatten",
)  # fmt: skip


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that are not meant to be overridden by an argument: most have none that is a tensor.

    >>> import pellucid as torch
    >>> torch.zeros in torch.overrides.get_ignored_functions()
    True
    """
    torch: Any = pellucid
    rows = (
        (torch, (*_MAKERS, *_NOT_ABOUT_TENSORS, *_REMOVED, "matrix_rank")), (torch.nn.functional, _OF_NN),
        (torch.nn.init, _OF_INIT), (torch.fft, _OF_FFT), (torch.Tensor, _OF_TENSOR + _REMOVED),
    )  # fmt: skip
    return {getattr(space, name) for space, names in rows for name in names}


@functools.cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose result `Tensor.__torch_function__` leaves as it is: they read a tensor that stands in an
    attribute, and `x.grad is x.grad` is to hold.

    >>> import pellucid as torch
    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    return {pellucid.Tensor.grad.__get__}  # type: ignore[attr-defined]


# -- modes ------------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """Sees every public function that is called in its block, also those without a tensor among their arguments.

    Subclass it and define `__torch_function__(self, func, types, args=(), kwargs=None)`. While that runs the mode is
    not entered, so what it calls goes to the modes around it.

    >>> import pellucid as torch
    >>> class Counter(torch.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Counter() as counter:
    ...     total = (torch.zeros(2) + 1).sum()
    >>> counter.calls
    3
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__} is a TorchFunctionMode without a __torch_function__")

    def __enter__(self) -> Any:
        protocol.enter_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        protocol.leave_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A new mode: an older spelling."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that lets every call through."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    return protocol.state.modes[-1] if protocol.state.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(protocol.state.modes)


_push_mode = protocol.enter_mode
_pop_mode = protocol.leave_mode


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    mode = protocol.state.modes.pop()
    try:
        yield mode
    finally:
        protocol.state.modes.append(mode)


@contextlib.contextmanager
def _enable_torch_function() -> Iterator[None]:
    with protocol.EnableTorchFunction():
        yield


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A block inside a `__torch_dispatch__` in which operators are recorded again; functions need no such block.

    >>> import pellucid as torch
    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     torch.ones(1) + 1
    tensor([2.])
    """
    yield
