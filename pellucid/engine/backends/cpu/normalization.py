"""Layer, group and batch normalisation with their gradients: statistics and values of a row in one visit.

A row is what shares statistics: the last axes (layer norm), a group of channels of a sample (group norm), a channel of
all samples (batch norm). Variances are sums of squared distances from the mean, not differences of squares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, carrying, counting, extent, i64, intrinsic
from pellucid.engine.backends.cpu.registry import kernel, rule_kernel
from pellucid.engine.backends.cpu.span import SUM, Span, element_type
from pellucid.engine.core.data import TensorData, allocate, wrap
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.meta import Meta

GRAIN = 16384  # elements that a thread takes at once
_KINDS = (float32, float64)


class Rows:
    """What the kernels here share: a builder over one element type, the arrays, and the extents."""

    def __init__(self, builder: ir.IRBuilder, kind: Any, pointers: list[Any], work: Any) -> None:
        element = element_type(kind.numpy)
        self.builder = builder
        self.span = Span(builder, element)
        self.arrays = [builder.bitcast(each, element.as_pointer()) for each in pointers]
        self.work = work
        self.numbers: list[Any] = []

    def size(self, index: int) -> Any:
        """The kernel's own extent number `index`."""
        return extent(self.builder, self.work, 3 + index)

    def number(self, value: float) -> Any:
        """A scalar constant."""
        return ir.Constant(self.span.kind, value)

    def as_float(self, value: Any) -> Any:
        """An integer as an element."""
        return self.builder.sitofp(value, self.span.kind)


def build(name: str, spec: Any, kind: Any, params: str, write: Callable[[Rows, Any], None]) -> jit.Kernel:
    """A kernel whose `write(rows, item)` does one item."""

    def made(module: ir.Module, function: ir.Function) -> None:
        builder = ir.IRBuilder(function.append_basic_block())
        pointers, numbers = params.count("p"), params.count("d")
        work, begin, end = function.args[-3:]
        rows = Rows(builder, kind, list(function.args[:pointers]), work)
        rows.numbers = [_narrow(builder, each, rows.span.kind) for each in function.args[pointers : pointers + numbers]]
        with counting(builder, begin, end, name="item") as item:
            write(rows, item)
        builder.ret_void()

    return jit.Kernel(name, (kind.name, spec), params, made)


def _narrow(builder: ir.IRBuilder, value: Any, kind: ir.Type) -> Any:
    return builder.fptrunc(value, kind) if isinstance(kind, ir.FloatType) else value


def moments(rows: Rows, pieces: Any, stride: Any, base: Any, count: Any, eps: Any) -> tuple[Any, Any]:
    """Mean and 1 / deviation of `pieces` runs of `count` elements, `stride` apart."""
    b, span = rows.builder, rows.span
    total = rows.as_float(b.mul(pieces, count))

    def folded(values: Callable[[Any, Any, int], Any]) -> Any:
        with carrying(b, 0, pieces, [rows.number(0.0)], name="piece") as loop:
            place = at(b, base, b.mul(loop.index, stride))
            found = span.fold(count, [SUM], lambda i, lanes: [values(place, i, lanes)])[0]
            loop.next = [b.fadd(loop.values[0], found)]
        return loop.values[0]

    centre = b.fdiv(folded(lambda place, i, lanes: span.load(place, i, lanes)), total)

    def squared(place: Any, index: Any, lanes: int) -> Any:
        distance = b.fsub(span.load(place, index, lanes), span.wide(centre, lanes))
        return b.fmul(distance, distance)

    variance = b.fdiv(folded(squared), total)
    deviation = intrinsic(b, "sqrt", [b.fadd(variance, eps)])
    return centre, b.fdiv(rows.number(1.0), deviation)


def _layer_forward(has_weight: bool, has_bias: bool) -> Callable[[Rows, Any], None]:
    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        out, centres, scales, x, weight, bias = rows.arrays
        count = rows.size(0)
        offset = b.mul(item, count)
        place, target = at(b, x, offset), at(b, out, offset)
        centre, scale = moments(rows, i64(1), i64(0), place, count, rows.numbers[0])
        b.store(centre, at(b, centres, item))
        b.store(scale, at(b, scales, item))

        def value(index: Any, lanes: int) -> None:
            hat = b.fmul(b.fsub(span.load(place, index, lanes), span.wide(centre, lanes)), span.wide(scale, lanes))
            if has_weight:
                hat = b.fmul(hat, span.load(weight, index, lanes))
            if has_bias:
                hat = b.fadd(hat, span.load(bias, index, lanes))
            span.store(hat, target, index, lanes)

        span.each(count, value)

    return write


