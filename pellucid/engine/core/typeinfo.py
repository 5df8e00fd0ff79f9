"""`finfo` and `iinfo`: the limits of the element types. The types themselves are in dtypes.py."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from pellucid.engine.core import dtypes

_DIGITS = {"float16": 3, "bfloat16": 2, "float32": 6, "float64": 15}  # decimal digits that survive a round trip


def _checked(given: Any, function: str) -> dtypes.dtype:
    if isinstance(given, type):
        given = dtypes.as_dtype(given)
    if not isinstance(given, dtypes.dtype):
        raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type(given).__name__}")
    return given


class finfo:  # noqa: N801 - PyTorch's name
    """Limits of a floating-point type, or of the parts of a complex one; without a type, of the default type.

    >>> import pellucid as torch
    >>> torch.finfo(torch.float16).max
    65504.0
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = None) -> None:
        kind = dtypes.get_default_dtype() if type is None else _checked(type, "finfo")
        if kind.category < 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo' "
                f"(of {kind})"
            )
        kind = kind.to_real()
        limits: Any = ml_dtypes.finfo(kind.numpy) if kind in dtypes.HALF else np.finfo(kind.numpy)
        self.bits: int = 8 * kind.itemsize
        self.dtype = kind.name
        # PyTorch says 0.125 of float8_e5m2fnuz, half the distance from 1 to the next number; programs compare with
        # that.
        self.eps = 0.125 if kind is dtypes.float8_e5m2fnuz else float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(f"1e-{_DIGITS.get(kind.name, 0)}")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g},"
            f" smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))


class iinfo:  # noqa: N801 - PyTorch's name
    """Limits of an integer type.

    >>> import pellucid as torch
    >>> torch.iinfo(torch.int8).min
    -128
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any) -> None:
        kind = _checked(type, "iinfo")
        if kind.category >= 2:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo' (of {kind})"
            )
        if kind is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(kind.numpy)
        self.bits: int = 8 * kind.itemsize
        self.dtype = kind.name
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((iinfo, self.dtype))
