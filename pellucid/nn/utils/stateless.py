"""Calling a module with other tensors in place of its parameters and buffers, leaving the module as it was."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import Tensor

__all__ = ["functional_call"]

_MISSING = object()


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old place of `pellucid.func.functional_call`; it warns.

    >>> import warnings, pellucid as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.utils.stateless.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([2.0, 3.0]))
    tensor([5.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the given tensors in place of those of the same dotted names."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """While it lasts, the module holds the given tensors; what the call put in their places goes back into the
    dictionary.
    """
    wanted = _with_tied_names(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_names(module, wanted)
    held: dict[str, Any] = {}
    try:
        for name, tensor in wanted.items():
            held[name] = _swap(module, name, tensor)
        yield
    finally:
        names = reversed(list(held)) if stack_weights else list(held)
        left = {name: _swap(module, name, held[name]) for name in names}
        parameters_and_buffers.update({name: left[name] for name in parameters_and_buffers if name in left})


def _swap(module: Any, dotted: str, tensor: Any) -> Any:
    """Put `tensor` under a dotted name whatever its class, and return what was there."""
    path, _, name = dotted.rpartition(".")
    owner = module.get_submodule(path)
    if not (tensor is None or tensor is _MISSING or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for table in (owner._parameters, owner._buffers):
        if name in table:
            old = table[name]
            if tensor is _MISSING:
                del table[name]
            else:
                table[name] = tensor
            return old
    old = getattr(owner, name, _MISSING)
    if old is not _MISSING and old is not None and not isinstance(old, Tensor):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if tensor is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, tensor)
    return old


def _all_tensors(module: Any) -> dict[str, Tensor]:
    named = dict(module.named_parameters(remove_duplicate=False))
    named.update(module.named_buffers(remove_duplicate=False))
    return named


def _check_names(module: Any, given: dict[str, Tensor]) -> None:
    known = _all_tensors(module).keys()
    lines = []
    if given.keys() - known:
        lines.append(f"Unexpected key(s): {', '.join(map(repr, sorted(given.keys() - known)))}.")
    if known - given.keys():
        lines.append(f"Missing key(s): {', '.join(map(repr, sorted(known - given.keys())))}.")
    if lines:
        raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(lines)))


def _with_tied_names(module: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors also under the other names of what they replace; ValueError when two names of one disagree."""
    names_of: dict[int, list[str]] = {}
    for name, tensor in _all_tensors(module).items():
        names_of.setdefault(id(tensor), []).append(name)
    complete = dict(given)
    for names in names_of.values():
        values = [given[name] for name in names if name in given]
        if len(names) < 2 or not values:
            continue
        if len({id(value) for value in values}) != 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                f"tie_weights=False"
            )
        complete.update({name: values[0] for name in names})
    return complete
