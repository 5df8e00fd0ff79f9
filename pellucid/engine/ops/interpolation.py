"""Resampling of planes to another size: nearest, linear and cubic interpolation, and filters against aliasing.

Every method works axis by axis: each new place is a weighted sum of a few old ones, its taps. Sampling at free
positions is in grid.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.pooling import planes

Ints = tuple[int, ...]
Scales = tuple[float | None, ...]  # per axis the factor that positions are computed with; None: from the sizes
Taps = list[tuple[np.ndarray, np.ndarray | None]]  # per tap, the old place and the weight of each new place

_STEMS = {"nearest": "UpsampleNearest#D", "nearest-exact": "UpsampleNearestExact#D", "cubic": "UpsampleBicubic2D"}
_LINEAR = {1: "UpsampleLinear1D", 2: "UpsampleBilinear2D", 3: "UpsampleTrilinear3D"}
_ANTIALIASED = {
    "linear-aa": "UpsampleBilinear2DAa",
    "cubic-aa": "UpsampleBicubic2DAa",
    "lanczos-aa": "UpsampleLanczos2DAa",
}


def _named(settings: dict[str, Any]) -> str:
    mode, count = settings["mode"], len(settings["size"])
    if mode == "linear":
        return _LINEAR[count] + "Backward0"
    return {**_STEMS, **_ANTIALIASED}[mode].replace("#", str(count)) + "Backward0"


@op(grad_name=_named)
def upsample(x: np.ndarray, *, size: Ints, scales: Scales, mode: str, align_corners: bool) -> np.ndarray:
    """The last axes resampled to `size` by nearest, nearest-exact, linear, cubic, linear-aa, cubic-aa or lanczos-aa."""
    first = x.ndim - len(size)
    for axis in range(x.ndim - 1, first - 1, -1):
        how = (
            x.shape[axis],
            size[axis - first],
            _factor(x.shape[axis], size, scales, axis - first, mode),
            mode,
            align_corners,
        )
        if x.dtype == np.uint8 and "nearest" not in mode:
            x = _resampled_bytes(x, axis, taps(*how, np.dtype(np.float64)))
        else:
            x = _resampled(x, axis, taps(*how, _working(x.dtype)))
    return x


def _factor(n: int, size: Ints, scales: Scales, axis: int, mode: str) -> float | None:
    """The factor for positions: PyTorch takes it from the sizes where an image keeps or doubles a size and the mode is
    nearest, and where a filter keeps a size."""
    exact = n == size[axis] or (mode == "nearest" and 2 * n == size[axis])
    return None if exact and ((mode == "nearest" and len(size) == 2) or mode.endswith("-aa")) else scales[axis]


def _working(kind: np.dtype) -> np.dtype:
    return kind if kind.kind == "f" else np.dtype(np.float32)


def _along(weight: np.ndarray, ndim: int, axis: int) -> np.ndarray:
    return weight.reshape([-1 if i == axis else 1 for i in range(ndim)])


def _resampled(x: np.ndarray, axis: int, found: Taps) -> np.ndarray:
    total: Any = None
    for place, weight in found:
        part = np.take(x, place, axis)
        if weight is not None:
            part *= _along(weight, x.ndim, axis)
        total = part if total is None else np.add(total, part, out=total)
    return total


def _resampled_bytes(x: np.ndarray, axis: int, found: Taps) -> np.ndarray:
    """Like `_resampled` in integers: weights as 16-bit fixed-point numbers, the sum rounded to a byte."""
    weights = _merged(found)
    largest = max(float(weight.max()) for weight in weights)
    bits = 0
    while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    total = np.full((*x.shape[:axis], len(found[0][0]), *x.shape[axis + 1 :]), 1 << (bits - 1), np.int32)
    for shift, weight in enumerate(weights):
        place = np.minimum(found[0][0] + shift, x.shape[axis] - 1)
        fixed = np.trunc(weight * (1 << bits) + np.where(weight < 0, -0.5, 0.5)).astype(np.int32)
        total += np.take(x, place, axis).astype(np.int32) * _along(fixed, x.ndim, axis)
    return (total >> bits).clip(0, 255).astype(np.uint8)


def _merged(found: Taps) -> list[np.ndarray]:
    """Weights of the places from a tap's first one on: taps that meet at the edge are one before they are rounded."""
    first = found[0][0]
    merged = np.zeros((len(found), len(first)))
    for place, weight in found:
        np.add.at(merged, (place - first, np.arange(len(first))), 1.0 if weight is None else weight)
    return list(merged)


