"""vmap's mechanism: a tensor that hides one axis of another, and the mode that runs calls on such tensors for the whole
batch at once. How an operator that is neither pointwise nor a view is batched is a rule of engine/ops/batching_*.py.

A batched tensor has the meta of one sample; its storage knows the physical tensor, the hidden axis (None where the
samples are one and the same) and the level. It has a gradient history of its own, so that `vmap(grad(f))` records per
sample, while `grad(vmap(f))` records what happens to the physical tensors.
"""

from __future__ import annotations

import importlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from pellucid.engine.core import graph
from pellucid.engine.core.data import INFERENCE, TensorData, empty, make, shallow
from pellucid.engine.core.device import META
from pellucid.engine.core.dispatch import (
    InPlace,
    any_requires_grad,
    check_fits,
    plan_of,
    run,
    run_in_place,
    run_out,
    wrote,
)
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.meta import Meta, contiguous_strides
from pellucid.engine.core.modes import state
from pellucid.engine.core.storage import Storage

Rule = Callable[["Call"], tuple[Any, Any]]
RANDOM = frozenset((
    "fill_random", "bernoulli", "bernoulli_into", "normal_around", "permutation", "multinomial", "sample",
    "rrelu_slopes",
))  # fmt: skip
OVERWRITING = frozenset(("copy", "fill", "fill_from", "zero", "fill_random"))  # whatever stood there before
_DROPS_SAME = frozenset(("bernoulli", "normal_around", "multinomial", "sample", "rrelu_slopes"))
_serials = itertools.count()
rules: dict[str, Rule] = {}  # by operator; an operator without a rule runs once per sample


class SampleMeta(Meta):
    """The meta of one sample: no kernel is made for it, since it has no array. Interned like every meta."""

    __slots__ = ()
    is_sample = True


_FACTS = (
    "shape", "strides", "dtype", "device", "ndim", "numel", "byte_strides", "is_contiguous", "has_overlap", "is_dense",
)  # fmt: skip
_of_samples: dict[Meta, SampleMeta] = {}


def sample_meta(meta: Meta) -> SampleMeta:
    """The same facts, of a sample."""
    found = _of_samples.get(meta)
    if found is None:
        if len(_of_samples) > 20_000:
            _of_samples.clear()
        found = _of_samples[meta] = SampleMeta()
        for name in _FACTS:
            setattr(found, name, getattr(meta, name))
    return found


