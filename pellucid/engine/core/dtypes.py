"""Element types: PyTorch's `dtype` objects, their NumPy counterparts, and the default dtype. Promotion lives in
promotion.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


class dtype:  # noqa: N801 - PyTorch's name
    """An element type; there is one object per type, compared by identity."""

    __slots__ = (
        "_reduce",
        "bytes",
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
    )

    def __init__(self, name: str, numpy_type: Any, category: int, signed: bool) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.itemsize: int = self.numpy.itemsize
        self.category = category  # 0 bool, 1 integer, 2 floating point, 3 complex
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.is_signed = signed

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return by_name, (self.name,)

    def to_real(self) -> dtype:
        """The real type of a complex type's parts; any other type itself."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type."""
        return {float32: complex64, float64: complex128, float16: complex64, bfloat16: complex64}.get(self, self)


bool_ = dtype("bool", np.bool_, 0, False)
uint8 = dtype("uint8", np.uint8, 1, False)
uint16 = dtype("uint16", np.uint16, 1, False)
uint32 = dtype("uint32", np.uint32, 1, False)
uint64 = dtype("uint64", np.uint64, 1, False)
int8 = dtype("int8", np.int8, 1, True)
int16 = dtype("int16", np.int16, 1, True)
int32 = dtype("int32", np.int32, 1, True)
int64 = dtype("int64", np.int64, 1, True)
float16 = dtype("float16", np.float16, 2, True)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, 2, True)
float32 = dtype("float32", np.float32, 2, True)
float64 = dtype("float64", np.float64, 2, True)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, 2, True)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, 2, True)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, 2, True)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, 2, True)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, 2, False)
complex64 = dtype("complex64", np.complex64, 3, True)
complex128 = dtype("complex128", np.complex128, 3, True)

ALL: tuple[dtype, ...] = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64,
    float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, complex64, complex128,
)  # fmt: skip

_BY_NAME = {each.name: each for each in ALL}
_BY_NUMPY = {each.numpy: each for each in ALL}
FLOAT8 = frozenset({float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu})
HALF = frozenset({float16, bfloat16}) | FLOAT8


def by_name(name: str) -> dtype:
    """The dtype called `name`; what a pickled dtype calls when it is read."""
    return _BY_NAME[name]


def from_numpy_dtype(numpy_dtype: np.dtype) -> dtype:
    """The dtype with NumPy's `numpy_dtype` as its element; TypeError where PyTorch has none."""
    found = _BY_NUMPY.get(numpy_dtype)
    if found is None:
        native = numpy_dtype.newbyteorder("=")
        found = _BY_NUMPY.get(native) if native == numpy_dtype else None
    if found is None:
        names = (
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool"
        )
        raise TypeError(
            f"can't convert np.ndarray of type {numpy_dtype.type.__module__}.{numpy_dtype.type.__name__}"
            f" ({numpy_dtype}). The only supported types are: {names}. Convert it first, for example with "
            ".astype(np.float32)."
        )
    return found


class _Default:
    """The process-wide default floating type, set by `set_default_dtype`."""

    dtype = float32


def get_default_dtype() -> dtype:
    """The floating type that Python floats become; float32 until `set_default_dtype` changes it.

    >>> import pellucid as torch
    >>> torch.get_default_dtype()
    torch.float32
    """
    return _Default.dtype


def set_default_dtype(d: dtype) -> None:
    """Make `d` the type that Python floats become (and its complex type that of Python complex numbers).

    >>> import pellucid as torch
    >>> torch.set_default_dtype(torch.float64); torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {d!r} is not a dtype; pass one such as torch.float32")
    if not d.is_floating_point or d in FLOAT8:
        raise TypeError(f"only floating-point types are supported as the default type, not {d}")
    _Default.dtype = d


def of_scalar_type(kind: type) -> dtype:
    """The dtype of a Python or NumPy scalar type: bool, int64, the default dtype, or its complex type."""
    if kind is bool:
        return bool_
    if kind is int:
        return int64
    if kind is float:
        return _Default.dtype
    if issubclass(kind, np.generic):
        return of_scalar_type({"b": bool, "i": int, "u": int, "c": complex}.get(np.dtype(kind).kind, float))
    return _Default.dtype.to_complex()


_OF_PYTHON_TYPE = {bool: bool_, int: int64, float: float64, complex: complex128}


def as_dtype(given: Any) -> Any:
    """What a caller gave for dtype=: a dtype or None as it is, a Python number type as its widest dtype."""
    if given is None or type(given) is dtype:
        return given
    found = _OF_PYTHON_TYPE.get(given) if isinstance(given, type) else None
    if found is None:
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return found
