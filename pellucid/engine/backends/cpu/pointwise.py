"""Pointwise operators as loops: the traced body in the middle, any strides and broadcasts around it.

One kernel serves all sizes: what it is made for is the expression, the types, and how the innermost axis of each
operand lies (adjacent, one element, or strided).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, counting, extent, i64
from pellucid.engine.backends.cpu.expression import (
    FLOAT64,
    Expression,
    Graph,
    Symbol,
    Untraceable,
    evaluate,
    node_of,
    text,
)  # fmt: skip
from pellucid.engine.backends.cpu.layout import Layout, layout
from pellucid.engine.backends.cpu.lower import Lowering, load, store, stored_type
from pellucid.engine.backends.cpu.vector_math import FUNCTIONS
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.meta import Meta

_EXACT = 2**53  # integers up to here are exact as a float, which is how a kernel gets its numbers
FAILURES = (Untraceable, TypeError, ValueError, AttributeError, NotImplementedError, OverflowError)


class Refused:
    """A body that has no expression; `guards` are what it asked of its numbers before that showed."""

    def __init__(self, guards: list[tuple[Expression, bool]]) -> None:
        self.guards = guards

    def fits(self, values: dict[Any, Any]) -> bool:
        """Whether the body would take the same way with these numbers."""
        return all([bool(evaluate(node, values)) == answer for node, answer in self.guards])


class Traced(Refused):
    """A body as an expression for given types and settings."""

    def __init__(self, graph: Graph, result: Expression, inputs: list[int], numbers: list[Any]) -> None:
        super().__init__(graph.guards)
        self.result = result
        self.inputs = inputs
        self.numbers = numbers  # positions of operands and names of settings that are given at each call
        self.spec = text(result, lambda leaf: f"{leaf.name[0]}{leaf.value}:{leaf.dtype.name}")
        self.cost = sum([20 if node.name in FUNCTIONS else 1 for node in graph.nodes.values()])

    def used_inputs(self) -> list[int]:
        """The inputs that the expression reads."""
        return [node.value for node in leaves(self.result, "input")]


def trace(
    body: Callable[..., Any],
    metas: tuple[Any, ...],
    casts: list[dtype_type | None],
    result: Meta,
    given: dict[Any, Any],
    settings: dict[str, Any],
    graph: Graph | None = None,
) -> Traced:
    """The expression of a body; `given` has the values of operands that are numbers, by position."""
    graph = Graph() if graph is None else graph
    inputs: list[int] = []
    numbers: list[Any] = []
    operands: list[Any] = []
    for position, (meta, cast) in enumerate(zip(metas, casts, strict=True)):
        if isinstance(meta, Meta):
            node = graph.node("input", (), meta.dtype.numpy, len(inputs))
            inputs.append(position)
        elif meta is None:
            operands.append(None)
            continue
        else:
            _check_number(given[position])
            graph.values[position] = given[position]
            node = graph.node("parameter", (), FLOAT64 if cast is None else cast.numpy, position)
            numbers.append(position)
        operands.append(Symbol(graph, node if cast is None else graph.cast(node, cast.numpy)))
    options = {}
    for name, value in settings.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            _check_number(value)
            graph.values[name] = value
            numbers.append(name)
            value = Setting(graph, graph.node("parameter", (), FLOAT64, name))
        options[name] = value
    found = body(*operands, **options)
    node = graph.cast(node_of(graph, found, getattr(found, "dtype", result.dtype.numpy)), result.dtype.numpy)
    return Traced(graph, node, inputs, numbers)


class Setting(Symbol):
    """A traced number, which takes the type of what it meets, as Python's numbers do."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        others = [each.dtype for each in inputs if isinstance(each, Symbol) and not isinstance(each, Setting)]
        floats = [each for each in others if each.kind == "f"]
        if not floats:
            if others:
                raise Untraceable("a number meets integers")
            found = super().__array_ufunc__(ufunc, method, *inputs, **options)
            return Setting(self.graph, found.node)
        cast = [each.astype(floats[0]) if isinstance(each, Setting) else each for each in inputs]
        return floats and super().__array_ufunc__(ufunc, method, *cast, **options)

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        return Symbol(self.graph, self.graph.cast(self.node, dtype))


