"""Arithmetic that the random streams need bit for bit: fused multiply-add, the C library's functions, PyTorch's casts.

PyTorch's CPU kernels are compiled with FMA instructions and call the C library's log, log1p, exp, tan, sin and cos.
NumPy has no fused multiply-add, and its own vectorised functions differ from the C library in the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF_TYPES = (np.dtype(np.float16), BFLOAT16)
FLOAT_TYPES = (np.dtype(np.float32), np.dtype(np.float64), *HALF_TYPES)
DIGITS = {
    np.dtype(np.float32): 24,
    np.dtype(np.float64): 53,
    np.dtype(np.float16): 11,
    BFLOAT16: 8,
}  # bits of significand
LARGEST = {dtype: float(ml_dtypes.finfo(dtype).max) for dtype in FLOAT_TYPES}

_TAIL = np.uint64(0x1FFFFFFF)  # the 29 bits of a double that do not fit a float
_TIE = np.uint64(0x10000000)
_SMALLEST_NORMAL = 2.0**-126


def call_libm(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """The C library's `function` on every value of a one-dimensional float64 array."""
    return np.fromiter(map(function, values.tolist()), np.float64, len(values))


def libm_log(values: np.ndarray) -> np.ndarray:
    """The C library's log of non-negative float64 values; log(0) is -inf."""
    zero = values == 0
    if not zero.any():
        return call_libm(math.log, values)
    result = call_libm(math.log, np.where(zero, 1.0, values))
    result[zero] = -np.inf
    return result


def libm_exp(values: np.ndarray) -> np.ndarray:
    """The C library's exp of float64 values; overflow gives inf."""
    # NumPy has no complex exp of its own: it calls cexp, which is exp(real) * (cos(imag) + i sin(imag)).
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(values.astype(np.complex128)).real.copy()


def libm_cos_sin(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The C library's cos and sin of finite float64 angles."""
    rotation = np.zeros(angles.shape, np.complex128)
    rotation.imag = angles
    np.exp(rotation, out=rotation)
    return rotation.real, rotation.imag


def narrow(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Float64 values cast as C++ casts a double: half types by way of float32, integers by truncation."""
    if dtype == values.dtype:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype in HALF_TYPES:
            values = values.astype(np.float32)
        return values.astype(dtype)


def fused_float32(
    a: np.ndarray | float, b: np.ndarray | np.floating | float, c: np.ndarray | np.floating | float
) -> np.ndarray:
    """a * b + c rounded once to float32; the operands hold float32 values in any float dtype."""
    product = np.multiply(a, b, dtype=np.float64)  # exact: 48 bits
    total = product + c
    bits = total.view(np.uint64)
    # Rounding to double and then to float errs only where the double is a tie between two floats, or below the
    # normal floats. There the double is rounded to odd, which a second rounding cannot hurt.
    doubtful = ((bits & _TAIL) == _TIE) | (np.abs(total) < _SMALLEST_NORMAL)
    if doubtful.any():
        where = np.nonzero(doubtful)
        exact_c = np.broadcast_to(np.asarray(c, np.float64), total.shape)[where]
        total[where] = _sum_to_odd(product[where], exact_c)
    with np.errstate(over="ignore"):
        return total.astype(np.float32)


def fused_float64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """a * b + c rounded once to float64, for an array and two numbers."""
    if b == 1.0:
        return a + c
    if c == 0.0 and (b == 0.0 or abs(b) > 2.0**-900):
        return a * b + 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        result = _fused_by_error_terms(a, b, c)
    doubtful = ~((np.abs(result) > 2.0**-900) & (np.abs(result) < 2.0**900) & (np.abs(a) > 2.0**-900))
    if not abs(b) < 2.0**900 or not 2.0**-900 < abs(c) < 2.0**900:
        doubtful[...] = True
    for where in zip(*np.nonzero(doubtful), strict=True):
        result[where] = _fused_exactly(float(a[where]), b, c)
    return result


def _fused_by_error_terms(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """Boldo and Melquiond (2008), "Emulation of a FMA and correctly rounded sums", Figure 5; no over- or underflow."""
    high, low = _two_product(a, b)
    c_high, c_low = _two_sum(np.full_like(a, c), low)
    head, tail = _two_sum(high, c_high)
    return head + _sum_to_odd(tail, c_low)


def _fused_exactly(a: float, b: float, c: float) -> float:
    from fractions import Fraction  # rarely needed, and it imports decimal

    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _two_product(a: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray]:
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(value: np.ndarray | float) -> tuple[np.ndarray | float, np.ndarray | float]:
    scaled = value * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - value)
    return high, value - high


def _sum_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b in float64, rounded to the neighbour with an odd significand where the sum is not exact."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    inexact_even = (error != 0) & ((bits & 1) == 0)
    outwards = (error > 0) == (total > 0)
    return np.where(inexact_even, np.where(outwards, bits + 1, bits - 1), bits).view(np.float64)
