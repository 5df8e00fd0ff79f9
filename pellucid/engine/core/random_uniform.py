"""Streams in which every element takes the same number of draws: uniforms, integers, permutations, and their images.

`random.py` explains how each of them consumes the generator; values are computed as PyTorch's CPU kernels compute them.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from pellucid.engine.core.errors import user_level

from .random_arithmetic import (
    BFLOAT16,
    DIGITS,
    FLOAT_TYPES,
    HALF_TYPES,
    LARGEST,
    call_libm,
    fused_float32,
    fused_float64,
    libm_log,
    narrow,
)
from .random_generator import Generator

Shape = tuple[int, ...]

_C_NAMES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "uint8": "unsigned char",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
_SCALAR_NAMES = {
    "bool": "Bool",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
_WIDE_TYPES = (np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32), BFLOAT16)
_ALL_TYPES = (*FLOAT_TYPES, *(np.dtype(name) for name in ("uint8", "int8", "int16", "int32", "int64")))


def scalar_name(dtype: np.dtype) -> str:
    """PyTorch's internal name of a dtype, as its error messages print it."""
    return _SCALAR_NAMES.get(dtype.name, dtype.name)


def require(dtype: np.dtype, allowed: tuple[np.dtype, ...], kernel: str) -> None:
    """NotImplementedError with PyTorch's words unless the kernel has the dtype."""
    if dtype not in allowed:
        names = ", ".join(a.name for a in allowed)
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(dtype)}'; it takes {names}")


def require_floating(dtype: np.dtype, distribution: str, name: str) -> None:
    """RuntimeError with PyTorch's words unless the dtype is a floating point type."""
    if dtype not in FLOAT_TYPES:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {name}"
        )


def unit_float32(generator: Generator, count: int) -> np.ndarray:
    """Multiples of 2**-24 in [0, 1): the low 24 bits of one draw each; the caller holds the lock."""
    draws = generator.random32(count)
    draws &= np.uint32(0xFFFFFF)
    values = draws.view(np.int32).astype(np.float32)
    values *= np.float32(2.0**-24)
    return values


def unit_float64(generator: Generator, count: int) -> np.ndarray:
    """Multiples of 2**-53 in [0, 1): the low 53 bits of two draws each; the caller holds the lock."""
    draws = generator.random64(count)
    draws &= np.uint64((1 << 53) - 1)
    values = draws.view(np.int64).astype(np.float64)
    values *= 2.0**-53
    return values


def uniform(generator: Generator, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform on [low, high); a half type never gives `high`, which rounding could reach, but `low` instead."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        parts = uniform(generator, (*shape, 2), np.dtype(f"f{dtype.itemsize // 2}"), low, high)
        return parts.view(dtype)[..., 0]
    require(dtype, FLOAT_TYPES, "check_uniform_bounds")
    _check_uniform_bounds(dtype, low, high)
    count = math.prod(shape)
    with generator.lock:
        units = unit_float64(generator, count) if dtype == np.float64 else unit_float32(generator, count)
    if low != 0.0 or high != 1.0:
        if dtype == np.float64:
            units = fused_float64(units, high - low, low)
        else:
            start, width = np.float32(low), np.float32(high) - np.float32(low)
            units = units * width + start if low == 0.0 else fused_float32(units, width, start)
    result = units.astype(dtype, copy=False)
    if not (low == 0.0 and high == 1.0 and dtype not in HALF_TYPES):  # there rounding cannot reach 1
        result[result == np.asarray(high).astype(dtype)] = np.asarray(low).astype(dtype)
    return result.reshape(shape)


def _check_uniform_bounds(dtype: np.dtype, low: float, high: float) -> None:
    largest = LARGEST[dtype]
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype.name]}: {bound}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{scalar_name(dtype)}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def integers(
    generator: Generator, shape: Shape, dtype: np.dtype, low: int | None = None, high: int | None = None
) -> np.ndarray:
    """Integers in [low, high); without `high` up to the dtype's largest, without both `random_()`'s own range."""
    dtype = np.dtype(dtype)
    if low is None and high is None:
        return _integers_of_dtype(generator, shape, dtype)
    low = 0 if low is None else int(low)
    if high is None and low == -(2**63):
        return _integers_64_bits(generator, shape, dtype)
    low, high = _integer_bounds(dtype, low, high)
    count = math.prod(shape)
    with generator.lock:
        if high - low >= 2**28:  # the remainder of 32 bits would favour small values by up to 6 %
            draws = generator.random64(count)
            # 2**64 possible values cannot be asked for here, so the range fits uint64.
            draws %= np.uint64(high - low)
        else:
            draws = generator.random32(count)
            draws %= np.uint32(high - low)
    return _cast_integers(draws, low, dtype).reshape(shape)


