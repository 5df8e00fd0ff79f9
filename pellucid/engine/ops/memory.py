"""Operators that fill, copy and convert whole tensors; views are in shape.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.determinism import determinism
from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.dtypes import float8_e4m3fn, float8_e8m0fnu
from pellucid.engine.core.graph import zeros
from pellucid.engine.core.meta import Meta, preserved_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.plan import number_as


@op(half="keep")
def full(*, size: tuple[int, ...], value: Any, dtype: dtype_type, device: device_type) -> np.ndarray:
    """A tensor in which every element is `value`."""
    return np.full(size, number_as(value, dtype.numpy), dtype.numpy)


@full.meta
def full_meta(*, size: tuple[int, ...], value: Any, dtype: dtype_type, device: device_type) -> Meta:
    return Meta.of(size, dtype, device)


@op(half="keep")
def empty(
    *, size: tuple[int, ...], dtype: dtype_type, device: device_type, strides: tuple[int, ...] | None = None
) -> np.ndarray:
    """A tensor whose elements are whatever the memory holds."""
    return determinism.fill(np.empty(size, dtype.numpy))


@empty.meta
def empty_meta(
    *, size: tuple[int, ...], dtype: dtype_type, device: device_type, strides: tuple[int, ...] | None = None
) -> Meta:
    return Meta.of(size, dtype, device, strides)


@op(half="keep")
def clone(x: np.ndarray, *, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """A copy; dense, in the order of axes of `x` unless `strides` say otherwise."""
    return x.copy(order="K")


@clone.meta
def clone_meta(x: Meta, *, strides: tuple[int, ...] | None = None) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, strides if strides is not None else preserved_strides(x))


@clone.vjp("x")
def clone_dx(dy: Any) -> Any:
    return dy


def converted(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x.astype(dtype)` with PyTorch's choices where float8 types have no room: e4m3fn saturates, e8m0fnu has no sign
    or 0.
    """
    if dtype == float8_e4m3fn.numpy and x.dtype != dtype:
        x = np.clip(x.astype(np.float32), -448.0, 448.0)
    elif dtype == float8_e8m0fnu.numpy and x.dtype != dtype:
        x = np.maximum(np.abs(x.astype(np.float32)), np.float32(2.0**-127))
    return x.astype(dtype)


@op(half="keep", grad_name="ToCopyBackward0")
def cast(x: np.ndarray, *, dtype: dtype_type) -> np.ndarray:
    """The values in another dtype; complex loses its imaginary part, floats truncate to integers."""
    if x.dtype.kind == "c" and not dtype.is_complex and dtype.name != "bool":
        x = x.real
    return converted(x, dtype.numpy)


@cast.meta
def cast_meta(x: Meta, *, dtype: dtype_type) -> Meta:
    return Meta.of(x.shape, dtype, x.device, preserved_strides(x))


@cast.vjp("x")
def cast_dx(dy: Any) -> Any:
    return dy  # the engine converts it to the input's dtype


@op(half="keep", grad_name="CopyBackwards")
def copy(x: np.ndarray, source: np.ndarray) -> np.ndarray:
    """`source` converted and broadcast to the shape and dtype of `x`: what `x.copy_(source)` writes."""
    if source.dtype.kind == "c" and x.dtype.kind not in "cb":
        source = source.real
    return converted(np.broadcast_to(source, x.shape), x.dtype)


@copy.meta
def copy_meta(x: Meta, source: Meta) -> Meta:
    wide = len(source.shape) > x.ndim
    if wide or any(b not in (1, a) for a, b in zip(reversed(x.shape), reversed(source.shape), strict=False)):
        axis = next(
            (
                i
                for i, (a, b) in enumerate(zip(reversed(x.shape), reversed(source.shape), strict=False))
                if b not in (1, a)
            ),
            x.ndim,
        )
        a = x.shape[-1 - axis] if axis < x.ndim else "no size"
        raise RuntimeError(
            f"The size of tensor a ({a}) must match the size of tensor b ({source.shape[-1 - axis]}) at "
            "non-singleton dimension"
            f" {x.ndim - 1 - axis}: copy_ cannot write shape {list(source.shape)} into shape {list(x.shape)}."
        )
    return Meta.of(x.shape, x.dtype, x.device, x.strides if x.is_dense else None)


@copy.vjp("x")
def copy_dx(x_meta: Meta) -> Any:
    return zeros(x_meta)  # what was there is gone


@copy.vjp("source")
def copy_dsource(dy: Any) -> Any:
    return dy


@op(half="keep", grad_name="ZeroBackward0")
def zero(x: np.ndarray) -> np.ndarray:
    """Every element is 0."""
    return np.zeros(x.shape, x.dtype)


@zero.meta
def zero_meta(x: Meta) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x))


@zero.vjp("x")
def zero_dx(x_meta: Meta) -> Any:
    return zeros(x_meta)


@op(half="keep", grad_name="FillBackward1")
def fill_from(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Every element is the value of a zero-dim tensor."""
    return np.full(x.shape, number_as(value[()], x.dtype), x.dtype)


@op(half="keep", grad_name="FillBackward0")
def fill(x: np.ndarray, value: Any) -> np.ndarray:
    """Every element is the number `value`, in the dtype of `x`."""
    return np.full(x.shape, number_as(value, x.dtype), x.dtype)


@fill.meta
def fill_meta(x: Meta, value: Any) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x))


@fill_from.meta
def fill_from_meta(x: Meta, value: Meta) -> Meta:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x))


@fill.vjp("x")
def fill_dx(x_meta: Meta) -> Any:
    return zeros(x_meta)


@fill_from.vjp("x")
def fill_from_dx(x_meta: Meta) -> Any:
    return zeros(x_meta)


@fill_from.vjp("value")
def fill_from_dvalue(dy: Any) -> Any:
    return dy.sum()


@op
def has_nan(x: np.ndarray) -> np.ndarray:
    """Whether any element is a NaN."""
    return np.isnan(x).any() if x.dtype.kind in "fc" else np.False_


@has_nan.meta
def has_nan_meta(x: Meta) -> Meta:
    from pellucid.engine.core.dtypes import bool_

    return Meta.of((), bool_, x.device)
