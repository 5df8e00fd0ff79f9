"""A matrix as panels: for every k, `width` neighbouring rows (of the left operand) or columns (of the right one) side
by side, zeros beyond the end. `length` is the axis that is cut into panels.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.emit import F32, F64, at, counting, i64
from pellucid.engine.backends.cpu.gemm import Extents, divided, product, smaller, total
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, store_masked, transposed, zeros

PANELS = Extents("panels", "parts", "part", "length", "k", "batch_step", "length_step", "k_step", "inner", "outer_step")
_PART = 256  # steps along k that an item packs


class PanelsWriter:
    """Writes the kernel for one width of panels and one order of the source: which of its axes adjoins."""

    def __init__(self, itemsize: int, lanes: int, width: int, k_adjoins: bool) -> None:
        self.kind = F32 if itemsize == 4 else F64
        self.itemsize = itemsize
        self.lanes = lanes
        self.width = width
        self.k_adjoins = k_adjoins

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(packed, source, work, begin, end): an item is a part along k of a panel of a matrix of the batch."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        packed, source = (b.bitcast(each, self.kind.as_pointer()) for each in function.args[:2])
        work, begin, end = function.args[2:]
        self.g = g = PANELS.read(b, work)
        with counting(b, begin, end, name="item") as item:
            rest, part = divided(b, item, g["parts"])
            batch, panel = divided(b, rest, g["panels"])
            first = b.mul(part, g["part"])
            last = smaller(b, b.add(first, g["part"]), g["k"])
            start = b.mul(panel, i64(self.width))
            outer, inner = divided(b, batch, g["inner"])
            matrix = at(b, source, b.add(b.mul(outer, g["outer_step"]), b.mul(inner, g["batch_step"])))
            origin = at(b, matrix, b.mul(start, g["length_step"]))
            target = at(b, packed, product(b, total(b, b.mul(batch, g["panels"]), panel), g["k"], self.width))
            write = self._squares if self.k_adjoins else self._lines
            write(target, origin, first, last, b.sub(g["length"], start))
        b.ret_void()

    def _lines(self, target: Any, source: Any, first: Any, last: Any, left: Any) -> None:
        b, lanes = self.b, self.lanes
        starts = range(0, self.width, lanes)
        read = [lanes_below(b, b.sub(left, i64(start)), lanes) for start in starts]
        with counting(b, first, last, name="k") as k:
            line, row = at(b, source, b.mul(k, self.g["k_step"])), at(b, target, b.mul(k, i64(self.width)))
            for start, mask in zip(starts, read, strict=True):
                value = load_masked(b, at(b, line, start), mask, zeros(self.kind, lanes))
                self._store(value, at(b, row, start), self.width - start)

    def _squares(self, target: Any, source: Any, first: Any, last: Any, left: Any) -> None:
        b, lanes = self.b, self.lanes
        for start in range(0, self.width, lanes):
            there = [
                b.icmp_signed("<", i64(start + row), left)
                if start + row < self.width
                else ir.Constant(ir.IntType(1), 0)
                for row in range(lanes)
            ]
            lines = [at(b, source, b.mul(i64(start + row), self.g["length_step"])) for row in range(lanes)]
            with counting(b, first, last, lanes, name="k") as k:
                inside = lanes_below(b, b.sub(last, k), lanes)
                nothing = ir.Constant(inside.type, [0] * lanes)
                rows = [
                    load_masked(b, at(b, line, k), b.select(each, inside, nothing), zeros(self.kind, lanes))
                    for line, each in zip(lines, there, strict=True)
                ]
                corner = at(b, target, b.add(b.mul(k, i64(self.width)), i64(start)))
                for column, value in enumerate(transposed(b, rows)):
                    with b.if_then(b.icmp_signed("<", b.add(k, i64(column)), last), likely=True):
                        self._store(value, at(b, corner, column * self.width), self.width - start)

    def _store(self, value: Any, address: Any, room: int) -> None:
        b = self.b
        if room >= self.lanes:
            b.store(value, b.bitcast(address, value.type.as_pointer())).align = self.itemsize
            return
        mask = ir.Constant(ir.VectorType(ir.IntType(1), self.lanes), [int(lane < room) for lane in range(self.lanes)])
        store_masked(b, value, address, mask)


@functools.cache
def _kernel(itemsize: int, width: int, k_adjoins: bool) -> jit.Kernel:
    lanes = isa.host().lanes(itemsize)
    spec = (itemsize, lanes, width, k_adjoins)
    return jit.Kernel("gemm_panels", spec, "ppw", PanelsWriter(*spec))


class Panels:
    """How one operand of a product is packed: `pack(source)` gives the panels."""

    def __init__(
        self,
        itemsize: int,
        width: int,
        batch: int,
        length: int,
        k: int,
        steps: tuple[int, int, int],
        outer: tuple[int, int] = (1 << 62, 0),
    ) -> None:
        """`steps`: elements from one matrix, one place along `length`, one along `k` to the next; one of the last two
        is 1, or its axis has one place. `outer`: with batches of batches, how many inner ones there are and the
        step from one of the outer ones to the next.
        """
        _, length_step, k_step = steps
        self.count = -(-length // width)
        k_adjoins = (k_step == 1 or k == 1) and not (length_step == 1 and (k_step != 1 or width >= k))
        parts = -(-k // _PART)
        part = -(-k // parts)
        work = PANELS.order({
            "panels": self.count, "parts": parts, "part": part, "length": length, "k": k, "batch_step": steps[0],
            "length_step": length_step, "k_step": k_step, "inner": outer[0], "outer_step": outer[1],
        })  # fmt: skip
        items = batch * self.count * parts
        self.size = batch * self.count * width * k + 64
        self.kind = np.float32 if itemsize == 4 else np.float64
        chunk = max(1, 16384 // (part * width))
        self.work = jit.extents(items, items if self.size < 65536 else chunk, *work)
        self.call = _kernel(itemsize, width, k_adjoins).call

    def pack(self, source: np.ndarray) -> np.ndarray:
        """The panels of `source`."""
        return self.call(np.empty(self.size, self.kind), source, self.work)
