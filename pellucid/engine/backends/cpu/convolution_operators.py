"""Which convolutions run on kernels, and how their operands are brought into the form that these read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.engine.backends.cpu.convolution_gradient import WeightGradientPlan
from pellucid.engine.backends.cpu.convolution_plan import ConvolutionPlan, Ints, Shape
from pellucid.engine.backends.cpu.convolution_products import forward_product, weight_product
from pellucid.engine.backends.cpu.depthwise import DepthwisePlan
from pellucid.engine.backends.cpu.depthwise_gradient import DepthwiseGradientPlan
from pellucid.engine.backends.cpu.packing import turned
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import HALF, float32, float64
from pellucid.engine.core.meta import Meta

Convert = Callable[[np.ndarray], np.ndarray]


def taken(*metas: Meta) -> bool:
    """Whether the kernels compute with these operands."""
    kinds = {meta.dtype for meta in metas}
    return len(kinds) == 1 and kinds <= {float32, float64, *HALF} and all(meta.numel for meta in metas)


def row_major(meta: Meta) -> tuple[Ints, Convert | None]:
    """The element strides in which a kernel reads an operand, and what makes it so; None where it is already."""
    strides, half = tuple(meta.strides), meta.dtype in HALF
    if (strides[-1] == 1 or meta.shape[-1] == 1) and not half:
        return strides, None
    dense = dense_strides(meta.shape)
    return dense, _widened if half else _adjoining


def dense_strides(shape: Any) -> Ints:
    """Row-major element strides."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= size
    return tuple(reversed(found))


def _widened(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.float32)


def _adjoining(x: np.ndarray) -> np.ndarray:
    if x.ndim > 3 and np.moveaxis(x, 1, -1).flags.c_contiguous:  # channels last
        rows = np.moveaxis(x, 1, -1).reshape(len(x), -1, x.shape[1])
        return turned(rows, np.empty((len(x), x.shape[1], rows.shape[1]), x.dtype)).reshape(x.shape)
    return np.ascontiguousarray(x)


def delivered(result: Meta) -> Callable[[np.ndarray], np.ndarray] | None:
    """What brings a row-major array of the computation's type into the result's layout and type."""
    if result.is_contiguous and result.dtype not in HALF:
        return None
    last = result.ndim > 3 and not result.is_contiguous and result.dtype not in HALF

    def deliver(y: np.ndarray) -> np.ndarray:
        found = allocate(result)
        rows = np.moveaxis(found, 1, -1)
        if last and rows.flags.c_contiguous:
            turned(y.reshape(len(y), y.shape[1], -1), rows.reshape(len(y), -1, y.shape[1]))
        else:
            np.copyto(found, y, casting="unsafe")
        return found

    return deliver


def _three(values: Any, missing: int) -> Ints:
    return (*[missing] * (3 - len(values)), *values)


def _strides(strides: Ints) -> Ints:
    """Strides with three spatial axes."""
    return (*strides[:2], *_three(strides[2:], 0))


def _flat(shape: Shape, y_strides: Ints) -> tuple[Shape, Ints]:
    """A convolution that looks at single pixels as one over a row of them, where they adjoin."""
    plain = all(k == 1 for k in shape.kernel) and all(s == 1 for s in shape.stride) and not any(shape.padding)
    dense = dense_strides(shape.inside)
    adjoin = all(
        size == 1 or x == y == step
        for size, x, y, step in zip(shape.inside, shape.x_strides[2:], y_strides[2:], dense, strict=True)
    )
    if not plain or not adjoin or shape.inside != shape.outside:
        return shape, y_strides
    count = math.prod(shape.inside)
    flat = (1, 1, count)
    return (
        replace(shape, inside=flat, outside=flat, x_strides=(*shape.x_strides[:2], count, count, 1)),
        (*y_strides[:2], count, count, 1),
    )


