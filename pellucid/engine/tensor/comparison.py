"""Comparisons, extremes of pairs, clamping and selection."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import common_type, title
from pellucid.engine.ops import comparison as ops
from pellucid.engine.tensor.arguments import (
    as_bool,
    as_float,
    binary_of_tensors,
    fitting,
    in_place,
    is_number,
    need_operand,
    need_tensor,
    tensor_and_operand,
    unary,
)
from pellucid.engine.tensor.overrides import infix_with

eq = tensor_and_operand(
    ops.eq, "eq", "Whether the elements are equal.", "torch.eq(torch.tensor([1, 2]), 2)\n    tensor([False,  True])"
)
ne = tensor_and_operand(
    ops.ne, "ne", "Whether the elements differ.", "torch.ne(torch.tensor([1, 2]), 2)\n    tensor([ True, False])"
)
lt = tensor_and_operand(
    ops.lt, "lt", "Whether input < other.", "torch.lt(torch.tensor([1, 2]), 2)\n    tensor([ True, False])"
)
le = tensor_and_operand(
    ops.le, "le", "Whether input <= other.", "torch.le(torch.tensor([1, 2]), 1)\n    tensor([ True, False])"
)
gt = tensor_and_operand(
    ops.gt, "gt", "Whether input > other.", "torch.gt(torch.tensor([1, 2]), 1)\n    tensor([False,  True])"
)
ge = tensor_and_operand(
    ops.ge, "ge", "Whether input >= other.", "torch.ge(torch.tensor([1, 2]), 2)\n    tensor([False,  True])"
)
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge
maximum = binary_of_tensors(
    ops.maximum,
    "maximum",
    "The larger of each pair; a NaN wins.",
    "torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))\n    tensor([3, 5])",
)
minimum = binary_of_tensors(
    ops.minimum,
    "minimum",
    "The smaller of each pair; a NaN wins.",
    "torch.minimum(torch.tensor([1, 5]), torch.tensor([3, 2]))\n    tensor([1, 2])",
)
fmax = binary_of_tensors(ops.fmax, "fmax", "The larger of each pair; a number wins over a NaN.")
fmin = binary_of_tensors(ops.fmin, "fmin", "The smaller of each pair; a number wins over a NaN.")
logical_and = binary_of_tensors(ops.logical_and, "logical_and", "Whether both elements are true (not 0).")
logical_or = binary_of_tensors(ops.logical_or, "logical_or", "Whether one of the elements is true (not 0).")
logical_xor = binary_of_tensors(ops.logical_xor, "logical_xor", "Whether exactly one of the elements is true (not 0).")
logical_not = unary(ops.logical_not, "logical_not", "Whether each element is false (0).")
isnan = unary(
    ops.isnan,
    "isnan",
    "Whether each element is a NaN.",
    "torch.isnan(torch.tensor([1.0, float('nan')]))\n    tensor([False,  True])",
)
isinf = unary(ops.isinf, "isinf", "Whether each element is an infinity.")
isfinite = unary(ops.isfinite, "isfinite", "Whether each element is neither an infinity nor a NaN.")
isposinf = unary(ops.isposinf, "isposinf", "Whether each element is +inf.")
isneginf = unary(ops.isneginf, "isneginf", "Whether each element is -inf.")
signbit = unary(ops.signbit, "signbit", "Whether each element's sign is negative, -0.0 included.")


def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and equal elements.

    >>> import pellucid as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    need_tensor(input, "equal")
    need_tensor(other, "equal", "other", 2)
    check(
        input._meta.dtype is other._meta.dtype,
        f"Expected object of data type {input.dtype} but got data type {other.dtype} for argument 'other'",
    )
    return input._meta.shape == other._meta.shape and bool(ops.eq(input, other).all().item())


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |input - other| <= atol + rtol * |other|; infinities are close to themselves.

    >>> import pellucid as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    rtol = as_float(rtol, "isclose", "rtol", 3)
    atol = as_float(atol, "isclose", "atol", 4)
    as_bool(equal_nan, "isclose", "equal_nan", 5)
    need_tensor(input, "isclose"), need_tensor(other, "isclose", "other", 2)
    check(input._meta.dtype is other._meta.dtype, f"{title(input.dtype)} did not match {title(other.dtype)}")
    check(rtol >= 0, f"rtol must be greater than or equal to zero, but got {rtol}")
    check(atol >= 0, f"atol must be greater than or equal to zero, but got {atol}")
    close = ops.eq(input, other)
    if equal_nan and input._meta.dtype.category >= 2:
        close = ops.logical_or(close, ops.logical_and(ops.isnan(input), ops.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if input._meta.dtype.category <= 1:
        input, other = input.to(dtypes.get_default_dtype()), other.to(dtypes.get_default_dtype())
    allowed = atol + (rtol * other).abs()
    error = (input - other).abs()
    return ops.logical_or(close, ops.logical_and(ops.isfinite(error), ops.le(error, allowed)))


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close (see `isclose`).

    >>> import pellucid as torch
    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    rtol = as_float(rtol, "allclose", "rtol", 3)
    atol = as_float(atol, "allclose", "atol", 4)
    as_bool(equal_nan, "allclose", "equal_nan", 5)
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; with the condition alone, the positions where it holds.

    >>> import pellucid as torch
    >>> torch.where(torch.tensor([True, False]), 1.0, torch.tensor([3.0, 4.0]))
    tensor([1., 4.])
    """
    need_tensor(condition, "where", "condition")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    need = need_operand if out is None else need_tensor
    need(input, "where", "input", 2)
    need(other, "where", "other", 3)
    check(
        condition._meta.dtype in (dtypes.bool_, dtypes.uint8),
        f"where expected condition to be a boolean tensor, but got a tensor with dtype {title(condition._meta.dtype)}",
    )
    if condition._meta.dtype is dtypes.uint8:
        condition = condition.bool()
    if out is not None:
        wanted = common_type([input._meta, other._meta])
        check(out._meta.dtype is wanted, f"Expected out type to be {title(wanted)} but got {title(out._meta.dtype)}")
    return ops.where(condition, input, other, out=out)


