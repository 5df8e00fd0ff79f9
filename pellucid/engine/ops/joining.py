"""Operators that put tensors together or a part into a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.ops.shape import slice_

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
