"""The gates of LSTM and GRU steps and their gradients, each in one pass over vectors of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.emit import F32, F64, at, counting, extent, i64, vector
from pellucid.engine.backends.cpu.packing import lanes_below, load_masked, store_masked, zeros
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.backends.cpu.vector_math import Maths
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.meta import Meta

_GRAIN = 8192  # elements of the state that a thread takes at once


class Cell:
    """One vector of the state: what the operands hold there, and where the results go.

    `read(operand, part)` and `write(result, part, value)`; an array of several gates has as many parts, side by side.
    """

    def __init__(self, builder: ir.IRBuilder, kind: ir.Type, lanes: int, rows: list[Any], size: Any) -> None:
        self.b, self.kind, self.lanes, self.rows, self.size = builder, kind, lanes, rows, size
        self.maths = Maths(builder, vector(kind, lanes))
        self.lane: Any = None
        self.inside: Any = None

    def _place(self, number: int, part: int) -> Any:
        b = self.b
        return at(b, self.rows[number], b.add(b.mul(i64(part), self.size), self.lane))

    def read(self, number: int, part: int = 0) -> Any:
        return load_masked(self.b, self._place(number, part), self.inside, zeros(self.kind, self.lanes))

    def write(self, number: int, part: int, value: Any) -> None:
        store_masked(self.b, value, self._place(number, part), self.inside)

    def sigmoid(self, x: Any) -> Any:
        b, one = self.b, self.maths.number(1.0)
        return b.fdiv(one, b.fadd(one, self.maths.exp(b.fneg(x))))

    def product(self, *factors: Any) -> Any:
        """The product, from left to right."""
        found = factors[0]
        for factor in factors[1:]:
            found = self.b.fmul(found, factor)
        return found

    def complement(self, x: Any) -> Any:
        """1 - x."""
        return self.b.fsub(self.maths.number(1.0), x)


def _lstm(cell: Cell) -> None:
    """h, memory, active <- gates, c."""
    b = cell.b
    i, f, o = (cell.sigmoid(cell.read(3, part)) for part in (0, 1, 3))
    g = cell.maths.tanh(cell.read(3, 2))
    memory = b.fadd(cell.product(f, cell.read(4)), cell.product(i, g))
    cell.write(0, 0, cell.product(o, cell.maths.tanh(memory)))
    cell.write(1, 0, memory)
    for part, value in enumerate((i, f, g, o)):
        cell.write(2, part, value)


def _lstm_slopes(cell: Cell) -> None:
    """dgates, dc <- dh, dmemory, c, memory, active."""
    b = cell.b
    dh, dmemory, c, memory = (cell.read(number) for number in range(2, 6))
    i, f, g, o = (cell.read(6, part) for part in range(4))
    bend = cell.maths.tanh(memory)
    through = b.fadd(dmemory, cell.product(dh, o, cell.complement(cell.product(bend, bend))))
    slopes = (
        cell.product(through, g, i, cell.complement(i)),
        cell.product(through, c, f, cell.complement(f)),
        cell.product(through, i, cell.complement(cell.product(g, g))),
        cell.product(dh, bend, o, cell.complement(o)),
    )
    for part, value in enumerate(slopes):
        cell.write(0, part, value)
    cell.write(1, 0, cell.product(through, f))


def _gru(cell: Cell) -> None:
    """y, active <- gates, own, h."""
    b = cell.b
    r, z = (cell.sigmoid(b.fadd(cell.read(2, part), cell.read(3, part))) for part in (0, 1))
    n = cell.maths.tanh(b.fadd(cell.read(2, 2), cell.product(r, cell.read(3, 2))))
    cell.write(0, 0, b.fadd(cell.product(b.fsub(cell.read(4), n), z), n))
    for part, value in enumerate((r, z, n)):
        cell.write(1, part, value)


def _gru_slopes(cell: Cell) -> None:
    """dgates, down, dh <- dy, own, h, active."""
    b = cell.b
    dy, own, h = cell.read(3), cell.read(4, 2), cell.read(5)
    r, z, n = (cell.read(6, part) for part in range(3))
    new = cell.product(dy, cell.complement(z), cell.complement(cell.product(n, n)))
    reset = cell.product(new, own, r, cell.complement(r))
    update = cell.product(dy, b.fsub(h, n), z, cell.complement(z))
    for part, value in enumerate((reset, update, new)):
        cell.write(0, part, value)
    for part, value in enumerate((reset, update, cell.product(new, r))):
        cell.write(1, part, value)
    cell.write(2, 0, cell.product(dy, z))


# operator: how many results and operands there are, and what one vector does
_STEPS: dict[str, tuple[int, int, Callable[[Cell], None]]] = {
    "lstm_gates": (3, 2, _lstm),
    "lstm_gates_slopes": (2, 5, _lstm_slopes),
    "gru_gates": (2, 3, _gru),
    "gru_gates_slopes": (3, 4, _gru_slopes),
}


class StepWriter:
    """Writes the kernel of one of the operators."""

    def __init__(self, name: str, itemsize: int, lanes: int) -> None:
        self.results, self.operands, self.step = _STEPS[name]
        self.kind = F32 if itemsize == 4 else F64
        self.lanes = lanes

    def __call__(self, module: ir.Module, function: ir.Function) -> None:
        """function(*results, *operands, work, begin, end): an item is a row; work[3] is the size of the state, then
        the distance of the rows in each array.
        """
        b = ir.IRBuilder(function.append_basic_block())
        count = self.results + self.operands
        bases = [b.bitcast(each, self.kind.as_pointer()) for each in function.args[:count]]
        work, begin, end = function.args[count:]
        size = extent(b, work, 3)
        steps = [extent(b, work, 4 + index) for index in range(count)]
        with counting(b, begin, end, name="row") as row:
            rows = [at(b, base, b.mul(row, step)) for base, step in zip(bases, steps, strict=True)]
            cell = Cell(b, self.kind, self.lanes, rows, size)
            with counting(b, 0, size, self.lanes, name="lane") as lane:
                cell.lane, cell.inside = lane, lanes_below(b, b.sub(size, lane), self.lanes)
                self.step(cell)
        b.ret_void()


def _readable(meta: Meta) -> bool:
    return meta.strides[1] == 1 or meta.shape[1] == 1


@kernel(*_STEPS)
def step(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """A step's gates, or their gradients."""
    kinds = {meta.dtype for meta in (*metas, *results)}
    state = results[0] if op.name in ("lstm_gates", "gru_gates") else results[-1]
    if len(kinds) != 1 or not kinds <= {float32, float64} or not state.numel:
        return None
    itemsize = state.dtype.itemsize
    lanes = isa.host().lanes(itemsize)
    count, size = state.shape
    writer = StepWriter(op.name, itemsize, lanes)
    call = jit.Kernel(op.name, (itemsize, lanes), "p" * (writer.results + writer.operands) + "w", writer).call
    steps = [meta.strides[0] if _readable(meta) else meta.shape[1] for meta in (*results, *metas)]
    work = jit.extents(count, max(1, _GRAIN // size), size, *steps)
    scattered = [index for index, meta in enumerate(metas) if not _readable(meta)]

    def run(arrays: list[Any], settings: dict[str, Any]) -> tuple[np.ndarray, ...]:
        found = tuple([allocate(meta) for meta in results])
        if scattered:
            arrays = [np.ascontiguousarray(x) if index in scattered else x for index, x in enumerate(arrays)]
        call(*found, *arrays, work)
        return found

    return run
