"""Indexing whose places count only where a mask is True, as decompositions of interpolation use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.tensor.arguments import need_tensor


def _inside(input: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    """The index with every place moved into bounds, since masked places may lie outside."""
    return tuple(
        [
            each.clamp(-size, size - 1) if isinstance(each, TensorData) else slice(None)
            for each, size in zip(indices, input._meta.shape, strict=False)
        ]
    )


def _unsafe_masked_index(input: Any, mask: Any, indices: Sequence[Any], fill: Any) -> Any:
    """`input[indices]` where the mask is True, `fill` elsewhere."""
    need_tensor(input, "_unsafe_masked_index")
    return input[_inside(input, indices)].masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(input: Any, mask: Any, indices: Sequence[Any], values: Any) -> Any:
    """`input` with the values added at their places, those where the mask is True."""
    need_tensor(input, "_unsafe_masked_index_put_accumulate")
    kept = values.masked_fill(mask.logical_not(), 0)
    return input.index_put([each for each in _inside(input, indices)], kept, accumulate=True)
