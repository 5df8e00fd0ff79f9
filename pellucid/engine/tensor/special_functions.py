"""The functions that only `torch.special` has."""

from __future__ import annotations

from typing import Any

from pellucid.engine.ops import airy, bessel, exponential, gamma, polynomials
from pellucid.engine.ops import special as ops
from pellucid.engine.tensor.arguments import binary, is_number, need_one_tensor, need_operand, need_tensor, unary
from pellucid.engine.tensor.exponential import round as plain_round

erfcx = unary(
    ops.erfcx, "erfcx", "exp(input**2) * erfc(input).", "torch.special.erfcx(torch.tensor([0.0]))\n    tensor([1.])"
)
ndtr = unary(
    ops.ndtr,
    "ndtr",
    "Probabilities of a standard normal value below.",
    "torch.special.ndtr(torch.tensor([0.0]))\n    tensor([0.5000])",
)
ndtri = unary(
    ops.ndtri,
    "ndtri",
    "Quantiles of the standard normal distribution.",
    "torch.special.ndtri(torch.tensor([0.5]))\n    tensor([0.])",
)
log_ndtr = unary(
    ops.log_ndtr,
    "log_ndtr",
    "log(ndtr(input)), exact in the tail.",
    "torch.special.log_ndtr(torch.tensor([0.0]))\n    tensor([-0.6931])",
)
entr = unary(
    ops.entr,
    "entr",
    "-input * log(input); 0 at 0, -inf below.",
    "torch.special.entr(torch.tensor([0.0, 1.0]))\n    tensor([0., -0.])",
)
i0e = unary(bessel.i0e, "i0e", "exp(-|input|) * i0(input).", "torch.special.i0e(torch.tensor([0.0]))\n    tensor([1.])")
i1 = unary(
    bessel.i1,
    "i1",
    "The modified Bessel function of order 1.",
    "torch.special.i1(torch.tensor([0.0]))\n    tensor([0.])",
)
i1e = unary(bessel.i1e, "i1e", "exp(-|input|) * i1(input).", "torch.special.i1e(torch.tensor([0.0]))\n    tensor([0.])")
bessel_j0 = unary(bessel.bessel_j0, "bessel_j0", "The Bessel function of the first kind, order 0; without a gradient.")
bessel_j1 = unary(bessel.bessel_j1, "bessel_j1", "The Bessel function of the first kind, order 1; without a gradient.")
bessel_y0 = unary(bessel.bessel_y0, "bessel_y0", "The Bessel function of the second kind, order 0; without a gradient.")
bessel_y1 = unary(bessel.bessel_y1, "bessel_y1", "The Bessel function of the second kind, order 1; without a gradient.")
modified_bessel_i0 = unary(bessel.modified_bessel_i0, "modified_bessel_i0", "i0, without a gradient.")
modified_bessel_i1 = unary(bessel.modified_bessel_i1, "modified_bessel_i1", "i1, without a gradient.")
modified_bessel_k0 = unary(
    bessel.modified_bessel_k0, "modified_bessel_k0", "The modified Bessel function of the second kind, order 0."
)
modified_bessel_k1 = unary(
    bessel.modified_bessel_k1, "modified_bessel_k1", "The modified Bessel function of the second kind, order 1."
)
scaled_modified_bessel_k0 = unary(
    bessel.scaled_modified_bessel_k0, "scaled_modified_bessel_k0", "exp(input) * modified_bessel_k0(input)."
)
scaled_modified_bessel_k1 = unary(
    bessel.scaled_modified_bessel_k1, "scaled_modified_bessel_k1", "exp(input) * modified_bessel_k1(input)."
)
airy_ai = unary(airy.airy_ai, "airy_ai", "Airy's function Ai, a solution of y'' = input * y; without a gradient.")
spherical_bessel_j0 = unary(
    bessel.spherical_bessel_j0, "spherical_bessel_j0", "sin(input) / input, 1 at 0; without a gradient."
)
chebyshev_polynomial_t = binary(
    polynomials.chebyshev_t,
    "chebyshev_polynomial_t",
    "Chebyshev polynomials of the first kind, of degree n; without a gradient.",
)
chebyshev_polynomial_u = binary(
    polynomials.chebyshev_u,
    "chebyshev_polynomial_u",
    "Chebyshev polynomials of the second kind, of degree n; without a gradient.",
)
chebyshev_polynomial_v = binary(
    polynomials.chebyshev_v,
    "chebyshev_polynomial_v",
    "Chebyshev polynomials of the third kind, of degree n; without a gradient.",
)
chebyshev_polynomial_w = binary(
    polynomials.chebyshev_w,
    "chebyshev_polynomial_w",
    "Chebyshev polynomials of the fourth kind, of degree n; without a gradient.",
)
hermite_polynomial_h = binary(
    polynomials.hermite_h,
    "hermite_polynomial_h",
    "The physicists' Hermite polynomials, of degree n; without a gradient.",
)
hermite_polynomial_he = binary(
    polynomials.hermite_he,
    "hermite_polynomial_he",
    "The probabilists' Hermite polynomials, of degree n; without a gradient.",
)
laguerre_polynomial_l = binary(
    polynomials.laguerre_l, "laguerre_polynomial_l", "Laguerre polynomials, of degree n; without a gradient."
)
legendre_polynomial_p = binary(
    polynomials.legendre_p, "legendre_polynomial_p", "Legendre polynomials, of degree n; without a gradient."
)
shifted_chebyshev_polynomial_t = binary(
    polynomials.shifted_chebyshev_t,
    "shifted_chebyshev_polynomial_t",
    "Chebyshev polynomials of the first kind of 2 * input - 1, of degree n; without a gradient.",
)
shifted_chebyshev_polynomial_u = binary(
    polynomials.shifted_chebyshev_u,
    "shifted_chebyshev_polynomial_u",
    "Chebyshev polynomials of the second kind of 2 * input - 1, of degree n; without a gradient.",
)
shifted_chebyshev_polynomial_v = binary(
    polynomials.shifted_chebyshev_v,
    "shifted_chebyshev_polynomial_v",
    "Chebyshev polynomials of the third kind of 2 * input - 1, of degree n; without a gradient.",
)
shifted_chebyshev_polynomial_w = binary(
    polynomials.shifted_chebyshev_w,
    "shifted_chebyshev_polynomial_w",
    "Chebyshev polynomials of the fourth kind of 2 * input - 1, of degree n; without a gradient.",
)


