"""Padding in 1, 2 and 3 dimensions: with a constant, zeros, the reflection, the edge, or the other side.

Amounts are given as for `F.pad`: before and after, last dimension first; one number is used on every side.
"""

from __future__ import annotations

from typing import Any

import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.common_types import _size_2_t, _size_4_t, _size_6_t

from .module import Module
from .utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

_sextuple = _ntuple(6, "_sextuple")


class _PadNd(Module):
    """What all padding layers share; the class says the mode."""

    __constants__ = ["padding"]
    _mode: str
    padding: tuple[int, ...]

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    """Padding with values from the other side; the input must have the layer's number of dimensions."""

    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        unbatched = len(self.padding) // 2 + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise ValueError(f"expected {unbatched}D or {unbatched + 1}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pad (N, C, W) or (C, W) with values from the other end.

    >>> import pellucid as torch
    >>> torch.nn.CircularPad1d(2)(torch.arange(4.0).view(1, 1, 4))
    tensor([[[2., 3., 0., 1., 2., 3., 0., 1.]]])
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class CircularPad2d(_CircularPadNd):
    """Pad (N, C, H, W) or (C, H, W) with values from the other side.

    >>> import pellucid as torch
    >>> torch.nn.CircularPad2d((1, 1, 2, 0))(torch.ones(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class CircularPad3d(_CircularPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with values from the other side.

    >>> import pellucid as torch
    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 1, 2, 3, 4)).shape
    torch.Size([1, 1, 4, 5, 6])
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ConstantPadNd(_PadNd):
    """Padding with one value."""

    __constants__ = ["padding", "value"]
    _mode = "constant"
    value: float

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad the last dimension with `value`; negative amounts cut off.

    >>> import pellucid as torch
    >>> torch.nn.ConstantPad1d((1, 2), 3.5)(torch.zeros(1, 1, 2))
    tensor([[[3.5000, 0.0000, 0.0000, 3.5000, 3.5000]]])
    """

    def __init__(self, padding: _size_2_t, value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Pad the last two dimensions with `value`.

    >>> import pellucid as torch
    >>> torch.nn.ConstantPad2d((3, 0, 2, 1), 3.5)(torch.zeros(1, 2, 2)).shape
    torch.Size([1, 5, 5])
    """

    def __init__(self, padding: _size_4_t, value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Pad the last three dimensions with `value`.

    >>> import pellucid as torch
    >>> torch.nn.ConstantPad3d(1, 3.5)(torch.zeros(1, 2, 3, 4)).shape
    torch.Size([1, 4, 5, 6])
    """

    def __init__(self, padding: _size_6_t, value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class _ReflectionPadNd(_PadNd):
    """Padding with the mirror image; the edge itself is not repeated."""

    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pad (N, C, W) or (C, W) with its mirror image; amounts are smaller than W.

    >>> import pellucid as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.arange(4.0).view(1, 1, 4))
    tensor([[[2., 1., 0., 1., 2., 3., 2., 1.]]])
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Pad (N, C, H, W) or (C, H, W) with its mirror image.

    >>> import pellucid as torch
    >>> torch.nn.ReflectionPad2d(2)(torch.ones(1, 1, 3, 3)).shape
    torch.Size([1, 1, 7, 7])
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with its mirror image.

    >>> import pellucid as torch
    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 4, 4, 4])
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(_PadNd):
    """Padding with the nearest edge value."""

    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pad (N, C, W) or (C, W) with its end values.

    >>> import pellucid as torch
    >>> torch.nn.ReplicationPad1d((3, 1))(torch.arange(2.0).view(1, 1, 2))
    tensor([[[0., 0., 0., 0., 1., 1.]]])
    """

    def __init__(self, padding: _size_2_t) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Pad (N, C, H, W) or (C, H, W) with its edge values.

    >>> import pellucid as torch
    >>> torch.nn.ReplicationPad2d((1, 1, 2, 0))(torch.ones(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """

    def __init__(self, padding: _size_4_t) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with its edge values.

    >>> import pellucid as torch
    >>> torch.nn.ReplicationPad3d(3)(torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 8, 8, 8])
    """

    def __init__(self, padding: _size_6_t) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ZeroPad(_ConstantPadNd):
    """Zero padding prints only its amounts."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)  # type: ignore[call-arg]

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pad the last dimension with zeros.

    >>> import pellucid as torch
    >>> torch.nn.ZeroPad1d((1, 2))(torch.ones(1, 1, 2))
    tensor([[[0., 1., 1., 0., 0.]]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pad the last two dimensions with zeros.

    >>> import pellucid as torch
    >>> torch.nn.ZeroPad2d((1, 1, 2, 0))(torch.ones(1, 1, 3, 3)).shape
    torch.Size([1, 1, 5, 5])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pad the last three dimensions with zeros.

    >>> import pellucid as torch
    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 1, 2, 3, 4)).shape
    torch.Size([1, 1, 4, 5, 6])
    """
