"""Convolutions with kernels of their own for each channel: vectors of neighbouring pixels times one weight at a time.

There is nothing to share between channels, so no panels are packed: a block of one channel is copied with the zeros
around it (and, where the convolution is transposed, between its elements), and stays in the first cache for all taps.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.convolution_block import copy_block
from pellucid.engine.backends.cpu.convolution_plan import Ints, Shape
from pellucid.engine.backends.cpu.emit import I32, I64, at, carrying, counting, i64, load_vector, splat, vector
from pellucid.engine.backends.cpu.gemm import (
    Extents,
    Tile,
    divided,
    multiply_add,
    product,
    smaller,
    tile_of,
    total,
)
from pellucid.engine.backends.cpu.packing import lanes_below, slot, store_masked, workspace, zeros

GEOMETRY = Extents(
    "filters", "each", "depth", "row_blocks", "column_blocks", "images",
    "x_image", "x_channel", "x_slice", "x_row", "in_depth", "in_rows", "in_columns",
    "y_image", "y_channel", "y_slice", "y_row", "out_rows", "out_columns",
    "slices", "z_step", "z_step_in", "z_origin", "block_rows", "block_pitch", "block_plane", "channels",
    "rows", "row_step", "row_origin", "columns", "column_step", "column_origin", "step", "taps",
    "spread_z", "spread_y", "spread_x",
)  # fmt: skip
_SUMS = 8
_BLOCK = 24 * 1024


class DepthwiseWriter:
    """What both kernels share; `step`: the distance of the pixels in a vector, `spread`: zeros between the elements."""

    block: Any

    def __init__(self, tile: Tile, step: int, spread: bool) -> None:
        self.tile = tile
        self.step = step
        self.spread = spread

    def start(self, function: ir.Function) -> Any:
        """The builder, after the extents are read; what is needed of the arguments is kept."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        self.g = GEOMETRY.read(b, function.args[-3])
        return b

    def copy(self, source: Any, where: tuple[Any, Any, Any]) -> None:
        """The block that the outputs of (slice, row block, column block) see."""
        b, g = self.b, self.g
        depth, row_block, column_block = where
        start = b.add(b.mul(depth, g["z_step_in"]), g["z_origin"])
        line = b.add(b.mul(row_block, g["row_step"]), g["row_origin"])
        column = b.add(b.mul(column_block, g["column_step"]), g["column_origin"])
        if self.spread:
            self._copy_spread(source, start, line, column)
        else:
            copy_block(b, self.tile, g, self.block, source, start, g["slices"], line, column)

    def _copy_spread(self, source: Any, start: Any, first_row: Any, first_column: Any) -> None:
        """As `copy_block`, with zeros between the elements."""
        b, g, lanes = self.b, self.g, self.tile.lanes
        with counting(b, 0, g["slices"], name="slice") as part, counting(b, 0, g["block_rows"], name="row") as row:
            z, line = b.add(start, b.mul(part, g["z_step"])), b.add(first_row, row)
            target = at(b, self.block, b.mul(b.add(b.mul(part, g["block_rows"]), row), g["block_pitch"]))
            with counting(b, 0, g["block_pitch"], lanes, name="column") as column:
                place = b.bitcast(at(b, target, column), vector(self.tile.kind, lanes).as_pointer())
                b.store(zeros(self.tile.kind, lanes), place).align = self.tile.itemsize
            there = b.and_(self._is_there(z, "spread_z", "in_depth"), self._is_there(line, "spread_y", "in_rows"))
            with b.if_then(there):
                of_slice = b.mul(b.sdiv(z, g["spread_z"]), g["x_slice"])
                elements = at(b, source, b.add(of_slice, b.mul(b.sdiv(line, g["spread_y"]), g["x_row"])))
                low = self._divided_up(first_column)
                low = b.select(b.icmp_signed("<", low, i64(0)), i64(0), low)
                high = smaller(b, self._divided_up(b.add(first_column, g["block_pitch"])), g["in_columns"])
                with counting(b, low, high, name="element") as index:
                    place = at(b, target, b.sub(b.mul(index, g["spread_x"]), first_column))
                    b.store(b.load(at(b, elements, index)), place)

    def _is_there(self, position: Any, spread: str, size: str) -> Any:
        b, g = self.b, self.g
        exact = b.icmp_signed("==", b.srem(position, g[spread]), i64(0))
        return b.and_(exact, b.icmp_unsigned("<", b.sdiv(position, g[spread]), g[size]))

    def _divided_up(self, value: Any) -> Any:
        """The first element at or after a column."""
        b, by = self.b, self.g["spread_x"]
        positive = b.udiv(b.add(value, b.sub(by, i64(1))), by)
        return b.select(b.icmp_signed("<", value, i64(0)), i64(0), positive)

    def pixels(self, address: Any) -> Any:
        """A vector of the elements that neighbouring outputs see with one tap."""
        b, lanes = self.b, self.tile.lanes
        if self.step == 1:
            return load_vector(b, address, lanes)
        if self.step == 2:
            even = ir.Constant(vector(I32, lanes), [2 * lane for lane in range(lanes)])
            first, second = load_vector(b, address, lanes), load_vector(b, at(b, address, lanes), lanes)
            return b.shuffle_vector(first, second, even)
        value = zeros(self.tile.kind, lanes)
        for lane in range(lanes):
            value = b.insert_element(value, b.load(at(b, address, lane * self.step)), ir.Constant(I32, lane))
        return value


