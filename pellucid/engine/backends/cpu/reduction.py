"""Sums, means, products, extremes and variances of floats along any axes.

Axes are sorted as they lie in memory and merged. Where the innermost is reduced, each result folds runs of adjacent
elements in vectors; where it is kept, whole rows are added to each other, 128 at a time into a buffer in the nearest
cache. A reduction to few results is cut into parts first, always the same ones, so that threads can share it and the
number of threads changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, carrying, counting, extent, i64, intrinsic, scratch
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.backends.cpu.span import MAXIMUM, MINIMUM, PRODUCT, SUM, Fold, Span, absolute, element_type
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.meta import Meta

_FOLDS = {
    "sum": SUM, "mean": SUM, "prod": PRODUCT, "amax": MAXIMUM, "amin": MINIMUM, "max_all": MAXIMUM, "min_all": MINIMUM,
    "var": SUM, "std": SUM, "norm_1": SUM, "norm_2": SUM, "norm_inf": MAXIMUM, "norm_-inf": MINIMUM,
    "sum_of_squares": SUM, "root_of_sum": SUM,
}  # fmt: skip
_SQUARED, _ROOTED = {"norm_2", "sum_of_squares"}, {"norm_2", "root_of_sum", "std"}
_SIZED = {"norm_1", "norm_inf", "norm_-inf"}  # of absolute values
_IN_PARTS = {  # how the parts are reduced, and then their results
    "mean": ("sum", "mean"), "norm_1": ("norm_1", "sum"), "norm_2": ("sum_of_squares", "root_of_sum"),
    "norm_inf": ("norm_inf", "amax"), "norm_-inf": ("norm_-inf", "amin"),
}  # fmt: skip
_GRAIN = 32768  # elements that a thread takes at once
_PART = 131_072  # a reduction to few results is cut into parts of about this many elements
_EXACT = 1 << 22  # variances of more elements are left to the reference, which adds up in double
_COLUMNS = 1024  # results that rows are added into at once
_BLOCK = 128  # rows that are added up before they join the total


@dataclass(frozen=True)
class Axis:
    """One merged axis: its size, its stride in the operand, and in the result (None where it is reduced)."""

    size: int
    stride: int
    result: int | None


def merged_axes(x: Meta, dim: tuple[int, ...] | None) -> list[Axis]:
    """The axes of `x` as they lie in memory, outermost first; the result is row-major over the kept ones."""
    reduced = set(range(x.ndim)) if dim is None else set(dim)
    places, step = {}, 1
    for axis in range(x.ndim - 1, -1, -1):
        if axis not in reduced:
            places[axis] = step
            step *= x.shape[axis]
    found: list[Axis] = []
    for axis in sorted(range(x.ndim), key=lambda axis: -x.strides[axis]):
        size, stride = x.shape[axis], x.strides[axis]
        if size == 1:
            continue
        own = Axis(size, stride, places.get(axis))
        if found and _continues(found[-1], own):
            found[-1] = Axis(found[-1].size * size, stride, own.result)
        else:
            found.append(own)
    return found


def _continues(outer: Axis, inner: Axis) -> bool:
    if outer.stride != inner.stride * inner.size or (outer.result is None) != (inner.result is None):
        return False
    return outer.result is None or inner.result is None or outer.result == inner.result * inner.size


def _cut(axes: list[Axis], parts: int) -> list[Axis]:
    """The first reduced axis in `parts` equal parts, which become the outermost kept axis of a partial result."""
    index = next(i for i, axis in enumerate(axes) if axis.result is None)
    axis = axes[index]
    kept = 1
    for each in axes:
        kept *= each.size if each.result is not None else 1
    part = axis.size // parts
    return [Axis(parts, axis.stride * part, kept), *axes[:index], Axis(part, axis.stride, None), *axes[index + 1 :]]


def _parts(axes: list[Axis]) -> int:
    """Into how many parts to cut a reduction with too few results for the threads to share."""
    index = next(i for i, axis in enumerate(axes) if axis.result is None)
    kept = total = 1
    for axis in axes:
        total *= axis.size
        kept *= axis.size if axis.result is not None else 1
    if axes[-1].result is not None:  # rows are added: results are shared by blocks of columns
        kept = -(-kept // _COLUMNS)
    if kept >= 8 or total < 2 * _PART:
        return 1
    size = axes[index].size
    wanted = min(64, total // _PART)
    return max([each for each in range(1, wanted + 1) if size % each == 0], default=1)


def _addresses(builder: ir.IRBuilder, work: Any, place: int, item: Any, axes: list[Axis]) -> tuple[Any, Any]:
    """Offsets in the operand and the result of a kept position; extents from `place` on: size, stride, result each."""
    source: Any = i64(0)
    target: Any = i64(0)
    for number in range(len(axes) - 1, -1, -1):
        at_axis = place + 3 * number
        if number:
            size = extent(builder, work, at_axis)
            index, item = builder.urem(item, size), builder.udiv(item, size)
        else:
            index = item
        source = builder.add(source, builder.mul(index, extent(builder, work, at_axis + 1)))
        target = builder.add(target, builder.mul(index, extent(builder, work, at_axis + 2)))
    return source, target


def _rows_kernel(name: str, kind: Any, kept: int, outer: int) -> jit.Kernel:
    """Each item one result: `outer` loops over reduced axes around runs of adjacent elements."""
    element = element_type(kind.numpy)
    fold = _FOLDS[name]

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, x = [b.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        factor, correction, work, begin, end = function.args[2:]
        factor, correction = [_narrow(b, each, element) for each in (factor, correction)]
        span = Span(b, element)
        axes = [Axis(0, 0, 0)] * kept
        count = extent(b, work, 3)
        with counting(b, begin, end, name="item") as item:
            source, target = _addresses(b, work, 4 + 2 * outer, item, axes)
            base = at(b, x, source)
            value = _folded(span, fold, work, outer, base, count, lambda place, i, n: _loaded(span, name, place, i, n))
            if name in ("var", "std"):
                centre = b.fmul(value, factor)

                def squared(place: Any, index: Any, lanes: int) -> Any:
                    distance = b.fsub(span.load(place, index, lanes), span.wide(centre, lanes))
                    return b.fmul(distance, distance)

                value = b.fmul(_folded(span, fold, work, outer, base, count, squared), correction)
            elif name == "mean":
                value = b.fmul(value, factor)
            value = intrinsic(b, "sqrt", [value]) if name in _ROOTED else value
            b.store(value, at(b, out, target))
        b.ret_void()

    return jit.Kernel(f"reduce_{name}_rows", (kind.name, kept, outer), "ppddw", build)


def _loaded(span: Span, name: str, place: Any, index: Any, lanes: int) -> Any:
    """What the reduction called `name` folds of an element."""
    value = span.load(place, index, lanes)
    if name in _SQUARED:
        return span.builder.fmul(value, value)
    return absolute(span.builder, value) if name in _SIZED else value


def _narrow(builder: ir.IRBuilder, value: Any, kind: ir.Type) -> Any:
    return builder.fptrunc(value, kind) if isinstance(kind, ir.FloatType) else value


def _folded(
    span: Span, fold: Fold, work: Any, outer: int, base: Any, count: Any, values: Callable[[Any, Any, int], Any]
) -> Any:
    """The fold over the outer reduced axes (sizes and strides from extent 4 on) and the adjacent elements."""
    b = span.builder
    if outer == 0:
        return span.fold(count, [fold], lambda i, lanes: [values(base, i, lanes)])[0]
    place = 4 + 2 * (outer - 1)
    size, stride = extent(b, work, place), extent(b, work, place + 1)
    with carrying(b, 0, size, [ir.Constant(span.kind, fold.identity)], name="outer") as loop:
        inner = _folded(span, fold, work, outer - 1, at(b, base, b.mul(loop.index, stride)), count, values)
        loop.next = [fold.combine(b, loop.values[0], inner)]
    return loop.values[0]


def _columns_kernel(name: str, kind: Any, kept: int) -> jit.Kernel:
    """Each item a block of adjacent results: rows are folded into a buffer, buffers into the result."""
    element = element_type(kind.numpy)
    fold = _FOLDS[name]

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, x = [b.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        factor = _narrow(b, function.args[2], element)
        work, begin, end = function.args[4:]
        span = Span(b, element)
        columns, rows, stride, blocks = [extent(b, work, index) for index in range(3, 7)]
        buffer = scratch(b, element, _COLUMNS)
        with counting(b, begin, end, name="item") as item:
            block, place = b.urem(item, blocks), b.udiv(item, blocks)
            source, target = _addresses(b, work, 7, place, [Axis(0, 0, 0)] * kept)
            first = b.mul(block, i64(_COLUMNS))
            left = b.sub(columns, first)
            count = b.select(b.icmp_signed("<", left, i64(_COLUMNS)), left, i64(_COLUMNS))
            origin, total = at(b, x, b.add(source, first)), at(b, out, b.add(target, first))
            _fill(span, total, count, fold)
            with counting(b, 0, rows, _BLOCK, name="block") as start:
                _fill(span, buffer, count, fold)
                stop = b.add(start, i64(_BLOCK))
                stop = b.select(b.icmp_signed("<", stop, rows), stop, rows)
                _add_rows(span, name, buffer, origin, stride, start, stop, count)
                _join(span, total, buffer, count, fold)
            _finish(span, name, total, count, factor)
        b.ret_void()

    return jit.Kernel(f"reduce_{name}_columns", (kind.name, kept), "ppddw", build)


def _finish(span: Span, name: str, total: Any, count: Any, factor: Any) -> None:
    """What the reduction called `name` still does to its folds."""
    b = span.builder

    def body(index: Any, lanes: int) -> None:
        value = span.load(total, index, lanes)
        value = intrinsic(b, "sqrt", [value]) if name in _ROOTED else b.fmul(value, span.wide(factor, lanes))
        span.store(value, total, index, lanes)

    if name == "mean" or name in _ROOTED:
        span.each(count, body)


def _fill(span: Span, place: Any, count: Any, fold: Fold) -> None:
    span.each(count, lambda i, lanes: span.store(span.constant(fold.identity, lanes), place, i, lanes))


def _join(span: Span, total: Any, part: Any, count: Any, fold: Fold) -> None:
    def body(index: Any, lanes: int) -> None:
        joined = fold.combine(span.builder, span.load(total, index, lanes), span.load(part, index, lanes))
        span.store(joined, total, index, lanes)

    span.each(count, body)


def _add_rows(span: Span, name: str, buffer: Any, origin: Any, stride: Any, start: Any, stop: Any, count: Any) -> None:
    """Fold rows start..stop into the buffer, four at a time."""
    b, fold = span.builder, _FOLDS[name]
    whole = b.add(start, b.and_(b.sub(stop, start), i64(-4)))

    def rows(first: Any, number: int) -> None:
        places = [at(b, origin, b.mul(b.add(first, i64(each)), stride)) for each in range(number)]

        def body(index: Any, lanes: int) -> None:
            found = [_loaded(span, name, place, index, lanes) for place in places]
            while len(found) > 1:
                found = [fold.combine(b, *found[each : each + 2]) for each in range(0, len(found), 2)]
            span.store(fold.combine(b, span.load(buffer, index, lanes), found[0]), buffer, index, lanes)

        span.each(count, body)

    with counting(b, start, whole, 4, name="rows") as row:
        rows(row, 4)
    with counting(b, whole, stop, name="rest") as row:
        rows(row, 1)


Run = Callable[[np.ndarray, np.ndarray, float, float], None]


def plan(name: str, kind: Any, axes: list[Axis]) -> Run | None:
    """A function (out, x, factor, correction) that reduces these axes; None where no kernel fits."""
    kept = [axis for axis in axes if axis.result is not None]
    reduced = [axis for axis in axes if axis.result is None]
    if not reduced or len(kept) > 5 or len(reduced) > 3 or axes[-1].stride != 1:
        return None
    described = [number for axis in kept for number in (axis.size, axis.stride, axis.result or 0)]
    if axes[-1].result is None:
        items = int(np.prod([axis.size for axis in kept], dtype=np.int64))
        outer = reduced[:-1]
        nest = [number for axis in reversed(outer) for number in (axis.size, axis.stride)]
        call = _rows_kernel(name, kind, len(kept), len(outer)).call
        per_item = int(np.prod([axis.size for axis in reduced], dtype=np.int64))
        work = jit.extents(
            items, max(1, _GRAIN // per_item), reduced[-1].size, *nest, *described, release=items * per_item > 100_000
        )
    else:
        if len(reduced) != 1 or name in ("var", "std") or kept[-1].result != 1:
            return None
        columns, outside = kept[-1].size, kept[:-1]
        blocks = -(-columns // _COLUMNS)
        items = blocks * int(np.prod([axis.size for axis in outside], dtype=np.int64))
        call = _columns_kernel(name, kind, len(outside)).call
        per_item = min(columns, _COLUMNS) * reduced[0].size
        work = jit.extents(
            items,
            max(1, _GRAIN // per_item),
            columns,
            reduced[0].size,
            reduced[0].stride,
            blocks,
            *described[:-3],
            release=items * per_item > 100_000,
        )
    return lambda out, x, factor, correction: call(out, x, factor, correction, work)


@kernel("vector_norm")
def vector_norm(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Norms of order 1, 2 and infinity."""
    name = {1.0: "norm_1", 2.0: "norm_2", float("inf"): "norm_inf", float("-inf"): "norm_-inf"}.get(settings["ord"])
    return None if name is None else _reduced(name, metas[0], results[0], settings)


