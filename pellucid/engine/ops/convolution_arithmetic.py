"""How convolutions are computed with NumPy: what the kernel sees is copied out as a matrix, then BLAS multiplies.

Three layouts, by what measured faster: large planes one at a time; planes of few places with the batch as the fastest
axis, so that what is copied lies together; channels-last arrays as rows. Buffers fit in a cache and are used again.
A kernel per channel has too little to multiply for BLAS: see depthwise.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import as_strided

Ints = tuple[int, ...]

_BATCH = 16  # how many small planes are taken together
_SMALL = 256  # places that a small plane has at most
_CACHED = 1 << 18  # elements that stay in a cache


def padded(x: np.ndarray, padding: Ints, value: float = 0) -> np.ndarray:
    """`x` with `value` on both sides of each spatial axis; the same array where there is nothing to add."""
    if not any(padding):
        return x
    shape = (*x.shape[:2], *[n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)])
    if rows_first(x):
        wide = np.moveaxis(np.full((shape[0], *shape[2:], shape[1]), value, x.dtype), -1, 1)
    else:
        wide = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    wide[(slice(None), slice(None), *[slice(p, p + n) for n, p in zip(x.shape[2:], padding, strict=True)])] = x
    return wide


def windows(x: np.ndarray, kernel: Ints, stride: Ints, dilation: Ints, space: Ints) -> np.ndarray:
    """A view (batch, channels, *kernel, *space) of what a kernel sees at each place of an already padded array."""
    steps = x.strides[2:]
    inside = [step * d for step, d in zip(steps, dilation, strict=True)]
    across = [step * s for step, s in zip(steps, stride, strict=True)]
    return as_strided(x, (*x.shape[:2], *kernel, *space), (*x.strides[:2], *inside, *across), writeable=False)


def places(kernel: Ints, space: Ints, stride: Ints, dilation: Ints) -> Iterator[tuple[Ints, tuple[slice, ...]]]:
    """Every place of a kernel, and the slices of a padded array's spatial axes that all windows see there."""
    for place in itertools.product(*map(range, kernel)):
        steps = zip(place, stride, dilation, space, strict=True)
        yield place, tuple([slice(i * d, i * d + s * (n - 1) + 1 if n else i * d, s) for i, s, d, n in steps])


def fold_into(wide: np.ndarray, parts: np.ndarray, stride: Ints, dilation: Ints) -> None:
    """Add windows (batch, channels, *kernel, *space) to the places that they show: the adjoint of `windows`."""
    count = len(stride)
    for place, seen in places(parts.shape[2 : 2 + count], parts.shape[2 + count :], stride, dilation):
        wide[(slice(None), slice(None), *seen)] += parts[(slice(None), slice(None), *place)]


def rows_first(x: np.ndarray) -> bool:
    """Whether the channels (axis 1) are the fastest-moving axis in memory."""
    return not x.flags.c_contiguous and np.moveaxis(x, 1, -1).flags.c_contiguous


def product(sizes: Ints) -> int:
    """How many elements a shape has."""
    total = 1
    for each in sizes:
        total *= each
    return total


def output_space(inside: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The spatial size of a convolution's result."""
    sizes = zip(inside, kernel, stride, padding, dilation, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes])


def spread_space(space: Ints, kernel: Ints, stride: Ints, dilation: Ints, extra: Ints) -> Ints:
    """The spatial size of a transposed convolution's result before its padding is cut off."""
    sizes = zip(space, kernel, stride, dilation, extra, strict=True)
    return tuple([(n - 1) * s + d * (k - 1) + 1 + e for n, k, s, d, e in sizes])


def _middle(sizes: Ints, padding: Ints) -> tuple[slice, ...]:
    return tuple([slice(p, p + n) for n, p in zip(sizes, padding, strict=True)])


def _takes_batches(batch: int, space: Ints) -> bool:
    return batch >= _BATCH // 2 and product(space) <= _SMALL


def _batches(batch: int, size: int) -> Iterator[slice]:
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))


# -- gather: the convolution itself --------------------------------------------------------------------------------


