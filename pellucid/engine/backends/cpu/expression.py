"""The scalar-expression language: what a pointwise body says, as a graph of typed operations.

A body is plain NumPy. Called on numbers it computes a number, on arrays it computes with NumPy, and on a `Symbol` it
builds an `Expression`: NumPy hands its functions to the symbol (`__array_ufunc__`, `__array_function__`), which notes
them with the types that NumPy itself would choose. Equal subexpressions are one node. What a symbol cannot follow (a
look at the data, a shape) raises `Untraceable`, and the operator stays with its reference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BOOL = np.dtype(np.bool_)
STORED = frozenset(
    [BFLOAT16, FLOAT16, FLOAT32, FLOAT64, BOOL] + [np.dtype(f"{sign}{size}") for sign in "iu" for size in (1, 2, 4, 8)]
)
_UFUNCS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div", np.negative: "neg",
    np.absolute: "abs", np.fabs: "abs", np.maximum: "maximum", np.minimum: "minimum", np.fmax: "fmax", np.fmin: "fmin",
    np.sqrt: "sqrt", np.exp: "exp", np.exp2: "exp2", np.expm1: "expm1", np.log: "log", np.log2: "log2",
    np.log10: "log10", np.log1p: "log1p", np.tanh: "tanh", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc",
    np.rint: "rint", np.copysign: "copysign", np.signbit: "signbit", np.equal: "eq", np.not_equal: "ne",
    np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge", np.logical_and: "and",
    np.logical_or: "or", np.logical_not: "not", np.logical_xor: "xor", np.bitwise_and: "bitand",
    np.bitwise_or: "bitor", np.bitwise_xor: "bitxor", np.invert: "invert", np.isnan: "isnan", np.isinf: "isinf",
    np.isfinite: "isfinite", np.power: "pow", np.sign: "sign", np.square: "square", np.reciprocal: "reciprocal",
    np.logaddexp: "logaddexp",
}  # fmt: skip


class Untraceable(Exception):
    """A body did something that has no expression."""


class Expression:
    """A node: an operation on nodes, or a leaf ("input", "parameter", "constant") whose `value` says which."""

    __slots__ = ("arguments", "dtype", "name", "number", "value")

    def __init__(self, name: str, arguments: tuple[Expression, ...], dtype: np.dtype, value: Any, number: int) -> None:
        self.name = name
        self.arguments = arguments
        self.dtype = dtype
        self.value = value
        self.number = number


class Graph:
    """The nodes of one kernel; equal ones are the same node."""

    def __init__(self) -> None:
        self.nodes: dict[Any, Expression] = {}
        self.guards: list[tuple[Expression, bool]] = []  # what the body asked of parameters, and the answers
        self.values: dict[Any, Any] = {}  # parameters' values while tracing

    def node(self, name: str, arguments: tuple[Expression, ...], dtype: Any, value: Any = None) -> Expression:
        """The node with these parts."""
        dtype = np.dtype(dtype)
        if dtype not in STORED:
            raise Untraceable(f"no kernels for {dtype}")
        key = (name, tuple([each.number for each in arguments]), dtype, repr(value))
        found = self.nodes.get(key)
        if found is None:
            simple = _simplified(self, name, arguments, dtype)
            found = simple or Expression(name, arguments, dtype, value, len(self.nodes))
            self.nodes[key] = found
        return found

    def constant(self, value: Any, dtype: Any) -> Expression:
        """A number of the given type."""
        dtype = np.dtype(dtype)
        with np.errstate(all="ignore"):
            return self.node("constant", (), dtype, np.asarray(value).astype(dtype).item())

    def cast(self, node: Expression, dtype: Any) -> Expression:
        """`node` in another type, as NumPy converts."""
        dtype = np.dtype(dtype)
        if node.dtype == dtype:
            return node
        if node.name == "constant":
            return self.constant(node.value, dtype)
        if node.dtype.kind == "f" and dtype.kind in "iu" or (node.dtype == BFLOAT16 and dtype.kind in "iu"):
            raise Untraceable("a float becomes an integer")
        return self.node("cast", (node,), dtype)


def _simplified(graph: Graph, name: str, arguments: tuple[Expression, ...], dtype: np.dtype) -> Expression | None:
    """A node known already that this one equals for every value, NaN and signed zeros included."""
    if name == "mul":
        for one, other in (arguments, arguments[::-1]):
            if one.name == "constant" and one.value == 1:
                return other
    if name == "div" and arguments[1].name == "constant" and arguments[1].value == 1:
        return arguments[0]
    if name == "neg" and arguments[0].name == "neg":
        return arguments[0].arguments[0]
    if name == "cast":
        inner = arguments[0]  # a narrower float that was widened comes back as it was
        if inner.name == "cast" and inner.arguments[0].dtype == dtype and inner.dtype in (FLOAT32, FLOAT64):
            if dtype.itemsize < inner.dtype.itemsize and dtype.kind in "fV":
                return inner.arguments[0]
    return None


class Symbol(NDArrayOperatorsMixin):
    """A traced scalar: NumPy's functions on it give symbols."""

    __slots__ = ("graph", "node")

    def __init__(self, graph: Graph, node: Expression) -> None:
        self.graph = graph
        self.node = node

    @property
    def dtype(self) -> np.dtype:
        """The type that the value has at this point."""
        return self.node.dtype

    @property
    def ndim(self) -> int:
        """0 for a number, 1 for what has elements."""
        node = self.node
        while node.name == "cast":
            node = node.arguments[0]
        return 0 if node.name in ("parameter", "constant") else 1

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        """The value in another type."""
        return Symbol(self.graph, self.graph.cast(self.node, dtype))

    def copy(self) -> Symbol:
        """The same value."""
        return self

    def function(self, name: str) -> Symbol:
        """A function that NumPy does not have, of this value."""
        return Symbol(self.graph, self.graph.node(name, (self.node,), self.dtype))

    def __bool__(self) -> bool:
        answer = bool(evaluate(self.node, self.graph.values))
        self.graph.guards.append((self.node, answer))
        return answer

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"a body used .{name}")

    def __iter__(self) -> Any:
        raise Untraceable("a body looked into an operand")

    def __float__(self) -> float:
        raise Untraceable("a body turned an operand into a number")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = _UFUNCS.get(ufunc)
        if name is None or method != "__call__" or options:
            raise Untraceable(f"{ufunc.__name__}.{method} with {sorted(options)}")
        return Symbol(self.graph, _apply(self.graph, ufunc, name, inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        handler = _FUNCTIONS.get(function)
        if handler is None:
            raise Untraceable(f"numpy.{function.__name__}")
        return handler(self.graph, *args, **kwargs)


def _apply(graph: Graph, ufunc: Any, name: str, inputs: tuple[Any, ...]) -> Expression:
    kinds = [each.dtype if isinstance(each, (Symbol, np.generic, np.ndarray)) else type(each) for each in inputs]
    try:
        *loop, result = ufunc.resolve_dtypes((*kinds, None))
    except TypeError as error:
        raise Untraceable(str(error)) from None
    nodes = [node_of(graph, each, kind) for each, kind in zip(inputs, loop, strict=True)]
    if name == "square":
        return graph.node("mul", (nodes[0], nodes[0]), result)
    if name == "reciprocal":
        return graph.node("div", (graph.constant(1, result), nodes[0]), result)
    return graph.node(name, tuple(nodes), result)


def node_of(graph: Graph, value: Any, dtype: Any) -> Expression:
    """A symbol's node, or a number's, in the given type."""
    if isinstance(value, Symbol):
        return graph.cast(value.node, dtype)
    if isinstance(value, np.ndarray) and value.ndim:
        raise Untraceable("a body made an array")
    return graph.constant(value, dtype)


def _where(graph: Graph, condition: Any, x: Any = None, y: Any = None) -> Any:
    kinds = [each.dtype if isinstance(each, (Symbol, np.generic, np.ndarray)) else each for each in (x, y)]
    result = np.result_type(*kinds)
    if not isinstance(condition, Symbol):
        raise Untraceable("where on a condition that is known")
    chosen = graph.cast(condition.node, BOOL)
    return Symbol(graph, graph.node("where", (chosen, node_of(graph, x, result), node_of(graph, y, result)), result))


def _full_like(graph: Graph, like: Symbol, value: Any, dtype: Any = None) -> Any:
    return Symbol(graph, graph.constant(value, dtype or like.dtype))


def _ndim(graph: Graph, value: Any) -> int:
    return value.ndim if isinstance(value, Symbol) else np.ndim(value)


def _clip(graph: Graph, value: Any, low: Any = None, high: Any = None) -> Any:
    if low is not None:
        value = np.maximum(value, low)
    return value if high is None else np.minimum(value, high)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.full_like: _full_like,
    np.zeros_like: lambda graph, like, dtype=None: _full_like(graph, like, 0, dtype),
    np.ones_like: lambda graph, like, dtype=None: _full_like(graph, like, 1, dtype),
    np.clip: _clip,
    np.ndim: _ndim,
    np.copy: lambda graph, value: value,
}

_COMPUTE: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": np.abs,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not, "maximum": np.maximum, "minimum": np.minimum,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "div": np.true_divide, "floor": np.floor,
    "rint": np.rint, "trunc": np.trunc, "ceil": np.ceil, "where": np.where,
}  # fmt: skip


