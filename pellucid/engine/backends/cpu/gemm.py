"""The inner loop that every contraction shares: a tile of sums in registers, one column of the left operand times one
row of the right one at a time.

Where the elements of the left operand lie is the caller's business (packed, in a padded image, in a matrix): that is
what makes one generator serve matrix products, convolutions and their gradients. Loops around tiles are theirs too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu import isa
from pellucid.engine.backends.cpu.emit import (
    F32,
    F64,
    at,
    carrying,
    extent,
    i64,
    intrinsic,
    load_vector,
    splat,
    store_vector,
    vector,
)  # fmt: skip

Operands = Callable[[Any], tuple[list[Any], Any]]


@dataclass(frozen=True)
class Tile:
    """A tile of sums: `rows` times `vectors` vectors of `lanes` elements of `itemsize` bytes."""

    rows: int
    vectors: int
    lanes: int
    itemsize: int
    fused: bool

    @property
    def width(self) -> int:
        """Elements in a row."""
        return self.vectors * self.lanes

    @property
    def kind(self) -> ir.Type:
        """LLVM's type of an element."""
        return F32 if self.itemsize == 4 else F64


def tile_of(rows: int, vectors: int, itemsize: int, target: isa.Isa | None = None) -> Tile:
    """A tile for the instruction set, the host's by default."""
    target = target or isa.host()
    return Tile(rows, vectors, target.lanes(itemsize), itemsize, target.has_fma)


def most_rows(vectors: int, target: isa.Isa | None = None) -> int:
    """How many rows of sums fit in the registers beside a row of the right operand and one element of the left."""
    return max(1, ((target or isa.host()).registers - vectors - 1) // vectors)


def multiply_add(builder: ir.IRBuilder, tile: Tile, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once where the processor can."""
    if tile.fused:
        return intrinsic(builder, "fma", [a, b, c])
    return builder.fadd(builder.fmul(a, b), c)


def accumulate(
    builder: ir.IRBuilder, tile: Tile, start: Any, stop: Any, sums: list[Any], operands: Operands
) -> list[Any]:
    """`sums` and the products of columns and rows `start` to `stop`: `operands(k)` gives the addresses of a column's
    elements and of a row.
    """
    with carrying(builder, start, stop, sums, name="k") as turn:
        turn.next = multiplied(builder, tile, turn.values, *operands(turn.index))
    return turn.values


def multiplied(builder: ir.IRBuilder, tile: Tile, sums: list[Any], column: list[Any], row: Any) -> list[Any]:
    """`sums` and the products of one column and one row."""
    right = [load_vector(builder, at(builder, row, part * tile.lanes), tile.lanes) for part in range(tile.vectors)]
    found = []
    for index, address in enumerate(column):
        left = splat(builder, builder.load(address), tile.lanes)
        for part in range(tile.vectors):
            found.append(multiply_add(builder, tile, left, right[part], sums[index * tile.vectors + part]))
    return found


def load_tile(builder: ir.IRBuilder, tile: Tile, address: Any, step: Any) -> list[Any]:
    """The sums at `address`, rows `step` elements apart."""
    return [
        load_vector(builder, _place(builder, tile, address, step, row, part), tile.lanes)
        for row in range(tile.rows)
        for part in range(tile.vectors)
    ]


def store_tile(builder: ir.IRBuilder, tile: Tile, sums: list[Any], address: Any, step: Any) -> None:
    """Store the sums, rows `step` elements apart."""
    for row in range(tile.rows):
        for part in range(tile.vectors):
            place = _place(builder, tile, address, step, row, part)
            store_vector(builder, sums[row * tile.vectors + part], place)


def _place(builder: ir.IRBuilder, tile: Tile, address: Any, step: Any, row: int, part: int) -> Any:
    line = at(builder, address, builder.mul(i64(row), step))
    return at(builder, line, part * tile.lanes)


def no_sums(tile: Tile) -> list[Any]:
    """A tile of zeros."""
    return [ir.Constant(vector(tile.kind, tile.lanes), [0.0] * tile.lanes)] * (tile.rows * tile.vectors)


class Extents:
    """Names for the entries of a kernel's array of extents from the fourth on."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def read(self, builder: ir.IRBuilder, work: Any) -> dict[str, Any]:
        """All of them, as values."""
        return {name: extent(builder, work, 3 + index) for index, name in enumerate(self.names)}

    def order(self, values: dict[str, int]) -> list[int]:
        """The numbers as they stand in the array; every name must be there."""
        return [int(values[name]) for name in self.names]


def divided(builder: ir.IRBuilder, value: Any, by: Any) -> tuple[Any, Any]:
    """Quotient and remainder of numbers that are not negative."""
    quotient = builder.udiv(value, by)
    return quotient, builder.sub(value, builder.mul(quotient, by))


def smaller(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """The smaller of two integers."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def product(builder: ir.IRBuilder, *factors: Any) -> Any:
    """The product of integers."""
    found = i64(1)
    for factor in factors:
        found = builder.mul(found, i64(factor) if isinstance(factor, int) else factor)
    return found


def total(builder: ir.IRBuilder, *terms: Any) -> Any:
    """The sum of integers."""
    found = i64(0)
    for term in terms:
        found = builder.add(found, i64(term) if isinstance(term, int) else term)
    return found
