"""How the state of a saved optimizer finds its parameters: matching of names and groups, casting to the parameters.

`Optimizer.load_state_dict` is the only caller; hooks and the layout of the dictionary are its business.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pellucid
from pellucid import Tensor

# What DistributedDataParallel and compile put in front of the names of the model that they wrap.
_WRAPPER_PREFIXES = ("module.", "_orig_mod.")


def check_group_sizes(groups: list[dict[str, Any]], saved_groups: list[dict[str, Any]]) -> None:
    """Raises ValueError unless both sides have the same number of groups with the same numbers of parameters."""
    if len(groups) != len(saved_groups):
        raise ValueError(
            "loaded state dict has a different number of parameter groups "
            f"(saved {len(saved_groups)}, this optimizer has {len(groups)})"
        )
    for index, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
        if len(group["params"]) != len(saved["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group "
                f"(group {index}: saved {len(saved['params'])} parameters, this optimizer has {len(group['params'])})"
            )


def match_parameters(groups: list[dict[str, Any]], saved_groups: list[dict[str, Any]]) -> dict[Any, Tensor]:
    """Which parameter each saved index stands for: by name where both sides know their names, else by position."""
    saved_ids = list(chain.from_iterable(saved["params"] for saved in saved_groups))
    params = list(chain.from_iterable(group["params"] for group in groups))
    names, saved_names = _unique_names(groups), _unique_names(saved_groups)
    if names is None or saved_names is None:
        return dict(zip(saved_ids, params, strict=True))
    if set(names) != set(saved_names):
        missing = sorted(set(names) - set(saved_names))
        unexpected = sorted(set(saved_names) - set(names))
        raise ValueError(
            "loaded state dict belongs to other parameters: it has no state for "
            f"{_listed(missing)}, and has state for {_listed(unexpected)}. Rename the entries of "
            "state_dict['param_groups'][i]['param_names'], or delete 'param_names' there to match by position"
        )
    param_of = dict(zip(names, params, strict=True))
    return {saved_id: param_of[name] for saved_id, name in zip(saved_ids, saved_names, strict=True)}


def _unique_names(groups: list[dict[str, Any]]) -> list[str] | None:
    """The names of all parameters without wrapper prefixes, or None where some are missing or appear twice."""
    names: list[str] = []
    for group in groups:
        group_names = group.get("param_names")
        if group_names is None or len(group_names) != len(group["params"]):
            return None
        names.extend(_without_wrappers(name) for name in group_names)
    return names if len(set(names)) == len(names) else None


def _without_wrappers(name: str) -> str:
    while name.startswith(_WRAPPER_PREFIXES):
        name = name.split(".", 1)[1]
    return name


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return f"[{shown}, and {len(names) - 8} more]" if len(names) > 8 else f"[{shown}]"


def fit(param: Tensor, value: Any, param_id: Any, saved_groups: list[dict[str, Any]], key: Any = None) -> Any:
    """A loaded value with every tensor in it, at any depth, cast to its parameter."""
    if isinstance(value, Tensor):
        return fit_tensor(param, value, param_id, saved_groups, key)
    if isinstance(value, dict):
        return {k: fit(param, v, param_id, saved_groups, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(fit(param, v, param_id, saved_groups) for v in value)  # type: ignore[call-arg]
    return value


def fit_tensor(
    param: Tensor, value: Tensor, param_id: Any, saved_groups: list[dict[str, Any]], key: Any = None
) -> Tensor:
    """A loaded state tensor in the parameter's dtype and device; a counter named "step" keeps its own.

    Counters stay float32, since a half-precision parameter could not count to 1000. They move to the device only for
    optimizers that keep them there.
    """
    if key == "step":
        owner = next((group for group in saved_groups if param_id in group["params"]), {})
        if owner.get("capturable", False) or owner.get("fused", False):
            return value.to(dtype=pellucid.float32, device=param.device)
        return value
    if param.is_floating_point():
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)
