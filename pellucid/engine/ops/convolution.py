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
    check(
        weight.shape[0] >= groups,
        f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {shape} instead",
    )
    check(
        weight.shape[0] % groups == 0,
        f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{shape}] instead",
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
        f"Input type (torch.{title(x.dtype)}Tensor) and weight type (torch.{title(weight.dtype)}Tensor) should be the same"
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
    check(bias.dtype is x.dtype, f"Input type ({x.dtype.name}) and bias type ({bias.dtype.name}) should be the same")


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
    """A convolution whose result is cut to the shape of `like`: output padding beyond a stride makes places nothing reads."""
    found = convolution(dy, weight, transposed=False, output_padding=(0,) * (like.ndim - 2), **how)
    for axis in range(2, like.ndim):
        if found._meta.shape[axis] != like.shape[axis]:
            found = slice_(found, dim=axis, start=0, end=like.shape[axis], step=1)
    return found


def _transposed(dy: Any, weight: Any, like: Meta, **how: Any) -> Any:
    """The transposed convolution whose result has the shape of `like`."""
    sizes = zip(
        like.shape[2:], dy._meta.shape[2:], weight._meta.shape[2:], how["stride"], how["padding"], how["dilation"], strict=True
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
    seen = windows(padded(fine, padding), kernel, stride, dilation, coarse.shape[2:])
    if fine.shape[1] == groups and groups > 1:
        return _weight_depthwise(coarse, seen, len(kernel), groups)
    return _weight_gathered(coarse, seen, len(kernel), groups)


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


# -- the arithmetic ------------------------------------------------------------------------------------------------


def padded(x: np.ndarray, padding: Ints, value: float = 0) -> np.ndarray:
    """`x` with `value` on both sides of each spatial axis; the same array where there is nothing to add."""
    if not any(padding):
        return x
    shape = (*x.shape[:2], *[n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)])
    if rows_first(x):
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


