"""Complex numbers from their parts, and their angles. Conjugation is arithmetic.py's, parts are views (shape.py)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import conj, div, mul, no_slope
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import absolute, real_of
from pellucid.engine.ops.trigonometry import cos, sin


@pointwise(accepts="number", grad_name="ConjPhysicalBackward0")
def conj_physical(x: Any) -> Any:
    """Complex conjugate; a real tensor is copied."""
    return np.conj(x) if x.dtype.kind == "c" else x.copy()


@conj_physical.vjp("x")
def conj_physical_dx(dy: Any) -> Any:
    return conj(dy)


@pointwise(name="complex", result=lambda common: common.to_complex(), accepts="real floating")
def complex_(a: Any, b: Any) -> Any:
    """The complex number a + bi."""
    return _join(a, b)


def _join(a: Any, b: Any) -> np.ndarray:
    a, b = np.broadcast_arrays(a, b)
    joined = np.empty(a.shape, np.complex128 if a.dtype == np.float64 else np.complex64)
    joined.real, joined.imag = a, b
    return joined


@complex_.vjp("a")
def complex_da(dy: Any) -> Any:
    return real_of(dy)


@complex_.vjp("b")
def complex_db(dy: Any) -> Any:
    return real_of(mul(dy, -1j))


@pointwise(result=lambda common: common.to_complex(), accepts="real floating")
def polar(size: Any, angle: Any) -> Any:
    """The complex number with this absolute value and this angle."""
    return _join(size * np.cos(angle), size * np.sin(angle))


@polar.vjp("size")
def polar_dsize(dy: Any, angle: Any) -> Any:
    return real_of(mul(dy, conj(complex_(cos(angle), sin(angle)))))


@polar.vjp("angle")
def polar_dangle(dy: Any, y: Any) -> Any:
    return real_of(mul(dy, conj(mul(y, 1j))))


@pointwise(result="float_real")
def angle(x: Any) -> Any:
    """The angle of a complex number in (-pi, pi]; of a real one, 0 or pi, and NaN stays."""
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(x < 0, x.dtype.type(math.pi), np.where(x != x, x, x.dtype.type(0)))


@angle.vjp("x")
def angle_dx(dy: Any, x: Any) -> Any:
    if not x._meta.dtype.is_complex:
        return no_slope(dy)
    at_zero = eq(x, 0)
    direction = div(mul(x, 1j), mul(absolute(x), absolute(x)))
    return where(at_zero, 0, mul(where(at_zero, 0, dy), direction))


__all__ = ["angle", "complex_", "conj_physical", "polar"]