class Unreadable:
    """Stands where a tensor has its array: NumPy code that meets it says what went wrong."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it is a sample inside vmap")

    def _refuse(self, *args: Any, **settings: Any) -> NoReturn:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it is a sample inside vmap")

    __array__ = __array_ufunc__ = __array_function__ = _refuse


UNREADABLE: Any = Unreadable()
_NO_BYTES = np.zeros(0, np.uint8)


class BatchedStorage(Storage):
    """In place of bytes: the physical tensor, and which of its axes counts the samples of which level."""

    __slots__ = ("axis", "level", "physical")

    def __init__(self, physical: Any, axis: int | None, level: VmapLevel) -> None:
        super().__init__(_NO_BYTES)
        self.physical = physical
        self.axis = axis
        self.level = level

    def resize(self, nbytes: int) -> None:
        raise RuntimeError("vmap: a sample cannot be resized in place; make a new tensor of the size instead")


def is_batched(x: Any) -> bool:
    """Whether `x` is a tensor that stands for the samples of a batch, of whichever level."""
    return isinstance(x, TensorData) and x._storage.__class__ is BatchedStorage


def batched(physical: Any, axis: int | None, level: VmapLevel) -> Any:
    """A tensor that stands for the samples along `axis` of `physical`."""
    meta: Meta = physical._meta
    if axis is not None:
        shape, strides = meta.shape, meta.strides
        meta = Meta.of(
            (*shape[:axis], *shape[axis + 1 :]), meta.dtype, meta.device, (*strides[:axis], *strides[axis + 1 :])
        )
    meta = sample_meta(meta) if not meta.is_sample else meta
    storage = BatchedStorage(physical, axis, level)
    counter = INFERENCE if physical._counter is INFERENCE else storage
    return make(None if meta.device is META else UNREADABLE, meta, storage, physical._offset, counter)


def marks_of(tensor: Any) -> dict[Any, Any] | None:
    """The tangents of a dual tensor by level (see tangents.py), which stay with it when it is lifted or saved."""
    return tensor.__dict__.get("_tangents") if tensor.__dict__ else None


class Call:
    """One call as a rule sees it: `values` are the physical operands, `axes` where their samples are, if anywhere."""

    __slots__ = ("axes", "op", "operand_metas", "plan", "settings", "size", "values")

    def __init__(self, op: Any, plan: Any, values: list[Any], axes: list[int | None], settings: Any, size: int) -> None:
        self.op = op
        self.plan = plan
        self.values = values
        self.axes = axes
        self.settings = settings
        self.size = size
        self.operand_metas = plan.operand_metas  # of one sample

    def front(self, i: int) -> Any:
        """Operand `i` with its samples along axis 0; as it is where it has none, or is no tensor."""
        return to_front(self.values[i], self.axes[i])

    def expanded(self, i: int) -> Any:
        """Operand `i` with its samples along axis 0, repeated without a copy where it has none."""
        value = self.values[i]
        if not isinstance(value, TensorData) or self.axes[i] is not None:
            return self.front(i)
        return repeated(value, self.size)

    def run(self, *operands: Any, **changed: Any) -> Any:
        """The operator itself, with some settings changed."""
        return run(self.op, operands, {**self.settings, **changed})


def to_front(value: Any, axis: int | None) -> Any:
    """The tensor with `axis` moved to the front."""
    return value if axis is None or axis == 0 else move(value, axis, 0)


def move(value: Any, source: int, target: int) -> Any:
    """The tensor with one axis moved, the others in their order."""
    if source == target:
        return value
    order = [d for d in range(value._meta.ndim) if d != source]
    order.insert(target, source)
    return by_name["permute"](value, dims=tuple(order))


def repeated(value: Any, size: int) -> Any:
    """The tensor `size` times along a new first axis, without a copy."""
    shape = tuple(value._meta.shape)
    return by_name["expand"](by_name["unsqueeze_axes"](value, axes=(0,)), size=(size, *shape))


class VmapLevel:
    """The mode of one running vmap: it sees every call and takes those that have samples of this level."""

    def __init__(self, size: int, randomness: str) -> None:
        if not rules:  # by name: rules are written in operators, which stand above core, and most programs need none
            importlib.import_module("pellucid.engine.ops.batching_rules")
        self.size = size
        self.randomness = randomness
        self.number = state.transforms + 1  # as PyTorch counts levels
        self.serial = next(_serials)  # a level that starts later runs inside
        self._held: list[weakref.ref[Any]] = []  # plain tensors with a history at this level

    def owns(self, x: Any) -> bool:
        """Whether `x` is a batched tensor of this level."""
        return isinstance(x, TensorData) and x._storage.__class__ is BatchedStorage and x._storage.level is self

    def lift(self, x: Any) -> Any:
        """`x` as a tensor of this level, the same for every sample unless it was of this level already."""
        if not isinstance(x, TensorData) or self.owns(x):
            return x
        known = self._stand_in(x)
        if known is not None:
            return known
        out = batched(x, None, self)
        marks = marks_of(x)
        if marks:
            out.__dict__["_tangents"] = dict(marks)
        return out

    def _stand_in(self, x: Any) -> Any:
        """What holds the history at this level of a plain tensor that was written to; None for any other."""
        if not self._held or not isinstance(x, TensorData) or self.owns(x):
            return None
        found = (x.__dict__.get("_stand_ins") or {}).get(self)
        if found is None and x._base is not None and self in (x._base.__dict__.get("_stand_ins") or {}):
            found = self._with_history(x)
        return found

    def _with_history(self, x: Any) -> Any:
        """A batched tensor, the same for all samples, that stands for the plain `x` as long as this level runs."""
        known = (x.__dict__.get("_stand_ins") or {}).get(self)
        if known is not None:
            return known
        out = batched(x, None, self)
        if x._base is not None:
            out._base = self._with_history(x._base)
            out._counter, out._view_version, out._origin = out._base._counter, -1, x._origin
        out.__dict__["_tangents"] = x.__dict__.setdefault("_tangents", {})
        x.__dict__.setdefault("_stand_ins", {})[self] = out
        self._held.append(weakref.ref(x))
        return out

    def close(self) -> None:
        """Let plain tensors forget their histories at this level."""
        for reference in self._held:
            x = reference()
            if x is not None:
                x.__dict__.get("_stand_ins", {}).pop(self, None)
                for name in ("_stand_ins", "_tangents"):
                    if not x.__dict__.get(name, True):
                        del x.__dict__[name]
        self._held.clear()

    def physical(self, x: Any) -> tuple[Any, int | None]:
        """The tensor that `x` stands for and the axis of its samples."""
        if self.owns(x):
            return x._storage.physical, x._storage.axis
        return x, None

    @contextmanager
    def active(self) -> Iterator[None]:
        """This level as the innermost mode again, for what must happen to its own tensors."""
        state.stack.append(self)
        try:
            yield
        finally:
            state.stack.pop()

    # -- calls -------------------------------------------------------------------------------------------------------

    def intercept(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Any) -> Any:
        if op.name in RANDOM:
            self._check_randomness(op, operands)
        operands = self._with_stand_ins(operands)
        own = [x for x in operands if self.owns(x)]
        if not own:
            return self._drawn_anew(op, operands, settings, proceed)
        plan = plan_of(op, operands, settings)
        found, axes = self._compute(op, plan, operands, settings)
        out = self._wrapped(op, plan, operands[0], found, axes)
        if state.grad_enabled and plan.differentiable and any_requires_grad(own):
            with self.active():
                graph.record(op, plan, tuple([self.lift(x) for x in operands]), settings, out)
        if plan.views is not None:
            _mark_views(op, operands[0], out)
        return out

    def _with_stand_ins(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self._held:
            return operands
        return tuple([x if (known := self._stand_in(x)) is None else known for x in operands])

    def _drawn_anew(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Any) -> Any:
        """A call without samples of this level: as it is, except that "different" draws per sample."""
        if op.name not in RANDOM or self.randomness != "different":
            return proceed(op, operands, settings)
        if not any(isinstance(x, TensorData) for x in operands):
            drawn = [run(op, operands, settings) for _ in range(self.size)]
            return batched(by_name["stack"](*drawn, dim=0), 0, self)
        lifted = [batched(repeated(x, self.size), 0, self) if isinstance(x, TensorData) else x for x in operands]
        return self.intercept(op, tuple(lifted), settings, proceed)

    def _compute(self, op: Any, plan: Any, operands: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Any, Any]:
        """The physical result(s) and the axis (or axes) of their samples."""
        pairs = [self.physical(x) for x in operands]
        call = Call(op, plan, [value for value, _ in pairs], [axis for _, axis in pairs], settings, self.size)
        if all(axis is None for axis in call.axes):
            return run(op, tuple(call.values), settings), None
        rule = rules.get(op.name)
        if rule is not None:
            return rule(call)
        if op.kind == "pointwise":
            return run_pointwise(call)
        if plan.views is not None:
            return run_view(call)
        return run_each(call)

    def _wrapped(self, op: Any, plan: Any, source: Any, found: Any, axes: Any) -> Any:
        if found.__class__ is not tuple and found.__class__ is not list:
            return batched(found, axes, self)
        each_axis = axes if axes.__class__ is tuple else (axes,) * len(found)
        return tuple([batched(each, axis, self) for each, axis in zip(found, each_axis, strict=True)])

    # -- writes ------------------------------------------------------------------------------------------------------

    def intercept_write(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any, out: Any
    ) -> Any:
        """A call whose result goes into an existing tensor."""
        if out is not None:
            targets = out if isinstance(out, tuple | list) else (out,)
            if any(self.owns(x) for x in (*operands, *targets)):
                raise RuntimeError(
                    f"Batching rule not implemented for aten::{op.name}.out; the fallback path doesn't work on out= or "
                    "view ops. Leave out= away inside vmap."
                )
            return run_out(op, out, operands, settings)
        if op.name in RANDOM:
            self._check_randomness(op, operands, target)
            if self.owns(target) and self.randomness == "same":
                return self._filled_alike(op, operands, settings, target)
        given, (target, *rest) = target, self._with_stand_ins((target, *operands))
        operands = tuple(rest)
        if not any(self.owns(x) for x in (*operands, target)):
            return run_in_place(op, target, operands, settings)
        value, axis = self.physical(target)
        if axis is None and any(self.physical(x)[1] is not None for x in operands):
            raise RuntimeError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
                "`self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of "
                f"{op.name}_."
            )
        if not self.owns(target) and state.grad_enabled and any_requires_grad(operands):
            target = self._with_history(target)  # a plain tensor has no place for a history of this level
            operands = tuple([target if x is given else x for x in operands])
        self._write(op, operands, settings, target, value, axis)
        return given

    def _write(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any, value: Any, axis: int | None
    ) -> None:
        plan = plan_of(op, operands, settings)
        if plan.metas[0].shape != target._meta.shape or plan.metas[0].dtype is not target._meta.dtype:
            check_fits(op, target._meta, plan.metas[0])
        recorded = state.grad_enabled and any_requires_grad(operands) and target._meta.dtype.category >= 2
        node = None
        with self.active():
            graph.check_in_place(target, op.name, recorded)
            if recorded:
                lifted = tuple([self.lift(x) for x in operands])
                node = graph.prepare_in_place(op, plan, lifted, settings, target)
        if state.grad_enabled and operands[0] is target and op.name not in OVERWRITING:
            kept = by_name["clone"](value)  # what is recorded may save it, and it is about to be overwritten
            operands = (batched(kept, axis, self), *operands[1:])
        found, from_axis = self._compute(op, plan, operands, settings)
        if from_axis is not None and axis is not None:
            found = move(found, from_axis, axis)
        elif axis is not None:
            found = by_name["unsqueeze_axes"](found, axes=(axis,))
        run_in_place(by_name["copy"], value, (value, found), {})
        wrote(target, op.name)
        if node is not None:
            with self.active():
                graph.finish_in_place(target, node)

    # -- randomness --------------------------------------------------------------------------------------------------

    def _check_randomness(self, op: Any, operands: tuple[Any, ...], target: Any = None) -> None:
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        sampled = any(self.owns(x) and x._storage.axis is not None for x in operands)
        if target is not None:
            given = any(self.owns(x) and x._storage.axis is not None for x in operands[1:])
            if self.randomness == "same" and given:
                raise RuntimeError(
                    "Vmap does not currently support same randomness with a batched tensor input: the samples have "
                    f"different parameters ({op.name}_). Use randomness='different', or draw outside."
                )
            if self.randomness == "different" and not sampled:
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
                    "same randomness. Use the out-of-place function instead."
                )
        elif self.randomness == "same" and sampled and op.name in _DROPS_SAME:
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input: the samples have "
                f"different parameters ({op.name}). Use randomness='different', or draw outside."
            )

    def _filled_alike(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any) -> Any:
        """The same numbers in every sample."""
        drawn = empty(target._meta.like())
        run_in_place(op, drawn, (drawn, *[self.physical(x)[0] for x in operands[1:]]), settings)
        self.intercept_write(by_name["copy"], (target, drawn), {}, target, None)
        return target


def _mark_views(op: Any, source: Any, out: Any) -> None:
    """Make the results views of the sample's tensor, as dispatch does for other tensors."""
    made = out if out.__class__ is tuple else (out,)
    origin = source._origin if out.__class__ is not tuple else "multi"
    if not state.grad_enabled:
        origin = "no_grad"
    if state.inference:
        origin = "inference"
    for each in made:
        if source._counter is INFERENCE or op.fresh or source._storage.__class__ is not BatchedStorage:
            continue
        each._counter = source._counter
        each._base = source if source._base is None else source._base
        each._view_version = source._counter.count
        each._origin = origin


