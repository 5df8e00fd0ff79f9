"""Normalisation over the last dimensions or over groups of channels: LayerNorm, GroupNorm, RMSNorm, and response
normalisation.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn import init
from pellucid.nn.parameter import Parameter

from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """x_c / (k + alpha/size · Σ x²)^beta, the sum over `size` neighbouring channels of (N, C, …). Krizhevsky et al.,
    2012.

    >>> import pellucid as torch
    >>> torch.nn.LocalResponseNorm(2)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """The older form of `LocalResponseNorm`, for (N, C, H, W) only; the first channel stays in the window of all later
    ones.

    >>> import pellucid as torch
    >>> torch.nn.CrossMapLRN2d(3)(torch.ones(1, 4, 2, 2)).shape
    torch.Size([1, 4, 2, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels = input.size(1)
        before = min(int((self.size - 1) / 2 + 1), channels)
        squares = F.pad(input * input, (0, 0, 0, 0, before, before - 1))
        running = squares.cumsum(1)
        window = running.narrow(1, 2 * before - 1, channels) - running.narrow(1, 0, channels)
        # The first channel is never taken out of the running sum: models trained with this layer were trained that way.
        is_late = (pellucid.arange(channels, device=input.device) >= before).view(1, -1, 1, 1)
        window = window + input[:, :1] ** 2 * is_late
        return input * (self.k + self.alpha / self.size * window) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)  # type: ignore


class LayerNorm(Module):
    """(x − mean) / √(variance + eps) · weight + bias over the last dimensions, whose shape is given. Ba et al., 2016.

    >>> import pellucid as torch
    >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach().round(decimals=2)
    tensor([[-1.,  1.]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool
    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        scale = shift = None
        if elementwise_affine:
            scale = Parameter(pellucid.empty(self.normalized_shape, device=device, dtype=dtype))
            shift = Parameter(pellucid.empty(self.normalized_shape, device=device, dtype=dtype)) if bias else None
        self.register_parameter("weight", scale)
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1 and shift 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)  # type: ignore[arg-type]
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class GroupNorm(Module):
    """(x − mean) / √(variance + eps) · weight + bias per sample over each group of channels of (N, C, …). Wu and He,
    ECCV 2018.

    >>> import pellucid as torch
    >>> torch.nn.GroupNorm(2, 4)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        scale = shift = None
        if affine:
            scale = Parameter(pellucid.empty(num_channels, device=device, dtype=dtype))
            shift = Parameter(pellucid.empty(num_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("weight", scale)
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1 and shift 0."""
        if self.affine:
            init.ones_(self.weight)  # type: ignore[arg-type]
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {affine}"


class RMSNorm(Module):
    """x / √(mean(x²) + eps) · weight over the last dimensions; eps None is the dtype's epsilon. Zhang and Sennrich,
    NeurIPS 2019.

    >>> import pellucid as torch
    >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([[3.0, 3.0]])).round(decimals=2)
    tensor([[1., 1.]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool
    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        scale = (
            Parameter(pellucid.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        )
        self.register_parameter("weight", scale)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
