"""Convolutions with a kernel of its own for each channel, with NumPy: one multiplication and addition per kernel place.

With a stride of 1, a padded plane is read as one long row: what a kernel place sees is then the row from some offset
on, with a few elements between the lines that nobody reads. With other strides, lines are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pellucid.engine.ops.convolution_arithmetic import Ints, output_space, padded, places, product, spread_space

_CACHED = 1 << 16  # elements of a buffer that stays in a cache


def _batches(x: np.ndarray) -> Iterator[slice]:
    size = max(1, _CACHED // max(1, product(x.shape[1:])))
    for start in range(0, len(x), size):
        yield slice(start, min(start + size, len(x)))


def gather_depthwise(x: np.ndarray, weight: np.ndarray, stride: Ints, padding: Ints, dilation: Ints) -> np.ndarray:
    """Cross-correlation of each channel with its kernels, which are neighbours in `weight`."""
    space = output_space(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    several = len(weight) // max(1, x.shape[1])
    x = np.repeat(x, several, axis=1) if several != 1 else x
    y = np.empty((len(x), len(weight), *space), np.result_type(x, weight))
    for part in _batches(x):
        wide = np.ascontiguousarray(padded(x[part], padding))
        if all(s == 1 for s in stride):
            y[part] = _gather_long(wide, weight, space, dilation)
        else:
            y[part] = _gather_lines(wide, weight, space, stride, dilation)
    return y


def _offsets(kernel: Ints, size: Ints, dilation: Ints) -> list[tuple[Ints, int]]:
    """Every kernel place, and where it begins to see a padded plane that is read as one row."""
    ones = (1,) * len(kernel)
    found = []
    for place, _ in places(kernel, ones, ones, dilation):
        offset = 0
        for n, i, d in zip(size, place, dilation, strict=True):
            offset = offset * n + i * d
        found.append((place, offset))
    return found


def _gather_long(wide: np.ndarray, weight: np.ndarray, space: Ints, dilation: Ints) -> np.ndarray:
    size = wide.shape[2:]
    row = wide.reshape(*wide.shape[:2], product(size))
    offsets = _offsets(weight.shape[2:], size, dilation)
    length = row.shape[2] - offsets[-1][1]
    total = np.zeros_like(row)
    sums, product_ = total[:, :, :length], np.empty((*row.shape[:2], length), row.dtype)
    for place, offset in offsets:
        factor = weight[(slice(None), 0, *place)][:, None]
        np.multiply(row[:, :, offset : offset + length], factor, out=product_)
        sums += product_
    return total.reshape(wide.shape)[(slice(None), slice(None), *[slice(n) for n in space])]


def _gather_lines(wide: np.ndarray, weight: np.ndarray, space: Ints, stride: Ints, dilation: Ints) -> np.ndarray:
    total = np.zeros((*wide.shape[:2], *space), wide.dtype)
    product_ = np.empty_like(total)
    ones = (1,) * len(space)
    for place, seen in places(weight.shape[2:], space, stride, dilation):
        factor = weight[(slice(None), 0, *place)].reshape(-1, *ones)
        np.multiply(wide[(slice(None), slice(None), *seen)], factor, out=product_)
        total += product_
    return total


def spread_depthwise(
    x: np.ndarray, weight: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, extra: Ints
) -> np.ndarray:
    """Transposed: each channel adds its multiples of its own kernels (axis 1 of `weight`) to as many channels."""
    several, space = weight.shape[1], x.shape[2:]
    full = spread_space(space, weight.shape[2:], stride, dilation, extra)
    inside = tuple([n - 2 * p for n, p in zip(full, padding, strict=True)])
    x = np.repeat(x, several, axis=1) if several != 1 else x
    kernels = weight.reshape(x.shape[1], 1, *weight.shape[2:])
    y = np.empty((len(x), x.shape[1], *inside), np.result_type(x, weight))
    ones = (1,) * len(space)
    cut = tuple([slice(p, p + n) for n, p in zip(inside, padding, strict=True)])
    for part in _batches(x):
        wide = np.zeros((part.stop - part.start, x.shape[1], *full), y.dtype)
        product_ = np.empty((len(wide), *x.shape[1:]), y.dtype)
        for place, seen in places(weight.shape[2:], space, stride, dilation):
            np.multiply(x[part], kernels[(slice(None), 0, *place)].reshape(-1, *ones), out=product_)
            wide[(slice(None), slice(None), *seen)] += product_
        y[part] = wide[(slice(None), slice(None), *cut)]
    return y


def weigh_depthwise(
    coarse: np.ndarray, fine: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """The gradient of the kernels: per channel and kernel place, a sum of products."""
    several = coarse.shape[1] // max(1, fine.shape[1])
    fine = np.repeat(fine, several, axis=1) if several != 1 else fine
    total = np.zeros((coarse.shape[1], 1, *kernel), np.result_type(coarse, fine))
    space = coarse.shape[2:]
    for part in _batches(fine):
        wide = np.ascontiguousarray(padded(fine[part], padding))
        left = np.ascontiguousarray(coarse[part])
        for place, seen in places(kernel, space, stride, dilation):
            lines = np.ascontiguousarray(wide[(slice(None), slice(None), *seen)])
            flat = (len(left), coarse.shape[1], product(space))
            total[(slice(None), 0, *place)] += np.einsum("ncp,ncp->c", left.reshape(flat), lines.reshape(flat))
    return total
