"""Thread-local switches that every operator call looks at: grad mode, inference mode, and the stack of intercepting
modes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol


class Mode(Protocol):
    """Something that sees every operator call: capture, autocast, profiler, counters, diagnosis, user modes."""

    def intercept(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Callable[..., Any]
    ) -> Any:
        """Return the call's result; `proceed(op, operands, settings)` runs it below this mode."""


class State(threading.local):
    """The switches of one thread."""

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        self.stack: list[Mode] = []
        self.saved_hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
        self.saved_hooks_forbidden: str | None = None
        self.transforms = 0  # how many of torch.func's transforms are running


state = State()


def run_below(
    op: Any,
    operands: tuple[Any, ...],
    settings: dict[str, Any],
    run: Callable[..., Any],
    target: Any = None,
    out: Any = None,
) -> Any:
    """Give the call to the innermost mode, with the modes outside it active while it decides.

    A mode that must know where a result is written (`target`: in place; `out`: into `out=`) has `intercept_write`.
    """
    mode = state.stack.pop()
    try:
        if target is not None or out is not None:
            write = getattr(mode, "intercept_write", None)
            if write is not None:
                return write(op, operands, settings, target, out)
        return mode.intercept(op, operands, settings, lambda op_, operands_, settings_: run(op_, operands_, settings_))
    finally:
        state.stack.append(mode)


def is_grad_enabled() -> bool:
    """Whether operators record what `backward` needs."""
    return state.grad_enabled


def is_differentiated() -> bool:
    """Whether what is computed now may be differentiated: it is recorded, or carries tangents."""
    return state.grad_enabled or any([getattr(mode, "carries_tangents", False) for mode in state.stack])


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on in this thread."""
    return state.inference


class Switch:
    """A context manager that is a decorator too; generators keep the mode while they run, and only then."""

    def _fresh(self) -> Switch:
        return self.__class__()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(function, type):
            raise TypeError(
                f"{type(self).__name__} cannot decorate the class {function.__name__}; decorate its methods"
            )
        if function.__code__.co_flags & 0x20 if hasattr(function, "__code__") else False:
            return _decorate_generator(self._fresh, function)

        @functools.wraps(function)
        def with_mode(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return with_mode


def _decorate_generator(fresh: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def with_mode(*args: Any, **kwargs: Any) -> Any:
        with fresh():
            generator = function(*args, **kwargs)
        request: tuple[str, Any] = ("send", None)
        while True:
            try:
                with fresh():
                    value = generator.send(request[1]) if request[0] == "send" else generator.throw(request[1])
            except StopIteration as stop:
                return stop.value
            try:
                request = ("send", (yield value))
            except GeneratorExit:
                with fresh():
                    generator.close()
                raise
            except BaseException as error:
                request = ("throw", error)

    return with_mode


class no_grad(Switch):  # noqa: N801 - PyTorch's name
    """Operators inside record nothing for `backward`, whatever their operands require; also a decorator.

    >>> import pellucid as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        self._before = False

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)

    def __enter__(self) -> None:
        self._before = state.grad_enabled
        state.grad_enabled = False

    def __exit__(self, *exception: object) -> None:
        state.grad_enabled = self._before


class enable_grad(no_grad):  # noqa: N801 - PyTorch's name
    """Operators inside record for `backward` again, within a `no_grad`; also a decorator.

    >>> import pellucid as torch
    >>> with torch.no_grad(), torch.enable_grad():
    ...     torch.is_grad_enabled()
    True
    """

    def __enter__(self) -> None:
        self._before = state.grad_enabled
        state.grad_enabled = True


class set_grad_enabled(Switch):  # noqa: N801 - PyTorch's name
    """Switch recording on or off: at once when called, until the end of the block as a context manager.

    >>> import pellucid as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._before = state.grad_enabled
        self.mode = bool(mode)
        state.grad_enabled = self.mode

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.grad_enabled = self._before
        return super().__call__(function)

    def _fresh(self) -> Switch:
        return self.__class__(self.mode)

    def __enter__(self) -> None:
        state.grad_enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        state.grad_enabled = self._before


class inference_mode(Switch):  # noqa: N801 - PyTorch's name
    """Like `no_grad`, and tensors made inside have no version counter and can never be saved for `backward`.

    >>> import pellucid as torch
    >>> with torch.inference_mode():
    ...     torch.ones(1).is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            made.__init__(True)  # type: ignore[misc]
            return made(mode)
        return made

    def __init__(self, mode: Any = True) -> None:
        self.mode = bool(mode)

    def _fresh(self) -> Switch:
        return self.__class__(self.mode)

    def __enter__(self) -> None:
        self._before = (state.grad_enabled, state.inference)
        state.inference = self.mode
        state.grad_enabled = not self.mode  # inference_mode(False) switches recording on, even under no_grad

    def __exit__(self, *exception: object) -> None:
        state.grad_enabled, state.inference = self._before
