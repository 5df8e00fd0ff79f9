"""Special functions, signs and exponents of floats. What only `torch.special` has: special_functions.py."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.ops import bessel, error_function, floating_point, gamma, incomplete_gamma
from pellucid.engine.ops import special as ops
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import (
    as_float,
    as_int,
    binary_of_tensors,
    in_place,
    need_operand,
    need_tensor,
    unary,
)

erf = unary(
    error_function.erf,
    "erf",
    "The error function.",
    "torch.erf(torch.tensor([0.0, 1.0]))\n    tensor([0.0000, 0.8427])",
)
erfc = unary(error_function.erfc, "erfc", "1 - erf(input).", "torch.erfc(torch.tensor([0.0]))\n    tensor([1.])")
erfinv = unary(
    ops.erfinv, "erfinv", "The inverse of erf.", "torch.erfinv(torch.tensor([0.0, 1.0]))\n    tensor([0., inf])"
)
lgamma = unary(
    gamma.lgamma, "lgamma", "log|gamma(input)|.", "torch.lgamma(torch.tensor([1.0, 4.0]))\n    tensor([0.0000, 1.7918])"
)
digamma = unary(
    gamma.digamma, "digamma", "The derivative of lgamma.", "torch.digamma(torch.tensor([1.0]))\n    tensor([-0.5772])"
)
i0 = unary(
    bessel.i0, "i0", "The modified Bessel function of order 0.", "torch.i0(torch.tensor([0.0]))\n    tensor([1.])"
)
nextafter = binary_of_tensors(
    floating_point.nextafter, "nextafter", "The floating-point neighbours in the direction of `other`."
)
ldexp = binary_of_tensors(
    floating_point.ldexp,
    "ldexp",
    "input * 2**other.",
    "torch.ldexp(torch.tensor([1.5]), torch.tensor([3]))\n    tensor([12.])",
)
igamma = binary_of_tensors(
    incomplete_gamma.igamma, "igamma",
    "The regularised lower incomplete gamma function; differentiable in `other` only.",
    "torch.igamma(torch.tensor([1.0]), torch.tensor([1.0]))\n    tensor([0.6321])",
)  # fmt: skip
igammac = binary_of_tensors(
    incomplete_gamma.igammac, "igammac",
    "The regularised upper incomplete gamma function; differentiable in `other` only.",
    "torch.igammac(torch.tensor([1.0]), torch.tensor([1.0]))\n    tensor([0.3679])",
)  # fmt: skip


def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """The n-th derivative of digamma; n = 0 is digamma itself.

    >>> import pellucid as torch
    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
    order = as_int(n, "polygamma", "n", 1)
    need_tensor(input, "polygamma", "input", 2)
    check(order >= 0, "polygamma(n, x) does not support negative n.")
    return gamma.polygamma(input, n=order, out=out)


def _polygamma(self: Any, n: int, *, out: Any = None) -> Any:
    """The n-th derivative of digamma."""
    return polygamma(n, self, out=out)


_polygamma.__name__ = "polygamma"


def mvlgamma(input: Any, p: int, *, out: Any = None) -> Any:
    """The logarithm of the multivariate gamma function of p dimensions.

    >>> import pellucid as torch
    >>> torch.mvlgamma(torch.tensor([2.0]), 1)
    tensor([0.])
    """
    need_tensor(input, "mvlgamma")
    dimensions = as_int(p, "mvlgamma", "p")
    check(input._meta.dtype is not dtypes.bool_, "The input tensor may not be a boolean tensor.")
    check(dimensions >= 1, "p has to be greater than or equal to 1")
    return gamma.mvlgamma(input, p=dimensions, out=out)


def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Any:
    """log(x / (1 - x)), of x moved into [eps, 1 - eps] where `eps` is given; NaN outside of [0, 1] where not.

    >>> import pellucid as torch
    >>> torch.logit(torch.tensor([0.5, 1.0]))
    tensor([0., inf])
    """
    if eps is not None:
        eps = as_float(eps, "logit", "eps", 2)
    return ops.logit(need_tensor(input, "logit"), eps=None if eps is None or eps < 0 else float(eps), out=out)


def copysign(input: Any, other: Any, *, out: Any = None) -> Any:
    """The sizes of `input` with the signs of `other`, a tensor or a number.

    >>> import pellucid as torch
    >>> torch.copysign(torch.tensor([1.0, 2.0]), -1)
    tensor([-1., -2.])
    """
    need_operand(other, "copysign")
    op = floating_point.copysign if isinstance(other, TensorData) else floating_point.copysign_by_number
    return op(need_tensor(input, "copysign"), other, out=out)


def heaviside(input: Any, values: Any, *, out: Any = None) -> Any:
    """0 for negative elements, 1 for positive ones, and `values` for zeros; both of one dtype, not complex.

    >>> import pellucid as torch
    >>> torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    first, second = (
        need_tensor(input, "heaviside")._meta.dtype,
        need_tensor(values, "heaviside", "values", 2)._meta.dtype,
    )
    check(not first.is_complex and not second.is_complex, "heaviside is not yet implemented for complex tensors.")
    check(first is second, "heaviside is not yet implemented for tensors with different dtypes.")
    if isinstance(out, TensorData):
        check(out._meta.dtype is first, "heaviside is not yet implemented for tensors with different dtypes.")
    return floating_point.heaviside(input, values, out=out)


def frexp(input: Any, *, out: Any = None) -> Any:
    """Mantissas in [0.5, 1) and int32 exponents with input = mantissa * 2**exponent.

    >>> import pellucid as torch
    >>> torch.frexp(torch.tensor([3.0])).exponent
    tensor([2], dtype=torch.int32)
    """
    return return_types.frexp(floating_point.frexp(need_tensor(input, "frexp"), out=out))


class SpecialMethods:
    """Rows of `Tensor`."""

    erf = erf
    erf_ = in_place(erf)
    erfc = erfc
    erfc_ = in_place(erfc)
    erfinv = erfinv
    erfinv_ = in_place(erfinv)
    lgamma = lgamma
    lgamma_ = in_place(lgamma)
    digamma = digamma
    digamma_ = in_place(digamma)
    polygamma = _polygamma
    polygamma_ = in_place(_polygamma)
    mvlgamma = mvlgamma
    mvlgamma_ = in_place(mvlgamma)
    logit = logit
    logit_ = in_place(logit)
    i0 = i0
    i0_ = in_place(i0)
    copysign = copysign
    copysign_ = in_place(copysign)
    nextafter = nextafter
    nextafter_ = in_place(nextafter)
    heaviside = heaviside
    heaviside_ = in_place(heaviside)
    ldexp = ldexp
    ldexp_ = in_place(ldexp)
    frexp = frexp
    igamma = igamma
    igamma_ = in_place(igamma)
    igammac = igammac
    igammac_ = in_place(igammac)
