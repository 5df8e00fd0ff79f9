"""How `linear_cross_entropy` cuts its batch into chunks and accumulates over them."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import pellucid

__all__ = ["LinearCrossEntropyOptions"]


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Settings of `F.linear_cross_entropy` that trade memory for time.

    `batch_chunk_size` is the rows per chunk, or `chunking_method` chooses it: "auto", "aspect_ratio" (logits about as
    large as the
    input) or "aspect_ratio:N" (N times smaller). `acc_policy` and `acc_dtype` say in what precision chunks are summed,
    and
    `allow_retain_graph` whether backward can run twice.

    >>> import pellucid as torch
    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=128).batch_chunk_size
    128
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method is not None and self.chunking_method != "auto":
            name, _, factor = self.chunking_method.partition(":")
            factor = factor if ":" in self.chunking_method else "1"
            if name != "aspect_ratio" or not factor.isdigit() or int(factor) == 0:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        known = (None, pellucid.float16, pellucid.bfloat16, pellucid.float32, pellucid.float64)
        if self.acc_dtype not in known:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

    def rows_per_chunk(self, num_batches: int, in_features: int, num_classes: int) -> int:
        """How many rows of the batch one chunk has."""
        if self.batch_chunk_size is not None and self.chunking_method in (None, "auto"):
            return max(1, min(self.batch_chunk_size, num_batches))
        if self.chunking_method is None:
            return max(1, num_batches)
        factor = 2 if self.chunking_method == "auto" else int(self.chunking_method.partition(":")[2] or 1)
        target = -(-num_batches // -(-num_classes // in_features))
        rows = min((1 << max(target - 1, 0).bit_length()) // factor, num_batches)
        if self.batch_chunk_size is not None and self.batch_chunk_size != rows:
            raise ValueError(
                f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{self.chunking_method}') give "
                f"different chunk sizes ({self.batch_chunk_size} vs {rows}); pass only one."
            )
        return max(1, rows)
