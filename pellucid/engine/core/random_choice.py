"""Drawing categories by weight, dropout's noise, and the order in which a strided tensor is filled."""

from __future__ import annotations

import math

import numpy as np

from .random_arithmetic import FLOAT_TYPES, HALF_TYPES
from .random_generator import Generator
from .random_ties import smallest_first
from .random_uniform import Shape, bernoulli, exponential, scalar_name, unit_float64

_MOST_CATEGORIES = 2**24


def multinomial(generator: Generator, weights: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """Indices (int64) of categories drawn by weight, for a row of weights or for each of several rows.

    Without replacement, and for a single sample, they are those of the largest weight / q with q exponential; otherwise
    each is found in the cumulated weights by a double uniform.
    """
    _check_multinomial(weights, num_samples, replacement)
    if not math.prod(weights.shape[:-1]):
        return np.empty((*weights.shape[:-1], num_samples), np.int64)
    if not weights.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity. "
            "multinomial needs at least one category"
        )
    if replacement and num_samples > 1:
        return _sample_with_replacement(generator, weights, num_samples)
    if not (np.min(weights) >= 0 and np.max(weights) < np.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (_sums(weights) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    quotients = np.empty_like(weights)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place(quotients, exponential(generator, weights.shape, weights.dtype).reshape(-1))
        quotients = weights / quotients
    if weights.dtype in HALF_TYPES:
        quotients = quotients.astype(np.float32)
    if num_samples == 1:
        return np.argmax(quotients, axis=-1, keepdims=True)
    # NaN (0 / 0) counts as largest.
    keys = np.where(np.isnan(quotients), -np.inf, -quotients)
    rows = keys.reshape(-1, keys.shape[-1])
    return np.stack([smallest_first(row, num_samples) for row in rows]).reshape(*weights.shape[:-1], num_samples)


def _check_multinomial(weights: np.ndarray, num_samples: int, replacement: bool) -> None:
    if not 1 <= weights.ndim <= 2:
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, but it has {weights.ndim}")
    if weights.dtype not in FLOAT_TYPES:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {scalar_name(weights.dtype)}"
        )
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{num_samples} of {weights.shape[-1]}; pass replacement=True or draw fewer"
        )
    if weights.shape[-1] > _MOST_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _sums(weights: np.ndarray) -> np.ndarray:
    return weights.astype(np.float32 if weights.dtype in HALF_TYPES else weights.dtype).sum(-1)


def _sample_with_replacement(generator: Generator, weights: np.ndarray, num_samples: int) -> np.ndarray:
    rows = weights.reshape(-1, weights.shape[-1])
    rows = rows.astype(np.float32) if weights.dtype in HALF_TYPES else rows
    if not (rows >= 0).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(rows).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    cumulated = np.add.accumulate(rows, axis=1)  # one by one in the weights' dtype, as PyTorch adds them
    if not (cumulated[:, -1] > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    with np.errstate(invalid="ignore"):
        cumulated /= cumulated[:, -1:].copy()
    cumulated[:, -1] = 1
    with generator.lock:
        positions = unit_float64(generator, len(rows) * num_samples).reshape(len(rows), num_samples)
    found = [np.searchsorted(row.astype(np.float64), p) for row, p in zip(cumulated, positions, strict=True)]
    return np.stack(found).reshape(*weights.shape[:-1], num_samples).astype(np.int64, copy=False)


def dropout_noise(generator: Generator, p: float, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Dropout's factors: 1 / (1 - p) with probability 1 - p, else 0; p = 0 and p = 1 draw nothing.

    Feature dropout draws them for the shape (batch, channels, 1, ..., 1); alpha dropout uses the undivided noise,
    `bernoulli(generator, 1 - p, shape, dtype)`.
    """
    dtype = np.dtype(dtype)
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or p == 1 or not math.prod(shape):
        return np.full(shape, 1 - p).astype(dtype)
    noise = bernoulli(generator, 1 - p, shape, dtype)
    if dtype in HALF_TYPES:
        noise *= (np.float32(1) / np.float32(1 - p)).astype(dtype)
    else:
        noise /= dtype.type(1 - p)
    return noise


def stream_order(shape: Shape, strides: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions from slowest to fastest in the order in which PyTorch walks a tensor with these strides."""
    order = list(range(len(shape)))[::-1]  # fastest first
    for i in range(1, len(order)):
        later = i
        for earlier in range(i - 1, -1, -1):
            comparison = _compare(order[earlier], order[later], shape, strides)
            if comparison < 0:
                break
            if comparison > 0:
                order[earlier], order[later] = order[later], order[earlier]
                later = earlier
    return tuple(order[::-1])


def _compare(fast: int, slow: int, shape: Shape, strides: tuple[int, ...]) -> int:
    """Positive when the dimension taken as the faster one should be the slower, negative when not, 0 when undecided."""
    if not strides[fast] or not strides[slow]:
        return 0
    if strides[fast] != strides[slow]:
        return 1 if strides[fast] > strides[slow] else -1
    return 1 if shape[fast] > shape[slow] else 0


def place(target: np.ndarray, values: np.ndarray) -> None:
    """Writes flat `values`, which a stream gave, into `target` in the order in which PyTorch fills those strides."""
    if target.flags.c_contiguous:
        target[...] = values.reshape(target.shape)
        return
    order = stream_order(target.shape, target.strides)
    walked = target.transpose(order)
    walked[...] = values.reshape(walked.shape)
