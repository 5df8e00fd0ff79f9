"""The gradient of depthwise weights: per channel, a vector of partial sums for each of several taps over all pixels."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.convolution_plan import Ints, Shape
from pellucid.engine.backends.cpu.depthwise import GEOMETRY, Blocks, DepthwiseWriter
from pellucid.engine.backends.cpu.emit import I64, at, carrying, counting, i64, load_vector
from pellucid.engine.backends.cpu.gemm import multiply_add, product, smaller, tile_of, total
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, slot, workspace, zeros
from pellucid.engine.backends.cpu.span import SUM

_TAPS = 9  # sums at once: their addresses have a register each


class DepthwiseGradient(DepthwiseWriter):
    """Writes the kernel; `tile.rows` taps are summed at once."""

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(gradient, coarse, fine, offsets, scratch, work, begin, end): an item is a filter."""
        b = self.start(function)
        pointer = self.tile.kind.as_pointer()
        self.gradient, self.coarse, self.fine = (b.bitcast(each, pointer) for each in function.args[:3])
        self.offsets = b.bitcast(function.args[3], I64.as_pointer())
        scratch, _, begin, end = function.args[4:]
        with slot(b, scratch) as own:
            self.block = b.bitcast(own, pointer)
            with counting(b, begin, end, name="filter") as filter_:
                self._filter(filter_)
        b.ret_void()

    def _filter(self, filter_: Any) -> None:
        b, g = self.b, self.g
        target = at(b, self.gradient, b.mul(filter_, g["taps"]))
        with counting(b, 0, g["taps"], name="zero") as tap:
            b.store(ir.Constant(self.tile.kind, 0.0), at(b, target, tap))
        coarse = at(b, self.coarse, b.mul(filter_, g["y_channel"]))
        fine = at(b, self.fine, b.mul(b.udiv(filter_, g["each"]), g["x_channel"]))
        with (
            counting(b, 0, g["images"], name="image") as image,
            counting(b, 0, g["depth"], name="depth") as depth,
            counting(b, 0, g["row_blocks"], name="rows") as row_block,
            counting(b, 0, g["column_blocks"], name="columns") as column_block,
        ):
            self.copy(at(b, fine, b.mul(image, g["x_image"])), (depth, row_block, column_block))
            first_row, first_column = b.mul(row_block, g["rows"]), b.mul(column_block, g["columns"])
            source = at(b, coarse, total(
                b, b.mul(image, g["y_image"]), b.mul(depth, g["y_slice"]), b.mul(first_row, g["y_row"]), first_column,
            ))  # fmt: skip
            rows = smaller(b, g["rows"], b.sub(g["out_rows"], first_row))
            columns = smaller(b, g["columns"], b.sub(g["out_columns"], first_column))
            with counting(b, 0, g["taps"], self.tile.rows, name="group") as first:
                self._taps(first, source, target, rows, columns)

    def _taps(self, first: Any, source: Any, target: Any, rows: Any, columns: Any) -> None:
        """Add a block's products to the sums of the taps from `first` on."""
        b, g, tile = self.b, self.g, self.tile
        numbers = [smaller(b, b.add(first, i64(i)), b.sub(g["taps"], i64(1))) for i in range(tile.rows)]
        taps = [at(b, self.block, b.load(at(b, self.offsets, number))) for number in numbers]
        whole = b.and_(columns, i64(-tile.lanes))
        mask = lanes_below(b, b.sub(columns, whole), tile.lanes)
        with carrying(b, 0, rows, [zeros(tile.kind, tile.lanes)] * tile.rows, name="y") as line:
            seen = product(b, line.index, g["step"], g["block_pitch"])
            row = at(b, source, b.mul(line.index, g["y_row"]))
            with carrying(b, 0, whole, line.values, tile.lanes, name="x") as turn:
                value = load_vector(b, at(b, row, turn.index), tile.lanes)
                turn.next = self._products(taps, seen, turn.index, turn.values, value)
            last = load_masked(b, at(b, row, whole), mask, zeros(tile.kind, tile.lanes))
            ends = self._products(taps, seen, whole, turn.values, last)
            line.next = [b.select(mask, new, old) for new, old in zip(ends, turn.values, strict=True)]
        for index, value in enumerate(line.values):
            there = b.icmp_signed("<", b.add(first, i64(index)), g["taps"])
            with b.if_then(there):
                place = at(b, target, b.add(first, i64(index)))
                b.store(b.fadd(b.load(place), SUM.across(b, value)), place)

    def _products(self, taps: list[Any], seen: Any, column: Any, sums: list[Any], coarse: Any) -> list[Any]:
        b = self.b
        offset = b.add(seen, b.mul(column, i64(self.step)))
        return [
            multiply_add(b, self.tile, coarse, self.pixels(at(b, tap, offset)), value)
            for tap, value in zip(taps, sums, strict=True)
        ]


class DepthwiseGradientPlan:
    """The gradient of the weights of one depthwise convolution, which is not transposed."""

    def __init__(self, shape: Shape, y_strides: Ints) -> None:
        taps = math.prod(shape.kernel)
        groups = math.ceil(taps / _TAPS)
        tile = tile_of(math.ceil(taps / groups), 1, shape.itemsize)
        blocks = Blocks(shape, tile_of(1, 1, shape.itemsize), (1, 1, 1))
        self.offsets = blocks.offsets()
        values = blocks.extents(y_strides)
        each = shape.batch * math.prod(shape.outside) * taps
        self.work = jit.extents(values["filters"], max(1, 200_000 // each), *GEOMETRY.order(values))
        step = shape.stride[2]
        writer = DepthwiseGradient(tile, step, False)
        self.call = jit.Kernel("depthwise_gradient", (tile, step), "pppppw", writer).call
        self.slot = blocks.slot

    def run(self, gradient: Any, coarse: Any, fine: Any) -> Any:
        """The gradient of the dense weights."""
        return self.call(gradient, coarse, fine, self.offsets, workspace.of(self.slot), self.work)
