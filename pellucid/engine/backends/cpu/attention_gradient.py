"""Attention in tiles, backward: the weights of a block of queries and keys are computed again from the saved logarithms
of their sums, and both products that need them are done while they are in the caches. An item is a head.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu.attention import SIZES, AttentionWriter
from pellucid.engine.backends.cpu.emit import at, carrying, counting, i64, load_vector, splat, store_vector
from pellucid.engine.backends.cpu.gemm import (
    accumulate,
    divided,
    load_tile,
    product,
    smaller,
    store_tile,
    total,
)
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, slot, store_masked, zeros
from pellucid.engine.backends.cpu.span import SUM

TILES = 4  # tiles of queries that are done together
ARGUMENTS = (
    "dq", "dk", "dv", "dy", "y", "lse", "q_panels", "q_lines", "k_panels", "k_lines", "v_panels", "dy_panels",
    "dy_lines", "mask",
)  # fmt: skip


class AttentionBackward(AttentionWriter):
    """Writes the kernel of the backward pass."""

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(*ARGUMENTS, scratch, scale, work, begin, end)."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        tile = self.tile
        pointer = tile.kind.as_pointer()
        self.given = {name: b.bitcast(x, pointer) for name, x in zip(ARGUMENTS, function.args, strict=False)}
        self.mask = self.given["mask"]
        scratch, scale, work, begin, end = function.args[len(ARGUMENTS) :]
        narrow = scale if scale.type == tile.kind else b.fptrunc(scale, tile.kind)
        self.scale = splat(b, narrow, tile.lanes)
        self.g = g = SIZES.read(b, work)
        self.wide, self.wide_values = b.mul(g["d_panels"], i64(tile.width)), b.mul(g["v_panels"], i64(tile.width))
        rows = tile.rows * TILES
        with slot(b, scratch) as own:
            self.weights = b.bitcast(own, pointer)
            self.slopes = at(b, self.weights, rows * self.step)
            self.levels = at(b, self.slopes, rows * self.step)
            self.sums_q = at(b, self.levels, rows)
            self.sums_k = at(b, self.sums_q, b.mul(self.wide, i64(rows)))
            keys = b.add(g["keys"], i64(tile.rows))
            self.sums_v = at(b, self.sums_k, b.mul(self.wide, keys))
            self.end = b.mul(self.wide_values, keys)
            with counting(b, begin, end, name="head") as head:
                self._head(head)
        b.ret_void()

    def panels_of(self, name: str, head: Any, panels: str, k: str, width: int) -> Any:
        """A head's panels."""
        b, g = self.b, self.g
        return at(b, self.given[name], product(b, head, g[panels], g[k], width))

    def _head(self, head: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        where = divided(b, head, g["heads"])
        self._clear(self.sums_k, b.add(b.mul(self.wide, b.add(g["keys"], i64(tile.rows))), self.end))
        rows = tile.rows * TILES
        with counting(b, 0, g["queries"], rows, name="queries") as first:
            count = smaller(b, i64(rows), b.sub(g["queries"], first))
            tiles = b.udiv(b.add(count, i64(tile.rows - 1)), i64(tile.rows))
            self._clear(self.sums_q, b.mul(self.wide, i64(rows)))
            self._levels(where, first, count)
            limit = smaller(b, self.seen(b.add(first, b.sub(count, i64(1))), i64(0)), g["keys"])
            with counting(b, 0, limit, self.block, name="keys") as start:
                keys = smaller(b, i64(self.block), b.sub(limit, start))
                self._block(head, where, (first, count, tiles), start, keys)
            self._write("dq", self.sums_q, self.wide, "q", g["depth"], where, first, count)
        self._write("dk", self.sums_k, self.wide, "k", g["depth"], where, i64(0), g["keys"])
        self._write("dv", self.sums_v, self.wide_values, "v", g["values"], where, i64(0), g["keys"])

    def _clear(self, place: Any, count: Any) -> None:
        b, tile = self.b, self.tile
        with counting(b, 0, count, tile.lanes, name="zero") as index:
            store_vector(b, zeros(tile.kind, tile.lanes), at(b, place, index))

    def _levels(self, where: tuple[Any, Any], first: Any, count: Any) -> None:
        """Per query, the sum of the products of the result and its gradient."""
        b, g, tile = self.b, self.g, self.tile
        with counting(b, 0, count, name="row") as row:
            query = b.add(first, row)
            lines = [
                at(b, self.given[name], total(
                    b, b.mul(where[0], g[f"{name}_batch"]), b.mul(where[1], g[f"{name}_head"]),
                    b.mul(query, g[f"{name}_row"]),
                ))
                for name in ("dy", "y")
            ]  # fmt: skip
            nothing = zeros(tile.kind, tile.lanes)
            with carrying(b, 0, g["values"], [nothing], tile.lanes, name="lane") as turn:
                inside = lanes_below(b, b.sub(g["values"], turn.index), tile.lanes)
                dy, y = (load_masked(b, at(b, line, turn.index), inside, nothing) for line in lines)
                turn.next = [b.fadd(turn.values[0], b.fmul(dy, y))]
            b.store(SUM.across(b, turn.values[0]), at(b, self.levels, row))

    def _block(self, head: Any, where: tuple[Any, Any], queries: tuple[Any, Any, Any], start: Any, keys: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        first, count, tiles = queries
        panels = b.udiv(b.add(keys, i64(tile.width - 1)), i64(tile.width))
        keys_at = at(b, self.panels_of("k_panels", head, "k_panels", "depth", tile.width), b.mul(start, g["depth"]))
        values_at = at(b, self.panels_of("v_panels", head, "k_panels", "values", tile.width), b.mul(start, g["values"]))
        base = b.add(b.mul(head, g["q_panels"]), b.udiv(first, i64(tile.rows)))
        with counting(b, 0, tiles, name="tile") as number:
            panel = b.add(base, number)
            rows = b.mul(number, i64(tile.rows * self.step))
            self.depth = g["depth"]
            left = at(b, self.given["q_panels"], product(b, panel, g["depth"], tile.rows))
            self.products(left, keys_at, panels, at(b, self.weights, rows))
            self.depth = g["values"]
            left = at(b, self.given["dy_panels"], product(b, panel, g["values"], tile.rows))
            self.products(left, values_at, panels, at(b, self.slopes, rows))
        with counting(b, 0, count, name="row") as row:
            self._row(head, where, row, b.add(first, row), start, b.mul(panels, i64(tile.width)))
        self._queries(head, tiles, start, keys)
        into = [
            (self.sums_k, self.slopes, "q_lines", "d_panels", self.wide),
            (self.sums_v, self.weights, "dy_lines", "v_panels", self.wide_values),
        ]
        for sums, factors, lines, columns, pitch in into:
            right = self.panels_of(lines, head, columns, "queries", tile.width)
            right = at(b, right, b.mul(first, i64(tile.width)))
            self._keys(at(b, sums, b.mul(start, pitch)), factors, right, g[columns], pitch, count, keys)

    def _row(self, head: Any, where: tuple[Any, Any], row: Any, query: Any, start: Any, count: Any) -> None:
        """A row of scores becomes weights, and that of their gradients the scores' gradients."""
        b, g, tile = self.b, self.g, self.tile
        weights, slopes = (at(b, x, b.mul(row, i64(self.step))) for x in (self.weights, self.slopes))
        mask, valid = self.mask_row(where, query, start), self.seen(query, start)
        lse = splat(b, b.load(at(b, self.given["lse"], b.add(b.mul(head, g["queries"]), query))), tile.lanes)
        level = splat(b, b.load(at(b, self.levels, row)), tile.lanes)
        with counting(b, 0, count, tile.lanes, name="lane") as lane:
            weight = self.maths().exp(b.fsub(self.scaled_row(weights, lane, mask, valid), lse))
            slope = b.fsub(load_vector(b, at(b, slopes, lane), tile.lanes), level)
            store_vector(b, weight, at(b, weights, lane))
            store_vector(b, b.fmul(b.fmul(weight, slope), self.scale), at(b, slopes, lane))
        end = smaller(b, b.add(count, i64(tile.rows)), i64(self.block))  # a tile of keys may end after the panel
        with counting(b, count, end, tile.lanes, name="beyond") as lane:
            for each in (weights, slopes):
                store_vector(b, zeros(tile.kind, tile.lanes), at(b, each, lane))

    def _queries(self, head: Any, tiles: Any, start: Any, keys: Any) -> None:
        """Add the scores' gradients times the keys to the sums of the queries."""
        b, g, tile = self.b, self.g, self.tile
        lines = self.panels_of("k_lines", head, "d_panels", "keys", tile.width)
        with counting(b, 0, g["d_panels"], name="column") as column, counting(b, 0, tiles, name="tile") as number:
            rows = at(b, lines, b.mul(b.add(b.mul(column, g["keys"]), start), i64(tile.width)))
            slopes = at(b, self.slopes, b.mul(number, i64(tile.rows * self.step)))
            place = at(b, self.sums_q, b.add(product(b, number, tile.rows, self.wide), b.mul(column, i64(tile.width))))

            def operands(k: Any) -> tuple[list[Any], Any]:
                elements = at(b, slopes, k)
                return [at(b, elements, row * self.step) for row in range(tile.rows)], at(
                    b, rows, b.mul(k, i64(tile.width))
                )

            sums = accumulate(b, tile, 0, keys, load_tile(b, tile, place, self.wide), operands)
            store_tile(b, tile, sums, place, self.wide)

    def _keys(self, sums: Any, factors: Any, right: Any, columns: Any, pitch: Any, count: Any, keys: Any) -> None:
        """Add the products of the factors, keys × queries, with rows of the queries to sums of the keys."""
        b, g, tile = self.b, self.g, self.tile
        with counting(b, 0, columns, name="column") as column, counting(b, 0, keys, tile.rows, name="key") as key:
            rows = at(b, right, product(b, column, g["queries"], tile.width))
            place = at(b, sums, b.add(b.mul(key, pitch), b.mul(column, i64(tile.width))))

            def operands(k: Any) -> tuple[list[Any], Any]:
                elements = at(b, factors, b.add(b.mul(k, i64(self.step)), key))
                return [at(b, elements, row) for row in range(tile.rows)], at(b, rows, b.mul(k, i64(tile.width)))

            found = accumulate(b, tile, 0, count, load_tile(b, tile, place, pitch), operands)
            store_tile(b, tile, found, place, pitch)

    def _write(
        self, name: str, sums: Any, pitch: Any, prefix: str, width: Any, where: tuple[Any, Any], first: Any, count: Any
    ) -> None:
        b, g, tile = self.b, self.g, self.tile
        corner = at(b, self.given[name], b.add(
            b.mul(where[0], g[f"{prefix}_batch"]), b.mul(where[1], g[f"{prefix}_head"])
        ))  # fmt: skip
        with counting(b, 0, count, name="row") as row, counting(b, 0, width, tile.lanes, name="lane") as lane:
            inside = lanes_below(b, b.sub(width, lane), tile.lanes)
            value = load_vector(b, at(b, sums, b.add(b.mul(row, pitch), lane)), tile.lanes)
            place = at(b, corner, b.add(b.mul(b.add(first, row), g[f"{prefix}_row"]), lane))
            store_masked(b, value, place, inside)
