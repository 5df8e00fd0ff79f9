"""Batch normalisation over all processes of a group: one exchange of sums forward, one backward."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function

__all__ = ["synchronised_batch_norm"]


def synchronised_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    eps: float,
    momentum: float,
    process_group: Any,
) -> Tensor:
    """Normalise `input` (N, C, …) by the mean and variance over every process's batch, and update the running
    statistics.
    """
    dims = [d for d in range(input.dim()) if d != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    wide = input.to(pellucid.float32) if input.dtype in (pellucid.float16, pellucid.bfloat16) else input
    count = wide.new_full((1,), input.numel() // input.size(1))
    sums = _SumOverProcesses.apply(pellucid.cat([wide.sum(dims), count]), process_group)
    total = sums[-1]
    if float(total.detach()) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    mean = sums[:-1] / total
    centred = wide - mean.view(shape)
    variance = _SumOverProcesses.apply((centred * centred).sum(dims), process_group) / total
    if running_mean is not None and running_var is not None:
        with pellucid.no_grad():
            unbiased = variance * (total / (total - 1))
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    output = centred * pellucid.rsqrt(variance + eps).view(shape)
    if weight is not None:
        output = output * weight.view(shape)
    if bias is not None:
        output = output + bias.view(shape)
    return output.to(input.dtype)


class _SumOverProcesses(Function):
    """The sum of a tensor over the processes; the gradient of a sum that everyone uses is the sum of everyone's
    gradients.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, process_group: Any) -> Tensor:
        ctx.process_group = process_group
        return _all_reduced(tensor, process_group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _all_reduced(grad, ctx.process_group), None


def _all_reduced(tensor: Tensor, process_group: Any) -> Tensor:
    import pellucid.distributed as distributed

    total = tensor.detach().clone()
    distributed.all_reduce(total, group=process_group)
    return total
