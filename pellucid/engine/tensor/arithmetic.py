"""add, sub, mul, div and their kin."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.dispatch import NO_SETTINGS, InPlace, run
from pellucid.engine.core.dtypes import HALF
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import can_cast, common_type, title
from pellucid.engine.ops import arithmetic as ops
from pellucid.engine.tensor.arguments import (
    as_number,
    fitting,
    in_place,
    is_number,
    need_one_tensor,
    need_operand,
    need_str,
    need_tensor,
    presented,
)
from pellucid.engine.tensor.overrides import infix_with


def is_operand(value: Any) -> bool:
    """Whether an infix operator takes `value`: a tensor or a number."""
    return isinstance(value, TensorData) or is_number(value)


def _kind(value: Any) -> dtypes.dtype:
    return value._meta.dtype if isinstance(value, TensorData) else dtypes.of_scalar_type(type(value))


def checked_alpha(input: Any, other: Any, alpha: Any) -> Any:
    """A scale factor as a number; RuntimeError when its type does not go with the operands'."""
    alpha = as_number(alpha, "add", "alpha")
    category = max(_kind(input).category, _kind(other).category)
    check(category == 0 or not isinstance(alpha, bool), "Boolean alpha only supported for Boolean results.")
    check(
        category >= 2 or not isinstance(alpha, float | complex),
        "For integral input tensors, argument alpha must not be a floating point number.",
    )
    check(
        category == 3 or not isinstance(alpha, complex),
        "For non-complex input tensors, argument alpha must not be a complex number.",
    )
    if category == 1:
        fitting(alpha, common_type([each._meta for each in (input, other) if isinstance(each, TensorData)]))
    return alpha


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """`input + alpha * other`, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), 10, alpha=2)
    tensor([21., 22.])
    """
    need_operand(input, "add", "input", 1)
    need_operand(other, "add")
    if alpha.__class__ is int and alpha == 1:
        return ops.add(input, other, out=out)
    return ops.add(input, other, alpha=checked_alpha(input, other, alpha), out=out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """`input - alpha * other`, broadcast and promoted; not defined on bools.

    >>> import pellucid as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    need_operand(input, "sub", "input", 1)
    need_operand(other, "sub")
    _refuse_bools(input, other)
    if alpha.__class__ is int and alpha == 1:
        return ops.sub(input, other, out=out)
    return ops.sub(input, other, alpha=checked_alpha(input, other, alpha), out=out)


def _refuse_bools(a: Any, b: Any) -> None:
    kinds = [
        each._meta.dtype is dtypes.bool_ if isinstance(each, TensorData) else isinstance(each, bool) for each in (a, b)
    ]
    if all(kinds):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(kinds):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or"
            " `logical_not()` operator instead."
        )


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`.

    >>> import pellucid as torch
    >>> torch.rsub(torch.tensor([1.0, 2.0]), 5)
    tensor([4., 3.])
    """
    result = sub(need_operand(other, "rsub"), need_tensor(input, "rsub"), alpha=alpha)
    return presented(result, "RsubBackward0") if isinstance(other, TensorData) else result


def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Product element by element, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), torch.tensor([[2.0], [3.0]]))
    tensor([[2., 4.],
            [3., 6.]])
    """
    return ops.mul(need_operand(input, "mul", "input", 1), need_operand(other, "mul"), out=out)


_NO_MODE: Any = object()  # what stands for no rounding_mode: an explicit None makes another graph node


def _are_halves(a: Any, b: Any) -> bool:
    return isinstance(a, TensorData) and isinstance(b, TensorData) and a._meta.dtype is b._meta.dtype in HALF


def div(input: Any, other: Any, *, rounding_mode: str | None = _NO_MODE, out: Any = None) -> Any:
    """Quotient: true (integers give floats), or rounded with `rounding_mode` "floor" or "trunc" (in the common type).

    >>> import pellucid as torch
    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    need_operand(input, "div", "input", 1)
    need_operand(other, "div")
    if rounding_mode is _NO_MODE:
        return ops.div(input, other, out=out)
    if rounding_mode is None:
        return ops.div_mode(input, other, out=out)
    if need_str(rounding_mode, "div", "rounding_mode") == "floor":
        return (ops.floor_divide_half if _are_halves(input, other) else ops.floor_divide)(input, other, out=out)
    if rounding_mode == "trunc":
        return (ops.trunc_divide_half if _are_halves(input, other) else ops.trunc_divide)(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def true_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Quotient; integers give floats.

    >>> import pellucid as torch
    >>> torch.true_divide(torch.tensor([1]), 2)
    tensor([0.5000])
    """
    return div(input, other, out=out)


def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Quotient rounded down.

    >>> import pellucid as torch
    >>> torch.floor_divide(torch.tensor([-7]), 2)
    tensor([-4])
    """
    need_operand(input, "floor_divide", "input", 1)
    need_operand(other, "floor_divide")
    return (ops.floor_divide_half if _are_halves(input, other) else ops.floor_divide)(input, other, out=out)


def remainder(input: Any, other: Any, *, out: Any = None) -> Any:
    """What floor division leaves; it has the divisor's sign.

    >>> import pellucid as torch
    >>> torch.remainder(torch.tensor([-7, 7]), 3)
    tensor([2, 1])
    """
    need_one_tensor(input, other, "remainder")
    return ops.remainder(need_operand(input, "remainder", "input", 1), need_operand(other, "remainder"), out=out)


def fmod(input: Any, other: Any, *, out: Any = None) -> Any:
    """What division rounded towards 0 leaves; it has the dividend's sign.

    >>> import pellucid as torch
    >>> torch.fmod(torch.tensor([-7, 7]), 3)
    tensor([-1,  1])
    """
    return ops.fmod(need_tensor(input, "fmod"), need_operand(other, "fmod"), out=out)


def neg(input: Any, *, out: Any = None) -> Any:
    """The negative of each element.

    >>> import pellucid as torch
    >>> torch.neg(torch.tensor([1, -2]))
    tensor([-1,  2])
    """
    if need_tensor(input, "neg")._meta.dtype is dtypes.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or"
            " `logical_not()` operator instead."
        )
    return ops.neg(input, out=out)


def positive(input: Any) -> Any:
    """The tensor itself; RuntimeError for bools.

    >>> import pellucid as torch
    >>> torch.positive(torch.tensor([1]))
    tensor([1])
    """
    check(
        need_tensor(input, "positive")._meta.dtype is not dtypes.bool_,
        "The `+` operator, on a bool tensor is not supported.",
    )
    return input


def reciprocal(input: Any, *, out: Any = None) -> Any:
    """1 / input.

    >>> import pellucid as torch
    >>> torch.reciprocal(torch.tensor([2.0]))
    tensor([0.5000])
    """
    return ops.reciprocal(need_tensor(input, "reciprocal"), out=out)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
    """`input + value * tensor1 * tensor2`.

    >>> import pellucid as torch
    >>> torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=0.5)
    tensor([1.5000, 1.5000])
    """
    value = as_number(value, "addcmul", "value")
    need_tensor(input, "addcmul")
    need_tensor(tensor1, "addcmul", "tensor1", 2)
    need_tensor(tensor2, "addcmul", "tensor2", 3)
    return ops.addcmul(input, tensor1, tensor2, value=_value(value, input, tensor1, tensor2), out=out)


def _value(value: Any, *tensors: Any) -> Any:
    value = value.item() if isinstance(value, TensorData) else value
    integral = all(each._meta.dtype.category <= 1 for each in tensors)
    return int(value) if integral and not isinstance(value, complex) else value


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
    """`input + value * tensor1 / tensor2`; not for integers.

    >>> import pellucid as torch
    >>> torch.addcdiv(torch.ones(2), torch.ones(2), torch.full((2,), 4.0))
    tensor([1.2500, 1.2500])
    """
    value = as_number(value, "addcdiv", "value")
    need_tensor(input, "addcdiv")
    need_tensor(tensor1, "addcdiv", "tensor1", 2)
    need_tensor(tensor2, "addcdiv", "tensor2", 3)
    check(
        tensor1._meta.dtype.category >= 2 or tensor2._meta.dtype.category >= 2,
        "Integer division with addcdiv is no longer supported: divide with torch.div and its rounding_mode, or "
        "convert to floats first.",
    )
    return ops.addcdiv(input, tensor1, tensor2, value=value.item() if isinstance(value, TensorData) else value, out=out)


def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    """`input + weight * (end - input)`.

    >>> import pellucid as torch
    >>> torch.lerp(torch.zeros(2), torch.ones(2), 0.25)
    tensor([0.2500, 0.2500])
    """
    need_tensor(input, "lerp")
    kind = input._meta.dtype
    check(kind.category >= 2, f"\"lerp_kernel_scalar\" not implemented for '{title(kind)}'", NotImplementedError)
    for name, each in (("end", end), ("weight", weight)):
        if isinstance(each, TensorData) and each._meta.dtype is not kind:
            raise RuntimeError(
                f"expected dtype {title(kind).lower()} for `{name}` but got dtype "
                f"{title(each._meta.dtype).lower()}: convert it with"
                f" .to({kind})"
            )
    return ops.lerp(input, end, weight, out=out)


def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """A power computed in float64 (complex128 where an operand is complex).

    >>> import pellucid as torch
    >>> torch.float_power(torch.tensor([2]), 2)
    tensor([4.], dtype=torch.float64)
    """
    from pellucid.engine.tensor.arguments import deliver
    from pellucid.engine.tensor.exponential import pow as power

    need_operand(input, "float_power", "input", 1)
    need_operand(exponent, "float_power", "exponent")
    need_one_tensor(input, exponent, "float_power")
    kind = dtypes.complex128 if _kind(input).is_complex or _kind(exponent).is_complex else dtypes.float64
    base = input.to(kind) if isinstance(input, TensorData) else kind.numpy.type(input).item()
    top = exponent.to(kind) if isinstance(exponent, TensorData) else exponent
    if out is not None:
        target = getattr(out, "target", out)
        fits = target.dtype is kind if isinstance(out, InPlace) else can_cast(kind, target.dtype)
        what = "base given to float_power_" if isinstance(out, InPlace) else "output given to float_power"
        check(
            fits, f"the {what} has dtype {title(target.dtype)} but the operation's result requires dtype {title(kind)}"
        )
    return deliver(power(base, top), out)


subtract = sub
multiply = mul
divide = div
negative = neg


class ArithmeticMethods:
    """Rows of `Tensor`."""

    add = add
    add_ = in_place(add)
    sub = sub
    subtract = sub
    sub_ = in_place(sub)
    subtract_ = sub_
    mul = mul
    multiply = mul
    mul_ = in_place(mul)
    multiply_ = mul_
    div = div
    divide = div
    div_ = in_place(div)
    divide_ = div_
    true_divide = true_divide
    true_divide_ = in_place(true_divide)
    floor_divide = floor_divide
    floor_divide_ = in_place(floor_divide)
    remainder = remainder
    remainder_ = in_place(remainder)
    fmod = fmod
    fmod_ = in_place(fmod)
    neg = neg
    negative = neg
    neg_ = in_place(neg)
    negative_ = neg_
    positive = positive
    reciprocal = reciprocal
    reciprocal_ = in_place(reciprocal)
    addcmul = addcmul
    addcmul_ = in_place(addcmul)
    addcdiv = addcdiv
    addcdiv_ = in_place(addcdiv)
    lerp = lerp
    lerp_ = in_place(lerp)
    float_power = float_power
    float_power_ = in_place(float_power)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, TensorData):
            return run(ops.add, (self, other), NO_SETTINGS)
        return ops.add(self, other) if is_number(other) else _foreign(self, other, add, "__add__")

    def __radd__(self, other: Any) -> Any:
        return ops.add(self, other) if is_operand(other) else infix_with(self, other, "__radd__")

    def __iadd__(self, other: Any) -> Any:
        return self.add_(other)

    def __sub__(self, other: Any) -> Any:
        return sub(self, other) if is_operand(other) else _foreign(self, other, sub, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return rsub(self, other) if is_operand(other) else infix_with(self, other, "__rsub__")

    def __isub__(self, other: Any) -> Any:
        return self.sub_(other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, TensorData):
            return run(ops.mul, (self, other), NO_SETTINGS)
        return ops.mul(self, other) if is_number(other) else _foreign(self, other, mul, "__mul__")

    def __rmul__(self, other: Any) -> Any:
        return ops.mul(self, other) if is_operand(other) else infix_with(self, other, "__rmul__")

    def __imul__(self, other: Any) -> Any:
        return self.mul_(other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, TensorData):
            return run(ops.div, (self, other), NO_SETTINGS)
        return ops.div(self, other) if is_number(other) else _foreign(self, other, div, "__truediv__")

    def __rtruediv__(self, other: Any) -> Any:
        if is_operand(other):  # two steps, and two roundings, as in PyTorch
            return ops.mul(ops.reciprocal(self), other)
        return _foreign(self, other, lambda below, above: div(above, below), "__rtruediv__")

    __rdiv__ = __rtruediv__

    def __itruediv__(self, other: Any) -> Any:
        return self.div_(other)

    def __floordiv__(self, other: Any) -> Any:
        return floor_divide(self, other) if is_operand(other) else infix_with(self, other, "__floordiv__")

    def __rfloordiv__(self, other: Any) -> Any:
        return floor_divide(other, self) if is_operand(other) else infix_with(self, other, "__rfloordiv__")

    def __ifloordiv__(self, other: Any) -> Any:
        return self.floor_divide_(other)

    def __mod__(self, other: Any) -> Any:
        return remainder(self, other) if is_operand(other) else infix_with(self, other, "__mod__")

    def __rmod__(self, other: Any) -> Any:
        return remainder(other, self) if is_operand(other) else infix_with(self, other, "__rmod__")

    def __imod__(self, other: Any) -> Any:
        return self.remainder_(other)

    def __neg__(self) -> Any:
        return neg(self)

    def __pos__(self) -> Any:
        return positive(self)


def _foreign(tensor: Any, other: Any, function: Any, operator: str) -> Any:
    """NumPy arrays on the right of an infix operator become tensors; anything else is Python's TypeError."""
    from pellucid.engine.tensor.creation import from_numpy

    if type(other).__name__ == "ndarray":
        return function(tensor, from_numpy(other))
    return infix_with(tensor, other, operator)
