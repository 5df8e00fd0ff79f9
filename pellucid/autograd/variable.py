"""`Variable`: the name from before tensors had gradients themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import Tensor
from pellucid.engine.core.backward import queue_callback


class _TensorsAreInstances(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """PyTorch's handle on the backward engine, of which programs use the callbacks."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the backward pass that is running ends; RuntimeError outside of one."""
        queue_callback(callback)


class Variable(metaclass=_TensorsAreInstances):
    """`Variable(tensor)` is a tensor that shares the data; every tensor is an instance.

    >>> import pellucid as torch
    >>> isinstance(torch.ones(1), torch.autograd.Variable)
    True
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
