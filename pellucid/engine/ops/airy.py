"""Airy's function Ai on NumPy arrays in float64, within a few units in the last place, of its amplitude near zeros.

Taylor series of y'' = x y around whole numbers in between, the asymptotic expansions far to the left (DLMF 9.7.9) and
to the right (9.7.5), before it the integral of the Bessel function K of order 1/3 (9.6.2, 10.32.9) by the
trapezoidal rule.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise

LEFT, RIGHT = -9.5, 1.5  # where the Taylor series begin and end
FAR = 19.0  # 2/3 x**1.5 from which on the asymptotic expansion reaches float64
# Ai and its derivative at -10, -9, ..., 1.
NODES = np.array([
    (0.04024123848644319, 0.99626504413279),  # -10
    (-0.022133721547341403, -0.9756639809263316),  # -9
    (-0.0527050503563862, 0.9355609381983065),  # -8
    (0.18428083525050565, -0.7710081684101265),  # -7
    (-0.3291451736298231, 0.3459354872813429),  # -6
    (0.35076100902411433, 0.32719281855444315),  # -5
    (-0.07026553294928951, -0.7906285753685813),  # -4
    (-0.37881429367765806, 0.3145837692165988),  # -3
    (0.22740742820168558, 0.618259020741691),  # -2
    (0.5355608832923521, -0.01016056711664521),  # -1
    (0.3550280538878172, -0.2588194037928068),  # 0
    (0.13529241631288141, -0.1591474412967932),  # 1
])  # fmt: skip


def airy_array(x: np.ndarray) -> np.ndarray:
    """Ai(x); NaN at the infinities, as in PyTorch."""
    x = np.asarray(x, np.float64)
    middle = _by_taylor(np.clip(x, LEFT, RIGHT))
    left = _far_left(np.maximum(-x, -LEFT))
    right = _far_right(np.maximum(x, 1.0))
    result = np.where(x < LEFT, left, np.where(x <= RIGHT, middle, right))
    return np.where(np.isfinite(x), result, np.nan)


def _by_taylor(x: np.ndarray) -> np.ndarray:
    node = np.minimum(np.rint(np.where(x == x, x, 0.0)), 1.0)
    step = x - node
    values = NODES[(node + 10).astype(np.int64)]
    before, here, after = np.zeros_like(x), values[..., 0], values[..., 1]  # the coefficients n - 1, n and n + 1
    power, total = step, here + after * step
    for n in range(26):
        before, here, after = here, after, (node * here + before) / ((n + 1) * (n + 2))
        power = power * step
        total = total + after * power
    return total


def _zeta(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """2/3 size**1.5 in two parts, since its last bits decide about the exponential and the phase."""
    wide = size.astype(np.longdouble)
    exact = wide * np.sqrt(wide) * 2 / 3
    head = exact.astype(np.float64)
    return head, (exact - head).astype(np.float64)


def _far_left(size: np.ndarray) -> np.ndarray:
    head, tail = _zeta(size)
    even, odd, term = np.ones_like(head), np.zeros_like(head), np.ones_like(head)
    for k in range(1, 32):
        term = term * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)) / head)
        sign = (1, 1, -1, -1)[k % 4]
        even, odd = (even + sign * term, odd) if k % 2 == 0 else (even, odd + sign * term)
    sine, cosine = np.sin(head), np.cos(head)
    sine, cosine = sine + tail * cosine, cosine - tail * sine
    turned = (cosine + sine) * even + (sine - cosine) * odd  # by pi/4 back, but for the root of 1/2
    return turned * math.sqrt(0.5 / math.pi) / np.sqrt(np.sqrt(size))


def _far_right(size: np.ndarray) -> np.ndarray:
    head, tail = _zeta(size)
    near = _integral(np.minimum(head, FAR)) * np.sqrt(size / 3) / math.pi
    large = np.maximum(head, FAR)
    total, term = np.ones_like(head), np.ones_like(head)
    for k in range(1, 32):
        term = term * (-(6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)) / large)
        total = total + term
    scaled = np.where(head < FAR, near, total * (0.5 / math.sqrt(math.pi)) / np.sqrt(np.sqrt(size)))
    return scaled * np.exp(-head) * (1 - tail)


def _integral(z: np.ndarray) -> np.ndarray:
    """exp(z) times the Bessel function K of order 1/3."""
    total = np.zeros_like(z)
    for node in range(48):
        t = node * 0.1
        total = total + (0.5 if node == 0 else 1.0) * math.cosh(t / 3) * np.exp(-z * (math.cosh(t) - 1))
    return total * 0.1


@pointwise(result="float", accepts="real", zero_gradient=True)
def airy_ai(x: Any) -> Any:
    """Airy's function Ai."""
    return airy_array(x)
