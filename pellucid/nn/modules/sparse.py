"""Looking up rows of a table by index: `Embedding`, and `EmbeddingBag`, which reduces each bag of rows to one."""

from __future__ import annotations

from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn import init
from pellucid.nn.parameter import Parameter

from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


def _counted_from_front(padding_idx: int | None, rows: int, name: str) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < max(rows, 1):
        raise AssertionError(f"{name} must be within num_embeddings, but {padding_idx} is not a row of {rows}")
    return padding_idx + rows if padding_idx < 0 else padding_idx


class _Table(Module):
    """What the two layers share: a table of vectors, drawn from the normal distribution, with one row of zeros if so
    asked.
    """

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Tensor

    def _make_weight(self, given: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            self.weight = Parameter(pellucid.empty(shape, device=device, dtype=dtype), requires_grad=requires_grad)
            self.reset_parameters()
            return
        if tuple(given.shape) != shape:
            raise AssertionError(
                f"Shape of weight does not match num_embeddings and embedding_dim: {tuple(given.shape)} instead of "
                f"{shape}"
            )
        self.weight = Parameter(given, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Draw the table anew; the padding row is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with pellucid.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Row i of a (num_embeddings, embedding_dim) table for each index i: (*) → (*, embedding_dim).

    The row `padding_idx` starts at zero and gets no gradient; `max_norm` rescales, in place, rows that are looked up
    and longer.

    >>> import pellucid as torch
    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    torch.Size([2, 4, 3])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _counted_from_front(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._make_weight(_weight, not _freeze, device, dtype)
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer over the given (rows, columns) table, which is not trained unless `freeze=False`.

        >>> import pellucid as torch
        >>> torch.nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [4.0, 5.0]]))(torch.tensor([1]))
        tensor([[4., 5.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum (`mode`) of the rows of each bag of indices, without making the rows: (B, N) → (B,
    embedding_dim).

    A 1-dimensional input is cut into bags at `offsets`. The row `padding_idx` does not count.

    >>> import pellucid as torch
    >>> bags = torch.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4])).shape
    torch.Size([2, 3])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
        "include_last_offset", "padding_idx",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _counted_from_front(padding_idx, num_embeddings, "padding_idx")
        self._make_weight(_weight, True, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer over the given (rows, columns) table, which is not trained unless `freeze=False`."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bag = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight=embeddings,
            include_last_offset=include_last_offset, padding_idx=padding_idx,
        )  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag
