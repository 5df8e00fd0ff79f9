"""`Module`: what layers and models are made of. Registering parameters, buffers and submodules by assignment, calling,
printing.

Its other parts have files of their own: hooks.py, state.py (saving and loading), traversal.py, conversion.py,
layer_note.py.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from pellucid import Tensor
from pellucid.nn.parameter import Buffer, Parameter

from .conversion import Conversion
from .hooks import (  # noqa: F401 - some only for programs that look for them here
    HookRegistration,
    RemovableHandle,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _has_any_global_hook,
    _WrappedHook,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    run_registration_hooks,
)
from .layer_note import add_layer_note
from .state import _EXTRA_STATE_KEY_SUFFIX, StateDict, _IncompatibleKeys  # noqa: F401 - likewise
from .traversal import Traversal
from .utils import _type_name

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def _addindent(text: str, spaces: int) -> str:
    """`text` with all lines but the first moved right; empty lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Raise: the class has to define how its output is computed."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function: define forward(self, ...) in the '
        f"class"
    )


class Module(HookRegistration, StateDict, Conversion, Traversal):
    """A part of a model: subclass it, make parameters and submodules in `__init__`, and compute in `forward`.

    Assigned `Parameter`s, `Buffer`s and `Module`s are registered under the attribute's name. Call `super().__init__()`
    first.

    >>> import pellucid as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(torch.tensor([1.0, 2.0]))
    tensor([2., 4.], grad_fn=<MulBackward0>)
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    forward: Callable[..., Any] = _forward_unimplemented
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # Straight into __dict__: __setattr__ looks for the tables that are being made here.
        self.__dict__.update(_fresh_tables())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` with the hooks that apply; an exception on its way out gets a note that names the layer."""
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            add_layer_note(error, self, args, kwargs)
            raise

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call without a compiled form and without the note; what wrappers of modules call."""
        return call_with_hooks(self, args, kwargs)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` state of this module that is not trained; without `persistent` it stays out of the state dict.

        >>> import pellucid as torch
        >>> module = torch.nn.Module()
        >>> module.register_buffer("running_mean", torch.zeros(2))
        >>> module.running_mean
        tensor([0., 0.])
        """
        self._check_name(name, "buffer", "_buffers")
        if not (tensor is None or isinstance(tensor, Tensor) or hasattr(tensor, "__torch_function__")):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = run_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make `param` a trained parameter of this module; None reserves the name (a layer without bias)."""
        self._check_name(name, "parameter", "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                    f"required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = run_registration_hooks(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Make `module` a child of this one under `name`."""
        if not (module is None or isinstance(module, Module)):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {_type_name(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = run_registration_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: Any, kind: str, table: str) -> None:
        """Raise unless `name` can be the name of a parameter or buffer of this module."""
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__
        if "_parameters" in tables:
            found = tables["_parameters"]
            if name in found:
                return found[name]
            found = tables["_buffers"]
            if name in found:
                return found[name]
            found = tables["_modules"]
            if name in found:
                return found[name]
        found = getattr(type(self), name, None)
        if isinstance(found, property) and found.fget is not None:
            # An AttributeError inside the property brought us here; let that one be seen.
            return found.fget(self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        parameters = tables.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                kind = _type_name(value)
                raise TypeError(f"cannot assign '{kind}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if parameters is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            tables["_modules"][name] = run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif parameters is not None and name in tables["_modules"]:
            if value is not None:
                kind = _type_name(value)
                raise TypeError(f"cannot assign '{kind}' as child module '{name}' (torch.nn.Module or None expected)")
            tables["_modules"][name] = run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or (parameters is not None and name in tables["_buffers"]):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, *tables: str) -> None:
        """Take `name` out of the plain attributes and the given tables, for it is about to become something else."""
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        if not (value is None or isinstance(value, Tensor) or hasattr(value, "__torch_function__")):
            kind = _type_name(value)
            raise TypeError(
                f"cannot assign '{kind}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        is_buffer = isinstance(value, Buffer)
        if is_buffer and "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        persistent = value.persistent if is_buffer else name not in self._non_persistent_buffers_set
        if type(self).register_buffer is Module.register_buffer:
            self.register_buffer(name, value, persistent)
        elif "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every submodule, children first, and on this module last; typically to initialise.

        >>> import pellucid as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(1, 1)).apply(lambda module: print(type(module).__name__))
        Linear
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it into training mode, or with `mode=False` into evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, not {_type_name(mode)}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and all below it into evaluation mode: dropout passes, batch norm uses its running
        statistics.
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say of every parameter whether gradients are computed for it; False freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's gradient, or with `set_to_none=False` fill it with zeros."""
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if gradient.grad_fn is not None:
                    gradient.detach_()
                else:
                    gradient.requires_grad_(False)
                gradient.zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Make calls of this module go through `pellucid.compile`, with these arguments; results are those of eager
        calls.

        Parameters stay where they are, and so does the module's class: nothing else has to change.
        """
        import pellucid

        self._compiled_call_impl = pellucid.compile(self._call_impl, *args, **kwargs)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the printed form says between the parentheses; override it to show a layer's settings."""
        return ""

    def __repr__(self) -> str:
        settings = self.extra_repr()
        extra_lines = settings.split("\n") if settings else []
        child_lines = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        name = self._get_name()
        if not child_lines and len(extra_lines) <= 1:
            return f"{name}({settings})"
        return "\n  ".join([f"{name}(", *extra_lines, *child_lines]) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Modules pickled by older versions lack tables that were added since.
        self.__dict__.update({**_fresh_tables(), **state})

    def _replicate_for_data_parallel(self) -> Self:
        """A shallow copy whose parameters are taken away, for a wrapper to put other tensors in their places."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica.__dict__.update(
            _parameters={}, _buffers=self._buffers.copy(), _modules=self._modules.copy(), _is_replica=True
        )
        return replica


def _fresh_tables() -> dict[str, Any]:
    """The attributes that every module has from the start."""
    return {
        "training": True,
        "_parameters": {},
        "_buffers": {},
        "_non_persistent_buffers_set": set(),
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
        "_modules": {},
    }
