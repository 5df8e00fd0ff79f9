"""Convolution over any number of spatial axes, transposed or not, and the gradient of its weight.

Operands are (batch, channels, *space) and (out, in / groups, *kernel); every setting is a tuple with one entry per
spatial axis. The gradients of the input are convolutions themselves, so that two operators differentiate each other.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, channels_last_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import conjugate
from pellucid.engine.ops.reduce import sum_
from pellucid.engine.ops.shape import slice_

Ints = tuple[int, ...]


@op(grad_name="ConvolutionBackward0")
def convolution(
    x: np.ndarray,
    weight: np.ndarray,
    bias: Any = None,
    *,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> np.ndarray:
    """Cross-correlation with a kernel; transposed, its adjoint, where weight is (in, out / groups, *kernel)."""
    if transposed:
        y = _spread(x, weight, stride, padding, dilation, output_padding, groups)
    else:
        y = _gather(x, weight, stride, padding, dilation, groups)
    if bias is not None:
        y += bias.reshape(-1, *[1] * len(stride))
    return y


@convolution.meta
def convolution_meta(
    x: Meta,
    weight: Meta,
    bias: Any = None,
    *,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Meta:
    _check_settings(weight, stride, padding, dilation, output_padding, transposed, groups)
    _check_operands(x, weight, bias, transposed, groups)
    sizes = list(zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding, strict=True))
    if transposed:
        space = [(n - 1) * s - 2 * p + d * (k - 1) + 1 + extra for n, k, s, p, d, extra in sizes]
        _check_enlarged(x, space)
        channels = weight.shape[1] * groups
    else:
        _check_kernel_fits(x, weight, padding, dilation)
        space = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in sizes]
        channels = weight.shape[0]
    shape = (x.shape[0], channels, *space)
    last = x.ndim in (4, 5) and (is_channels_last(x) or is_channels_last(weight))
    return Meta.of(shape, x.dtype, x.device, channels_last_strides(shape) if last else None)


def is_channels_last(x: Meta) -> bool:
    """Whether the channels are the fastest-moving axis of a batch of images or volumes that is not row-major too."""
    if x.is_contiguous or x.ndim not in (4, 5):
        return False
    expected = channels_last_strides(x.shape)
    return all(s == e for s, e, n in zip(x.strides, expected, x.shape, strict=True) if n != 1)


def _check_settings(
    weight: Meta, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, transposed: bool, groups: int
) -> None:
    space = weight.ndim - 2
    check(space > 0, f"weight should have at least three dimensions (got shape {list(weight.shape)})")
    given = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    for name, value in given.items():
        check(
            len(value) == space,
            f"expected {name} to be a single integer value or a list of {space} values to match the convolution"
            f" dimensions, but got {name}={list(value)} (the weight has shape {list(weight.shape)})",
        )
    check(all(each >= 0 for each in padding), f"negative padding is not supported (got {list(padding)})")
    check(all(each >= 0 for each in output_padding), f"negative output_padding is not supported (got {list(output_padding)})")
    check(all(each > 0 for each in stride), f"non-positive stride is not supported (got {list(stride)})")
    check(all(each > 0 for each in dilation), f"non-positive dilation is not supported (got {list(dilation)})")
    check(groups > 0, f"non-positive groups is not supported (got {groups})")
    check(all(each > 0 for each in weight.shape[2:]), f"a kernel needs at least one element (weight has shape {list(weight.shape)})")
    if transposed:
        fits = [extra < max(s, d) for extra, s, d in zip(output_padding, stride, dilation, strict=True)]
        check(
            all(fits),
            "output padding must be smaller than either stride or dilation, but got output_padding:"
            f" {list(output_padding)}, stride: {list(stride)}, dilation: {list(dilation)}",
        )


def _check_operands(x: Meta, weight: Meta, bias: Any, transposed: bool, groups: int) -> None:
    shape = list(weight.shape)
    check(
        x.ndim == weight.ndim,
        f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {shape}, but got"
        f" {x.ndim}-dimensional input of size {list(x.shape)} instead",
    )
    check(weight.shape[0] >= groups, f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {shape} instead")
    check(weight.shape[0] % groups == 0, f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{shape}] instead")
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    check(
        x.shape[1] == wanted,
        f"Given {given}, weight of size {shape}, expected input{list(x.shape)} to have {wanted} channels, but got"
        f" {x.shape[1]} channels instead{_channels_hint(x, wanted)}",
    )
    filters = weight.shape[1] * groups if transposed else weight.shape[0]
    check(
        bias is None or tuple(bias.shape) == (filters,),
        lambda_text(given if transposed else "", shape, filters, bias),
    )
    check(
        x.dtype is weight.dtype,
        f"Input type (torch.{title(x.dtype)}Tensor) and weight type (torch.{title(weight.dtype)}Tensor) should be the same"
        f" (convert one of them, for example with .to({weight.dtype}))",
    )
    check(
        bias is None or bias.dtype is x.dtype,
        f"Input type ({x.dtype.name}) and bias type ({bias.dtype.name if bias is not None else ''}) should be the same",
    )
    check(x.dtype.name != "bool", "\"slow_conv2d_cpu\" not implemented for 'Bool'", NotImplementedError)


def lambda_text(given: str, shape: list[int], filters: int, bias: Any) -> str:
    """The message for a bias of another size."""
    found = list(bias.shape) if bias is not None else []
    start = f"Given {given}, weight" if given else "Given weight"
    return f"{start} of size {shape}, expected bias to be 1-dimensional with {filters} elements, but got bias of size {found} instead"


def _channels_hint(x: Meta, wanted: int) -> str:
    """What probably went wrong when an input has the wrong number of channels."""
    if x.ndim > 3 and x.shape[-1] == wanted:
        order = (0, x.ndim - 1, *range(1, x.ndim - 1))
        return f". The channels seem to be the last dimension; they have to be dimension 1: use input.permute{order}"
    if x.shape[0] == wanted:
        return ". Dimension 0 has that size: is the batch dimension missing, or were the first two dimensions swapped?"
    return ""


def _check_kernel_fits(x: Meta, weight: Meta, padding: Ints, dilation: Ints) -> None:
    padded = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    span = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    check(
        all(n >= k for n, k in zip(padded, span, strict=True)),
        f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size:"
        f" ({' x '.join(map(str, span))}). Kernel size can't be greater than actual input size (input {list(x.shape)})",
    )
    _check_space(x)


def _check_space(x: Meta) -> None:
    check(0 not in x.shape[2:], f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x.shape)}")


def _check_enlarged(x: Meta, space: list[int]) -> None:
    _check_space(x)
    check(
        all(each >= 0 for each in space),
        f"Given input size per channel: {list(x.shape[2:])}. Calculated output size per channel: {space}. Output size is too small",
    )


# -- the arithmetic ------------------------------------------------------------------------------------------------


def padded(x: np.ndarray, padding: Ints, value: float = 0) -> np.ndarray:
    """`x` with `value` on both sides of each spatial axis; the same array where there is nothing to add."""
    if not any(padding):
        return x
    shape = (*x.shape[:2], *[n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)])
    if _rows_first(x):
        wide = np.full((shape[0], *shape[2:], shape[1]), value, x.dtype)
        wide = np.moveaxis(wide, -1, 1)
    else:
        wide = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    wide[(slice(None), slice(None), *[slice(p, p + n) for n, p in zip(x.shape[2:], padding, strict=True)])] = x
    return wide


def windows(x: np.ndarray, kernel: Ints, stride: Ints, dilation: Ints, space: Ints) -> np.ndarray:
    """A view (batch, channels, *kernel, *space) of what a kernel sees at each place of an already padded array."""
    steps = x.strides[2:]
    inside = [step * d for step, d in zip(steps, dilation, strict=True)]
    across = [step * s for step, s in zip(steps, stride, strict=True)]
    return as_strided(x, (*x.shape[:2], *kernel, *space), (*x.strides[:2], *inside, *across), writeable=False)


def _rows_first(x: np.ndarray) -> bool:
    """Whether the channels are the fastest-moving axis in memory."""
    return not x.flags.c_contiguous and np.moveaxis(x, 1, -1).flags.c_contiguous


def _count(sizes: Ints) -> int:
    total = 1
    for each in sizes:
        total *= each
    return total


def output_space(x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The spatial size of a convolution's result."""
    sizes = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes])


def _gather(x: np.ndarray, weight: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """Cross-correlation: columns of what the kernel sees, times the kernel."""
    kernel = weight.shape[2:]
    space = output_space(x, kernel, stride, padding, dilation)
    seen = windows(padded(x, padding), kernel, stride, dilation, space)
    filters, batch = len(weight), len(x)
    if weight.shape[1] == 1 and groups > 1:
        return _gather_depthwise(seen, weight, groups)
    if groups == 1 and (_rows_first(x) or _count(space) < 64):
        axes = (0, *range(2 + len(kernel), seen.ndim), *range(2, 2 + len(kernel)), 1)
        rows = seen.transpose(axes).reshape(batch * _count(space), -1)
        y = rows @ np.moveaxis(weight, 0, -1).swapaxes(0, 0).transpose(*_kernel_first(len(kernel))).reshape(-1, filters)
        return np.moveaxis(y.reshape(batch, *space, filters), -1, 1)
    columns = seen.reshape(batch, groups, -1, _count(space))
    y = np.matmul(weight.reshape(groups, filters // groups, -1), columns)
    return y.reshape(batch, filters, *space)
