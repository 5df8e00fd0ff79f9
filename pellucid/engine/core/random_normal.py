"""Normal streams: blocks of sixteen for contiguous results of sixteen and more elements, one by one otherwise.

The float32 block path evaluates log, sin and cos by the polynomials of the Cephes library (S. Moshier, logf/sinf/cosf)
in single precision with fused multiply-adds, because that is what PyTorch's AVX2 kernel does; an ordinary log or sine
would differ in the last bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import kernels
from .random_arithmetic import (
    FLOAT_TYPES,
    HALF_TYPES,
    call_libm,
    fused_float32,
    fused_float64,
    libm_cos_sin,
    libm_exp,
    libm_log,
    narrow,
)
from .random_generator import Generator
from .random_uniform import Shape, require, unit_float32, unit_float64

_PAIRS = 1 << 14  # pairs worked on at a time, so that all temporaries stay in the second-level cache
Fused = Callable[["np.ndarray | float", "np.ndarray | float", "np.ndarray | float"], np.ndarray]


def _f(value: float) -> float:
    return float(np.float32(value))


# Cephes logf: log(1 + x) = x - x**2 / 2 + x**3 * P(x), and log 2 in two parts.
_LOG_LEADING, *_LOG = map(
    _f,
    (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    ),
)
_LOG2_LOW, _LOG2_HIGH = np.float32(-2.12194440e-4), np.float32(0.693359375)
_SQRT_HALF = np.float32(0.707106781186547524)
# Cephes sinf and cosf on [-pi/4, pi/4], and pi/4 in three parts.
_SIN = tuple(map(_f, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)))
_COS = tuple(map(_f, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)))
_QUARTER_PI = (np.float32(-0.78515625), np.float32(-2.4187564849853515625e-4), _f(-3.77489497744594108e-8))
_CONSTANTS = {  # for a compiled kernel of the same steps
    "log": (_LOG_LEADING, *_LOG),
    "sine": _SIN,
    "cosine": _COS,
    "quarter_pi": tuple(map(float, _QUARTER_PI)),
    "log2": (float(_LOG2_LOW), float(_LOG2_HIGH)),
}
_FOUR_OVER_PI = np.float32(1.27323954473516)
_TWO_PI = np.float32(2 * math.pi)
_FUSED_STEPS = 16  # in _log and _sin_cos together
_HALF, _ONE = np.float32(0.5), np.float32(1.0)


class _FastFused:
    """Multiply-add through double, which rounds twice; it keeps the doubles to find where that may have gone wrong."""

    def __init__(self, count: int) -> None:
        self._totals = np.empty((_FUSED_STEPS, count))
        self._rows = iter(self._totals)

    def __call__(self, a: np.ndarray | float, b: np.ndarray | float, c: np.ndarray | float) -> np.ndarray:
        total = next(self._rows)
        np.multiply(a, b, out=total, dtype=np.float64)  # else two float32 operands would be multiplied in float32
        np.add(total, c, out=total)
        return total.astype(np.float32)

    def doubtful(self) -> np.ndarray:
        """Indices of elements one of whose doubles is a tie between two floats, about one in 2**25 elements."""
        tails = self._totals.view(np.uint64)
        tails &= np.uint64(0x1FFFFFFF)
        return np.flatnonzero((tails == np.uint64(0x10000000)).any(axis=0))


def _log(u: np.ndarray, fused: Fused) -> np.ndarray:
    bits = u.view(np.int32)
    exponent = ((bits >> 23) - 126).astype(np.float32)
    x = ((bits & 0x007FFFFF) | 0x3F000000).view(np.float32)
    small = x < _SQRT_HALF
    x = (x - _ONE) + x * small
    exponent -= small
    square = x * x
    wide = x.astype(np.float64)
    y = fused(_LOG_LEADING, wide, _LOG[0])
    for coefficient in _LOG[1:]:
        y = fused(y, wide, coefficient)
    y *= x
    y = fused(y, square.astype(np.float64), exponent * _LOG2_LOW)
    square *= _HALF
    y -= square
    y += x
    exponent *= _LOG2_HIGH  # exact
    y += exponent
    return y


def _sin_cos(angle: np.ndarray, fused: Fused) -> tuple[np.ndarray, np.ndarray]:
    octant = (angle * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(np.float32)
    x = angle + turns * _QUARTER_PI[0]  # the first two products are exact
    x += turns * _QUARTER_PI[1]
    x = fused(turns, _QUARTER_PI[2], x)
    square = x * x
    wide = square.astype(np.float64)

    cosine = fused(fused(_COS[0], wide, _COS[1]), wide, _COS[2])
    cosine *= square
    square *= _HALF
    cosine = fused(cosine, wide, -square)
    cosine += _ONE
    sine = fused(fused(_SIN[0], wide, _SIN[1]), wide, _SIN[2])
    square += square
    sine *= square
    sine = fused(sine, x, x)

    swapped = (octant & 2) != 0
    sine_sign = np.where(octant & 4, np.float32(-1), _ONE)
    cosine_sign = np.where((octant - 2) & 4, _ONE, np.float32(-1))
    return np.where(swapped, cosine, sine) * sine_sign, np.where(swapped, sine, cosine) * cosine_sign


def _box_muller_float32(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sqrt(-2 log(1 - u1)) times cos and sin of 2 pi u2, bit for bit PyTorch's vectorised float kernel."""
    fused = _FastFused(len(u1))
    cosine, sine = _box_muller_steps(u1, u2, fused)
    where = fused.doubtful()
    if len(where):
        cosine[where], sine[where] = _box_muller_steps(u1[where], u2[where], fused_float32)
    return cosine, sine


