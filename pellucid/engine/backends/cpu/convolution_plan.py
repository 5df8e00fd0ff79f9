"""What is decided once for a convolution: the tile, the blocks, and the tables of taps that its kernels read.

Every convolution is described with three spatial axes; the missing ones have size 1. A transposed convolution is a
convolution per phase of its output: pixels whose positions leave the same remainder divided by the stride see the same
taps, with a distance of 1 between what neighbours see.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.convolution import GEOMETRY, convolution_kernel
from pellucid.engine.backends.cpu.convolution_weights import PACKING, weights_kernel
from pellucid.engine.backends.cpu.gemm import Tile, most_rows, tile_of
from pellucid.engine.backends.cpu.packing import workspace

Ints = tuple[int, ...]
_BLOCK = 192 * 1024  # bytes of input that an item keeps in the second cache
_SUMS = 96 * 1024
_ITEMS = 12  # enough for a few threads to share evenly


@dataclass(frozen=True)
class Shape:
    """A convolution's operands as the kernel sees them: sizes and element strides of (batch, channel, z, y, x)."""

    batch: int
    groups: int
    channels: int  # read, of one group
    filters: int  # written, of one group
    inside: Ints  # the read image's size
    outside: Ints  # the written image's size
    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    transposed: bool
    itemsize: int
    x_strides: Ints
    weight_strides: Ints  # group, filter, channel, then one per axis


def without_gaps(shape: Shape) -> Shape:
    """The same convolution where slices or rows that no tap sees are stepped over by the strides."""
    inside, stride, steps = list(shape.inside), list(shape.stride), list(shape.x_strides)
    for axis in (0, 1):
        if shape.kernel[axis] == 1 and not shape.padding[axis] and not shape.transposed and stride[axis] > 1:
            inside[axis] = math.ceil(inside[axis] / stride[axis])
            steps[2 + axis] *= stride[axis]
            stride[axis] = 1
    return replace(shape, inside=tuple(inside), stride=tuple(stride), x_strides=tuple(steps))


@dataclass(frozen=True)
class Axis:
    """One axis of one phase: which taps it has, and where they look from."""

    taps: list[int]
    starts: list[int]  # what the phase's first output sees with each tap, in input positions


