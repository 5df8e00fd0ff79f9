"""Cross entropy of a linear layer's output, whole or in chunks of the batch that never hold all logits at once.

How large a chunk is: `pellucid/nn/modules/linear_cross_entropy_options.py`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function
from pellucid.engine.core.errors import user_level

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target, ...)`; with `options`, in chunks that save
    memory.

    input (N, in_features) or (in_features); linear_weight (C, in_features), or (C, d…, in_features) for targets (N,
    d…). In chunks,
    the logits are computed a second time in backward, which may run as often as one likes.

    >>> import pellucid as torch
    >>> x, w = torch.ones(3, 2), torch.zeros(4, 2)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([0, 1, 3]))
    tensor(1.3863)
    """
    from pellucid.nn import functional as F

    logits_shape = _logits_shape(input, linear_weight, linear_bias)
    classes, *outputs = linear_weight.shape[:-1]
    if tuple(target.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None:
        if not outputs and label_smoothing == 0.0 and target.dtype == pellucid.int64 and reduction in _REDUCTIONS:
            settings = (weight, reduction, ignore_index, options)
            return _in_chunks(input, linear_weight, linear_bias, target, *settings)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
            f"label_smoothing == 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, "
            f"label_smoothing={label_smoothing}, target.dtype={target.dtype}, out_features={tuple(outputs)}.",
            stacklevel=user_level(),
        )
    if outputs:
        rows = math.prod(outputs, start=classes)
        linear_weight = linear_weight.reshape(rows, linear_weight.shape[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(rows)
    logits = F.linear(input, linear_weight, linear_bias).reshape(logits_shape)
    return F.cross_entropy(
        logits,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )


_REDUCTIONS = ("mean", "sum", "none")


def _logits_shape(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> tuple[int, ...]:
    """The shape of the logits; RuntimeError when the arguments do not fit together."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    return (*input.shape[:-1], *outputs)


def _in_chunks(
    input: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    options: Any,
) -> Tensor:
    is_batched = input.dim() == 2
    if not is_batched:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    rows = options.rows_per_chunk(input.shape[0], input.shape[1], linear_weight.shape[0])
    dtype = options.acc_dtype
    if dtype is None:
        is_half = input.dtype in (pellucid.float16, pellucid.bfloat16)
        dtype = pellucid.float32 if is_half and options.acc_policy == "auto" else input.dtype
    losses = _ChunkedLosses.apply(input, linear_weight, linear_bias, target, weight, ignore_index, rows, dtype)
    if reduction == "none":
        return (losses if is_batched else losses.squeeze(0)).to(input.dtype)
    total = losses.sum()
    if reduction == "mean":
        counts = target != ignore_index
        if weight is None:
            total = total / counts.sum()
        else:
            total = total / (weight.to(dtype)[target.masked_fill(~counts, 0)] * counts).sum()
    return total.to(input.dtype)


class _ChunkedLosses(Function):
    """The loss of each row; forward and backward each hold the logits of one chunk at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        linear_weight: Tensor,
        linear_bias: Tensor | None,
        target: Tensor,
        weight: Tensor | None,
        ignore_index: int,
        rows: int,
        dtype: Any,
    ) -> Tensor:
        ctx.save_for_backward(input, linear_weight, linear_bias, target, weight)
        ctx.ignore_index, ctx.rows, ctx.dtype = ignore_index, rows, dtype
        parts = [
            _losses(x, linear_weight, linear_bias, y, weight, ignore_index, dtype)
            for x, y in zip(input.split(rows), target.split(rows), strict=True)
        ]
        return pellucid.cat(parts)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
        input, linear_weight, linear_bias, target, weight = ctx.saved_tensors
        shared: list[Any] = [None if each is None else each.detach() for each in (linear_weight, linear_bias)]
        wanted = ctx.needs_input_grad[:3]
        for each, is_wanted in zip(shared, wanted[1:], strict=True):
            if each is not None:
                each.requires_grad_(is_wanted)
        input_parts: list[Tensor] = []
        sums: list[Any] = [None, None]
        for x, y, part in zip(input.split(ctx.rows), target.split(ctx.rows), dy.split(ctx.rows), strict=True):
            x = x.detach().requires_grad_(wanted[0])
            leaves = [each for each in (x, *shared) if each is not None and each.requires_grad]
            with pellucid.enable_grad():
                losses = _losses(x, shared[0], shared[1], y, weight, ctx.ignore_index, ctx.dtype)
            grads = list(pellucid.autograd.grad(losses, leaves, part))
            if wanted[0]:
                input_parts.append(grads.pop(0))
            for i, each in enumerate(shared):
                if each is not None and each.requires_grad:
                    grad = grads.pop(0).to(ctx.dtype)
                    sums[i] = grad if sums[i] is None else sums[i] + grad
        given = [None if total is None else total.to(each.dtype) for total, each in zip(sums, shared, strict=True)]
        return (pellucid.cat(input_parts) if input_parts else None, *given, None, None, None, None, None)


def _losses(
    x: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    dtype: Any,
) -> Tensor:
    """The loss of each row of one chunk, computed in `dtype`."""
    from pellucid.nn import functional as F

    bias = None if linear_bias is None else linear_bias.to(dtype)
    logits = F.linear(x.to(dtype), linear_weight.to(dtype), bias)
    weight = None if weight is None else weight.to(dtype)
    return F.cross_entropy(logits, target, weight=weight, reduction="none", ignore_index=ignore_index)
