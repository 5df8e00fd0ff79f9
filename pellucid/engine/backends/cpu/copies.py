"""Copies and conversions of any strides. Where rows become columns, square tiles are copied, which the nearest cache
holds; all else is the pointwise loop of an expression that is one leaf and, maybe, a conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, counting, extent, i64
from pellucid.engine.backends.cpu.expression import Graph
from pellucid.engine.backends.cpu.layout import Layout, layout
from pellucid.engine.backends.cpu.pointwise import FAILURES, Traced, build_kernel, chunk_of
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.core.data import allocate
from pellucid.engine.core.meta import Meta

_TILE = 32
_WHOLE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Copy:
    """A prepared copy of operand number `operand`: into a new array, or `into` one with the result's strides."""

    def __init__(self, call: Callable[..., Any], work: np.ndarray, result: Meta, operand: int) -> None:
        self.call = call
        self.work = work
        self.result = result
        self.operand = operand

    def __call__(self, arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        return self.call(allocate(self.result), arrays[self.operand], self.work)

    def into(self, out: np.ndarray, arrays: list[Any], settings: dict[str, Any]) -> None:
        """Copy into an array that has the result's strides."""
        self.call(out, arrays[self.operand], self.work)


@kernel("clone", "cast", "copy")
def copy(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """From one type to the same or another; complex numbers only as they are."""
    operand = 1 if op.name == "copy" else 0
    source, result = metas[operand], results[0]
    if not isinstance(source, Meta) or not result.numel or result.has_overlap:
        return None
    where = layout(result, [source])
    if len(where.sizes) > 6:
        return None
    same = source.dtype is result.dtype
    if (
        same
        and source.dtype.itemsize not in _WHOLE
        or not same
        and (source.dtype.is_complex or result.dtype.is_complex)
    ):
        return None
    axis = _crossing(where) if same else None
    if axis is not None:
        call, work = _tiled(where, axis, source.dtype.itemsize)
        return Copy(call, work, result, operand)
    graph = Graph()
    try:
        given = np.dtype(_WHOLE[source.dtype.itemsize]) if same else source.dtype.numpy
        node = graph.node("input", (), given, 0)
        traced = Traced(graph, node if same else graph.cast(node, result.dtype.numpy), [operand], [])
        call = build_kernel(traced, where).call
    except FAILURES:
        return None
    items, chunk = chunk_of(where, traced.cost)
    return Copy(call, jit.extents(items, chunk, *where.extents(), release=result.numel > 100_000), result, operand)


def _crossing(where: Layout) -> int | None:
    """The axis along which the source is adjacent where the innermost one is not it, and both are long."""
    source = where.strides[1]
    if len(where.sizes) < 2 or source[-1] in (0, 1) or where.sizes[-1] < 8:
        return None
    return next((i for i, size in enumerate(where.sizes[:-1]) if source[i] == 1 and size >= 8), None)


def _tiled(where: Layout, axis: int, itemsize: int) -> tuple[Callable[..., Any], np.ndarray]:
    """A kernel and its extents: each item is a tile's height along `axis`, at one place of the other axes."""
    out, source = where.strides
    others = [i for i in range(len(where.sizes) - 1) if i != axis]
    strips = -(-where.sizes[axis] // _TILE)
    items = strips
    described: list[int] = []
    for other in others:
        items *= where.sizes[other]
        described += [where.sizes[other], out[other], source[other]]
    call = _tile_kernel(itemsize, len(others)).call
    columns = where.sizes[-1]
    chunk = max(1, 65536 // (columns * _TILE))
    return call, jit.extents(
        items, chunk, where.sizes[axis], columns, out[axis], source[-1], strips, *described,
        release=items * columns * _TILE > 100_000,
    )  # fmt: skip


def _tile_kernel(itemsize: int, others: int) -> jit.Kernel:
    element = ir.IntType(8 * itemsize)

    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, source = [b.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        work, begin, end = function.args[2:]
        height, width, out_stride, source_stride, strips = [extent(b, work, each) for each in range(3, 8)]
        with counting(b, begin, end, name="item") as item:
            strip, place = b.urem(item, strips), b.udiv(item, strips)
            target, origin = _places(b, work, others, place, out, source)
            top = b.mul(strip, i64(_TILE))
            bottom = _least(b, b.add(top, i64(_TILE)), height)
            with counting(b, 0, width, _TILE, name="tile") as left:
                right = _least(b, b.add(left, i64(_TILE)), width)
                with counting(b, top, bottom, name="row") as row:
                    own = at(b, target, b.mul(row, out_stride))
                    with counting(b, left, right, name="column") as column:
                        value = b.load(at(b, origin, b.add(row, b.mul(column, source_stride))))
                        b.store(value, at(b, own, column))
        b.ret_void()

    return jit.Kernel("transposed_copy", (itemsize, others), "ppw", build)


def _places(b: ir.IRBuilder, work: Any, others: int, place: Any, out: Any, source: Any) -> tuple[Any, Any]:
    for number in range(others - 1, -1, -1):
        size, out_stride, source_stride = [extent(b, work, 8 + 3 * number + each) for each in range(3)]
        index = b.urem(place, size) if number else place
        place = b.udiv(place, size)
        out, source = at(b, out, b.mul(index, out_stride)), at(b, source, b.mul(index, source_stride))
    return out, source


def _least(b: ir.IRBuilder, x: Any, y: Any) -> Any:
    return b.select(b.icmp_signed("<", x, y), x, y)
