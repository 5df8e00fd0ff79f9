"""Sampling images and volumes at free positions, and the positions of an affine map (Jaderberg et al. 2015,
https://arxiv.org/abs/1506.02025).

A grid holds positions (x, y) or (x, y, z) from -1 to 1, last axis of the image first. Each sample is a sum over taps,
the old places around its position.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.interpolation import cubic_weights
from pellucid.engine.ops.pooling import planes, refuse

Ints = tuple[int, ...]
Tap = tuple[np.ndarray, ...]  # along one axis: old place (-1: outside), weight, the weight's slope, the slope's slope


@op(grad_name="GridSampler2DBackward0", name="grid_sampler_2d")
def grid_sampler_2d(
    x: np.ndarray, grid: np.ndarray, *, mode: str, padding_mode: str, align_corners: bool
) -> np.ndarray:
    """Images (N, C, H, W) at the positions of a grid (N, h, w, 2)."""
    return _sample(x, grid, mode, padding_mode, align_corners)


@op(grad_name="GridSampler3DBackward0", name="grid_sampler_3d")
def grid_sampler_3d(
    x: np.ndarray, grid: np.ndarray, *, mode: str, padding_mode: str, align_corners: bool
) -> np.ndarray:
    """Volumes (N, C, D, H, W) at the positions of a grid (N, d, h, w, 3)."""
    return _sample(x, grid, mode, padding_mode, align_corners)


def _sample(x: np.ndarray, grid: np.ndarray, mode: str, padding_mode: str, align_corners: bool) -> np.ndarray:
    flat = _flat(x)
    total = np.zeros((*x.shape[:2], int(np.prod(grid.shape[1:-1]))), x.dtype)
    for place, taps in _tap_products(x.shape[2:], grid, mode, padding_mode, align_corners):
        weight = _derived(taps)
        total += weight[:, None] * _at(flat, place)
    return total.reshape(*x.shape[:2], *grid.shape[1:-1])


def _flat(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(*x.shape[:2], -1 if x.size else 0)


def _at(flat: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Elements (N, C, P) of planes (N, C, places) at places (N, P); 0 where the place is -1."""
    found = np.take_along_axis(flat, np.maximum(place, 0)[:, None], 2)
    return np.where(place[:, None] >= 0, found, flat.dtype.type(0))


def _tap_products(
    space: Ints, grid: np.ndarray, mode: str, padding_mode: str, align_corners: bool
) -> Iterator[tuple[np.ndarray, tuple[Tap, ...]]]:
    """Per combination of one tap along each axis: the flat place (N, P), and the taps."""
    axes = []
    for axis, n in enumerate(space):
        position = grid[..., len(space) - 1 - axis].reshape(len(grid), int(np.prod(grid.shape[1:-1])))
        axes.append(_axis_taps(position, n, mode, padding_mode, align_corners))
    for combination in itertools.product(*axes):
        place = np.zeros_like(combination[0][0])
        outside = np.zeros(place.shape, bool)
        for n, tap in zip(space, combination, strict=True):
            outside |= tap[0] < 0
            place = place * n + tap[0]
        place[outside] = -1
        yield place, combination


def _derived(taps: tuple[Tap, ...], *axes: int) -> np.ndarray:
    """The weight of a combination of taps, derived once along each of these axes."""
    result = taps[0][1 + axes.count(0)]
    for axis, tap in enumerate(taps[1:], 1):
        result = result * tap[1 + axes.count(axis)]
    return result


def _axis_taps(position: np.ndarray, n: int, mode: str, padding_mode: str, align_corners: bool) -> list[Tap]:
    """The taps along one axis; slopes are with respect to the grid's own coordinate."""
    half = position.dtype.type(0.5)
    if align_corners:
        where, factor = (position + 1) * half * (n - 1), (n - 1) / 2
    else:
        where, factor = ((position + 1) * n - 1) * half, n / 2
    slope = np.full_like(position, factor)
    if mode != "bicubic":
        where, sign = _brought_inside(where, n, padding_mode, align_corners)
        slope = slope * sign
    if mode == "nearest":
        return [(_whole(np.rint(where), n), np.ones_like(where), np.zeros_like(where), np.zeros_like(where))]
    low = np.floor(where)
    share = where - low
    if mode == "bilinear":
        flat = np.zeros_like(share)
        return [(_whole(low, n), 1 - share, -slope, flat), (_whole(low + 1, n), share, slope, flat)]
    weights, slopes, bends = cubic_weights(share), _cubic_slopes(share), _cubic_bends(share)
    found = []
    for shift in range(4):
        place, _ = _brought_inside(low + (shift - 1), n, padding_mode, align_corners)
        found.append((_whole(place, n), weights[shift], slopes[shift] * slope, bends[shift] * slope * slope))
    return found


