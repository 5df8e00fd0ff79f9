"""Stepping other parameters with an optimizer: its own are put back afterwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import Tensor
from pellucid.optim.optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Within the block the optimizer works on the given parameters, with the state and settings of a `state_dict()`.

    The parameters are taken in the order of the optimizer's groups. Raises RuntimeError for an optimizer that has no
    state yet, and for a state of another layout.

    >>> import pellucid as torch
    >>> from pellucid.optim import swap_in_optimizer_params_and_state
    >>> weight, other = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=0.25, momentum=0.9)
    >>> weight.grad, other.grad = torch.ones(1), torch.ones(1)
    >>> optimizer.step()
    >>> with swap_in_optimizer_params_and_state(optimizer, {"weight": other}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> weight.item(), round(other.item(), 4)
    (0.75, 0.525)
    """
    groups = optimizer.param_groups
    saved_state, saved_groups = _checked_state(optimizer, swapin_optim_state)
    parts = _parameters_by_group(groups, saved_groups, list(swapin_parameters.values()))
    own_state, own_groups = optimizer.state, [dict(group) for group in groups]
    state: defaultdict[Any, Any] = defaultdict(dict)
    for saved, params in zip(saved_groups, parts, strict=True):
        for param, index in zip(params, saved["params"], strict=True):
            state[param] = dict(saved_state.get(index, {}))
    try:
        for group, saved, params in zip(groups, saved_groups, parts, strict=True):
            group.update({**saved, "params": params})
        optimizer.state = state
        yield
    finally:
        for group, own in zip(groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _checked_state(optimizer: Optimizer, given: Any) -> tuple[dict[Any, Any], list[dict[str, Any]]]:
    """The two parts of the given state, if they are what `state_dict()` of this optimizer could have given."""
    _check(bool(optimizer.state), f"{_NAME} requires initialized optimizer state: take a step first.")
    _check(isinstance(given, dict), f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    _check(
        isinstance(state, dict),
        f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state "
        f"dicts, got {type(state).__name__}.",
    )
    _check(
        not any(isinstance(key, Tensor) for key in state),
        f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.",
    )
    _check(
        all(isinstance(value, dict) for key, value in state.items() if isinstance(key, int)),
        f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.",
    )
    _check(
        isinstance(groups, list),
        f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, "
        f"got {type(groups).__name__}.",
    )
    _check(
        len(groups) == len(optimizer.param_groups),
        "swapin_optim_state has a different number of parameter groups than the live optimizer.",
    )
    return state, groups


def _parameters_by_group(
    groups: list[dict[str, Any]], saved_groups: list[Any], flat: list[Tensor]
) -> list[list[Tensor]]:
    """The given parameters, divided as the optimizer's groups divide its own."""
    parts = []
    start = 0
    for index, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
        _check(isinstance(saved, dict), f"{_NAME} requires each optimizer param group to be a dictionary.")
        ids = saved.get("params")
        _check(
            isinstance(ids, list) and all(isinstance(entry, int) for entry in ids),
            f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
            "parameter ids.",
        )
        _check(
            len(ids) == len(group["params"]),
            f"swapin_optim_state param group {index} has a different number of params than the live optimizer param "
            "group.",
        )
        only_saved, only_live = sorted(set(saved) - set(group)), sorted(set(group) - set(saved))
        _check(
            not only_saved and not only_live,
            f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer "
            f"group keys for group {index}. Keys only in swap-in: {only_saved}. Keys only in live: {only_live}.",
        )
        end = start + len(ids)
        _check(
            end <= len(flat),
            f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.",
        )
        parts.append(flat[start:end])
        start = end
    return parts
