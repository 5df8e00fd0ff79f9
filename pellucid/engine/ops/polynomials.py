"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9), on NumPy arrays; no gradients, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise

Recurrence = Callable[[np.ndarray, int, np.ndarray, np.ndarray], np.ndarray]


def _polynomial(name: str, summary: str, first: Callable[[np.ndarray], np.ndarray], following: Recurrence) -> Any:
    """The operator of a family: 1, first(x), and following(x, k, p(k), p(k - 1)); 0 for a negative degree."""

    def body(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(np.asarray(x, np.float64), np.trunc(np.asarray(n, np.float64)))
        before, here = np.ones(x.shape), first(x)
        result = np.where(n == 0, before, np.where(n == 1, here, 0.0))
        highest = int(min(np.max(n, initial=0, where=np.isfinite(n)), 1_000_000))
        for k in range(1, highest):
            before, here = here, following(x, k, here, before)
            result = np.where(n == k + 1, here, result)
        return result

    body.__doc__ = summary
    return pointwise(body, name=name, result="float", accepts="real", zero_gradient=True)


def _chebyshev(x: np.ndarray, k: int, here: np.ndarray, before: np.ndarray) -> np.ndarray:
    return 2 * x * here - before


def _shifted(x: np.ndarray, k: int, here: np.ndarray, before: np.ndarray) -> np.ndarray:
    return 2 * (2 * x - 1) * here - before


chebyshev_t = _polynomial("chebyshev_polynomial_t", "Chebyshev's T(n)(x).", lambda x: x, _chebyshev)
chebyshev_u = _polynomial("chebyshev_polynomial_u", "Chebyshev's U(n)(x).", lambda x: 2 * x, _chebyshev)
chebyshev_v = _polynomial("chebyshev_polynomial_v", "Chebyshev's V(n)(x).", lambda x: 2 * x - 1, _chebyshev)
chebyshev_w = _polynomial("chebyshev_polynomial_w", "Chebyshev's W(n)(x).", lambda x: 2 * x + 1, _chebyshev)
shifted_chebyshev_t = _polynomial("shifted_chebyshev_polynomial_t", "T(n)(2x - 1).", lambda x: 2 * x - 1, _shifted)
shifted_chebyshev_u = _polynomial("shifted_chebyshev_polynomial_u", "U(n)(2x - 1).", lambda x: 4 * x - 2, _shifted)
shifted_chebyshev_v = _polynomial("shifted_chebyshev_polynomial_v", "V(n)(2x - 1).", lambda x: 4 * x - 3, _shifted)
shifted_chebyshev_w = _polynomial("shifted_chebyshev_polynomial_w", "W(n)(2x - 1).", lambda x: 4 * x - 1, _shifted)
hermite_h = _polynomial(
    "hermite_polynomial_h",
    "The physicists' Hermite polynomial.",
    lambda x: 2 * x,
    lambda x, k, here, before: 2 * (x * here - k * before),
)
hermite_he = _polynomial(
    "hermite_polynomial_he",
    "The probabilists' Hermite polynomial.",
    lambda x: x,
    lambda x, k, here, before: x * here - k * before,
)
laguerre_l = _polynomial(
    "laguerre_polynomial_l", "Laguerre's polynomial.", lambda x: 1 - x,
    lambda x, k, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1),
)  # fmt: skip
legendre_p = _polynomial(
    "legendre_polynomial_p", "Legendre's polynomial.", lambda x: x,
    lambda x, k, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1),
)  # fmt: skip
