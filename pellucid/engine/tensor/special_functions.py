"""The functions that only `torch.special` has."""

from __future__ import annotations

from pellucid.engine.ops import bessel, gamma, polynomials
from pellucid.engine.ops import special as ops
from pellucid.engine.tensor.arguments import binary, unary

erfcx = unary(ops.erfcx, "erfcx", "exp(input**2) * erfc(input).", "torch.special.erfcx(torch.tensor([0.0]))\n    tensor([1.])")
ndtr = unary(ops.ndtr, "ndtr", "Probabilities of a standard normal value below.", "torch.special.ndtr(torch.tensor([0.0]))\n    tensor([0.5000])")
ndtri = unary(ops.ndtri, "ndtri", "Quantiles of the standard normal distribution.", "torch.special.ndtri(torch.tensor([0.5]))\n    tensor([0.])")
log_ndtr = unary(ops.log_ndtr, "log_ndtr", "log(ndtr(input)), exact in the tail.", "torch.special.log_ndtr(torch.tensor([0.0]))\n    tensor([-0.6931])")
entr = unary(ops.entr, "entr", "-input * log(input); 0 at 0, -inf below.", "torch.special.entr(torch.tensor([0.0, 1.0]))\n    tensor([0., -0.])")
i0e = unary(bessel.i0e, "i0e", "exp(-|input|) * i0(input).", "torch.special.i0e(torch.tensor([0.0]))\n    tensor([1.])")
i1 = unary(bessel.i1, "i1", "The modified Bessel function of order 1.", "torch.special.i1(torch.tensor([0.0]))\n    tensor([0.])")
i1e = unary(bessel.i1e, "i1e", "exp(-|input|) * i1(input).", "torch.special.i1e(torch.tensor([0.0]))\n    tensor([0.])")
zeta = binary(gamma.zeta, "zeta", "The Hurwitz zeta function.", "torch.special.zeta(torch.tensor([2.0]), 1.0)\n    tensor([1.6449])")
xlog1py = binary(ops.xlog1py, "xlog1py", "input * log1p(other), 0 where input is 0.", "torch.special.xlog1py(torch.tensor([0.0]), -1.0)\n    tensor([0.])")
bessel_j0 = unary(bessel.bessel_j0, "bessel_j0", "The Bessel function of the first kind, order 0; without a gradient.")
bessel_j1 = unary(bessel.bessel_j1, "bessel_j1", "The Bessel function of the first kind, order 1; without a gradient.")
bessel_y0 = unary(bessel.bessel_y0, "bessel_y0", "The Bessel function of the second kind, order 0; without a gradient.")
bessel_y1 = unary(bessel.bessel_y1, "bessel_y1", "The Bessel function of the second kind, order 1; without a gradient.")
modified_bessel_i0 = unary(bessel.modified_bessel_i0, "modified_bessel_i0", "i0, without a gradient.")
modified_bessel_i1 = unary(bessel.modified_bessel_i1, "modified_bessel_i1", "i1, without a gradient.")
modified_bessel_k0 = unary(bessel.modified_bessel_k0, "modified_bessel_k0", "The modified Bessel function of the second kind, order 0.")
modified_bessel_k1 = unary(bessel.modified_bessel_k1, "modified_bessel_k1", "The modified Bessel function of the second kind, order 1.")
scaled_modified_bessel_k0 = unary(bessel.scaled_modified_bessel_k0, "scaled_modified_bessel_k0", "exp(input) * modified_bessel_k0(input).")
scaled_modified_bessel_k1 = unary(bessel.scaled_modified_bessel_k1, "scaled_modified_bessel_k1", "exp(input) * modified_bessel_k1(input).")
spherical_bessel_j0 = unary(bessel.spherical_bessel_j0, "spherical_bessel_j0", "sin(input) / input, 1 at 0; without a gradient.")
chebyshev_polynomial_t = binary(
    polynomials.chebyshev_t, "chebyshev_polynomial_t", "Chebyshev polynomials of the first kind, of degree n; without a gradient."
)
chebyshev_polynomial_u = binary(
    polynomials.chebyshev_u, "chebyshev_polynomial_u", "Chebyshev polynomials of the second kind, of degree n; without a gradient."
)
chebyshev_polynomial_v = binary(
    polynomials.chebyshev_v, "chebyshev_polynomial_v", "Chebyshev polynomials of the third kind, of degree n; without a gradient."
)
chebyshev_polynomial_w = binary(
    polynomials.chebyshev_w, "chebyshev_polynomial_w", "Chebyshev polynomials of the fourth kind, of degree n; without a gradient."
)
hermite_polynomial_h = binary(
    polynomials.hermite_h, "hermite_polynomial_h", "The physicists' Hermite polynomials, of degree n; without a gradient."
)
hermite_polynomial_he = binary(
    polynomials.hermite_he, "hermite_polynomial_he", "The probabilists' Hermite polynomials, of degree n; without a gradient."
)
laguerre_polynomial_l = binary(
    polynomials.laguerre_l, "laguerre_polynomial_l", "Laguerre polynomials, of degree n; without a gradient."
)
legendre_polynomial_p = binary(
    polynomials.legendre_p, "legendre_polynomial_p", "Legendre polynomials, of degree n; without a gradient."
)
shifted_chebyshev_polynomial_t = binary(
    polynomials.shifted_chebyshev_t, "shifted_chebyshev_polynomial_t", "Chebyshev polynomials of the first kind of 2 * input - 1, of degree n; without a gradient."
)
shifted_chebyshev_polynomial_u = binary(
    polynomials.shifted_chebyshev_u, "shifted_chebyshev_polynomial_u", "Chebyshev polynomials of the second kind of 2 * input - 1, of degree n; without a gradient."
)
shifted_chebyshev_polynomial_v = binary(
    polynomials.shifted_chebyshev_v, "shifted_chebyshev_polynomial_v", "Chebyshev polynomials of the third kind of 2 * input - 1, of degree n; without a gradient."
)
shifted_chebyshev_polynomial_w = binary(
    polynomials.shifted_chebyshev_w, "shifted_chebyshev_polynomial_w", "Chebyshev polynomials of the fourth kind of 2 * input - 1, of degree n; without a gradient."
)
