"""Planes taken apart and put together: channels into pixels and back, groups of channels mixed, windows as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.convolution_arithmetic import fold_into, output_space, padded, windows
from pellucid.engine.ops.pooling import planes

Ints = tuple[int, ...]


@op(half="keep")
def pixel_shuffle(x: np.ndarray, *, factor: int) -> np.ndarray:
    """(…, C·f², H, W) as (…, C, H·f, W·f): every f² channels become blocks of f by f pixels."""
    *lead, channels, height, width = x.shape
    blocks = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    count = len(lead)
    axes = (*range(count), count, count + 3, count + 1, count + 4, count + 2)
    return blocks.transpose(axes).reshape(*lead, channels // factor**2, height * factor, width * factor)


@pixel_shuffle.meta
def pixel_shuffle_meta(x: Meta, *, factor: int) -> Meta:
    check(
        x.ndim >= 3,
        f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {x.ndim} dimension(s)",
    )
    check(factor > 0, f"pixel_shuffle expects a positive upscale_factor, but got {factor}")
    check(
        x.shape[-3] % factor**2 == 0,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but"
        f" input.size(-3)={x.shape[-3]} is not divisible by {factor**2}",
    )
    return planes(x, (*x.shape[:-3], x.shape[-3] // factor**2, x.shape[-2] * factor, x.shape[-1] * factor))


@pixel_shuffle.vjp("x")
def pixel_shuffle_dx(dy: Any, factor: int) -> Any:
    return pixel_unshuffle(dy, factor=factor)


@op(half="keep")
def pixel_unshuffle(x: np.ndarray, *, factor: int) -> np.ndarray:
    """(…, C, H·f, W·f) as (…, C·f², H, W): blocks of f by f pixels become channels."""
    *lead, channels, height, width = x.shape
    blocks = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    count = len(lead)
    axes = (*range(count), count, count + 2, count + 4, count + 1, count + 3)
    return blocks.transpose(axes).reshape(*lead, channels * factor**2, height // factor, width // factor)


@pixel_unshuffle.meta
def pixel_unshuffle_meta(x: Meta, *, factor: int) -> Meta:
    check(
        x.ndim >= 3,
        f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {x.ndim} dimension(s)",
    )
    check(factor > 0, f"pixel_unshuffle expects a positive downscale_factor, but got {factor}")
    for axis, name in ((-2, "height"), (-1, "width")):
        check(
            x.shape[axis] % factor == 0,
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but"
            f" input.size({axis})={x.shape[axis]} is not"
            f" divisible by {factor}",
        )
    return planes(x, (*x.shape[:-3], x.shape[-3] * factor**2, x.shape[-2] // factor, x.shape[-1] // factor))


@pixel_unshuffle.vjp("x")
def pixel_unshuffle_dx(dy: Any, factor: int) -> Any:
    return pixel_shuffle(dy, factor=factor)


@op(half="keep")
def channel_shuffle(x: np.ndarray, *, groups: int) -> np.ndarray:
    """Channels (axis 1) seen as a matrix with a row per group, transposed: neighbours come from different groups."""
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return parts.swapaxes(1, 2).reshape(x.shape)


@channel_shuffle.meta
def channel_shuffle_meta(x: Meta, *, groups: int) -> Meta:
    check(x.ndim > 2, f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(x.shape)}")
    check(groups > 0, f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    check(
        x.shape[1] % groups == 0,
        f"Number of channels must be divisible by groups. Got {x.shape[1]} channels and {groups} groups.",
    )
    return planes(x, tuple(x.shape))


@channel_shuffle.vjp("x")
def channel_shuffle_dx(dy: Any, x_meta: Meta, groups: int) -> Any:
    return channel_shuffle(dy, groups=max(x_meta.shape[1] // groups, 1))


@op(grad_name="Im2ColBackward0")
def im2col(x: np.ndarray, *, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    """The windows of images (N, C, H, W) as columns (N, C·kH·kW, places)."""
    space = output_space(x.shape[2:], kernel, stride, padding, dilation)
    seen = windows(padded(x, padding), kernel, stride, dilation, space)
    return seen.reshape(len(x), x.shape[1] * kernel[0] * kernel[1], space[0] * space[1])


def _check_window(kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    for name, short, value in (
        ("kernel size", "kernel", kernel),
        ("dilation", "dilation", dilation),
        ("stride", "stride", stride),
    ):
        check(
            all(each > 0 for each in value),
            f"{name} should be greater than zero, but got {short}_height: {value[0]} {short}_width: {value[1]}",
        )
    check(
        all(each >= 0 for each in padding),
        f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}",
    )


@im2col.meta
def im2col_meta(x: Meta, *, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Meta:
    _check_window(kernel, dilation, padding, stride)
    check(
        x.ndim == 4 and 0 not in x.shape[1:],
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input,"
        " but got:"
        f" {list(x.shape)}",
    )
    space = output_space(x.shape[2:], kernel, stride, padding, dilation)
    check(
        all(each > 0 for each in space),
        f"Given input with spatial size {tuple(x.shape[2:])}, kernel_size={kernel}, dilation={dilation},"
        f" padding={padding},"
        f" calculated shape of the array of sliding blocks as {space}, but its components must be at least one.",
    )
    check(
        x.dtype.category >= 2 or x.dtype.name == "bool",
        f"\"im2col_out_cpu\" not implemented for '{title(x.dtype)}'",
        NotImplementedError,
    )
    return x.like((x.shape[0], x.shape[1] * kernel[0] * kernel[1], space[0] * space[1]))


@im2col.vjp("x")
def im2col_dx(dy: Any, x_meta: Meta, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    return col2im(dy, size=tuple(x_meta.shape[2:]), kernel=kernel, dilation=dilation, padding=padding, stride=stride)


@op(grad_name="Col2ImBackward0")
def col2im(x: np.ndarray, *, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    """Columns (N, C·kH·kW, places) added up to images of `size`: the adjoint of `im2col`."""
    space = output_space(size, kernel, stride, padding, dilation)
    parts = x.reshape(len(x), x.shape[1] // (kernel[0] * kernel[1]), *kernel, *space)
    whole = np.zeros((*parts.shape[:2], size[0] + 2 * padding[0], size[1] + 2 * padding[1]), x.dtype)
    fold_into(whole, parts, stride, dilation)
    return whole[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


@col2im.meta
def col2im_meta(x: Meta, *, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Meta:
    _check_window(kernel, dilation, padding, stride)
    check(
        x.ndim == 3 and 0 not in x.shape[1:],
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for"
        " input, but got:"
        f" {list(x.shape)}",
    )
    count = kernel[0] * kernel[1]
    check(
        x.shape[1] % count == 0,
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got"
        f" input.size(1)={x.shape[1]} and kernel_size={kernel}.",
    )
    space = output_space(size, kernel, stride, padding, dilation)
    check(
        x.shape[2] == space[0] * space[1] and min(space) > 0,
        f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride},"
        " expected size"
        f" of input's dimension 2 to match the calculated number of sliding blocks {space[0]} * {space[1]} ="
        f" {space[0] * space[1]}, but got input.size(2)={x.shape[2]}.",
    )
    check(
        x.dtype.category >= 2 or x.dtype.name == "bool",
        f"\"col2im_out_cpu\" not implemented for '{title(x.dtype)}'",
        NotImplementedError,
    )
    return x.like((x.shape[0], x.shape[1] // count, *size))


@col2im.vjp("x")
def col2im_dx(dy: Any, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    return im2col(dy, kernel=kernel, dilation=dilation, padding=padding, stride=stride)
