"""Merging dimensions into one, and one into several: `Flatten`, `Unflatten`."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """The dimensions from start_dim to end_dim as one; by default all but the batch.

    >>> import pellucid as torch
    >>> torch.nn.Flatten()(torch.ones(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """The dimension `dim` split into the sizes of `unflattened_size`, one of which may be -1.

    >>> import pellucid as torch
    >>> torch.nn.Unflatten(1, (2, 5, 5))(torch.ones(2, 50)).shape
    torch.Size([2, 2, 5, 5])
    """

    __constants__ = ["dim", "unflattened_size"]
    dim: int
    unflattened_size: Any

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            kind = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                kind = type(size).__name__
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {position}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
