"""Pooling over windows of the last axes: largest values and where they are, and averages.

Windows slide (`kernel`, `stride`, `padding`, one entry per spatial axis) or divide an axis evenly ("adaptive").
An index is the place in its plane, row-major. Windows at random places are in random_pooling.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, channels_last_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.convolution import is_channels_last
from pellucid.engine.ops.convolution_arithmetic import rows_first

Ints = tuple[int, ...]


def pooled_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows fit along an axis; in ceil mode the last may run over, if it starts inside."""
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= n + padding else count


def planes(x: Meta, shape: Ints, kind: Any = None) -> Meta:
    """A meta for pooled planes, channels last where the input is."""
    strides = channels_last_strides(shape) if len(shape) == x.ndim and is_channels_last(x) else None
    return Meta.of(shape, kind or x.dtype, x.device, strides)


def fresh(x: np.ndarray, space: Ints, value: Any, kind: Any = None) -> np.ndarray:
    """An array full of `value` with the leading axes of `x`, other spatial sizes, and its memory order."""
    lead = x.shape[: x.ndim - len(space)]
    if len(lead) == 2 and rows_first(x):
        return np.moveaxis(np.full((lead[0], *space, lead[1]), value, kind or x.dtype), -1, 1)
    return np.full((*lead, *space), value, kind or x.dtype)


def _check_window(name: str, x: Meta, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, space: Ints) -> None:
    check(
        all(each > 0 for each in (*kernel, *stride)),
        f"{name}: stride should not be zero, nor kernel_size: {stride}, {kernel}",
    )
    check(
        all(each > 0 for each in dilation),
        f"{name}: dilation should be greater than zero, but got dilation: {list(dilation)}",
    )
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        check(p >= 0, f"pad must be non-negative, but got pad: {p}")
        check(
            p <= (d * (k - 1) + 1) // 2,
            f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}",
        )
    inside = x.shape[x.ndim - len(kernel) :]
    channels = x.shape[x.ndim - len(kernel) - 1]
    check(
        all(each >= 1 for each in space),
        f"Given input size: ({'x'.join(map(str, (channels, *inside)))}). Calculated output size:"
        f" ({'x'.join(map(str, (channels, *[max(0, each) for each in space])))}). Output size is too small"
        f" (kernel_size {list(kernel)} does not fit)",
    )


def refuse(name: str, x: Meta, categories: tuple[int, ...] = (1, 2)) -> None:
    """NotImplementedError in PyTorch's words unless the dtype is an integer or real (or as `categories` say)."""
    check(x.dtype.category in categories, f"\"{name}\" not implemented for '{title(x.dtype)}'", NotImplementedError)


def _numbered(stem: str, setting: str) -> Any:
    return lambda settings: stem.replace("#", str(len(settings[setting])))


# -- largest values ------------------------------------------------------------------------------------------------


