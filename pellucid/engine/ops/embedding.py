"""Looking rows up in a table, and the gradient that falls back on it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import from_array
from pellucid.engine.core.errors import check
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.shape import reshape_to


@op(half="keep")
def embedding(
    weight: np.ndarray, index: np.ndarray, *, padding_idx: int, scale_grad_by_freq: bool, sparse: bool = False
) -> np.ndarray:
    """The rows of `weight` at the positions of `index`."""
    if index.size and (index.min() < 0 or index.max() >= len(weight)):
        wrong = int(index.min()) if index.min() < 0 else int(index.max())
        raise IndexError(
            f"index out of range in self: the index {wrong} is not in 0..{len(weight) - 1}, the rows of a table of "
            f"{len(weight)};"
            " is num_embeddings large enough for the vocabulary?"
        )
    return np.take(weight, index, axis=0)


@embedding.meta
def embedding_meta(
    weight: Meta, index: Meta, *, padding_idx: int, scale_grad_by_freq: bool, sparse: bool = False
) -> Meta:
    check(weight.ndim == 2, f"'weight' must be 2-D (got shape {list(weight.shape)})")
    check(
        index.dtype in (dtypes.int64, dtypes.int32),
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got"
        f" torch.{title(index.dtype)}Tensor instead (while checking arguments for embedding): convert it with .long()",
    )
    return Meta.of((*index.shape, weight.shape[1]), weight.dtype, weight.device)


@embedding.vjp("weight")
def embedding_dweight(
    dy: Any, index: Any, weight_meta: Meta, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    if sparse:
        check(not scale_grad_by_freq, "embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        return embedding_entries(dy, index, weight_meta, padding_idx)
    return embedding_rows(
        dy, index, rows=weight_meta.shape[0], padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq
    )


def embedding_entries(parts: Any, index: Any, weight_meta: Meta, padding_idx: int) -> Any:
    """The gradient of a table as a sparse tensor: an entry per row that was looked up, except `padding_idx`."""
    # By name: most programs have no sparse gradients.
    layouts = importlib.import_module("pellucid.engine.ops.sparse_shape")
    flat = index._array.reshape(-1).astype(np.int64)
    values = reshape_to(parts, (flat.size, weight_meta.shape[1]))
    if padding_idx >= 0 and (flat == padding_idx).any():
        kept = np.flatnonzero(flat != padding_idx)
        flat, values = flat[kept], by_name["index_select"](values, from_array(kept), dim=0)
    return layouts.coo(from_array(flat[None].copy()), values, size=tuple(weight_meta.shape))


@op(grad_name="EmbeddingDenseBackwardBackward0")
def embedding_rows(
    parts: np.ndarray, index: np.ndarray, *, rows: int, padding_idx: int, scale_grad_by_freq: bool
) -> np.ndarray:
    """Rows of gradient added up at their positions; those of `padding_idx` are dropped."""
    flat = index.reshape(-1)
    width = parts.shape[-1]
    values = parts.reshape(-1, width)
    if scale_grad_by_freq:
        values = values / np.bincount(flat, minlength=rows)[flat][:, None].astype(values.dtype)
    keep = flat != padding_idx
    if padding_idx >= 0 and not keep.all():
        flat, values = flat[keep], values[keep]
    table = np.zeros((rows, width), parts.dtype)
    np.add.at(table, flat, values)
    return table


@embedding_rows.meta
def embedding_rows_meta(parts: Meta, index: Meta, *, rows: int, padding_idx: int, scale_grad_by_freq: bool) -> Meta:
    return Meta.of((rows, parts.shape[-1]), parts.dtype, parts.device)


@embedding_rows.vjp("parts")
def embedding_rows_dparts(dy: Any, index: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    from pellucid.engine.ops.comparison import eq, where
    from pellucid.engine.ops.shape import unsqueeze_axes

    check(not scale_grad_by_freq, "double backward for embedding with scale_grad_by_freq is not implemented")
    picked = embedding(dy, index, padding_idx=-1, scale_grad_by_freq=False)
    if padding_idx < 0:
        return picked
    return where(eq(unsqueeze_axes(index, axes=(index._meta.ndim,)), padding_idx), 0, picked)
