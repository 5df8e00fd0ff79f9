"""Dropout: zeroing elements or whole channels at random in training, nothing in evaluation."""

from __future__ import annotations

import pellucid.nn.functional as F
from pellucid import Tensor

from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """What dropout layers share: the probability of zeroing, and whether to work in place."""

    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero each element with probability p and divide the others by 1 − p; any shape. Hinton et al., 2012.

    >>> import pellucid as torch
    >>> torch.nn.Dropout(0.2).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of (N, C, L) or (C, L) with probability p, and divide the others by 1 − p. Tompson et al.,
    CVPR 2015.

    >>> import pellucid as torch
    >>> torch.nn.Dropout1d(0.2)(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of (N, C, H, W) with probability p, and divide the others by 1 − p. Tompson et al., CVPR
    2015.

    >>> import pellucid as torch
    >>> torch.nn.Dropout2d(0.2)(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of (N, C, D, H, W) with probability p, and divide the others by 1 − p. Tompson et al., CVPR
    2015.

    >>> import pellucid as torch
    >>> torch.nn.Dropout3d(0.2)(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1: dropped elements become SELU's lower limit. Klambauer et al., NeurIPS
    2017.

    >>> import pellucid as torch
    >>> torch.nn.AlphaDropout(0.2).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` on whole channels of (N, C, …).

    >>> import pellucid as torch
    >>> torch.nn.FeatureAlphaDropout(0.2)(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