@kernel("convolution")
def convolution(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Forward, and as the transposed convolution the gradient of the input."""
    x, weight, *rest = metas
    bias, result = rest[0] if rest else None, results[0]
    given = [x, weight] if bias is None else [x, weight, bias]
    if not taken(*given) or not result.numel:
        return None
    product = forward_product(x, weight, bias, result, settings)
    if product is not None:
        return product
    x_strides, convert_x = row_major(x)
    by_channel = is_depthwise(x, result, settings)
    if by_channel and not weight.is_contiguous or weight.dtype in HALF:
        weight_strides, convert_weight = dense_strides(weight.shape), row_dense(weight)
    else:
        weight_strides, convert_weight = tuple(weight.strides), None
    convert_bias = None if bias is None else row_major(bias)[1]
    y_strides = _strides(dense_strides(result.shape))
    shape = convolution_shape(x.shape, weight.shape, result.shape, settings, x_strides, weight_strides, itemsize_of(x))
    if not by_channel:
        shape, y_strides = _flat(shape, y_strides)
    run = DepthwisePlan(shape, y_strides).run if by_channel else ConvolutionPlan(shape).prepared(y_strides)
    deliver = delivered(result)
    size, kind = tuple(result.shape), np.float64 if result.dtype is float64 else np.float32

    def kernel_of(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        x, weight, *rest = arrays
        bias = rest[0] if rest else None
        x = x if convert_x is None else convert_x(x)
        weight = weight if convert_weight is None else convert_weight(weight)
        bias = bias if bias is None or convert_bias is None else convert_bias(bias)
        if deliver is None:
            return run(allocate(result), x, weight, bias)
        return deliver(run(np.empty(size, kind), x, weight, bias))

    return kernel_of


def is_depthwise(read: Meta, written: Meta, settings: dict[str, Any]) -> bool:
    """Whether each channel is read by a few filters of its own."""
    groups = settings["groups"]
    return read.shape[1] == groups and groups > 1 and written.shape[1] <= 4 * groups


def itemsize_of(meta: Meta) -> int:
    """Bytes of an element in the computation."""
    return 8 if meta.dtype is float64 else 4


def convolution_shape(
    x: Any, weight: Any, y: Any, settings: dict[str, Any], x_strides: Ints, weight_strides: Ints, itemsize: int
) -> Shape:
    """A convolution by its operands' shapes and strides."""
    groups, transposed = settings["groups"], settings["transposed"]
    filter_, channel, *steps = weight_strides
    channels, filters = x[1] // groups, y[1] // groups
    if transposed:
        steps_of_weight = (channels * filter_, channel, filter_)
    else:
        steps_of_weight = (filters * filter_, filter_, channel)
    return Shape(
        x[0], groups, channels, filters, _three(x[2:], 1), _three(y[2:], 1), _three(weight[2:], 1),
        _three(settings["stride"], 1), _three(settings["padding"], 0), _three(settings["dilation"], 1), transposed,
        itemsize, _strides(x_strides), (*steps_of_weight, *_three(steps, 0)),
    )  # fmt: skip


@kernel("convolution_weight")
def convolution_weight(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """The gradient of a weight from the two images: `coarse` is the one that the kernel steps over."""
    coarse, fine = metas
    result, groups = results[0], settings["groups"]
    if not taken(coarse, fine) or not result.numel:
        return None
    product = weight_product(coarse, fine, result, settings)
    if product is not None:
        return product
    fine_strides, convert_fine = row_major(fine)
    convert_coarse = None if coarse.is_contiguous and coarse.dtype not in HALF else row_dense(coarse)
    shape = Shape(
        fine.shape[0], groups, fine.shape[1] // groups, coarse.shape[1] // groups, _three(fine.shape[2:], 1),
        _three(coarse.shape[2:], 1), _three(settings["kernel"], 1), _three(settings["stride"], 1),
        _three(settings["padding"], 0), _three(settings["dilation"], 1), False, itemsize_of(fine),
        _strides(fine_strides), (),
    )  # fmt: skip
    y_strides = _strides(dense_strides(coarse.shape))
    if is_depthwise(fine, coarse, settings):
        run = DepthwiseGradientPlan(shape, y_strides).run
    else:
        run = WeightGradientPlan(*_flat(shape, y_strides)).run
    deliver = delivered(result)
    size, kind = tuple(result.shape), np.float64 if result.dtype is float64 else np.float32

    def kernel_of(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        coarse, fine = arrays
        coarse = coarse if convert_coarse is None else convert_coarse(coarse)
        fine = fine if convert_fine is None else convert_fine(fine)
        if deliver is None:
            return run(allocate(result), coarse, fine)
        return deliver(run(np.empty(size, kind), coarse, fine))

    return kernel_of


def row_dense(meta: Meta) -> Convert:
    """What makes an operand row-major and of the computation's type."""
    return _widened if meta.dtype in HALF else _adjoining
