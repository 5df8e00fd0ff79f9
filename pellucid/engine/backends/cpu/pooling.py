"""Pooling of planes of adjacent floats: the largest values with their places, means, and the way back.

Each window position is a pass over a whole row of results, which LLVM turns into vectors; a window never looks outside
its plane, since the columns that a position reaches are known before the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import I64, at, counting, extent, i64
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.backends.cpu.span import Span, element_type
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.meta import Meta

_GRAIN = 4096  # results that a thread takes at once


class Window:
    """A window's shape along the two axes of a plane; one-dimensional pooling has planes of one row."""

    def __init__(self, kernel: Any, stride: Any, padding: Any, dilation: Any = (1, 1)) -> None:
        lift = (1,) * (2 - len(kernel))
        self.kernel = (*lift, *kernel)
        self.stride = (*lift, *stride)
        self.padding = (*((0,) * (2 - len(kernel))), *padding)
        self.dilation = (*lift, *dilation[-len(kernel) :])

    @property
    def spec(self) -> tuple[Any, ...]:
        """What a kernel for this window is made for."""
        return self.kernel, self.stride, self.padding, self.dilation

    def columns(self, b: ir.IRBuilder, place: int, size: Any, count: Any, axis: int) -> tuple[Any, Any]:
        """The results whose window position `place` lies inside an axis of `size` elements: first and one past."""
        stride = self.stride[axis]
        shift = place * self.dilation[axis] - self.padding[axis]
        first = max(0, -(shift // stride)) if shift < 0 else 0
        last = b.add(b.sdiv(b.sub(size, i64(shift + 1)), i64(stride)), i64(1))
        last = b.select(b.icmp_signed("<", size, i64(shift + 1)), i64(0), last)
        last = b.select(b.icmp_signed("<", last, count), last, count)
        return i64(first), last


def _planes(x: Meta, axes: int) -> tuple[int, int, int]:
    """How many planes, and their height and width."""
    height = x.shape[-2] if axes == 2 else 1
    return x.numel // (height * x.shape[-1]), height, x.shape[-1]


def _usable(x: Meta, result: Meta, axes: int) -> bool:
    return (
        x.dtype in (float32, float64) and axes <= 2 and x.is_contiguous and result.is_contiguous
        and x.numel > 0 and result.numel > 0
    )  # fmt: skip


def _max_kernel(kind: Any, window: Window) -> jit.Kernel:
    """Each item one row of results."""
    element = element_type(kind.numpy)

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        values, x = [b.bitcast(function.args[i], element.as_pointer()) for i in (0, 2)]
        places = b.bitcast(function.args[1], I64.as_pointer())
        work, begin, end = function.args[3:]
        height, width, out_height, out_width = [extent(b, work, each) for each in range(3, 7)]
        with counting(b, begin, end, name="row") as item:
            plane, row = b.udiv(item, out_height), b.urem(item, out_height)
            source = at(b, x, b.mul(plane, b.mul(height, width)))
            own_values, own_places = [at(b, each, b.mul(item, out_width)) for each in (values, places)]
            top = b.sub(b.mul(row, i64(window.stride[0])), i64(window.padding[0]))
            _start_row(b, window, element, own_values, own_places, top, width, out_width)
            for i in range(window.kernel[0]):
                line = b.add(top, i64(i * window.dilation[0]))
                inside = b.and_(b.icmp_signed(">=", line, i64(0)), b.icmp_signed("<", line, height))
                with b.if_then(inside):
                    for j in range(window.kernel[1]):
                        _take_larger(b, window, j, source, line, width, out_width, own_values, own_places)
        b.ret_void()

    return jit.Kernel("max_pool", (kind.name, window.spec), "pppw", build)


def _start_row(
    b: ir.IRBuilder, window: Window, element: Any, values: Any, places: Any, top: Any, width: Any, count: Any
) -> None:
    """-inf, and the place of each window's first element inside the plane."""
    first_line = _first_inside(b, top, window.dilation[0])
    with counting(b, 0, count) as index:
        left = b.sub(b.mul(index, i64(window.stride[1])), i64(window.padding[1]))
        first = b.add(b.mul(first_line, width), _first_inside(b, left, window.dilation[1]))
        b.store(ir.Constant(element, float("-inf")), at(b, values, index))
        b.store(first, at(b, places, index))


def _first_inside(b: ir.IRBuilder, start: Any, dilation: int) -> Any:
    """The first of start, start + dilation, ... that is not negative."""
    behind = b.sub(i64(0), start)
    steps = b.sdiv(b.add(behind, i64(dilation - 1)), i64(dilation))
    moved = b.add(start, b.mul(steps, i64(dilation)))
    return b.select(b.icmp_signed("<", start, i64(0)), moved, start)


def _take_larger(
    b: ir.IRBuilder, window: Window, j: int, source: Any, line: Any, width: Any, count: Any, values: Any, places: Any
) -> None:
    """One window position for a row of results: a larger value or a NaN replaces what is there."""
    first, last = window.columns(b, j, width, count, 1)
    shift = j * window.dilation[1] - window.padding[1]
    base = b.add(b.mul(line, width), i64(shift))
    with counting(b, first, last) as index:
        place = b.add(base, b.mul(index, i64(window.stride[1])))
        value, held = b.load(at(b, source, place)), b.load(at(b, values, index))
        better = b.fcmp_unordered(">", value, held)  # a NaN in `held` stays: nothing but a NaN replaces it
        better = b.and_(better, b.or_(b.fcmp_ordered("ord", held, held), b.fcmp_unordered("uno", value, value)))
        b.store(b.select(better, value, held), at(b, values, index))
        b.store(b.select(better, place, b.load(at(b, places, index))), at(b, places, index))


@kernel("max_pool")
def max_pool(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Planes of adjacent floats, one or two axes."""
    x, result = metas[0], results[0]
    axes = len(settings["kernel"])
    if not _usable(x, result, axes):
        return None
    window = Window(settings["kernel"], settings["stride"], settings["padding"], settings["dilation"])
    if window.kernel[0] * window.kernel[1] > 64:
        return None
    planes, height, width = _planes(x, axes)
    out_height = result.shape[-2] if axes == 2 else 1
    out_width = result.shape[-1]
    call = _max_kernel(x.dtype, window).call
    chunk = max(1, _GRAIN // out_width)
    work = jit.extents(planes * out_height, chunk, height, width, out_height, out_width, release=result.numel > 20_000)

    def run(arrays: list[Any], given: dict[str, Any]) -> Any:
        values, places = allocate(result), allocate(results[1])
        call(values, places, arrays[0], work)
        return values, places

    return run


def _scatter_kernel(kind: Any) -> jit.Kernel:
    """Each item one plane: cleared, then every value added at its place."""
    element = element_type(kind.numpy)

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, x = [b.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        index = b.bitcast(function.args[2], I64.as_pointer())
        work, begin, end = function.args[3:]
        size, count = extent(b, work, 3), extent(b, work, 4)
        span = Span(b, element)
        with counting(b, begin, end, name="plane") as plane:
            target = at(b, out, b.mul(plane, size))
            span.each(size, lambda i, lanes: span.store(span.constant(0.0, lanes), target, i, lanes))
            values, places = [at(b, each, b.mul(plane, count)) for each in (x, index)]
            with counting(b, 0, count) as i:
                place = at(b, target, b.load(at(b, places, i)))
                b.store(b.fadd(b.load(place), b.load(at(b, values, i))), place)
        b.ret_void()

    return jit.Kernel("pool_scatter", kind.name, "pppw", build)


@kernel("pool_scatter")
def pool_scatter(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """The gradient of the largest values, a plane at a time."""
    x, index = metas
    result = results[0]
    if x.dtype not in (float32, float64) or not all(each.is_contiguous and each.numel for each in (x, index, result)):
        return None
    size = int(np.prod(settings["size"]))
    planes = result.numel // size
    count = x.numel // planes
    call = _scatter_kernel(x.dtype).call
    work = jit.extents(planes, max(1, 16384 // size), size, count, release=result.numel > 50_000)
    reference = op.body

    def run(arrays: list[Any], given: dict[str, Any]) -> np.ndarray:
        places = arrays[1]
        if places.min() < 0 or places.max() >= size:  # places that a user made
            return np.ascontiguousarray(reference(arrays[0], places, **given))
        return call(allocate(result), arrays[0], places, work)

    return run


def _mean_kernel(kind: Any, window: Window) -> jit.Kernel:
    """Each item one row of results: sums by window position, then the division."""
    element = element_type(kind.numpy)

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, x, divisors = [b.bitcast(each, element.as_pointer()) for each in function.args[:3]]
        work, begin, end = function.args[3:]
        height, width, out_height, out_width = [extent(b, work, each) for each in range(3, 7)]
        with counting(b, begin, end, name="row") as item:
            plane, row = b.udiv(item, out_height), b.urem(item, out_height)
            source = at(b, x, b.mul(plane, b.mul(height, width)))
            own, below = at(b, out, b.mul(item, out_width)), at(b, divisors, b.mul(row, out_width))
            with counting(b, 0, out_width) as index:
                b.store(ir.Constant(element, 0.0), at(b, own, index))
            top = b.sub(b.mul(row, i64(window.stride[0])), i64(window.padding[0]))
            for i in range(window.kernel[0]):
                line = b.add(top, i64(i))
                with b.if_then(b.and_(b.icmp_signed(">=", line, i64(0)), b.icmp_signed("<", line, height))):
                    for j in range(window.kernel[1]):
                        first, last = window.columns(b, j, width, out_width, 1)
                        base = b.add(b.mul(line, width), i64(j - window.padding[1]))
                        with counting(b, first, last) as index:
                            value = b.load(at(b, source, b.add(base, b.mul(index, i64(window.stride[1])))))
                            b.store(b.fadd(b.load(at(b, own, index)), value), at(b, own, index))
            with counting(b, 0, out_width) as index:
                b.store(b.fdiv(b.load(at(b, own, index)), b.load(at(b, below, index))), at(b, own, index))
        b.ret_void()

    return jit.Kernel("avg_pool", (kind.name, window.spec), "pppw", build)


@kernel("avg_pool")
def avg_pool(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Planes of adjacent floats, one or two axes; what each window is divided by is worked out once."""
    from pellucid.engine.ops.pooling import divisors_of

    x, result = metas[0], results[0]
    axes = len(settings["kernel"])
    if not _usable(x, result, axes):
        return None
    window = Window(settings["kernel"], settings["stride"], settings["padding"])
    if window.kernel[0] * window.kernel[1] > 64:
        return None
    planes, height, width = _planes(x, axes)
    space = tuple(result.shape[-axes:])
    counts = divisors_of(
        tuple(x.shape[-axes:]), space, settings["kernel"], settings["stride"], settings["padding"],
        settings["count_include_pad"], settings["divisor"],
    )  # fmt: skip
    divisors = np.broadcast_to(counts, space).astype(x.dtype.numpy)
    out_height = space[-2] if axes == 2 else 1
    call = _mean_kernel(x.dtype, window).call
    chunk = max(1, _GRAIN // space[-1])
    work = jit.extents(planes * out_height, chunk, height, width, out_height, space[-1], release=result.numel > 20_000)
    return lambda arrays, given: call(allocate(result), arrays[0], divisors, work)
