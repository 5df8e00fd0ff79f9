"""Softmax, its mirror image, and its logarithm, as layers."""

from __future__ import annotations

from typing import Any

import pellucid.nn.functional as F
from pellucid import Tensor

from .module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(Module):
    """What these layers share: the dimension whose values are taken together."""

    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"dim": None, **state})

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """exp(−x_i) / Σ_j exp(−x_j) along `dim`.

    >>> import pellucid as torch
    >>> torch.nn.Softmin(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    __module__ = "pellucid.nn.modules.activation"  # where files of PyTorch say that it is

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(x_i) / Σ_j exp(x_j) along `dim`: positive values that add up to 1.

    >>> import pellucid as torch
    >>> torch.nn.Softmax(dim=1)(torch.tensor([[0.0, 0.0]]))
    tensor([[0.5000, 0.5000]])
    """

    __module__ = "pellucid.nn.modules.activation"  # where files of PyTorch say that it is

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels at every place of (N, C, H, W) or (C, H, W).

    >>> import pellucid as torch
    >>> torch.nn.Softmax2d()(torch.zeros(1, 4, 2, 2))[0, 0]
    tensor([[0.2500, 0.2500],
            [0.2500, 0.2500]])
    """

    __module__ = "pellucid.nn.modules.activation"  # where files of PyTorch say that it is

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """log(exp(x_i) / Σ_j exp(x_j)) along `dim`, without the underflow of taking the logarithm last.

    >>> import pellucid as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    __module__ = "pellucid.nn.modules.activation"  # where files of PyTorch say that it is

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)
