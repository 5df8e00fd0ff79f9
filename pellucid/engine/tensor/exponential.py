"""Powers, roots, exponentials, logarithms, rounding and signs."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.ops import exponential as ops
from pellucid.engine.tensor.arguments import (
    as_int,
    binary,
    binary_of_tensors,
    deliver,
    fitting,
    in_place,
    is_number,
    need_one_tensor,
    need_operand,
    need_tensor,
    unary,
)
from pellucid.engine.tensor.overrides import infix_with

exp = unary(ops.exp, "exp", "e to the power of each element.", "torch.exp(torch.tensor([0.0]))\n    tensor([1.])")
exp2 = unary(ops.exp2, "exp2", "2 to the power of each element.", "torch.exp2(torch.tensor([3.0]))\n    tensor([8.])")
expm1 = unary(
    ops.expm1, "expm1", "exp(input) - 1, exact for small values.", "torch.expm1(torch.tensor([0.0]))\n    tensor([0.])"
)
log = unary(ops.log, "log", "Natural logarithm.", "torch.log(torch.tensor([1.0]))\n    tensor([0.])")
log2 = unary(ops.log2, "log2", "Logarithm to the base 2.", "torch.log2(torch.tensor([8.0]))\n    tensor([3.])")
log10 = unary(ops.log10, "log10", "Logarithm to the base 10.", "torch.log10(torch.tensor([100.0]))\n    tensor([2.])")
log1p = unary(
    ops.log1p, "log1p", "log(1 + input), exact for small values.", "torch.log1p(torch.tensor([0.0]))\n    tensor([0.])"
)
sqrt = unary(
    ops.sqrt, "sqrt", "Square root; of a negative number, NaN.", "torch.sqrt(torch.tensor([9.0]))\n    tensor([3.])"
)
rsqrt = unary(ops.rsqrt, "rsqrt", "1 / sqrt(input).", "torch.rsqrt(torch.tensor([4.0]))\n    tensor([0.5000])")
sigmoid = unary(
    ops.sigmoid, "sigmoid", "1 / (1 + exp(-input)).", "torch.sigmoid(torch.tensor([0.0]))\n    tensor([0.5000])"
)
tanh = unary(ops.tanh, "tanh", "Hyperbolic tangent.", "torch.tanh(torch.tensor([0.0]))\n    tensor([0.])")
relu = unary(ops.relu, "relu", "max(input, 0).", "torch.relu(torch.tensor([-1.0, 2.0]))\n    tensor([0., 2.])")
sign = unary(
    ops.sign, "sign", "-1, 0 or 1 by the sign of each element.", "torch.sign(torch.tensor([-2.0]))\n    tensor([-1.])"
)
sgn = unary(
    ops.sgn,
    "sgn",
    "The sign; for complex values the direction.",
    "torch.sgn(torch.tensor([3 + 4j]))\n    tensor([0.6000+0.8000j])",
)
floor = unary(
    ops.floor, "floor", "The largest integer not above.", "torch.floor(torch.tensor([-1.5]))\n    tensor([-2.])"
)
ceil = unary(ops.ceil, "ceil", "The smallest integer not below.", "torch.ceil(torch.tensor([1.2]))\n    tensor([2.])")
trunc = unary(ops.trunc, "trunc", "The integer part.", "torch.trunc(torch.tensor([-1.5]))\n    tensor([-1.])")
frac = unary(
    ops.frac, "frac", "What is left after the integer part.", "torch.frac(torch.tensor([1.5]))\n    tensor([0.5000])"
)
fix = trunc
logaddexp = binary_of_tensors(ops.logaddexp, "logaddexp", "log(exp(input) + exp(other)) without overflow.")
logaddexp2 = binary_of_tensors(ops.logaddexp2, "logaddexp2", "log2(2**input + 2**other) without overflow.")
xlogy = binary(
    ops.xlogy,
    "xlogy",
    "input * log(other), 0 where input is 0.",
    "torch.xlogy(torch.tensor([0.0]), 0.0)\n    tensor([0.])",
)


def square(input: Any, *, out: Any = None) -> Any:
    """Each element times itself.

    >>> import pellucid as torch
    >>> torch.square(torch.tensor([3.0]))
    tensor([9.])
    """
    return pow(input, 2, out=out)


def abs(input: Any, *, out: Any = None) -> Any:
    """Absolute value; of a complex number, its modulus.

    >>> import pellucid as torch
    >>> torch.abs(torch.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """
    in_place_complex = hasattr(out, "target") and need_tensor(input, "abs")._meta.dtype.is_complex
    check(not in_place_complex, "In-place abs is not supported for complex tensors.")
    return ops.absolute(need_tensor(input, "abs"), out=out)


def round(input: Any, *, decimals: int = 0, out: Any = None) -> Any:
    """Rounded to the nearest integer, halves to the even one; or at a number of decimals.

    >>> import pellucid as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    decimals = as_int(decimals, "round", "decimals", 0)
    need_tensor(input, "round")
    return ops.round_(input, out=out) if decimals == 0 else ops.round_decimals(input, decimals=int(decimals), out=out)


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """`input` to the power `exponent`, either of which may be a number.

    >>> import pellucid as torch
    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    need_operand(input, "pow", "input", 1)
    need_operand(exponent, "pow", "exponent")
    need_one_tensor(input, exponent, "pow")
    if not is_number(exponent):
        return ops.pow_tensor(input, exponent, out=out)
    kind = input._meta.dtype
    if kind.category <= 1 and not isinstance(exponent, float | complex) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if isinstance(exponent, int | float) and dtypes.of_scalar_type(type(exponent)).category <= kind.category:
        fitting(exponent, kind, halves=kind is dtypes.float16)
    if kind is dtypes.bool_ and isinstance(exponent, bool):
        return deliver(input.clone() if exponent else input.logical_or(input.logical_not()), out)
    return ops.pow_scalar(input, exponent, out=out)


absolute = abs


class ExponentialMethods:
    """Rows of `Tensor`."""

    exp = exp
    exp_ = in_place(exp)
    exp2 = exp2
    exp2_ = in_place(exp2)
    expm1 = expm1
    expm1_ = in_place(expm1)
    log = log
    log_ = in_place(log)
    log2 = log2
    log2_ = in_place(log2)
    log10 = log10
    log10_ = in_place(log10)
    log1p = log1p
    log1p_ = in_place(log1p)
    sqrt = sqrt
    sqrt_ = in_place(sqrt)
    rsqrt = rsqrt
    rsqrt_ = in_place(rsqrt)
    square = square
    square_ = in_place(square)
    sigmoid = sigmoid
    sigmoid_ = in_place(sigmoid)
    tanh = tanh
    tanh_ = in_place(tanh)
    relu = relu
    relu_ = in_place(relu)
    abs = abs
    absolute = abs
    abs_ = in_place(abs)
    absolute_ = abs_
    sign = sign
    sign_ = in_place(sign)
    sgn = sgn
    sgn_ = in_place(sgn)
    floor = floor
    floor_ = in_place(floor)
    ceil = ceil
    ceil_ = in_place(ceil)
    trunc = trunc
    trunc_ = in_place(trunc)
    fix = trunc
    fix_ = trunc_
    frac = frac
    frac_ = in_place(frac)
    round = round
    round_ = in_place(round)
    pow = pow
    pow_ = in_place(pow)
    logaddexp = logaddexp
    logaddexp2 = logaddexp2
    xlogy = xlogy
    xlogy_ = in_place(xlogy)

    def __abs__(self) -> Any:
        return abs(self)

    def __pow__(self, exponent: Any) -> Any:
        return (
            pow(self, exponent)
            if isinstance(exponent, TensorData) or is_number(exponent)
            else infix_with(self, exponent, "__pow__")
        )

    def __rpow__(self, base: Any) -> Any:
        return (
            pow(base, self) if isinstance(base, TensorData) or is_number(base) else infix_with(self, base, "__rpow__")
        )

    def __ipow__(self, exponent: Any) -> Any:
        return self.pow_(exponent)
