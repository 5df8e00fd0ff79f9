"""Fractional max pooling: windows at pseudo-random places (Graham 2014, https://arxiv.org/abs/1412.6071)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.ops.pooling import last_nan_or_first_largest, pool_scatter, refuse

Ints = tuple[int, ...]


@op(outputs=("values", "indices"), grad_name=lambda settings: f"FractionalMaxPool{len(settings['size'])}DBackward0")
def fractional_max_pool(
    x: np.ndarray, samples: np.ndarray, *, kernel: Ints, size: Ints
) -> tuple[np.ndarray, np.ndarray]:
    """The largest value, and its index, of `size` windows whose distances the random `samples` in [0, 1) vary.

    `x` is (N, C, *space), `samples` (N, C, axes); in two dimensions the width has the first sample.
    """
    count = len(size)
    inside = x.shape[2:]
    samples = samples[: len(x)]
    order = (1, 0) if count == 2 else tuple(range(count))
    flat = np.zeros((*x.shape[:2], *[1] * (2 * count)), np.int64)
    for axis in range(count):
        starts = _starts(samples[..., order[axis]], inside[axis], size[axis], kernel[axis])
        places = starts[..., None] + np.arange(kernel[axis])
        shape = [*x.shape[:2], *[1] * (2 * count)]
        shape[2 + axis], shape[2 + count + axis] = size[axis], kernel[axis]
        flat = flat * inside[axis] + places.reshape(shape)
    flat = flat.reshape(*x.shape[:2], *size, int(np.prod(kernel)))
    planes = x.reshape(*x.shape[:2], int(np.prod(inside)))
    seen = np.take_along_axis(planes, flat.reshape(*x.shape[:2], -1 if flat.size else 0), 2).reshape(flat.shape)
    best = last_nan_or_first_largest(seen)[..., None]
    return np.take_along_axis(seen, best, -1)[..., 0], np.take_along_axis(flat, best, -1)[..., 0]


def _starts(sample: np.ndarray, n: int, m: int, k: int) -> np.ndarray:
    """Where each of m windows of k places begins on an axis of n; the last one ends with the axis."""
    last = np.full((*sample.shape, 1), n - k, np.int64)
    if m == 1:
        return last
    step = sample.dtype.type(n - k) / sample.dtype.type(m - 1)
    place = np.arange(m - 1).astype(sample.dtype)
    sample = sample[..., None]
    inner = np.trunc((place + sample) * step).astype(np.int64) - np.trunc(sample * step).astype(np.int64)
    return np.concatenate([inner, last], -1)


@fractional_max_pool.meta
def fractional_max_pool_meta(x: Meta, samples: Meta, *, kernel: Ints, size: Ints) -> tuple[Meta, Meta]:
    count = len(size)
    name = f"fractional_max_pool{count}d"
    for axis in range(1, x.ndim):
        check(
            x.shape[axis] > 0,
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(x.shape)} with"
            " dimension"
            f" {axis} being empty.",
        )
    check(samples.dtype is x.dtype, "Expect _random_samples to have the same dtype as input")
    check(samples.ndim == 3, f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    check(samples.shape[0] >= x.shape[0], "Expect _random_samples.size(0) no less then input batch size.")
    check(samples.shape[1] == x.shape[1], "Expect _random_samples.size(1) equals to input channel size.")
    check(samples.shape[2] == count, f"Expect _random_samples.size(2) equals to {count}; got {samples.shape[2]}.")
    titles = ("time", "height", "width")[3 - count :]
    for title, n, m, k in zip(titles, x.shape[2:], size, kernel, strict=True):
        check(
            m > 0 and k > 0,
            f"{name}(): output_size and kernel_size must be positive, got {list(size)} and {list(kernel)}",
        )
        check(m + k - 1 <= n, f"{name}(): pool {title} {k} too large relative to input {title} {n} (for {m} windows)")
    refuse(name, x, (2,))
    shape = (*x.shape[:2], *size)
    return x.like(shape), x.like(shape, dtypes.int64)


@fractional_max_pool.vjp("x")
def fractional_max_pool_dx(dvalues: Any, indices: Any, x_meta: Meta) -> Any:
    return pool_scatter(dvalues, indices, size=tuple(x_meta.shape[2:]), distinct=False)
