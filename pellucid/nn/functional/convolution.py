"""Convolutions, plain and transposed, as functions: settings given as one int or one per dimension, unbatched inputs.

The arithmetic is the operator `convolution`; the layers are in `pellucid/nn/modules/conv.py`.
"""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.engine.core.errors import check
from pellucid.engine.ops import convolution as ops
from pellucid.engine.ops import shape
from pellucid.engine.ops.padding import constant_pad
from pellucid.engine.tensor.arguments import as_int, as_ints, is_tensor

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
]  # fmt: skip

IntOrInts = int | tuple[int, ...]


def per_dimension(value: Any, count: int, function: str, argument: str) -> tuple[int, ...]:
    """One int per spatial dimension, from an int or a sequence; a sequence of one counts for all."""
    ints = as_ints(value, function, argument)
    return ints * count if len(ints) == 1 else ints


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, L) or (C, L) with a weight (out, C / groups, K).

    `padding` is zeros on both sides, "valid" (none) or "same" (as many as keep L; stride must be 1). RuntimeError when
    the channels do not match or the kernel is longer than the padded input.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv1d(torch.ones(1, 1, 5), torch.ones(1, 1, 3))
    tensor([[[3., 3., 3.]]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images (N, C, H, W) or (C, H, W) with a weight (out, C / groups, kH, kW).

    `padding` is zeros on each side, "valid" (none) or "same" (as many as keep H and W; stride must be 1). RuntimeError
    when the channels do not match or the kernel is larger than the padded input.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3), padding=1).shape
    torch.Size([1, 4, 8, 8])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes (N, C, D, H, W) or (C, D, H, W) with a weight (out, C / groups, kD, kH, kW).

    `padding` as in `conv2d`.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 4, 4, 4), torch.ones(2, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
) -> Tensor:
    """The adjoint of `conv1d`: (N, C, L) or (C, L) with a weight (C, out / groups, K) gives the longer signal.

    `padding` cuts off so much on both sides; `output_padding` adds to one side, since several lengths have the same
    convolution.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv_transpose1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2))
    tensor([[[1., 2., 2., 1.]]])
    """
    return _transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
) -> Tensor:
    """The adjoint of `conv2d`: (N, C, H, W) or (C, H, W) with a weight (C, out / groups, kH, kW) gives larger images.

    `padding` and `output_padding` as in `conv_transpose1d`.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 3, 4, 4), torch.ones(3, 2, 2, 2), stride=2).shape
    torch.Size([1, 2, 8, 8])
    """
    return _transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
) -> Tensor:
    """The adjoint of `conv3d`, with a weight (C, out / groups, kD, kH, kW); settings as in `conv_transpose1d`.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), stride=2).shape
    torch.Size([1, 1, 4, 4, 4])
    """
    return _transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts,
    padding: IntOrInts,
    dilation: IntOrInts,
    transposed: bool,
    output_padding: IntOrInts,
    groups: int,
) -> Tensor:
    """Convolution over as many dimensions as the weight has kernel axes, plain or transposed; the input has a batch.

    >>> import pellucid as torch
    >>> torch.convolution(torch.ones(1, 1, 4), torch.ones(1, 1, 2), None, [2], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    _need_tensors("convolution", input, weight, bias)
    space = weight.ndim - 2
    given = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    settings = {name: per_dimension(value, space, "convolution", name) for name, value in given.items()}
    return ops.convolution(input, weight, bias, transposed=bool(transposed), groups=groups, **settings)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over time of (time, batch, channels) with a weight (K, channels, out) and a bias (out).

    >>> import pellucid as torch
    >>> torch.conv_tbc(torch.ones(5, 2, 3), torch.ones(3, 3, 4), torch.zeros(4)).shape
    torch.Size([3, 2, 4])
    """
    _need_tensors("conv_tbc", input, weight, bias)
    check(input.ndim == 3, "Input must have 3 dims: time, batch, in_channel")
    check(weight.ndim == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels")
    check(bias.ndim == 1, "Bias must be 1-D")
    check(input.shape[2] == weight.shape[1], "Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    check(weight.shape[2] == bias.shape[0], "Bias size must equal dim 2 in the weight tensor (output channels).")
    found = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return found.permute(2, 0, 1).contiguous()


def _need_tensors(function: str, input: Any, weight: Any, bias: Any) -> None:
    for name, value in (("input", input), ("weight", weight), ("bias", bias)):
        if not is_tensor(value) and not (name == "bias" and value is None):
            position = ("input", "weight", "bias").index(name) + 1
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
            )


def _with_batch(function: str, input: Any, space: int) -> tuple[Any, bool]:
    """The input with a batch dimension, and whether it had one."""
    if input.ndim == space + 2:
        return input, True
    if input.ndim == space + 1:
        return shape.unsqueeze_axes(input, axes=(0,)), False
    layout = ("N", "C", "D", "H", "W")[:2] + ("D", "H", "W")[3 - space :] if space > 1 else ("N", "C", "L")
    raise RuntimeError(
        f"Expected {space + 1}D (unbatched) or {space + 2}D (batched) input to {function}, but got input of size:"
        f" {list(input.shape)}. The dimensions are ({', '.join(layout)}), where N may be missing; input.unsqueeze(0)"
        " adds a dimension in front."
    )


def _convolve(
    function: str,
    space: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> Any:
    _need_tensors(function, input, weight, bias)
    x, batched = _with_batch(function, input, space)
    stride = per_dimension(stride, space, function, "stride")
    dilation = per_dimension(dilation, space, function, "dilation")
    if isinstance(padding, str):
        x, padding = _padding_by_name(padding, x, weight, stride, dilation, space)
    else:
        padding = per_dimension(padding, space, function, "padding")
    y = ops.convolution(
        x,
        weight,
        bias,
        stride=stride,
        padding=padding,
        dilation=dilation,
        transposed=False,
        output_padding=(0,) * space,
        groups=as_int(groups, function, "groups", 7),
    )
    return y if batched else shape.squeeze_axis(y, axis=0)


def _padding_by_name(
    padding: str, x: Any, weight: Any, stride: tuple[int, ...], dilation: tuple[int, ...], space: int
) -> tuple[Any, tuple[int, ...]]:
    """What "valid" and "same" mean in numbers; "same" for an even kernel pads the input itself, one more at the end."""
    if padding == "valid":
        return x, (0,) * space
    check(padding == "same", f"Invalid padding string: '{padding}' (it may be 'valid' or 'same')")
    check(all(each == 1 for each in stride), "padding='same' is not supported for strided convolutions")
    check(
        weight.ndim == space + 2, f"Expected a weight with {space + 2} dimensions, but got shape {list(weight.shape)}"
    )
    total = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation, strict=True)]
    if any(each % 2 for each in total):
        x = constant_pad(x, pad=((0, 0), (0, 0), *[(0, each % 2) for each in total]), value=0)
    return x, tuple([each // 2 for each in total])


def _transpose(
    function: str,
    space: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> Any:
    _need_tensors(function, input, weight, bias)
    x, batched = _with_batch(function, input, space)
    y = ops.convolution(
        x,
        weight,
        bias,
        stride=per_dimension(stride, space, function, "stride"),
        padding=per_dimension(padding, space, function, "padding"),
        dilation=per_dimension(dilation, space, function, "dilation"),
        transposed=True,
        output_padding=per_dimension(output_padding, space, function, "output_padding"),
        groups=as_int(groups, function, "groups", 7),
    )
    return y if batched else shape.squeeze_axis(y, axis=0)