def axis_phases(kernel: int, stride: int, padding: int, dilation: int, transposed: bool) -> list[Axis]:
    """The phases of one axis."""
    if not transposed:
        return [Axis(list(range(kernel)), [tap * dilation - padding for tap in range(kernel)])]
    found = []
    for phase in range(stride):
        taps = [tap for tap in range(kernel) if (phase + padding - tap * dilation) % stride == 0]
        found.append(Axis(taps, [(phase + padding - tap * dilation) // stride for tap in taps]))
    return found


def chosen_tile(length: int, filters: int, itemsize: int) -> Tile:
    """The tile with the fewest estimated cycles for rows of `length` pixels and that many filters."""
    lanes = tile_of(1, 1, itemsize).lanes
    best: tuple[float, int, int] | None = None
    for vectors in (1, 2, 3, 4, 8):
        for rows in range(1, min(most_rows(vectors), 28, length) + 1):
            cycles = max(rows * vectors / 2, (rows + vectors) / 1.9, 4.0) + 0.2 * vectors
            cost = cycles * math.ceil(length / rows) * math.ceil(filters / (vectors * lanes))
            if best is None or cost < best[0] * 0.999:
                best = (cost, rows, vectors)
    assert best is not None
    return tile_of(best[1], best[2], itemsize)


class ConvolutionPlan:
    """The kernels and tables of one convolution: `run(y, x, weight, bias)`."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape = without_gaps(shape)
        self.out_step = shape.stride if shape.transposed else (1, 1, 1)
        self.in_step = (1, 1, 1) if shape.transposed else shape.stride
        how = zip(shape.kernel, shape.stride, shape.padding, shape.dilation, strict=True)
        self.axes = [axis_phases(*each, shape.transposed) for each in how]
        length = math.ceil(shape.outside[2] / self.out_step[2])
        self.tile = chosen_tile(min(length, 448), shape.filters, shape.itemsize)
        self.panels = math.ceil(shape.filters / self.tile.width)
        self._block()
        self._tables()
        self.kernel = convolution_kernel(self.tile, self.in_step[2], self.direct)

    def _bounds(self, axis: int) -> tuple[int, int]:
        """The lowest and highest start of any tap along an axis."""
        starts = [start for phase in self.axes[axis] for start in phase.starts]
        return (min(starts), max(starts)) if starts else (0, 0)

    def _block(self) -> None:
        """How many output rows and columns an item does."""
        shape, tile, lanes = self.shape, self.tile, self.tile.lanes
        step_y, step_x = self.out_step[1:]
        self.slices = max(len(phase.taps) for phase in self.axes[0])
        low, high = self._bounds(2)
        per_tile = tile.rows * step_x
        wanted = math.ceil(shape.outside[2] / per_tile)

        def pitch_of(tiles: int) -> int:
            width = (tiles * tile.rows - 1) * self.in_step[2] + high - low + 1
            return math.ceil(width / lanes) * lanes

        def fits(tiles: int, rows: int) -> bool:
            seen = (rows - 1) * self.in_step[1] + self._bounds(1)[1] - self._bounds(1)[0] + 1
            block = shape.channels * self.slices * seen * pitch_of(tiles) * shape.itemsize
            return block <= _BLOCK and tiles * per_tile * rows * step_y * tile.width * shape.itemsize <= _SUMS

        tiles = wanted
        while tiles > 1 and not fits(tiles, 1):
            tiles = math.ceil(tiles / 2)
        tiles = math.ceil(wanted / math.ceil(wanted / tiles))
        whole = math.ceil(shape.outside[1] / step_y)
        rows = whole
        others = shape.batch * shape.groups * shape.outside[0] * math.ceil(wanted / tiles)
        while rows > 1 and (not fits(tiles, rows) or (others * math.ceil(whole / rows) < _ITEMS and rows > 4)):
            rows -= 1
        rows = math.ceil(whole / math.ceil(whole / rows)) if rows else 1
        self.tiles, self.rows = tiles, max(rows, 1)
        self.row_blocks = math.ceil(whole / self.rows)
        self.column_blocks = math.ceil(wanted / tiles)
        self.block_rows = (self.rows - 1) * self.in_step[1] + self._bounds(1)[1] - self._bounds(1)[0] + 1
        self.pitch = pitch_of(tiles)
        items = others * self.row_blocks
        self.splits = max(1, min(self.panels, math.ceil(_ITEMS / max(items, 1))))

    def _tables(self) -> None:
        """Phases, offsets into the block per tap and channel, offsets of the weights."""
        shape, lanes = self.shape, self.tile.lanes
        one = all(k == 1 for k in shape.kernel) and all(s == 1 for s in shape.stride) and not any(shape.padding)
        flat = shape.inside[:2] == (1, 1) and shape.inside == shape.outside
        self.direct = one and flat and shape.outside[2] % self.tile.rows == 0
        self.plane = shape.x_strides[1] if self.direct else self.slices * self.block_rows * self.pitch
        low_y, low_x = self._bounds(1)[0], self._bounds(2)[0]
        in_plane = list(itertools.product(enumerate(self.axes[1]), enumerate(self.axes[2])))
        header = 2 * len(self.axes[0]) + 6 * len(self.axes[0]) * len(in_plane)
        heads: list[int] = []
        entries: list[int] = []
        packing: list[tuple[int, list[int]]] = []
        offsets: list[np.ndarray] = []
        at, weights = header, 0
        for z in self.axes[0]:
            heads += [z.starts[0] if z.taps else 0, len(z.taps)]
            for (row, y), (column, x) in in_plane:
                taps = list(itertools.product(enumerate(z.taps), *(zip(a.taps, a.starts, strict=True) for a in (y, x))))
                places = [
                    (part * self.block_rows + start_y - low_y) * self.pitch + start_x - low_x
                    for (part, _), (_, start_y), (_, start_x) in taps
                ]
                _, _, step, *steps = shape.weight_strides
                sources = [
                    tap_z * steps[0] + tap_y * steps[1] + tap_x * steps[2]
                    for (_, tap_z), (tap_y, _), (tap_x, _) in taps
                ]
                channels = np.arange(shape.channels, dtype=np.int64)[:, None]
                count = shape.channels * len(taps)
                offsets.append((channels * self.plane + np.array(places, np.int64)[None]).reshape(-1))
                packing.append((weights, (channels * step + np.array(sources, np.int64)[None]).reshape(-1)))
                entries += [count, at, weights, row, column, self.tiles]
                at, weights = at + count, weights + count * self.panels * self.tile.width
        self.table = np.concatenate([np.array(heads + entries, np.int64), *offsets]).astype(np.int64)
        self.group_weights = weights
        self.k_most = max(len(each) for _, each in packing)
        self._packing(packing)
        self.block_size = 0 if self.direct else math.ceil((shape.channels * self.plane + lanes) / 16) * 16
        per_row = self.tiles * self.tile.rows * self.out_step[2]
        self.sums_pitch = per_row
        self.slot = (
            self.block_size + (self.rows * self.out_step[1] * per_row + lanes) * self.tile.width
        ) * shape.itemsize
        self.slot = math.ceil((self.slot + 128) / 64) * 64

    def _packing(self, phases: list[tuple[int, np.ndarray]]) -> None:
        shape = self.shape
        group, filter_ = shape.weight_strides[:2]
        adjoin = all(len(each) == 0 or (each == each[0] + np.arange(len(each))).all() for _, each in phases)
        order = "filters adjoin" if filter_ == 1 else "taps adjoin" if adjoin else "scattered"
        self.pack = weights_kernel(self.tile, order)
        heads, at = [], 3 * len(phases)
        for base, each in phases:
            heads += [len(each), at, base]
            at += len(each)
        self.pack_table = np.concatenate([np.array(heads, np.int64), *[each for _, each in phases]]).astype(np.int64)
        values = {
            "phases": len(phases), "panels": self.panels, "filters": shape.filters, "group_step": group,
            "filter_step": filter_, "group_weights": self.group_weights,
        }  # fmt: skip
        items = shape.groups * len(phases) * self.panels
        small = self.group_weights * shape.groups < 50_000
        self.pack_work = jit.extents(items, items if small else 1, *PACKING.order(values), release=not small)

    def prepared(self, y_strides: Ints) -> Any:
        """A function (y, x, weight, bias) -> y for results with these element strides."""
        shape = self.shape
        work = self._work(y_strides)
        pack, pack_table, pack_work = self.pack.call, self.pack_table, self.pack_work
        call, table, slot = self.kernel.call, self.table, self.slot
        packed_size = self.group_weights * shape.groups + self.tile.width
        kind = np.float32 if shape.itemsize == 4 else np.float64
        none = np.zeros(shape.groups * shape.filters, kind)

        def run(y: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: Any) -> np.ndarray:
            packed = pack(np.empty(packed_size, kind), weight, pack_table, pack_work)
            return call(y, x, packed, none if bias is None else bias, table, workspace.of(slot), work)

        return run

    def _work(self, y_strides: Ints) -> np.ndarray:
        shape = self.shape
        outside = shape.outside
        joins = self.column_blocks == 1 and self.sums_pitch == outside[2] == y_strides[3]
        blocks = max(1, math.ceil(self.k_most / 320))
        sizes = {
            "groups": shape.groups, "depth": outside[0], "row_blocks": self.row_blocks,
            "column_blocks": self.column_blocks, "splits": self.splits, "panels": self.panels,
            "x_image": shape.x_strides[0], "x_channel": shape.x_strides[1], "x_slice": shape.x_strides[2],
            "x_row": shape.x_strides[3], "in_depth": shape.inside[0], "in_rows": shape.inside[1],
            "in_columns": shape.inside[2], "y_image": y_strides[0], "y_channel": y_strides[1],
            "y_slice": y_strides[2], "y_row": y_strides[3], "out_rows": outside[1], "out_columns": outside[2],
            "channels": shape.channels, "filters": shape.filters,
            "block_rows": self.block_rows, "block_pitch": self.pitch, "block_plane": self.plane,
            "rows": self.rows * self.out_step[1], "row_step": self.rows * self.in_step[1],
            "row_origin": self._bounds(1)[0],
            "columns": self.tiles * self.tile.rows * self.out_step[2],
            "column_step": self.tiles * self.tile.rows * self.in_step[2], "column_origin": self._bounds(2)[0],
            "z_phases": len(self.axes[0]), "z_step_in": self.in_step[0], "z_step": self._z_step(),
            "phases": len(self.axes[1]) * len(self.axes[2]), "step_in": self.in_step[1],
            "step_out": self.out_step[1], "column_step_out": self.out_step[2], "pitch": self.sums_pitch,
            "runs_join": joins, "sums_at": self.block_size,
            "k_block": math.ceil(self.k_most / blocks), "group_weights": self.group_weights,
        }  # fmt: skip
        items = shape.batch * shape.groups * outside[0] * self.row_blocks * self.column_blocks * self.splits
        return jit.extents(items, 1, *GEOMETRY.order(sizes), release=True)

    def _z_step(self) -> int:
        """The distance in the input of the slices that the neighbouring taps of a phase see."""
        for phase in self.axes[0]:
            if len(phase.starts) > 1:
                return phase.starts[1] - phase.starts[0]
        return 1
