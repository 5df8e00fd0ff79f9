"""Attention in tiles, forward: scores of a few queries with a block of keys, their exponentials, and these times the
values, while all of it is in the caches. Dao et al., 2022 (FlashAttention), for processors.

Queries, keys and values come as panels (gemm_panels.py): for the scores with the depth as k, for the sums of values
with the keys as k. The backward pass is in attention_gradient.py.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu.emit import at, carrying, counting, i64, load_vector, splat, store_vector, vector
from pellucid.engine.backends.cpu.gemm import (
    Extents,
    Tile,
    accumulate,
    divided,
    load_tile,
    most_rows,
    no_sums,
    product,
    smaller,
    store_tile,
    tile_of,
    total,
)
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, slot, store_masked, zeros
from pellucid.engine.backends.cpu.span import MAXIMUM, SUM
from pellucid.engine.backends.cpu.vector_math import Maths

SIZES = Extents(
    "heads", "queries", "keys", "depth", "values", "tiles", "q_panels", "k_panels", "v_panels", "d_panels", "causal",
    "y_batch", "y_head", "y_row", "mask_batch", "mask_head", "mask_row",
    "dy_batch", "dy_head", "dy_row", "q_batch", "q_head", "q_row", "k_batch", "k_head", "k_row",
    "v_batch", "v_head", "v_row",
)  # fmt: skip


def attention_tile(itemsize: int) -> Tile:
    """Tiles of scores and of sums of values."""
    return tile_of(min(14, most_rows(2)), 2, itemsize)


def key_block(tile: Tile) -> int:
    """Keys whose scores are kept at once: whole panels, and whole tiles of keys in the backward pass."""
    unit = math.lcm(tile.rows, tile.width)
    return unit * max(1, 448 // unit)


class AttentionWriter:
    """What both passes share: products of panels, and the scores of a row."""

    b: ir.IRBuilder
    g: dict[str, Any]
    depth: Any  # of the products that are written now
    scale: Any
    mask: Any
    panel: Any

    def __init__(self, tile: Tile, masked: bool) -> None:
        self.tile = tile
        self.masked = masked
        self.block = key_block(tile)
        self.step = self.block + tile.lanes  # of the rows of scores; not a power of two, which would crowd the cache

    def maths(self) -> Maths:
        """Functions of vectors of scores."""
        return Maths(self.b, vector(self.tile.kind, self.tile.lanes))

    def constant(self, value: float) -> ir.Constant:
        """A vector with one number in every lane."""
        return ir.Constant(vector(self.tile.kind, self.tile.lanes), [value] * self.tile.lanes)

    def products(self, left: Any, right: Any, panels: Any, target: Any) -> None:
        """Rows of scores: a panel of queries times panels of keys, over the depth."""
        b, tile, depth = self.b, self.tile, self.depth

        def operands(k: Any) -> tuple[list[Any], Any]:
            column = at(b, left, b.mul(k, i64(tile.rows)))
            return [at(b, column, row) for row in range(tile.rows)], at(b, self.panel, b.mul(k, i64(tile.width)))

        with counting(b, 0, panels, name="panel") as panel:
            self.panel = at(b, right, product(b, panel, depth, tile.width))
            sums = accumulate(b, tile, 0, depth, no_sums(tile), operands)
            store_tile(b, tile, sums, at(b, target, b.mul(panel, i64(tile.width))), i64(self.step))

    def scaled_row(self, row: Any, lane: Any, mask: Any, valid: Any) -> Any:
        """A vector of scores, scaled, with the mask added; -inf beyond the keys that the query sees."""
        b, lanes = self.b, self.tile.lanes
        inside = lanes_below(b, b.sub(valid, lane), lanes)
        value = b.fmul(load_vector(b, at(b, row, lane), lanes), self.scale)
        if self.masked:
            value = b.fadd(value, load_masked(b, at(b, mask, lane), inside, zeros(self.tile.kind, lanes)))
        return b.select(inside, value, self.constant(-math.inf))

    def seen(self, query: Any, start: Any) -> Any:
        """How many keys from `start` on a query sees."""
        b, g = self.b, self.g
        causal = b.icmp_signed("!=", g["causal"], i64(0))
        most = b.select(causal, smaller(b, b.add(query, i64(1)), g["keys"]), g["keys"])
        return b.sub(most, start)

    def mask_row(self, head: tuple[Any, Any], query: Any, start: Any) -> Any:
        """Where a query's row of the mask begins."""
        b, g = self.b, self.g
        if not self.masked:
            return None
        row = smaller(b, query, b.sub(g["queries"], i64(1)))
        offset = total(
            b, b.mul(head[0], g["mask_batch"]), b.mul(head[1], g["mask_head"]), b.mul(row, g["mask_row"]), start
        )
        return at(b, self.mask, offset)


