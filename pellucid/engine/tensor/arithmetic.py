"""add, sub, mul, div and their kin."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.ops import arithmetic as ops
from pellucid.engine.tensor.arguments import in_place, is_number, need_operand


def _scaled(other: Any, alpha: Any) -> Any:
    if alpha == 1:
        return other
    return other * alpha if is_number(other) else ops.mul(other, alpha)


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """`input + alpha * other`, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), 10, alpha=2)
    tensor([21., 22.])
    """
    need_operand(input, "add", "input", 1)
    need_operand(other, "add")
    return ops.add(input, other if alpha == 1 else _scaled(other, alpha), out=out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """`input - alpha * other`, broadcast and promoted; not defined on bools.

    >>> import pellucid as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    need_operand(input, "sub", "input", 1)
    need_operand(other, "sub")
    return ops.sub(input, other if alpha == 1 else _scaled(other, alpha), out=out)


def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Product element by element, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), torch.tensor([[2.0], [3.0]]))
    tensor([[2., 4.],
            [3., 6.]])
    """
    return ops.mul(need_operand(input, "mul", "input", 1), need_operand(other, "mul"), out=out)


def neg(input: Any, *, out: Any = None) -> Any:
    """The negative of each element.

    >>> import pellucid as torch
    >>> torch.neg(torch.tensor([1, -2]))
    tensor([-1,  2])
    """
    if input._meta.dtype is dtypes.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or"
            " `logical_not()` operator instead."
        )
    return ops.neg(input, out=out)


subtract = sub
multiply = mul
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
    neg = neg
    negative = neg
    neg_ = in_place(neg)
    negative_ = neg_

    def __add__(self, other: Any) -> Any:
        return ops.add(self, other) if is_operand(other) else NotImplemented

    __radd__ = __add__

    def __iadd__(self, other: Any) -> Any:
        return self.add_(other)

    def __sub__(self, other: Any) -> Any:
        return sub(self, other) if is_operand(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return sub(other, self) if is_operand(other) else NotImplemented

    def __isub__(self, other: Any) -> Any:
        return self.sub_(other)

    def __mul__(self, other: Any) -> Any:
        return ops.mul(self, other) if is_operand(other) else NotImplemented

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Any:
        return self.mul_(other)

    def __neg__(self) -> Any:
        return neg(self)


def is_operand(value: Any) -> bool:
    """Whether an infix operator takes `value`: a tensor or a number."""
    return hasattr(value, "_meta") or is_number(value)
