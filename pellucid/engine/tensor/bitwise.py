"""Bits and truth values: &, |, ^, ~, << and >>."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.ops import bitwise as ops
from pellucid.engine.tensor.arguments import binary, binary_of_tensors, in_place, is_number, unary
from pellucid.engine.tensor.overrides import infix_with

bitwise_and = binary(
    ops.bitwise_and, "bitwise_and", "Bits that both have.", "torch.bitwise_and(torch.tensor([6]), 3)\n    tensor([2])"
)
bitwise_or = binary(
    ops.bitwise_or, "bitwise_or", "Bits that one has.", "torch.bitwise_or(torch.tensor([6]), 3)\n    tensor([7])"
)
bitwise_xor = binary(
    ops.bitwise_xor,
    "bitwise_xor",
    "Bits that exactly one has.",
    "torch.bitwise_xor(torch.tensor([6]), 3)\n    tensor([5])",
)
bitwise_not = unary(
    ops.bitwise_not, "bitwise_not", "All bits turned.", "torch.bitwise_not(torch.tensor([True]))\n    tensor([False])"
)
bitwise_left_shift = binary(
    ops.shift_left,
    "bitwise_left_shift",
    "Bits moved up.",
    "torch.bitwise_left_shift(torch.tensor([1]), 3)\n    tensor([8])",
)
bitwise_right_shift = binary(ops.shift_right, "bitwise_right_shift", "Bits moved down, the sign kept.")
gcd = binary_of_tensors(
    ops.gcd, "gcd", "Greatest common divisor.", "torch.gcd(torch.tensor([12]), 18)\n    tensor([6])"
)
lcm = binary_of_tensors(ops.lcm, "lcm", "Least common multiple.", "torch.lcm(torch.tensor([4]), 6)\n    tensor([12])")


def _fits(value: Any) -> bool:
    return isinstance(value, TensorData) or is_number(value)


class BitwiseMethods:
    """Rows of `Tensor`."""

    bitwise_and = bitwise_and
    bitwise_and_ = in_place(bitwise_and)
    bitwise_or = bitwise_or
    bitwise_or_ = in_place(bitwise_or)
    bitwise_xor = bitwise_xor
    bitwise_xor_ = in_place(bitwise_xor)
    bitwise_not = bitwise_not
    bitwise_not_ = in_place(bitwise_not)
    bitwise_left_shift = bitwise_left_shift
    bitwise_left_shift_ = in_place(bitwise_left_shift)
    bitwise_right_shift = bitwise_right_shift
    bitwise_right_shift_ = in_place(bitwise_right_shift)
    gcd = gcd
    gcd_ = in_place(gcd)
    lcm = lcm
    lcm_ = in_place(lcm)

    def __and__(self, other: Any) -> Any:
        return bitwise_and(self, other) if _fits(other) else infix_with(self, other, "__and__")

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return bitwise_or(self, other) if _fits(other) else infix_with(self, other, "__or__")

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return bitwise_xor(self, other) if _fits(other) else infix_with(self, other, "__xor__")

    __rxor__ = __xor__

    def __invert__(self: Any) -> Any:
        check(
            self._meta.dtype.category < 2,
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
            TypeError,
        )
        return bitwise_not(self)

    def __lshift__(self, other: Any) -> Any:
        return bitwise_left_shift(self, other) if _fits(other) else infix_with(self, other, "__lshift__")

    def __rlshift__(self, other: Any) -> Any:
        return bitwise_left_shift(other, self) if _fits(other) else infix_with(self, other, "__rlshift__")

    def __rshift__(self, other: Any) -> Any:
        return bitwise_right_shift(self, other) if _fits(other) else infix_with(self, other, "__rshift__")

    def __rrshift__(self, other: Any) -> Any:
        return bitwise_right_shift(other, self) if _fits(other) else infix_with(self, other, "__rrshift__")

    def __iand__(self, other: Any) -> Any:
        return self.bitwise_and_(other)

    def __ior__(self, other: Any) -> Any:
        return self.bitwise_or_(other)

    def __ixor__(self, other: Any) -> Any:
        return self.bitwise_xor_(other)

    def __ilshift__(self, other: Any) -> Any:
        return self.bitwise_left_shift_(other)

    def __irshift__(self, other: Any) -> Any:
        return self.bitwise_right_shift_(other)
