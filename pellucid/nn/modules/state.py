"""Saving a module's tensors under their dotted names, and loading them back, all or nothing.

Files are not read or written here (`pellucid.save` and `pellucid.load` do that); the error text is in load_report.py.
"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import Tensor
from pellucid.nn.parameter import Parameter, is_lazy

from .hooks import Hook, RemovableHandle, _add, _WrappedHook
from .load_report import load_error

if TYPE_CHECKING:
    from .module import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the keys that the state dict lacked, and those that the model does not have."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _Plan:
    """The writes of one `load_state_dict`, kept back until every tensor of every module has been checked."""

    def __init__(self) -> None:
        self.writes: list[Callable[[], None]] = []
        self.undoing: list[Callable[[], Any]] = []
        self.keep_old = False

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """While it lasts, modules put their writes here instead of carrying them out."""
        token = _running.set(self)
        try:
            yield
        finally:
            _running.reset(token)

    def carry_out(self) -> None:
        with self.collecting():
            for write in self.writes:
                write()

    def undo(self) -> None:
        with pellucid.no_grad():
            for action in reversed(self.undoing):
                action()


_running: ContextVar[_Plan | None] = ContextVar("running load_state_dict", default=None)


class StateDict:
    """The part of `Module` that saves and loads its parameters and persistent buffers."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]

    def get_extra_state(self) -> Any:
        """What to save besides tensors; override it together with `set_extra_state`. It must be picklable."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state: Module.get_extra_state is only called on classes that "
            f"override it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave; called by `load_state_dict`."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state: Module.set_extra_state is only called on classes that "
            f"override it."
        )

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after this module is saved; it changes state_dict in
        place.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """The older form: what the hook returns, if anything, replaces the state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before this module is saved."""
        return _add(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before loading.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        wrapped = _WrappedHook(hook, self if with_module else None)  # type: ignore[arg-type]
        return _add(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may take keys out of the two lists, in place."""
        return _add(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put this module's own tensors, not its children's, into `destination`."""
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars or is_lazy(param) else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars or is_lazy(buffer) else buffer.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The parameters and persistent buffers by dotted name; the values share memory with the module.

        They are detached from autograd unless `keep_vars`.

        >>> import pellucid as torch
        >>> list(torch.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=..., prefix=..., "
                "keep_vars=...).",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, local_metadata)
            if returned is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = returned
        return destination

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False, *, strip_prefix: str = ""
    ) -> _IncompatibleKeys:
        """Copy the tensors of `state_dict` into this module, by name; returns the missing and the unexpected keys.

        RuntimeError when a shape differs, or, with `strict`, when the keys differ; then nothing has been loaded.
        `assign` puts the
        given tensors in place of the module's own. `strip_prefix` is taken off the keys first.

        >>> import pellucid as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> layer.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        entries = OrderedDict(state_dict)
        if strip_prefix:
            entries = OrderedDict((key.removeprefix(strip_prefix), value) for key, value in entries.items())
            metadata = metadata and {_stripped(key, strip_prefix): value for key, value in metadata.items()}
        if metadata is not None:
            entries._metadata = metadata  # type: ignore[attr-defined]
        return _load(self, entries, metadata, strict, assign)  # type: ignore[arg-type]

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Check, and plan to copy, this module's own entries (not its children's); problems go into the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        kept = {name: each for name, each in self._buffers.items() if name not in self._non_persistent_buffers_set}
        own = {name: each for name, each in itertools.chain(self._parameters.items(), kept.items()) if each is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in own.items():
            key = prefix + name
            if key in state_dict:
                _plan_one(self, name, param, key, state_dict[key], assign, error_msgs)  # type: ignore[arg-type]
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + _EXTRA_STATE_KEY_SUFFIX, strict, missing_keys, unexpected_keys)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == prefix + _EXTRA_STATE_KEY_SUFFIX:
                    continue
                first, *rest = key[len(prefix) :].split(".", 1)
                if first not in (self._modules if rest else own):
                    unexpected_keys.append(key)

    def _load_extra_state(
        self, state_dict: dict[str, Any], key: str, strict: bool, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if key in state_dict:
                _write(lambda: self.set_extra_state(state_dict[key]))
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)