def _check_number(value: Any) -> None:
    if isinstance(value, complex | np.complexfloating):
        raise Untraceable("a complex number")


def build_kernel(traced: Traced, where: Layout) -> jit.Kernel:
    """The compiled loop over `where` for an expression."""
    kinds = [leaf_types(traced, "input"), leaf_types(traced, "parameter")]
    spec = (traced.spec, str(traced.result.dtype), where.kinds, len(where.sizes), tuple(map(tuple, kinds)))
    params = "p" * (1 + len(traced.inputs)) + "d" * len(traced.numbers) + "w"

    def build(module: ir.Module, function: ir.Function) -> None:
        _write(traced, where.kinds, len(where.sizes), function)

    return jit.Kernel("pointwise", spec, params, build)


def leaf_types(traced: Traced, name: str) -> list[str]:
    """Types of the inputs or parameters that an expression uses."""
    found: dict[Any, str] = {}
    stack, seen = [traced.result], set()
    while stack:
        node = stack.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if node.name == name:
            found[str(node.value)] = str(node.dtype)
        stack.extend(node.arguments)
    return [f"{key}:{found[key]}" for key in sorted(found)]


def _write(traced: Traced, kinds: str, ndim: int, function: ir.Function) -> None:
    builder = ir.IRBuilder(function.append_basic_block())
    count = 1 + len(traced.inputs)
    dtypes = [traced.result.dtype, *_input_dtypes(traced)]
    bases = [builder.bitcast(function.args[i], stored_type(dtypes[i]).as_pointer()) for i in range(count)]
    numbers = dict(zip(traced.numbers, function.args[count : count + len(traced.numbers)], strict=True))
    work, begin, end = function.args[-3:]
    if ndim <= 1:
        strides = [_inner_stride(builder, work, kinds, i, 4 + i) for i in range(count)]
        _inner_loop(traced, builder, bases, dtypes, kinds, strides, numbers, begin, end)
    else:
        outer = ndim - 1
        first = 3 + ndim  # after items, chunk, release, the inner size and the outer sizes
        inner = extent(builder, work, 3)
        strides = [_inner_stride(builder, work, kinds, i, first + i * ndim + outer) for i in range(count)]
        with counting(builder, begin, end, name="row") as row:
            places = _row_addresses(builder, work, bases, row, outer, ndim)
            _inner_loop(traced, builder, places, dtypes, kinds, strides, numbers, i64(0), inner)
    builder.ret_void()


def _input_dtypes(traced: Traced) -> list[np.dtype]:
    found: dict[int, np.dtype] = {}
    stack, seen = [traced.result], set()
    while stack:
        node = stack.pop()
        if node.number not in seen:
            seen.add(node.number)
            if node.name == "input":
                found[node.value] = node.dtype
            stack.extend(node.arguments)
    return [found.get(index, np.dtype(np.int8)) for index in range(len(traced.inputs))]


def _inner_stride(builder: ir.IRBuilder, work: Any, kinds: str, operand: int, place: int) -> Any:
    return extent(builder, work, place) if kinds[operand] == "x" else None


def _row_addresses(builder: ir.IRBuilder, work: Any, bases: list[Any], row: Any, outer: int, ndim: int) -> list[Any]:
    """Where each operand's row begins: the row's number taken apart into the outer axes."""
    offsets: list[Any] = [i64(0)] * len(bases)
    rest = row
    for axis in range(outer - 1, -1, -1):
        if axis:
            size = extent(builder, work, 4 + axis)
            quotient = builder.udiv(rest, size)
            index, rest = builder.sub(rest, builder.mul(quotient, size)), quotient
        else:
            index = rest
        for operand in range(len(bases)):
            stride = extent(builder, work, 3 + ndim + operand * ndim + axis)
            offsets[operand] = builder.add(offsets[operand], builder.mul(index, stride))
    return [at(builder, base, offset) for base, offset in zip(bases, offsets, strict=True)]


def _inner_loop(
    traced: Traced,
    builder: ir.IRBuilder,
    bases: list[Any],
    dtypes: list[np.dtype],
    kinds: str,
    strides: list[Any],
    numbers: dict[Any, Any],
    begin: Any,
    end: Any,
) -> None:
    fixed = {i: load(builder, bases[i], dtypes[i]) for i in range(1, len(bases)) if kinds[i] == "s"}
    parameters: dict[int, Any] = {}

    def parameter(node: Expression) -> Any:
        return number_in(builder, numbers[node.value], node.dtype)

    for node in leaves(traced.result, "parameter"):  # outside the loop
        parameters[node.number] = parameter(node)
    with counting(builder, begin, end) as index:

        def leaf(node: Expression) -> Any:
            if node.name == "parameter":
                return parameters[node.number]
            operand = 1 + node.value
            if operand in fixed:
                return fixed[operand]
            return load(builder, _element(builder, bases, kinds, strides, operand, index), dtypes[operand])

        value = Lowering(builder, leaf).value(traced.result)
        store(builder, value, _element(builder, bases, kinds, strides, 0, index), dtypes[0])


def leaves(result: Expression, name: str) -> list[Expression]:
    """The leaves of one kind that an expression reads."""
    stack, seen, found = [result], set(), []
    while stack:
        node = stack.pop()
        if node.number not in seen:
            seen.add(node.number)
            if node.name == name:
                found.append(node)
            stack.extend(node.arguments)
    return found


def _element(builder: ir.IRBuilder, bases: list[Any], kinds: str, strides: list[Any], operand: int, index: Any) -> Any:
    if kinds[operand] == "s":
        return bases[operand]
    place = index if kinds[operand] == "c" else builder.mul(index, strides[operand])
    return at(builder, bases[operand], place)


def number_in(builder: ir.IRBuilder, value: Any, dtype: np.dtype) -> Any:
    """A call's number, which arrives as a double, in the type of the computation."""
    if dtype.kind == "f" and dtype.itemsize == 8:
        return value
    if dtype.kind == "b":
        return builder.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
    if dtype.kind in "iu":
        whole = builder.fptosi(value, ir.IntType(64))
        width = 8 * dtype.itemsize
        return whole if width == 64 else builder.trunc(whole, ir.IntType(width))
    if dtype.kind == "f" and dtype.itemsize == 4:
        return builder.fptrunc(value, ir.FloatType())
    raise Untraceable(f"a number as {dtype}")