def rows_first(x: np.ndarray) -> bool:
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
    """Cross-correlation: columns of what the kernel sees, times the kernel; a fresh array in the memory order of `x`."""
    kernel = weight.shape[2:]
    space = output_space(x, kernel, stride, padding, dilation)
    seen = windows(padded(x, padding), kernel, stride, dilation, space)
    batch, filters = len(x), len(weight)
    if weight.shape[1] == 1 and groups > 1:
        return _gather_depthwise(seen, weight, groups)
    if groups == 1 and rows_first(x):
        rows = _as_rows(seen, len(kernel)) @ np.moveaxis(weight, (0, 1), (-1, -2)).reshape(-1, filters)
        return np.moveaxis(rows.reshape(batch, *space, filters), -1, 1)
    columns = seen.reshape(batch, groups, weight.shape[1] * _count(kernel), _count(space))
    y = np.matmul(weight.reshape(groups, filters // groups, columns.shape[2]), columns)
    return y.reshape(batch, filters, *space)


def _as_rows(seen: np.ndarray, space: int) -> np.ndarray:
    """Windows as a matrix with a row for each place and, in it, the channels as the fastest-moving part."""
    axes = (0, *range(2 + space, seen.ndim), *range(2, 2 + space), 1)
    rows = seen.transpose(axes)
    return rows.reshape(_count(rows.shape[: 1 + space]), _count(rows.shape[1 + space :]))


def _gather_depthwise(seen: np.ndarray, weight: np.ndarray, groups: int) -> np.ndarray:
    """A kernel per channel: too little to multiply for a matrix product, so one pass for each kernel place."""
    space = (seen.ndim - 2) // 2
    kernel = weight.reshape(groups, -1, *weight.shape[2:], *[1] * space)
    y = np.zeros((len(seen), groups, kernel.shape[1], *seen.shape[2 + space :]), np.result_type(seen, weight))
    for place in itertools.product(*map(range, weight.shape[2:])):
        y += seen[(slice(None), slice(None), *place)][:, :, None] * kernel[(slice(None), slice(None), *place)]
    return y.reshape(len(seen), len(weight), *seen.shape[2 + space :])


def _spread(
    x: np.ndarray, weight: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, extra: Ints, groups: int
) -> np.ndarray:
    """Transposed: each element of `x` adds its multiple of the kernel to the places that it was seen from."""
    kernel, space = weight.shape[2:], x.shape[2:]
    batch, channels = len(x), weight.shape[1] * groups
    if groups == 1 and rows_first(x):
        rows = np.moveaxis(x, 1, -1).reshape(-1, len(weight)) @ np.moveaxis(weight, 1, -1).reshape(len(weight), -1)
        parts = rows.reshape(batch, *space, *kernel, channels)
        axes = (0, parts.ndim - 1, *range(1 + len(space), parts.ndim - 1), *range(1, 1 + len(space)))
        parts = parts.transpose(axes)
    else:
        matrix = weight.reshape(groups, len(weight) // groups, weight.shape[1] * _count(kernel))
        parts = np.matmul(matrix.swapaxes(1, 2), x.reshape(batch, groups, len(weight) // groups, _count(space)))
        parts = parts.reshape(batch, channels, *kernel, *space)
    full = [(n - 1) * s + d * (k - 1) + 1 + e for n, s, d, k, e in zip(space, stride, dilation, kernel, extra, strict=True)]
    if rows_first(x):
        wide = np.moveaxis(np.zeros((batch, *full, channels), parts.dtype), -1, 1)
    else:
        wide = np.zeros((batch, channels, *full), parts.dtype)
    fold_into(wide, parts, stride, dilation)
    cut = [slice(p, n - p) for n, p in zip(full, padding, strict=True)]
    return wide[(slice(None), slice(None), *cut)] if any(padding) else wide


def fold_into(wide: np.ndarray, parts: np.ndarray, stride: Ints, dilation: Ints) -> None:
    """Add windows (batch, channels, *kernel, *space) to the places that they show: the adjoint of `windows`."""
    count = len(stride)
    space = parts.shape[2 + count :]
    for place in itertools.product(*map(range, parts.shape[2 : 2 + count])):
        steps = zip(place, stride, dilation, space, strict=True)
        target = [slice(i * d, i * d + s * (n - 1) + 1 if n else i * d, s) for i, s, d, n in steps]
        wide[(slice(None), slice(None), *target)] += parts[(slice(None), slice(None), *place)]


def _weight_gathered(coarse: np.ndarray, seen: np.ndarray, space: int, groups: int) -> np.ndarray:
    kernel = seen.shape[2 : 2 + space]
    filters, inside = coarse.shape[1] // groups, seen.shape[1] // groups
    if groups == 1 and rows_first(coarse):
        left = np.moveaxis(coarse, 1, -1).reshape(-1, filters)
        product = left.T @ _as_rows(seen, space)
        return np.moveaxis(product.reshape(filters, *kernel, inside), -1, 1)
    places = len(coarse) * _count(coarse.shape[2:])
    columns = np.moveaxis(seen, 0, 1 + space).reshape(groups, inside * _count(kernel), places)
    left = np.moveaxis(coarse, 0, 1).reshape(groups, filters, places)
    product = np.matmul(left, columns.swapaxes(1, 2))
    return product.reshape(groups * filters, inside, *kernel)


def _weight_depthwise(coarse: np.ndarray, seen: np.ndarray, space: int, groups: int) -> np.ndarray:
    kernel = seen.shape[2 : 2 + space]
    left = coarse.reshape(len(coarse), groups, -1, *coarse.shape[2:])
    result = np.zeros((groups, left.shape[2], *kernel), np.result_type(coarse, seen))
    summed = (0, *range(3, left.ndim))
    for place in itertools.product(*map(range, kernel)):
        part = seen[(slice(None), slice(None), *place)][:, :, None]
        result[(slice(None), slice(None), *place)] = (left * part).sum(axis=summed)
    return result.reshape(groups * left.shape[2], 1, *kernel)
