"""Windows of images as columns and back, as functions; the layers are in `pellucid/nn/modules/fold.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.ops import rearrangement as ops
from pellucid.engine.ops import shape
from pellucid.engine.tensor.arguments import as_ints, need_tensor, presented

__all__ = ["fold", "unfold"]

IntOrPair = int | Sequence[int]


def _pair(function: str, argument: str, value: Any) -> tuple[int, ...]:
    ints = as_ints(value, function, argument)
    ints = ints * 2 if len(ints) == 1 and isinstance(value, int) else ints
    check(len(ints) == 2, f"{function}: It is expected {argument} equals to 2, but got size {len(ints)}")
    return ints


def unfold(
    input: Tensor, kernel_size: IntOrPair, dilation: IntOrPair = 1, padding: IntOrPair = 0, stride: IntOrPair = 1
) -> Tensor:
    """The windows of images (N, C, H, W) or (C, H, W) as columns (N, C·kH·kW, places), row by row.

    >>> import pellucid as torch
    >>> torch.nn.functional.unfold(torch.arange(6.).view(1, 1, 2, 3), 2)
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """
    need_tensor(input, "unfold")
    how = _settings("unfold", kernel_size, dilation, padding, stride)
    if input.ndim < 3:
        wrap_dim(max(input.ndim, 1), input.ndim)  # an IndexError: there is no such dimension
    if input.ndim != 3:
        return ops.im2col(input, **how)
    columns = shape.squeeze_axis(ops.im2col(shape.unsqueeze_axes(input, axes=(0,)), **how), axis=0)
    return presented(columns, "Im2ColBackward0")


def fold(
    input: Tensor,
    output_size: IntOrPair,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
) -> Tensor:
    """Columns (N, C·kH·kW, places) or (C·kH·kW, places) put together as images of `output_size`; overlaps add up.

    >>> import pellucid as torch
    >>> torch.nn.functional.fold(torch.ones(1, 4, 2), (2, 3), 2)
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    need_tensor(input, "fold")
    size = _pair("fold", "output_size", output_size)
    how = _settings("fold", kernel_size, dilation, padding, stride)
    if input.ndim != 2:
        return ops.col2im(input, size=size, **how)
    image = shape.squeeze_axis(ops.col2im(shape.unsqueeze_axes(input, axes=(0,)), size=size, **how), axis=0)
    return presented(image, "Col2ImBackward0")


def _settings(function: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    return {
        "kernel": _pair(function, "kernel_size", kernel_size),
        "dilation": _pair(function, "dilation", dilation),
        "padding": _pair(function, "padding", padding),
        "stride": _pair(function, "stride", stride),
    }