def _where_method(self: Any, condition: Any, other: Any) -> Any:
    """The tensor where the condition holds, `other` elsewhere."""
    return where(condition, self, other)


def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Elements kept between `min` and `max`, numbers or tensors; where min > max, max.

    >>> import pellucid as torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    need_tensor(input, "clamp")
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")
    if (
        min is not None and max is not None and isinstance(min, TensorData) != isinstance(max, TensorData)
    ):  # beside a number, a zero-dim tensor is a number
        min, max = (
            each.item() if isinstance(each, TensorData) and not each._meta.ndim else each for each in (min, max)
        )
    tensors = [isinstance(each, TensorData) for each in (min, max) if each is not None]
    if 0 < sum(tensors) < len(tensors):
        raise TypeError(
            "clamp() received an invalid combination of arguments: min and max must both be tensors or both be numbers"
        )
    check(not input._meta.dtype.is_complex, "clamp is not supported for complex types")
    for each in (min, max):
        _fitting_bound(input, each)
    return ops.clamp(input, min, max, node=f"ClampBackward{int(not any(tensors))}", out=out)


def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """Elements not below `min`.

    >>> import pellucid as torch
    >>> torch.clamp_min(torch.tensor([-1.0, 2.0]), 0)
    tensor([0., 2.])
    """
    return _clamp_one_side(input, min, None, "ClampMin", out)


def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """Elements not above `max`.

    >>> import pellucid as torch
    >>> torch.clamp_max(torch.tensor([-1.0, 2.0]), 0)
    tensor([-1.,  0.])
    """
    return _clamp_one_side(input, None, max, "ClampMax", out)


def _fitting_bound(input: Any, bound: Any) -> None:
    if isinstance(bound, int | float) and dtypes.of_scalar_type(type(bound)).category <= input._meta.dtype.category:
        fitting(bound, input._meta.dtype)


def _clamp_one_side(input: Any, low: Any, high: Any, name: str, out: Any) -> Any:
    need_tensor(input, name.lower().replace("clamp", "clamp_"))
    bound = high if low is None else low
    need_operand(bound, name.lower().replace("clamp", "clamp_"), "min" if high is None else "max")
    check(not input._meta.dtype.is_complex, "clamp is not supported for complex types")
    _fitting_bound(input, bound)
    return ops.clamp(input, low, high, node=f"{name}Backward{int(isinstance(bound, TensorData))}", out=out)


clip = clamp


