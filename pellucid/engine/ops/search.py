"""Places in sorted sequences, membership, counting, and index patterns."""

from __future__ import annotations

import itertools

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title


@op
def searchsorted(sequence: np.ndarray, values: np.ndarray, *, right: bool, int32: bool) -> np.ndarray:
    """Where each value would go in an ascending sequence (the last axis; the leading ones match); a NaN goes to the
    end.
    """
    if sequence.ndim == 1 and bool(
        np.all(sequence[:-1] <= sequence[1:])
    ):  # what is out of order gets the same steps as in PyTorch
        return np.searchsorted(sequence, values, side="right" if right else "left")
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, sequence.shape[-1], np.int64)
    for _ in range(int(sequence.shape[-1]).bit_length()):  # all binary searches at once
        middle = (low + high) // 2
        middle_in = np.minimum(middle, sequence.shape[-1] - 1)
        found = sequence[middle_in] if sequence.ndim == 1 else np.take_along_axis(sequence, middle_in, -1)
        after = ~(found > values) if right else ~(found >= values)
        after &= low < high
        low, high = np.where(after, middle + 1, low), np.where(after, high, middle)
    return low


@searchsorted.meta
def searchsorted_meta(sequence: Meta, values: Meta, *, right: bool, int32: bool) -> Meta:
    for each in (sequence, values):
        check(
            not each.dtype.is_complex,
            f"\"searchsorted_out_cpu\" not implemented for '{title(each.dtype)}'",
            NotImplementedError,
        )
    check(
        sequence.ndim == 1 or sequence.shape[:-1] == values.shape[:-1],
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
        "boundaries tensor and input value"
        f" tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor "
        f"{list(values.shape)}",
    )
    return Meta.of(values.shape, dtypes.int32 if int32 else dtypes.int64, values.device)


@op
def isin(elements: np.ndarray, candidates: np.ndarray, *, invert: bool) -> np.ndarray:
    """Whether each element is among the candidates (a NaN is not)."""
    return np.isin(elements, candidates, invert=invert)


@isin.meta
def isin_meta(elements: Meta, candidates: Meta, *, invert: bool) -> Meta:
    return Meta.of(elements.shape, dtypes.bool_, elements.device)


def _count_meta(x: Meta, minlength: int) -> None:
    check(
        x.dtype.category <= 1 and x.dtype is not dtypes.bool_,
        f"\"bincount_cpu\" not implemented for '{title(x.dtype)}'",
        NotImplementedError,
    )
    check(x.ndim == 1, "bincount only supports 1-d non-negative integral inputs.")
    check(minlength >= 0, "minlength should be >= 0")


@op(dynamic=True)
def bincount(x: np.ndarray, *, minlength: int) -> np.ndarray:
    """How often each number from 0 to the largest (at least minlength - 1) occurs."""
    check(not x.size or x.min() >= 0, "bincount only supports 1-d non-negative integral inputs.")
    return np.bincount(x.astype(np.int64), minlength=minlength)


@op(dynamic=True)
def bincount_weighted(x: np.ndarray, weights: np.ndarray, *, minlength: int) -> np.ndarray:
    """The sum of the weights at which each number from 0 to the largest (at least minlength - 1) occurs."""
    check(not x.size or x.min() >= 0, "bincount only supports 1-d non-negative integral inputs.")
    return np.bincount(x.astype(np.int64), weights.astype(np.float64), minlength)


@bincount.meta
def bincount_meta(x: Meta, *, minlength: int) -> Meta:
    _count_meta(x, minlength)
    return Meta.of((0,), dtypes.int64, x.device)


@bincount_weighted.meta
def bincount_weighted_meta(x: Meta, weights: Meta, *, minlength: int) -> Meta:
    _count_meta(x, minlength)
    check(weights.shape == x.shape, "weights should be 1-d and have the same length as input")
    return Meta.of((0,), weights.dtype if weights.dtype is dtypes.float32 else dtypes.float64, x.device)


@op
def histc(x: np.ndarray, *, bins: int, low: float, high: float) -> np.ndarray:
    """How many elements fall into each of `bins` equal parts of [low, high]; those outside are not counted."""
    low, high = _limits(x, low, high, "torch.histc")
    if low == high:
        low, high = low - 1, high + 1
    inside = x[(x >= low) & (x <= high)]
    low, high = x.dtype.type(low), x.dtype.type(high)
    places = ((inside - low) * (x.dtype.type(bins) / (high - low))).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(x.dtype)


def _limits(x: np.ndarray, low: float, high: float, name: str) -> tuple[float, float]:
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
        check(np.isfinite(low) and np.isfinite(high), f"{name}: range of [{low}, {high}] is not finite")
    return low, high


