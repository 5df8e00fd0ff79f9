"""Expressions as LLVM instructions on scalars; a loop around them is turned into vector instructions by LLVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu.emit import F32, F64, I1, I8, I16, I32, intrinsic
from pellucid.engine.backends.cpu.expression import BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, Expression, Untraceable
from pellucid.engine.backends.cpu.vector_math import FUNCTIONS, Maths

HALF = ir.HalfType()


def stored_type(dtype: np.dtype) -> ir.Type:
    """How an element lies in memory."""
    if dtype == FLOAT32:
        return F32
    if dtype == FLOAT64:
        return F64
    return ir.IntType(8 * dtype.itemsize)


def value_type(dtype: np.dtype) -> ir.Type:
    """How a value is held in a register: bools as one bit, half types as float32."""
    if dtype == BOOL:
        return I1
    return F32 if dtype in (BFLOAT16, FLOAT16) else stored_type(dtype)


def load(builder: ir.IRBuilder, address: Any, dtype: np.dtype) -> Any:
    """The value at an address."""
    found = builder.load(address)
    if dtype == BOOL:
        return builder.icmp_unsigned("!=", found, ir.Constant(I8, 0))
    if dtype == BFLOAT16:
        return builder.bitcast(builder.shl(builder.zext(found, I32), ir.Constant(I32, 16)), F32)
    if dtype == FLOAT16:
        return builder.fpext(builder.bitcast(found, HALF), F32)
    return found


def store(builder: ir.IRBuilder, value: Any, address: Any, dtype: np.dtype) -> None:
    """Store a value; half types are rounded to nearest, ties to even."""
    if dtype == BOOL:
        value = builder.zext(value, I8)
    elif dtype == BFLOAT16:
        value = _bfloat16_bits(builder, value)
    elif dtype == FLOAT16:
        value = builder.bitcast(builder.fptrunc(value, HALF), I16)
    builder.store(value, address)


def _bfloat16_bits(builder: ir.IRBuilder, value: Any) -> Any:
    bits = builder.bitcast(value, I32)
    odd = builder.and_(builder.lshr(bits, ir.Constant(I32, 16)), ir.Constant(I32, 1))
    rounded = builder.add(builder.add(bits, ir.Constant(I32, 0x7FFF)), odd)
    quiet = builder.or_(bits, ir.Constant(I32, 0x400000))  # a NaN stays one
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.lshr(builder.select(is_nan, quiet, rounded), ir.Constant(I32, 16)), I16)


class Lowering:
    """Writes an expression's nodes once each at a builder's position; `leaves` gives inputs and parameters."""

    def __init__(self, builder: ir.IRBuilder, leaves: Callable[[Expression], Any]) -> None:
        self.builder = builder
        self.leaves = leaves
        self.done: dict[int, Any] = {}

    def value(self, node: Expression) -> Any:
        """The instruction that computes a node."""
        found = self.done.get(node.number)
        if found is None:
            found = self.done[node.number] = self._write(node)
        return found

    def _write(self, node: Expression) -> Any:
        if node.name == "constant":
            return _constant(node)
        if not node.arguments:
            return self.leaves(node)
        arguments = [self.value(each) for each in node.arguments]
        kind = node.arguments[-1].dtype
        if node.name == "cast":
            return _cast(self.builder, arguments[0], node.arguments[0].dtype, node.dtype)
        if node.name in FUNCTIONS:
            if kind not in (FLOAT32, FLOAT64) or (node.name == "erf" and kind == FLOAT64):
                raise Untraceable(f"{node.name} of {kind}")
            return FUNCTIONS[node.name](Maths(self.builder, arguments[0].type), arguments[0])
        family = _FLOAT if kind.kind == "f" and kind != FLOAT16 else _WHOLE if kind.kind in "iu" else _TRUTH
        if kind in (BFLOAT16, FLOAT16):
            family = _FLOAT
        write = family.get(node.name)
        if write is None:
            raise Untraceable(f"{node.name} of {kind}")
        result = write(self.builder, kind, *arguments)
        if node.dtype in (BFLOAT16, FLOAT16) and node.name != "where":
            raise Untraceable("arithmetic in a half type")
        return result


def _constant(node: Expression) -> Any:
    kind = value_type(node.dtype)
    if node.dtype == BOOL:
        return ir.Constant(kind, int(node.value))
    if node.dtype.kind in "iu":
        return ir.Constant(kind, int(node.value))
    return ir.Constant(kind, float(node.value))


def _cast(builder: ir.IRBuilder, value: Any, given: np.dtype, wanted: np.dtype) -> Any:
    source, target = value_type(given), value_type(wanted)
    if wanted == BOOL:
        zero = ir.Constant(source, 0)
        is_float = isinstance(source, ir.FloatType | ir.DoubleType)
        return builder.fcmp_unordered("!=", value, zero) if is_float else builder.icmp_unsigned("!=", value, zero)
    if isinstance(target, ir.FloatType | ir.DoubleType):
        value = _to_float(builder, value, given, target)
        return _rounded_to(builder, value, wanted)
    if isinstance(source, ir.FloatType | ir.DoubleType):
        raise Untraceable("a float becomes an integer")
    if given == BOOL:
        return builder.zext(value, target)
    if target.width == source.width:
        return value
    if target.width < source.width:
        return builder.trunc(value, target)
    return builder.sext(value, target) if given.kind == "i" else builder.zext(value, target)


def _to_float(builder: ir.IRBuilder, value: Any, given: np.dtype, target: ir.Type) -> Any:
    if given == BOOL or given.kind == "u":
        return builder.uitofp(value, target)
    if given.kind == "i":
        return builder.sitofp(value, target)
    if value.type == target:
        return value
    return builder.fpext(value, target) if isinstance(target, ir.DoubleType) else builder.fptrunc(value, target)


def _rounded_to(builder: ir.IRBuilder, value: Any, wanted: np.dtype) -> Any:
    """A float32 as the half type would hold it."""
    if wanted == FLOAT16:
        return builder.fpext(builder.fptrunc(value, HALF), F32)
    if wanted == BFLOAT16:
        bits = builder.zext(_bfloat16_bits(builder, value), I32)
        return builder.bitcast(builder.shl(bits, ir.Constant(I32, 16)), F32)
    return value


def _call(name: str) -> Callable[..., Any]:
    return lambda b, kind, *arguments: intrinsic(b, name, list(arguments))


def _extreme(b: ir.IRBuilder, x: Any, y: Any, relation: str) -> Any:
    """The larger or smaller of two floats; a NaN if one is, as NumPy's maximum and minimum."""
    chosen = b.select(b.fcmp_ordered(relation, x, y), x, y)
    return b.select(b.fcmp_unordered("uno", x, x), x, chosen)


