"""sin, cos, tan, their hyperbolic kin and inverses."""

from __future__ import annotations

from pellucid.engine.ops import trigonometry as ops
from pellucid.engine.tensor.arguments import binary, in_place, unary

sin = unary(ops.sin, "sin", "Sine of angles in radians.", "torch.sin(torch.tensor([0.0]))\n    tensor([0.])")
cos = unary(ops.cos, "cos", "Cosine of angles in radians.", "torch.cos(torch.tensor([0.0]))\n    tensor([1.])")
tan = unary(ops.tan, "tan", "Tangent of angles in radians.", "torch.tan(torch.tensor([0.0]))\n    tensor([0.])")
asin = unary(ops.asin, "asin", "Angles of sines.", "torch.asin(torch.tensor([0.0]))\n    tensor([0.])")
acos = unary(ops.acos, "acos", "Angles of cosines.", "torch.acos(torch.tensor([1.0]))\n    tensor([0.])")
atan = unary(ops.atan, "atan", "Angles of tangents.", "torch.atan(torch.tensor([0.0]))\n    tensor([0.])")
sinh = unary(ops.sinh, "sinh", "Hyperbolic sine.", "torch.sinh(torch.tensor([0.0]))\n    tensor([0.])")
cosh = unary(ops.cosh, "cosh", "Hyperbolic cosine.", "torch.cosh(torch.tensor([0.0]))\n    tensor([1.])")
asinh = unary(ops.asinh, "asinh", "Inverse hyperbolic sine.", "torch.asinh(torch.tensor([0.0]))\n    tensor([0.])")
acosh = unary(ops.acosh, "acosh", "Inverse hyperbolic cosine.", "torch.acosh(torch.tensor([1.0]))\n    tensor([0.])")
atanh = unary(ops.atanh, "atanh", "Inverse hyperbolic tangent.", "torch.atanh(torch.tensor([0.0]))\n    tensor([0.])")
atan2 = binary(ops.atan2, "atan2", "Angles of the points (other, input), in (-pi, pi].")
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh


class TrigonometryMethods:
    """Rows of `Tensor`."""

    sin = sin
    sin_ = in_place(sin)
    cos = cos
    cos_ = in_place(cos)
    tan = tan
    tan_ = in_place(tan)
    asin = asin
    arcsin = asin
    asin_ = in_place(asin)
    arcsin_ = asin_
    acos = acos
    arccos = acos
    acos_ = in_place(acos)
    arccos_ = acos_
    atan = atan
    arctan = atan
    atan_ = in_place(atan)
    arctan_ = atan_
    atan2 = atan2
    arctan2 = atan2
    atan2_ = in_place(atan2)
    arctan2_ = atan2_
    sinh = sinh
    sinh_ = in_place(sinh)
    cosh = cosh
    cosh_ = in_place(cosh)
    asinh = asinh
    arcsinh = asinh
    asinh_ = in_place(asinh)
    arcsinh_ = asinh_
    acosh = acosh
    arccosh = acosh
    acosh_ = in_place(acosh)
    arccosh_ = acosh_
    atanh = atanh
    arctanh = atanh
    atanh_ = in_place(atanh)
    arctanh_ = atanh_
