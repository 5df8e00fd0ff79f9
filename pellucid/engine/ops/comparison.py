"""Comparisons, extremes of pairs, selection: pointwise operators that look at order or truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.op import pointwise
from pellucid.engine.ops.arithmetic import mul


@pointwise(result="bool", numbers="rounded")
def eq(a: Any, b: Any) -> Any:
    """a == b; a NaN equals nothing."""
    return a == b


@pointwise(result="bool", numbers="rounded")
def ne(a: Any, b: Any) -> Any:
    """a != b; a NaN differs from everything."""
    return a != b


@pointwise(result="bool", accepts="real", numbers="rounded")
def lt(a: Any, b: Any) -> Any:
    """a < b."""
    return a < b


@pointwise(result="bool", accepts="real", numbers="rounded")
def le(a: Any, b: Any) -> Any:
    """a <= b."""
    return a <= b


@pointwise(result="bool", accepts="real", numbers="rounded")
def gt(a: Any, b: Any) -> Any:
    """a > b."""
    return a > b


@pointwise(result="bool", accepts="real", numbers="rounded")
def ge(a: Any, b: Any) -> Any:
    """a >= b."""
    return a >= b


@pointwise(result="bool")
def isnan(x: Any) -> Any:
    """Whether a value is a NaN."""
    return x != x


@pointwise(result="bool")
def isinf(x: Any) -> Any:
    """Whether a value is an infinity of either sign."""
    return np.isinf(x) if x.dtype.kind in "fc" else np.zeros_like(x, np.bool_)


@pointwise(result="bool")
def isfinite(x: Any) -> Any:
    """Whether a value is neither an infinity nor a NaN."""
    return np.isfinite(x) if x.dtype.kind in "fc" else np.ones_like(x, np.bool_)


@pointwise(result="bool", accepts="real")
def isposinf(x: Any) -> Any:
    """Whether a value is +inf."""
    return x == np.inf


@pointwise(result="bool", accepts="real")
def isneginf(x: Any) -> Any:
    """Whether a value is -inf."""
    return x == -np.inf


@pointwise(result="bool", accepts="real")
def signbit(x: Any) -> Any:
    """Whether the sign is negative, -0.0 included."""
    return np.signbit(x) if x.dtype.kind == "f" else x < 0 if x.dtype.kind == "i" else np.zeros_like(x, np.bool_)


@pointwise(result="bool")
def logical_and(a: Any, b: Any) -> Any:
    """Both are not 0."""
    return np.logical_and(a, b)


@pointwise(result="bool")
def logical_or(a: Any, b: Any) -> Any:
    """One is not 0."""
    return np.logical_or(a, b)


@pointwise(result="bool")
def logical_xor(a: Any, b: Any) -> Any:
    """Exactly one is not 0."""
    return np.logical_xor(a, b)


@pointwise(result="bool")
def logical_not(x: Any) -> Any:
    """It is 0."""
    return np.logical_not(x)


@pointwise(promote=("a", "b"))
def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, `b` elsewhere."""
    return np.where(condition, a, b)


@where.vjp("a")
def where_da(dy: Any, condition: Any) -> Any:
    return where(condition, dy, 0)


@where.vjp("b")
def where_db(dy: Any, condition: Any) -> Any:
    return where(condition, 0, dy)


@pointwise(accepts="real")
def maximum(a: Any, b: Any) -> Any:
    """The larger; a NaN wins. Ties share the gradient."""
    return np.maximum(a, b)


@pointwise(accepts="real")
def minimum(a: Any, b: Any) -> Any:
    """The smaller; a NaN wins. Ties share the gradient."""
    return np.minimum(a, b)


def _share(dy: Any, loses: Any, ties: Any) -> Any:
    return where(loses, 0, where(ties, mul(dy, 0.5), dy))  # where a NaN compares as nothing, both get all


@maximum.vjp("a")
def maximum_da(dy: Any, a: Any, b: Any) -> Any:
    return _share(dy, lt(a, b), eq(a, b))


@maximum.vjp("b")
def maximum_db(dy: Any, a: Any, b: Any) -> Any:
    return _share(dy, gt(a, b), eq(a, b))


@minimum.vjp("a")
def minimum_da(dy: Any, a: Any, b: Any) -> Any:
    return _share(dy, gt(a, b), eq(a, b))


@minimum.vjp("b")
def minimum_db(dy: Any, a: Any, b: Any) -> Any:
    return _share(dy, lt(a, b), eq(a, b))


@pointwise(accepts="real")
def fmax(a: Any, b: Any) -> Any:
    """The larger; a number wins over a NaN."""
    return np.fmax(a, b)


@pointwise(accepts="real")
def fmin(a: Any, b: Any) -> Any:
    """The smaller; a number wins over a NaN."""
    return np.fmin(a, b)


@fmax.vjp("a", "b")
def fmax_dab(dy: Any, a: Any, b: Any) -> Any:
    first = logical_or(ge(a, b), isnan(b))
    return where(first, dy, 0), where(first, 0, dy)


@fmin.vjp("a", "b")
def fmin_dab(dy: Any, a: Any, b: Any) -> Any:
    first = logical_or(le(a, b), isnan(b))
    return where(first, dy, 0), where(first, 0, dy)


@pointwise(accepts="real", grad_name=lambda settings: settings.get("node", "ClampBackward1"))
def clamp(x: Any, low: Any, high: Any, *, node: str = "ClampBackward1") -> Any:
    """`x` kept between the bounds, either of which may be None; where low > high, high. A NaN stays (or comes from a
    bound).

    `node` is the name of the gradient's node, which depends on the public function.
    """
    if low is not None:
        x = np.maximum(x, low)
    return np.minimum(x, high) if high is not None else x


@clamp.vjp("x")
def clamp_dx(dy: Any, x: Any, low: Any, high: Any) -> Any:
    return where(_inside(x, low, high), dy, 0)


def _inside(x: Any, low: Any, high: Any) -> Any:
    if low is None:
        return le(x, high)
    return ge(x, low) if high is None else logical_and(ge(x, low), le(x, high))


@clamp.vjp("low")
def clamp_dlow(dy: Any, x: Any, low: Any, high: Any) -> Any:
    below = lt(x, low)
    return where(below if high is None else logical_and(below, lt(low, high)), dy, 0)


@clamp.vjp("high")
def clamp_dhigh(dy: Any, x: Any, low: Any, high: Any) -> Any:
    above = gt(x, high)
    return where(above if low is None else logical_or(above, gt(low, high)), dy, 0)


@pointwise(half="keep")
def nan_to_num(x: Any, *, nan: float, posinf: float | None, neginf: float | None) -> Any:
    """NaN and infinities replaced; by default the infinities become the largest finite values."""
    if x.dtype.kind not in "fcV":
        return x.copy()
    if x.dtype.kind == "c":
        parts = [nan_to_num.body(part, nan=nan, posinf=posinf, neginf=neginf) for part in (x.real, x.imag)]
        return parts[0] + 1j * parts[1]
    import ml_dtypes

    largest = float(ml_dtypes.finfo(x.dtype).max)
    y = np.where(np.isnan(x), np.asarray(nan, x.dtype), x)
    y = np.where(x == np.inf, np.asarray(largest if posinf is None else posinf, x.dtype), y)
    return np.where(x == -np.inf, np.asarray(-largest if neginf is None else neginf, x.dtype), y)


@nan_to_num.vjp("x")
def nan_to_num_dx(dy: Any, x: Any) -> Any:
    return mul(dy, isfinite(x))