@op(outputs=("values", "indices"), grad_name=_numbered("MaxPool#DWithIndicesBackward0", "kernel"))
def max_pool(
    x: np.ndarray, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each window and its index: the first of equal ones, the last NaN if there is one."""
    inside = x.shape[x.ndim - len(kernel) :]
    how = list(zip(inside, kernel, stride, padding, dilation, strict=True))
    space = tuple([pooled_size(*each, ceil_mode) for each in how])
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    values = _surrounded(x, space, kernel, stride, padding, dilation, lowest)
    has_nan = x.dtype.kind == "f" and bool(np.isnan(x).any())
    kind: Any = np.uint8 if int(np.prod(kernel)) <= 256 else np.uint32
    which: Any = None
    smaller = 1
    for axis in range(len(kernel) - 1, -1, -1):  # one axis at a time: the largest of each line, then of the lines
        values, which = _largest_along(values, which, smaller, axis, how[axis], space[axis], len(kernel), kind, has_nan)
        smaller *= kernel[axis]
    return values, _flat_places(which, inside, space, kernel, stride, padding, dilation)


def _largest_along(
    x: np.ndarray, which: Any, smaller: int, axis: int, how: Any, m: int, count: int, kind: Any, has_nan: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each window along one spatial axis, and its kernel place: that of the axes behind, `which`
    (below `smaller`), and `smaller` times that of this axis."""
    _, k, s, p, d = how
    first = x.ndim - count + axis
    lead = (slice(None),) * first
    parts = [(*lead, slice(i * d, i * d + s * (m - 1) + 1 if m else i * d, s)) for i in range(k)]
    outside = np.maximum(0, -((np.arange(m) * s - p) // d)).astype(
        kind
    )  # places of each window before the first element
    values = x[parts[0]].copy(order="K")
    best = np.zeros_like(values, kind)
    best += kind(smaller) * outside.reshape([-1 if i == first else 1 for i in range(x.ndim)])
    if which is not None:
        best += which[parts[0]]
    for i in range(1, k):
        part = x[parts[i]]
        better = part > values
        if has_nan:
            better |= np.isnan(part)
        np.maximum(values, part, out=values)
        change = (
            kind(i * smaller) - best
        )  # by arithmetic that wraps around: choosing by a mask mispredicts every other element
        if which is not None:
            change += which[parts[i]]
        change *= better.view(np.uint8)
        best += change
    return values, best


def _surrounded(
    x: np.ndarray, space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, value: Any
) -> np.ndarray:
    """`x` with so much of `value` around it that every window lies inside."""
    inside = x.shape[x.ndim - len(space) :]
    size, middle = [], []
    for n, m, k, s, p, d in zip(inside, space, kernel, stride, padding, dilation, strict=True):
        size.append(max(n + p, (m - 1) * s + d * (k - 1) + 1))
        middle.append(slice(p, p + n))
    if tuple(size) == inside:
        return x
    wide = fresh(x, tuple(size), value)
    wide[(..., *middle)] = x
    return wide


def _flat_places(
    which: np.ndarray, inside: Ints, space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    steps = [int(np.prod(inside[axis + 1 :])) for axis in range(len(inside))]
    places = np.zeros(kernel, np.int64)
    starts = np.zeros(space, np.int64)
    for axis, step in enumerate(steps):
        along = [-1 if i == axis else 1 for i in range(len(inside))]
        places = places + (np.arange(kernel[axis]) * dilation[axis] * step).reshape(along)
        starts = starts + ((np.arange(space[axis]) * stride[axis] - padding[axis]) * step).reshape(along)
    found = np.take(places.reshape(-1), which)
    found += starts
    return found


@max_pool.meta
def max_pool_meta(
    x: Meta, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Meta, Meta]:
    count = len(kernel)
    refuse(f"max_pool{count}d", x)
    lead = x.ndim - count
    check(all(each > 0 for each in stride), f"max_pool{count}d: stride should not be zero (got {list(stride)})")
    how = zip(x.shape[lead:], kernel, stride, padding, dilation, strict=True)
    space = tuple([pooled_size(*each, ceil_mode) for each in how])
    _check_window(f"max_pool{count}d", x, kernel, stride, padding, dilation, space)
    shape = (*x.shape[:lead], *space)
    return planes(x, shape), planes(x, shape, dtypes.int64)


@max_pool.vjp("x")
def max_pool_dx(dvalues: Any, indices: Any, x_meta: Meta, kernel: Ints, stride: Ints, dilation: Ints) -> Any:
    apart = all(s > d * (k - 1) for s, k, d in zip(stride, kernel, dilation, strict=True))
    return pool_scatter(dvalues, indices, size=tuple(x_meta.shape[x_meta.ndim - len(kernel) :]), distinct=apart)


@op(grad_name="PoolScatterBackward0")
def pool_scatter(x: np.ndarray, indices: np.ndarray, *, size: Ints, distinct: bool) -> np.ndarray:
    """Planes of zeros to which each element of `x` is added at its index; `distinct` promises that no index repeats."""
    lead = x.shape[: x.ndim - len(size)]
    flat, total = _across_planes(indices, lead, size)
    values = np.ascontiguousarray(x).reshape(-1)
    if distinct or not flat.size:
        whole = np.zeros(total, x.dtype)
        whole[flat] = values
    else:
        whole = np.bincount(flat, values, total).astype(x.dtype)
    return whole.reshape(*lead, *size)


def _across_planes(indices: np.ndarray, lead: Ints, size: Ints) -> tuple[np.ndarray, int]:
    """Indices within a plane as indices into all planes together, and how many elements those have."""
    count, plane = int(np.prod(lead)), int(np.prod(size))
    flat = indices.reshape(count, -1 if indices.size else 0) + (np.arange(count) * plane)[:, None]
    return flat.reshape(-1), count * plane


@pool_scatter.meta
def pool_scatter_meta(x: Meta, indices: Meta, *, size: Ints, distinct: bool) -> Meta:
    return planes(x, (*x.shape[: x.ndim - len(size)], *size))


@pool_scatter.vjp("x")
def pool_scatter_dx(dy: Any, indices: Any, size: Ints) -> Any:
    return pool_gather(dy, indices, count=len(size))


@op(half="keep", grad_name="PoolGatherBackward0")
def pool_gather(x: np.ndarray, indices: np.ndarray, *, count: int) -> np.ndarray:
    """The elements of planes (the last `count` axes) at their indices."""
    lead = x.shape[: x.ndim - count]
    flat, _ = _across_planes(indices, lead, x.shape[x.ndim - count :])
    return np.ascontiguousarray(x).reshape(-1)[flat].reshape(indices.shape)


@pool_gather.meta
def pool_gather_meta(x: Meta, indices: Meta, *, count: int) -> Meta:
    return planes(x, tuple(indices.shape))


@pool_gather.vjp("x")
def pool_gather_dx(dy: Any, indices: Any, x_meta: Meta, count: int) -> Any:
    return pool_scatter(dy, indices, size=tuple(x_meta.shape[x_meta.ndim - count :]), distinct=False)


@op(half="keep", grad_name=_numbered("MaxUnpool#DBackward0", "size"))
def max_unpool(x: np.ndarray, indices: np.ndarray, *, size: Ints) -> np.ndarray:
    """Planes of zeros in which each element of `x` stands at its index; of equal indices, the last one stays."""
    plane = int(np.prod(size))
    wrong = (indices < 0) | (indices >= plane)
    if wrong.any():
        raise RuntimeError(
            f"Found an invalid max index: {int(indices[wrong][0])} (output volumes are of size"
            f" {'x'.join(map(str, size))})"
        )
    lead = x.shape[: x.ndim - len(size)]
    flat, total = _across_planes(indices, lead, size)
    whole = np.zeros(total, x.dtype)
    whole[flat] = np.ascontiguousarray(x).reshape(-1)
    return whole.reshape(*lead, *size)


@max_unpool.meta
def max_unpool_meta(x: Meta, indices: Meta, *, size: Ints) -> Meta:
    count = len(size)
    check(indices.dtype is dtypes.int64, f"elements in indices should be type int64 but got: {title(indices.dtype)}")
    check(
        x.ndim in (count + 1, count + 2),
        f"Input to max_unpooling{count}d should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with"
        f" {x.ndim}"
        " dimensions.",
    )
    check(
        x.shape == indices.shape,
        f"Expected shape of indices to be same as that of the input tensor ({list(x.shape)}) but got indices tensor"
        " with"
        f" shape: {list(indices.shape)}",
    )
    for axis in range(1, x.ndim):
        check(
            x.shape[axis] > 0,
            f"max_unpooling{count}d(): Expected input to have non-zero size for non-batch dimensions, but got"
            f" {list(x.shape)} with dimension {axis} being empty.",
        )
    refuse(f"max_unpool{count}d", x, (2,))
    return planes(x, (*x.shape[: x.ndim - count], *size))


@max_unpool.vjp("x")
def max_unpool_dx(dy: Any, indices: Any, size: Ints) -> Any:
    return pool_gather(dy, indices, count=len(size))


def last_nan_or_first_largest(windows: np.ndarray) -> np.ndarray:
    """Where along the last axis the largest value is: PyTorch's choice among several."""
    found = windows.argmax(-1)
    if windows.dtype.kind == "f":
        nan = np.isnan(windows)
        if nan.any():
            found = np.where(nan.any(-1), windows.shape[-1] - 1 - nan[..., ::-1].argmax(-1), found)
    return found


@op(outputs=("values", "indices"), grad_name=_numbered("AdaptiveMaxPool#DBackward0", "size"))
def adaptive_max_pool(x: np.ndarray, *, size: Ints) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each of `size` evenly spread windows, and its index, chosen as in `max_pool`."""
    lead, inside = x.shape[: x.ndim - len(size)], x.shape[x.ndim - len(size) :]
    values = np.empty((*lead, *size), x.dtype)
    indices = np.empty((*lead, *size), np.int64)
    numbers = np.arange(int(np.prod(inside))).reshape(inside)
    spans = [adaptive_spans(n, m) for n, m in zip(inside, size, strict=True)]
    for cell in itertools.product(*map(range, size)):
        part = tuple([slice(*spans[axis][i]) for axis, i in enumerate(cell)])
        count = numbers[part].size
        window = x[(..., *part)].reshape(*lead, count)
        found = last_nan_or_first_largest(window)
        values[(..., *cell)] = np.take_along_axis(window, found[..., None], -1)[..., 0]
        indices[(..., *cell)] = numbers[part].reshape(-1)[found]
    return values, indices


def adaptive_spans(n: int, m: int) -> list[tuple[int, int]]:
    """Start and end of each of m windows that cover n places evenly; they may overlap by one."""
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


@adaptive_max_pool.meta
def adaptive_max_pool_meta(x: Meta, *, size: Ints) -> tuple[Meta, Meta]:
    _check_adaptive("adaptive_max_pool", x, size)
    shape = (*x.shape[: x.ndim - len(size)], *size)
    return (
        (planes(x, shape), planes(x, shape, dtypes.int64))
        if len(size) == 2
        else (x.like(shape), x.like(shape, dtypes.int64))
    )


def _check_adaptive(name: str, x: Meta, size: Ints) -> None:
    count = len(size)
    name = f"{name}{count}d"
    check(
        x.ndim in (count + 1, count + 2),
        f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(x.shape)}",
    )
    for axis in range(1, x.ndim):
        check(
            x.shape[axis] > 0,
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes"
            f" {list(x.shape)} with"
            f" dimension {axis} being empty",
        )
    check(
        all(each >= 0 for each in size),
        f"{name}: elements of output_size must be greater than or equal to 0 but received"
        f" {{{', '.join(map(str, size))}}}",
    )
    refuse(name, x, (2,))


@adaptive_max_pool.vjp("x")
def adaptive_max_pool_dx(dvalues: Any, indices: Any, x_meta: Meta, size: Ints) -> Any:
    return pool_scatter(dvalues, indices, size=tuple(x_meta.shape[x_meta.ndim - len(size) :]), distinct=False)


# -- averages ------------------------------------------------------------------------------------------------------


@op(grad_name=_numbered("AvgPool#DBackward0", "kernel"))
def avg_pool(
    x: np.ndarray,
    *,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> np.ndarray:
    """The mean of each window; padding counts as zeros, or not at all; `divisor` replaces the count."""
    first = x.ndim - len(kernel)
    ones = (1,) * len(kernel)
    space = tuple(
        [pooled_size(*each, ceil_mode) for each in zip(x.shape[first:], kernel, stride, padding, ones, strict=True)]
    )
    divisors = divisors_of(x.shape[first:], space, kernel, stride, padding, count_include_pad, divisor)
    total = _surrounded(x, space, kernel, stride, padding, ones, 0)
    for axis, (k, s, m) in enumerate(zip(kernel, stride, space, strict=True), start=first):
        lead = (slice(None),) * axis
        parts = [total[(*lead, slice(i, i + s * (m - 1) + 1, s))] for i in range(k)]
        total = parts[0] + parts[1] if k > 1 else parts[0]
        for part in parts[2:]:
            total += part
    return _quotient(total, divisors)


def _quotient(total: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    if total.dtype.kind == "f":
        return total / divisors.astype(total.dtype)
    return np.sign(total) * np.sign(divisors) * (np.abs(total) // np.abs(divisors))  # towards 0, as C divides


def divisors_of(
    inside: Ints, space: Ints, kernel: Ints, stride: Ints, padding: Ints, count_include_pad: bool, divisor: int | None
) -> np.ndarray:
    """What each window's sum is divided by."""
    if divisor is not None:
        return np.asarray(divisor)
    counts = np.ones(space, np.int64)
    for axis, (n, m, k, s, p) in enumerate(zip(inside, space, kernel, stride, padding, strict=True)):
        start = np.arange(m) * s - p
        end = np.minimum(start + k, n + p)
        length = end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0)
        counts = counts * length.reshape([-1 if i == axis else 1 for i in range(len(space))])
    return counts


@avg_pool.meta
def avg_pool_meta(
    x: Meta, *, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool, divisor: int | None
) -> Meta:
    count = len(kernel)
    refuse(f"avg_pool{count}d", x)
    check(divisor is None or divisor != 0, "divisor must be not zero")
    check(all(each > 0 for each in stride), f"avg_pool{count}d: stride should not be zero (got {list(stride)})")
    first, ones = x.ndim - count, (1,) * count
    space = tuple(
        [pooled_size(*each, ceil_mode) for each in zip(x.shape[first:], kernel, stride, padding, ones, strict=True)]
    )
    _check_window(f"avg_pool{count}d", x, kernel, stride, padding, ones, space)
    shape = (*x.shape[:first], *space)
    return planes(x, shape) if count == 2 else x.like(shape)


@avg_pool.vjp("x")
def avg_pool_dx(dy: Any, x_meta: Meta, kernel: Ints, **how: Any) -> Any:
    return avg_pool_adjoint(dy, size=tuple(x_meta.shape[x_meta.ndim - len(kernel) :]), kernel=kernel, **how)


@op(grad_name=_numbered("AvgPool#DBackwardBackward0", "kernel"))
def avg_pool_adjoint(
    x: np.ndarray,
    *,
    size: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> np.ndarray:
    """Each element divided as in `avg_pool` and added to all places of its window."""
    first = x.ndim - len(kernel)
    space = x.shape[first:]
    whole = _quotient(x, divisors_of(size, space, kernel, stride, padding, count_include_pad, divisor))
    for axis, (n, m, k, s, p) in enumerate(zip(size, space, kernel, stride, padding, strict=True), start=first):
        length = max(n + p, (m - 1) * s + k)
        wide = fresh(whole, (*whole.shape[first:axis], length, *whole.shape[axis + 1 :]), 0)
        lead = (slice(None),) * axis
        for i in range(k):
            wide[(*lead, slice(i, i + s * (m - 1) + 1, s))] += whole
        whole = wide[(*lead, slice(p, p + n))]
    return whole


@avg_pool_adjoint.meta
def avg_pool_adjoint_meta(x: Meta, *, size: Ints, kernel: Ints, **how: Any) -> Meta:
    return planes(x, (*x.shape[: x.ndim - len(kernel)], *size))


@avg_pool_adjoint.vjp("x")
def avg_pool_adjoint_dx(dy: Any, kernel: Ints, **how: Any) -> Any:
    return avg_pool(dy, kernel=kernel, **{name: value for name, value in how.items() if name != "size"})


@op(grad_name=_numbered("AdaptiveAvgPool#DBackward0", "size"))
def adaptive_avg_pool(x: np.ndarray, *, size: Ints) -> np.ndarray:
    """The mean of each of `size` evenly spread windows."""
    first = x.ndim - len(size)
    for axis, m in enumerate(size, start=first):
        x = _adaptive_means(x, axis, m)
    return x


def _adaptive_means(x: np.ndarray, axis: int, m: int) -> np.ndarray:
    n = x.shape[axis]
    if m and n % m == 0 and x.flags.c_contiguous:
        return x.reshape(*x.shape[:axis], m, n // m, *x.shape[axis + 1 :]).mean(axis + 1)
    lead = (slice(None),) * axis
    parts = [x[(*lead, slice(start, end))].mean(axis) for start, end in adaptive_spans(n, m)]
    return np.stack(parts, axis) if parts else np.zeros((*x.shape[:axis], 0, *x.shape[axis + 1 :]), x.dtype)


@adaptive_avg_pool.meta
def adaptive_avg_pool_meta(x: Meta, *, size: Ints) -> Meta:
    _check_adaptive("adaptive_avg_pool", x, size)
    shape = (*x.shape[: x.ndim - len(size)], *size)
    return planes(x, shape) if len(size) == 2 else x.like(shape)


@adaptive_avg_pool.vjp("x")
def adaptive_avg_pool_dx(dy: Any, x_meta: Meta, size: Ints) -> Any:
    return adaptive_avg_pool_adjoint(dy, size=tuple(x_meta.shape[x_meta.ndim - len(size) :]))


@op(grad_name=_numbered("AdaptiveAvgPool#DBackwardBackward0", "size"))
def adaptive_avg_pool_adjoint(x: np.ndarray, *, size: Ints) -> np.ndarray:
    """Each element spread evenly over the places of its window among `size`."""
    first = x.ndim - len(size)
    for axis, n in enumerate(size, start=first):
        lead = (slice(None),) * axis
        if x.shape[axis] and n % x.shape[axis] == 0:
            together = n // x.shape[axis]
            x = np.repeat(x / x.dtype.type(together), together, axis)
            continue
        whole = np.zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype)
        for i, (start, end) in enumerate(adaptive_spans(n, x.shape[axis])):
            whole[(*lead, slice(start, end))] += x[(*lead, slice(i, i + 1))] / x.dtype.type(end - start)
        x = whole
    return x


@adaptive_avg_pool_adjoint.meta
def adaptive_avg_pool_adjoint_meta(x: Meta, *, size: Ints) -> Meta:
    return planes(x, (*x.shape[: x.ndim - len(size)], *size))


@adaptive_avg_pool_adjoint.vjp("x")
def adaptive_avg_pool_adjoint_dx(dy: Any, x_meta: Meta, size: Ints) -> Any:
    return adaptive_avg_pool(dy, size=tuple(x_meta.shape[x_meta.ndim - len(size) :]))
