"""Streams whose elements take a varying number of draws: Poisson, binomial, gamma and Dirichlet.

Each element is sampled by rejection or by counting, so it starts where the one before it stopped, and the work is a
Python loop. The methods: W. Hörmann (1993), "The transformed rejection method for generating Poisson random variables"
and "The generation of binomial random variates"; G. Marsaglia and W. W. Tsang (2000), "A simple method for generating
gamma variables". Where PyTorch computes in float32, so do we: it decides which candidates are accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .random_arithmetic import FLOAT_TYPES, narrow
from .random_generator import DrawAhead, Generator
from .random_uniform import require, scalar_name

_SINGLE_DOUBLE = (np.dtype(np.float32), np.dtype(np.float64))
# ln k! minus Stirling's formula, for k = 0 .. 9
_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
_THIRD = float(np.float32(1) / np.float32(3))
_SQUEEZE = float(np.float32(0.0331))


def poisson(generator: Generator, rate: np.ndarray) -> np.ndarray:
    """One Poisson count per rate, in the rates' own dtype."""
    if rate.size:
        require(rate.dtype, FLOAT_TYPES, "poisson_cpu")
        if not (rate >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with DrawAhead(generator) as draws:
        counts = [_poisson(value, draws.uniform) for value in rate.reshape(-1).astype(np.float64).tolist()]
    return narrow(np.array(counts, np.float64), rate.dtype).reshape(rate.shape)


def _poisson(rate: float, uniform: Callable[[], float]) -> int:
    if rate >= 10:
        return _poisson_by_rejection(rate, uniform)
    if rate == 0:
        return 0
    limit = math.exp(-rate)
    count, product = 0, uniform()
    while product > limit:
        count += 1
        product *= uniform()
    return count


def _poisson_by_rejection(rate: float, uniform: Callable[[], float]) -> int:
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= sure:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if not v or math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= (
            -rate + k * log_rate - math.lgamma(k + 1.0)
        ):
            return k


def binomial(generator: Generator, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Successes in `count` trials of probability `prob`; the two broadcast and share a dtype."""
    count, prob = np.broadcast_arrays(count, prob)
    if count.dtype not in FLOAT_TYPES:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {scalar_name(count.dtype)}")
    if prob.dtype not in FLOAT_TYPES:
        raise ValueError(f"binomial only supports floating-point dtypes for prob, got: {scalar_name(prob.dtype)}")
    require(count.dtype, _SINGLE_DOUBLE, "binomial_cpu")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.name} but expected {count.dtype.name} for the probabilities")
    with DrawAhead(generator) as draws:
        pairs = zip(count.reshape(-1), prob.reshape(-1), strict=True)
        values = [_binomial(n, p, draws.uniform) for n, p in pairs]
    return np.array(values, count.dtype).reshape(count.shape)


def _binomial(count: np.floating, prob: np.floating, uniform: Callable[[], float]) -> np.floating:
    kind = type(count)
    if count <= 0 or prob <= 0:
        return kind(0)
    if prob >= 1:
        return count
    if math.isnan(prob) or math.isnan(count):
        return kind(math.nan)
    if prob <= 0.5:
        return _fewer_successes(count, prob, uniform)
    return count - _fewer_successes(count, kind(1.0 - float(prob)), uniform)


def _fewer_successes(count: np.floating, prob: np.floating, uniform: Callable[[], float]) -> np.floating:
    sample = _binomial_by_rejection if count * prob >= 10.0 else _binomial_by_gaps
    return sample(count, prob, uniform)


def _binomial_by_gaps(count: np.floating, prob: np.floating, uniform: Callable[[], float]) -> np.floating:
    """Adds geometric gaps between successes until the trials are used up."""
    log_failure = float(type(prob)(math.log1p(-float(prob))))
    total, successes = 0.0, 0
    while True:
        u = uniform()
        total += math.ceil(math.log(u) / log_failure) if u else math.inf
        if total > count:
            return type(count)(successes)
        successes += 1


def _binomial_by_rejection(count: np.floating, prob: np.floating, uniform: Callable[[], float]) -> np.floating:
    kind, one = type(count), type(count)(1)
    deviation = float(np.sqrt(count * prob * (one - prob)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(prob)
    center = float(count * prob) + 0.5
    sure = 0.92 - 4.2 / b
    odds = float(prob / (one - prob))
    alpha = (2.83 + 5.1 / b) * deviation
    mode = float(np.floor((count + one) * prob))
    n = float(count)
    at_mode = (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        if not us:
            continue
        k = kind(math.floor((2 * a / us + b) * u + center))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= sure:
            return k
        failures = float(count - k + one)
        bound = (
            at_mode
            + float(count + one) * math.log((n - mode + 1) / failures)
            + (float(k) + 0.5) * math.log(odds * failures / float(k + one))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(float(k))
            - _stirling_tail(float(count - k))
        )
        if not v or math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAIL):
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def standard_gamma(generator: Generator, alpha: np.ndarray) -> np.ndarray:
    """One gamma variate of scale 1 per concentration; never below the smallest normal number of the dtype."""
    require(alpha.dtype, _SINGLE_DOUBLE, "gamma_cpu")
    with DrawAhead(generator) as draws:
        values = [_gamma(value, draws) for value in alpha.reshape(-1)]
    result = np.array(values, alpha.dtype)
    smallest = np.finfo(alpha.dtype).tiny
    return np.where(result > smallest, result, smallest).reshape(alpha.shape)


def _gamma(alpha: np.floating, draws: DrawAhead) -> float:
    kind, scale = type(alpha), 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = _power(1 - draws.uniform(), float(kind(1) / alpha))
        alpha = alpha + kind(1)
    d = float(alpha - kind(_THIRD))
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    while True:
        x = draws.normal()
        y = 1.0 + c * x
        while y <= 0:
            x = draws.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - draws.uniform()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def dirichlet(generator: Generator, alpha: np.ndarray) -> np.ndarray:
    """Gamma variates in double over the last axis, divided by their sum and kept strictly between 0 and 1."""
    require(alpha.dtype, _SINGLE_DOUBLE, "dirichlet")
    gamma = standard_gamma(generator, alpha.astype(np.float64))
    shares = (gamma / _row_sums(gamma)).astype(alpha.dtype)
    one = alpha.dtype.type(1)
    return np.clip(shares, np.finfo(alpha.dtype).tiny, np.nextafter(one, alpha.dtype.type(0)))


def _row_sums(rows: np.ndarray) -> np.ndarray:
    """Sums over the last axis, kept as an axis, in the order of PyTorch's four-lane kernel (longer rows: NumPy's)."""
    size, lanes = rows.shape[-1], 4
    if size >= 256:
        return rows.sum(-1, keepdims=True)
    vectors = size // lanes
    whole = rows[..., : vectors * lanes].reshape(*rows.shape[:-1], vectors, lanes)
    total = np.zeros((*rows.shape[:-1], 1))
    for position in range(vectors * lanes, size):
        total += rows[..., position : position + 1]
    partial = _interleaved_sum(np.moveaxis(whole, -1, -2))
    for lane in range(lanes):
        total += partial[..., lane : lane + 1]
    return total


def _interleaved_sum(rows: np.ndarray) -> np.ndarray:
    """Four running sums of every fourth element; what is left over joins the first, then the four are added."""
    size = rows.shape[-1]
    sums = np.zeros((*rows.shape[:-1], 4))
    for start in range(0, size - 3, 4):
        sums += rows[..., start : start + 4]
    total = sums[..., 0]
    for position in range(size - size % 4, size):
        total = total + rows[..., position]
    return ((total + sums[..., 1]) + sums[..., 2]) + sums[..., 3]
