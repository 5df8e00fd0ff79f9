"""Blocks of sixteen uniforms as sixteen normals, bit for bit what `core/random_normal.py` computes with NumPy.

The steps and their constants are that file's; here a fused multiply-add is one instruction.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.emit import F32, I32, at, counting, fma, i64, intrinsic, load_vector, store_vector

_LANES = 8
_FLOATS, _WHOLE = ir.VectorType(F32, _LANES), ir.VectorType(I32, _LANES)


@dataclass(frozen=True)
class Constants:
    """The polynomials of log, sine and cosine, leading coefficient first, and pi/4 in three parts."""

    log: tuple[float, ...]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    quarter_pi: tuple[float, float, float]
    log2: tuple[float, float]


def available() -> bool:
    """Whether this processor multiplies and adds in one rounding."""
    return isa.host().has_fma


def normals(units: np.ndarray, constants: Constants) -> np.ndarray:
    """Standard normals from float32 uniforms in whole blocks."""
    out = np.empty_like(units)
    return _kernel(constants).call(out, units, jit.extents(len(units) // 16, 4096, release=len(units) > 50_000))


@functools.cache
def _kernel(constants: Constants) -> jit.Kernel:
    def build(module: ir.Module, function: ir.Function) -> None:
        b = ir.IRBuilder(function.append_basic_block())
        out, units = [b.bitcast(each, F32.as_pointer()) for each in function.args[:2]]
        with counting(b, function.args[3], function.args[4], name="block") as block:
            first = b.mul(block, i64(16))
            second = b.add(first, i64(_LANES))
            sine, cosine = _transformed(
                b, load_vector(b, at(b, units, first), _LANES), load_vector(b, at(b, units, second), _LANES), constants
            )
            store_vector(b, cosine, at(b, out, first))
            store_vector(b, sine, at(b, out, second))
        b.ret_void()

    return jit.Kernel("normals", repr(constants), "ppw", build)


def _number(value: float) -> ir.Constant:
    return ir.Constant(_FLOATS, [float(np.float32(value))] * _LANES)


def _integer(value: int) -> ir.Constant:
    return ir.Constant(_WHOLE, [value] * _LANES)


def _chain(b: ir.IRBuilder, x: Any, coefficients: Sequence[float]) -> Any:
    result: Any = _number(coefficients[0])
    for each in coefficients[1:]:
        result = fma(b, result, x, _number(each))
    return result


def _transformed(b: ir.IRBuilder, u1: Any, u2: Any, constants: Constants) -> tuple[Any, Any]:
    """Sine and cosine of 2 pi u2, times sqrt(-2 log(1 - u1))."""
    log = _log(b, b.fsub(_number(1), u1), constants)
    radius = intrinsic(b, "sqrt", [b.fmul(_number(-2), log)])
    sine, cosine = _sine_and_cosine(b, b.fmul(_number(2 * np.pi), u2), constants)
    return b.fmul(sine, radius), b.fmul(cosine, radius)


def _log(b: ir.IRBuilder, u: Any, constants: Constants) -> Any:
    bits = b.bitcast(u, _WHOLE)
    exponent = b.sitofp(b.sub(b.ashr(bits, _integer(23)), _integer(126)), _FLOATS)
    x = b.bitcast(b.or_(b.and_(bits, _integer(0x007FFFFF)), _integer(0x3F000000)), _FLOATS)
    small = b.fcmp_ordered("<", x, _number(0.707106781186547524))
    x = b.fadd(b.fsub(x, _number(1)), b.select(small, x, _number(0)))
    exponent = b.fsub(exponent, b.select(small, _number(1), _number(0)))
    square = b.fmul(x, x)
    y = b.fmul(_chain(b, x, constants.log), x)
    y = fma(b, y, square, b.fmul(exponent, _number(constants.log2[0])))
    y = b.fadd(b.fsub(y, b.fmul(square, _number(0.5))), x)
    return b.fadd(y, b.fmul(exponent, _number(constants.log2[1])))


def _sine_and_cosine(b: ir.IRBuilder, angle: Any, constants: Constants) -> tuple[Any, Any]:
    octant = b.fptosi(b.fmul(angle, _number(1.27323954473516)), _WHOLE)
    octant = b.and_(b.add(octant, _integer(1)), _integer(-2))
    turns = b.sitofp(octant, _FLOATS)
    x = b.fadd(angle, b.fmul(turns, _number(constants.quarter_pi[0])))
    x = b.fadd(x, b.fmul(turns, _number(constants.quarter_pi[1])))
    x = fma(b, turns, _number(constants.quarter_pi[2]), x)
    square = b.fmul(x, x)
    half = b.fmul(square, _number(0.5))
    cosine = b.fmul(_chain(b, square, constants.cosine), square)
    cosine = b.fadd(fma(b, cosine, square, b.fneg(half)), _number(1))
    sine = b.fmul(_chain(b, square, constants.sine), square)
    sine = fma(b, sine, x, x)

    def nonzero(value: Any) -> Any:
        return b.icmp_signed("!=", value, _integer(0))

    swapped = nonzero(b.and_(octant, _integer(2)))
    sine_sign = b.select(nonzero(b.and_(octant, _integer(4))), _number(-1), _number(1))
    cosine_sign = b.select(nonzero(b.and_(b.sub(octant, _integer(2)), _integer(4))), _number(1), _number(-1))
    found_sine = b.fmul(b.select(swapped, cosine, sine), sine_sign)
    found_cosine = b.fmul(b.select(swapped, sine, cosine), cosine_sign)
    return found_sine, found_cosine