def dense(*metas: Any) -> bool:
    """Floats of one type without gaps, row-major, on this device, and some of them."""
    known = [each for each in metas if isinstance(each, Meta)]
    first = known[0]
    return first.numel > 0 and all(
        each.is_contiguous and each.dtype is first.dtype and each.dtype in _KINDS for each in known
    )


UNUSED = np.zeros(1)  # stands for an array that a kernel was written without


@kernel("layer_norm")
def layer_norm(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Rows of adjacent floats."""
    x, weight, bias = metas
    if not dense(x, weight, bias) or not settings["axes"]:
        return None
    count = 1
    for size in x.shape[x.ndim - settings["axes"] :]:
        count *= size
    rows = x.numel // count
    spec = (weight is not None, bias is not None)
    call = build("layer_norm", spec, x.dtype, "ppppppdw", _layer_forward(*spec)).call
    work = jit.extents(rows, max(1, GRAIN // count), count, release=x.numel > 100_000)
    eps = float(settings["eps"])

    def run(arrays: list[Any], given: dict[str, Any]) -> Any:
        out = [allocate(each) for each in results]
        call(*out, *[UNUSED if each is None else each for each in arrays], eps, work)
        return tuple(out)

    return run


def _clear(span: Span, place: Any, count: Any) -> None:
    span.each(count, lambda index, lanes: span.store(span.constant(0.0, lanes), place, index, lanes))


def _layer_backward(has_weight: bool, wants_weight: bool, wants_bias: bool) -> Callable[[Rows, Any], None]:
    """dx of a block of rows; each block adds what it has for weight and bias into rows of its own."""

    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        dx, dweight, dbias, dy, x, weight, centres, scales = rows.arrays
        count, total, block = rows.size(0), rows.size(1), rows.size(2)
        first = b.mul(item, block)
        last = b.add(first, block)
        last = b.select(b.icmp_signed("<", last, total), last, total)
        own_weight, own_bias = at(b, dweight, b.mul(item, count)), at(b, dbias, b.mul(item, count))
        for wanted, place in ((wants_weight, own_weight), (wants_bias, own_bias)):
            if wanted:
                _clear(span, place, count)
        with counting(b, first, last, name="row") as row:
            offset = b.mul(row, count)
            given, source, target = at(b, dy, offset), at(b, x, offset), at(b, dx, offset)
            centre, scale = b.load(at(b, centres, row)), b.load(at(b, scales, row))

            def hat(index: Any, lanes: int) -> Any:
                return b.fmul(
                    b.fsub(span.load(source, index, lanes), span.wide(centre, lanes)), span.wide(scale, lanes)
                )

            def weighted(index: Any, lanes: int) -> Any:
                found = span.load(given, index, lanes)
                return b.fmul(found, span.load(weight, index, lanes)) if has_weight else found

            def folded(index: Any, lanes: int) -> list[Any]:
                found = weighted(index, lanes)
                return [found, b.fmul(found, hat(index, lanes))]

            level, tilt = [b.fdiv(each, rows.as_float(count)) for each in span.fold(count, [SUM, SUM], folded)]

            def slope(index: Any, lanes: int) -> None:
                normal = hat(index, lanes)
                inner = b.fsub(
                    b.fsub(weighted(index, lanes), span.wide(level, lanes)), b.fmul(normal, span.wide(tilt, lanes))
                )
                span.store(b.fmul(inner, span.wide(scale, lanes)), target, index, lanes)
                cotangent = span.load(given, index, lanes)
                if wants_weight:
                    summed = b.fadd(span.load(own_weight, index, lanes), b.fmul(cotangent, normal))
                    span.store(summed, own_weight, index, lanes)
                if wants_bias:
                    span.store(b.fadd(span.load(own_bias, index, lanes), cotangent), own_bias, index, lanes)

            span.each(count, slope)

    return write


def are_dense(*values: Any) -> bool:
    """`dense` of those that are tensors."""
    return dense(*[each._meta for each in values if isinstance(each, TensorData)])


@rule_kernel("layer_norm_gradients")
def layer_norm_gradients(rule: Any, arguments: dict[str, Any]) -> Any:
    """All three gradients in one visit of each row."""
    dy, x, weight, needs = arguments["dy"], arguments["x"], arguments["weight"], arguments["needs"]
    if not are_dense(dy, x, weight, arguments["centre"]):
        return None
    meta: Meta = x._meta
    shape = tuple(meta.shape[meta.ndim - arguments["axes"] :])
    count = int(np.prod(shape))
    rows = meta.numel // count
    block = max(1, rows // 64, GRAIN // count)
    items = -(-rows // block)
    spec = (weight is not None, bool(needs[1]), bool(needs[2]))
    call = build("layer_norm_gradients", spec, meta.dtype, "ppppppppw", _layer_backward(*spec)).call
    work = jit.extents(items, 1, count, rows, block, release=meta.numel > 100_000)
    kind, parameter = meta.dtype.numpy, Meta.of(shape, meta.dtype)

    def run(given: dict[str, Any]) -> Any:
        dx = allocate(meta)
        partial = [np.empty((items, count), kind) if need else UNUSED for need in needs[1:]]
        scale = given["weight"]
        call(
            dx,
            *partial,
            given["dy"]._array,
            given["x"]._array,
            UNUSED if scale is None else scale._array,
            given["centre"]._array,
            given["scale"]._array,
            work,
        )
        found = [
            wrap(each.sum(0).reshape(shape), parameter) if need else None
            for each, need in zip(partial, needs[1:], strict=True)
        ]
        return wrap(dx, meta) if needs[0] else None, *found

    return run


def _batch_forward(has_weight: bool, has_bias: bool) -> Callable[[Rows, Any], None]:
    """One channel of all samples: statistics, then values."""

    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        out, centres, scales, x, weight, bias = rows.arrays
        count, samples, channels = rows.size(0), rows.size(1), rows.size(2)
        stride = b.mul(channels, count)
        base, target = at(b, x, b.mul(item, count)), at(b, out, b.mul(item, count))
        centre, scale = moments(rows, samples, stride, base, count, rows.numbers[0])
        b.store(centre, at(b, centres, item))
        b.store(scale, at(b, scales, item))
        factor = b.load(at(b, weight, item)) if has_weight else None
        shift = b.load(at(b, bias, item)) if has_bias else None
        with counting(b, 0, samples, name="sample") as sample:
            offset = b.mul(sample, stride)
            source, place = at(b, base, offset), at(b, target, offset)

            def value(index: Any, lanes: int) -> None:
                hat = b.fmul(b.fsub(span.load(source, index, lanes), span.wide(centre, lanes)), span.wide(scale, lanes))
                if factor is not None:
                    hat = b.fmul(hat, span.wide(factor, lanes))
                if shift is not None:
                    hat = b.fadd(hat, span.wide(shift, lanes))
                span.store(hat, place, index, lanes)

            span.each(count, value)

    return write


def _spatial(meta: Meta) -> int:
    """Elements of a channel of one sample."""
    return meta.numel // max(meta.shape[0] * meta.shape[1], 1)


@kernel("batch_norm")
def batch_norm(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Channels of images."""
    x, weight, bias = metas[:3]
    if not dense(x, weight, bias) or _spatial(x) < 4 or not results[0].is_contiguous:
        return None
    if not settings["training"]:
        return _evaluated(metas, results, float(settings["eps"]))
    spec = (weight is not None, bias is not None)
    call = build("batch_norm", spec, x.dtype, "ppppppdw", _batch_forward(*spec)).call
    channels, count = x.shape[1], _spatial(x)
    chunk = max(1, GRAIN // (count * x.shape[0]))
    work = jit.extents(channels, chunk, count, x.shape[0], channels, release=x.numel > 100_000)
    eps = float(settings["eps"])

    def run(arrays: list[Any], given: dict[str, Any]) -> Any:
        out = [allocate(each) for each in results]
        call(*out, *[UNUSED if each is None else each for each in arrays[:3]], eps, work)
        return tuple(out)

    return run


def _batch_evaluation(has_weight: bool, has_bias: bool) -> Callable[[Rows, Any], None]:
    """One channel of one sample by the statistics that are given."""

    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        out, centres, scales, x, weight, bias = rows.arrays
        count = rows.size(0)
        channel = b.urem(item, rows.size(1))
        centre, scale = b.load(at(b, centres, channel)), b.load(at(b, scales, channel))
        factor = b.load(at(b, weight, channel)) if has_weight else None
        shift = b.load(at(b, bias, channel)) if has_bias else None
        source, place = at(b, x, b.mul(item, count)), at(b, out, b.mul(item, count))

        def value(index: Any, lanes: int) -> None:
            hat = b.fmul(b.fsub(span.load(source, index, lanes), span.wide(centre, lanes)), span.wide(scale, lanes))
            hat = hat if factor is None else b.fmul(hat, span.wide(factor, lanes))
            hat = hat if shift is None else b.fadd(hat, span.wide(shift, lanes))
            span.store(hat, place, index, lanes)

        span.each(count, value)

    return write


def _evaluated(metas: tuple[Any, ...], results: tuple[Meta, ...], eps: float) -> Any:
    x, weight, bias, mean, variance = metas
    if not dense(x, mean, variance):
        return None
    spec = (weight is not None, bias is not None)
    call = build("batch_norm_evaluation", spec, x.dtype, "ppppppw", _batch_evaluation(*spec)).call
    count, channels, kind = _spatial(x), x.shape[1], x.dtype.numpy
    work = jit.extents(x.shape[0] * channels, max(1, GRAIN // count), count, channels, release=x.numel > 100_000)

    def run(arrays: list[Any], given: dict[str, Any]) -> Any:
        out, centre, scale = [allocate(each) for each in results]
        centre.reshape(-1)[:] = arrays[3]
        with np.errstate(all="ignore"):
            scale.reshape(-1)[:] = 1 / np.sqrt(arrays[4] + np.asarray(eps, kind))
        call(out, centre, scale, *[UNUSED if each is None else each for each in arrays[:3]], work)
        return out, centre, scale

    return run


def _batch_backward(has_weight: bool) -> Callable[[Rows, Any], None]:
    def write(rows: Rows, item: Any) -> None:
        b, span = rows.builder, rows.span
        dx, dweight, dbias, dy, x, weight, centres, scales = rows.arrays
        count, samples, channels = rows.size(0), rows.size(1), rows.size(2)
        stride, first = b.mul(channels, count), b.mul(item, count)
        given, source, target = [at(b, each, first) for each in (dy, x, dx)]
        centre, scale = b.load(at(b, centres, item)), b.load(at(b, scales, item))

        def distance(offset: Any, index: Any, lanes: int) -> Any:
            return b.fsub(span.load(at(b, source, offset), index, lanes), span.wide(centre, lanes))

        with carrying(b, 0, samples, [rows.number(0.0)] * 2, name="sample") as loop:
            offset = b.mul(loop.index, stride)

            def folded(index: Any, lanes: int) -> list[Any]:
                found = span.load(at(b, given, offset), index, lanes)
                return [found, b.fmul(found, distance(offset, index, lanes))]

            loop.next = [
                b.fadd(old, new) for old, new in zip(loop.values, span.fold(count, [SUM, SUM], folded), strict=True)
            ]
        total, tilt = loop.values[0], b.fmul(loop.values[1], scale)
        b.store(total, at(b, dbias, item))
        b.store(tilt, at(b, dweight, item))
        elements = rows.as_float(b.mul(samples, count))
        factor = b.fmul(scale, b.load(at(b, weight, item))) if has_weight else scale
        level, slope = b.fdiv(total, elements), b.fmul(b.fdiv(tilt, elements), scale)
        with counting(b, 0, samples, name="sample") as sample:
            offset = b.mul(sample, stride)

            def value(index: Any, lanes: int) -> None:
                inner = b.fsub(span.load(at(b, given, offset), index, lanes), span.wide(level, lanes))
                inner = b.fsub(inner, b.fmul(distance(offset, index, lanes), span.wide(slope, lanes)))
                span.store(b.fmul(inner, span.wide(factor, lanes)), at(b, target, offset), index, lanes)

            span.each(count, value)

    return write


@rule_kernel("batch_norm_gradients")
def batch_norm_gradients(rule: Any, arguments: dict[str, Any]) -> Any:
    """All three gradients, a channel at a time, in training."""
    dy, x, weight, needs = arguments["dy"], arguments["x"], arguments["weight"], arguments["needs"]
    if not arguments["training"] or not are_dense(dy, x, weight, arguments["centre"]) or _spatial(x._meta) < 4:
        return None
    meta: Meta = x._meta
    channels, count = meta.shape[1], _spatial(meta)
    call = build(
        "batch_norm_gradients", weight is not None, meta.dtype, "ppppppppw", _batch_backward(weight is not None)
    ).call
    chunk = max(1, GRAIN // (count * meta.shape[0]))
    work = jit.extents(channels, chunk, count, meta.shape[0], channels, release=meta.numel > 100_000)
    kind, parameter = meta.dtype.numpy, Meta.of((channels,), meta.dtype)

    def run(given: dict[str, Any]) -> Any:
        dx, dweight, dbias = allocate(meta), np.empty(channels, kind), np.empty(channels, kind)
        scale = given["weight"]
        call(
            dx,
            dweight,
            dbias,
            given["dy"]._array,
            given["x"]._array,
            UNUSED if scale is None else scale._array,
            given["centre"]._array,
            given["scale"]._array,
            work,
        )
        found = (wrap(dx, meta), wrap(dweight, parameter), wrap(dbias, parameter))
        return tuple([each if need else None for each, need in zip(found, needs, strict=False)])

    return run
