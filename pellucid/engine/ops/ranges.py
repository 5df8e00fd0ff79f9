"""Tensors filled by a rule: ranges and the identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dtypes import HALF
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op


@op(half="keep")
def arange(*, start: Any, step: Any, count: int, dtype: dtype_type, device: device_type) -> np.ndarray:
    """start, start + step, …"""
    if dtype.category <= 1:
        return (int(start) + int(step) * np.arange(count, dtype=np.int64)).astype(dtype.numpy)
    return (start + step * np.arange(count, dtype=np.float64)).astype(dtype.numpy)


@op(half="keep")
def linspace(*, start: Any, end: Any, count: int, dtype: dtype_type, device: device_type) -> np.ndarray:
    """`count` numbers from start to end, evenly spaced; each half is counted from its own end."""
    values = _spaced(start, end, count, dtype)
    return (np.trunc(values) if dtype.category <= 1 else values).astype(dtype.numpy)


def _spaced(start: Any, end: Any, count: int, dtype: dtype_type) -> np.ndarray:
    kind = np.dtype(np.float32) if dtype in HALF else np.dtype(np.float64) if dtype.category <= 1 else dtype.numpy
    if dtype.category <= 1:
        start, end = int(start), int(end)
    first, last = kind.type(start), kind.type(end)
    if count == 1:
        return np.full(1, first)
    step = (last - first) / kind.type(max(count - 1, 1))
    i = np.arange(count)
    return np.where(i < count // 2, first + step * i.astype(kind), last - step * (count - 1 - i).astype(kind))


@op(half="keep")
def logspace(*, start: Any, end: Any, count: int, base: float, dtype: dtype_type, device: device_type) -> np.ndarray:
    """`base` to the powers that `linspace` gives."""
    kind, real = (np.float64, np.float64) if dtype.category <= 1 else (dtype.numpy, dtype.to_real().numpy)
    powers = _spaced(start, end, count, dtype).astype(kind)
    return np.power(np.asarray(base, real), powers).astype(dtype.numpy)


@op(half="keep")
def eye(*, n: int, m: int, dtype: dtype_type, device: device_type) -> np.ndarray:
    """Ones on the diagonal, zeros elsewhere."""
    return np.eye(n, m, dtype=dtype.numpy)


@eye.meta
def eye_meta(*, n: int, m: int, dtype: dtype_type, device: device_type) -> Meta:
    return Meta.of((n, m), dtype, device)


def _range_meta(*, count: int, dtype: dtype_type, device: device_type, **rest: Any) -> Meta:
    return Meta.of((count,), dtype, device)


arange.meta(_range_meta)
linspace.meta(_range_meta)
logspace.meta(_range_meta)
