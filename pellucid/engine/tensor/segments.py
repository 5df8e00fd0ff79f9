"""Reductions over runs of rows: `segment_reduce`; and chunks of several tensors side by side: `_chunk_cat`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import from_array
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.promotion import title
from pellucid.engine.tensor.arguments import as_int, need_tensor, presented
from pellucid.engine.tensor.creation import full
from pellucid.engine.tensor.joining import cat

_KINDS = ("sum", "mean", "max", "min", "prod")


def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """Sum, mean, max, min or prod of runs of rows, whose `lengths` (or `offsets`) are given along their last dimension;
    an empty run gives `initial`, or what changes nothing (NaN for a mean).

    >>> import pellucid as torch
    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 4.])
    """
    meta = need_tensor(data, "segment_reduce", "data")._meta
    check(indices is None, "segment_reduce(): indices based reduction is not supported yet.")
    check(lengths is not None or offsets is not None, "segment_reduce(): Either lengths or offsets must be defined.")
    check(lengths is None or offsets is None, "segment_reduce(): give lengths or offsets, not both")
    check(reduce in _KINDS, f"reduce argument must be either sum, prod, mean, max or min, got {reduce}")
    if meta.dtype.category != 2:
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{title(meta.dtype)}': use .float()")
    axis = wrap_dim(as_int(axis, "segment_reduce", "axis", 2), meta.ndim)
    counts = _counts(meta, lengths, offsets, axis, unsafe)
    lead, runs = counts.shape[:-1], counts.shape[-1]
    flat = counts.reshape(-1, runs)
    rows, segment = _places(flat, meta.shape[axis])
    rest = meta.shape[axis + 1 :]
    picked = by_name["index_select"](data.reshape(-1, *rest), from_array(rows), dim=0)
    found = _REDUCE[reduce](picked, segment, flat.reshape(-1), initial)
    return presented(found.reshape(*lead, runs, *rest), "SegmentReduceBackward0")


_segment_reduce = segment_reduce


def _counts(meta: Any, lengths: Any, offsets: Any, axis: int, unsafe: bool) -> np.ndarray:
    name, given = ("lengths", lengths) if lengths is not None else ("offsets", offsets)
    check(
        given._meta.dtype in (dtypes.int64, dtypes.int32),
        f"\"_segment_reduce_{name}_cpu\" not implemented for '{title(given._meta.dtype)}': pass whole numbers",
        NotImplementedError,
    )
    check(
        given._meta.ndim - 1 == axis,
        f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.",
    )
    check(
        tuple(given._meta.shape[:-1]) == tuple(meta.shape[:axis]),
        f"segment_reduce(): {name} {list(given._meta.shape)} must begin as data {list(meta.shape)} does",
    )
    counts = given._array.astype(np.int64) if name == "lengths" else np.diff(given._array.astype(np.int64), axis=-1)
    check(not (counts < 0).any(), f"{name} contains negative value!" if name == "lengths" else "offsets must not fall")
    sums = counts.sum(-1)
    check(
        bool(unsafe) or name == "offsets" or bool((sums == meta.shape[axis]).all()),
        "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.",
    )
    check(bool((sums <= meta.shape[axis]).all()), "segment_reduce(): the segments are longer than the data together")
    return counts


def _places(counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that belong to a segment, and which."""
    segment = np.repeat(np.arange(counts.size), counts.reshape(-1))
    used = counts.sum(-1)
    start = np.repeat(np.arange(len(used)) * size, used)
    within = np.arange(len(start)) - np.repeat(np.cumsum(used) - used, used)
    return start + within, segment


def _base(picked: Any, count: int, value: float) -> Any:
    meta = picked._meta
    return full((count, *meta.shape[1:]), value, dtype=meta.dtype)


def _added(picked: Any, segment: np.ndarray, count: int, value: float) -> Any:
    return by_name["index_add"](_base(picked, count, value), picked, from_array(segment), dim=0, alpha=1)


def _sum(picked: Any, segment: np.ndarray, counts: np.ndarray, initial: Any) -> Any:
    return _added(picked, segment, len(counts), 0 if initial is None else initial)


def _mean(picked: Any, segment: np.ndarray, counts: np.ndarray, initial: Any) -> Any:
    total = _sum(picked, segment, counts, initial)
    sizes = np.where(counts == 0, 0 if initial is None else 1, counts)
    column = from_array(sizes.astype(np.float64)).reshape(-1, *[1] * (picked._meta.ndim - 1))
    return total / column.to(picked._meta.dtype)


def _extreme(name: str) -> Callable[..., Any]:
    nothing = -float("inf") if name == "amax" else float("inf")

    def reduce(picked: Any, segment: np.ndarray, counts: np.ndarray, initial: Any) -> Any:
        base = _base(picked, len(counts), nothing if initial is None else initial)
        where = from_array(segment)
        best = base.index_reduce(0, where, picked.detach(), name, include_self=True)
        mine = best.index_select(0, where)
        wins = (picked.detach() == mine) | mine.isnan()
        ties = _added(wins.to(picked._meta.dtype), segment, len(counts), 0)
        shared = picked.where(wins, 0) / ties.index_select(0, where).clamp(min=1)
        return _added(shared, segment, len(counts), 0).where(ties > 0, best)

    return reduce


def _prod(picked: Any, segment: np.ndarray, counts: np.ndarray, initial: Any) -> Any:
    base = _base(picked, len(counts), 1 if initial is None else initial)
    places = from_array(segment).reshape(-1, *[1] * (picked._meta.ndim - 1)).expand(picked.shape)
    return base.scatter_reduce(0, places, picked, "prod", include_self=True)


_REDUCE = {"sum": _sum, "mean": _mean, "max": _extreme("amax"), "min": _extreme("amin"), "prod": _prod}


def _chunk_cat(tensors: Any, dim: int, num_chunks: int, *, out: Any = None) -> Any:
    """Each tensor cut into `num_chunks` along `dim` (padded by zeros), flattened from there on, side by side."""
    check(len(tensors) > 0, "_chunk_cat expects a non-empty input tensor list")
    check(num_chunks >= 1, "_chunk_cat expects positive num_chunks")
    kind = tensors[0]._meta.dtype
    check(all(x._meta.dtype is kind for x in tensors), "_chunk_cat expects all input tensors with the same dtype")
    axis = wrap_dim(dim, tensors[0]._meta.ndim)
    lead = tuple(tensors[0]._meta.shape[:axis])
    check(
        all(tuple(x._meta.shape[:axis]) == lead for x in tensors),
        "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors",
    )
    parts = []
    for x in tensors:
        size = x._meta.shape[axis]
        missing = -size % num_chunks
        if missing:
            rest = x._meta.shape[axis + 1 :]
            x = cat([x, full((*lead, missing, *rest), 0, dtype=kind)], axis)
        parts.append(x.reshape(*lead, num_chunks, -1))
    return cat(parts, axis + 1, out=out)