def _comparison(relation: str) -> Callable[..., Any]:
    if relation == "!=":
        return lambda b, kind, x, y: b.fcmp_unordered("!=", x, y)
    return lambda b, kind, x, y: b.fcmp_ordered(relation, x, y)


def _whole_comparison(relation: str) -> Callable[..., Any]:
    def write(b: ir.IRBuilder, kind: np.dtype, x: Any, y: Any) -> Any:
        return b.icmp_signed(relation, x, y) if kind.kind == "i" else b.icmp_unsigned(relation, x, y)

    return write


def _infinite(b: ir.IRBuilder, kind: np.dtype, x: Any) -> Any:
    return b.fcmp_ordered("==", intrinsic(b, "fabs", [x]), ir.Constant(x.type, float("inf")))


def _sign(b: ir.IRBuilder, kind: np.dtype, x: Any) -> Any:
    zero, one = ir.Constant(x.type, 0.0), ir.Constant(x.type, 1.0)
    signed = intrinsic(b, "copysign", [one, x])
    signed = b.select(b.fcmp_ordered("==", x, zero), zero, signed)
    return b.select(b.fcmp_unordered("uno", x, x), x, signed)


def _signbit(b: ir.IRBuilder, kind: np.dtype, x: Any) -> Any:
    width = ir.IntType(32 if isinstance(x.type, ir.FloatType) else 64)
    return b.icmp_signed("<", b.bitcast(x, width), ir.Constant(width, 0))


def _fmax(b: ir.IRBuilder, x: Any, y: Any, relation: str) -> Any:
    chosen = b.select(b.fcmp_ordered(relation, x, y), x, y)
    chosen = b.select(b.fcmp_unordered("uno", y, y), x, chosen)
    return chosen


_RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FLOAT: dict[str, Callable[..., Any]] = {
    "add": lambda b, kind, x, y: b.fadd(x, y),
    "sub": lambda b, kind, x, y: b.fsub(x, y),
    "mul": lambda b, kind, x, y: b.fmul(x, y),
    "div": lambda b, kind, x, y: b.fdiv(x, y),
    "neg": lambda b, kind, x: b.fneg(x),
    "abs": _call("fabs"),
    "sqrt": _call("sqrt"),
    "floor": _call("floor"),
    "ceil": _call("ceil"),
    "trunc": _call("trunc"),
    "rint": _call("rint"),
    "copysign": _call("copysign"),
    "maximum": lambda b, kind, x, y: _extreme(b, x, y, ">="),
    "minimum": lambda b, kind, x, y: _extreme(b, x, y, "<="),
    "fmax": lambda b, kind, x, y: _fmax(b, x, y, ">="),
    "fmin": lambda b, kind, x, y: _fmax(b, x, y, "<="),
    "isnan": lambda b, kind, x: b.fcmp_unordered("uno", x, x),
    "isinf": _infinite,
    "isfinite": lambda b, kind, x: b.fcmp_ordered("<", intrinsic(b, "fabs", [x]), ir.Constant(x.type, float("inf"))),
    "pow": lambda b, kind, x, y: Maths(b, x.type).pow(x, y),
    "sign": _sign,
    "signbit": _signbit,
    "where": lambda b, kind, condition, x, y: b.select(condition, x, y),
    "and": lambda b, kind, x, y: b.and_(_truth(b, x), _truth(b, y)),
    "or": lambda b, kind, x, y: b.or_(_truth(b, x), _truth(b, y)),
    "not": lambda b, kind, x: b.not_(_truth(b, x)),
    **{name: _comparison(relation) for name, relation in _RELATIONS.items()},
}


def _truth(b: ir.IRBuilder, x: Any) -> Any:
    if isinstance(x.type, ir.FloatType | ir.DoubleType):
        return b.fcmp_unordered("!=", x, ir.Constant(x.type, 0.0))
    return x if x.type == I1 else b.icmp_unsigned("!=", x, ir.Constant(x.type, 0))


def _whole_extreme(relation: str) -> Callable[..., Any]:
    compare = _whole_comparison(relation)
    return lambda b, kind, x, y: b.select(compare(b, kind, x, y), x, y)


_WHOLE: dict[str, Callable[..., Any]] = {
    "add": lambda b, kind, x, y: b.add(x, y),
    "sub": lambda b, kind, x, y: b.sub(x, y),
    "mul": lambda b, kind, x, y: b.mul(x, y),
    "neg": lambda b, kind, x: b.neg(x),
    "abs": lambda b, kind, x: b.select(b.icmp_signed("<", x, ir.Constant(x.type, 0)), b.neg(x), x)
    if kind.kind == "i" else x,
    "maximum": _whole_extreme(">"),
    "minimum": _whole_extreme("<"),
    "fmax": _whole_extreme(">"),
    "fmin": _whole_extreme("<"),
    "bitand": lambda b, kind, x, y: b.and_(x, y),
    "bitor": lambda b, kind, x, y: b.or_(x, y),
    "bitxor": lambda b, kind, x, y: b.xor(x, y),
    "invert": lambda b, kind, x: b.not_(x),
    "where": lambda b, kind, condition, x, y: b.select(condition, x, y),
    "and": _FLOAT["and"],
    "or": _FLOAT["or"],
    "not": _FLOAT["not"],
    "isnan": lambda b, kind, x: ir.Constant(I1, 0),
    **{name: _whole_comparison(relation) for name, relation in _RELATIONS.items()},
}  # fmt: skip
_TRUTH: dict[str, Callable[..., Any]] = {
    "add": lambda b, kind, x, y: b.or_(x, y),
    "mul": lambda b, kind, x, y: b.and_(x, y),
    "and": lambda b, kind, x, y: b.and_(x, y),
    "or": lambda b, kind, x, y: b.or_(x, y),
    "xor": lambda b, kind, x, y: b.xor(x, y),
    "bitand": lambda b, kind, x, y: b.and_(x, y),
    "bitor": lambda b, kind, x, y: b.or_(x, y),
    "bitxor": lambda b, kind, x, y: b.xor(x, y),
    "not": lambda b, kind, x: b.not_(x),
    "invert": lambda b, kind, x: b.not_(x),
    "maximum": lambda b, kind, x, y: b.or_(x, y),
    "minimum": lambda b, kind, x, y: b.and_(x, y),
    "where": lambda b, kind, condition, x, y: b.select(condition, x, y),
    "eq": lambda b, kind, x, y: b.not_(b.xor(x, y)),
    "ne": lambda b, kind, x, y: b.xor(x, y),
    "lt": lambda b, kind, x, y: b.and_(b.not_(x), y),
    "le": lambda b, kind, x, y: b.or_(b.not_(x), y),
    "gt": lambda b, kind, x, y: b.and_(x, b.not_(y)),
    "ge": lambda b, kind, x, y: b.or_(x, b.not_(y)),
}
