"""Words for writing LLVM: types, loops, loads and stores. No kernel is here, only what kernels are said in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

VOID = ir.VoidType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
BYTES = I8.as_pointer()


def i64(value: int) -> ir.Constant:
    """A 64-bit integer constant."""
    return ir.Constant(I64, value)


def i32(value: int) -> ir.Constant:
    """A 32-bit integer constant."""
    return ir.Constant(I32, value)


@contextmanager
def counting(builder: ir.IRBuilder, start: Any, stop: Any, step: int | Any = 1, name: str = "i") -> Iterator[ir.Value]:
    """A loop `for i in range(start, stop, step)`; its body is what is written inside."""
    start = i64(start) if isinstance(start, int) else start
    stop = i64(stop) if isinstance(stop, int) else stop
    step = i64(step) if isinstance(step, int) else step
    function = builder.function
    before = builder.block
    head = function.append_basic_block(f"{name}.head")
    body = function.append_basic_block(f"{name}.body")
    after = function.append_basic_block(f"{name}.end")
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I64, name)
    index.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", index, stop), body, after)
    builder.position_at_end(body)
    yield index
    following = builder.add(index, step, flags=["nsw"])
    index.add_incoming(following, builder.block)
    builder.branch(head)
    builder.position_at_end(after)


@contextmanager
def carrying(
    builder: ir.IRBuilder, start: Any, stop: Any, initial: list[Any], step: int = 1, name: str = "i"
) -> Iterator[Carried]:
    """A loop whose values go from turn to turn: read `.values`, set `.next`; after it, `.values` are the last."""
    start = i64(start) if isinstance(start, int) else start
    stop = i64(stop) if isinstance(stop, int) else stop
    function = builder.function
    before = builder.block
    head = function.append_basic_block(f"{name}.head")
    body = function.append_basic_block(f"{name}.body")
    after = function.append_basic_block(f"{name}.end")
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I64, name)
    index.add_incoming(start, before)
    phis = [builder.phi(value.type) for value in initial]
    for phi, value in zip(phis, initial, strict=True):
        phi.add_incoming(value, before)
    builder.cbranch(builder.icmp_signed("<", index, stop), body, after)
    builder.position_at_end(body)
    carried = Carried(index, list(phis))
    yield carried
    index.add_incoming(builder.add(index, i64(step), flags=["nsw"]), builder.block)
    for phi, value in zip(phis, carried.next, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(after)


class Carried:
    """The index and the carried values of a `carrying` loop."""

    def __init__(self, index: Any, values: list[Any]) -> None:
        self.index = index
        self.values = values
        self.next: list[Any] = []


def at(builder: ir.IRBuilder, base: Any, index: Any) -> Any:
    """The address of element `index`."""
    return builder.gep(base, [i64(index) if isinstance(index, int) else index], inbounds=True)


def at_byte(builder: ir.IRBuilder, base: Any, offset: Any, kind: ir.Type) -> Any:
    """The address `offset` bytes on, as a pointer to `kind`."""
    raw = builder.bitcast(base, BYTES)
    return builder.bitcast(at(builder, raw, offset), kind.as_pointer())


def extent(builder: ir.IRBuilder, work: Any, index: int) -> Any:
    """Entry `index` of a kernel's array of extents."""
    return builder.load(at(builder, work, index))


def vector(kind: ir.Type, lanes: int) -> ir.VectorType:
    """The type of `lanes` elements."""
    return ir.VectorType(kind, lanes)


def splat(builder: ir.IRBuilder, value: Any, lanes: int) -> Any:
    """A vector that holds `value` in every lane."""
    kind = ir.VectorType(value.type, lanes)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, i32(0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), ir.Constant(vector(I32, lanes), [0] * lanes))


def load_vector(builder: ir.IRBuilder, address: Any, lanes: int) -> Any:
    """`lanes` elements from an address that is aligned to one element."""
    element = address.type.pointee
    found = builder.load(builder.bitcast(address, vector(element, lanes).as_pointer()))
    found.align = itemsize_of(element)
    return found


def store_vector(builder: ir.IRBuilder, value: Any, address: Any) -> None:
    """Store a vector at an address that is aligned to one element."""
    made = builder.store(value, builder.bitcast(address, value.type.as_pointer()))
    made.align = itemsize_of(value.type.element)


def itemsize_of(kind: ir.Type) -> int:
    """Bytes of a scalar type."""
    if isinstance(kind, ir.IntType):
        return max(kind.width // 8, 1)
    return 4 if isinstance(kind, ir.FloatType) else 8 if isinstance(kind, ir.DoubleType) else 2


def intrinsic(builder: ir.IRBuilder, name: str, arguments: list[Any], result: ir.Type | None = None) -> Any:
    """Call LLVM's intrinsic `llvm.<name>.<type>` on arguments of one type."""
    kind = arguments[0].type
    suffix = _suffix(kind)
    function_type = ir.FunctionType(result or kind, [each.type for each in arguments])
    full = f"llvm.{name}.{suffix}"
    known = builder.module.globals.get(full)
    function = known if known is not None else ir.Function(builder.module, function_type, full)
    return builder.call(function, arguments)


def _suffix(kind: ir.Type) -> str:
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{_suffix(kind.element)}"
    if isinstance(kind, ir.IntType):
        return f"i{kind.width}"
    return "f32" if isinstance(kind, ir.FloatType) else "f64"


def fma(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    return intrinsic(builder, "fma", [a, b, c])


def scratch(builder: ir.IRBuilder, kind: ir.Type, count: int) -> Any:
    """`count` elements on the stack, aligned to a cache line; at most 64 KiB."""
    with builder.goto_entry_block():
        made = builder.alloca(kind, i64(count))
    made.align = 64
    return made
