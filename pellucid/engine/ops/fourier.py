"""Discrete Fourier transforms over several axes, their adjoints, and the frequencies that belong to their results.

Real and complex transforms are three linear operators; each one's gradient is made of the others. The transforms
themselves are NumPy's (pocketfft by M. Reinecke), loaded when the first one runs.
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
from pellucid.engine.ops.exponential import real_of
from pellucid.engine.ops.padding import constant_pad

Axes = tuple[int, ...]


def _scaled(values: np.ndarray, scale: float) -> np.ndarray:
    """`values` times a real number, in place; part by part, since infinity times a complex 1 is NaN."""
    if scale != 1:
        factor = values.real.dtype.type(scale)
        for part in (values.real, values.imag) if values.dtype.kind == "c" else (values,):
            np.multiply(part, factor, out=part)
    return values


@op(name="fft_c2c", grad_name="FftC2CBackward0")
def complex_transform(x: np.ndarray, *, axes: Axes, scale: float, forward: bool) -> np.ndarray:
    """scale · Σ x·exp(∓2πi·kn/N) over the axes: minus for forward, plus for backward."""
    if not axes or not x.size:
        return _scaled(x.copy(), scale)
    if forward:
        return _scaled(np.fft.fftn(x, axes=axes), scale)
    return _scaled(np.fft.ifftn(x, axes=axes, norm="forward"), scale)


@complex_transform.meta
def complex_transform_meta(x: Meta, *, axes: Axes, scale: float, forward: bool) -> Meta:
    return x.like()


@complex_transform.vjp("x")
def complex_transform_dx(dy: Any, axes: Axes, scale: float, forward: bool) -> Any:
    return complex_transform(dy, axes=axes, scale=scale, forward=not forward)


def _with_last(x: Meta, axes: Axes, size: int) -> tuple[int, ...]:
    shape = list(x.shape)
    shape[axes[-1]] = size
    return tuple(shape)


@op(name="fft_r2c", grad_name="FftR2CBackward0")
def real_transform(x: np.ndarray, *, axes: Axes, scale: float, onesided: bool) -> np.ndarray:
    """The forward transform of real numbers; `onesided` keeps the first N//2 + 1 frequencies of the last axis."""
    if not x.size:
        shape = list(x.shape)
        shape[axes[-1]] = x.shape[axes[-1]] // 2 + 1 if onesided else x.shape[axes[-1]]
        return np.zeros(shape, np.result_type(x.dtype, np.complex64))
    return _scaled(np.fft.rfftn(x, axes=axes) if onesided else np.fft.fftn(x, axes=axes), scale)


@real_transform.meta
def real_transform_meta(x: Meta, *, axes: Axes, scale: float, onesided: bool) -> Meta:
    shape = _with_last(x, axes, x.shape[axes[-1]] // 2 + 1) if onesided else x.shape
    return x.like(shape, x.dtype.to_complex())


@real_transform.vjp("x")
def real_transform_dx(dy: Any, x_meta: Meta, axes: Axes, scale: float, onesided: bool) -> Any:
    if onesided:
        missing = x_meta.shape[axes[-1]] - dy._meta.shape[axes[-1]]
        dy = _resized(dy, axes[-1], 0, missing)
    return real_of(complex_transform(dy, axes=axes, scale=scale, forward=False))


def _resized(x: Any, axis: int, before: int, after: int) -> Any:
    pad = [(0, 0)] * x._meta.ndim
    pad[axis] = (before, after)
    return constant_pad(x, pad=tuple(pad), value=0)


@op(name="fft_c2r", grad_name="FftC2RBackward0")
def hermitian_transform(x: np.ndarray, *, axes: Axes, scale: float, size: int) -> np.ndarray:
    """The backward transform of half a Hermitian signal, which is real; the last axis grows to `size`."""
    shape = [x.shape[axis] for axis in axes[:-1]] + [size]
    if not x.size:
        whole = list(x.shape)
        whole[axes[-1]] = size
        return np.zeros(whole, x.real.dtype)
    return _scaled(np.fft.irfftn(x, s=shape, axes=axes, norm="forward"), scale)


@hermitian_transform.meta
def hermitian_transform_meta(x: Meta, *, axes: Axes, scale: float, size: int) -> Meta:
    return x.like(_with_last(x, axes, size), x.dtype.to_real())


@hermitian_transform.vjp("x")
def hermitian_transform_dx(dy: Any, axes: Axes, scale: float, size: int) -> Any:
    half = real_transform(dy, axes=axes, scale=scale, onesided=True)
    twins = (size - 1) // 2  # frequencies that stand for themselves and for their mirror image
    if not twins:
        return half
    before, after = 1, size // 2 - twins
    inner = _resized(_resized(half, axes[-1], -before, -after), axes[-1], before, after)
    return add(half, inner)


@op(half="keep")
def frequencies(*, count: int, negative: int, scale: float, dtype: dtype_type, device: device_type) -> np.ndarray:
    """`scale` times 0, 1, …, of which the last `negative` count up to -1 instead."""
    places = np.arange(count)
    places[count - negative :] -= count
    kind = np.dtype(np.float32) if dtype in HALF else dtype.numpy
    return (places.astype(kind) * kind.type(scale)).astype(dtype.numpy)


@frequencies.meta
def frequencies_meta(*, count: int, negative: int, scale: float, dtype: dtype_type, device: device_type) -> Meta:
    return Meta.of((count,), dtype, device)


__all__ = ["complex_transform", "frequencies", "hermitian_transform", "real_transform"]
