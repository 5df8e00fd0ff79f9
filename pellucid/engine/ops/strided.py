"""`as_strided` and the operators that its gradient, and a write into a view, are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op, view

Ints = tuple[int, ...]


@view
def as_strided(x: Meta, *, size: Ints, stride: Ints, storage_offset: int) -> tuple[Ints, Ints, int]:
    """Any view of the storage; the offset is counted from `x`. Several elements may lie on one place."""
    check(len(size) == len(stride), f"mismatch in length of strides and shape: {list(size)} and {list(stride)}")
    check(
        all(each >= 0 for each in stride),
        f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}",
    )
    check(all(each >= 0 for each in size), f"as_strided: sizes must not be negative, got {list(size)}")
    return size, stride, storage_offset


@as_strided.vjp("x")
def as_strided_dx(dy: Any, x_meta: Meta, size: Ints, stride: Ints, storage_offset: int) -> Any:
    return strided_sum(
        dy, base_size=tuple(x_meta.shape), base_stride=x_meta.strides, stride=stride, storage_offset=storage_offset
    )


def _span(size: Ints, stride: Ints) -> int:
    return sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in size else 0


def _window(memory: np.ndarray, size: Ints, stride: Ints, offset: int) -> np.ndarray:
    start = offset * memory.itemsize if 0 not in size else 0
    return np.ndarray(size, memory.dtype, memory.view(np.uint8), start, [each * memory.itemsize for each in stride])


def _memory(
    base_size: Ints, base_stride: Ints, size: Ints, stride: Ints, offset: int, kind: np.dtype
) -> tuple[np.ndarray, int]:
    """Zeroed memory that holds both the base and the view, and where the base starts in it (a view may begin before its
    base).
    """
    before = max(0, -offset)
    length = before + max(_span(base_size, base_stride), offset + _span(size, stride), 1)
    return np.zeros(length, kind), before


@op(half="keep")
def strided_sum(
    part: np.ndarray, *, base_size: Ints, base_stride: Ints, stride: Ints, storage_offset: int
) -> np.ndarray:
    """The gradient of a base from that of its view: elements that share a place add up, places that elements share are
    averaged.
    """
    memory, start = _memory(base_size, base_stride, part.shape, stride, storage_offset, part.dtype)
    np.add.at(memory, start + storage_offset + _places(part.shape, stride).reshape(-1), part.reshape(-1))
    places = start + _places(base_size, base_stride)
    shared = np.bincount(places.reshape(-1), minlength=1)
    return memory[places] if shared.max() <= 1 else memory[places] / shared[places].astype(part.dtype)


def _places(size: Ints, stride: Ints) -> np.ndarray:
    places = np.zeros(size, np.int64)
    for axis, step in enumerate(stride):
        places += (np.arange(size[axis]) * step).reshape([-1 if i == axis else 1 for i in range(len(size))])
    return places


@strided_sum.meta
def strided_sum_meta(part: Meta, *, base_size: Ints, base_stride: Ints, stride: Ints, storage_offset: int) -> Meta:
    meta = Meta.of(base_size, part.dtype, part.device, base_stride)
    return meta if meta.is_dense else Meta.of(base_size, part.dtype, part.device)


@strided_sum.vjp("part")
def strided_sum_dpart(dy: Any, part_meta: Meta, **view: Any) -> Any:
    return strided_part(dy, size=tuple(part_meta.shape), **view)


@op(half="keep")
def strided_part(
    x: np.ndarray, *, base_size: Ints, base_stride: Ints, size: Ints, stride: Ints, storage_offset: int
) -> np.ndarray:
    """What a view (size, stride, offset) of a base with the values of `x` would read, as a copy."""
    memory, start = _memory(base_size, base_stride, size, stride, storage_offset, x.dtype)
    _window(memory, base_size, base_stride, start)[...] = x
    return _window(memory, size, stride, start + storage_offset).copy()


@strided_part.meta
def strided_part_meta(
    x: Meta, *, base_size: Ints, base_stride: Ints, size: Ints, stride: Ints, storage_offset: int
) -> Meta:
    return Meta.of(size, x.dtype, x.device)


@strided_part.vjp("x")
def strided_part_dx(dy: Any, base_size: Ints, base_stride: Ints, stride: Ints, storage_offset: int) -> Any:
    return strided_sum(dy, base_size=base_size, base_stride=base_stride, stride=stride, storage_offset=storage_offset)


@op(half="keep")
def strided_replace(
    x: np.ndarray,
    part: np.ndarray,
    *,
    base_size: Ints,
    base_stride: Ints,
    size: Ints,
    stride: Ints,
    storage_offset: int,
) -> np.ndarray:
    """A copy of `x` in which the places that a view (size, stride, offset) would show hold `part`."""
    memory, start = _memory(base_size, base_stride, size, stride, storage_offset, x.dtype)
    _window(memory, base_size, base_stride, start)[...] = x
    _window(memory, size, stride, start + storage_offset)[...] = part
    return _window(memory, base_size, base_stride, start).copy()


@strided_replace.meta
def strided_replace_meta(
    x: Meta, part: Meta, *, base_size: Ints, base_stride: Ints, size: Ints, stride: Ints, storage_offset: int
) -> Meta:
    return Meta.of(base_size, x.dtype, x.device)


@strided_replace.vjp("x")
def strided_replace_dx(dy: Any, part_meta: Meta, **view: Any) -> Any:
    from pellucid.engine.core.graph import zeros

    return strided_replace(dy, zeros(part_meta), **view)


@strided_replace.vjp("part")
def strided_replace_dpart(dy: Any, **view: Any) -> Any:
    return strided_part(dy, **view)
