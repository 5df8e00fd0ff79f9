"""softmax and log_softmax along the innermost axis, and their gradients: a row at a time, while it is in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, counting, extent, vector
from pellucid.engine.backends.cpu.registry import kernel, rule_kernel
from pellucid.engine.backends.cpu.span import MAXIMUM, SUM, Span, element_type
from pellucid.engine.backends.cpu.vector_math import Maths
from pellucid.engine.core.data import TensorData, allocate, wrap
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.meta import Meta

Write = Callable[[Span, list[Any], Any], None]
_GRAIN = 16384  # elements that a thread takes at once


def row_kernel(name: str, pointers: int, kind: Any, write: Write) -> jit.Kernel:
    """A kernel over rows of `kind`: `write(span, row addresses, count)` does one; work[3] is the row's length."""
    element = element_type(kind.numpy)

    def build(module: ir.Module, function: ir.Function) -> None:
        builder = ir.IRBuilder(function.append_basic_block())
        bases = [builder.bitcast(each, element.as_pointer()) for each in function.args[:pointers]]
        work, begin, end = function.args[-3:]
        count = extent(builder, work, 3)
        with counting(builder, begin, end, name="row") as row:
            offset = builder.mul(row, count)
            write(Span(builder, element), [at(builder, base, offset) for base in bases], count)
        builder.ret_void()

    return jit.Kernel(name, kind.name, "p" * pointers + "w", build)


def rows_work(rows: int, count: int) -> Any:
    """Extents for `rows` rows of `count` elements."""
    return jit.extents(rows, max(1, _GRAIN // max(count, 1)), count, release=rows * count > 100_000)


def maths(span: Span, lanes: int) -> Maths:
    """Functions on vectors of the span, or on its scalars."""
    return Maths(span.builder, span.kind if lanes == 1 else vector(span.kind, lanes))


def _softmax(span: Span, rows: list[Any], count: Any) -> None:
    out, x = rows
    b = span.builder
    top = span.fold(count, [MAXIMUM], lambda i, lanes: [span.load(x, i, lanes)])[0]

    def power(index: Any, lanes: int) -> list[Any]:
        value = maths(span, lanes).exp(b.fsub(span.load(x, index, lanes), span.wide(top, lanes)))
        span.store(value, out, index, lanes)
        return [value]

    share = b.fdiv(ir.Constant(span.kind, 1.0), span.fold(count, [SUM], power)[0])
    span.each(count, lambda i, n: span.store(b.fmul(span.load(out, i, n), span.wide(share, n)), out, i, n))


def _log_softmax(span: Span, rows: list[Any], count: Any) -> None:
    out, x = rows
    b = span.builder
    top = span.fold(count, [MAXIMUM], lambda i, lanes: [span.load(x, i, lanes)])[0]

    def power(index: Any, lanes: int) -> list[Any]:
        return [maths(span, lanes).exp(b.fsub(span.load(x, index, lanes), span.wide(top, lanes)))]

    log = Maths(b, span.kind).log(span.fold(count, [SUM], power)[0])

    def shifted(index: Any, lanes: int) -> None:
        value = b.fsub(b.fsub(span.load(x, index, lanes), span.wide(top, lanes)), span.wide(log, lanes))
        span.store(value, out, index, lanes)

    span.each(count, shifted)


def _softmax_gradient(span: Span, rows: list[Any], count: Any) -> None:
    out, dy, y = rows
    b = span.builder

    def weighted(index: Any, lanes: int) -> list[Any]:
        return [b.fmul(span.load(dy, index, lanes), span.load(y, index, lanes))]

    level = span.fold(count, [SUM], weighted)[0]

    def slope(index: Any, lanes: int) -> None:
        centred = b.fsub(span.load(dy, index, lanes), span.wide(level, lanes))
        span.store(b.fmul(centred, span.load(y, index, lanes)), out, index, lanes)

    span.each(count, slope)


def _log_softmax_gradient(span: Span, rows: list[Any], count: Any) -> None:
    out, dy, y = rows
    b = span.builder
    total = span.fold(count, [SUM], lambda i, lanes: [span.load(dy, i, lanes)])[0]

    def slope(index: Any, lanes: int) -> None:
        share = b.fmul(maths(span, lanes).exp(span.load(y, index, lanes)), span.wide(total, lanes))
        span.store(b.fsub(span.load(dy, index, lanes), share), out, index, lanes)

    span.each(count, slope)


_WRITERS: dict[str, Write] = {"softmax": _softmax, "log_softmax": _log_softmax}


@kernel("softmax", "log_softmax")
def forward(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """Rows of adjacent floats."""
    x, result = metas[0], results[0]
    if not x.ndim or not x.is_contiguous or x.dtype is not result.dtype or x.dtype not in (float32, float64):
        return None
    if settings["dim"] not in (x.ndim - 1, -1) or not x.numel:
        return None
    count = x.shape[-1]
    call, work = row_kernel(op.name, 2, x.dtype, _WRITERS[op.name]).call, rows_work(x.numel // count, count)
    return lambda arrays, settings: call(allocate(result), arrays[0], work)


@rule_kernel("softmax_dx", "log_softmax_dx")
def backward(rule: Any, arguments: dict[str, Any]) -> Any:
    """The gradient of rows of adjacent floats."""
    dy, y, dim = arguments["dy"], arguments["y"], arguments["dim"]
    meta: Meta = y._meta
    if not isinstance(dy, TensorData) or dy._meta is not meta or not meta.ndim or not meta.is_contiguous:
        return None
    if meta.dtype not in (float32, float64) or dim not in (meta.ndim - 1, -1) or not meta.numel:
        return None
    write = _softmax_gradient if rule.function.__name__ == "softmax_dx" else _log_softmax_gradient
    count = meta.shape[-1]
    call = row_kernel(rule.function.__name__, 3, meta.dtype, write).call
    work = rows_work(meta.numel // count, count)
    return lambda arguments: wrap(call(allocate(meta), arguments["dy"]._array, arguments["y"]._array, work), meta)