def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *, out: Any = None
) -> Any:
    """NaN replaced by 0 (or `nan`), infinities by the largest finite values (or the ones given).

    >>> import pellucid as torch
    >>> torch.nan_to_num(torch.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    if nan is not None:
        nan = as_float(nan, "nan_to_num", "nan", 2)
    if posinf is not None:
        posinf = as_float(posinf, "nan_to_num", "posinf", 3)
    if neginf is not None:
        neginf = as_float(neginf, "nan_to_num", "neginf", 4)
    return ops.nan_to_num(
        need_tensor(input, "nan_to_num"), nan=nan if nan is not None else 0.0, posinf=posinf, neginf=neginf, out=out
    )


def isreal(input: Any) -> Any:
    """Whether each element has no imaginary part.

    >>> import pellucid as torch
    >>> torch.isreal(torch.tensor([1 + 1j, 2]))
    tensor([False,  True])
    """
    need_tensor(input, "isreal")
    return (
        input.imag == 0
        if input._meta.dtype.is_complex
        else ops.eq(ops.where(ops.isnan(input), 0, input), ops.where(ops.isnan(input), 0, input))
    )


class ComparisonMethods:
    """Rows of `Tensor`."""

    eq = eq
    eq_ = in_place(eq)
    ne = ne
    ne_ = in_place(ne)
    not_equal = ne
    not_equal_ = ne_
    lt = lt
    lt_ = in_place(lt)
    less = lt
    less_ = lt_
    le = le
    le_ = in_place(le)
    less_equal = le
    less_equal_ = le_
    gt = gt
    gt_ = in_place(gt)
    greater = gt
    greater_ = gt_
    ge = ge
    ge_ = in_place(ge)
    greater_equal = ge
    greater_equal_ = ge_
    equal = equal
    isclose = isclose
    allclose = allclose
    maximum = maximum
    minimum = minimum
    fmax = fmax
    fmin = fmin
    logical_and = logical_and
    logical_and_ = in_place(logical_and)
    logical_or = logical_or
    logical_or_ = in_place(logical_or)
    logical_xor = logical_xor
    logical_xor_ = in_place(logical_xor)
    logical_not = logical_not
    logical_not_ = in_place(logical_not)
    isnan = isnan
    isinf = isinf
    isfinite = isfinite
    isposinf = isposinf
    isneginf = isneginf
    isreal = isreal
    signbit = signbit
    where = _where_method
    clamp = clamp
    clamp_ = in_place(clamp)
    clip = clamp
    clip_ = clamp_
    clamp_min = clamp_min
    clamp_min_ = in_place(clamp_min)
    clamp_max = clamp_max
    clamp_max_ = in_place(clamp_max)
    nan_to_num = nan_to_num
    nan_to_num_ = in_place(nan_to_num)

    def __eq__(self, other: object) -> Any:
        return (
            ops.eq(self, other)
            if isinstance(other, TensorData) or is_number(other)
            else _foreign_comparison(self, other, ops.eq)
        )

    def __ne__(self, other: object) -> Any:
        return (
            ops.ne(self, other)
            if isinstance(other, TensorData) or is_number(other)
            else _foreign_comparison(self, other, ops.ne)
        )

    def __lt__(self, other: Any) -> Any:
        return (
            ops.lt(self, other)
            if isinstance(other, TensorData) or is_number(other)
            else _foreign_comparison(self, other, ops.lt)
        )

    def __le__(self, other: Any) -> Any:
        return (
            ops.le(self, other)
            if isinstance(other, TensorData) or is_number(other)
            else _foreign_comparison(self, other, ops.le)
        )

    def __gt__(self, other: Any) -> Any:
        return (
            ops.gt(self, other)
            if isinstance(other, TensorData) or is_number(other)
            else _foreign_comparison(self, other, ops.gt)
        )

    def __ge__(self, other: Any) -> Any:
        return (
            ops.ge(self, other)
            if isinstance(other, TensorData) or is_number(other)
            else _foreign_comparison(self, other, ops.ge)
        )

    __hash__ = object.__hash__


def _foreign_comparison(tensor: Any, other: Any, operator: Any) -> Any:
    from pellucid.engine.tensor.creation import from_numpy

    if type(other).__name__ == "ndarray" and operator.name in ("eq", "ne"):  # the others are Python's TypeError
        return operator(tensor, from_numpy(other))
    return infix_with(tensor, other, f"__{operator.name}__")