def run_pointwise(call: Call) -> tuple[Any, int]:
    """Any pointwise operator: samples in front, ranks made equal behind them."""
    values = [call.front(i) for i in range(len(call.values))]
    ranks = [meta.ndim if isinstance(meta, Meta) else 0 for meta in call.operand_metas]
    rank = max(ranks)
    for i, axis in enumerate(call.axes):
        if axis is not None and ranks[i] < rank:
            values[i] = by_name["unsqueeze_axes"](values[i], axes=tuple(range(1, 1 + rank - ranks[i])))
    kinds = {meta.dtype for meta in call.operand_metas if isinstance(meta, Meta)}
    if len(kinds) > 1:
        values = _promoted(call, values)
    return run(call.op, tuple(values), call.settings), 0


def _promoted(call: Call, values: list[Any]) -> list[Any]:
    """The operands as the type that one sample's call computes in: zero-dim samples are not zero-dim in a batch."""
    from pellucid.engine.core.plan import number_type
    from pellucid.engine.core.promotion import common_type

    op = call.op
    decides = [op.promote is None or name in op.promote for name in op.operands]

    def common(metas: list[Any]) -> Any:
        kept = [each for each, counts in zip(metas, decides, strict=False) if counts and each is not None]
        return common_type([each if isinstance(each, Meta) else number_type(type(each)) for each in kept])

    wanted = common(list(call.operand_metas))
    if common([x._meta if isinstance(x, TensorData) else x for x in values]) is wanted:
        return values
    return [
        by_name["cast"](x, dtype=wanted) if counts and isinstance(x, TensorData) and x._meta.dtype is not wanted else x
        for x, counts in zip(values, decides, strict=False)
    ]


