"""Parametrizations: a parameter or buffer computed from others, by modules, whenever it is read.

The ready-made ones are in parametrizations.py.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn.modules.container import ModuleDict, ModuleList
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """Computed tensors by (module, name), kept while some `cached` block is open."""

    depth = 0
    tensors: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """While it lasts, each parametrized tensor is computed once, at its first reading.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.tensors.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensors that it is computed from: `original`, or
    `original0`, …
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._inverted(original)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            what = "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled."
            _check_same(self(), shape, dtype, what, "unparametrized", "parametrized")

    def _inverted(self, original: Tensor) -> Any:
        """What `original` is computed from, as the last `right_inverse` gives it; parametrizations without one pass it
        on.
        """
        new: Any = original
        with pellucid.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        return new

    def _keep_one(self, original: Tensor, new: Tensor) -> None:
        for what in ("dtype", "device"):
            old_value, new_value = getattr(original, what), getattr(new, what)
            if old_value != new_value:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: "
                    f"{old_value}\nright_inverse(original).{what}: {new_value}"
                )
        # The same object stays the parameter, so optimizers that know it keep working.
        original.data = new.data
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, each in enumerate(new):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{i} of the sequence with type {type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            _register(self, f"original{i}", each.requires_grad_(original.requires_grad))

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as far as the parametrizations can be
        inverted.
        """
        new: Any = value
        with pellucid.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                self._set_one(new)
            else:
                self._set_several(new)

    def _set_one(self, new: Any) -> None:
        if not isinstance(new, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
        if new.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` has dtype "
                f"{self.original.dtype}"
            )
        self.original.data = new.data

    def _set_several(self, new: Any) -> None:
        if not isinstance(new, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
        if len(new) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(new)}."
            )
        for i, each in enumerate(new):
            original = getattr(self, f"original{i}")
            if not isinstance(each, Tensor):
                raise ValueError(
                    f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(each).__name__}"
                )
            if original.dtype != each.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {each.dtype} while `original{i}` has dtype "
                    f"{original.dtype}"
                )
            original.data = each.data

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *others = self
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in others:
            x = module(x)
        return x


def _check_same(tensor: Any, shape: Any, dtype: Any, message: str, before: str, after: str) -> None:
    """ValueError unless `tensor` is one of the given shape and dtype."""
    if not isinstance(tensor, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(tensor).__name__}.")
    for what, wanted, found in (("dtype", dtype, tensor.dtype), ("shape", shape, tensor.shape)):
        if wanted != found:
            raise ValueError(f"{message.format(what)}\n{before} {what}: {wanted}\n{after} {what}: {found}")


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """A copy of a parametrized module, of the same injected class."""
    if id(self) in memo:
        return memo[id(self)]
    replica = self.__new__(self.__class__)
    memo[id(self)] = replica
    replica.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(self.__class__):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return replica


def _no_pickling(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(): save module.state_dict(), "
        "and load it into a module to which the same parametrizations were applied."
    )


def _inject_new_class(module: Module) -> None:
    """Give `module` a class of its own, to which properties can be added."""
    kind = type(module)
    members: dict[str, Any] = {"__getstate__": _no_pickling}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _inject_property(module: Module, name: str) -> None:
    """Make reading `module.name` compute it, and assigning to it set the originals."""

    def get_parametrized(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = (id(self), name)
        if key not in _Cache.tensors:
            _Cache.tensors[key] = parametrization()
        return _Cache.tensors[key]

    def set_original(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get_parametrized, set_original))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute `module.tensor_name` by `parametrization` from now on; several are applied in the order of registration.

    What it is computed from is `module.parametrizations.<tensor_name>.original`. A `right_inverse` method of the
    parametrization
    makes assigning to the tensor possible. Unless `unsafe`, shape and dtype must stay the same.

    >>> import pellucid as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_added(module, tensor_name, parametrization)
        chain = module.parametrizations[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    # Made first: it may raise, and then the module must be as it was.
    parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    return module


def _check_added(module: Module, name: str, parametrization: Any) -> None:
    """ValueError when one parametrization more would change shape or dtype, or its inverse would."""
    before = getattr(module, name)
    after = parametrization(before)
    what = "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled."
    _check_same(after, before.shape, before.dtype, what, f"module.{name}", f"parametrization(module.{name})")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    what = (
        "The tensor returned by parametrization.right_inverse must have the same {} as "
        f"module.{name}, unless the `unsafe` flag is enabled."
    )
    _check_same(inverse, before.shape, before.dtype, what, f"module.{name}", "returned")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether `module` has a parametrized tensor, or whether the one of this name is."""
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor an ordinary parameter or buffer again, with its computed value or, without `leave_parametrized`,
    its original.

    >>> import pellucid as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> _ = torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with pellucid.no_grad():
                original.data = getattr(module, tensor_name).data
    elif leave_parametrized:
        computed = getattr(module, tensor_name)
        original = Parameter(computed) if computed.requires_grad else computed
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that `module` had before anything of it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize `to_module` as `from_module` is, sharing the parametrizations and their originals; all tensors or
    one.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        given = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in given:
            register_parametrization(to_module, name, parametrization)
        taken = to_module.parametrizations[name]
        originals = ["original"] if given.is_tensor else [f"original{i}" for i in range(given.ntensors)]
        for original in originals:
            setattr(taken, original, getattr(given, original))
    return to_module
