"""The kernel of convolutions and of their data gradients: a padded block of the input, tiles of neighbouring pixels in
a row times packed weights, and the result turned from pixels × channels to the output's order.

An item is a block of output rows of one image and group for some panels of output channels. A phase is a set of output
pixels that see the same taps: a convolution has one; a transposed one has stride × stride of them. What the tables
hold is decided in convolution_plan.py.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.convolution_block import copy_block
from pellucid.engine.backends.cpu.emit import I64, at, counting, i64, load_vector
from pellucid.engine.backends.cpu.gemm import (
    Extents,
    Tile,
    accumulate,
    divided,
    load_tile,
    product,
    smaller,
    store_tile,
    total,
)  # fmt: skip
from pellucid.engine.backends.cpu.packing import (
    lanes_below,
    load_masked,
    slot,
    store_masked,
    transposed,
    zeros,
)  # fmt: skip

GEOMETRY = Extents(
    "groups", "depth", "row_blocks", "column_blocks", "splits", "panels",  # an item's coordinates, the image slowest
    "x_image", "x_channel", "x_slice", "x_row", "in_depth", "in_rows", "in_columns",
    "y_image", "y_channel", "y_slice", "y_row", "out_rows", "out_columns",
    "channels", "filters",  # of one group: read and written
    "block_rows", "block_pitch", "block_plane",
    "rows", "row_step", "row_origin",  # output rows of a block, and where its input begins
    "columns", "column_step", "column_origin",
    "z_phases", "z_step_in", "z_step", "phases", "step_in", "step_out", "column_step_out",
    "pitch", "runs_join", "sums_at", "k_block", "group_weights",
)  # fmt: skip
PHASE = ("k", "offsets", "weights", "row", "column", "tiles")
Z_PHASE = ("start", "slices")


class ConvolutionWriter:
    """Writes the kernel for one tile and one distance between the pixels of a tile."""

    def __init__(self, tile: Tile, step: int, direct: bool = False) -> None:
        self.tile = tile
        self.step = step
        self.direct = direct  # pixels in one row, in whole tiles, without padding: they are read where they lie

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(y, x, weights, bias, table, scratch, work, begin, end)."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        pointer = self.tile.kind.as_pointer()
        self.y, self.x, self.weights, self.bias = (b.bitcast(each, pointer) for each in function.args[:4])
        self.table = b.bitcast(function.args[4], I64.as_pointer())
        scratch, work, begin, end = function.args[5:]
        self.g = GEOMETRY.read(b, work)
        with slot(b, scratch) as own:
            self.block = b.bitcast(own, pointer)
            self.sums = at(b, self.block, self.g["sums_at"])
            with counting(b, begin, end, name="item") as item:
                self._item(item)
        b.ret_void()

    def _item(self, item: Any) -> None:
        b, g = self.b, self.g
        rest, split = divided(b, item, g["splits"])
        rest, column_block = divided(b, rest, g["column_blocks"])
        rest, row_block = divided(b, rest, g["row_blocks"])
        rest, depth = divided(b, rest, g["depth"])
        image, group = divided(b, rest, g["groups"])
        z, z_phase = divided(b, depth, g["z_phases"])
        z_entry = at(b, self.table, b.mul(z_phase, i64(len(Z_PHASE))))
        start = total(b, b.mul(z, g["z_step_in"]), b.load(z_entry))
        slices = b.load(at(b, z_entry, 1))
        first_row = b.mul(row_block, g["rows"])
        source = at(b, self.x, total(b, b.mul(image, g["x_image"]), product(b, group, g["channels"], g["x_channel"])))
        line = b.add(b.mul(row_block, g["row_step"]), g["row_origin"])
        if self.direct:
            self.block = at(b, source, b.mul(column_block, g["column_step"]))
        else:
            copy_block(
                b,
                self.tile,
                g,
                self.block,
                source,
                start,
                slices,
                line,
                b.add(b.mul(column_block, g["column_step"]), g["column_origin"]),
            )
        first_column = b.mul(column_block, g["columns"])
        columns = self.columns = smaller(b, g["columns"], b.sub(g["out_columns"], first_column))
        rows = smaller(b, g["rows"], b.sub(g["out_rows"], first_row))
        target = at(b, self.y, total(
            b, b.mul(image, g["y_image"]), product(b, group, g["filters"], g["y_channel"]),
            b.mul(depth, g["y_slice"]), b.mul(first_row, g["y_row"]), first_column,
        ))  # fmt: skip
        first = b.udiv(b.mul(split, g["panels"]), g["splits"])
        last = b.udiv(b.mul(b.add(split, i64(1)), g["panels"]), g["splits"])
        with counting(b, first, last, name="panel") as panel:
            with counting(b, 0, g["phases"], name="phase") as phase:
                self._phase(group, panel, b.add(b.mul(z_phase, g["phases"]), phase), rows)
            self._write(panel, rows, columns, target)

    def _phase(self, group: Any, panel: Any, phase: Any, rows: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        entry = at(b, self.table, total(b, b.mul(g["z_phases"], i64(len(Z_PHASE))), b.mul(phase, i64(len(PHASE)))))
        p = {name: b.load(at(b, entry, index)) for index, name in enumerate(PHASE)}
        if self.direct:
            p["tiles"] = b.udiv(self.columns, i64(tile.rows))
        offsets = at(b, self.table, p["offsets"])
        weights = at(b, self.weights, total(
            b, b.mul(group, g["group_weights"]), p["weights"], product(b, panel, p["k"], tile.width),
        ))  # fmt: skip
        bias = self._bias(group, panel)
        blocks = b.udiv(b.add(p["k"], b.sub(g["k_block"], i64(1))), g["k_block"])
        blocks = b.select(b.icmp_signed("<", blocks, i64(1)), i64(1), blocks)  # no taps: the bias alone
        with counting(b, 0, blocks, name="block") as block:
            start = b.mul(block, g["k_block"])
            stop = smaller(b, p["k"], b.add(start, g["k_block"]))
            is_first = b.icmp_signed("==", block, i64(0))
            left = b.sub(rows, p["row"])
            count = b.sdiv(b.add(left, b.sub(g["step_out"], i64(1))), g["step_out"])
            with counting(b, 0, count, name="y") as row, counting(b, 0, p["tiles"], name="t") as column:
                source = total(b, product(b, row, g["step_in"], g["block_pitch"]),
                               b.mul(column, i64(tile.rows * self.step)))  # fmt: skip
                pixel = total(
                    b, b.mul(b.add(p["row"], b.mul(row, g["step_out"])), g["pitch"]), p["column"],
                    product(b, column, tile.rows, g["column_step_out"]),
                )  # fmt: skip
                place = at(b, self.sums, b.mul(pixel, i64(tile.width)))
                self._tile(at(b, self.block, source), offsets, weights, place, (start, stop), bias, is_first)

    def _bias(self, group: Any, panel: Any) -> list[Any]:
        b, g, tile = self.b, self.g, self.tile
        found = []
        for part in range(tile.vectors):
            channel = b.add(b.mul(panel, i64(tile.width)), i64(part * tile.lanes))
            inside = lanes_below(b, b.sub(g["filters"], channel), tile.lanes)
            address = at(b, self.bias, b.add(b.mul(group, g["filters"]), channel))
            found.append(load_masked(b, address, inside, zeros(tile.kind, tile.lanes)))
        return found

    def _tile(
        self, source: Any, offsets: Any, weights: Any, place: Any, bounds: tuple[Any, Any], bias: list[Any], first: Any
    ) -> None:
        b, tile = self.b, self.tile
        step = b.mul(self.g["column_step_out"], i64(tile.width))
        before = load_tile(b, tile, place, step)
        sums = [b.select(first, bias[index % tile.vectors], value) for index, value in enumerate(before)]

        def operands(k: Any) -> tuple[list[Any], Any]:
            base = at(b, source, b.load(at(b, offsets, k)))
            pixels = [at(b, base, row * self.step) for row in range(tile.rows)]
            return pixels, at(b, weights, b.mul(k, i64(tile.width)))

        store_tile(b, tile, accumulate(b, tile, *bounds, sums, operands), place, step)

    def _write(self, panel: Any, rows: Any, columns: Any, target: Any) -> None:
        """The block's sums into the output: per run of adjacent pixels, squares of pixels and channels are turned."""
        b, g, lanes = self.b, self.g, self.tile.lanes
        joined = b.icmp_signed("!=", g["runs_join"], i64(0))
        runs = b.select(joined, i64(1), rows)
        length = b.select(joined, b.mul(rows, columns), columns)
        with counting(b, 0, runs, name="run") as run, counting(b, 0, self.tile.width, lanes, name="part") as part:
            channel = b.add(b.mul(panel, i64(self.tile.width)), part)
            left = b.sub(g["filters"], channel)
            with b.if_then(b.icmp_signed(">", left, i64(0))):
                line = at(b, target, b.add(b.mul(run, g["y_row"]), b.mul(channel, g["y_channel"])))
                source = at(b, self.sums, b.add(product(b, run, g["pitch"], self.tile.width), part))
                with counting(b, 0, length, lanes, name="pixel") as pixel:
                    corner = at(b, source, b.mul(pixel, i64(self.tile.width)))
                    self._square(corner, at(b, line, pixel), b.sub(length, pixel), left)

    def _square(self, source: Any, target: Any, pixels: Any, channels: Any) -> None:
        b, lanes = self.b, self.tile.lanes
        rows = [load_vector(b, at(b, source, row * self.tile.width), lanes) for row in range(lanes)]
        inside = lanes_below(b, pixels, lanes)
        nothing = ir.Constant(inside.type, [0] * lanes)
        for channel, value in enumerate(transposed(b, rows)):
            there = b.icmp_signed("<", i64(channel), channels)
            address = at(b, target, b.mul(i64(channel), self.g["y_channel"]))
            store_masked(b, value, address, b.select(there, inside, nothing))


def convolution_kernel(tile: Tile, step: int, direct: bool = False) -> jit.Kernel:
    """The kernel for tiles of pixels that are `step` elements apart in the padded block."""
    return jit.Kernel("convolution", (tile, step, direct), "ppppppw", ConvolutionWriter(tile, step, direct))