def taps(n: int, m: int, scale: float | None, mode: str, align_corners: bool, kind: np.dtype) -> Taps:
    """What the m places of a resampled axis are made of, for an axis of n places; positions are computed in `kind`."""
    if mode in ("nearest", "nearest-exact"):
        return _nearest_taps(n, m, scale, 0.5 if mode == "nearest-exact" else 0.0)
    real = kind.type
    if align_corners:
        step = real(n - 1) / real(m - 1) if m > 1 else real(0)
    else:
        step = real(1.0 / scale) if scale is not None and scale > 0 else real(n) / real(m)
    places = np.arange(m).astype(kind)
    if mode.endswith("-aa"):
        return [(np.arange(n), None)] if n == m else _filtered_taps(n, places, step, mode, kind)
    if mode == "linear":
        return _linear_taps(n, m, places, step, align_corners)
    position = places * step if align_corners else step * (places + real(0.5)) - real(0.5)
    start = np.floor(position)
    return _cubic_taps(n, start.astype(np.int64), (position - start).clip(0, 1))


def _nearest_taps(n: int, m: int, scale: float | None, shift: float) -> Taps:
    step = np.float32(1.0 / scale) if scale is not None and scale > 0 else np.float32(n) / np.float32(m)
    position = (np.arange(m).astype(np.float32) + np.float32(shift)) * step
    return [(np.floor(position).astype(np.int64).clip(0, n - 1), None)]


def _linear_taps(n: int, m: int, places: np.ndarray, step: Any, align_corners: bool) -> Taps:
    if n == m:
        return [(np.arange(n), None)]
    half = places.dtype.type(0.5)
    position = places * step if align_corners else np.maximum(step * (places + half) - half, 0)
    low = np.minimum(np.floor(position).astype(np.int64), n - 1)
    share = (position - low.astype(places.dtype)).clip(0, 1)
    return [(low, 1 - share), (np.minimum(low + 1, n - 1), share)]


def cubic_weights(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Weights of four neighbours of a position t between the middle two: Keys' cubic convolution (1981)."""
    far, near = t + 1, t
    return [
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * near - (a + 3)) * near * near + 1,
        ((a + 2) * (1 - near) - (a + 3)) * (1 - near) * (1 - near) + 1,
        ((a * (2 - near) - 5 * a) * (2 - near) + 8 * a) * (2 - near) - 4 * a,
    ]


def _cubic_taps(n: int, start: np.ndarray, t: np.ndarray) -> Taps:
    return [((start + shift - 1).clip(0, n - 1), weight) for shift, weight in enumerate(cubic_weights(t))]


def _filtered_taps(n: int, places: np.ndarray, step: Any, mode: str, kind: np.dtype) -> Taps:
    """Taps of a filter that is widened when the axis shrinks, so that it reads every old place (as in Pillow)."""
    real = kind.type
    shift = real(0.5)
    reach = {"linear-aa": 1.0, "cubic-aa": 2.0, "lanczos-aa": 3.0}[mode]
    support = real(reach) * step if step >= 1 else real(reach)
    narrow = real(1) / step if step >= 1 else real(1)
    centre = step * (places + shift)
    start = np.maximum(np.trunc(centre - support + shift).astype(np.int64), 0)
    end = np.minimum(np.trunc(centre + support + shift).astype(np.int64), n)
    length = np.maximum(end - start, 0)
    width = max(int(length.max()), 1)
    inside = np.arange(width)[:, None]
    weights = _filter(((inside + start).astype(kind) - centre + shift) * narrow, mode)
    weights = np.where(inside < length, weights, 0)
    total = weights.sum(0)
    weights = np.where(total != 0, weights / np.where(total != 0, total, 1), weights).astype(kind)
    return [(np.minimum(start + i, n - 1), weights[i]) for i in range(width)]