def _box_muller_steps(u1: np.ndarray, u2: np.ndarray, fused: Fused) -> tuple[np.ndarray, np.ndarray]:
    radius = np.sqrt(np.float32(-2) * _log(_ONE - u1, fused))
    sine, cosine = _sin_cos(_TWO_PI * u2, fused)
    cosine *= radius
    sine *= radius
    return cosine, sine


def _box_muller_float64(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius = np.sqrt(-2.0 * libm_log(1.0 - u1))
    cosine, sine = libm_cos_sin(2.0 * math.pi * u2)
    return radius * cosine, radius * sine


def _normals_of_blocks(units: np.ndarray) -> np.ndarray:
    """Standard normals from uniforms in blocks of 16: the first eight are radii, the last eight angles."""
    backend = kernels.of_cpu() if units.dtype == np.float32 else None
    found = backend.normals(units, **_CONSTANTS) if backend else None
    if found is not None:
        return found
    blocks = units.reshape(-1, 2, 8)
    result = np.empty_like(blocks)
    transform = _box_muller_float64 if units.dtype == np.float64 else _box_muller_float32
    step = _PAIRS // 8
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        cosine, sine = transform(part[:, 0].reshape(-1), part[:, 1].reshape(-1))
        result[start : start + step, 0] = cosine.reshape(-1, 8)
        result[start : start + step, 1] = sine.reshape(-1, 8)
    return result.reshape(-1)


def _scale(values: np.ndarray, std: float, mean: float) -> np.ndarray:
    """values * std + mean with one rounding, in the values' own dtype."""
    if values.dtype == np.float64:
        return fused_float64(values, std, mean)
    factor, shift = np.float32(std), np.float32(mean)
    if factor != 1.0:
        if shift != 0.0 or abs(factor) < 1e-20:  # a product that underflows keeps its sign in a fused sum
            return fused_float32(values, factor, shift)
        values *= factor
    values += shift
    return values


def _fill_blocks(generator: Generator, count: int, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
    """Sixteen at a time; when the count is no multiple of 16, the last 16 values come from 16 further uniforms."""
    unit = unit_float64 if dtype == np.float64 else unit_float32
    whole, rest = count - count % 16, count % 16
    if rest and dtype not in HALF_TYPES:
        # The result doubles as PyTorch's buffer of uniforms, so the unfinished block is drawn too, and overwritten.
        units = unit(generator, count + 16)
        units = np.concatenate([units[:whole], units[count:]])
    else:
        units = unit(generator, whole + (16 if rest else 0))
    values = _scale(_normals_of_blocks(units), std, mean)
    if rest:
        tail = values[whole:]
        values[count - 16 : whole] = tail[: whole - count + 16]
        values[whole:count] = tail[whole - count + 16 :]
        values = values[:count]
    return narrow(values, dtype) if dtype != np.float32 else values


def serial_normals(generator: Generator, count: int) -> np.ndarray:
    """Standard normals in double, in pairs of four draws; half a pair is kept for the next call; lock is held."""
    kept = generator.next_normal
    fresh = count - (kept is not None)
    if count == 0 or fresh == 0:
        if count:
            generator.next_normal = None
        return np.array([kept] if count else [], np.float64)
    pairs = (fresh + 1) // 2
    units = unit_float64(generator, 2 * pairs)
    radius = np.sqrt(-2.0 * call_libm(math.log1p, -units[1::2]))
    cosine, sine = libm_cos_sin(2.0 * math.pi * units[0::2])
    values = np.empty(2 * pairs + (kept is not None))
    first = 0 if kept is None else 1
    if kept is not None:
        values[0] = kept
    np.multiply(radius, cosine, out=values[first::2])
    np.multiply(radius, sine, out=values[first + 1 :: 2])
    generator.next_normal = float(values[-1]) if count < len(values) else None
    return values[:count]


def normal(
    generator: Generator,
    shape: Shape,
    dtype: np.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    contiguous: bool = True,
) -> np.ndarray:
    """Normals; `contiguous` says whether the tensor that is filled is, which decides the stream from 16 elements on."""
    dtype = np.dtype(dtype)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype.kind == "c":  # real and imaginary parts share the variance
        part = np.dtype(f"f{dtype.itemsize // 2}")
        parts = normal(generator, (*shape, 2), part, mean, std / math.sqrt(2), contiguous)
        return parts.view(dtype)[..., 0]
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    require(dtype, FLOAT_TYPES, "normal_kernel_cpu")
    with generator.lock:
        if contiguous and count >= 16:
            return _fill_blocks(generator, count, dtype, float(mean), float(std)).reshape(shape)
        values = serial_normals(generator, count)
    return narrow(fused_float64(values, float(std), float(mean)), dtype).reshape(shape)


def normal_around(generator: Generator, mean: np.ndarray | float, std: np.ndarray | float) -> np.ndarray:
    """Normals whose mean or std (or both) are arrays; the dtype is that of `mean`, or of `std` when `mean` is a number.

    The standard normals are drawn first and then scaled and shifted, each with a rounding in the result's dtype.
    """
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not np.min(std) >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not isinstance(mean, np.ndarray):
        raise TypeError("normal_around needs an array for mean or std; use normal for two numbers")
    dtype = mean.dtype if isinstance(mean, np.ndarray) else np.asarray(std).dtype
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    if isinstance(std, np.ndarray):
        values = normal(generator, shape, dtype)
        values = (values * std).astype(dtype)
    else:
        values = normal(generator, shape, dtype, 0.0, std)
    mean = mean if isinstance(mean, np.ndarray) else np.asarray(mean).astype(dtype)
    return (values + mean).astype(dtype)


def log_normal(generator: Generator, shape: Shape, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """exp of normals, which are drawn in double one by one whatever the size."""
    dtype = np.dtype(dtype)
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    require(dtype, FLOAT_TYPES, "log_normal_cpu")
    with generator.lock:
        values = serial_normals(generator, math.prod(shape))
    return narrow(libm_exp(fused_float64(values, float(std), float(mean))), dtype).reshape(shape)
