"""An optimizer's whole update of a parameter as one loop: parameter, gradient and state are read and written once.

The rule (optim's `_rule`) runs on stand-ins, under a mode that notes its operators, the numbers it gives them and what
it writes in place. The same notes with other numbers are the same compiled program, so a learning rate or a bias
correction may change at every step. Parameters of one type whose counters agree share the notes. A rule that does
anything but pointwise arithmetic is left to run as it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import at, counting
from pellucid.engine.backends.cpu.expression import FLOAT64, Expression, Graph, Symbol, Untraceable, evaluate, text
from pellucid.engine.backends.cpu.lower import Lowering, load, store, stored_type
from pellucid.engine.backends.cpu.pointwise import FAILURES, Setting, leaves, number_in
from pellucid.engine.core.data import TensorData, make
from pellucid.engine.core.dispatch import run_in_place
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.graph import here
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import state as modes
from pellucid.engine.core.storage import Storage

Item = tuple[Any, Any, dict[str, Any]]
Rule = Callable[[Any, Any, dict[str, Any], dict[str, Any]], None]
_NOWHERE = Storage(np.zeros(0, np.uint8))
_CHUNK = 16384
_FEW = 2  # fewer parameters are not worth the notes


class _Note:
    """A stand-in's number among the values of a program."""

    __slots__ = ("meta", "slot")

    def __init__(self, slot: int, meta: Meta) -> None:
        self.slot = slot
        self.meta = meta


class Notes:
    """The mode that writes down what a rule does: steps as plain tuples, and the numbers apart."""

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self.numbers: list[float] = []
        self.count = 0

    def stand_in(self, meta: Meta) -> Any:
        """A tensor without data for the next value."""
        made = make(None, meta, _NOWHERE, 0, _NOWHERE)
        made.note = _Note(self.count, meta)
        self.count += 1
        return made

    def intercept(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Any) -> Any:
        """An operator whose result is new; on real tensors alone (a step counter) it runs."""
        if not any(isinstance(x, TensorData) and x._array is None for x in operands):
            return proceed(op, operands, settings)
        meta = self._note(op, operands, settings, None)
        return self.stand_in(meta)

    def intercept_write(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any, out: Any
    ) -> Any:
        """An operator that writes into a tensor."""
        written = target if target is not None else out
        if target is not None and target._array is not None:
            return run_in_place(op, target, operands, settings)
        if not isinstance(written, TensorData) or written._array is not None:
            raise Untraceable("out= of a real tensor")
        meta = self._note(op, operands, settings, written)
        if meta is not written._meta:
            raise Untraceable("a result of another shape or type is written")
        return written

    def _note(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any) -> Meta:
        if op.kind != "pointwise" or op.result not in ("promoted", "float"):
            raise Untraceable(op.name)
        meta = None
        described: list[Any] = []
        for x in operands:
            if isinstance(x, TensorData):
                if x._array is not None:
                    raise Untraceable("a real tensor among stand-ins")
                meta = x._meta if meta is None else meta
                if x._meta is not meta:
                    raise Untraceable("tensors of several shapes or types")
                described.append(x.note.slot)
            else:
                described.append(self._number(x))
        options = [(name, self._number(value)) for name, value in settings.items()]
        slot = self.count if target is None else target.note.slot
        self.steps.append((op.name, tuple(described), tuple(options), slot, target is not None))
        assert meta is not None
        return meta

    def _number(self, value: Any) -> Any:
        if isinstance(value, float | int) and not isinstance(value, bool):
            self.numbers.append(float(value))
            return ("number", len(self.numbers) - 1, value.__class__ is float)
        if value is None or isinstance(value, bool | str):
            return ("given", value)
        raise Untraceable("a number that is no float")


class Program:
    """A compiled update: which tensors it takes, which it writes, and the kernel over their elements."""

    def __init__(self, notes: Notes, dtype: np.dtype, inputs: int, written: list[int]) -> None:
        graph = Graph()
        graph.values = dict(enumerate(notes.numbers))
        values: dict[int, Expression] = {i: graph.node("input", (), dtype, i) for i in range(inputs)}
        for name, described, options, slot, _ in notes.steps:
            values[slot] = _traced(graph, values, dtype, name, described, options)
        self.guards = graph.guards
        self.written = written
        outputs = [values[slot] for slot in written]
        spec = ("\n".join([text(each, _leaf) for each in outputs]), tuple(written), inputs, len(notes.numbers))

        def build(module: ir.Module, function: ir.Function) -> None:
            _write(function, outputs, written, inputs, dtype)

        self.call = jit.Kernel("update", spec, "p" * inputs + "d" * len(notes.numbers) + "w", build).call

    def fits(self, numbers: list[float]) -> bool:
        """Whether the bodies would take the same way with these numbers."""
        if not self.guards:
            return True
        values = dict(enumerate(numbers))
        return all([bool(evaluate(node, values)) == answer for node, answer in self.guards])


def _leaf(leaf: Expression) -> str:
    return f"{leaf.name[0]}{leaf.value}:{leaf.dtype.name}"


