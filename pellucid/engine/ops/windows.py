"""Windows of signal processing, filled by their formulas."""

from __future__ import annotations

import math

import numpy as np

from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dtypes import HALF
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op


@op(half="keep")
def window(
    *, name: str, length: int, periodic: bool, parameters: tuple[float, ...], dtype: dtype_type, device: device_type
) -> np.ndarray:
    """The window `name`; a periodic one is a symmetric one of length + 1 without its last element."""
    if length <= 1:
        return np.ones(length, dtype.numpy)
    kind = np.dtype(np.float32) if dtype in HALF else dtype.numpy
    last = length if periodic else length - 1
    values = _values(name, np.arange(length).astype(kind), last, parameters)
    return values.astype(dtype.numpy)


def _values(name: str, places: np.ndarray, last: int, parameters: tuple[float, ...]) -> np.ndarray:
    real = places.dtype.type
    if name == "bartlett":
        rising = places * real(2 / last)
        return np.where(np.arange(len(places)) <= last // 2, rising, real(2) - rising)
    if name == "blackman":
        angles = places * real(math.pi / last)
        return np.cos(angles * real(4)) * real(0.08) - np.cos(angles * real(2)) * real(0.5) + real(0.42)
    if name == "kaiser":
        (beta,) = parameters
        offsets = places.astype(np.float64) * (2 / last) - 1
        return np.i0(beta * np.sqrt(np.maximum(1 - offsets * offsets, 0))) / np.i0(beta)
    alpha, beta = parameters or (0.5, 0.5)
    return np.cos(places * real(2 * math.pi / last)) * real(-beta) + real(alpha)


@window.meta
def window_meta(*, length: int, dtype: dtype_type, device: device_type, **rest: object) -> Meta:
    return Meta.of((length,), dtype, device)
