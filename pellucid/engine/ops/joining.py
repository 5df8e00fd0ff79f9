"""Operators that put tensors together or a part into a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pellucid.engine.core.dtypes import from_numpy_dtype
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import common_type
from pellucid.engine.ops.shape import diagonal, slice_, split_with_sizes, unbind, unfold

Ints = tuple[int, ...]


@op(half="keep")
def embed_slice(part: np.ndarray, *, size: Ints, dim: int, start: int, end: int, step: int) -> np.ndarray:
    """Zeros with `part` at the slice start:end:step of axis `dim`: the gradient of a slice."""
    whole = np.zeros(size, part.dtype)
    whole[(slice(None),) * dim + (slice(start, end, step),)] = part
    return whole


@embed_slice.meta
def embed_slice_meta(part: Meta, *, size: Ints, dim: int, start: int, end: int, step: int) -> Meta:
    return Meta.of(size, part.dtype, part.device)


@embed_slice.vjp("part")
def embed_slice_dpart(dy: Any, dim: int, start: int, end: int, step: int) -> Any:
    return slice_(dy, dim=dim, start=start, end=end, step=step)


@op(half="keep", grad_name="DiagEmbedBackward0")
def embed_diagonal(part: np.ndarray, *, size: Ints, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """Zeros with `part` (its last axis) on a diagonal of two axes: the gradient of a diagonal."""
    whole = np.zeros(size, part.dtype)
    window = np.moveaxis(whole, (dim1, dim2), (-2, -1))
    along = np.arange(part.shape[-1])
    window[..., along + max(0, -offset), along + max(0, offset)] = part
    return whole


@embed_diagonal.meta
def embed_diagonal_meta(part: Meta, *, size: Ints, offset: int, dim1: int, dim2: int) -> Meta:
    return Meta.of(size, part.dtype, part.device)


@embed_diagonal.vjp("part")
def embed_diagonal_dpart(dy: Any, offset: int, dim1: int, dim2: int) -> Any:
    return diagonal(dy, offset=offset, dim1=dim1, dim2=dim2)


@op(half="keep")
def fold_windows(windows: np.ndarray, *, size: Ints, dim: int, step: int) -> np.ndarray:
    """The sum of windows (last axis) at the places that `unfold` took them from: the gradient of unfold."""
    whole = np.zeros(size or (1,), windows.dtype)
    if not size:
        return windows.reshape(-1)[:1].sum()
    along = np.moveaxis(whole, dim, 0)
    parts = np.moveaxis(np.moveaxis(windows, -1, 0), dim + 1, 0)  # (count, window, rest)
    for index in range(parts.shape[0]):
        along[index * step : index * step + parts.shape[1]] += parts[index]
    return whole


@fold_windows.meta
def fold_windows_meta(windows: Meta, *, size: Ints, dim: int, step: int) -> Meta:
    return Meta.of(size, windows.dtype, windows.device)


@fold_windows.vjp("windows")
def fold_windows_dwindows(dy: Any, windows_meta: Meta, dim: int, step: int) -> Any:
    return unfold(dy, dim=dim, size=windows_meta.shape[-1], step=step)


def _alike(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    kind = common_type([Meta.of(x.shape, from_numpy_dtype(x.dtype)) for x in arrays])
    return [x.astype(kind.numpy, copy=False) for x in arrays]


@op(half="keep")
def cat(*tensors: np.ndarray, dim: int) -> np.ndarray:
    """Tensors one after another along an axis; empty one-dimensional ones are passed over."""
    kept = [each for each in tensors if each.shape != (0,)] or [tensors[0]]
    return np.concatenate(_alike(kept), axis=dim)


@cat.meta
def cat_meta(*tensors: Meta, dim: int) -> Meta:
    kept = [each for each in tensors if each.shape != (0,)] or [tensors[0]]
    first = kept[0]
    for position, each in enumerate(tensors):
        if each.shape == (0,):
            continue
        check(
            each.ndim == first.ndim,
            f"Tensors must have same number of dimensions: got {first.ndim} and {each.ndim} (tensor {position} "
            f"has shape {list(each.shape)})",
        )
        for axis in range(first.ndim):
            check(
                axis == dim or each.shape[axis] == first.shape[axis],
                f"Sizes of tensors must match except in dimension {dim}. Expected size {first.shape[axis]} but got size"
                f" {each.shape[axis]} for tensor number {position} in the list. (shapes "
                f"{[list(m.shape) for m in tensors]})",
            )
    shape = list(first.shape)
    shape[dim] = sum(each.shape[dim] for each in kept)
    return Meta.of(shape, common_type(tensors), first.device, _cat_strides(kept, tuple(shape)))


def _cat_strides(kept: list[Meta], shape: Ints) -> Ints | None:
    from pellucid.engine.core.meta import channels_last_strides

    if len(shape) in (4, 5) and all(not m.is_contiguous and m.strides == channels_last_strides(m.shape) for m in kept):
        return channels_last_strides(shape)
    return None


@cat.vjp("tensors")
def cat_dtensors(dy: Any, tensors_meta: tuple[Meta, ...], dim: int) -> Any:
    sizes = tuple([0 if meta.shape == (0,) and dy._meta.ndim != 1 else meta.shape[dim] for meta in tensors_meta])
    parts = split_with_sizes(dy, sizes=sizes, dim=dim)
    return tuple([None if meta.shape == (0,) else part for part, meta in zip(parts, tensors_meta, strict=True)])


@op(half="keep")
def stack(*tensors: np.ndarray, dim: int) -> np.ndarray:
    """Tensors of equal shape along a new axis."""
    return np.stack(_alike(tensors), axis=dim)


@stack.meta
def stack_meta(*tensors: Meta, dim: int) -> Meta:
    shape = tensors[0].shape
    return Meta.of((*shape[:dim], len(tensors), *shape[dim:]), common_type(tensors), tensors[0].device)


@stack.vjp("tensors")
def stack_dtensors(dy: Any, dim: int) -> Any:
    return unbind(dy, dim=dim)
