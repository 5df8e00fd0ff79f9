"""Discrete Fourier transforms along axes, and window functions. `dims` is a tuple of axes; the last one is halved where results are.

NumPy's transforms (pocketfft) compute in the precision of the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dtypes import HALF
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import add
from pellucid.engine.ops.joining import embed_slice
from pellucid.engine.ops.shape import slice_

Ints = tuple[int, ...]


def _scaled(x: np.ndarray, scale: float) -> np.ndarray:
    return x if scale == 1 else x * x.real.dtype.type(scale)


def _with(shape: Ints, axis: int, size: int) -> Ints:
    return (*shape[:axis], size, *shape[axis + 1 :])


@op(name="fft_c2c", grad_name="FftC2CBackward0")
def fft_c2c(x: np.ndarray, *, dims: Ints, forward: bool, scale: float) -> np.ndarray:
    """Sums of x times exp(∓2πi jk/n) along axes (- for `forward`), times `scale`."""
    if not dims or not x.size:
        return x.copy()
    found = np.fft.fftn(x, axes=dims) if forward else np.fft.ifftn(x, axes=dims, norm="forward")
    return _scaled(found, scale)


@fft_c2c.meta
def fft_c2c_meta(x: Meta, *, dims: Ints, forward: bool, scale: float) -> Meta:
    return x.like()


@fft_c2c.vjp("x")
def fft_c2c_dx(dy: Any, dims: Ints, forward: bool, scale: float) -> Any:
    return fft_c2c(dy, dims=dims, forward=not forward, scale=scale)


@op(name="fft_r2c", grad_name="FftR2CBackward0")
def fft_r2c(x: np.ndarray, *, dims: Ints, onesided: bool, scale: float) -> np.ndarray:
    """The forward transform of real data; `onesided` leaves out the half of the last axis that follows by symmetry."""
    if not x.size:
        return np.zeros(fft_r2c_shape(x.shape, dims, onesided), np.complex64 if x.dtype == np.float32 else np.complex128)
    return _scaled((np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dims), scale)


def fft_r2c_shape(shape: Ints, dims: Ints, onesided: bool) -> Ints:
    """The shape of the transform of real data."""
    return _with(tuple(shape), dims[-1], shape[dims[-1]] // 2 + 1) if onesided else tuple(shape)


@fft_r2c.meta
def fft_r2c_meta(x: Meta, *, dims: Ints, onesided: bool, scale: float) -> Meta:
    return x.like(fft_r2c_shape(tuple(x.shape), dims, onesided), x.dtype.to_complex())


@fft_r2c.vjp("x")
def fft_r2c_dx(dy: Any, x_meta: Meta, dims: Ints, onesided: bool, scale: float) -> Any:
    if onesided:
        half = dy._meta.shape[dims[-1]]
        dy = embed_slice(dy, size=tuple(x_meta.shape), dim=dims[-1], start=0, end=half, step=1)
    return fft_c2c(dy, dims=dims, forward=False, scale=scale).real


@op(name="fft_c2r", grad_name="FftC2RBackward0")
def fft_c2r(x: np.ndarray, *, dims: Ints, last: int, scale: float) -> np.ndarray:
    """The backward transform of half a spectrum to real data of size `last` along the last axis."""
    if not x.size:
        return np.zeros(_with(x.shape, dims[-1], last), x.real.dtype)
    sizes = [x.shape[axis] for axis in dims[:-1]]
    return _scaled(np.fft.irfftn(x, [*sizes, last], dims, norm="forward"), scale)


@fft_c2r.meta
def fft_c2r_meta(x: Meta, *, dims: Ints, last: int, scale: float) -> Meta:
    return x.like(_with(tuple(x.shape), dims[-1], last), x.dtype.to_real())


@fft_c2r.vjp("x")
def fft_c2r_dx(dy: Any, dims: Ints, last: int, scale: float) -> Any:
    """What stands for two elements of the full spectrum counts twice."""
    half = fft_r2c(dy, dims=dims, onesided=True, scale=scale)
    axis = dims[-1]
    size = half._meta.shape[axis]
    doubled = last - size
    if doubled <= 0:
        return half
    middle = slice_(half, dim=axis, start=1, end=1 + doubled, step=1)
    return add(half, embed_slice(middle, size=tuple(half._meta.shape), dim=axis, start=1, end=1 + doubled, step=1))


@op(half="keep")
def window(*, kind: str, length: int, periodic: bool, parameters: tuple[float, ...], dtype: dtype_type, device: device_type) -> np.ndarray:
    """A window of raised cosines, a triangle, or Kaiser's; a periodic one is one longer, without its last element."""
    if length <= 1:
        return np.ones(length).astype(dtype.numpy)
    whole = length + 1 if periodic else length
    at = np.arange(whole)
    if kind == "cosine":
        angle = 2 * np.pi * at / (whole - 1)
        values = sum([(-1) ** k * each * np.cos(k * angle) for k, each in enumerate(parameters)], np.zeros(whole))
    elif kind == "bartlett":
        values = 1 - np.abs(2 * at / (whole - 1) - 1)
    else:
        beta = parameters[0]
        values = np.i0(beta * np.sqrt(np.maximum(1 - (2 * at / (whole - 1) - 1) ** 2, 0))) / np.i0(beta)
    return values[:length].astype(np.float32 if dtype in HALF else dtype.numpy).astype(dtype.numpy)


@window.meta
def window_meta(*, kind: str, length: int, periodic: bool, parameters: tuple[float, ...], dtype: dtype_type, device: device_type) -> Meta:
    return Meta.of((length,), dtype, device)
