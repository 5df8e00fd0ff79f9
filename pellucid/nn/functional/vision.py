"""Sampling at free positions, and channels and pixels rearranged, as functions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.ops import grid as grid_ops
from pellucid.engine.ops import rearrangement as ops
from pellucid.engine.tensor.arguments import as_bool, as_int, as_ints, need_tensor

__all__ = [
    "affine_grid", "affine_grid_generator", "channel_shuffle", "grid_sample", "grid_sampler", "grid_sampler_2d",
    "grid_sampler_3d", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle",
]  # fmt: skip

_MODES = ("bilinear", "nearest", "bicubic")
_PADDING_MODES = ("zeros", "border", "reflection")
_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify"
    " align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images (N, C, H, W) or volumes (N, C, D, H, W) at the positions of `grid` (N, h, w, 2) or (N, d, h, w, 3).

    A position is (x, y) or (x, y, z) from −1 to 1: edges of the corner pixels, or their centres with `align_corners`.
    `mode` is "bilinear", "nearest" or "bicubic" (images only); outside there is 0 ("zeros"), the nearest pixel
    ("border") or the mirror image ("reflection").

    >>> import pellucid as torch
    >>> torch.nn.functional.grid_sample(torch.tensor([[[[1., 3.]]]]), torch.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.]]]])
    """
    if align_corners is not None:
        as_bool(align_corners, "grid_sample", "align_corners", 5)
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got:"
            f" '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_CHANGED, stacklevel=user_level())
    return _sample(input, grid, mode, padding_mode, bool(align_corners))


def _sample(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Any:
    need_tensor(input, "grid_sampler")
    need_tensor(grid, "grid_sampler", "grid", 2)
    sample: Any = grid_ops.grid_sampler_3d if input.ndim == 5 else grid_ops.grid_sampler_2d
    return sample(input, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with its modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection.

    >>> import pellucid as torch
    >>> torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    check(0 <= interpolation_mode < 3, f"grid_sampler(): unknown interpolation_mode {interpolation_mode} (0 to 2)")
    check(0 <= padding_mode < 3, f"grid_sampler(): unknown padding_mode {padding_mode} (0 to 2)")
    return _sample(input, grid, _MODES[interpolation_mode], _PADDING_MODES[padding_mode], bool(align_corners))


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images.

    >>> import pellucid as torch
    >>> torch.grid_sampler_2d(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 1, 0, False)
    tensor([[[[1.]]]])
    """
    need_tensor(input, "grid_sampler_2d")
    check(input.ndim == 4, f"grid_sampler_2d(): expected a 4D input, but got shape {list(input.shape)}")
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of volumes.

    >>> import pellucid as torch
    >>> torch.grid_sampler_3d(torch.ones(1, 1, 2, 2, 2), torch.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[1.]]]]])
    """
    need_tensor(input, "grid_sampler_3d")
    check(input.ndim == 5, f"grid_sampler_3d(): expected a 5D input, but got shape {list(input.shape)}")
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` of affine maps `theta`: (N, 2, 3) for a size (N, C, H, W), (N, 3, 4) for volumes.

    `align_corners` has to be what `grid_sample` gets.

    >>> import pellucid as torch
    >>> torch.nn.functional.affine_grid(torch.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), align_corners=True)[0, 0]
    tensor([[-1., -1.],
            [ 1., -1.]])
    """
    if align_corners is not None:
        as_bool(align_corners, "affine_grid", "align_corners", 3)
    need_tensor(theta, "affine_grid")
    if align_corners is None:
        warnings.warn(_CHANGED, stacklevel=user_level())
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively."
            f" Got size {size}."
        )
    count = len(size) - 2
    if tuple(theta.shape[-2:]) != (count, count + 1) or theta.ndim != 3:
        raise ValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {size}. Got"
            f" {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True."
            " This is not"
            " an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=user_level(),
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, align_corners)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`affine_grid` without its checks of the dtype.

    >>> import pellucid as torch
    >>> torch.affine_grid_generator(torch.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), True).shape
    torch.Size([1, 2, 2, 2])
    """
    need_tensor(theta, "affine_grid_generator")
    sizes = as_ints(size, "affine_grid_generator", "size")
    check(len(sizes) in (4, 5), "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    check(
        theta.shape[0] == sizes[0],
        f"Expected size for first two dimensions of batch2 tensor to be: [{sizes[0]}, {len(sizes) - 1}] but got:"
        f" [{theta.shape[0]}, {len(sizes) - 1}]. (theta has {theta.shape[0]} matrices, the size asks for {sizes[0]})",
    )
    return grid_ops.affine_grid_generator(theta, size=sizes[2:], align_corners=bool(align_corners))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(…, C·r², H, W) as (…, C, H·r, W·r): channels become blocks of pixels (Shi et al. 2016, sub-pixel convolution).

    >>> import pellucid as torch
    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.).view(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    factor = as_int(upscale_factor, "pixel_shuffle", "upscale_factor")
    return ops.pixel_shuffle(need_tensor(input, "pixel_shuffle"), factor=factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(…, C, H·r, W·r) as (…, C·r², H, W): the inverse of `pixel_shuffle`.

    >>> import pellucid as torch
    >>> torch.nn.functional.pixel_unshuffle(torch.ones(1, 4, 6), 2).shape
    torch.Size([4, 2, 3])
    """
    factor = as_int(downscale_factor, "pixel_unshuffle", "downscale_factor")
    return ops.pixel_unshuffle(need_tensor(input, "pixel_unshuffle"), factor=factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, …) with the channels of `groups` groups interleaved (Zhang et al. 2017, ShuffleNet).

    >>> import pellucid as torch
    >>> torch.nn.functional.channel_shuffle(torch.arange(4.).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    groups = as_int(groups, "channel_shuffle", "groups")
    return ops.channel_shuffle(need_tensor(input, "channel_shuffle"), groups=groups)


native_channel_shuffle = channel_shuffle