def evaluate(node: Expression, values: dict[Any, Any]) -> Any:
    """The value of an expression of parameters and constants alone."""
    if node.name == "constant":
        return node.dtype.type(node.value)
    if node.name == "parameter":
        return np.asarray(values[node.value]).astype(node.dtype)[()]
    arguments = [evaluate(each, values) for each in node.arguments]
    if node.name == "cast":
        return arguments[0].astype(node.dtype)
    compute = _COMPUTE.get(node.name)
    if compute is None:
        raise Untraceable(f"a body asked about {node.name}")
    return compute(*arguments)


def text(node: Expression, names: Callable[[Expression], str] = lambda leaf: f"{leaf.name[0]}{leaf.value}") -> str:
    """An expression in words: one line per node that is used more than once, then the result."""
    uses: dict[int, int] = {}
    order: list[Expression] = []

    def visit(each: Expression) -> None:
        uses[each.number] = uses.get(each.number, 0) + 1
        if uses[each.number] == 1:
            for argument in each.arguments:
                visit(argument)
            order.append(each)

    visit(node)
    written: dict[int, str] = {}
    lines = []
    for each in order:
        if each.name == "constant":
            written[each.number] = repr(each.value)
        elif not each.arguments:
            written[each.number] = names(each)
        else:
            said = f"{each.name}({', '.join([written[a.number] for a in each.arguments])}):{each.dtype.name}"
            if uses[each.number] > 1:
                lines.append(f"t{each.number} = {said}")
                said = f"t{each.number}"
            written[each.number] = said
    return "\n".join([*lines, written[node.number]])
