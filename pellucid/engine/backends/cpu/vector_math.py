"""exp, log, tanh, erf and their kin as straight-line code on one value, which LLVM turns into vector instructions.

Each function is for float32 and float64 alike: range reduction, a polynomial, reconstruction; selects instead of
branches, so that every lane goes the same way. Errors stay below 2 units in the last place, subnormal results and
infinities included. Sources: Cody and Waite, Software Manual for the Elementary Functions (1980); Sun's fdlibm (1993);
Moshier's Cephes (1989); polynomials marked "fitted" are our own least-maximum fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from pellucid.engine.backends.cpu.emit import I32, I64, intrinsic

LN2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
_LN2_PARTS = {"f32": (0.693359375, -2.12194440e-4), "f64": (0.693147180369123816490, 1.90821492927058770002e-10)}
_FACTORIALS = [1.0, 1.0, 0.5]
for _each in range(3, 14):
    _FACTORIALS.append(_FACTORIALS[-1] / _each)
_LOG = {  # of s = f / (2 + f), in s squared
    "f32": (0.66666666, 0.40000002, 0.28571286, 0.22222742, 0.18178532),
    "f64": (
        6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
        1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860510658591e-01,
    ),
}  # fmt: skip
_TANH_32 = (-0.333333283662796, 0.13332794606685638, -0.053854066878557205, 0.021010074764490128, -0.006113182753324509)
_TANH_64 = (
    (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1),
    (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0),
)
_ERF_SMALL = (
    0.12837916612625122, -0.37612634897232056, 0.11283694207668304, -0.02685927040874958, 0.005200634244829416,
    -0.0008137436816468835, 8.345221431227401e-05,
)  # fmt: skip
_ERF_LARGE = (
    1.1285449266433716, 0.6356565356254578, 0.10520292073488235, -0.02261202223598957, 0.0028923091012984514,
    -3.60677731805481e-05, -4.8201633035205305e-05, 5.1508313845261e-06,
)  # fmt: skip


class Maths:
    """Writes functions of one value of type `kind` (float, double or a vector of them) at a builder's position."""

    def __init__(self, builder: ir.IRBuilder, kind: ir.Type) -> None:
        self.builder = builder
        self.kind = kind
        self.lanes = kind.count if isinstance(kind, ir.VectorType) else 0
        self.is_single = isinstance(kind.element if self.lanes else kind, ir.FloatType)
        self.name = "f32" if self.is_single else "f64"
        whole = I32 if self.is_single else I64
        self.whole = ir.VectorType(whole, self.lanes) if self.lanes else whole
        self.mantissa = 23 if self.is_single else 52
        self.bias = 127 if self.is_single else 1023

    def number(self, value: float) -> ir.Constant:
        """A constant of this type."""
        return ir.Constant(self.kind, [value] * self.lanes if self.lanes else value)

    def integer(self, value: int) -> ir.Constant:
        """A constant of the integer type of the same width."""
        return ir.Constant(self.whole, [value] * self.lanes if self.lanes else value)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c, rounded once where the processor can do that quickly."""
        return intrinsic(self.builder, "fmuladd", [a, b, c])

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """Horner's scheme; coefficients from the constant upwards."""
        result: Any = self.number(coefficients[-1])
        for each in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(each))
        return result

    def call(self, name: str, *arguments: Any) -> Any:
        """One of LLVM's intrinsics."""
        return intrinsic(self.builder, name, list(arguments))

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """`a` where the condition holds, else `b`."""
        return self.builder.select(condition, a, b)

    def less(self, a: Any, b: Any) -> Any:
        """a < b, false for a NaN."""
        return self.builder.fcmp_ordered("<", a, b)

    def is_nan(self, x: Any) -> Any:
        """Whether x is a NaN."""
        return self.builder.fcmp_unordered("uno", x, x)

    def power_of_two(self, exponent: Any) -> Any:
        """2 to an integer within the range of normal numbers."""
        b = self.builder
        return b.bitcast(b.shl(b.add(exponent, self.integer(self.bias)), self.integer(self.mantissa)), self.kind)

    def _reduced(self, x: Any) -> tuple[Any, Any, Any]:
        """x as n ln 2 + r: (n as a float, n as an integer, r)."""
        high, low = _LN2_PARTS[self.name]
        n = self.call("rint", self.builder.fmul(x, self.number(LOG2_E)))
        r = self.fma(n, self.number(-high), x)
        return n, self.builder.fptosi(n, self.whole), self.fma(n, self.number(-low), r)

    def _scaled(self, value: Any, exponent: Any) -> Any:
        """value * 2**exponent in two steps, so that results near the ends of the range round once."""
        b = self.builder
        half = b.ashr(exponent, self.integer(1))
        first = b.fmul(value, self.power_of_two(half))
        return b.fmul(first, self.power_of_two(b.sub(exponent, half)))

    def exp(self, x: Any) -> Any:
        """e to the x."""
        low, high = (-104.0, 89.0) if self.is_single else (-746.0, 710.0)
        clipped = self.select(self.less(x, self.number(low)), self.number(low), x)
        clipped = self.select(self.less(self.number(high), clipped), self.number(high), clipped)
        clipped = self.select(self.is_nan(x), self.number(0), clipped)
        _, exponent, r = self._reduced(clipped)
        degree = 7 if self.is_single else 13
        tail = self.polynomial(r, _FACTORIALS[2 : degree + 1])
        value = self.builder.fadd(self.fma(self.builder.fmul(r, r), tail, r), self.number(1))
        return self.select(self.is_nan(x), x, self._scaled(value, exponent))

    def expm1(self, x: Any) -> Any:
        """e to the x, less 1, exact also where x is small."""
        b = self.builder
        low, high = (-20.0, 89.0) if self.is_single else (-40.0, 710.0)
        clipped = self.select(self.less(x, self.number(low)), self.number(low), x)
        clipped = self.select(self.less(self.number(high), clipped), self.number(high), clipped)
        clipped = self.select(self.is_nan(x), self.number(0), clipped)
        _, exponent, r = self._reduced(clipped)
        degree = 8 if self.is_single else 14
        factorials = [*_FACTORIALS, _FACTORIALS[-1] / 14]
        tail = self.polynomial(r, factorials[2 : degree + 1])
        near = self.fma(b.fmul(r, r), tail, r)  # expm1(r)
        # 2^n (1 + near) - 1 = 2^n near + (2^n - 1), halved so that 2^n does not overflow
        half = self.power_of_two(b.sub(exponent, self.integer(1)))
        sum_ = b.fadd(b.fmul(half, near), b.fsub(half, self.number(0.5)))
        value = b.fmul(sum_, self.number(2))
        tiny = self.less(self.call("fabs", x), self.number(1e-5 if self.is_single else 1e-10))
        value = self.select(tiny, self.fma(b.fmul(x, self.number(0.5)), x, x), value)
        value = self.select(b.fcmp_ordered("==", x, self.number(0)), x, value)
        return self.select(self.is_nan(x), x, value)

    def exp2(self, x: Any) -> Any:
        """2 to the x."""
        low, high = (-151.0, 129.0) if self.is_single else (-1076.0, 1025.0)
        clipped = self.select(self.less(x, self.number(low)), self.number(low), x)
        clipped = self.select(self.less(self.number(high), clipped), self.number(high), clipped)
        clipped = self.select(self.is_nan(x), self.number(0), clipped)
        n = self.call("rint", clipped)
        r = self.builder.fmul(self.builder.fsub(clipped, n), self.number(LN2))
        degree = 7 if self.is_single else 13
        tail = self.polynomial(r, _FACTORIALS[2 : degree + 1])
        value = self.builder.fadd(self.fma(self.builder.fmul(r, r), tail, r), self.number(1))
        return self.select(self.is_nan(x), x, self._scaled(value, self.builder.fptosi(n, self.whole)))

    def _split(self, x: Any) -> tuple[Any, Any]:
        """A positive normal x as (exponent as a float, mantissa - 1) with the mantissa in [sqrt(1/2), sqrt(2))."""
        b = self.builder
        bits = b.bitcast(x, self.whole)
        root_half = 0x3F3504F3 if self.is_single else 0x3FE6A09E667F3BCD
        shifted = b.sub(bits, self.integer(root_half))
        exponent = b.ashr(shifted, self.integer(self.mantissa))
        mantissa = b.bitcast(b.sub(bits, b.shl(exponent, self.integer(self.mantissa))), self.kind)
        return b.sitofp(exponent, self.kind), b.fsub(mantissa, self.number(1))

    def _log_parts(self, x: Any) -> tuple[Any, Any, Any]:
        """(exponent, f, correction): log x = exponent ln 2 + f - correction, x of any positive value."""
        b = self.builder
        smallest, lift = (1.17549435e-38, 23) if self.is_single else (2.2250738585072014e-308, 52)
        subnormal = self.less(x, self.number(smallest))
        lifted = self.select(subnormal, b.fmul(x, self.number(float(2**lift))), x)
        exponent, f = self._split(lifted)
        exponent = b.fsub(exponent, self.select(subnormal, self.number(float(lift)), self.number(0)))
        s = b.fdiv(f, b.fadd(f, self.number(2)))
        square = b.fmul(s, s)
        series = b.fmul(square, self.polynomial(square, _LOG[self.name]))
        half_square = b.fmul(b.fmul(f, f), self.number(0.5))
        return exponent, f, b.fsub(half_square, b.fmul(s, b.fadd(half_square, series)))

    def _log_edges(self, x: Any, value: Any) -> Any:
        """What a logarithm is at 0, below, at infinity and for a NaN."""
        value = self.select(b_eq(self, x, float("inf")), x, value)
        value = self.select(b_eq(self, x, 0.0), self.number(float("-inf")), value)
        value = self.select(self.less(x, self.number(0)), self.number(float("nan")), value)
        return self.select(self.is_nan(x), x, value)

    def log(self, x: Any) -> Any:
        """The natural logarithm."""
        b = self.builder
        exponent, f, correction = self._log_parts(x)
        high, low = _LN2_PARTS[self.name]
        value = b.fsub(
            b.fsub(self.fma(exponent, self.number(-low), correction), f), b.fmul(exponent, self.number(high))
        )
        return self._log_edges(x, b.fsub(self.number(0), value))  # no -0 of 1

    def log1p(self, x: Any) -> Any:
        """log(1 + x), exact also where x is small: the rounding of 1 + x is put back (Kahan)."""
        b = self.builder
        above = b.fadd(x, self.number(1))
        safe = self.select(self.less(self.number(0), above), above, self.number(1))
        safe = self.select(b_eq(self, safe, float("inf")), self.number(1), safe)
        large = self.less(self.number(1), x)
        one = b.fsub(above, self.select(large, x, self.number(1)))
        lost = b.fsub(self.select(large, self.number(1), x), one)
        lost = b.fdiv(lost, safe)
        exponent, f, correction = self._log_parts(safe)
        high, low = _LN2_PARTS[self.name]
        inner = b.fsub(correction, self.fma(exponent, self.number(low), lost))
        value = b.fneg(b.fsub(b.fsub(inner, f), b.fmul(exponent, self.number(high))))
        tiny = self.less(self.call("fabs", x), self.number(1e-8 if self.is_single else 1e-17))
        value = self.select(tiny, x, value)
        return self.select(b_eq(self, x, 0.0), x, self._log_edges(above, value))

    def log2(self, x: Any) -> Any:
        """The logarithm to base 2; exact for powers of 2."""
        return self._log_to_base(x, 1 / LN2, 1.0)

    def log10(self, x: Any) -> Any:
        """The logarithm to base 10."""
        return self._log_to_base(x, 0.4342944819032518, 0.30102999566398120)

    def _log_to_base(self, x: Any, of_e: float, of_two: float) -> Any:
        b = self.builder
        if self.is_single:  # in double precision, where rounding cannot add up
            wide = Maths(b, ir.VectorType(ir.DoubleType(), self.lanes) if self.lanes else ir.DoubleType())
            value = wide._log_to_base(b.fpext(x, wide.kind), of_e, of_two)
            return b.fptrunc(value, self.kind)
        exponent, f, correction = self._log_parts(x)
        value = self.fma(exponent, self.number(of_two), b.fmul(b.fsub(f, correction), self.number(of_e)))
        return self._log_edges(x, value)

    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent: a polynomial near 0, 1 - 2 / (exp(2|x|) + 1) elsewhere."""
        b = self.builder
        size = self.call("fabs", x)
        square = b.fmul(x, x)
        if self.is_single:
            near = self.fma(b.fmul(square, x), self.polynomial(square, _TANH_32), x)
        else:
            ratio = b.fdiv(self.polynomial(square, _TANH_64[0]), self.polynomial(square, _TANH_64[1]))
            near = self.fma(b.fmul(square, x), ratio, x)
        grown = self.exp(b.fadd(size, size))
        far = b.fsub(self.number(1), b.fdiv(self.number(2), b.fadd(grown, self.number(1))))
        value = self.call("copysign", self.select(self.less(size, self.number(0.625)), near, far), x)
        return self.select(self.is_nan(x), x, value)

    def erf(self, x: Any) -> Any:
        """The error function in float32: x + x P(x^2) near 0, 1 - exp(-|x| Q(|x|)) elsewhere (fitted)."""
        if not self.is_single:
            raise NotImplementedError("erf in float64 is traced from its NumPy body")
        b = self.builder
        size = self.call("fabs", x)
        near = self.fma(x, self.polynomial(b.fmul(x, x), _ERF_SMALL), x)
        bounded = self.select(self.less(size, self.number(4.1)), size, self.number(4.1))
        grown = self.exp(b.fneg(b.fmul(bounded, self.polynomial(bounded, _ERF_LARGE))))
        far = b.fsub(self.number(1), grown)
        value = self.select(self.less(size, self.number(0.93)), near, self.call("copysign", far, x))
        return self.select(self.is_nan(x), x, value)

    def pow(self, x: Any, y: Any) -> Any:
        """x to the y in float32, as 2 ** (y log2|x|) in double precision; edges as in C's pow."""
        if not self.is_single:
            raise NotImplementedError("pow in float64 is NumPy's")
        b, double = self.builder, ir.DoubleType()
        wide = Maths(b, double)
        exponent = b.fpext(y, double)
        size = wide.call("fabs", b.fpext(x, double))
        power = wide.exp2(b.fmul(exponent, wide.log2(size)))
        power = self.select(b_eq(wide, size, 1.0), wide.number(1), power)  # also for an infinite exponent
        value = b.fptrunc(power, self.kind)
        half = b.fmul(exponent, wide.number(0.5))
        whole = b.fcmp_ordered("==", wide.call("floor", exponent), exponent)
        odd = b.and_(whole, b.fcmp_ordered("!=", wide.call("floor", half), half))
        bits = b.bitcast(x, self.whole)
        negative = b.icmp_signed("<", bits, self.integer(0))
        value = self.select(b.and_(negative, odd), b.fneg(value), value)
        finite = self.less(size, wide.number(float("inf")))
        root = b.and_(b.and_(self.less(x, self.number(0)), finite), b.not_(whole))
        value = self.select(root, self.number(float("nan")), value)
        is_nan = b.or_(self.is_nan(x), self.is_nan(y))
        value = self.select(is_nan, self.number(float("nan")), value)
        return self.select(b.or_(b_eq(self, y, 0.0), b_eq(self, x, 1.0)), self.number(1), value)


def b_eq(maths: Maths, x: Any, value: float) -> Any:
    """Whether x is this number."""
    return maths.builder.fcmp_ordered("==", x, maths.number(value))


FUNCTIONS: dict[str, Callable[[Maths, Any], Any]] = {
    "exp": Maths.exp, "expm1": Maths.expm1, "exp2": Maths.exp2, "log": Maths.log, "log1p": Maths.log1p,
    "log2": Maths.log2, "log10": Maths.log10, "tanh": Maths.tanh, "erf": Maths.erf,
}  # fmt: skip
