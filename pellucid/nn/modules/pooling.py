"""Pooling: the largest, mean or p-norm of each window, windows chosen by number or at random, and the inverse of max
pooling.
"""

from __future__ import annotations

from typing import Any

import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.common_types import (
    _ratio_2_t,
    _ratio_3_t,
    _size_1_t,
    _size_2_opt_t,
    _size_2_t,
    _size_3_opt_t,
    _size_3_t,
    _size_any_t,
)

from .module import Module
from .utils import _pair, _single, _triple

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    """What max pooling layers share; the stride is the kernel size unless it is given."""

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest value of each window of (N, C, L) or (C, L); padding counts as −∞, a NaN wins.

    L_out = ⌊(L + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1, with ⌈⌉ in ceil mode.

    >>> import pellucid as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class MaxPool2d(_MaxPoolNd):
    """The largest value of each window of (N, C, H, W) or (C, H, W), and with `return_indices` where it is in the flat
    plane.

    >>> import pellucid as torch
    >>> torch.nn.MaxPool2d(3, stride=2)(torch.ones(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class MaxPool3d(_MaxPoolNd):
    """The largest value of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> import pellucid as torch
    >>> torch.nn.MaxPool3d(2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class _MaxUnpoolNd(Module):
    """What max unpooling layers share."""

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put the maxima back where `MaxPool1d(return_indices=True)` found them, zeros elsewhere; `output_size` settles the
    size.

    >>> import pellucid as torch
    >>> values, where = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    >>> torch.nn.MaxUnpool1d(2)(values, where)
    tensor([[[0., 3., 2., 0.]]])
    """

    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Put the maxima back where `MaxPool2d(return_indices=True)` found them, zeros elsewhere; `output_size` settles the
    size.

    >>> import pellucid as torch
    >>> values, where = torch.nn.MaxPool2d(2, return_indices=True)(torch.ones(1, 1, 4, 4))
    >>> torch.nn.MaxUnpool2d(2)(values, where).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride if stride is not None else kernel_size)
        self.padding = _pair(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Put the maxima back where `MaxPool3d(return_indices=True)` found them, zeros elsewhere; `output_size` settles the
    size.

    >>> import pellucid as torch
    >>> values, where = torch.nn.MaxPool3d(2, return_indices=True)(torch.ones(1, 1, 2, 2, 2))
    >>> torch.nn.MaxUnpool3d(2)(values, where).sum()
    tensor(1.)
    """

    def __init__(self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0) -> None:
        super().__init__()
        self.kernel_size = _triple(kernel_size)
        self.stride = _triple(stride if stride is not None else kernel_size)
        self.padding = _triple(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    """What average pooling layers share."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    ceil_mode: bool
    count_include_pad: bool

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (N, C, L) or (C, L); the zeros of the padding count unless `count_include_pad=False`.

    >>> import pellucid as torch
    >>> torch.nn.AvgPool1d(3, stride=2)(torch.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]]))
    tensor([[[2., 4., 6.]]])
    """

    def __init__(
        self,
        kernel_size: _size_1_t,
        stride: _size_1_t | None = None,
        padding: _size_1_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    """What 2- and 3-dimensional average pooling share: a divisor may be given in place of the window's size."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    divisor_override: int | None

    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPoolWithDivisor):
    """The mean of each window of (N, C, H, W) or (C, H, W).

    >>> import pellucid as torch
    >>> torch.nn.AvgPool2d((3, 2), stride=(2, 1))(torch.ones(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 31])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(_AvgPoolWithDivisor):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> import pellucid as torch
    >>> torch.nn.AvgPool3d(2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding": 0, "ceil_mode": False, "count_include_pad": True, **state})


class _FractionalMaxPoolNd(Module):
    """What fractional max pooling shares: windows of random place, and an output of given size or ratio."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def _set_output(self, repeat: Any, output_size: Any, output_ratio: Any, random_samples: Tensor | None) -> None:
        name = type(self).__name__
        self.register_buffer("_random_samples", random_samples)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.output_size = repeat(output_size) if output_size is not None else None
        self.output_ratio = repeat(output_ratio) if output_ratio is not None else None
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling of (N, C, H, W) or (C, H, W) to any output size, over windows of random place. Graham, 2014.

    >>> import pellucid as torch
    >>> torch.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.5))(torch.ones(1, 2, 10, 8)).shape
    torch.Size([1, 2, 5, 4])
    """

    def __init__(
        self,
        kernel_size: _size_2_t,
        output_size: _size_2_t | None = None,
        output_ratio: _ratio_2_t | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.return_indices = return_indices
        self._set_output(_pair, output_size, output_ratio, _random_samples)

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling of (N, C, D, H, W) or (C, D, H, W) to any output size, over windows of random place. Graham, 2014.

    >>> import pellucid as torch
    >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.ones(1, 2, 6, 6, 6)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    def __init__(
        self,
        kernel_size: _size_3_t,
        output_size: _size_3_t | None = None,
        output_ratio: _ratio_3_t | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if any(width <= 0 for width in _triple(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size = _triple(kernel_size)
        self.return_indices = return_indices
        self._set_output(_triple, output_size, output_ratio, _random_samples)

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class _LPPoolNd(Module):
    """What power-average pooling layers share."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    norm_type: float
    ceil_mode: bool

    def __init__(
        self,
        norm_type: float,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        window = f"kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"
        return f"norm_type={self.norm_type}, {window}"


class LPPool1d(_LPPoolNd):
    """(Σ xᵖ)^(1/p) of each window of (N, C, L) or (C, L); p = 1 is the sum, a large p nearly the maximum.

    >>> import pellucid as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """(Σ xᵖ)^(1/p) of each window of (N, C, H, W) or (C, H, W).

    >>> import pellucid as torch
    >>> torch.nn.LPPool2d(1.2, (3, 2), stride=(2, 1))(torch.ones(2, 3, 9, 8)).shape
    torch.Size([2, 3, 4, 7])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """(Σ xᵖ)^(1/p) of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> import pellucid as torch
    >>> torch.nn.LPPool3d(2, 2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveMaxPoolNd(Module):
    """What adaptive max pooling layers share: windows chosen so that the output has the given size."""

    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Max pooling of (N, C, L) or (C, L) to length output_size.

    >>> import pellucid as torch
    >>> torch.nn.AdaptiveMaxPool1d(5)(torch.ones(1, 64, 8)).shape
    torch.Size([1, 64, 5])
    """

    output_size: _size_1_t

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Max pooling of (N, C, H, W) or (C, H, W) to output_size; None keeps a size.

    >>> import pellucid as torch
    >>> torch.nn.AdaptiveMaxPool2d((None, 7))(torch.ones(1, 64, 10, 9)).shape
    torch.Size([1, 64, 10, 7])
    """

    output_size: _size_2_opt_t

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Max pooling of (N, C, D, H, W) or (C, D, H, W) to output_size; None keeps a size.

    >>> import pellucid as torch
    >>> torch.nn.AdaptiveMaxPool3d(3)(torch.ones(1, 2, 5, 6, 7)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    output_size: _size_3_opt_t

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    """What adaptive average pooling layers share: windows chosen so that the output has the given size."""

    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average pooling of (N, C, L) or (C, L) to length output_size.

    >>> import pellucid as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[[1.0, 3.0, 5.0, 7.0]]]))
    tensor([[[2., 6.]]])
    """

    output_size: _size_1_t

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average pooling of (N, C, H, W) or (C, H, W) to output_size; None keeps a size.

    >>> import pellucid as torch
    >>> torch.nn.AdaptiveAvgPool2d((5, None))(torch.ones(1, 64, 8, 9)).shape
    torch.Size([1, 64, 5, 9])
    """

    output_size: _size_2_opt_t

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average pooling of (N, C, D, H, W) or (C, D, H, W) to output_size; None keeps a size.

    >>> import pellucid as torch
    >>> torch.nn.AdaptiveAvgPool3d(1)(torch.ones(1, 2, 3, 4, 5)).shape
    torch.Size([1, 2, 1, 1, 1])
    """

    output_size: _size_3_opt_t

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