def _cubic_slopes(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Derivatives of the cubic convolution's weights."""
    far, near, next_, last = t + 1, t, 1 - t, 2 - t
    return [
        (3 * a * far - 10 * a) * far + 8 * a,
        (3 * (a + 2) * near - 2 * (a + 3)) * near,
        -(3 * (a + 2) * next_ - 2 * (a + 3)) * next_,
        -((3 * a * last - 10 * a) * last + 8 * a),
    ]


def _cubic_bends(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Second derivatives of the cubic convolution's weights."""
    return [
        6 * a * (t + 1) - 10 * a,
        6 * (a + 2) * t - 2 * (a + 3),
        6 * (a + 2) * (1 - t) - 2 * (a + 3),
        6 * a * (2 - t) - 10 * a,
    ]


def _whole(place: np.ndarray, n: int) -> np.ndarray:
    """A place as an index; -1 where it is outside (or NaN)."""
    inside = (place >= 0) & (place <= n - 1)
    return np.where(inside, place, -1).astype(np.int64)


def _brought_inside(where: np.ndarray, n: int, padding_mode: str, align_corners: bool) -> tuple[np.ndarray, Any]:
    """A position moved into the image as the padding says, and the slope of that move."""
    if padding_mode == "zeros":
        return where, 1
    sign: Any = 1
    if padding_mode == "reflection":
        where, sign = _reflected(where, n, align_corners)
    inside = (where > 0) & (where < n - 1)
    return where.clip(0, n - 1), np.where(inside, sign, 0).astype(where.dtype)


def _reflected(where: np.ndarray, n: int, align_corners: bool) -> tuple[np.ndarray, np.ndarray]:
    low, high = (0.0, float(n - 1)) if align_corners else (-0.5, n - 0.5)
    span = high - low
    if span == 0:
        return np.zeros_like(where), np.zeros_like(where)
    away = np.abs(where - low)
    extra = np.fmod(away, span)
    flips = np.floor(away / span)
    odd = flips % 2 == 1
    moved = np.where(odd, span - extra + low, extra + low).astype(where.dtype)
    return moved, np.where(odd, -1, 1) * np.where(where < low, -1, 1)


def _sampler_meta(x: Meta, grid: Meta, count: int, mode: str) -> Meta:
    shapes = f"input with sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
    check(
        x.ndim == count + 2 and grid.ndim == x.ndim,
        f"grid_sampler(): expected {count + 2}D input and grid with same number of dimensions, but got {shapes}",
    )
    check(
        x.shape[0] == grid.shape[0],
        f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}",
    )
    check(
        grid.shape[-1] == count,
        f"grid_sampler(): expected grid to have size {count} in last dimension, but got grid with sizes"
        f" {list(grid.shape)}",
    )
    for axis in range(2, x.ndim):
        check(
            x.shape[axis] > 0,
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes"
            f" {list(x.shape)} with"
            f" dimension {axis} being empty",
        )
    check(mode != "bicubic" or count == 2, "grid_sampler(): bicubic interpolation only supports 4D input")
    refuse(f"grid_sampler_{count}d_cpu_kernel_impl", x, (2,))
    check(
        x.dtype is grid.dtype, f"expected scalar type {title(x.dtype)} but found {title(grid.dtype)} (input and grid)"
    )
    return planes(x, (x.shape[0], x.shape[1], *grid.shape[1:-1]))


@grid_sampler_2d.meta
def grid_sampler_2d_meta(x: Meta, grid: Meta, *, mode: str, padding_mode: str, align_corners: bool) -> Meta:
    return _sampler_meta(x, grid, 2, mode)


@grid_sampler_3d.meta
def grid_sampler_3d_meta(x: Meta, grid: Meta, *, mode: str, padding_mode: str, align_corners: bool) -> Meta:
    return _sampler_meta(x, grid, 3, mode)


@grid_sampler_2d.vjp("x")
def grid_sampler_2d_dx(dy: Any, grid: Any, x_meta: Meta, **how: Any) -> Any:
    return grid_scatter(dy, grid, size=tuple(x_meta.shape[2:]), **how)


@grid_sampler_2d.vjp("grid")
def grid_sampler_2d_dgrid(dy: Any, x: Any, grid: Any, **how: Any) -> Any:
    return grid_slope(dy, x, grid, **how)


@grid_sampler_3d.vjp("x")
def grid_sampler_3d_dx(dy: Any, grid: Any, x_meta: Meta, **how: Any) -> Any:
    return grid_scatter(dy, grid, size=tuple(x_meta.shape[2:]), **how)


@grid_sampler_3d.vjp("grid")
def grid_sampler_3d_dgrid(dy: Any, x: Any, grid: Any, **how: Any) -> Any:
    return grid_slope(dy, x, grid, **how)


@op
def grid_scatter(
    x: np.ndarray, grid: np.ndarray, *, size: Ints, mode: str, padding_mode: str, align_corners: bool
) -> np.ndarray:
    """Samples given back, by their weights, to the places of planes of `size`: the adjoint of sampling."""
    count, plane = x.shape[0] * x.shape[1], int(np.prod(size))
    samples = x.reshape(*x.shape[:2], int(np.prod(x.shape[2:])))
    whole = np.zeros(count * plane)
    lead = (np.arange(count) * plane).reshape(*x.shape[:2], 1)
    for place, taps in _tap_products(size, grid, mode, padding_mode, align_corners):
        whole += _given_back(place, _derived(taps), samples, lead, count * plane)
    return whole.reshape(*x.shape[:2], *size)


def _given_back(place: np.ndarray, weight: np.ndarray, samples: np.ndarray, lead: np.ndarray, size: int) -> np.ndarray:
    kept = np.where(place >= 0, weight, 0)[:, None] * samples
    flat = np.maximum(place, 0)[:, None] + lead
    return np.bincount(flat.reshape(-1), kept.reshape(-1), size)


@grid_scatter.meta
def grid_scatter_meta(x: Meta, grid: Meta, *, size: Ints, mode: str, padding_mode: str, align_corners: bool) -> Meta:
    return x.like((*x.shape[:2], *size))


@grid_scatter.vjp("x")
def grid_scatter_dx(dy: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    sample = grid_sampler_2d if grid._meta.shape[-1] == 2 else grid_sampler_3d
    return sample(dy, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)


@grid_scatter.vjp("grid")
def grid_scatter_dgrid(dy: Any, x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    return grid_slope(x, dy, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)


@op
def grid_slope(
    dsample: np.ndarray, x: np.ndarray, grid: np.ndarray, *, mode: str, padding_mode: str, align_corners: bool
) -> np.ndarray:
    """The gradient of a grid: how the samples' weighted sum changes with each position."""
    flat, samples = _flat(x), dsample.reshape(*x.shape[:2], int(np.prod(grid.shape[1:-1])))
    result = np.zeros((len(grid), samples.shape[2], grid.shape[-1]), grid.dtype)
    for place, taps in _tap_products(x.shape[2:], grid, mode, padding_mode, align_corners):
        product = (samples * _at(flat, place)).sum(1)
        for axis in range(len(taps)):
            result[..., len(taps) - 1 - axis] += product * _derived(taps, axis)
    return result.reshape(grid.shape)


@grid_slope.meta
def grid_slope_meta(dsample: Meta, x: Meta, grid: Meta, *, mode: str, padding_mode: str, align_corners: bool) -> Meta:
    return grid.like()


@grid_slope.vjp("dsample", "x", "grid")
def grid_slope_gradients(
    dy: Any, dsample: Any, x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool
) -> Any:
    return grid_turn(dy, dsample, x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)


@op(outputs=("dsample", "dx", "dgrid"))
def grid_turn(
    push: np.ndarray,
    dsample: np.ndarray,
    x: np.ndarray,
    grid: np.ndarray,
    *,
    mode: str,
    padding_mode: str,
    align_corners: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `grid_slope`, weighted by `push`, changes by with the samples' gradients, the planes and the positions."""
    flat, samples = _flat(x), dsample.reshape(*x.shape[:2], int(np.prod(grid.shape[1:-1])))
    count, plane, last = x.shape[0] * x.shape[1], int(np.prod(x.shape[2:])), grid.shape[-1] - 1
    lead = (np.arange(count) * plane).reshape(*x.shape[:2], 1)
    pushes = push.reshape(len(grid), samples.shape[2], last + 1)
    to_samples, to_planes, to_grid = np.zeros_like(samples), np.zeros(count * plane), np.zeros_like(pushes)
    for place, taps in _tap_products(x.shape[2:], grid, mode, padding_mode, align_corners):
        found = _at(flat, place)
        product = (samples * found).sum(1)
        change = np.zeros_like(product)
        for axis in range(last + 1):
            change += pushes[..., last - axis] * _derived(taps, axis)
            for other in range(last + 1):
                to_grid[..., last - other] += product * pushes[..., last - axis] * _derived(taps, axis, other)
        to_samples += found * change[:, None]
        to_planes += _given_back(place, change, samples, lead, count * plane)
    return to_samples.reshape(dsample.shape), to_planes.reshape(x.shape), to_grid.reshape(grid.shape)


@grid_turn.meta
def grid_turn_meta(
    push: Meta, dsample: Meta, x: Meta, grid: Meta, *, mode: str, padding_mode: str, align_corners: bool
) -> tuple[Meta, Meta, Meta]:
    return dsample.like(), x.like(), grid.like()


@op
def affine_grid_generator(theta: np.ndarray, *, size: Ints, align_corners: bool) -> np.ndarray:
    """The positions that matrices (N, k, k + 1) map the places of planes of `size` to, as a grid (N, *size, k)."""
    base = _base_grid(size, align_corners, theta.dtype)
    return np.matmul(base, theta.swapaxes(1, 2)).reshape(len(theta), *size, len(size))


def _base_grid(size: Ints, align_corners: bool, kind: np.dtype) -> np.ndarray:
    """Every place of a plane as a row (x, y, …, 1), from -1 to 1."""
    base = np.ones((*size, len(size) + 1), kind)
    for axis, n in enumerate(size):
        along = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        if not align_corners:
            along = along * (n - 1) / n
        base[..., len(size) - 1 - axis] = along.reshape([-1 if i == axis else 1 for i in range(len(size))])
    return base.reshape(-1, len(size) + 1)


@affine_grid_generator.meta
def affine_grid_generator_meta(theta: Meta, *, size: Ints, align_corners: bool) -> Meta:
    count = len(size)
    check(
        theta.ndim == 3 and theta.shape[1:] == (count, count + 1),
        f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1}. Got {list(theta.shape)}.",
    )
    return theta.like((theta.shape[0], *size, count))


@affine_grid_generator.vjp("theta")
def affine_grid_generator_dtheta(dy: Any, align_corners: bool) -> Any:
    return affine_grid_adjoint(dy, align_corners=align_corners)


@op
def affine_grid_adjoint(grid: np.ndarray, *, align_corners: bool) -> np.ndarray:
    """The gradient of affine matrices from that of their grid."""
    size = grid.shape[1:-1]
    base = _base_grid(size, align_corners, grid.dtype)
    return np.matmul(grid.reshape(len(grid), len(base), len(size)).swapaxes(1, 2), base)


@affine_grid_adjoint.meta
def affine_grid_adjoint_meta(grid: Meta, *, align_corners: bool) -> Meta:
    count = grid.shape[-1]
    return grid.like((grid.shape[0], count, count + 1))


@affine_grid_adjoint.vjp("grid")
def affine_grid_adjoint_dgrid(dy: Any, grid_meta: Meta, align_corners: bool) -> Any:
    return affine_grid_generator(dy, size=tuple(grid_meta.shape[1:-1]), align_corners=align_corners)
