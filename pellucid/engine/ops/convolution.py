"""Convolution over any number of spatial axes, transposed or not, and the gradient of its weight.

Operands are (batch, channels, *space) and (out, in / groups, *kernel); every setting is a tuple with one entry per
spatial axis. The gradients of the input are convolutions themselves, so that two operators differentiate each other.
How the sums are computed is in convolution_arithmetic.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, channels_last_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import conjugate
from pellucid.engine.ops.convolution_arithmetic import gather, spread, weigh
from pellucid.engine.ops.depthwise import gather_depthwise, spread_depthwise, weigh_depthwise
from pellucid.engine.ops.reduce import sum_
from pellucid.engine.ops.shape import slice_

Ints = tuple[int, ...]

_C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}


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
    if transposed and len(weight) == groups > 1:
        y = spread_depthwise(x, weight, stride, padding, dilation, output_padding)
    elif transposed:
        y = spread(x, weight, stride, padding, dilation, output_padding, groups)
    elif x.shape[1] == groups > 1:
        y = gather_depthwise(x, weight, stride, padding, dilation)
    else:
        y = gather(x, weight, stride, padding, dilation, groups)
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
    check(
        all(each >= 0 for each in output_padding),
        f"negative output_padding is not supported (got {list(output_padding)})",
    )
    check(all(each > 0 for each in stride), f"non-positive stride is not supported (got {list(stride)})")
    check(all(each > 0 for each in dilation), f"non-positive dilation is not supported (got {list(dilation)})")
    check(groups > 0, f"non-positive groups is not supported (got {groups})")
    check(
        all(each > 0 for each in weight.shape[2:]),
        f"a kernel needs at least one element (weight has shape {list(weight.shape)})",
    )
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
    check(
        weight.shape[0] >= groups,
        f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size"
        f" {shape} instead",
    )
    check(
        weight.shape[0] % groups == 0,
        f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size"
        f" [{shape}] instead",
    )
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    check(
        x.shape[1] == wanted,
        f"Given {given}, weight of size {shape}, expected input{list(x.shape)} to have {wanted} channels, but got"
        f" {x.shape[1]} channels instead{_channels_hint(x, wanted)}",
    )
    filters = weight.shape[1] * groups if transposed else weight.shape[0]
    _check_bias(x, bias, f"Given {given}, weight" if transposed else "Given weight", shape, filters)
    check(
        x.dtype is weight.dtype,
        f"Input type (torch.{title(x.dtype)}Tensor) and weight type (torch.{title(weight.dtype)}Tensor) should be"
        " the same"
        f" (convert one of them, for example with .to({weight.dtype}))",
    )
    check(x.dtype.name != "bool", "\"slow_conv2d_cpu\" not implemented for 'Bool'", NotImplementedError)


def _check_bias(x: Meta, bias: Any, start: str, shape: list[int], filters: int) -> None:
    if bias is None:
        return
    check(
        tuple(bias.shape) == (filters,),
        f"{start} of size {shape}, expected bias to be 1-dimensional with {filters} elements, but got bias of size"
        f" {list(bias.shape)} instead",
    )
    names = [_C_NAMES.get(each.dtype.name, each.dtype.name) for each in (x, bias)]
    check(bias.dtype is x.dtype, f"Input type ({names[0]}) and bias type ({names[1]}) should be the same")


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
    check(
        0 not in x.shape[2:],
        f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x.shape)}",
    )


def _check_enlarged(x: Meta, space: list[int]) -> None:
    _check_space(x)
    check(
        all(each >= 0 for each in space),
        f"Given input size per channel: {list(x.shape[2:])}. Calculated output size per channel: {space}. Output"
        " size is too small",
    )


@convolution.vjp("x")
def convolution_dx(
    dy: Any,
    weight: Any,
    x_meta: Meta,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    groups: int,
) -> Any:
    how: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if transposed:
        return _adjoint(dy, conjugate(weight), x_meta, **how)
    return _transposed(dy, conjugate(weight), x_meta, **how)


def _adjoint(dy: Any, weight: Any, like: Meta, **how: Any) -> Any:
    """A convolution cut to the shape of `like`: output padding beyond a stride makes places that nothing reads."""
    found = convolution(dy, weight, transposed=False, output_padding=(0,) * (like.ndim - 2), **how)
    for axis in range(2, like.ndim):
        if found._meta.shape[axis] != like.shape[axis]:
            found = slice_(found, dim=axis, start=0, end=like.shape[axis], step=1)
    return found


def _transposed(dy: Any, weight: Any, like: Meta, **how: Any) -> Any:
    """The transposed convolution whose result has the shape of `like`."""
    sizes = zip(
        like.shape[2:],
        dy._meta.shape[2:],
        weight._meta.shape[2:],
        how["stride"],
        how["padding"],
        how["dilation"],
        strict=True,
    )
    extra = tuple([n + 2 * p - d * (k - 1) - 1 - (m - 1) * s for n, m, k, s, p, d in sizes])
    return convolution(dy, weight, transposed=True, output_padding=extra, **how)


@convolution.vjp("weight")
def convolution_dweight(
    dy: Any,
    x: Any,
    weight_meta: Meta,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    groups: int,
) -> Any:
    how: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    kernel = tuple(weight_meta.shape[2:])
    if transposed:
        return convolution_weight(conjugate(x), dy, kernel=kernel, **how)
    return convolution_weight(dy, conjugate(x), kernel=kernel, **how)


@convolution.vjp("bias")
def convolution_dbias(dy: Any) -> Any:
    return sum_(dy, dim=(0, *range(2, dy._meta.ndim)), keepdim=False, dtype=dy._meta.dtype)


@op(grad_name="ConvolutionWeightBackward0")
def convolution_weight(
    coarse: np.ndarray, fine: np.ndarray, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """A weight's gradient: at each kernel place, the sum of products of `coarse` with the part of `fine` seen there."""
    if fine.shape[1] == groups > 1:
        return weigh_depthwise(coarse, fine, kernel, stride, padding, dilation)
    return weigh(coarse, fine, kernel, stride, padding, dilation, groups)


@convolution_weight.meta
def convolution_weight_meta(
    coarse: Meta, fine: Meta, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Meta:
    shape = (coarse.shape[1], fine.shape[1] // groups, *kernel)
    last = fine.ndim in (4, 5) and (is_channels_last(coarse) or is_channels_last(fine))
    return Meta.of(shape, fine.dtype, fine.device, channels_last_strides(shape) if last else None)


@convolution_weight.vjp("coarse")
def convolution_weight_dcoarse(
    dy: Any, fine: Any, coarse_meta: Meta, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    how: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _adjoint(conjugate(fine), dy, coarse_meta, **how)


@convolution_weight.vjp("fine")
def convolution_weight_dfine(
    dy: Any, coarse: Any, fine_meta: Meta, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    how: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _transposed(conjugate(coarse), dy, fine_meta, **how)