class DepthwiseForward(DepthwiseWriter):
    """Writes the kernel of the convolution: tiles of `tile.rows` rows and `tile.vectors` vectors of pixels."""

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(y, x, weights, bias, offsets, scratch, work, begin, end)."""
        b = self.start(function)
        pointer = self.tile.kind.as_pointer()
        self.y, self.x, self.weights, self.bias = (b.bitcast(each, pointer) for each in function.args[:4])
        self.offsets = b.bitcast(function.args[4], I64.as_pointer())
        scratch, _, begin, end = function.args[5:]
        with slot(b, scratch) as own:
            self.block = b.bitcast(own, pointer)
            with counting(b, begin, end, name="item") as item:
                self._item(item)
        b.ret_void()

    def _item(self, item: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        rest, column_block = divided(b, item, g["column_blocks"])
        rest, row_block = divided(b, rest, g["row_blocks"])
        rest, depth = divided(b, rest, g["depth"])
        image, filter_ = divided(b, rest, g["filters"])
        channel = b.udiv(filter_, g["each"])
        source = at(b, self.x, b.add(b.mul(image, g["x_image"]), b.mul(channel, g["x_channel"])))
        self.copy(source, (depth, row_block, column_block))
        first_row, first_column = b.mul(row_block, g["rows"]), b.mul(column_block, g["columns"])
        rows = smaller(b, g["rows"], b.sub(g["out_rows"], first_row))
        columns = smaller(b, g["columns"], b.sub(g["out_columns"], first_column))
        target = at(b, self.y, total(
            b, b.mul(image, g["y_image"]), b.mul(filter_, g["y_channel"]), b.mul(depth, g["y_slice"]),
            b.mul(first_row, g["y_row"]), first_column,
        ))  # fmt: skip
        weights = at(b, self.weights, b.mul(filter_, g["taps"]))
        bias = splat(b, b.load(at(b, self.bias, filter_)), tile.lanes)
        width = tile.vectors * tile.lanes
        with (
            counting(b, 0, rows, tile.rows, name="row") as row,
            counting(b, 0, columns, width, name="column") as column,
        ):
            self._tile((row, column), weights, bias, target, b.sub(rows, row), b.sub(columns, column))

    def _tile(self, where: tuple[Any, Any], weights: Any, bias: Any, target: Any, rows: Any, columns: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        row, column = where
        corner = at(b, self.block, b.add(product(b, row, g["step"], g["block_pitch"]), b.mul(column, i64(self.step))))
        lines = [at(b, corner, product(b, index, g["step"], g["block_pitch"])) for index in range(tile.rows)]
        with carrying(b, 0, g["taps"], [bias] * (tile.rows * tile.vectors), name="tap") as turn:
            weight = splat(b, b.load(at(b, weights, turn.index)), tile.lanes)
            offset = b.load(at(b, self.offsets, turn.index))
            for index, value in enumerate(turn.values):
                line, part = divmod(index, tile.vectors)
                place = at(b, at(b, lines[line], offset), part * tile.lanes * self.step)
                turn.next.append(multiply_add(b, tile, weight, self.pixels(place), value))
        masks = [lanes_below(b, b.sub(columns, i64(part * tile.lanes)), tile.lanes) for part in range(tile.vectors)]
        for line in range(tile.rows):
            with b.if_then(b.icmp_signed("<", i64(line), rows)):
                start = at(b, target, b.add(b.mul(b.add(row, i64(line)), g["y_row"]), column))
                for part, mask in enumerate(masks):
                    value = turn.values[line * tile.vectors + part]
                    store_masked(b, value, at(b, start, part * tile.lanes), mask)


def _tile_for(shape: Shape) -> Tile:
    lanes = tile_of(1, 1, shape.itemsize).lanes
    needed = math.ceil(shape.outside[2] / lanes)
    vectors = 1 if needed == 1 else 2 if needed == 2 else 4
    rows = max(1, min(_SUMS // vectors, shape.outside[1]))
    return tile_of(rows, vectors, shape.itemsize)


class Blocks:
    """How a depthwise convolution is cut into blocks, and the extents that follow. `shape` is not transposed;
    `spread` says how far apart the elements of its input are taken to be.
    """

    def __init__(self, shape: Shape, tile: Tile, spread: Ints) -> None:
        self.shape, self.tile, self.spread = shape, tile, spread
        self.spans = [d * (k - 1) for k, d in zip(shape.kernel, shape.dilation, strict=True)]
        _, height, width = shape.outside
        per = tile.vectors * tile.lanes
        columns = math.ceil(width / per) * per
        while columns > per and not self._fits(min(height, tile.rows), columns):
            columns = math.ceil(columns / 2 / per) * per
        rows = math.ceil(height / tile.rows) * tile.rows if columns >= width else tile.rows
        while rows > tile.rows and not self._fits(rows, columns):
            rows -= tile.rows
        self.rows, self.columns = rows, columns
        self.pitch = self._pitch(columns)
        self.block_rows = self._seen(min(rows, height))
        self.plane = shape.kernel[0] * self.block_rows * self.pitch
        beyond = rows * shape.stride[1] * self.pitch + 4 * tile.lanes * shape.stride[2]
        self.slot = math.ceil((self.plane + beyond) * shape.itemsize / 64) * 64 + 128

    def _pitch(self, columns: int) -> int:
        seen = (columns - 1) * self.shape.stride[2] + self.spans[2] + 1
        return math.ceil(seen / self.tile.lanes) * self.tile.lanes

    def _seen(self, rows: int) -> int:
        return (rows - 1) * self.shape.stride[1] + self.spans[1] + 1

    def _fits(self, rows: int, columns: int) -> bool:
        size = self.shape.kernel[0] * self._seen(rows) * self._pitch(columns) * self.shape.itemsize
        return size <= _BLOCK

    def offsets(self) -> np.ndarray:
        """Where each tap looks, from an output's corner in the block."""
        z, y, x = np.meshgrid(*[np.arange(k, dtype=np.int64) for k in self.shape.kernel], indexing="ij")
        dilation = self.shape.dilation
        return ((z * self.block_rows + y * dilation[1]) * self.pitch + x * dilation[2]).reshape(-1)

    def extents(self, y_strides: Ints) -> dict[str, int]:
        """Everything that the kernels read."""
        shape = self.shape
        depth, height, width = shape.outside
        return {
            "filters": shape.filters * shape.groups, "each": shape.filters, "depth": depth,
            "row_blocks": math.ceil(height / self.rows), "column_blocks": math.ceil(width / self.columns),
            "images": shape.batch, "x_image": shape.x_strides[0], "x_channel": shape.x_strides[1],
            "x_slice": shape.x_strides[2], "x_row": shape.x_strides[3], "in_depth": shape.inside[0],
            "in_rows": shape.inside[1], "in_columns": shape.inside[2], "y_image": y_strides[0],
            "y_channel": y_strides[1], "y_slice": y_strides[2], "y_row": y_strides[3], "out_rows": height,
            "out_columns": width, "slices": shape.kernel[0], "z_step": shape.dilation[0],
            "z_step_in": shape.stride[0], "z_origin": -shape.padding[0], "block_rows": self.block_rows,
            "block_pitch": self.pitch, "block_plane": self.plane, "channels": 1, "rows": self.rows,
            "row_step": self.rows * shape.stride[1], "row_origin": -shape.padding[1], "columns": self.columns,
            "column_step": self.columns * shape.stride[2], "column_origin": -shape.padding[2],
            "step": shape.stride[1], "taps": math.prod(shape.kernel),
            "spread_z": self.spread[0], "spread_y": self.spread[1], "spread_x": self.spread[2],
        }  # fmt: skip