def run_view(call: Call) -> tuple[Any, int]:
    """Any view operator, by the strides that it has for one sample."""
    value = call.front(0)
    size, stride = call.size, value._meta.strides[0]
    made = [
        by_name["as_strided"](value, size=(size, *meta.shape), stride=(stride, *meta.strides), storage_offset=offset)
        for meta, offset in zip(call.plan.metas, call.plan.views, strict=True)
    ]
    return (made[0] if call.plan.single else tuple(made)), 0


def run_each(call: Call) -> tuple[Any, int]:
    """Any operator: once per sample, the results stacked."""
    if call.size == 0:
        made = [empty(Meta.of((0, *meta.shape), meta.dtype, meta.device)) for meta in call.plan.metas]
        return (made[0] if call.plan.single else tuple(made)), 0
    results = [run(call.op, _sample(call, index), call.settings) for index in range(call.size)]
    if call.plan.dynamic:
        _check_alike(call.op, results)
    if results[0].__class__ is not tuple:
        return by_name["stack"](*results, dim=0), 0
    return tuple([by_name["stack"](*each, dim=0) for each in zip(*results, strict=True)]), 0


def _check_alike(op: Any, results: list[Any]) -> None:
    several = [each if each.__class__ is tuple else (each,) for each in results]
    if len({tuple([x._meta.shape for x in each]) for each in several}) > 1:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"{op.name}: the samples' results have different shapes, {[tuple(each[0]._meta.shape) for each in several]}"
        )