def _of_operands(first: Any, second: Any, name: str, ops: tuple[Any, Any, Any], out: Any) -> Any:
    """Run the operator for two tensors, for a number and a tensor, or for a tensor and a number."""
    need_one_tensor(need_operand(first, name, "input", 1), need_operand(second, name), name)
    return ops[1 if is_number(first) else 2 if is_number(second) else 0](first, second, out=out)


def zeta(input: Any, other: Any, *, out: Any = None) -> Any:
    """The Hurwitz zeta function; differentiable in `other` only.

    >>> import pellucid as torch
    >>> torch.special.zeta(torch.tensor([2.0]), 1.0)
    tensor([1.6449])
    """
    return _of_operands(input, other, "special_zeta", (gamma.zeta, gamma.zeta_of_number, gamma.zeta_by_number), out)


def xlog1py(input: Any, other: Any, *, out: Any = None) -> Any:
    """input * log1p(other), 0 where input is 0 and other is no NaN.

    >>> import pellucid as torch
    >>> torch.special.xlog1py(torch.tensor([0.0]), -1.0)
    tensor([0.])
    """
    return _of_operands(
        input, other, "special_xlog1py", (ops.xlog1py, ops.xlog1py_of_number, ops.xlog1py_by_number), out
    )


def round(input: Any, *, decimals: int = 0, out: Any = None) -> Any:
    """Rounded half to even at a number of decimals.

    >>> import pellucid as torch
    >>> torch.special.round(torch.tensor([0.25]), decimals=1)
    tensor([0.2000])
    """
    if need_tensor(input, "special_round")._meta.dtype.is_floating_point:
        return exponential.round_decimals(input, decimals=int(decimals), out=out)
    return plain_round(input, decimals=decimals, out=out)