def chunk_of(where: Layout, cost: int) -> tuple[int, int]:
    """Items (elements, or rows of them) and how many a thread takes at once."""
    grain = 65536 if cost < 20 else 8192  # elements that take about 10 µs
    if len(where.sizes) <= 1:
        return where.inner, grain
    return where.rows, max(1, grain // max(where.inner, 1))


Kernel = Callable[[list[Any], dict[str, Any]], np.ndarray]
Into = Callable[[np.ndarray, list[Any], dict[str, Any]], object]


def maker(
    op: Any,
    metas: tuple[Any, ...],
    casts: list[dtype_type | None],
    meta: Meta,
    settings: dict[str, Any],
    reference: Kernel,
) -> tuple[Kernel, Into] | None:
    """A pointwise operator's kernel for a new result, and into an array with the result's strides; None where its body
    has no expression.
    """
    operands = [each for each in metas if isinstance(each, Meta)]
    if any(each.dtype.is_complex for each in (*operands, meta)):
        return None
    where = layout(meta, operands)
    if len(where.sizes) > 6:
        return None
    if len(operands) == len(metas) and not settings:
        try:
            traced = trace(op.body, metas, casts, meta, {}, {})
            call = _compiled(traced, where)
        except FAILURES:
            return None
        return _direct(call, meta, where, traced.cost)
    variants = Variants(op.body, metas, casts, meta, where, reference)
    return variants.run, variants.run_into


def _compiled(traced: Traced, where: Layout) -> Callable[..., Any]:
    if traced.guards and not traced.numbers:
        raise Untraceable("a body looked at its data")
    return build_kernel(traced, where).call


def _direct(call: Callable[..., Any], meta: Meta, where: Layout, cost: int) -> tuple[Kernel, Into]:
    items, chunk = chunk_of(where, cost)
    work = jit.extents(items, chunk, *where.extents(), release=meta.numel > 100_000)
    if meta.is_contiguous:
        shape, dtype, empty = tuple(meta.shape), meta.dtype.numpy, np.empty

        def kernel(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
            return call(empty(shape, dtype), *arrays, work)

    else:

        def kernel(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
            return call(allocate(meta), *arrays, work)

    return kernel, lambda out, arrays, settings: call(out, *arrays, work)


class Quick(NamedTuple):
    """The only variant of an operator on a tensor and a number, which stands at `position`."""

    call: Callable[..., Any]
    work: np.ndarray
    position: int


class Variants:
    """The kernels of an operator with numbers among its operands or settings: one per way that its body takes."""

    def __init__(
        self,
        body: Any,
        metas: tuple[Any, ...],
        casts: list[dtype_type | None],
        meta: Meta,
        where: Layout,
        reference: Kernel,
    ) -> None:
        self.body = body
        self.metas = metas
        self.casts = casts
        self.meta = meta
        self.where = where
        self.known: dict[Any, list[tuple[Any, Any, Any]]] = {}
        self.tensors = [i for i, each in enumerate(metas) if isinstance(each, Meta)]
        self.reference = reference
        self.quick: Quick | None = None

    def run(self, arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        """Compute with the variant that these numbers ask for, made on first use."""
        quick = self.quick
        if quick is not None and not settings:
            value = arrays[quick.position]
            if value.__class__ is float or (value.__class__ is int and -_EXACT <= value <= _EXACT):
                return quick.call(allocate(self.meta), arrays[1 - quick.position], float(value), quick.work)
        variant, numbers = self._chosen(arrays, settings)
        if variant is None:
            return self.reference(arrays, settings)
        return variant[1](allocate(self.meta), *[arrays[i] for i in self.tensors], *numbers, variant[2])

    def run_into(self, out: np.ndarray, arrays: list[Any], settings: dict[str, Any]) -> None:
        """The same, written into an array that has the result's strides."""
        variant, numbers = self._chosen(arrays, settings)
        if variant is None:
            np.copyto(out, self.reference(arrays, settings))
        else:
            variant[1](out, *[arrays[i] for i in self.tensors], *numbers, variant[2])

    def _chosen(self, arrays: list[Any], settings: dict[str, Any]) -> tuple[Any, list[float]]:
        """The variant that these numbers ask for and the numbers that it wants; None where the reference runs."""
        fixed = tuple([(k, v) for k, v in settings.items() if v.__class__ is not float and v.__class__ is not int])
        values: dict[Any, Any] = {i: x for i, x in enumerate(arrays) if x.__class__ is not np.ndarray and x is not None}
        values.update([(k, v) for k, v in settings.items() if v.__class__ is float or v.__class__ is int])
        for value in values.values():
            if value.__class__ is int and not -_EXACT <= value <= _EXACT:  # no float holds it
                return None, []
        variants = self.known.setdefault(fixed, [])
        for variant in variants:
            if variant[0].fits(values):
                break
        else:
            variant = self._made(values, settings)
            variants.append(variant)
        if variant[1] is None:
            return None, []
        return variant, [float(values[name]) for name in variant[0].numbers]

    def _made(self, values: dict[Any, Any], settings: dict[str, Any]) -> tuple[Any, Any, Any]:
        graph = Graph()
        try:
            traced = trace(self.body, self.metas, self.casts, self.meta, values, settings, graph)
            call = build_kernel(traced, self.where).call
        except FAILURES:  # remembered with what was asked until then
            return Refused(graph.guards), None, None
        items, chunk = chunk_of(self.where, traced.cost)
        if not settings and not traced.guards and len(self.metas) == 2 and len(traced.numbers) == 1:
            work = jit.extents(items, chunk, *self.where.extents(), release=self.meta.numel > 100_000)
            self.quick = Quick(call, work, traced.numbers[0])
        return traced, call, jit.extents(items, chunk, *self.where.extents(), release=self.meta.numel > 100_000)
