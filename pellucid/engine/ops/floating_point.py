"""Signs, neighbours, steps, and powers of two of floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op, pointwise
from pellucid.engine.ops.arithmetic import conjugate, div, mul, neg, no_slope
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import exp2
from pellucid.engine.ops.memory import cast

LN2 = 0.6931471805599453


@pointwise(result="float", accepts="real")
def copysign(a: Any, b: Any) -> Any:
    """The size of `a` with the sign of `b`, also of a zero."""
    return np.copysign(a, b)


copysign_by_number = pointwise(
    copysign.body, name="copysign_by_number", result="float", accepts="real", grad_name="CopysignBackward1"
)


@copysign_by_number.vjp("a")
@copysign.vjp("a")
def copysign_da(dy: Any, a: Any, y: Any) -> Any:
    at_zero = eq(a, 0)
    return where(at_zero, 0, mul(dy, div(y, where(at_zero, 1, a))))


@copysign.vjp("b")
def copysign_db(dy: Any) -> Any:
    return no_slope(dy)


@pointwise(accepts="real floating", half="keep")
def nextafter(a: Any, b: Any) -> Any:
    """The number next to `a` in the direction of `b`."""
    return np.nextafter(a, b)


@nextafter.vjp("a")
def nextafter_da(dy: Any, a: Any, b: Any) -> Any:
    return where(eq(a, b), 0, dy)


@nextafter.vjp("b")
def nextafter_db(dy: Any) -> Any:
    return no_slope(dy)


@pointwise(accepts="real", grad_name="NotImplemented")
def heaviside(a: Any, b: Any) -> Any:
    """0 below 0 and of a NaN, 1 above, `b` at 0."""
    return np.where(a == 0, b, (a > 0).astype(b.dtype))


@heaviside.vjp("a", "b")
def heaviside_dab(dy: Any) -> Any:
    raise RuntimeError("derivative for aten::heaviside is not implemented")


@pointwise(result="float")
def ldexp(a: Any, b: Any) -> Any:
    """a * 2**b."""
    if a.dtype.kind == "c" or np.any(b != np.rint(b)):
        return a * np.exp2(b) if a.dtype.kind != "c" else a * np.power(2, b)
    exponent = np.clip(b, -10000, 10000).astype(np.int32)
    return np.ldexp(a, exponent)


@ldexp.vjp("a")
def ldexp_da(dy: Any, b: Any) -> Any:
    return mul(dy, conjugate(exp2(b)))


@ldexp.vjp("b")
def ldexp_db(dy: Any, y: Any) -> Any:
    return mul(dy, conjugate(mul(y, LN2)))


@op(outputs=("mantissa", "exponent"))
def frexp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mantissa in [0.5, 1) and exponent of two; of what is not finite, itself and 0."""
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)


@frexp.meta
def frexp_meta(x: Meta) -> tuple[Meta, Meta]:
    check(x.dtype.is_floating_point, "torch.frexp() only supports floating-point dtypes")
    strides = x.strides if x.is_dense else None
    return Meta.of(x.shape, x.dtype, x.device, strides), Meta.of(x.shape, dtypes.int32, x.device, strides)


@frexp.vjp("x")
def frexp_dx(dmantissa: Any, exponent: Any) -> Any:
    return mul(dmantissa, exp2(neg(cast(exponent, dtype=dmantissa._meta.dtype))))
