"""What contractions need around their inner loop: masked loads and stores, transposes, memory to pack into.

The multiplication itself is in gemm.py.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.emit import (
    BYTES,
    F32,
    F64,
    I1,
    I32,
    I64,
    VOID,
    at,
    counting,
    extent,
    i32,
    i64,
    itemsize_of,
    splat,
    vector,
)  # fmt: skip

_FLAGS = 4096  # bytes in front of the slots: one flag a cache line
SLOTS = 64


class Workspace:
    """Memory that kernels pack into: slots that a kernel takes while it does a share of its items.

    In front lie the slots' flags, and between the first two the size of a slot: kernels that need less, called from
    other threads meanwhile, have to find the same slots.
    """

    def __init__(self) -> None:
        self.array = np.zeros(0, np.uint8)
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Start anew: after a fork, slots may look taken by threads that are not there."""
        self.array = np.zeros(0, np.uint8)

    def of(self, size: int) -> np.ndarray:
        """An array with slots of at least `size` bytes; what nobody touches takes no memory."""
        array = self.array
        if array.size < _FLAGS + SLOTS * size:
            array = np.empty(_FLAGS + SLOTS * size, np.uint8)
            array[:_FLAGS] = 0
            array[:_FLAGS].view(np.int64)[1] = size
            self.array = array
        return array


workspace = Workspace()