def _cast_integers(draws: np.ndarray, low: int, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return (draws.astype(np.int64) + low) != 0
    if dtype.kind in "iu" and dtype.itemsize <= 4:  # arithmetic modulo 2**32 suffices
        if low:
            draws += np.uint32(low % 2**32)
        return draws.astype(dtype)
    values = draws.astype(np.uint64, copy=False)
    if low:
        values = values + np.uint64(low % 2**64)
    values = values.view(np.int64)
    return values.astype(np.float32).astype(dtype) if dtype in HALF_TYPES else values.astype(dtype, copy=False)


def _integers_of_dtype(generator: Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """`random_()`: 0 up to the largest value, for floating types up to 2**significand bits, which is included."""
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    require(dtype, (*_ALL_TYPES, np.dtype(bool)), "random_kernel_cpu")
    with generator.lock:
        draws = generator.random64(count) if dtype in (np.int64, np.float64) else generator.random32(count)
    if dtype.kind == "b":
        return ((draws & 1) != 0).reshape(shape)
    span = 2 ** DIGITS[dtype] + 1 if dtype in FLOAT_TYPES else int(np.iinfo(dtype).max) + 1
    draws %= draws.dtype.type(span)
    return _cast_integers(draws, 0, dtype).reshape(shape)


def _integers_64_bits(generator: Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    kernel = "random_full_64_bits_range_kernel_cpu"
    if dtype in _ALL_TYPES and dtype not in _WIDE_TYPES and dtype != np.float16:
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    require(dtype, _WIDE_TYPES, kernel)
    with generator.lock:
        draws = generator.random64(count)
    return _cast_integers(draws, 0, dtype).reshape(shape)


def _integer_bounds(dtype: np.dtype, low: int, high: int | None) -> tuple[int, int]:
    """The half-open range that is really drawn from; floating types shrink it to numbers they can represent."""
    floating = dtype in FLOAT_TYPES
    if not floating and dtype.kind not in "iub":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is not None:
        high = int(high)
        if low >= high:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}; the range is empty"
            )
        if floating:
            low, high = _raise_low(low, dtype), _lower_high(high, dtype)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={high}"
                )
        last = high - 1
    elif floating:
        last, low = 2 ** DIGITS[dtype], _raise_low(low, dtype)
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
                f"but got from={low} > to_inc={last}"
            )
    else:
        last = 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)  # of uint64 out of bounds, as in PyTorch
    _check_in_range(dtype, low, "from")
    _check_in_range(dtype, last, "to - 1")
    return low, last + 1


def _check_in_range(dtype: np.dtype, value: int, name: str) -> None:
    if dtype in FLOAT_TYPES:
        smallest, largest = -LARGEST[dtype], LARGEST[dtype]
    elif dtype.kind == "b":
        smallest, largest = 0, 1
    else:
        smallest, largest = int(np.iinfo(dtype).min), min(int(np.iinfo(dtype).max), 2**63 - 1)
    if not smallest <= value <= largest:
        raise RuntimeError(
            f"{name} is out of bounds for {_C_NAMES[dtype.name]}: {value} is not in [{smallest}, {largest}]"
        )
    if dtype in FLOAT_TYPES and abs(value) > 2 ** DIGITS[dtype]:
        digits = DIGITS[dtype]
        warnings.warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {_C_NAMES[dtype.name]} "
            f"can support discrete uniform distribution only within this range. {dtype.name} skips integers beyond it",
            UserWarning,
            stacklevel=user_level(),
        )


def _through(value: int, dtype: np.dtype) -> int:
    """`value` rounded to dtype; what is then no int64 becomes the smallest one, as x86 converts it."""
    with np.errstate(over="ignore"):
        wide = np.int64(value).astype(np.float32) if dtype in HALF_TYPES else np.int64(value)
        rounded = float(wide.astype(dtype))
    return int(rounded) if -(2.0**63) <= rounded < 2.0**63 else -(2**63)


def _raise_low(low: int, dtype: np.dtype) -> int:
    """The smallest usable `low`: unchanged unless low + 1 rounds below low."""
    rounded = _through(low + 1, dtype)
    if rounded < low:
        return rounded + (1 << max(abs(low + 1).bit_length() - DIGITS[dtype], 0))
    return low


def _lower_high(high: int, dtype: np.dtype) -> int:
    """The largest usable `high`: unchanged unless high - 1 rounds up to high."""
    rounded = _through(high - 1, dtype)
    if rounded >= high:
        return rounded - (1 << max(abs(high - 1).bit_length() - DIGITS[dtype], 0))
    return high


def permutation(generator: Generator, n: int, dtype: np.dtype) -> np.ndarray:
    """0 .. n - 1 shuffled by exchanging position i with one of i .. n - 1, for i from 0 to n - 2."""
    dtype = np.dtype(dtype)
    require(dtype, _ALL_TYPES, "randperm")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype.kind in "iu" and n - 1 > np.iinfo(dtype).max:
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name}_t without overflow: n is {n}, {dtype.name} ends at "
            f"{np.iinfo(dtype).max}"
        )
    if dtype in FLOAT_TYPES and dtype != BFLOAT16 and n > 2 ** DIGITS[dtype] + 1:
        limit = "2049" if dtype == np.float16 else f"2^{DIGITS[dtype]}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {scalar_name(dtype)} type.")
    if n < 2:
        return np.arange(n).astype(dtype)
    left = np.arange(n, 1, -1, dtype=np.uint64)
    with generator.lock:
        # 32 bits are too coarse for a modulus near 2**32.
        draws = generator.random32(n - 1) if n < (2**32 - 1) // 20 else generator.random64(n - 1)
    partners = np.arange(n)
    partners[:-1] += (draws % left.astype(draws.dtype)).astype(np.int64)
    return _cast_integers(_exchange(partners).view(np.uint64), 0, dtype)


