"""`autograd.grad(is_grads_batched=True)`: one pass of the engine for all rows of the cotangents, under vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.batching import VmapLevel, batched, move, repeated
from pellucid.engine.core.modes import state


def batched_grad(
    grad: Callable[..., Any], outputs: tuple[Any, ...], inputs: Any, weights: tuple[Any, ...], options: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The gradients that the engine's `grad` gives for every row of `weights`, stacked along a new first axis."""
    size = _rows(outputs, weights)
    level = VmapLevel(size, "error")
    rows = [None if weight is None else batched(weight, 0, level) for weight in weights]
    state.stack.append(level)
    try:
        found = grad(outputs, inputs, rows, *options)
    finally:
        state.stack.pop()
        level.close()
    return tuple([_unhidden(each, level) for each in found])


def _rows(outputs: tuple[Any, ...], weights: tuple[Any, ...]) -> int:
    size = None
    for number, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        if weight is None:
            continue
        shape = output[0].output_metas[output[1]].shape if isinstance(output, tuple) else output._meta.shape
        if not weight._meta.ndim or weight._meta.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{number}] has a shape of {weight._meta.shape} and "
                f"output[{number}] has a shape of {shape}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap."
            )
        size = weight._meta.shape[0]
    if size is None:
        raise RuntimeError("grad(is_grads_batched=True) needs grad_outputs, whose rows are the cotangents")
    return int(size)


def _unhidden(gradient: Any, level: VmapLevel) -> Any:
    if gradient is None:
        return None
    value, axis = level.physical(gradient)
    return repeated(value, level.size) if axis is None else move(value, axis, 0)
