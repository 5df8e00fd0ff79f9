"""Functions of the `torch` namespace that give values and indices where `nn.functional`'s of that name give values."""

from __future__ import annotations

from pellucid import Tensor
from pellucid.nn.functional.pooling import IntOrInts, adaptive_max_pool1d_with_indices

__all__ = ["adaptive_max_pool1d"]


def adaptive_max_pool1d(input: Tensor, output_size: IntOrInts) -> tuple[Tensor, Tensor]:
    """The largest values of `output_size` evenly spread windows of (N, C, L) or (C, L), and where they are.

    >>> import pellucid as torch
    >>> torch.adaptive_max_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return adaptive_max_pool1d_with_indices(input, output_size)