def _sample(call: Call, index: int) -> tuple[Any, ...]:
    return tuple(
        [
            value if axis is None else by_name["select"](value, dim=axis, index=index)
            for value, axis in zip(call.values, call.axes, strict=True)
        ]
    )


def innermost_vmap() -> VmapLevel | None:
    """The innermost vmap that is running, as far as the current modes go."""
    for mode in reversed(state.stack):
        if isinstance(mode, VmapLevel):
            return mode
    return None


def alike(made: Any, like: Any) -> Any:
    """A fresh tensor, one for each sample where `like` has samples: what is made like a batched tensor may be written
    to.
    """
    storage, mine = like._storage, made._storage
    if storage.__class__ is not BatchedStorage:
        return made
    level = storage.level
    if mine.__class__ is BatchedStorage and mine.level.serial >= level.serial:  # the innermost level is outermost here
        rest = storage.physical if mine.level is level else like
        if mine.level is not level or mine.axis is not None or storage.axis is None:
            return batched(alike(mine.physical, rest), mine.axis, mine.level)
        made = mine.physical
    inner = alike(made, storage.physical)
    if storage.axis is None:
        return inner
    meta: Meta = inner._meta
    strides = (max(meta.numel, 1), *(meta.strides if meta.is_dense else contiguous_strides(meta.shape)))
    return batched(by_name["clone"](repeated(inner, level.size), strides=strides), 0, level)


def detached_sample(tensor: Any) -> Any:
    """A batched tensor cut from the graphs of all levels; writes to either are seen by both."""
    storage = tensor._storage
    if storage.__class__ is not BatchedStorage:
        return shallow(tensor)
    out = batched(detached_sample(storage.physical), storage.axis, storage.level)
    out._counter = tensor._counter
    return out


def levels_of(tensor: Any) -> set[Any]:
    """The levels of which the tensor has samples."""
    found = set()
    while tensor._storage.__class__ is BatchedStorage:
        if tensor._storage.axis is not None:
            found.add(tensor._storage.level)
        tensor = tensor._storage.physical
    return found


def whole(tensor: Any) -> Any:
    """All samples of all levels at once, for checks that look at data; the tensor itself outside vmap."""
    while tensor._storage.__class__ is BatchedStorage:
        tensor = tensor._storage.physical
    return tensor


def drawing_levels() -> list[VmapLevel]:
    """The running vmaps whose samples get random numbers of their own, from the outermost."""
    return [mode for mode in state.stack if isinstance(mode, VmapLevel) and mode.randomness == "different"]


def empty_for_drawing(tensor: Any) -> Any:
    """A fresh tensor of which every sample of the running vmaps has one of its own, where randomness is "different"."""
    levels = drawing_levels()
    if not levels:
        return tensor
    sizes = [level.size for level in levels]
    meta: Meta = tensor._meta
    value = empty(Meta.of((*sizes, *meta.shape), meta.dtype, meta.device))
    for level in levels:  # the outermost level hides the first axis, and so on
        value = batched(value, 0, level)
    return value


__all__ = [
    "Call", "InPlace", "VmapLevel", "alike", "batched", "empty_for_drawing", "innermost_vmap",
    "is_batched", "move", "repeated", "rules", "run_each", "to_front", "whole",
]  # fmt: skip
