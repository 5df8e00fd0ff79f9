"""The base class of all optimizers: parameter groups, hooks around `step`, gradients to zero, the state dictionary.

How a saved state finds its parameters again lives in `_loading.py`, what the update rules share in `_rules.py`, and
what a step computes in the file of each optimizer.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import pellucid
from pellucid import Tensor
from pellucid.optim import _loading
from pellucid.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
Hooks: TypeAlias = OrderedDict[int, Callable[..., Any]]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: Hooks = OrderedDict()
_global_optimizer_post_hooks: Hooks = OrderedDict()


class _RequiredParameter:
    """The type of `required`, the default of a setting that every parameter group has to give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _register(hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Adds a hook to a table and returns the handle whose `remove()` takes it out."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` before every step of every optimizer; it may return new `(args, kwargs)`.

    >>> import pellucid as torch
    >>> from pellucid.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
    >>> torch.optim.SGD([torch.zeros(1, requires_grad=True)]).step()
    before
    >>> handle.remove()
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` after every step of every optimizer.

    >>> import pellucid as torch
    >>> from pellucid.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("after"))
    >>> torch.optim.SGD([torch.zeros(1, requires_grad=True)]).step()
    after
    >>> handle.remove()
    """
    return _register(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Runs an optimizer's method with gradients recorded only if the optimizer was made with `differentiable=True`."""

    @functools.wraps(step)
    def with_grad_mode(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with pellucid.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return step(self, *args, **kwargs)

    return with_grad_mode


def _get_value(x: Any) -> Any:
    """The Python number in a one-element tensor; a number is returned as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A one-element tensor as a 0-dimensional one; a number is returned as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of counters such as `step`: float64 where that is the default dtype, else float32."""
    if not is_fused and pellucid.get_default_dtype() == pellucid.float64:
        return pellucid.float64
    return pellucid.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The device types whose optimizers may keep their counters on the device."""
    return ["cuda"]


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """What PyTorch's `(fused, foreach)` choose between is one function here; `foreach` kernels do not exist."""
    fused = not differentiable and use_fused and all(p is None or p.is_floating_point() for p in params)
    return fused, False


class Optimizer:
    """Holds parameters in groups, each with its own settings, and the state that a rule keeps for each parameter.

    `params` is an iterable of tensors, of `(name, tensor)` pairs, or of dictionaries with a `"params"` entry. A
    subclass writes `step`. Raises ValueError for an empty list, a parameter in two groups or a non-leaf tensor.

    >>> import pellucid as torch
    >>> weight, bias = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([{"params": [weight]}, {"params": [bias], "lr": 1.0}], lr=0.1)
    >>> [group["lr"] for group in optimizer.param_groups]
    [0.1, 1.0]
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]
    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    # How often a step was attempted. A gradient scaler that skips a step adds one as well, so that a learning-rate
    # scheduler can tell a skipped step from a loop in the wrong order.
    _step_attempts: int = 0
    _inside_step: bool = False
    # The learning-rate schedulers of this optimizer, as a WeakSet; see lr_scheduler/cosine.py for who asks.
    _schedulers: Any = None

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._create_hook_tables()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{type(params).__name__}; write [parameter] for a single one"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups: list[Any] = list(params)
        if len(groups) == 0:
            raise ValueError("optimizer got an empty parameter list; a generator that was already used up is empty too")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _create_hook_tables(self) -> None:
        """Gives the instance the six tables of hooks, keeping those it has."""
        tables = self.__dict__
        tables.setdefault("_optimizer_step_pre_hooks", OrderedDict())
        tables.setdefault("_optimizer_step_post_hooks", OrderedDict())
        tables.setdefault("_optimizer_state_dict_pre_hooks", OrderedDict())
        tables.setdefault("_optimizer_state_dict_post_hooks", OrderedDict())
        tables.setdefault("_optimizer_load_state_dict_pre_hooks", OrderedDict())
        tables.setdefault("_optimizer_load_state_dict_post_hooks", OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._create_hook_tables()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        return "\n".join(lines) + "\n)"

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a `step` so that it counts the attempt and calls the hooks; a `super().step()` inside calls none."""

        @functools.wraps(func)
        def hooked_step(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            if self._inside_step:
                return func(*args, **kwargs)
            self._step_attempts += 1
            self._inside_step = True
            try:
                if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
                    args, kwargs = self._call_step_pre_hooks(func, args, kwargs)
                result = func(*args, **kwargs)
                for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                    hook(self, args, kwargs)
            finally:
                self._inside_step = False
            return result

        hooked_step.hooked = True  # type: ignore[attr-defined]
        return hooked_step

    def _call_step_pre_hooks(self, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
            args, kwargs = result
        return args, kwargs

    def _patch_step_function(self) -> None:
        """Wraps the class's own `step` once, so that a subclass gets hooks without asking for them."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)  # type: ignore[method-assign]

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]], with_indices: bool = False
    ) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
        """Splits parallel lists of tensors by device and dtype of the first list's entries."""
        grouped: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
        for index, first in enumerate(tensorlistlist[0]):
            key = (first.device, first.dtype)
            if key not in grouped:
                grouped[key] = ([[] for _ in tensorlistlist], [])
            lists, indices = grouped[key]
            for target, source in zip(lists, tensorlistlist, strict=True):
                if source:
                    target.append(source[index])
            if with_indices:
                indices.append(index)
        return grouped

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it may return new `(args, kwargs)`.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> optimizer.step()
        after
        """
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer)` before `state_dict` collects anything.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
        >>> _ = optimizer.state_dict()
        saving
        """
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` on the finished dictionary; what it returns replaces it, unless None.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "epoch": 3})
        >>> optimizer.state_dict()["epoch"]
        3
        """
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` before loading; what it returns is loaded instead, unless None.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: print("loading"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loading
        """
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(optimizer)` after loading.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> StateDict:
        """State and settings as `{"state": {index: ...}, "param_groups": [...]}`, the layout of PyTorch's files.

        Tensors are the optimizer's own, not copies. An optimizer made from `named_parameters()` also writes the names
        of each group as `"param_names"`, by which `load_state_dict` finds them again.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        >>> optimizer.state_dict()["param_groups"][0]["params"]
        [0]
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        index_of: dict[int, int] = {}
        position = 0
        packed_groups = []
        for group in self.param_groups:
            for index, param in enumerate(group["params"], position):
                index_of.setdefault(id(param), index)
            position += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [index_of[id(param)] for param in group["params"]]
            packed_groups.append(packed)
        packed_state = {
            (index_of[id(key)] if isinstance(key, Tensor) else key): value for key, value in self.state.items()
        }
        result: StateDict = {"state": packed_state, "param_groups": packed_groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            replacement = post_hook(self, result)
            if replacement is not None:
                result = replacement
        return result

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: int, param_groups: list[dict[str, Any]], key: Any = None
    ) -> Tensor:
        """A loaded state tensor in its parameter's dtype and on its device; see `_loading.fit_tensor`."""
        return _loading.fit_tensor(param, value, param_id, param_groups, key)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Takes over state and settings from `state_dict()`, cast to the dtype and device of the parameters.

        Parameters are matched by name where both sides were made from `named_parameters()`, else by position.
        Raises ValueError when groups differ in number or size, or when the names are other names.

        >>> import pellucid as torch
        >>> a, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
        >>> old, new = torch.optim.SGD([a], lr=0.5), torch.optim.SGD([b], lr=0.1)
        >>> new.load_state_dict(old.state_dict())
        >>> new.param_groups[0]["lr"]
        0.5
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            replacement = pre_hook(self, state_dict)
            if replacement is not None:
                state_dict = replacement
        saved_groups = deepcopy(state_dict["param_groups"])
        _loading.check_group_sizes(self.param_groups, saved_groups)
        param_of = _loading.match_parameters(self.param_groups, saved_groups)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _loading.fit(param_of[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros if `set_to_none` is False.

        >>> import pellucid as torch
        >>> weight = torch.ones(2, requires_grad=True)
        >>> weight.sum().backward()
        >>> torch.optim.SGD([weight]).zero_grad()
        >>> weight.grad is None
        True
        """
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; `closure`, if given, computes the loss anew and is what `step` returns.

        >>> import pellucid as torch
        >>> weight = torch.ones(1, requires_grad=True)
        >>> weight.sum().backward()
        >>> torch.optim.SGD([weight], lr=0.25).step()
        >>> weight.item()
        0.75
        """
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters; settings it does not give are the optimizer's defaults.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        >>> optimizer.add_param_group({"params": torch.zeros(1, requires_grad=True)})
        >>> optimizer.param_groups[1]["lr"]
        0.5
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _split_names(param_group)
        self._check_parameters(param_group["params"])
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}; "
                    f"give it in the group or as an argument of {type(self).__name__}"
                )
            param_group.setdefault(name, default)
        self._check_against_other_groups(param_group)
        self.param_groups.append(param_group)

    def _check_parameters(self, params: list[Any]) -> None:
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError(
                    f"can't optimize a non-leaf Tensor (shape {tuple(param.shape)}, made by {param.grad_fn}): "
                    "its value is computed anew in every forward pass. Give the leaf it was computed from"
                )
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )

    def _check_against_other_groups(self, param_group: dict[str, Any]) -> None:
        known: set[Tensor] = set()
        for group in self.param_groups:
            known.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
        if not known.isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")


def _split_names(param_group: dict[str, Any]) -> None:
    """Makes `"params"` a list of tensors, and puts the names of `(name, tensor)` pairs under `"param_names"`."""
    params = param_group["params"]
    if isinstance(params, Tensor):
        param_group["params"] = [params]
        return
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    params = list(params)
    names = [param[0] for param in params if isinstance(param, tuple)]
    param_group["params"] = [param[1] if isinstance(param, tuple) else param for param in params]
    if names:
        if len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["param_names"] = names