def gather(x: np.ndarray, weight: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """Cross-correlation; a fresh array in the memory order of `x`."""
    kernel = weight.shape[2:]
    space = output_space(x.shape[2:], kernel, stride, padding, dilation)
    if groups == 1 and rows_first(x):
        return _gather_rows(x, weight, space, stride, padding, dilation)
    matrix = weight.reshape(groups, len(weight) // groups, weight.shape[1] * product(kernel))
    if all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding):
        y = np.matmul(matrix, x.reshape(len(x), groups, weight.shape[1], product(space)))
        return y.reshape(len(x), len(weight), *space)
    y = np.empty((len(x), len(weight), *space), np.result_type(x, weight))
    if _takes_batches(len(x), space):
        flat = y.reshape(len(x), len(weight) * product(space))
        for part, columns in _batch_columns(x, kernel, space, stride, padding, dilation):
            many = columns.reshape(groups, matrix.shape[2], product(space) * columns.shape[-1])
            flat[part] = np.matmul(matrix, many).reshape(flat.shape[1], columns.shape[-1]).T
        return y
    planes = y.reshape(len(x), groups, matrix.shape[1], product(space))
    for i, columns in enumerate(_plane_columns(x, kernel, space, stride, padding, dilation)):
        np.matmul(matrix, columns.reshape(groups, matrix.shape[2], product(space)), out=planes[i])
    return y


def _plane_columns(
    x: np.ndarray, kernel: Ints, space: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Iterator[np.ndarray]:
    """Per plane, what the kernel sees: (channels, *kernel, *space), always in the same buffer."""
    seen = windows(padded(x, padding), kernel, stride, dilation, space)
    columns = np.empty(seen.shape[1:], x.dtype)
    for i in range(len(x)):
        np.copyto(columns, seen[i])
        yield columns


def _batch_columns(
    x: np.ndarray, kernel: Ints, space: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Iterator[tuple[slice, np.ndarray]]:
    """Per batch of planes, what the kernel sees with the batch last: (channels, *kernel, *space, batch)."""
    wide = columns = np.empty(0)
    middle = _middle(x.shape[2:], padding)
    for part in _batches(len(x), _BATCH):
        count = part.stop - part.start
        if columns.shape[-1] != count:
            size = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
            wide = np.zeros((x.shape[1], *size, count), x.dtype)
            columns = np.empty((x.shape[1], *kernel, *space, count), x.dtype)
        wide[(slice(None), *middle)] = np.moveaxis(x[part], 0, -1)
        for place, seen in places(kernel, space, stride, dilation):
            columns[(slice(None), *place)] = wide[(slice(None), *seen)]
        yield part, columns


def _gather_rows(
    x: np.ndarray, weight: np.ndarray, space: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    seen = windows(padded(x, padding), weight.shape[2:], stride, dilation, space)
    matrix = np.moveaxis(weight, (0, 1), (-1, -2)).reshape(-1, len(weight))
    rows = np.empty((len(x), product(space), len(weight)), np.result_type(x, weight))
    for part in _batches(len(x), _rows_together(seen)):
        np.matmul(_as_rows(seen[part], len(space)), matrix, out=rows[part].reshape(-1, len(weight)))
    return np.moveaxis(rows.reshape(len(x), *space, len(weight)), -1, 1)


def _rows_together(seen: np.ndarray) -> int:
    return max(1, _CACHED // max(1, product(seen.shape[1:])))


def _as_rows(seen: np.ndarray, space: int) -> np.ndarray:
    """Windows as a matrix with a row for each place and, in it, the channels as the fastest-moving part."""
    rows = seen.transpose(0, *range(2 + space, seen.ndim), *range(2, 2 + space), 1)
    return rows.reshape(product(rows.shape[: 1 + space]), product(rows.shape[1 + space :]))


# -- spread: the transposed convolution ----------------------------------------------------------------------------


def spread(
    x: np.ndarray, weight: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, extra: Ints, groups: int
) -> np.ndarray:
    """Transposed: each element of `x` adds its multiple of the kernel to the places that it is seen from."""
    kernel, space = weight.shape[2:], x.shape[2:]
    full = spread_space(space, kernel, stride, dilation, extra)
    inside = tuple([n - 2 * p for n, p in zip(full, padding, strict=True)])
    if groups == 1 and rows_first(x):
        return _spread_rows(x, weight, full, inside, stride, padding, dilation)
    channels = weight.shape[1] * groups
    matrix = weight.reshape(groups, len(weight) // groups, weight.shape[1] * product(kernel)).swapaxes(1, 2)
    if inside == space and all(k == 1 for k in kernel) and all(s == 1 for s in stride):
        y = np.matmul(matrix, x.reshape(len(x), groups, matrix.shape[2], product(space)))
        return y.reshape(len(x), channels, *space)
    y = np.empty((len(x), channels, *inside), np.result_type(x, weight))
    size = _BATCH if _takes_batches(len(x), space) else 1
    cut = (slice(None), *_middle(inside, padding))
    wide = np.empty(0)
    for part in _batches(len(x), size):
        count = part.stop - part.start
        if wide.shape[-1] != count:
            wide = np.empty((channels, *full, count), y.dtype)
        many = np.moveaxis(x[part], 0, -1).reshape(groups, matrix.shape[2], product(space) * count)
        parts = np.matmul(matrix, many).reshape(channels, *kernel, *space, count)
        wide[...] = 0
        for place, seen in places(kernel, space, stride, dilation):
            wide[(slice(None), *seen)] += parts[(slice(None), *place)]
        y[part] = np.moveaxis(wide[cut], -1, 0)
    return y


def _spread_rows(
    x: np.ndarray, weight: np.ndarray, full: Ints, inside: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    kernel, space, channels = weight.shape[2:], x.shape[2:], weight.shape[1]
    matrix = np.moveaxis(weight, 1, -1).reshape(len(weight), -1)
    wide = np.zeros((len(x), *full, channels), np.result_type(x, weight))
    together = max(1, _CACHED // max(1, product(space) * matrix.shape[1]))
    for part in _batches(len(x), together):
        rows = np.moveaxis(x[part], 1, -1).reshape(-1, len(weight)) @ matrix
        parts = rows.reshape(-1, *space, *kernel, channels)
        for place, seen in places(kernel, space, stride, dilation):
            wide[part][(slice(None), *seen)] += parts[(slice(None), *[slice(None)] * len(space), *place)]
    return np.moveaxis(wide[(slice(None), *_middle(inside, padding))], -1, 1)


# -- weigh: the gradient of the weight -----------------------------------------------------------------------------


def weigh(
    coarse: np.ndarray, fine: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """For each kernel place, the sum over all places of `coarse` times the part of `fine` that is seen there."""
    space, batch = coarse.shape[2:], len(coarse)
    filters, inside = coarse.shape[1] // groups, fine.shape[1] // groups
    total = np.zeros((groups, filters, inside * product(kernel)), np.result_type(coarse, fine))
    if groups == 1 and rows_first(coarse):
        seen = windows(padded(fine, padding), kernel, stride, dilation, space)
        for part in _batches(batch, _rows_together(seen)):
            total[0] += np.moveaxis(coarse[part], 1, -1).reshape(-1, filters).T @ _as_rows(seen[part], len(space))
        return np.moveaxis(total.reshape(filters, *kernel, inside), -1, 1)
    if _takes_batches(batch, space):
        for part, columns in _batch_columns(fine, kernel, space, stride, padding, dilation):
            many = columns.reshape(groups, total.shape[2], product(space) * columns.shape[-1])
            left = np.moveaxis(coarse[part], 0, -1).reshape(groups, filters, many.shape[2])
            total += np.matmul(left, many.swapaxes(1, 2))
    else:
        for i, columns in enumerate(_plane_columns(fine, kernel, space, stride, padding, dilation)):
            left = coarse[i].reshape(groups, filters, product(space))
            total += np.matmul(left, columns.reshape(groups, total.shape[2], product(space)).swapaxes(1, 2))
    return total.reshape(groups * filters, inside, *kernel)
