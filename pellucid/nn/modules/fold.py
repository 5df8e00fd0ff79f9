"""Sliding blocks as columns, and columns summed back into an image: `Unfold`, `Fold`."""

from __future__ import annotations

import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.common_types import _size_any_t

from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """(N, C·∏kernel, L) → (N, C, *output_size): each column is a block, and overlapping blocks add up.

    >>> import pellucid as torch
    >>> torch.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.ones(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        output_size: _size_any_t,
        kernel_size: _size_any_t,
        dilation: _size_any_t = 1,
        padding: _size_any_t = 0,
        stride: _size_any_t = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """(N, C, H, W) → (N, C·∏kernel, L): every block that the kernel covers as one column of L.

    >>> import pellucid as torch
    >>> torch.nn.Unfold(kernel_size=(2, 3))(torch.ones(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0, stride: _size_any_t = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
