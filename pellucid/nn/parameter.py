"""Tensors that a module owns: `Parameter` is trained, `Buffer` is carried along, the uninitialised ones wait for a
shape.

What a module does with them is in `modules/module.py`; lazy layers are in `modules/lazy.py`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.tensor.overridable_methods import TensorMeta, switch
from pellucid.engine.tensor.overrides import disabled_torch_function

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterMeta(TensorMeta):
    """Lets a tensor subclass be a parameter without losing its own class: it carries the mark `_is_param`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers as trainable when it is assigned as an attribute; it requires grad by default.

    >>> import pellucid as torch
    >>> layer = torch.nn.Module()
    >>> layer.scale = torch.nn.Parameter(torch.ones(2))
    >>> [name for name, _ in layer.named_parameters()]
    ['scale']
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = pellucid.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        tensor: Any = data.detach().requires_grad_(requires_grad)
        if type(tensor) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                f"an instance of the same type, but it returned {type(tensor).__name__}. Override detach() to keep "
                "the type."
            )
        tensor._is_param = True
        return tensor

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            copied = type(self)(self.data.clone(memory_format=pellucid.preserve_format), self.requires_grad)
            copied.__dict__.update({name: value for name, value in self.__dict__.items() if name == "_is_param"})
            memo[id(self)] = copied
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        hooks: OrderedDict[int, Any] = OrderedDict()
        attributes = dict(self.__dict__)
        if not attributes:
            return _rebuild_parameter, (self.data, self.requires_grad, hooks)
        return _rebuild_parameter_with_state, (self.data, self.requires_grad, hooks, attributes)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A parameter read back from a pickle; hooks are not restored, as they are not saved."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Parameter:
    """A parameter read back from a pickle together with the attributes that the program had put on it."""
    parameter = Parameter(data, requires_grad)
    parameter.__dict__.update(state)
    return parameter


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet: it can be moved and cast, and nothing else, until `materialize`."""

    cls_to_become: type[Any] = Tensor
    _switches_when_made = True  # most programs have none, so that defining these classes costs methods nothing
    data: Any
    requires_grad: Any
    _allowed = frozenset({
        "__hash__", "__get__", "__set__", "__delete__", "size", "copy_", "is_complex", "is_floating_point", "half",
        "float", "double", "bfloat16", "char", "short", "int", "long", "cuda", "cpu", "to", "type", "get_device",
        "_has_compatible_shallow_copy_type", "requires_grad_", "detach",
    })  # fmt: skip

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of `shape`; the values are arbitrary until they are initialised."""
        data = pellucid.empty(shape, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become
        self.data = data
        switch(-1)

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in cls._allowed or type(func).__name__ == "method-wrapper":
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )


def _unshaped(cls: type[Any], requires_grad: bool, device: Any, dtype: Any) -> Any:
    """A new tensor of an uninitialised class, which methods of other tensors have to look out for from now on."""
    made = Tensor._make_subclass(cls, pellucid.empty(0, device=device, dtype=dtype), requires_grad)
    switch(1)
    return made


def is_lazy(param: Any) -> bool:
    """Whether `param` still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter without a shape yet; the lazy layer that holds it gives it one at the first `forward`.

    >>> import pellucid as torch
    >>> weight = torch.nn.UninitializedParameter()
    >>> weight.materialize((2, 3)); weight.shape
    torch.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return _unshaped(cls, requires_grad, device, dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class _BufferMeta(TensorMeta):
    """A buffer is a plain tensor with the mark `_is_buffer`; `isinstance(t, Buffer)` looks for it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as state, not as trainable, when it is assigned as an attribute.

    With `persistent=False` it moves with the module and stays out of the `state_dict`.

    >>> import pellucid as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(1))
    >>> list(module.state_dict())
    ['mean']
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # type: ignore[assignment]

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = pellucid.empty(0)
        tensor = data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer without a shape yet; it becomes an ordinary tensor when the lazy layer sees its first input."""

    cls_to_become = Tensor
    persistent: bool

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        tensor = _unshaped(cls, requires_grad, device, dtype)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype, self.persistent)
        return memo[id(self)]
