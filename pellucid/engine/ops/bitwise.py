"""Operators on the bits of integers and on truth values."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise


@pointwise(accepts="integral")
def bitwise_and(a: Any, b: Any) -> Any:
    """Bits that both have; of bools, logical and."""
    return a & b


@pointwise(accepts="integral")
def bitwise_or(a: Any, b: Any) -> Any:
    """Bits that one has; of bools, logical or."""
    return a | b


@pointwise(accepts="integral")
def bitwise_xor(a: Any, b: Any) -> Any:
    """Bits that exactly one has; of bools, logical xor."""
    return a ^ b


@pointwise(accepts="integral")
def bitwise_not(x: Any) -> Any:
    """All bits turned; of bools, logical not."""
    return ~x


def _width(x: np.ndarray) -> int:
    return 8 * x.dtype.itemsize


@pointwise(accepts="integral")
def shift_left(a: Any, b: Any) -> Any:
    """Bits moved up; 0 when moved by the width or more, or by a negative count."""
    outside = (b < 0) | (b >= _width(a))
    return np.where(outside, 0, a << np.where(outside, 0, b)).astype(a.dtype)


@pointwise(accepts="integral")
def shift_right(a: Any, b: Any) -> Any:
    """Bits moved down, the sign kept; the sign alone is left when moved by the width or more, or by a negative
    count.
    """
    outside = (b < 0) | (b >= _width(a))
    return (a >> np.where(outside, _width(a) - 1, b).astype(a.dtype)).astype(a.dtype)


@pointwise(accepts="integral")
def gcd(a: Any, b: Any) -> Any:
    """Greatest common divisor."""
    return np.gcd(a, b)


@pointwise(accepts="integral")
def lcm(a: Any, b: Any) -> Any:
    """Least common multiple."""
    return np.lcm(a, b)