def _stripped(key: str, prefix: str) -> str:
    """A module's name in the metadata, where the name of the prefix itself has no trailing dot."""
    return "" if key + "." == prefix else key.removeprefix(prefix)


def _load(module: Module, entries: Any, metadata: Any, strict: bool, assign: bool) -> _IncompatibleKeys:
    """Check everything, then write everything, then run the post hooks; an error leaves the module as it was."""
    incompatible = _IncompatibleKeys([], [])
    error_msgs: list[str] = []
    plan = _Plan()
    plan.keep_old = any(each._load_state_dict_post_hooks for each in module.modules())
    owner = type(module).__name__
    with plan.collecting():
        _check_tree(module, entries, "", metadata, assign, incompatible, error_msgs)
    has_bad_keys = strict and any(incompatible)
    # A post hook may forgive missing keys, and may look at what was loaded: only then is something written before the
    # verdict.
    if error_msgs or (has_bad_keys and not plan.keep_old):
        missing, unexpected = incompatible if strict else ([], [])
        raise RuntimeError(load_error(owner, missing, unexpected, error_msgs))
    plan.keep_old = plan.keep_old and has_bad_keys
    plan.carry_out()
    if error_msgs:
        raise RuntimeError(load_error(owner, [], [], error_msgs, is_untouched=False))
    _run_post_hooks(module, incompatible)
    if strict and any(incompatible):
        plan.undo()
        raise RuntimeError(load_error(owner, *incompatible, []))
    return incompatible


def _check_tree(
    module: Module,
    entries: Any,
    prefix: str,
    metadata: Any,
    assign: bool,
    incompatible: _IncompatibleKeys,
    error_msgs: list[str],
) -> None:
    local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(entries, prefix, local_metadata, True, *incompatible, error_msgs)
    for name, child in module._modules.items():
        if child is not None:
            start = f"{prefix}{name}."
            below = {key: value for key, value in entries.items() if key.startswith(start)}
            _check_tree(child, below, start, metadata, assign, incompatible, error_msgs)


def _run_post_hooks(module: Module, incompatible: _IncompatibleKeys) -> None:
    """The post hooks of children first; they change the lists of keys in place."""
    for child in module._modules.values():
        if child is not None:
            _run_post_hooks(child, incompatible)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )


def _write(action: Callable[[], None]) -> None:
    """Do `action` when the running `load_state_dict` is ready for it; at once when there is none."""
    plan = _running.get()
    if plan is None:
        action()
    else:
        plan.writes.append(action)


def _plan_one(
    module: Module, name: str, param: Tensor, key: str, given: Any, assign: bool, error_msgs: list[str]
) -> None:
    """Check one entry against the tensor that it is for, and plan the write."""
    if not (isinstance(given, Tensor) or hasattr(type(given), "__torch_function__")):
        error_msgs.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
        return
    if not is_lazy(param):
        if param.dim() == 0 and given.dim() == 1 and given.shape[0] == 1:
            given = given[0]  # scalars were saved with one dimension before PyTorch 0.4
        if given.shape != param.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                f"current model is {param.shape}."
            )
            return
    if not is_lazy(param) and param.is_meta and not given.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
            "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
            "to their corresponding key in the module instead of copying them in place?)",
            stacklevel=6,
        )
    if not (is_lazy(param) and is_lazy(given)):
        _write(lambda: _assign(module, name, param, given) if assign else _copy(key, param, given, error_msgs))


def _assign(module: Module, name: str, param: Tensor, given: Tensor) -> None:
    """Put `given` itself in place of `param`; a parameter stays a parameter, with its own `requires_grad`."""
    if isinstance(param, Parameter):
        if isinstance(given, Parameter):
            given.requires_grad_(param.requires_grad)
        else:
            given = Parameter(given, requires_grad=param.requires_grad)
    plan = _running.get()
    if plan is not None:
        plan.undoing.append(lambda: setattr(module, name, param))
    setattr(module, name, given)


def _copy(key: str, param: Tensor, given: Tensor, error_msgs: list[str]) -> None:
    plan = _running.get()
    with pellucid.no_grad():
        if plan is not None and plan.keep_old and not param.is_meta:
            old = param.detach().clone()
            plan.undoing.append(lambda: param.copy_(old))
        try:
            param.copy_(given)
        except Exception as error:
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {param.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )


__all__ = ["StateDict"]
