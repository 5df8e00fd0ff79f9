"""Circular and hyperbolic functions, their inverses, and angles."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.errors import check
from pellucid.engine.ops import trigonometry as ops
from pellucid.engine.tensor.arguments import binary_of_tensors, in_place, need_tensor, unary

sin = unary(ops.sin, "sin", "Sine of angles in radians.", "torch.sin(torch.tensor([0.0]))\n    tensor([0.])")
cos = unary(ops.cos, "cos", "Cosine of angles in radians.", "torch.cos(torch.tensor([0.0]))\n    tensor([1.])")
tan = unary(ops.tan, "tan", "Tangent of angles in radians.", "torch.tan(torch.tensor([0.0]))\n    tensor([0.])")
asin = unary(
    ops.asin,
    "asin",
    "Angles in [-pi/2, pi/2] with these sines.",
    "torch.asin(torch.tensor([1.0]))\n    tensor([1.5708])",
)
acos = unary(
    ops.acos, "acos", "Angles in [0, pi] with these cosines.", "torch.acos(torch.tensor([1.0]))\n    tensor([0.])"
)
atan = unary(ops.atan, "atan", "Angles with these tangents.", "torch.atan(torch.tensor([1.0]))\n    tensor([0.7854])")
sinh = unary(ops.sinh, "sinh", "Hyperbolic sine.", "torch.sinh(torch.tensor([0.0]))\n    tensor([0.])")
cosh = unary(ops.cosh, "cosh", "Hyperbolic cosine.", "torch.cosh(torch.tensor([0.0]))\n    tensor([1.])")
asinh = unary(ops.asinh, "asinh", "Inverse hyperbolic sine.", "torch.asinh(torch.tensor([0.0]))\n    tensor([0.])")
acosh = unary(ops.acosh, "acosh", "Inverse hyperbolic cosine.", "torch.acosh(torch.tensor([1.0]))\n    tensor([0.])")
atanh = unary(ops.atanh, "atanh", "Inverse hyperbolic tangent.", "torch.atanh(torch.tensor([0.0]))\n    tensor([0.])")
sinc = unary(
    ops.sinc,
    "sinc",
    "sin(pi x) / (pi x), and 1 at 0.",
    "torch.sinc(torch.tensor([0.0, 0.5]))\n    tensor([1.0000, 0.6366])",
)
arcsin, arccos, arctan = asin, acos, atan
arcsinh, arccosh, arctanh = asinh, acosh, atanh
atan2 = binary_of_tensors(
    ops.atan2,
    "atan2",
    "Angles of the points (other, input).",
    "torch.atan2(torch.tensor([1.0]), torch.tensor([-1.0]))\n    tensor([2.3562])",
)
arctan2 = atan2
hypot = binary_of_tensors(
    ops.hypot,
    "hypot",
    "Lengths of hypotenuses.",
    "torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))\n    tensor([5.])",
)


def deg2rad(input: Any, *, out: Any = None) -> Any:
    """Angles in degrees, in radians; RuntimeError for complex numbers.

    >>> import pellucid as torch
    >>> torch.deg2rad(torch.tensor([180.0]))
    tensor([3.1416])
    """
    check(not need_tensor(input, "deg2rad")._meta.dtype.is_complex, "deg2rad is not supported for complex tensors.")
    return ops.deg2rad(input, out=out)


def rad2deg(input: Any, *, out: Any = None) -> Any:
    """Angles in radians, in degrees; RuntimeError for complex numbers.

    >>> import pellucid as torch
    >>> torch.rad2deg(torch.tensor([torch.pi]))
    tensor([180.])
    """
    check(not need_tensor(input, "rad2deg")._meta.dtype.is_complex, "rad2deg is not supported for complex tensors.")
    return ops.rad2deg(input, out=out)


sin_, cos_, tan_ = in_place(sin), in_place(cos), in_place(tan)
asin_, acos_, atan_ = in_place(asin), in_place(acos), in_place(atan)
arcsin_, arccos_, arctan_ = asin_, acos_, atan_
sinh_, cosh_ = in_place(sinh), in_place(cosh)
asinh_, acosh_, atanh_ = in_place(asinh), in_place(acosh), in_place(atanh)
arcsinh_, arccosh_, arctanh_ = asinh_, acosh_, atanh_
sinc_, deg2rad_, rad2deg_ = in_place(sinc), in_place(deg2rad), in_place(rad2deg)


class TrigonometryMethods:
    """Rows of `Tensor`."""

    sin = sin
    sin_ = sin_
    cos = cos
    cos_ = cos_
    tan = tan
    tan_ = tan_
    asin = asin
    asin_ = asin_
    acos = acos
    acos_ = acos_
    atan = atan
    atan_ = atan_
    sinh = sinh
    sinh_ = sinh_
    cosh = cosh
    cosh_ = cosh_
    asinh = asinh
    asinh_ = asinh_
    acosh = acosh
    acosh_ = acosh_
    atanh = atanh
    atanh_ = atanh_
    sinc = sinc
    sinc_ = sinc_
    arcsin = arcsin
    arcsin_ = arcsin_
    arccos = arccos
    arccos_ = arccos_
    arctan = arctan
    arctan_ = arctan_
    arcsinh = arcsinh
    arcsinh_ = arcsinh_
    arccosh = arccosh
    arccosh_ = arccosh_
    arctanh = arctanh
    arctanh_ = arctanh_
    deg2rad = deg2rad
    deg2rad_ = deg2rad_
    rad2deg = rad2deg
    rad2deg_ = rad2deg_
    atan2 = atan2
    atan2_ = in_place(atan2)
    hypot = hypot
    hypot_ = in_place(hypot)
    arctan2 = arctan2
    arctan2_ = atan2_