@histc.meta
def histc_meta(x: Meta, *, bins: int, low: float, high: float) -> Meta:
    _histogram_checks("histogram_cpu", x, bins)
    check(np.isfinite(low) and np.isfinite(high), f"torch.histc: range of [{low}, {high}] is not finite")
    check(low <= high, "torch.histc: max must be larger than min")
    return Meta.of((bins,), x.dtype, x.device)


def _histogram_checks(name: str, x: Meta, bins: int) -> None:
    check(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    check(x.dtype.category == 2, f"\"{name}\" not implemented for '{title(x.dtype)}'", NotImplementedError)


@op
def bin_edges(x: np.ndarray, *, bins: int, low: float | None, high: float | None) -> np.ndarray:
    """The edges of `bins` equal parts of [low, high], or of the range of the data."""
    if low is None or high is None:
        low, high = _limits(x, 0, 0, "torch.histogram()") if x.size else (0.0, 1.0)
    check(
        np.isfinite(low) and np.isfinite(high), f"torch.histogram(): dimension 0's range [{low}, {high}] is not finite"
    )
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = (x.dtype.type(high) - x.dtype.type(low)) / x.dtype.type(bins)
    i = np.arange(bins + 1).astype(x.dtype)
    return np.where(i < (bins + 1) // 2, x.dtype.type(low) + step * i, x.dtype.type(high) - step * (bins - i))


@bin_edges.meta
def bin_edges_meta(x: Meta, *, bins: int, low: float | None, high: float | None) -> Meta:
    _histogram_checks("histogramdd", x, bins)
    check(
        low is None or high is None or low <= high,
        f"torch.histogram(): min should not exceed max, but got min {low} max {high} for dimension 0",
    )
    return Meta.of((bins + 1,), x.dtype, x.device)


@op
def histogram(x: np.ndarray, edges: np.ndarray, weight: np.ndarray | None, *, density: bool) -> np.ndarray:
    """How many elements (or how much weight) fall between neighbouring edges, the last edge included; per unit with
    `density`.
    """
    bins = len(edges) - 1
    flat = x.reshape(-1)
    inside = (flat >= edges[0]) & (flat <= edges[-1]) if len(edges) else np.zeros(flat.shape, np.bool_)
    places = np.minimum(np.searchsorted(edges, flat[inside], side="right") - 1, bins - 1)
    counts = np.bincount(places, None if weight is None else weight.reshape(-1)[inside], bins).astype(x.dtype)
    return counts / (np.diff(edges) * counts.sum()) if density else counts


@histogram.meta
def histogram_meta(x: Meta, edges: Meta, weight: Meta | None, *, density: bool) -> Meta:
    _histogram_checks("histogramdd", x, edges.numel - 1)
    check(
        edges.dtype is x.dtype,
        "torch.histogram(): input tensor and bins tensors should have same dtype, but got input with dtype "
        f"{title(x.dtype)} and bins with dtype {title(edges.dtype)}",
    )
    check(
        edges.ndim == 1,
        f"torch.histogram(): bins tensor should have one dimension, but got {edges.ndim} dimensions in the "
        "bins tensor for dimension 0",
    )
    if weight is not None:
        check(
            weight.dtype is x.dtype,
            "torch.histogram(): if weight tensor is provided, it should have the same dtype as input, got "
            f"{title(weight.dtype)}",
        )
        check(
            weight.shape == x.shape,
            "torch.histogram(): if weight tensor is provided, it should have the same shape as the input "
            "tensor excluding its innermost dimension",
        )
    return Meta.of((edges.numel - 1,), x.dtype, x.device)


@op(half="keep")
def triangle_indices(
    *, rows: int, columns: int, offset: int, upper: bool, dtype: dtype_type, device: device_type
) -> np.ndarray:
    """Row and column of each element of a matrix's lower (upper) triangle, row by row."""
    pick = np.triu_indices if upper else np.tril_indices
    return np.stack(pick(rows, offset, columns)).astype(dtype.numpy)


@triangle_indices.meta
def triangle_indices_meta(
    *, rows: int, columns: int, offset: int, upper: bool, dtype: dtype_type, device: device_type
) -> Meta:
    below = sum([min(max(row + offset + (0 if upper else 1), 0), columns) for row in range(rows)])
    return Meta.of((2, rows * columns - below if upper else below), dtype, device)


@op(dynamic=True)
def combination_indices(x: np.ndarray, *, r: int, with_replacement: bool) -> np.ndarray:
    """Every choice of `r` positions of a vector, in order."""
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    flat = np.fromiter(itertools.chain.from_iterable(pick(range(len(x)), r)), np.int64)
    return flat.reshape(-1, r)


@combination_indices.meta
def combination_indices_meta(x: Meta, *, r: int, with_replacement: bool) -> Meta:
    return Meta.of((0, r), dtypes.int64, x.device)
