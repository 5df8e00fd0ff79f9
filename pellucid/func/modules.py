"""Modules as functions: `functional_call`, `stack_module_state`, and batch norm without memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the given tensors in place of its parameters and buffers of the same names.

    Several dictionaries count as one; their keys must differ. Names that are not given keep the module's tensors.

    >>> import pellucid as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([2.0, 3.0]))
    tensor([5.])
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, dict):
        tensors = given
    elif isinstance(given, Sequence):
        if not all(isinstance(each, dict) for each in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [key for each in given for key in each]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        tensors = {key: value for each in given for key, value in each.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    stateless = pellucid.nn.utils.stateless  # not imported above: nn is made of Functions, which know these transforms
    return stateless._functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of equal modules, stacked by name along a new first dimension: an ensemble for
    vmap.

    >>> import pellucid as torch
    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> parameters["weight"].shape
    torch.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(each.training for each in models) or all(not each.training for each in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(each) is type(models[0]) for each in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(each.named_parameters()) for each in models]
    buffers = [dict(each.named_buffers()) for each in models]
    return (
        {name: _stacked([each[name] for each in parameters]) for name in parameters[0]},
        {name: _stacked([each[name] for each in buffers]) for name in buffers[0]},
    )


def _stacked(tensors: list[Tensor]) -> Tensor:
    """Of leaves, a leaf that requires a gradient where they do; else connected to them."""
    flags = {each.requires_grad for each in tensors}
    if len(flags) != 1:
        raise RuntimeError("Expected parameters from different models to have the same .requires_grad")
    if all(each.is_leaf for each in tensors):
        return pellucid.stack([each.detach() for each in tensors]).requires_grad_(flags.pop())
    return pellucid.stack(tensors)


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Take the running statistics out of every batch norm of a module, in place, since vmap cannot update them.

    >>> import pellucid as torch
    >>> torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2)).running_mean is None
    True
    """
    for each in root.modules():
        if isinstance(each, pellucid.nn.modules.batchnorm._BatchNorm):
            each.running_mean = each.running_var = each.num_batches_tracked = None
            each.track_running_stats = False
    return root