@kernel("sum", "mean", "amax", "amin", "max_all", "min_all", "prod", "var", "std")
def reduce(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Sums, means, extremes, products and variances."""
    return _reduced(op.name, metas[0], results[0], settings)


def _reduced(kind: str, x: Meta, result: Meta, settings: dict[str, Any]) -> Any:
    """Floats of one type in, the same type out."""
    if x.dtype not in (float32, float64) or result.dtype is not x.dtype or not x.numel or x.has_overlap:
        return None
    if not result.is_contiguous:
        return None
    dim = settings.get("dim")
    axes = merged_axes(x, dim if dim is None or x.ndim else ())
    if not any(axis.result is None for axis in axes):
        return None
    n = x.numel // max(result.numel, 1)
    if kind in ("var", "std") and n > _EXACT:
        return None
    rest = n - settings["correction"] if kind in ("var", "std") else 1
    numbers = (1.0 / n, 1.0 / rest if rest > 0 else float("inf"))
    parts = 1 if kind in ("var", "std") else _parts(axes)
    if parts == 1:
        run = plan(kind, x.dtype, axes)
        return None if run is None else _whole(run, result, numbers)
    name, finish = _IN_PARTS.get(kind, (kind, kind))
    partial = Meta.of((parts, result.numel), x.dtype)
    first, last = plan(name, x.dtype, _cut(axes, parts)), plan(finish, x.dtype, merged_axes(partial, (0,)))
    if first is None or last is None:
        return None
    return _in_parts(first, last, partial, result, numbers)


def _whole(run: Run, result: Meta, numbers: tuple[float, float]) -> Any:
    def kernel_(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        out = allocate(result)
        run(out, arrays[0], *numbers)
        return out

    return kernel_


def _in_parts(first: Run, last: Run, partial: Meta, result: Meta, numbers: tuple[float, float]) -> Any:
    def kernel_(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        held, out = allocate(partial), allocate(result)
        first(held, arrays[0], *numbers)
        last(out, held, *numbers)
        return out

    return kernel_
