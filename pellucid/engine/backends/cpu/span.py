"""Runs of adjacent elements: loops in whole vectors, four at a time, then one, then single elements.

What is done with an element is a function on values that works for vectors and scalars alike. Sums use several
accumulators, so their rounding error grows like that of a pairwise sum of long blocks, and their order is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import isa
from pellucid.engine.backends.cpu.emit import (
    F32,
    F64,
    at,
    carrying,
    counting,
    i64,
    intrinsic,
    load_vector,
    splat,
    store_vector,
    vector,
)  # fmt: skip

_UNROLL = 4
Values = Callable[[Any, int], list[Any]]


class Span:
    """Writes loops over runs of `kind` elements for one instruction set."""

    def __init__(self, builder: ir.IRBuilder, kind: ir.Type, target: isa.Isa | None = None) -> None:
        self.builder = builder
        self.kind = kind
        self.lanes = (target or isa.host()).lanes(4 if isinstance(kind, ir.FloatType) else 8)

    def load(self, base: Any, index: Any, lanes: int) -> Any:
        """`lanes` adjacent elements (a scalar for 1)."""
        address = at(self.builder, base, index)
        return self.builder.load(address) if lanes == 1 else load_vector(self.builder, address, lanes)

    def store(self, value: Any, base: Any, index: Any, lanes: int) -> None:
        """Store `lanes` adjacent elements."""
        address = at(self.builder, base, index)
        if lanes == 1:
            self.builder.store(value, address)
        else:
            store_vector(self.builder, value, address)

    def wide(self, value: Any, lanes: int) -> Any:
        """A scalar in every lane."""
        return value if lanes == 1 else splat(self.builder, value, lanes)

    def constant(self, value: float, lanes: int) -> Any:
        """A number in every lane."""
        return ir.Constant(self.kind, value) if lanes == 1 else ir.Constant(vector(self.kind, lanes), [value] * lanes)

    def each(self, count: Any, body: Callable[[Any, int], None]) -> None:
        """`body(index, lanes)` over all of a run."""
        b = self.builder
        block = self.lanes * 2
        whole = b.and_(count, i64(-block))
        with counting(b, 0, whole, block) as index:
            for part in range(2):
                body(b.add(index, i64(part * self.lanes)), self.lanes)
        vectors = b.and_(count, i64(-self.lanes))
        with counting(b, whole, vectors, self.lanes) as index:
            body(index, self.lanes)
        with counting(b, vectors, count) as index:
            body(index, 1)

    def fold(self, count: Any, folds: list[Fold], values: Values) -> list[Any]:
        """The folds of `values(index, lanes)` over a run, as scalars."""
        b, lanes = self.builder, self.lanes
        block = lanes * _UNROLL
        whole, vectors = b.and_(count, i64(-block)), b.and_(count, i64(-lanes))
        start = [self.constant(each.identity, lanes) for each in folds for _ in range(_UNROLL)]
        with carrying(b, 0, whole, start, block) as loop:
            found = [values(b.add(loop.index, i64(part * lanes)), lanes) for part in range(_UNROLL)]
            loop.next = [
                each.combine(b, loop.values[position * _UNROLL + part], found[part][position])
                for position, each in enumerate(folds)
                for part in range(_UNROLL)
            ]
        joined = []
        for position, each in enumerate(folds):
            first, second, third, fourth = loop.values[position * _UNROLL : (position + 1) * _UNROLL]
            joined.append(each.combine(b, each.combine(b, first, second), each.combine(b, third, fourth)))
        with carrying(b, whole, vectors, joined, lanes) as loop:
            found_one = values(loop.index, lanes)
            loop.next = [each.combine(b, loop.values[i], found_one[i]) for i, each in enumerate(folds)]
        scalars = [each.across(b, loop.values[i]) for i, each in enumerate(folds)]
        with carrying(b, vectors, count, scalars) as loop:
            found_one = values(loop.index, 1)
            loop.next = [each.combine(b, loop.values[i], found_one[i]) for i, each in enumerate(folds)]
        return list(loop.values)


class Fold:
    """An associative combination with its identity."""

    def __init__(self, name: str, identity: float, combine: Callable[[ir.IRBuilder, Any, Any], Any]) -> None:
        self.name = name
        self.identity = identity
        self.combine = combine

    def across(self, builder: ir.IRBuilder, value: Any) -> Any:
        """The lanes of a vector combined, halves first."""
        lanes = value.type.count
        while lanes > 1:
            half = lanes // 2
            nothing = ir.Constant(value.type, ir.Undefined)
            mask = vector(ir.IntType(32), half)
            low = builder.shuffle_vector(value, nothing, ir.Constant(mask, list(range(half))))
            high = builder.shuffle_vector(value, nothing, ir.Constant(mask, list(range(half, lanes))))
            value = self.combine(builder, low, high)
            lanes = half
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


def _maximum(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    """The larger; a NaN if one is."""
    chosen = builder.select(builder.fcmp_ordered(">", a, b), a, b)
    return builder.select(builder.fcmp_unordered("uno", a, a), a, chosen)


def _minimum(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    chosen = builder.select(builder.fcmp_ordered("<", a, b), a, b)
    return builder.select(builder.fcmp_unordered("uno", a, a), a, chosen)


SUM = Fold("sum", 0.0, lambda b, x, y: b.fadd(x, y))
PRODUCT = Fold("prod", 1.0, lambda b, x, y: b.fmul(x, y))
MAXIMUM = Fold("max", float("-inf"), _maximum)
MINIMUM = Fold("min", float("inf"), _minimum)


def element_type(dtype: np.dtype) -> ir.Type:
    """LLVM's type of a NumPy float type."""
    return F32 if dtype == np.float32 else F64


def absolute(builder: ir.IRBuilder, value: Any) -> Any:
    """|value|."""
    return intrinsic(builder, "fabs", [value])