@contextmanager
def slot(builder: ir.IRBuilder, scratch: Any) -> Iterator[Any]:
    """A slot of the workspace that no other thread has: its address, aligned to a cache line."""
    function = builder.function
    flags = builder.bitcast(scratch, I64.as_pointer())
    seek, taken = function.append_basic_block("slot.seek"), function.append_basic_block("slot.taken")
    before = builder.block
    builder.branch(seek)
    builder.position_at_end(seek)
    index = builder.phi(I64, "slot")
    index.add_incoming(i64(0), before)
    flag = at(builder, flags, builder.mul(index, i64(_FLAGS // SLOTS // 8)))
    pair = builder.cmpxchg(flag, i64(0), i64(1), "acquire", "monotonic")
    index.add_incoming(builder.and_(builder.add(index, i64(1)), i64(SLOTS - 1)), seek)
    builder.cbranch(builder.extract_value(pair, 1), taken, seek)
    builder.position_at_end(taken)
    size = builder.load(at(builder, flags, 1))
    start = builder.add(i64(_FLAGS), builder.mul(index, size))
    address = builder.ptrtoint(at(builder, scratch, start), I64)
    aligned = builder.and_(builder.add(address, i64(63)), i64(-64))
    yield builder.inttoptr(aligned, BYTES)
    builder.store_atomic(i64(0), flag, "release", 8)


def lanes_below(builder: ir.IRBuilder, limit: Any, lanes: int) -> Any:
    """A mask of the lanes whose number is below `limit`."""
    narrow = builder.trunc(_clamped(builder, limit, lanes), I32)
    return builder.icmp_signed("<", ir.Constant(vector(I32, lanes), list(range(lanes))), splat(builder, narrow, lanes))


def _clamped(builder: ir.IRBuilder, value: Any, most: int) -> Any:
    """`value` within 0 and `most`."""
    low = builder.select(builder.icmp_signed("<", value, i64(0)), i64(0), value)
    return builder.select(builder.icmp_signed("<", i64(most), low), i64(most), low)


def load_masked(builder: ir.IRBuilder, address: Any, mask: Any, otherwise: Any) -> Any:
    """Elements from an address where the mask is set, which alone are touched; `otherwise` elsewhere."""
    kind = otherwise.type
    name = f"llvm.masked.load.{_vector_name(kind)}.p0"
    function_type = ir.FunctionType(kind, [kind.as_pointer(), I32, mask.type, kind])
    pointer = builder.bitcast(address, kind.as_pointer())
    return builder.call(
        _declared(builder, name, function_type), [pointer, i32(itemsize_of(kind.element)), mask, otherwise]
    )


def store_masked(builder: ir.IRBuilder, value: Any, address: Any, mask: Any) -> None:
    """Store the elements where the mask is set."""
    kind = value.type
    name = f"llvm.masked.store.{_vector_name(kind)}.p0"
    function_type = ir.FunctionType(VOID, [kind, kind.as_pointer(), I32, mask.type])
    pointer = builder.bitcast(address, kind.as_pointer())
    builder.call(_declared(builder, name, function_type), [value, pointer, i32(itemsize_of(kind.element)), mask])


def _vector_name(kind: ir.VectorType) -> str:
    return f"v{kind.count}{'f32' if kind.element == F32 else 'f64'}"


def _declared(builder: ir.IRBuilder, name: str, kind: ir.FunctionType) -> ir.Function:
    known = builder.module.globals.get(name)
    return known if known is not None else ir.Function(builder.module, kind, name)


def zeros(kind: ir.Type, lanes: int) -> ir.Constant:
    """A vector of zeros."""
    return ir.Constant(vector(kind, lanes), [0.0] * lanes)


def transposed(builder: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """The columns of as many vectors as they have lanes: each step swaps blocks of twice the size."""
    count = len(rows)
    span = 1
    while span < count:
        low = [lane if not lane & span else count + lane - span for lane in range(count)]
        high = [lane + span if not lane & span else count + lane for lane in range(count)]
        swapped = list(rows)
        for index in range(count):
            if not index & span:
                first, second = rows[index], rows[index + span]
                swapped[index] = _shuffled(builder, first, second, low)
                swapped[index + span] = _shuffled(builder, first, second, high)
        rows = swapped
        span *= 2
    return rows


def _shuffled(builder: ir.IRBuilder, first: Any, second: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(vector(I32, len(lanes)), lanes))


def transpose_block(
    builder: ir.IRBuilder,
    source: Any,
    source_step: Any,
    target: Any,
    target_step: Any,
    rows: Any,
    columns: Any,
    lanes: int,
) -> None:
    """target[column * target_step + row] = source[row * source_step + column] for at most `lanes` rows and columns."""
    kind = source.type.pointee
    nothing = ir.Constant(vector(I1, lanes), [0] * lanes)
    inside = lanes_below(builder, columns, lanes)
    vectors = []
    for row in range(lanes):
        mask = builder.select(builder.icmp_signed("<", i64(row), rows), inside, nothing)
        address = at(builder, source, builder.mul(i64(row), source_step))
        vectors.append(load_masked(builder, address, mask, zeros(kind, lanes)))
    written = lanes_below(builder, rows, lanes)
    for column, value in enumerate(transposed(builder, vectors)):
        mask = builder.select(builder.icmp_signed("<", i64(column), columns), written, nothing)
        store_masked(builder, value, at(builder, target, builder.mul(i64(column), target_step)), mask)


def _write_turn(module: ir.Module, function: ir.Function, kind: ir.Type, lanes: int) -> None:
    """function(target, source, work, begin, end): per item, 64 rows of a matrix become columns of another."""
    b = ir.IRBuilder(function.append_basic_block())
    target, source = (b.bitcast(each, kind.as_pointer()) for each in function.args[:2])
    work, begin, end = function.args[2:]
    rows, columns, blocks = (extent(b, work, 3 + index) for index in range(3))
    with counting(b, begin, end, name="item") as item:
        matrix = b.udiv(item, blocks)
        first = b.mul(b.sub(item, b.mul(matrix, blocks)), i64(TURNED))
        last = b.add(first, i64(TURNED))
        last = b.select(b.icmp_signed("<", last, rows), last, rows)
        base = b.mul(matrix, b.mul(rows, columns))
        with (
            counting(b, first, last, lanes, name="row") as row,
            counting(b, 0, columns, lanes, name="column") as column,
        ):
            corner = at(b, source, b.add(base, b.add(b.mul(row, columns), column)))
            place = at(b, target, b.add(base, b.add(b.mul(column, rows), row)))
            transpose_block(b, corner, columns, place, rows, b.sub(rows, row), b.sub(columns, column), lanes)
    b.ret_void()


TURNED = 64  # rows that an item turns


def turned(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Each matrix of a dense (count, rows, columns) transposed into a dense (count, columns, rows)."""
    kind = F32 if source.itemsize == 4 else F64
    lanes = isa.host().lanes(source.itemsize)
    count, rows, columns = source.shape
    blocks = -(-rows // TURNED)
    kernel = jit.Kernel(
        "turned", (source.itemsize, lanes), "ppw", functools.partial(_write_turn, kind=kind, lanes=lanes)
    )
    kernel(target, source, jit.extents(count * blocks, max(1, 16384 // (TURNED * columns)), rows, columns, blocks))
    return target
