"""Type promotion: PyTorch's lattice of types, and its three categories of operands (tensors, zero-dim tensors, Python
numbers).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.dtypes import FLOAT8, dtype

_WIDE_UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)
_SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
_ORDER = {kind: rank for rank, kind in enumerate((dtypes.float16, dtypes.float32, dtypes.float64))}
_TITLES = {
    "bool": "Bool", "uint8": "Byte", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "int8": "Char",
    "int16": "Short",
    "int32": "Int", "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble", "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2fnuz": "Float8_e5m2fnuz", "float8_e8m0fnu": "Float8_e8m0fnu",
}  # fmt: skip


def title(of: dtype) -> str:
    """The C++ name that PyTorch's messages use, such as `Float` for float32."""
    return _TITLES[of.name]


def _need_dtypes(function: str, given: dict[str, object]) -> None:
    for position, (name, each) in enumerate(given.items(), 1):
        if not isinstance(each, dtype):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be torch.dtype, not {type(each).__name__}"
            )


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that holds both, by PyTorch's lattice; RuntimeError for float8 and for wide unsigned with other
    integers.

    >>> import pellucid as torch
    >>> torch.promote_types(torch.uint8, torch.int8)
    torch.int16
    """
    _need_dtypes("promote_types", {"type1": type1, "type2": type2})
    if type1 is type2:
        return type1
    if type1 in FLOAT8 or type2 in FLOAT8:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {title(type1)} and {title(type2)};"
            " convert one of them first, for example with .to(torch.float32)"
        )
    low, high = sorted((type1, type2), key=lambda each: each.category)
    if (low in _WIDE_UNSIGNED or high in _WIDE_UNSIGNED) and not high.is_floating_point:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote"
            f" {title(type1)} and {title(type2)}; convert one of them first, for example with .to(torch.int64)"
        )
    if low.category < high.category:
        if high.is_complex and low is dtypes.float64:
            return dtypes.complex128
        return high
    if high.category == 1:
        return _promote_integers(type1, type2)
    if high.category == 3:
        return dtypes.complex128
    if dtypes.bfloat16 in (type1, type2):
        other = type2 if type1 is dtypes.bfloat16 else type1
        return dtypes.float32 if other is dtypes.float16 else other
    return max(type1, type2, key=lambda each: _ORDER[each])


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if dtypes.uint8 in (a, b):
        other = b if a is dtypes.uint8 else a
        return dtypes.int16 if other is dtypes.int8 else other
    return a if a.itemsize > b.itemsize else b


def category_type(tensors: Iterable[dtype], zero_dim: Iterable[dtype], numbers: Iterable[type]) -> dtype:
    """The common type: tensors with dims decide, then zero-dim ones, then Python numbers, each only by a higher
    category.
    """
    with_dims = _promote_all(tensors)
    without = _promote_all(zero_dim)
    scalar = _promote_all(dtypes.of_scalar_type(kind) for kind in numbers)
    result = _combine(with_dims, _combine(without, scalar))
    if result is None:
        raise RuntimeError("result_type needs at least one tensor or number")
    return result


def _promote_all(kinds: Iterable[dtype]) -> dtype | None:
    result: dtype | None = None
    for kind in kinds:
        result = kind if result is None else promote_types(result, kind)
    return result


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if (higher in FLOAT8 and lower.is_complex) or (lower in FLOAT8 and higher.category < 2):
        return promote_types(higher, lower)  # which refuses
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if lower.category > 1:
        return lower
    return promote_types(higher, lower) if higher is dtypes.bool_ else higher


def common_type(operands: Iterable[Any]) -> dtype:
    """The type in which an operator on `operands` (metas, or the types of Python numbers) computes."""
    tensors, zero_dim, numbers = [], [], []
    for operand in operands:
        if isinstance(operand, type):
            numbers.append(operand)
        elif operand.ndim:
            tensors.append(operand.dtype)
        else:
            zero_dim.append(operand.dtype)
    return category_type(tensors, zero_dim, numbers)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of type `from_` may be written to a tensor of type `to`: never to a lower category.

    >>> import pellucid as torch
    >>> torch.can_cast(torch.float32, torch.int64)
    False
    """
    _need_dtypes("can_cast", {"from_": from_, "to": to})
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and to.category < 2:
        return False
    return not (from_ is not dtypes.bool_ and to is dtypes.bool_)


def is_signed_number(of: dtype) -> bool:
    """Whether values of the type may be negative."""
    return of in _SIGNED or of.category > 1