def _exchange(partners: np.ndarray) -> np.ndarray:
    """0 .. n - 1 after exchanging positions i and partners[i] >= i for i = 0, 1, ...; the last partner is n - 1."""
    n = len(partners)
    if n < 1000:
        order = list(range(n))
        for i, partner in enumerate(partners.tolist()):
            order[i], order[partner] = order[partner], order[i]
        return np.array(order)
    # Without a loop: step i takes what the latest earlier step with the same partner left there, and that is what
    # stood at that step's own position, which in turn the latest earlier step with that position as partner left.
    steps = np.arange(n)
    by_partner = np.sort(partners << 32 | steps)  # n < 2**31 fits memory and leaves the sign alone
    partner_of, step_of = by_partner >> 32, by_partner & 0xFFFFFFFF
    first = np.ones(n, bool)
    np.not_equal(partner_of[1:], partner_of[:-1], out=first[1:])
    earlier = np.full(n, -1)  # the previous step with the same partner
    earlier[step_of[1:]] = np.where(first[1:], -1, step_of[:-1])
    source = steps.copy()  # whose position's content stands at position i when step i comes
    last = np.append(first[1:], True)
    source[partner_of[last]] = step_of[last]
    stays = partners == steps
    source[stays] = np.where(earlier[stays] >= 0, earlier[stays], steps[stays])
    while True:
        further = source[source]
        if np.array_equal(further, source):
            return np.where(earlier >= 0, source[earlier], partners)
        source = further


def bernoulli(generator: Generator, p: float | np.ndarray, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """1 where a uniform is below p: a 53-bit uniform for a number or a float64 array, else a 24-bit one."""
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if not isinstance(p, np.ndarray) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if not count:
        return np.empty(shape, dtype)
    if isinstance(p, np.ndarray):
        require(dtype, (*_ALL_TYPES, np.dtype(bool)), "bernoulli_tensor_cpu_self_")
        require(p.dtype, FLOAT_TYPES, "bernoulli_tensor_cpu_p_")
        return _bernoulli_array(generator, np.broadcast_to(p, shape).reshape(-1)).astype(dtype).reshape(shape)
    require(dtype, (*_ALL_TYPES, np.dtype(bool)), "bernoulli_scalar_cpu_")
    with generator.lock:
        draws = generator.random32(2 * count).reshape(count, 2)
    # u = m * 2**-53 < p is m < threshold in integers; the high 21 bits nearly always decide.
    threshold_high, threshold_low = divmod(math.ceil(p * 2.0**53), 2**32)
    high = draws[:, 0] & np.uint32(0x1FFFFF)
    below = high < np.uint32(threshold_high)
    tied = np.flatnonzero(high == np.uint32(threshold_high))
    below[tied] = draws[tied, 1] < threshold_low
    return below.astype(dtype, copy=False).reshape(shape)


def _bernoulli_array(generator: Generator, p: np.ndarray) -> np.ndarray:
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: a probability is outside [0, 1]")
    with generator.lock:
        if p.dtype == np.float64:
            return unit_float64(generator, len(p)) < p
        return unit_float32(generator, len(p)) < p.astype(np.float32)


def exponential(generator: Generator, shape: Shape, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
    """-log1p(-u) / rate, in double."""
    dtype = np.dtype(dtype)
    if not rate > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    require_floating(dtype, "Exponential", scalar_name(dtype))
    with generator.lock:
        u = unit_float64(generator, math.prod(shape))
    return narrow((-1.0 / rate) * call_libm(math.log1p, -u), dtype).reshape(shape)


def geometric(generator: Generator, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """ceil(log(u) / log1p(-p)): the number of trials up to the first success."""
    dtype = np.dtype(dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    require(dtype, _ALL_TYPES, "geometric_cpu")
    with generator.lock:
        u = unit_float64(generator, math.prod(shape))
    return narrow(np.ceil(libm_log(u) / math.log1p(-p)), dtype).reshape(shape)


def cauchy(generator: Generator, shape: Shape, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """median + sigma * tan(pi * (u - 1/2)), in double."""
    dtype = np.dtype(dtype)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    require_floating(dtype, "Cauchy", _C_NAMES.get(dtype.name, dtype.name))
    with generator.lock:
        u = unit_float64(generator, math.prod(shape))
    slope = call_libm(math.tan, math.pi * (u - 0.5))
    return narrow(fused_float64(slope, sigma, median), dtype).reshape(shape)
