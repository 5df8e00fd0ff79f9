"""Gamma and binomial variates, and how a gamma variate moves with its concentration."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import random as streams
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, broadcast_shapes
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import mul
from pellucid.engine.ops.gamma import lgamma
from pellucid.engine.ops.incomplete_gamma import igamma, igammac
from pellucid.engine.ops.random import source


@op(half="keep", grad_name="StandardGammaBackward0")
def standard_gamma(alpha: np.ndarray, *, generator: Any) -> np.ndarray:
    """One gamma variate of scale 1 for each concentration."""
    return streams.standard_gamma(source(generator), np.ascontiguousarray(alpha).reshape(alpha.shape))


@standard_gamma.meta
def standard_gamma_meta(alpha: Meta, *, generator: Any) -> Meta:
    return Meta.of(alpha.shape, alpha.dtype, alpha.device)


@standard_gamma.vjp("alpha")
def standard_gamma_dalpha(dy: Any, alpha: Any, y: Any) -> Any:
    return mul(dy, standard_gamma_slope(alpha, y))


@op(zero_gradient=True)
def standard_gamma_slope(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dx / dalpha with the probability of at most x held fixed (Figurnov et al., 2018): -(dF / dalpha) / density.

    F is differentiated by a central difference of its logarithm, or of that of 1 - F where that is the smaller.
    """
    a, z = alpha.astype(np.float64), x.astype(np.float64)
    step = 1e-5 * np.maximum(a, 1e-3)
    below, above = igamma.body(a, z), igammac.body(a, z)
    lower = np.log(igamma.body(a + step, z)) - np.log(igamma.body(a - step, z))
    upper = np.log(igammac.body(a + step, z)) - np.log(igammac.body(a - step, z))
    slope = np.where(below < above, below * lower, -above * upper) / (2 * step)
    density = np.exp((a - 1) * np.log(z) - z - lgamma.body(a))
    found = -slope / density
    small = -z / a * (np.log(z) + 1 / a)  # of F = x^a / Gamma(a + 1), where F itself underflows
    return np.where(np.isfinite(found), found, np.where(z < 1, np.abs(small), 1.0)).astype(x.dtype)


@standard_gamma_slope.meta
def standard_gamma_slope_meta(alpha: Meta, x: Meta) -> Meta:
    return Meta.of(x.shape, x.dtype, x.device)


@op(half="keep", zero_gradient=True)
def binomial(count: np.ndarray, prob: np.ndarray, *, generator: Any) -> np.ndarray:
    """Successes in `count` trials of probability `prob`."""
    return streams.binomial(source(generator), count, prob)


@binomial.meta
def binomial_meta(count: Meta, prob: Meta, *, generator: Any) -> Meta:
    check(count.dtype is prob.dtype, f"Found dtype {prob.dtype} but expected {count.dtype} for the probabilities")
    return Meta.of(broadcast_shapes(count.shape, prob.shape), count.dtype, count.device)
