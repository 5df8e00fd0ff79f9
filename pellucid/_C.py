"""The few names of PyTorch's compiled module that Python programs reach for, all about `__torch_function__`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from pellucid.engine.core.meta import Size
from pellucid.engine.tensor import Tensor as TensorBase
from pellucid.engine.tensor import overrides as _protocol
from pellucid.engine.tensor.overridable_methods import TensorMeta as _TensorMeta
from pellucid.engine.tensor.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
)
from pellucid.engine.tensor.overrides import disabled_torch_dispatch as _disabled_torch_dispatch_impl
from pellucid.engine.tensor.overrides import disabled_torch_function as _disabled_torch_function_impl
from pellucid.engine.tensor.overrides import enter_mode as _push_on_torch_function_stack
from pellucid.engine.tensor.overrides import leave_mode as _pop_torch_function_stack
from pellucid.overrides import has_torch_function as _has_torch_function
from pellucid.overrides import has_torch_function_unary as _has_torch_function_unary
from pellucid.overrides import has_torch_function_variadic as _has_torch_function_variadic
from pellucid.overrides import redispatch_function as _skip_one_hop_torch_function

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "Size", "TensorBase", "_TensorMeta",
    "_TorchFunctionState", "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl", "_get_function_stack_at",
    "_get_torch_function_state", "_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic",
    "_is_torch_function_all_disabled", "_is_torch_function_enabled", "_is_torch_function_mode_enabled",
    "_len_torch_function_stack", "_pop_torch_function_stack", "_push_on_torch_function_stack",
    "_set_torch_function_state", "_skip_one_hop_torch_function",
]  # fmt: skip


class _TorchFunctionState(IntEnum):
    """What of the protocol works in this thread."""

    ENABLED = _protocol.ENABLED
    SUBCLASSES_DISABLED = _protocol.SUBCLASSES_DISABLED
    ALL_DISABLED = _protocol.ALL_DISABLED


def _get_torch_function_state() -> _TorchFunctionState:
    return _TorchFunctionState(_protocol.state.level)


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    _protocol.state.level = int(state)


def _is_torch_function_enabled() -> bool:
    return _protocol.state.level == _protocol.ENABLED


def _is_torch_function_all_disabled() -> bool:
    return _protocol.state.level == _protocol.ALL_DISABLED


def _is_torch_function_mode_enabled() -> bool:
    return bool(_protocol.state.modes) and _protocol.state.level != _protocol.ALL_DISABLED


def _len_torch_function_stack() -> int:
    return len(_protocol.state.modes)


def _get_function_stack_at(index: int) -> Any:
    return _protocol.state.modes[index]
