"""Rows looked up in a table, and gradients added up in its rows: every thread owns a range of the table's rows, so that
the order of additions is that of the indices, whatever the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import I64, at, counting, extent
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.backends.cpu.span import Span, element_type
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import float32, float64, int64
from pellucid.engine.core.meta import Meta

_GRAIN = 16384  # elements that a thread takes at once
_RANGES = 32


def _take_kernel(kind: Any) -> jit.Kernel:
    element = element_type(kind.numpy)

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, table = [b.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        index = b.bitcast(function.args[2], I64.as_pointer())
        work, begin, end = function.args[3:]
        span, width = Span(b, element), extent(b, work, 3)
        with counting(b, begin, end, name="item") as item:
            source = at(b, table, b.mul(b.load(at(b, index, item)), width))
            target = at(b, out, b.mul(item, width))
            span.each(width, lambda i, lanes: span.store(span.load(source, i, lanes), target, i, lanes))
        b.ret_void()

    return jit.Kernel("embedding", kind.name, "pppw", build)


@kernel("embedding")
def embedding(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Rows of adjacent floats at 64-bit positions."""
    weight, index = metas
    result = results[0]
    if weight.dtype not in (float32, float64) or index.dtype is not int64 or not result.numel:
        return None
    if not weight.is_contiguous or not index.is_contiguous:
        return None
    width, rows = weight.shape[1], weight.shape[0]
    call = _take_kernel(weight.dtype).call
    work = jit.extents(index.numel, max(1, _GRAIN // width), width, release=result.numel > 100_000)
    reference = op.body

    def run(arrays: list[Any], given: dict[str, Any]) -> np.ndarray:
        table, places = arrays
        if places.min() < 0 or places.max() >= rows:
            return reference(table, places, **given)  # raises, and says which index
        return call(allocate(result), table, places, work)

    return run


def _add_kernel(kind: Any) -> jit.Kernel:
    """Each item clears a range of rows, then adds the parts that belong there."""
    element = element_type(kind.numpy)

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        table, parts = [b.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        index = b.bitcast(function.args[2], I64.as_pointer())
        work, begin, end = function.args[3:]
        width, rows, count, dropped, size = [extent(b, work, each) for each in range(3, 8)]
        span = Span(b, element)
        with counting(b, begin, end, name="item") as item:
            first = b.mul(item, size)
            last = b.add(first, size)
            last = b.select(b.icmp_signed("<", last, rows), last, rows)
            own = b.mul(b.sub(last, first), width)
            start = at(b, table, b.mul(first, width))
            span.each(own, lambda i, lanes: span.store(span.constant(0.0, lanes), start, i, lanes))
            with counting(b, 0, count, name="part") as part:
                row = b.load(at(b, index, part))
                inside = b.and_(b.icmp_signed(">=", row, first), b.icmp_signed("<", row, last))
                with b.if_then(b.and_(inside, b.icmp_signed("!=", row, dropped))):
                    target, source = at(b, table, b.mul(row, width)), at(b, parts, b.mul(part, width))

                    def add(i: Any, lanes: int, target: Any = target, source: Any = source) -> None:
                        total = b.fadd(span.load(target, i, lanes), span.load(source, i, lanes))
                        span.store(total, target, i, lanes)

                    span.each(width, add)
        b.ret_void()

    return jit.Kernel("embedding_rows", kind.name, "pppw", build)


@kernel("embedding_rows")
def embedding_rows(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """The dense gradient of a table of floats."""
    parts, index = metas
    result = results[0]
    if parts.dtype not in (float32, float64) or index.dtype is not int64 or settings["scale_grad_by_freq"]:
        return None
    if not parts.is_contiguous or not index.is_contiguous or not result.numel:
        return None
    rows, width = result.shape
    ranges = min(_RANGES, rows) if result.numel > 100_000 else 1
    size = -(-rows // ranges)
    call = _add_kernel(parts.dtype).call
    work = jit.extents(
        -(-rows // size), 1, width, rows, index.numel, settings["padding_idx"], size, release=result.numel > 100_000
    )
    return lambda arrays, given: call(allocate(result), arrays[0], arrays[1], work)
