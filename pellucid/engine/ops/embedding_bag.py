"""Sums, means and maxima of the rows of a table, bag by bag."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import mul
from pellucid.engine.ops.embedding import embedding, embedding_entries, embedding_rows
from pellucid.engine.ops.memory import cast
from pellucid.engine.ops.reduce import total
from pellucid.engine.ops.shape import unsqueeze_axes


def _bags(offsets: np.ndarray, count: int, last: bool) -> np.ndarray:
    """The bag of each of `count` positions, -1 for those after the last bag."""
    check(
        not offsets.size or offsets[0] == 0,
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got"
        f" {int(offsets[0]) if offsets.size else 0}",
    )
    check(
        not offsets.size or offsets[-1] <= count,
        f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
        f"{int(offsets[-1]) if offsets.size else 0}",
    )
    check(bool(np.all(offsets[1:] >= offsets[:-1])), f"offsets must not decrease, but got {offsets.tolist()}")
    bags = np.searchsorted(offsets, np.arange(count), side="right") - 1
    return np.where(bags >= len(offsets) - 1, -1, bags) if last else bags


@op(outputs=("bags", "shares"))
def bag_shares(
    index: np.ndarray, offsets: np.ndarray, weight: np.ndarray, *, mean: bool, last: bool, padding_idx: int
) -> tuple[np.ndarray, np.ndarray]:
    """The bag of each position and its factor there: 0 for padding and for positions of no bag, in a mean 1 over
    the rest.
    """
    bags = _bags(offsets, len(index), last)
    counted = (index != padding_idx) & (bags >= 0)
    bags = np.maximum(bags, 0)
    if not mean:
        return bags, counted
    counts = np.bincount(bags[counted], minlength=len(offsets) + 1)
    return bags, np.where(counted, 1 / np.maximum(counts, 1)[bags], 0)


@bag_shares.meta
def bag_shares_meta(
    index: Meta, offsets: Meta, weight: Meta, *, mean: bool, last: bool, padding_idx: int
) -> tuple[Meta, Meta]:
    return Meta.of(index.shape, dtypes.int64, index.device), Meta.of(index.shape, weight.dtype, index.device)


@op(outputs=("y", "winners"), grad_name="EmbeddingBagBackward0")
def embedding_bag(
    weight: np.ndarray, index: np.ndarray, offsets: np.ndarray, per_sample: Any, *,
    mode: str, last: bool, padding_idx: int, scale_grad_by_freq: bool, sparse: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Bag k reduces the rows at `index[offsets[k]:offsets[k + 1]]`; padding does not take part, and an empty bag
    gives 0.

    In mode "max" `winners` is the row that each maximum came from (-1: none); otherwise it is empty.
    """
    if index.size and (index.min() < 0 or index.max() >= len(weight)):
        place = int(np.flatnonzero((index < 0) | (index >= len(weight)))[0])
        raise RuntimeError(
            f"embedding_bag: Index {place} of input takes value {int(index[place])} which is not in the valid range "
            f"[0, {len(weight)})"
            " (Expected i < index_size to be true, but got false)"
        )
    number = len(offsets) - last
    bags = _bags(offsets, len(index), last)
    counted = (index != padding_idx) & (bags >= 0)
    bags, rows = bags[counted], index[counted]
    values = weight[rows]
    if per_sample is not None:
        values = values * per_sample[counted][:, None].astype(values.dtype)
    result = np.zeros((number, weight.shape[1]), weight.dtype)
    winners = np.full(result.shape if mode == "max" else (0, 0), -1, np.int64)
    if not len(rows):
        return result, winners
    starts = np.flatnonzero(np.r_[True, bags[1:] != bags[:-1]])
    used = bags[starts]
    if mode == "max":
        result[used] = np.maximum.reduceat(values, starts)
        first = np.where(values == result[bags], np.arange(len(rows))[:, None], len(rows))
        winners[used] = rows[np.minimum(np.minimum.reduceat(first, starts), len(rows) - 1)]
        return result, winners
    result[used] = np.add.reduceat(values, starts)
    if mode == "mean":
        result[used] /= np.diff(np.r_[starts, len(rows)])[:, None].astype(weight.dtype)
    return result, winners