class AttentionForward(AttentionWriter):
    """Writes the kernel of the forward pass: an item is a tile of queries of one head."""

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(y, logsumexp, q panels, k panels, v panels, mask, scratch, scale, work, begin, end)."""
        self.b = b = ir.IRBuilder(function.append_basic_block())
        tile = self.tile
        pointer = tile.kind.as_pointer()
        self.y, self.lse, self.q, self.k, self.v, self.mask = (b.bitcast(x, pointer) for x in function.args[:6])
        scratch, scale, work, begin, end = function.args[6:]
        narrow = scale if scale.type == tile.kind else b.fptrunc(scale, tile.kind)
        self.scale = splat(b, narrow, tile.lanes)
        self.g = g = SIZES.read(b, work)
        self.depth = g["depth"]
        with slot(b, scratch) as own:
            self.scores = b.bitcast(own, pointer)
            self.tops = at(b, self.scores, tile.rows * self.step)
            self.shares = at(b, self.tops, tile.rows)
            self.factors = at(b, self.shares, tile.rows)
            self.sums = at(b, self.factors, tile.rows)
            with counting(b, begin, end, name="item") as item:
                head, tile_number = divided(b, item, g["tiles"])
                self._tile(head, b.mul(tile_number, i64(tile.rows)), tile_number)
        b.ret_void()

    def _tile(self, head: Any, first: Any, number: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        where = divided(b, head, g["heads"])
        queries = at(b, self.q, product(b, b.add(b.mul(head, g["q_panels"]), number), g["depth"], tile.rows))
        keys = at(b, self.k, product(b, head, g["k_panels"], g["depth"], tile.width))
        values = at(b, self.v, product(b, head, g["v_panels"], g["keys"], tile.width))
        pitch = b.mul(g["v_panels"], i64(tile.width))
        with counting(b, 0, b.mul(pitch, i64(tile.rows)), tile.lanes, name="zero") as place:
            store_vector(b, zeros(tile.kind, tile.lanes), at(b, self.sums, place))
        with counting(b, 0, tile.rows, name="row") as row:
            b.store(ir.Constant(tile.kind, -math.inf), at(b, self.tops, row))
            b.store(ir.Constant(tile.kind, 0.0), at(b, self.shares, row))
        limit = smaller(b, self.seen(b.add(first, i64(tile.rows - 1)), i64(0)), g["keys"])
        with counting(b, 0, limit, self.block, name="keys") as start:
            count = smaller(b, i64(self.block), b.sub(limit, start))
            panels = b.udiv(b.add(count, i64(tile.width - 1)), i64(tile.width))
            self.products(queries, at(b, keys, b.mul(start, g["depth"])), panels, self.scores)
            with counting(b, 0, tile.rows, name="row") as row:
                self._exponentials(row, where, b.add(first, row), start, b.mul(panels, i64(tile.width)))
            self._add_values(values, start, count, pitch)
        self._write(where, head, first, pitch)

    def _exponentials(self, row: Any, head: tuple[Any, Any], query: Any, start: Any, count: Any) -> None:
        """A row of scores as exponentials, relative to the highest so far; what was summed before shrinks."""
        b, tile = self.b, self.tile
        scores = at(b, self.scores, b.mul(row, i64(self.step)))
        mask, valid = self.mask_row(head, query, start), self.seen(query, start)
        with carrying(b, 0, count, [self.constant(-math.inf)], tile.lanes, name="top") as turn:
            value = self.scaled_row(scores, turn.index, mask, valid)
            store_vector(b, value, at(b, scores, turn.index))
            turn.next = [MAXIMUM.combine(b, turn.values[0], value)]
        before = b.load(at(b, self.tops, row))
        top = MAXIMUM.combine(b, before, MAXIMUM.across(b, turn.values[0]))
        nothing = b.fcmp_ordered("==", top, ir.Constant(tile.kind, -math.inf))
        level = splat(b, b.select(nothing, ir.Constant(tile.kind, 0.0), top), tile.lanes)
        with carrying(b, 0, count, [zeros(tile.kind, tile.lanes)], tile.lanes, name="exp") as turn:
            value = self.maths().exp(b.fsub(load_vector(b, at(b, scores, turn.index), tile.lanes), level))
            store_vector(b, value, at(b, scores, turn.index))
            turn.next = [b.fadd(turn.values[0], value)]
        shrunk = self.maths().exp(b.fsub(splat(b, before, tile.lanes), level))
        factor = b.extract_element(shrunk, ir.Constant(ir.IntType(32), 0))
        share = at(b, self.shares, row)
        b.store(b.fadd(b.fmul(b.load(share), factor), SUM.across(b, turn.values[0])), share)
        b.store(top, at(b, self.tops, row))
        b.store(factor, at(b, self.factors, row))

    def _add_values(self, values: Any, start: Any, count: Any, pitch: Any) -> None:
        b, g, tile = self.b, self.g, self.tile
        with counting(b, 0, g["v_panels"], name="values") as panel:
            rows = at(b, values, b.mul(b.add(b.mul(panel, g["keys"]), start), i64(tile.width)))
            place = at(b, self.sums, b.mul(panel, i64(tile.width)))
            before = load_tile(b, tile, place, pitch)
            factors = [splat(b, b.load(at(b, self.factors, row)), tile.lanes) for row in range(tile.rows)]
            sums = [b.fmul(value, factors[index // tile.vectors]) for index, value in enumerate(before)]

            def operands(k: Any, rows: Any = rows) -> tuple[list[Any], Any]:
                column = at(b, self.scores, k)
                elements = [at(b, column, row * self.step) for row in range(tile.rows)]
                return elements, at(b, rows, b.mul(k, i64(tile.width)))

            store_tile(b, tile, accumulate(b, tile, 0, count, sums, operands), place, pitch)

    def _write(self, where: tuple[Any, Any], head: Any, first: Any, pitch: Any) -> None:
        """The sums divided by the sums of the exponentials, and the logarithm of these; 0 where no key is seen."""
        b, g, tile = self.b, self.g, self.tile
        one, infinity = ir.Constant(tile.kind, 1.0), ir.Constant(tile.kind, math.inf)
        rows = smaller(b, i64(tile.rows), b.sub(g["queries"], first))
        with counting(b, 0, rows, name="row") as row:
            query = b.add(first, row)
            share, top = b.load(at(b, self.shares, row)), b.load(at(b, self.tops, row))
            nothing = b.fcmp_ordered("==", top, ir.Constant(tile.kind, -math.inf))
            scale = splat(b, b.fdiv(one, b.select(nothing, one, share)), tile.lanes)
            log = b.extract_element(self.maths().log(splat(b, share, tile.lanes)), ir.Constant(ir.IntType(32), 0))
            lse = b.select(nothing, infinity, b.fadd(top, log))
            b.store(lse, at(b, self.lse, b.add(b.mul(head, g["queries"]), query)))
            offset = total(b, b.mul(where[0], g["y_batch"]), b.mul(where[1], g["y_head"]), b.mul(query, g["y_row"]))
            source = at(b, self.sums, b.mul(row, pitch))
            with counting(b, 0, g["values"], tile.lanes, name="value") as lane:
                inside = lanes_below(b, b.sub(g["values"], lane), tile.lanes)
                value = b.fmul(load_vector(b, at(b, source, lane), tile.lanes), scale)
                store_masked(b, value, at(b, self.y, b.add(offset, lane)), inside)
