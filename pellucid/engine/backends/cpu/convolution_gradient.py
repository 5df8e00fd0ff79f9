"""The gradient of a convolution's weight: a tile of taps × filters of sums in registers over all pixels of a block.

An item has some filters and some input channels and goes through all images itself, so nothing is added up between
threads and the order of every sum is fixed. The coarse image is turned to pixels × filters, the fine one is copied with
the zeros around it; a tap's elements are then at a distance of the stride from one pixel to the next.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.convolution_block import copy_block
from pellucid.engine.backends.cpu.convolution_plan import Shape, without_gaps
from pellucid.engine.backends.cpu.emit import I64, at, carrying, counting, i64, load_vector
from pellucid.engine.backends.cpu.gemm import (
    Extents,
    Tile,
    divided,
    load_tile,
    most_rows,
    multiplied,
    product,
    smaller,
    store_tile,
    tile_of,
    total,
)  # fmt: skip
from pellucid.engine.backends.cpu.packing import (
    lanes_below,
    load_masked,
    slot,
    store_masked,
    transposed,
    workspace,
    zeros,
)  # fmt: skip

GEOMETRY = Extents(
    "panels", "splits", "images", "depth", "row_blocks", "column_blocks",
    "x_image", "x_channel", "x_slice", "x_row", "in_depth", "in_rows", "in_columns",
    "y_image", "y_channel", "y_slice", "out_rows", "out_columns",
    "channels", "filters", "channel_block", "taps",
    "slices", "z_step", "z_step_in", "z_origin", "block_rows", "block_pitch", "block_plane",
    "rows", "row_step", "row_origin", "columns", "column_step", "column_origin", "row_pitch",
    "pixels_at", "sums_at", "filter_step",
)  # fmt: skip
_ADDRESSES = 9  # rows whose addresses have a register each
_BLOCK = 128 * 1024
_PANEL = 32 * 1024  # bytes of the turned coarse image: it stays in the first cache


class WeightGradientWriter:
    """Writes the kernel for one tile and one distance between neighbouring pixels."""

    def __init__(self, tile: Tile, step: int, direct: bool) -> None:
        self.tile = tile
        self.step = step
        self.direct = direct  # without padding, the fine image is read where it lies

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(gradient, coarse, fine, offsets, scratch, work, begin, end)."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        pointer = self.tile.kind.as_pointer()
        self.gradient, self.coarse, self.fine = (b.bitcast(each, pointer) for each in function.args[:3])
        self.offsets = b.bitcast(function.args[3], I64.as_pointer())
        scratch, work, begin, end = function.args[4:]
        self.g = GEOMETRY.read(b, work)
        with slot(b, scratch) as own:
            self.block = b.bitcast(own, pointer)
            self.pixels = at(b, self.block, self.g["pixels_at"])
            self.sums = at(b, self.block, self.g["sums_at"])
            with counting(b, begin, end, name="item") as item:
                self._item(item)
        b.ret_void()

    def _item(self, item: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        rest, split = divided(b, item, g["splits"])
        group, panel = divided(b, rest, g["panels"])
        first = b.mul(split, g["channel_block"])
        channels = smaller(b, g["channel_block"], b.sub(g["channels"], first))
        filter_ = b.mul(panel, i64(tile.width))
        left = b.sub(g["filters"], filter_)
        count = b.mul(channels, g["taps"])
        tiles = b.udiv(b.add(count, i64(tile.rows - 1)), i64(tile.rows))
        with counting(b, 0, product(b, tiles, tile.rows, tile.width), tile.lanes, name="zero") as place:
            self._store(zeros(tile.kind, tile.lanes), at(b, self.sums, place))
        coarse = at(b, self.coarse, b.mul(b.add(b.mul(group, g["filters"]), filter_), g["y_channel"]))
        fine = at(b, self.fine, b.mul(b.add(b.mul(group, g["channels"]), first), g["x_channel"]))
        with (
            counting(b, 0, g["images"], name="image") as image,
            counting(b, 0, g["depth"], name="depth") as depth,
            counting(b, 0, g["row_blocks"], name="rows") as row_block,
            counting(b, 0, g["column_blocks"], name="columns") as column_block,
        ):
            at_y = at(b, coarse, b.add(b.mul(image, g["y_image"]), b.mul(depth, g["y_slice"])))
            at_x = at(b, fine, b.mul(image, g["x_image"]))
            self._one_block(at_y, at_x, (depth, row_block, column_block), channels, left, (count, tiles))
        target = at(b, self.gradient, total(
            b, b.mul(b.add(b.mul(group, g["filters"]), filter_), g["filter_step"]), b.mul(first, g["taps"]),
        ))  # fmt: skip
        self._write(target, count, left)

    def _one_block(
        self, coarse: Any, fine: Any, where: tuple[Any, Any, Any], channels: Any, left: Any, counts: tuple[Any, Any]
    ) -> None:
        b, g = self.b, self.g
        depth, row_block, column_block = where
        first_row, first_column = b.mul(row_block, g["rows"]), b.mul(column_block, g["columns"])
        rows = smaller(b, g["rows"], b.sub(g["out_rows"], first_row))
        columns = smaller(b, g["columns"], b.sub(g["out_columns"], first_column))
        start = b.add(b.mul(depth, g["z_step_in"]), g["z_origin"])
        line = b.add(b.mul(row_block, g["row_step"]), g["row_origin"])
        column = b.add(b.mul(column_block, g["column_step"]), g["column_origin"])
        block = self.block
        if self.direct:
            block = at(b, fine, total(b, b.mul(start, g["x_slice"]), b.mul(line, g["x_row"]), column))
        else:
            copy_block(b, self.tile, g, block, fine, start, g["slices"], line, column, channels)
        pixel = b.add(b.mul(first_row, g["out_columns"]), first_column)
        self._turn(at(b, coarse, pixel), b.mul(rows, columns), left)
        with counting(b, 0, counts[1], name="tile") as tile:
            self._tile(block, tile, counts[0], rows, columns)

    def _turn(self, source: Any, pixels: Any, filters: Any) -> None:
        """The panel's filters of the coarse image as pixels × filters, zeros where there is no filter."""
        b, g, tile, lanes = self.b, self.g, self.tile, self.tile.lanes
        with (
            counting(b, 0, pixels, lanes, name="pixel") as pixel,
            counting(b, 0, tile.width, lanes, name="part") as part,
        ):
            inside = lanes_below(b, b.sub(pixels, pixel), lanes)
            nothing = ir.Constant(inside.type, [0] * lanes)
            rows = []
            for row in range(lanes):
                filter_ = b.add(part, i64(row))
                mask = b.select(b.icmp_signed("<", filter_, filters), inside, nothing)
                address = at(b, source, b.add(b.mul(filter_, g["y_channel"]), pixel))
                rows.append(load_masked(b, address, mask, zeros(tile.kind, lanes)))
            corner = at(b, self.pixels, b.add(b.mul(pixel, i64(tile.width)), part))
            for column, value in enumerate(transposed(b, rows)):
                self._store(value, at(b, corner, column * tile.width))

    def _tile(self, block: Any, index: Any, count: Any, rows: Any, columns: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        first = b.mul(index, i64(tile.rows))
        taps = []
        for row in range(tile.rows):
            tap = smaller(b, b.add(first, i64(row)), b.sub(count, i64(1)))
            taps.append(at(b, block, b.load(at(b, self.offsets, tap))))
        place = at(b, self.sums, b.mul(first, i64(tile.width)))
        before = load_tile(b, tile, place, i64(tile.width))
        with carrying(b, 0, rows, before, name="y") as line:
            begin = b.mul(line.index, g["row_pitch"])
            pixels = at(b, self.pixels, product(b, line.index, columns, tile.width))
            with carrying(b, 0, columns, line.values, name="x") as turn:
                offset = b.add(begin, b.mul(turn.index, i64(self.step)))
                elements = [at(b, tap, offset) for tap in taps]
                turn.next = multiplied(
                    b, tile, turn.values, elements, at(b, pixels, b.mul(turn.index, i64(tile.width)))
                )
            line.next = turn.values
        store_tile(b, tile, line.values, place, i64(tile.width))

    def _write(self, target: Any, count: Any, filters: Any) -> None:
        """The sums, taps × filters, as filters × taps."""
        b, g, tile, lanes = self.b, self.g, self.tile, self.tile.lanes
        with counting(b, 0, count, lanes, name="k") as k, counting(b, 0, tile.width, lanes, name="part") as part:
            corner = at(b, self.sums, b.add(b.mul(k, i64(tile.width)), part))
            rows = [load_vector(b, at(b, corner, row * tile.width), lanes) for row in range(lanes)]
            inside = lanes_below(b, b.sub(count, k), lanes)
            nothing = ir.Constant(inside.type, [0] * lanes)
            for column, value in enumerate(transposed(b, rows)):
                filter_ = b.add(part, i64(column))
                mask = b.select(b.icmp_signed("<", filter_, filters), inside, nothing)
                store_masked(b, value, at(b, target, b.add(b.mul(filter_, g["filter_step"]), k)), mask)

    def _store(self, value: Any, address: Any) -> None:
        made = self.b.store(value, self.b.bitcast(address, value.type.as_pointer()))
        made.align = self.tile.itemsize


def gradient_tile(filters: int, taps: int, itemsize: int) -> Tile:
    """The tile with the fewest estimated cycles for that many filters and taps."""
    lanes = tile_of(1, 1, itemsize).lanes
    best: tuple[float, int, int] | None = None
    for vectors in (1, 2, 3, 4):
        for rows in range(1, min(most_rows(vectors), _ADDRESSES, taps) + 1):
            cycles = max(rows * vectors / 2, (rows + vectors) / 1.7, 4.0) + 0.2
            cost = cycles * math.ceil(taps / rows) * math.ceil(filters / (vectors * lanes))
            if best is None or cost <= best[0]:
                best = (cost, rows, vectors)
    assert best is not None
    return tile_of(best[1], best[2], itemsize)


class WeightGradientPlan:
    """The kernel and the sizes for one gradient; `shape` is the convolution's, not transposed."""

    def __init__(self, shape: Shape, y_strides: tuple[int, ...]) -> None:
        """`y_strides`: the element strides of the coarse image, whose rows and columns adjoin."""
        self.shape = shape = without_gaps(shape)
        self.taps = math.prod(shape.kernel)
        self.tile = gradient_tile(shape.filters, shape.channels * self.taps, shape.itemsize)
        self.panels = math.ceil(shape.filters / self.tile.width)
        together = max(1, math.ceil(192 / self.taps))
        few = shape.groups * self.panels
        while together > 1 and few * math.ceil(shape.channels / together) < 6 and together * self.taps > 36:
            together = together // 2
        self.splits = math.ceil(shape.channels / together)
        self.channel_block = math.ceil(shape.channels / self.splits)
        self._block()
        kernel = jit.Kernel(
            "convolution_gradient", (self.tile, shape.stride[2], self.direct), "pppppw",
            WeightGradientWriter(self.tile, shape.stride[2], self.direct),
        )  # fmt: skip
        self.call, self.work = kernel.call, self._work(y_strides)

    def _block(self) -> None:
        shape, tile = self.shape, self.tile
        spans = [d * (k - 1) for k, d in zip(shape.kernel, shape.dilation, strict=True)]
        depth, height, width = shape.outside
        slices = shape.kernel[0]

        def pitch(columns: int) -> int:
            return math.ceil(((columns - 1) * shape.stride[2] + spans[2] + 1) / tile.lanes) * tile.lanes

        def fits(rows: int, columns: int) -> bool:
            seen = (rows - 1) * shape.stride[1] + spans[1] + 1
            size = self.channel_block * slices * seen * pitch(columns) * shape.itemsize
            return rows * columns * tile.width * shape.itemsize <= _PANEL and size <= _BLOCK

        columns, rows = width, height
        while columns > 8 and not fits(1, columns):
            columns = math.ceil(columns / 2)
        while rows > 1 and (columns < width or not fits(rows, columns)):
            rows -= 1
        self.rows = math.ceil(height / math.ceil(height / rows))
        self.columns = columns
        self.pitch = pitch(columns)
        self.block_rows = (self.rows - 1) * shape.stride[1] + spans[1] + 1
        self.direct = not any(shape.padding)
        if self.direct:
            self._places(shape.x_strides[1], shape.x_strides[2] * shape.dilation[0], shape.x_strides[3])
            self.pixels_at = self.plane = 0
        else:
            self.plane = slices * self.block_rows * self.pitch
            self._places(self.plane, self.block_rows * self.pitch, self.pitch)
            self.pixels_at = math.ceil((self.channel_block * self.plane + 2 * tile.lanes) / 16) * 16
        self.sums_at = self.pixels_at + (self.rows * self.columns + tile.lanes) * tile.width
        taps = math.ceil(self.channel_block * self.taps / tile.rows) * tile.rows + tile.lanes
        self.slot = math.ceil(((self.sums_at + taps * tile.width) * shape.itemsize + 128) / 64) * 64

    def _places(self, channel: int, slice_: int, row: int) -> None:
        """Where each tap of each channel reads for the first pixel of a block."""
        shape = self.shape
        z, y, x = np.meshgrid(*[np.arange(k, dtype=np.int64) for k in shape.kernel], indexing="ij")
        places = z * slice_ + y * shape.dilation[1] * row + x * shape.dilation[2]
        channels = np.arange(self.channel_block, dtype=np.int64)[:, None] * channel
        self.offsets = (channels + places.reshape(1, -1)).reshape(-1)

    def _work(self, y_strides: tuple[int, ...]) -> np.ndarray:
        shape = self.shape
        depth, height, width = shape.outside
        sizes = {
            "panels": self.panels, "splits": self.splits, "images": shape.batch, "depth": depth,
            "row_blocks": math.ceil(height / self.rows), "column_blocks": math.ceil(width / self.columns),
            "x_image": shape.x_strides[0], "x_channel": shape.x_strides[1], "x_slice": shape.x_strides[2],
            "x_row": shape.x_strides[3], "in_depth": shape.inside[0], "in_rows": shape.inside[1],
            "in_columns": shape.inside[2], "y_image": y_strides[0], "y_channel": y_strides[1],
            "y_slice": y_strides[2], "out_rows": height, "out_columns": width, "channels": shape.channels,
            "filters": shape.filters, "channel_block": self.channel_block, "taps": self.taps,
            "slices": shape.kernel[0], "z_step": shape.dilation[0], "z_step_in": shape.stride[0],
            "z_origin": -shape.padding[0], "block_rows": self.block_rows, "block_pitch": self.pitch,
            "block_plane": self.plane, "rows": self.rows, "row_step": self.rows * shape.stride[1],
            "row_origin": -shape.padding[1], "columns": self.columns, "column_step": self.columns * shape.stride[2],
            "column_origin": -shape.padding[2],
            "row_pitch": shape.stride[1] * (shape.x_strides[3] if self.direct else self.pitch),
            "pixels_at": self.pixels_at, "sums_at": self.sums_at,
            "filter_step": shape.channels * self.taps,
        }  # fmt: skip
        return jit.extents(shape.groups * self.panels * self.splits, 1, *GEOMETRY.order(sizes), release=True)

    def run(self, gradient: np.ndarray, coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
        """The gradient of the dense weights."""
        return self.call(gradient, coarse, fine, self.offsets, workspace.of(self.slot), self.work)