def _filter(x: np.ndarray, mode: str) -> np.ndarray:
    x = np.abs(x)
    if mode == "linear-aa":
        return np.maximum(1 - x, 0)
    if mode == "cubic-aa":
        a = -0.5
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * x * a - 4 * a
        return np.where(x < 1, near, np.where(x < 2, far, 0))
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


@upsample.meta
def upsample_meta(x: Meta, *, size: Ints, scales: Scales, mode: str, align_corners: bool) -> Meta:
    count = len(size)
    check(x.ndim == count + 2, f"It is expected input_size equals to {count + 2}, but got size {x.ndim}")
    axes = ("D", "H", "W")[3 - count :]
    inside = x.shape[2:]
    check(
        all(each > 0 for each in (*inside, *size)),
        "Input and output sizes should be greater than 0, but got input"
        f" ({', '.join(f'{a}: {n}' for a, n in zip(axes, inside, strict=True))}) output"
        f" ({', '.join(f'{a}: {n}' for a, n in zip(axes, size, strict=True))})",
    )
    check(x.shape[1] > 0, f"Non-empty {count + 2}D data tensor expected but got a tensor with sizes {list(x.shape)}")
    known = x.dtype.category == 2 or (x.dtype.name == "uint8" and (count == 2 or "nearest" in mode))
    check(known, f"\"upsample_{mode}{count}d\" not implemented for '{title(x.dtype)}'", NotImplementedError)
    return planes(x, (*x.shape[:2], *size))


@upsample.vjp("x")
def upsample_dx(dy: Any, x_meta: Meta, size: Ints, scales: Scales, mode: str, align_corners: bool) -> Any:
    return upsample_adjoint(
        dy, size=tuple(x_meta.shape[x_meta.ndim - len(size) :]), scales=scales, mode=mode, align_corners=align_corners
    )


@op(grad_name=lambda settings: _named(settings).replace("Backward0", "BackwardBackward0"))
def upsample_adjoint(x: np.ndarray, *, size: Ints, scales: Scales, mode: str, align_corners: bool) -> np.ndarray:
    """Every element of a resampled plane given back, by the weights, to the places of a plane of `size`."""
    first = x.ndim - len(size)
    for axis in range(first, x.ndim):
        factor = _factor(size[axis - first], tuple(x.shape[first:]), scales, axis - first, mode)
        found = taps(size[axis - first], x.shape[axis], factor, mode, align_corners, _working(x.dtype))
        x = _given_back(x, axis, size[axis - first], found)
    return x


def _given_back(x: np.ndarray, axis: int, n: int, found: Taps) -> np.ndarray:
    whole = np.zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype)
    lead = (slice(None),) * axis
    for place, weight in found:
        part = x if weight is None else x * _along(weight, x.ndim, axis)
        starts = np.flatnonzero(np.diff(place, prepend=-1))  # places ascend, so equal ones are neighbours
        lengths = np.diff(starts, append=len(place))
        for shift in range(int(lengths.max(initial=0))):
            there = starts[lengths > shift]
            whole[(*lead, _slice_if_even(place[there]))] += part[(*lead, _slice_if_even(there + shift))]
    return whole


def _slice_if_even(places: np.ndarray) -> Any:
    """The same places as a slice where their distances are equal: a view instead of a copy."""
    if len(places) == 1:
        return slice(int(places[0]), int(places[0]) + 1)
    step = int(places[1] - places[0])
    even = step > 0 and np.all(np.diff(places) == step)
    return slice(int(places[0]), int(places[-1]) + 1, step) if even else places


@upsample_adjoint.meta
def upsample_adjoint_meta(x: Meta, *, size: Ints, scales: Scales, mode: str, align_corners: bool) -> Meta:
    return planes(x, (*x.shape[: x.ndim - len(size)], *size))


@upsample_adjoint.vjp("x")
def upsample_adjoint_dx(dy: Any, x_meta: Meta, size: Ints, scales: Scales, mode: str, align_corners: bool) -> Any:
    return upsample(
        dy, size=tuple(x_meta.shape[x_meta.ndim - len(size) :]), scales=scales, mode=mode, align_corners=align_corners
    )


def scaled_size(n: int, scale: float) -> int:
    """The size of an axis of n places after it was scaled: rounded down."""
    return math.floor(n * scale)
