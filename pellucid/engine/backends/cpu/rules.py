"""Gradient rules as single loops: a rule of several pointwise operators is traced as one expression.

The rule runs once on stand-ins for its tensors, under a mode that sees every operator. Where all are pointwise, the
expression of the whole is compiled; where one is not, the rule stays what it is: operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.backends.cpu import jit, registry
from pellucid.engine.backends.cpu.expression import Graph, Symbol, Untraceable, node_of
from pellucid.engine.backends.cpu.layout import layout
from pellucid.engine.backends.cpu.pointwise import FAILURES, Traced, build_kernel, chunk_of
from pellucid.engine.core.data import TensorData, allocate, make, wrap
from pellucid.engine.core.device import CPU
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import state
from pellucid.engine.core.plan import pointwise_types
from pellucid.engine.core.storage import Storage

_NUMBERS_TRIED = 8  # compiled again for so many different numbers, then no more


def fused(rule: Any, arguments: dict[str, Any]) -> Callable[[dict[str, Any]], Any] | None:
    """The compiled rule for arguments of these types and shapes."""
    parts: list[Any] = []
    for value in arguments.values():
        if isinstance(value, TensorData):
            parts.append(value._meta)
        elif isinstance(value, Meta | str | bool | tuple | None):
            parts.append(value)
        elif isinstance(value, int | float):
            parts.append((value.__class__, value))
        else:
            return None
    key = tuple(parts)
    try:
        return rule.fused[key]
    except KeyError:
        pass
    except TypeError:  # something inside a tuple has no hash
        return None
    if len(rule.fused) >= 256:
        rule.fused.clear()
    if any([isinstance(part, Meta) and (part.is_sparse or part.is_sample) for part in parts]):  # its array is no array
        rule.fused[key] = None
        return None
    made = registry.rule_kernel_for(rule, arguments)
    if made is None and not _too_many_numbers(rule, key):
        made = _fuse(rule, arguments)
    rule.fused[key] = made
    return made


def _too_many_numbers(rule: Any, key: tuple[Any, ...]) -> bool:
    metas = [each for each in key if isinstance(each, Meta)]
    alike = [other for other in rule.fused if [each for each in other if isinstance(each, Meta)] == metas]
    return len(alike) >= _NUMBERS_TRIED


class _Capture:
    """Sees a rule's operators and writes them down as expressions."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.count = 0

    def intercept(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Any) -> Any:
        """The operator on symbols instead of data."""
        metas = tuple([x._meta if isinstance(x, TensorData) else x for x in operands])
        if op.name == "full":
            meta = Meta.of(tuple(settings["size"]), settings["dtype"])
            return stand_in(meta, self.graph, self.graph.constant(settings["value"], meta.dtype.numpy))
        if op.name == "cast":
            meta = op.meta_rule(*metas, **settings)
            return stand_in(meta, self.graph, self.graph.cast(operands[0].symbol.node, meta.dtype.numpy))
        if op.kind != "pointwise":
            raise Untraceable(op.name)
        self.count += 1
        meta, casts = pointwise_types(op, metas, CPU)
        symbols: list[Any] = []
        for x, cast in zip(operands, casts, strict=True):
            if x is None:
                symbols.append(None)
                continue
            is_tensor = isinstance(x, TensorData)
            node = x.symbol.node if is_tensor else self.graph.constant(x, np.float64 if cast is None else cast.numpy)
            symbols.append(Symbol(self.graph, node if cast is None else self.graph.cast(node, cast.numpy)))
        found = op.body(*symbols, **settings)
        node = node_of(self.graph, found, getattr(found, "dtype", meta.dtype.numpy))
        return stand_in(meta, self.graph, self.graph.cast(node, meta.dtype.numpy))


def stand_in(meta: Meta, graph: Graph, node: Any) -> Any:
    """A tensor without data that stands for an expression."""
    made = make(None, meta, _NOWHERE, 0, _NOWHERE)
    made.symbol = Symbol(graph, node)
    return made


_NOWHERE = Storage(np.zeros(0, np.uint8))


def _fuse(rule: Any, arguments: dict[str, Any]) -> Callable[[dict[str, Any]], Any] | None:
    capture = _Capture()
    graph = capture.graph
    names = [name for name, value in arguments.items() if isinstance(value, TensorData)]
    metas = [arguments[name]._meta for name in names]
    if not names or any(meta.device is not CPU or meta.dtype.is_complex for meta in metas):
        return None
    given = dict(arguments)
    for index, (name, meta) in enumerate(zip(names, metas, strict=True)):
        given[name] = stand_in(meta, graph, graph.node("input", (), meta.dtype.numpy, index))
    state.stack.append(capture)
    try:
        results = rule.function(**given)
        several = isinstance(results, tuple)
        made = [_output(each, graph, names, metas) for each in (results if several else (results,))]
    except FAILURES:
        return None
    finally:
        state.stack.remove(capture)
    if capture.count < 2:
        return None
    return (lambda arguments: tuple([each(arguments) for each in made])) if several else made[0]


def _output(found: Any, graph: Graph, names: list[str], metas: list[Meta]) -> Callable[[dict[str, Any]], Any]:
    """One gradient of a rule: a loop over what its expression needs."""
    if found is None:
        return lambda arguments: None
    if not isinstance(found, TensorData):
        raise Untraceable("a rule returned a number")
    node, meta = found.symbol.node, found._meta
    if node.name == "input" or graph.guards:
        raise Untraceable("nothing to compute, or a look at the data")
    traced = Traced(graph, node, list(range(len(names))), [])
    used = traced.used_inputs()
    if not used:
        raise Untraceable("a constant")
    where = layout(meta, metas)
    if len(where.sizes) > 6:
        raise Untraceable("too many axes")
    call = build_kernel(traced, where).call
    items, chunk = chunk_of(where, traced.cost)
    work = jit.extents(items, chunk, *where.extents(), release=meta.numel > 100_000)

    def run(arguments: dict[str, Any]) -> Any:
        arrays = [arguments[name]._array for name in names]
        return wrap(call(allocate(meta), *arrays, work), meta)

    return run
