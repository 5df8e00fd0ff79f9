"""Hooks of modules: where they are kept, how they are registered, and the call path that runs them.

A module without hooks never comes here (`Module.__call__` goes straight to `forward`). Hooks of `state_dict` are in
state.py;
hooks of single tensors are autograd's.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pellucid import Tensor
from pellucid.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from .module import Module

Hook = Callable[..., Any]

_global_buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them; "
    "register_full_backward_hook is the one whose grad_input is right for every module."
)


class _GlobalKind:
    """Whether the global backward hooks are full ones (True), regular ones (False) or not there yet (None)."""

    is_full: bool | None = None


class _WrappedHook:
    """A hook that remembers its module without keeping it alive; it can be pickled when the hook can."""

    __module__ = "pellucid.nn.modules.module"  # where files of PyTorch say that it is

    def __init__(self, hook: Hook, module: Module | None = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _add(
    hooks: OrderedDict[int, Hook], hook: Hook, *, prepend: bool = False, flags: list[tuple[Any, bool]] | None = None
) -> RemovableHandle:
    """Put `hook` into `hooks`, and its id into each of the `flags` that is set; removing the handle takes all of them
    out.
    """
    handle = RemovableHandle(hooks, extra_dict=[table for table, _ in flags or []])
    hooks[handle.id] = hook
    for table, is_set in flags or []:
        if is_set:
            table[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever any module registers a buffer; what it returns is registered
    instead.
    """
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever any module gets a child; what it returns is registered instead."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever any module registers a parameter; what it returns is registered
    instead.
    """
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module; a returned value replaces the arguments."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module; a returned value replaces the output.

    >>> import pellucid as torch
    >>> seen = []
    >>> def look(module, args, output):
    ...     seen.append(type(module).__name__)
    >>> with torch.nn.modules.module.register_module_forward_hook(look):
    ...     _ = torch.nn.Sequential(torch.nn.Identity())(torch.ones(1))
    >>> seen
    ['Identity', 'Sequential']
    """
    flags = [(_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call)]
    return _add(_global_forward_hooks, hook, flags=flags)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The old form of `register_module_full_backward_hook`: its grad_input is that of the module's last operator
    only.
    """
    if _GlobalKind.is_full is True:
        raise RuntimeError(_MIXED.format(where="as a global Module hook"))
    _GlobalKind.is_full = False
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module; a returned value replaces grad_output."""
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module; a returned value replaces
    grad_input.
    """
    if _GlobalKind.is_full is False:
        raise RuntimeError(_MIXED.format(where="as a global Module hook"))
    _GlobalKind.is_full = True
    return _add(_global_backward_hooks, hook)


class HookRegistration:
    """The part of `Module` that registers hooks of forward and backward."""

    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before every forward; a returned value (a tuple, or one argument) replaces the
        arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which returns None or a pair (args, kwargs).
        """
        flags = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return _add(self._forward_pre_hooks, hook, prepend=prepend, flags=flags)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after every forward; a returned value replaces the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`; with `always_call` it also runs when forward
        raises.

        >>> import pellucid as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> layer(torch.zeros(2))
        tensor([1., 1.])
        >>> handle.remove()
        """
        flags = [(self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)]
        return _add(self._forward_hooks, hook, prepend=prepend, flags=flags)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the gradient of the module's inputs is computed; it may return a new
        grad_output.
        """
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once the gradient of the module's inputs is there; it may return
        a new grad_input.

        Only positional inputs are seen; entries of inputs that are not tensors are None.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(_MIXED.format(where="on a single Module"))
        self._is_full_backward_hook = True
        return _add(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The old form of `register_full_backward_hook`: it sees only the gradients of the operator that made the
        output.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(_MIXED.format(where="on a single Module"))
        self._is_full_backward_hook = False
        return _add(self._backward_hooks, hook)

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """The full and the regular backward hooks that apply to this module, global ones first."""
        full: list[Hook] = []
        regular: list[Hook] = []
        if _global_backward_hooks:
            (full if _GlobalKind.is_full else regular).extend(_global_backward_hooks.values())
        if self._backward_hooks:
            (full if self._is_full_backward_hook else regular).extend(self._backward_hooks.values())
        return full, regular

    def _get_backward_pre_hooks(self) -> list[Hook]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the module's forward with every hook that applies; hooks with `always_call` run even when something
    raises.
    """
    call = _HookedCall(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called()
        raise


class _HookedCall:
    """One call of a module with hooks: its arguments and result as the hooks leave them."""

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        module = self.module
        full, regular = module._get_backward_hooks()
        before_backward = module._get_backward_pre_hooks()
        self._run_pre_hooks()
        boundary = None
        if full or before_backward:
            from pellucid.utils.hooks import BackwardHook

            boundary = BackwardHook(module, full, before_backward)
            self.args = boundary.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for hook_id, hook in (*_global_forward_hooks.items(), *module._forward_hooks.items()):
            if hook_id in module._forward_hooks_always_called or hook_id in _global_forward_hooks_always_called:
                self.called.add(hook_id)
            self._run_forward_hook(hook_id, hook)
        if boundary is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                kind = type(self.result)
                warnings.warn(
                    f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {kind}",
                    stacklevel=4,
                )
            self.result = boundary.setup_output_hook(self.result)
        if regular:
            _register_regular(regular, module, self.args, self.result)
        return self.result

    def _run_pre_hooks(self) -> None:
        module = self.module
        for hook_id, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if hook_id in module._forward_pre_hooks_with_kwargs:
                replaced = hook(module, self.args, self.kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                self.args, self.kwargs = replaced
            else:
                replaced = hook(module, self.args)
                if replaced is not None:
                    self.args = replaced if isinstance(replaced, tuple) else (replaced,)

    def _run_forward_hook(self, hook_id: int, hook: Hook) -> None:
        if hook_id in self.module._forward_hooks_with_kwargs or hook_id in _global_forward_hooks_with_kwargs:
            replaced = hook(self.module, self.args, self.kwargs, self.result)
        else:
            replaced = hook(self.module, self.args, self.result)
        if replaced is not None:
            self.result = replaced

    def run_always_called(self) -> None:
        """The hooks with `always_call` that had not run before the error; an error of their own becomes a warning."""
        tables = (
            (_global_forward_hooks, _global_forward_hooks_always_called, "global module"),
            (self.module._forward_hooks, self.module._forward_hooks_always_called, "module"),
        )
        for hooks, always, kind in tables:
            for hook_id, hook in list(hooks.items()):
                if hook_id not in always or hook_id in self.called:
                    continue
                try:
                    self._run_forward_hook(hook_id, hook)
                except Exception as error:
                    warnings.warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error!s}",
                        stacklevel=4,
                    )


def _register_regular(hooks: list[Hook], module: Module, inputs: tuple[Any, ...], result: Any) -> None:
    """Attach regular backward hooks to the node that made the first tensor of `result`."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_WrappedHook(hook, module))
    _warn_if_regular_hook_misleads(inputs, result, node)


def _warn_if_regular_hook_misleads(inputs: tuple[Any, ...], result: Any, node: Any) -> None:
    """Say which gradients a regular backward hook will not see for a module that is more than one operator."""
    advice = "Please use register_full_backward_hook to get the documented behavior."
    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all(isinstance(each, Tensor) for each in results)):
        text = "on a Module that does not return a single Tensor or a tuple of Tensors", "grad_output"
    elif not all(isinstance(each, Tensor) for each in inputs):
        text = "on a Module that does not take as input a single Tensor or a tuple of Tensors", "grad_input"
    else:
        made_by = {each.grad_fn for each in results if each.grad_fn is not None}
        if node not in made_by:
            text = "when outputs are nested in python data structure", "grad_output"
        elif len(made_by) > 1:
            text = "when outputs are generated by different autograd Nodes", "grad_output"
        elif {each.grad_fn for each in inputs if each.grad_fn is not None} != {each[0] for each in node.next_functions}:
            text = "when the forward contains multiple autograd Nodes", "grad_input"
        else:
            return
    what, missing = text
    warnings.warn(
        f"Using a non-full backward hook {what} is deprecated and will be removed in future versions. This hook will "
        f"be missing some {missing}. {advice}",
        FutureWarning,
        stacklevel=5,
    )


def run_registration_hooks(hooks: OrderedDict[int, Hook], module: Module, name: str, value: Any) -> Any:
    """`value` as the registration hooks leave it."""
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


def _has_any_global_hook() -> bool:
    """Whether any hook applies to every module's call."""
    return bool(
        _global_backward_pre_hooks or _global_backward_hooks or _global_forward_hooks or _global_forward_pre_hooks
    )


__all__ = [
    "HookRegistration",
    "RemovableHandle",
    "call_with_hooks",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
