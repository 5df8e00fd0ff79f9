"""Resizing by interpolation: `Upsample` and its two older two-dimensional forms."""

from __future__ import annotations

from typing import Any

import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t

from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resize the spatial dimensions of (N, C, …) to `size`, or by `scale_factor`; see `F.interpolate`.

    `mode` is 'nearest', 'linear', 'bilinear', 'bicubic' or 'trilinear'; `align_corners` makes the corner samples
    coincide.

    >>> import pellucid as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self,
        size: _size_any_t | None = None,
        scale_factor: _ratio_any_t | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Before this setting existed, the factor was always recomputed.
        super().__setstate__({"recompute_scale_factor": True, **state})

    def extra_repr(self) -> str:
        target = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{target}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Nearest-neighbour resizing of (N, C, H, W); `Upsample(mode='nearest')` is the same.

    >>> import pellucid as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear resizing of (N, C, H, W) with aligned corners; `Upsample(mode='bilinear', align_corners=True)` is the
    same.

    >>> import pellucid as torch
    >>> torch.nn.UpsamplingBilinear2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