@embedding_bag.meta
def embedding_bag_meta(
    weight: Meta,
    index: Meta,
    offsets: Meta,
    per_sample: Any,
    *,
    mode: str,
    last: bool,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool = False,
) -> tuple[Meta, Meta]:
    for position, name, each in ((1, "indices", index), (1, "offsets", offsets)):
        check(
            each.dtype in (dtypes.int64, dtypes.int32),
            f"Expected tensor for argument #{position} '{name}' to have one of the following scalar types: Long, Int; "
            "but got"
            f" torch.{title(each.dtype)}Tensor instead (while checking arguments for embedding_bag): convert it with "
            ".long()",
        )
    check(weight.ndim == 2, f"'weight' must be 2-D (got shape {list(weight.shape)})")
    check(
        weight.dtype.category == 2,
        f"expected 'weight' to be of a floating point type, but got {weight.dtype} (while checking arguments for "
        "embedding_bag)",
    )
    check(
        per_sample is None or per_sample.dtype is weight.dtype,
        f"expected scalar type {title(weight.dtype)} for 'per_sample_weights', the same as 'weight', but got"
        f" {title(per_sample.dtype) if per_sample is not None else ''}",
    )
    check(not last or offsets.numel > 0, "include_last_offset: number of offsets should be at least 1")
    number = offsets.numel - last
    winners = (number, weight.shape[1]) if mode == "max" else (0, 0)
    return weight.like((number, weight.shape[1])), Meta.of(winners, dtypes.int64, weight.device)


@embedding_bag.vjp("weight", "per_sample")
def embedding_bag_gradients(
    dy: Any, weight: Any, index: Any, offsets: Any, per_sample: Any, winners: Any, weight_meta: Meta,
    needs: tuple[bool, ...], mode: str, last: bool, padding_idx: int, scale_grad_by_freq: bool, sparse: bool,
) -> Any:  # fmt: skip
    if mode == "max":
        return rows_of_winners(dy, winners, rows=weight_meta.shape[0]), None
    bags, shares = bag_shares(index, offsets, weight.detach(), mean=mode == "mean", last=last, padding_idx=padding_idx)
    parts = embedding(dy, bags, padding_idx=-1, scale_grad_by_freq=False)
    dweight = dper_sample = None
    if needs[3]:
        own = embedding(weight, index, padding_idx=-1, scale_grad_by_freq=False)
        dper_sample = mul(total(mul(parts, own), (1,), keepdim=False), shares)
    if needs[0]:
        factor = shares if per_sample is None else mul(shares, cast(per_sample, dtype=weight_meta.dtype))
        scaled = mul(parts, unsqueeze_axes(factor, axes=(1,)))
        if sparse:
            return embedding_entries(scaled, index, weight_meta, padding_idx), dper_sample
        dweight = embedding_rows(
            scaled, index, rows=weight_meta.shape[0], padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq
        )
    return dweight, dper_sample


@op(grad_name="EmbeddingBagDenseBackwardBackward0")
def rows_of_winners(parts: np.ndarray, winners: np.ndarray, *, rows: int) -> np.ndarray:
    """Each maximum's gradient added to the row that it came from."""
    table = np.zeros((rows, parts.shape[1]), parts.dtype)
    bag, column = np.nonzero(winners >= 0)
    np.add.at(table, (winners[bag, column], column), parts[bag, column])
    return table


@rows_of_winners.meta
def rows_of_winners_meta(parts: Meta, winners: Meta, *, rows: int) -> Meta:
    return parts.like((rows, parts.shape[1]))


@rows_of_winners.vjp("parts")
def rows_of_winners_dparts(dy: Any, winners: Any) -> Any:
    return at_winners(dy, winners)


@op
def at_winners(table: np.ndarray, winners: np.ndarray) -> np.ndarray:
    """The element of each column in the row that `winners` says, 0 for none."""
    if not len(table):
        return np.zeros(winners.shape, table.dtype)
    return np.where(winners >= 0, np.take_along_axis(table, np.maximum(winners, 0), 0), 0)


@at_winners.meta
def at_winners_meta(table: Meta, winners: Meta) -> Meta:
    return table.like(winners.shape)


@at_winners.vjp("table")
def at_winners_dtable(dy: Any, winners: Any, table_meta: Meta) -> Any:
    return rows_of_winners(dy, winners, rows=table_meta.shape[0])
