"""The weights of a convolution as panels: for every tap and input channel, the neighbouring filters side by side."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import I64, at, counting, i64
from pellucid.engine.backends.cpu.gemm import Extents, Tile, divided, product, smaller, total
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, transposed, zeros

PACKING = Extents("phases", "panels", "filters", "group_step", "filter_step", "group_weights")
ORDERS = ("filters adjoin", "taps adjoin", "scattered")
_PHASE = 3  # entries of a phase: its number of taps times channels, where its offsets begin, where its panels begin


class WeightsWriter:
    """Writes the kernel that packs weights which lie in one of `ORDERS`."""

    def __init__(self, tile: Tile, order: str) -> None:
        self.tile = tile
        self.order = order

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(packed, weights, table, work, begin, end): an item is a panel of a phase of a group."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        packed, weights = (b.bitcast(each, self.tile.kind.as_pointer()) for each in function.args[:2])
        table = b.bitcast(function.args[2], I64.as_pointer())
        work, begin, end = function.args[3:]
        self.g = g = PACKING.read(b, work)
        with counting(b, begin, end, name="item") as item:
            rest, panel = divided(b, item, g["panels"])
            group, phase = divided(b, rest, g["phases"])
            entry = at(b, table, b.mul(phase, i64(_PHASE)))
            count, offsets, base = (b.load(at(b, entry, index)) for index in range(_PHASE))
            target = at(b, packed, total(
                b, b.mul(group, g["group_weights"]), base, product(b, panel, count, self.tile.width),
            ))  # fmt: skip
            filter_ = b.mul(panel, i64(self.tile.width))
            source = at(b, weights, total(b, b.mul(group, g["group_step"]), b.mul(filter_, g["filter_step"])))
            left = b.sub(g["filters"], filter_)
            self._panel(target, source, at(b, table, offsets), count, left)
        b.ret_void()

    def _panel(self, target: Any, source: Any, offsets: Any, count: Any, left: Any) -> None:
        if self.order == "filters adjoin":
            self._rows(target, source, offsets, count, left)
        elif self.order == "taps adjoin":
            self._squares(target, at(self.b, source, self.b.load(offsets)), count, left)
        else:
            self._elements(target, source, offsets, count, left)

    def _rows(self, target: Any, source: Any, offsets: Any, count: Any, left: Any) -> None:
        b, tile = self.b, self.tile
        masks = [lanes_below(b, b.sub(left, i64(part * tile.lanes)), tile.lanes) for part in range(tile.vectors)]
        with counting(b, 0, count, name="k") as k:
            line, row = at(b, source, b.load(at(b, offsets, k))), at(b, target, b.mul(k, i64(tile.width)))
            for part, mask in enumerate(masks):
                value = load_masked(b, at(b, line, part * tile.lanes), mask, zeros(tile.kind, tile.lanes))
                self._store(value, at(b, row, part * tile.lanes))

    def _squares(self, target: Any, source: Any, count: Any, left: Any) -> None:
        b, tile, lanes = self.b, self.tile, self.tile.lanes
        with counting(b, 0, count, lanes, name="k") as k, counting(b, 0, tile.width, lanes, name="part") as part:
            inside = lanes_below(b, b.sub(count, k), lanes)
            nothing = ir.Constant(inside.type, [0] * lanes)
            rows = []
            for row in range(lanes):
                filter_ = b.add(part, i64(row))
                mask = b.select(b.icmp_signed("<", filter_, left), inside, nothing)
                address = at(b, source, b.add(b.mul(filter_, self.g["filter_step"]), k))
                rows.append(load_masked(b, address, mask, zeros(tile.kind, lanes)))
            for column, value in enumerate(transposed(b, rows)):
                there = b.icmp_signed("<", b.add(k, i64(column)), count)
                with b.if_then(there):
                    place = b.add(b.mul(b.add(k, i64(column)), i64(tile.width)), part)
                    self._store(value, at(b, target, place))

    def _elements(self, target: Any, source: Any, offsets: Any, count: Any, left: Any) -> None:
        b, tile = self.b, self.tile
        present = smaller(b, left, i64(tile.width))
        with counting(b, 0, count, name="k") as k:
            line, row = at(b, source, b.load(at(b, offsets, k))), at(b, target, b.mul(k, i64(tile.width)))
            with counting(b, 0, present, name="filter") as filter_:
                b.store(b.load(at(b, line, b.mul(filter_, self.g["filter_step"]))), at(b, row, filter_))
            with counting(b, present, tile.width, name="none") as none:
                b.store(ir.Constant(tile.kind, 0.0), at(b, row, none))

    def _store(self, value: Any, address: Any) -> None:
        made = self.b.store(value, self.b.bitcast(address, value.type.as_pointer()))
        made.align = self.tile.itemsize


def weights_kernel(tile: Tile, order: str) -> jit.Kernel:
    """The kernel that packs weights for `tile`."""
    return jit.Kernel("convolution_weights", (tile, order), "pppw", WeightsWriter(tile, order))
