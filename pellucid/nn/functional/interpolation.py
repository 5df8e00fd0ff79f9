"""Images, signals and volumes resampled to another size; the layers are in `pellucid/nn/modules/upsampling.py`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.ops import interpolation as ops
from pellucid.engine.tensor.arguments import need_tensor
from pellucid.nn.functional.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_MODES = {
    "nearest": ("nearest", (3, 4, 5)), "nearest-exact": ("nearest-exact", (3, 4, 5)), "linear": ("linear", (3,)),
    "bilinear": ("linear", (4,)), "bicubic": ("cubic", (4,)), "trilinear": ("linear", (5,)),
    "area": ("area", (3, 4, 5)), "lanczos": ("lanczos", (4,)),
}  # fmt: skip


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input (N, C, L), (N, C, H, W) or (N, C, D, H, W) at another `size`, or `scale_factor` times its size.

    `mode`: "nearest" (rounds down), "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" (Keys 1981,
    a = −0.75), "lanczos" (with antialias only) or "area" (means). `align_corners` puts the centres, not the edges, of
    the corner pixels onto each other; `antialias` widens the filter when an image shrinks; `recompute_scale_factor`
    computes positions from the rounded sizes instead of the given factor.

    >>> import pellucid as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 3.]]]), scale_factor=2, mode="linear", align_corners=False)
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    need_tensor(input, "interpolate")
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    output_size, scales = _size_and_scales(input, size, scale_factor, mode, bool(recompute_scale_factor))
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    _check_mode(mode, input, antialias)
    if mode == "area":
        pool: Any = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}[input.ndim]
        return pool(input, output_size)
    method = _MODES[mode][0] + ("-aa" if antialias else "")
    return ops.upsample(input, size=output_size, scales=scales, mode=method, align_corners=bool(align_corners))


def _size_and_scales(
    input: Tensor, size: Any, scale_factor: Any, mode: str, recompute: bool
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The new sizes, and the factors that positions are computed with (None: from the sizes)."""
    inside = tuple(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _given_size(size, inside), (None,) * len(inside)
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = tuple(scale_factor) if isinstance(scale_factor, list | tuple) else (scale_factor,) * len(inside)
    check(
        len(factors) == len(inside),
        "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial"
        " dimensions of"
        f" {list(inside)} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2,"
        " ...,dK) format"
        " and scale_factor in (s1, s2, ...,sK) format.",
        ValueError,
    )
    scales = tuple([float(each) for each in factors])
    sizes = tuple([ops.scaled_size(n, each) for n, each in zip(inside, scales, strict=True)])
    return sizes, ((None,) * len(inside) if recompute or mode == "area" else scales)


def _given_size(size: Any, inside: tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(size, list | tuple):
        return (int(size),) * len(inside)
    check(
        len(size) == len(inside),
        "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of"
        f" {list(inside)} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format"
        " and output size"
        " in (o1, o2, ...,oK) format.",
        ValueError,
    )
    if not all(isinstance(each, int) or hasattr(each, "__index__") for each in size):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size"
            " with types"
            f" {[type(each) for each in size]}"
        )
    return tuple([int(each) for each in size])


def _check_mode(mode: str, input: Tensor, antialias: bool) -> None:
    """NotImplementedError for a mode that does not exist, or not for inputs of this rank."""
    if mode not in _MODES:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got"
            f" {input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area |"
            f" nearest-exact (got {mode})"
        )
    ranks = _MODES[mode][1]
    if input.ndim not in ranks:
        if input.ndim in (3, 4, 5):
            fitting = {3: "linear", 4: "bilinear", 5: "trilinear"}[input.ndim]
            raise NotImplementedError(
                f"Got {input.ndim}D input, but {mode} mode needs {ranks[0]}D input (use mode='{fitting}')"
            )
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest |"
            " linear |"
            f" bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if mode == "lanczos" and not antialias:
        raise NotImplementedError("mode='lanczos' needs antialias=True (got lanczos without it)")


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of `interpolate`; warns.

    >>> import pellucid as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample(torch.ones(1, 1, 2), scale_factor=2)
    tensor([[[1., 1., 1., 1.]]])
    """
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=user_level()
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` with mode "nearest"; warns.

    >>> import pellucid as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample_nearest(torch.ones(1, 1, 2, 2), size=3).shape
    torch.Size([1, 1, 3, 3])
    """
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=user_level(),
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """`interpolate` of images with mode "bilinear" and aligned corners; warns.

    >>> import pellucid as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.functional.upsample_bilinear(torch.tensor([[[[0., 2.]]]]), size=(1, 3))
    tensor([[[[0., 1., 2.]]]])
    """
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=user_level(),
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
