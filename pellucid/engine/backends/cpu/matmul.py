"""Products of matrices, one or a batch: both operands as panels, tiles of sums written straight into the result.

An item is a block of panels of both operands. Along k, blocks fit the caches: a panel of the right operand stays in the
first while the left ones pass. What is added (a bias, or `addmm`'s first operand) is where the sums begin.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, counting, i64, splat
from pellucid.engine.backends.cpu.gemm import (
    Extents,
    Tile,
    accumulate,
    divided,
    most_rows,
    product,
    smaller,
    tile_of,
    total,
)
from pellucid.engine.backends.cpu.gemm_panels import Panels
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, store_masked, zeros

SIZES = Extents(
    "rows", "columns", "k", "k_block", "row_panels", "column_panels", "row_blocks", "column_blocks", "row_block",
    "column_block", "x_batch", "x_row",
)  # fmt: skip
_ALONE = 300_000  # multiplications that one thread does sooner than two would
_ITEMS = 16


class MatmulWriter:
    """Writes the kernel for one tile; `added`: whether something is added to the product, `scaled`: whether both have
    factors.
    """

    def __init__(self, tile: Tile, added: bool, scaled: bool) -> None:
        self.tile = tile
        self.added = added
        self.scaled = scaled

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(out, left panels, right panels, x, beta, alpha, work, begin, end)."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        pointer = self.tile.kind.as_pointer()
        self.out, self.left, self.right, self.x = (b.bitcast(each, pointer) for each in function.args[:4])
        self.beta, self.alpha = (self._number(each) for each in function.args[4:6])
        work, begin, end = function.args[6:]
        self.g = g = SIZES.read(b, work)
        with counting(b, begin, end, name="item") as item:
            rest, column_block = divided(b, item, g["column_blocks"])
            batch, row_block = divided(b, rest, g["row_blocks"])
            self._block(batch, row_block, column_block)
        b.ret_void()

    def _number(self, value: Any) -> Any:
        narrow = value if value.type == self.tile.kind else self.b.fptrunc(value, self.tile.kind)
        return splat(self.b, narrow, self.tile.lanes)

    def _block(self, batch: Any, row_block: Any, column_block: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        first_row, first_column = b.mul(row_block, g["row_block"]), b.mul(column_block, g["column_block"])
        last_row = smaller(b, b.add(first_row, g["row_block"]), g["row_panels"])
        last_column = smaller(b, b.add(first_column, g["column_block"]), g["column_panels"])
        with (
            counting(b, 0, g["k"], g["k_block"], name="kb") as start,
            counting(b, first_column, last_column, name="column") as column,
            counting(b, first_row, last_row, name="row") as row,
        ):
            left = at(b, self.left, product(b, b.add(b.mul(batch, g["row_panels"]), row), g["k"], tile.rows))
            right = at(b, self.right, product(b, b.add(b.mul(batch, g["column_panels"]), column), g["k"], tile.width))
            self._tile(left, right, start, (batch, b.mul(row, i64(tile.rows)), b.mul(column, i64(tile.width))))

    def _tile(self, left: Any, right: Any, start: Any, where: tuple[Any, Any, Any]) -> None:
        b, g, tile = self.b, self.g, self.tile
        batch, row, column = where
        stop = smaller(b, b.add(start, g["k_block"]), g["k"])
        corner = at(b, self.out, total(b, b.mul(b.add(b.mul(batch, g["rows"]), row), g["columns"]), column))
        masks = self._masks(b.sub(g["rows"], row), b.sub(g["columns"], column))
        first = b.icmp_signed("==", start, i64(0))
        sums = self._initial(corner, masks, first, where)

        def operands(k: Any) -> tuple[list[Any], Any]:
            column_of_left = at(b, left, b.mul(k, i64(tile.rows)))
            elements = [at(b, column_of_left, index) for index in range(tile.rows)]
            return elements, at(b, right, b.mul(k, i64(tile.width)))

        sums = accumulate(b, tile, start, stop, sums, operands)
        if self.scaled:
            sums = self._scaled(sums, b.icmp_signed("==", stop, g["k"]), where, masks)
        for index, value in enumerate(sums):
            store_masked(b, value, self._place(corner, g["columns"], index), masks[index])

    def _masks(self, rows: Any, columns: Any) -> list[Any]:
        b, tile = self.b, self.tile
        inside = [lanes_below(b, b.sub(columns, i64(part * tile.lanes)), tile.lanes) for part in range(tile.vectors)]
        nothing = ir.Constant(inside[0].type, [0] * tile.lanes)
        there = [b.icmp_signed("<", i64(row), rows) for row in range(tile.rows)]
        return [b.select(row, part, nothing) for row in there for part in inside]

    def _place(self, corner: Any, step: Any, index: int) -> Any:
        row, part = divmod(index, self.tile.vectors)
        return at(self.b, at(self.b, corner, self.b.mul(i64(row), step)), part * self.tile.lanes)

    def _added(self, where: tuple[Any, Any, Any], masks: list[Any]) -> list[Any]:
        """The tile of what is added."""
        b, g, tile = self.b, self.g, self.tile
        corner = at(b, self.x, total(b, b.mul(where[0], g["x_batch"]), b.mul(where[1], g["x_row"]), where[2]))
        nothing = zeros(tile.kind, tile.lanes)
        return [load_masked(b, self._place(corner, g["x_row"], i), mask, nothing) for i, mask in enumerate(masks)]

    def _initial(self, corner: Any, masks: list[Any], first: Any, where: tuple[Any, Any, Any]) -> list[Any]:
        """Where the sums of a block along k begin: nothing or what is added, then what is there."""
        b, g, tile = self.b, self.g, self.tile
        nothing = zeros(tile.kind, tile.lanes)
        with b.if_else(first) as (begins, goes_on):
            with begins:
                start = self._added(where, masks) if self.added and not self.scaled else [nothing] * len(masks)
                start_block = b.block
            with goes_on:
                kept = [load_masked(b, self._place(corner, g["columns"], i), m, nothing) for i, m in enumerate(masks)]
                kept_block = b.block
        found = []
        for new, old in zip(start, kept, strict=True):
            value = b.phi(new.type)
            value.add_incoming(new, start_block)
            value.add_incoming(old, kept_block)
            found.append(value)
        return found

    def _scaled(self, sums: list[Any], last: Any, where: tuple[Any, Any, Any], masks: list[Any]) -> list[Any]:
        """After the last block, alpha times the sums plus beta times what is added."""
        b = self.b
        before = b.block
        with b.if_then(last):
            found = [b.fmul(self.alpha, value) for value in sums]
            if self.added:
                terms = self._added(where, masks)
                found = [b.fadd(value, b.fmul(self.beta, term)) for value, term in zip(found, terms, strict=True)]
            after = b.block
        chosen = []
        for old, new in zip(sums, found, strict=True):
            value = b.phi(old.type)
            value.add_incoming(old, before)
            value.add_incoming(new, after)
            chosen.append(value)
        return chosen


def matmul_tile(rows: int, columns: int, itemsize: int) -> Tile:
    """The tile with the fewest estimated cycles for a result of that size."""
    lanes = tile_of(1, 1, itemsize).lanes
    best: tuple[float, int, int] | None = None
    for vectors in (1, 2):
        most = min(most_rows(vectors), 14)
        even = math.ceil(rows / math.ceil(rows / most))
        for high in (even, most):
            cycles = max(high * vectors / 2, (high + vectors) / 1.9, 4.0) + 0.2 * vectors
            cost = cycles * math.ceil(rows / high) * math.ceil(columns / (vectors * lanes))
            if best is None or cost < best[0]:
                best = (cost, high, vectors)
    assert best is not None
    return tile_of(best[1], best[2], itemsize)


@functools.cache
def _kernel(tile: Tile, added: bool, scaled: bool) -> jit.Kernel:
    return jit.Kernel("matmul", (tile, added, scaled), "ppppddw", MatmulWriter(tile, added, scaled))


Steps = tuple[int, int, int]


class MatmulPlan:
    """A product (batch, m, k) @ (batch, k, n), each operand with its element steps (batch, row, column): `run`."""

    def __init__(
        self, sizes: tuple[int, int, int, int], itemsize: int, left: Steps, right: Steps,
        x: tuple[int, int] | None = None, beta: float = 1, alpha: float = 1,
    ) -> None:  # fmt: skip
        """`x`: the steps (batch, row) of what is added, whose columns adjoin."""
        batch, m, k, n = sizes
        tile = matmul_tile(m, n, itemsize)
        self.left = Panels(itemsize, tile.rows, batch, m, k, left)
        self.right = Panels(itemsize, tile.width, batch, n, k, (right[0], right[2], right[1]))
        self.scaled = alpha != 1 or (x is not None and beta != 1)
        self.beta, self.alpha = float(beta), float(alpha)
        rows, columns = self.left.count, self.right.count
        blocks = max(1, math.ceil(k / 320))
        row_block, column_block = self._blocks(batch, rows, columns)
        values = {
            "rows": m, "columns": n, "k": k, "k_block": math.ceil(k / blocks), "row_panels": rows,
            "column_panels": columns, "row_blocks": math.ceil(rows / row_block),
            "column_blocks": math.ceil(columns / column_block), "row_block": row_block, "column_block": column_block,
            "x_batch": x[0] if x else 0, "x_row": x[1] if x else 0,
        }  # fmt: skip
        items = batch * values["row_blocks"] * values["column_blocks"]
        each = batch * m * n * k // items
        chunk = items if batch * m * n * k < _ALONE else max(1, _ALONE // 2 // max(each, 1))
        self.work = jit.extents(items, chunk, *SIZES.order(values), release=batch * m * n * k > _ALONE)
        self.call = _kernel(tile, x is not None, self.scaled).call

    @staticmethod
    def _blocks(batch: int, rows: int, columns: int) -> tuple[int, int]:
        """Panels of an item: blocks that fit the second cache, and enough items to share."""
        row_block, column_block = min(rows, 10), min(columns, 8)
        while batch * math.ceil(rows / row_block) * math.ceil(columns / column_block) < _ITEMS:
            if column_block > 2 and column_block * 2 >= row_block:
                column_block = math.ceil(column_block / 2)
            elif row_block > 2:
                row_block = math.ceil(row_block / 2)
            elif column_block > 1:
                column_block = 1
            else:
                break
        return row_block, column_block

    def run(self, out: np.ndarray, a: np.ndarray, b: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
        """The product in `out`, which is dense."""
        left, right = self.left.pack(a), self.right.pack(b)
        return self.call(out, left, right, out if x is None else x, self.beta, self.alpha, self.work)