def reversed_shape(shape: Shape) -> tuple[Shape, Ints]:
    """A transposed convolution as one over spread-out elements with the taps in reverse order."""
    padding = tuple(d * (k - 1) - p for k, d, p in zip(shape.kernel, shape.dilation, shape.padding, strict=True))
    return replace(shape, stride=(1, 1, 1), padding=padding, transposed=False), shape.stride


class DepthwisePlan:
    """The kernel of one depthwise convolution, transposed or not: `run(y, x, weight, bias)`, weights dense."""

    def __init__(self, shape: Shape, y_strides: Ints) -> None:
        spread: Ints = (1, 1, 1)
        transposed = shape.transposed
        if transposed:
            shape, spread = reversed_shape(shape)
        tile = _tile_for(shape)
        blocks = Blocks(shape, tile, spread)
        self.offsets = blocks.offsets()[::-1].copy() if transposed else blocks.offsets()
        values = blocks.extents(y_strides)
        items = shape.batch * values["filters"] * values["depth"] * values["row_blocks"] * values["column_blocks"]
        each = blocks.rows * blocks.columns * values["taps"]
        self.work = jit.extents(items, max(1, 200_000 // each), *GEOMETRY.order(values))
        step, is_spread = shape.stride[2], spread != (1, 1, 1)
        writer = DepthwiseForward(tile, step, is_spread)
        self.call = jit.Kernel("depthwise", (tile, step, is_spread), "ppppppw", writer).call
        self.slot = blocks.slot
        self.none = np.zeros(values["filters"], np.float32 if shape.itemsize == 4 else np.float64)

    def run(self, y: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: Any) -> np.ndarray:
        """The convolution in `y`."""
        bias = self.none if bias is None else bias
        return self.call(y, x, weight, bias, self.offsets, workspace.of(self.slot), self.work)
