"""Vector functions against mpmath over the whole range: at most 2 units in the last place, edges exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import F32, F64, at, counting, ir
from pellucid.engine.backends.cpu.vector_math import FUNCTIONS, Maths

mpmath = pytest.importorskip("mpmath")
pytestmark = pytest.mark.skipif(not jit.available(), reason="this Python's objects cannot be read by compiled entries")

_EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]
_RANGES = {  # where results are neither 0 nor infinite, and the points where the method changes
    "exp": (-104, 89, -746, 710), "expm1": (-20, 89, -40, 710), "exp2": (-150, 128, -1075, 1024),
    "tanh": (-12, 12, -25, 25), "erf": (-4.5, 4.5, -6.5, 6.5),
}  # fmt: skip


def _kernel(name: str, kind: str) -> jit.Kernel:
    element = F32 if kind == "f4" else F64

    def build(module: ir.Module, function: ir.Function) -> None:
        builder = ir.IRBuilder(function.append_basic_block())
        out, x = [builder.bitcast(each, element.as_pointer()) for each in function.args[:2]]
        with counting(builder, function.args[3], function.args[4]) as index:
            value = FUNCTIONS[name](Maths(builder, element), builder.load(at(builder, x, index)))
            builder.store(value, at(builder, out, index))
        builder.ret_void()

    return jit.Kernel("vector_math_test", (name, kind), "ppw", build)


def _samples(name: str, kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    info = np.finfo(kind)
    tiny = np.exp(rng.uniform(math.log(float(info.smallest_subnormal)), math.log(float(info.max)), 400))
    values = [*tiny, *-tiny, *(1 + rng.uniform(-1e-3, 1e-3, 100)), *rng.normal(size=300)]
    if name in _RANGES:
        low, high = _RANGES[name][:2] if kind == "f4" else _RANGES[name][2:]
        values += [*rng.uniform(low, high, 600), low, high]
    with np.errstate(over="ignore"):
        return np.array([*_EDGES, *values]).astype(kind)


def _exact(name: str, x: float) -> object:
    if math.isnan(x):
        return math.nan
    if name in ("log", "log2", "log10"):
        if x < 0:
            return math.nan
        if x == 0 or math.isinf(x):
            return -math.inf if x == 0 else math.inf
        return mpmath.log(x) / {"log": 1, "log2": mpmath.log(2), "log10": mpmath.log(10)}[name]
    if name == "log1p":
        if x <= -1 or math.isinf(x):
            return math.nan if x < -1 else -math.inf if x == -1 else math.inf
        return mpmath.log1p(x)
    if math.isinf(x):
        grown = {"exp": (math.inf, 0.0), "exp2": (math.inf, 0.0), "expm1": (math.inf, -1.0)}.get(name, (1.0, -1.0))
        return grown[x < 0]
    return mpmath.power(2, x) if name == "exp2" else getattr(mpmath, name)(x)


def _error(found: float, exact: object, kind: str) -> float:
    """Distance in units in the last place of the exact value."""
    if isinstance(exact, float) and (math.isnan(exact) or math.isinf(exact)):
        same = math.isnan(found) if math.isnan(exact) else found == exact
        return 0.0 if same else math.inf
    info = np.finfo(kind)
    if math.isinf(found):
        return 0.0 if abs(exact) >= float(info.max) else math.inf
    if exact == 0:
        return abs(found) / float(info.smallest_subnormal)
    exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), info.minexp)
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(2) ** (exponent - info.nmant))


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_within_two_units_in_the_last_place(name: str, kind: str) -> None:
    if (name, kind) == ("erf", "f8"):
        pytest.skip("erf in float64 is traced from its NumPy body")
    x = _samples(name, kind)
    out = np.empty_like(x)
    _kernel(name, kind)(out, x, jit.extents(len(x), len(x)))
    with mpmath.workdps(40):
        errors = [_error(float(f), _exact(name, float(v)), kind) for f, v in zip(out, x, strict=True)]
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, f"{name}({x[worst]!r}) = {out[worst]!r}, {errors[worst]:.3g} units off"


@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh", "erf"])
def test_signed_zeros_stay(name: str) -> None:
    x = np.array([0.0, -0.0], np.float32)
    out = np.empty_like(x)
    _kernel(name, "f4")(out, x, jit.extents(2, 2))
    assert np.signbit(out).tolist() == [False, True]