def _traced(
    graph: Graph, values: dict[int, Expression], dtype: np.dtype, name: str, described: Any, options: Any
) -> Expression:
    from pellucid.engine.core.graph import by_name

    def number(what: Any, kind: type[Symbol]) -> Any:
        if what[0] == "given":
            return what[1]
        node = graph.node("parameter", (), FLOAT64, what[1])
        return Setting(graph, node) if kind is Setting else Symbol(graph, graph.cast(node, dtype))

    operands = [Symbol(graph, values[each]) if isinstance(each, int) else number(each, Symbol) for each in described]
    found = by_name[name].body(*operands, **{key: number(value, Setting) for key, value in options})
    return graph.cast(found.node, dtype)


def _write(function: ir.Function, outputs: list[Expression], written: list[int], inputs: int, dtype: np.dtype) -> None:
    builder = ir.IRBuilder(function.append_basic_block())
    bases = [builder.bitcast(each, stored_type(dtype).as_pointer()) for each in function.args[:inputs]]
    begin, end = function.args[-2:]
    numbers: dict[int, Any] = {}
    for output in outputs:
        for node in leaves(output, "parameter"):
            numbers[node.number] = number_in(builder, function.args[inputs + node.value], node.dtype)
    with counting(builder, begin, end) as index:

        def leaf(node: Expression) -> Any:
            if node.name == "parameter":
                return numbers[node.number]
            return load(builder, at(builder, bases[node.value], index), dtype)

        lowering = Lowering(builder, leaf)
        found = [lowering.value(each) for each in outputs]
        for slot, value in zip(written, found, strict=True):
            store(builder, value, at(builder, bases[slot], index), dtype)
    builder.ret_void()


_programs: dict[Any, Program | None] = {}
_works: dict[int, np.ndarray] = {}


def update(rule: Rule, items: list[Item], settings: dict[str, Any]) -> list[Item]:
    """Apply a rule to all items that one compiled loop each can update; the others are returned."""
    if len(items) < _FEW or modes.stack or modes.grad_enabled:
        return items
    groups: dict[Any, list[Item]] = {}
    rest: list[Item] = []
    for item in items:
        key = _kind(item)
        if key is None:
            rest.append(item)
        else:
            groups.setdefault(key, []).append(item)
    for key, members in groups.items():
        if len(members) < _FEW or not _update_alike(rule, key, members, settings):
            rest.extend(members)
    return rest


def _kind(item: Item) -> Any:
    """What items must have in common to share notes; None for what a loop cannot update."""
    param, grad, state = item
    meta = param._meta
    if meta.dtype not in (float32, float64) or not meta.is_contiguous or grad._meta is not meta or not meta.numel:
        return None
    parts: list[Any] = [meta.dtype]
    for name, value in state.items():
        if not isinstance(value, TensorData):
            if value is not None and not isinstance(value, int | float | str):
                return None
            parts.append((name, value))
        elif value._meta is meta:
            parts.append(name)
        elif value._meta.numel == 1 and value._array is not None and not value._meta.ndim:
            parts.append((name, value._array.item()))
        else:
            return None
    return tuple(parts)


def _update_alike(rule: Rule, key: Any, items: list[Item], settings: dict[str, Any]) -> bool:
    notes = Notes()
    param, _, state = items[0]
    meta = param._meta
    names = [name for name, value in state.items() if isinstance(value, TensorData) and value._meta is meta]
    stand_ins = [notes.stand_in(meta) for _ in range(2 + len(names))]
    trial = {
        name: value.clone() if isinstance(value, TensorData) else value
        for name, value in state.items()
        if name not in names
    }
    trial.update(zip(names, stand_ins[2:], strict=True))
    before = dict(trial)
    modes.stack.append(notes)
    try:
        rule(stand_ins[0], stand_ins[1], trial, settings)
    except FAILURES:
        return False
    finally:
        modes.stack.remove(notes)
    if list(trial) != list(before) or any(trial[name] is not before[name] for name in names):
        return False
    program = _program(notes, meta.dtype.numpy, len(stand_ins))
    if program is None or not program.fits(notes.numbers):
        return False
    _apply(program, notes.numbers, items, names, trial)
    return True


def _program(notes: Notes, dtype: np.dtype, inputs: int) -> Program | None:
    key = (tuple(notes.steps), dtype, inputs)
    if key not in _programs:
        written = sorted({slot for *_, slot, in_place in notes.steps if in_place and slot < inputs})
        try:
            _programs[key] = Program(notes, dtype, inputs, written) if written else None
        except FAILURES:
            _programs[key] = None
    return _programs[key]


def _apply(program: Program, numbers: list[float], items: list[Item], names: list[str], trial: dict[str, Any]) -> None:
    """Run the loop on every item, take over its counters, and advance the versions of what was written."""
    call, written = program.call, program.written
    writer = ("optimizer.step", here(5))
    counters = [name for name, value in trial.items() if name not in names]
    for param, grad, state in items:
        tensors = [param, grad, *[state[name] for name in names]]
        size = param._meta.numel
        work = _works.get(size)
        if work is None:
            work = _works[size] = jit.extents(size, _CHUNK, release=size > 100_000)
        call(*[each._array for each in tensors], *numbers, work)
        for slot in written:
            counter = tensors[slot]._counter
            counter.count += 1
            counter.writer = writer
        for name in counters:
            value = trial[name]
            if isinstance(value, TensorData):
                state[name].copy_(value)
            else:
                state[name] = value
