"""A block of an image with the zeros around it, copied to where a kernel's tiles read it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu.emit import at, counting, i64
from pellucid.engine.backends.cpu.gemm import Tile, total
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, zeros


def copy_block(
    builder: ir.IRBuilder,
    tile: Tile,
    g: dict[str, Any],
    block: Any,
    source: Any,
    start: Any,
    slices: Any,
    first_row: Any,
    first_column: Any,
    channels: Any = None,
) -> None:
    """The input that the taps of some outputs see: channels × slices × rows × columns, zero outside of the image.

    `g` has the strides and sizes of the image (`x_…`, `in_…`) and of the block (`block_…`); what is copied beyond a
    row's end is written over by the next row.
    """
    b, lanes = builder, tile.lanes
    with (
        counting(b, 0, g["channels"] if channels is None else channels, name="channel") as channel,
        counting(b, 0, slices, name="slice") as part,
        counting(b, 0, g["block_rows"], name="row") as row,
    ):
        z = b.add(start, b.mul(part, g["z_step"]))
        line = b.add(first_row, row)
        there = b.and_(b.icmp_unsigned("<", z, g["in_depth"]), b.icmp_unsigned("<", line, g["in_rows"]))
        limit = b.select(there, g["in_columns"], i64(0))
        offset = total(b, b.mul(channel, g["x_channel"]), b.mul(z, g["x_slice"]), b.mul(line, g["x_row"]))
        line_of_block = b.mul(b.add(b.mul(part, g["block_rows"]), row), g["block_pitch"])
        target = at(b, block, b.add(b.mul(channel, g["block_plane"]), line_of_block))
        with counting(b, 0, g["block_pitch"], lanes, name="column") as column:
            begin = b.add(first_column, column)
            value = _line(b, tile, at(b, source, offset), begin, limit)
            address = b.bitcast(at(b, target, column), value.type.as_pointer())
            b.store(value, address).align = tile.itemsize


def _line(b: ir.IRBuilder, tile: Tile, source: Any, begin: Any, limit: Any) -> Any:
    """Elements from `begin` on, zero where they are below 0 or not below `limit`."""
    negative = lanes_below(b, b.sub(i64(0), begin), tile.lanes)
    inside = b.and_(lanes_below(b, b.sub(limit, begin), tile.lanes), b.not_(negative))
    return load_masked(b, at(b, source, begin), inside, zeros(tile.kind, tile.lanes))
