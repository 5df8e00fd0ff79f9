"""Forward mode's mechanism: tensors that carry a tangent per level, and the mode that computes results' tangents.

A tangent comes from the gradient rules, which are made of operators. A pointwise rule multiplies its cotangent with a
slope, so that it turns a tangent as well; for other operators, u ↦ Jᵀu is linear in u, and its own reverse pass gives
Jt (J. Townsend, "A new trick for calculating Jacobian vector products", 2017). Linear and bilinear operators apply to
the tangents themselves; their table is engine/ops/tangent_rules.py.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable
from typing import Any

from pellucid.engine.core import graph
from pellucid.engine.core.backward import fit
from pellucid.engine.core.backward import run as run_backward
from pellucid.engine.core.batching import alike, levels_of, whole
from pellucid.engine.core.copy_slices import CopySlices
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.dispatch import plan_of, run_in_place, run_out
from pellucid.engine.core.graph import OpNode, Recipe, by_name
from pellucid.engine.core.histories import at_own_level, is_tracked, leaf, out_of_inference, released
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import state

Rule = Callable[..., Any]  # (operands, tangents, settings) -> the result's tangent
rules: dict[str, Rule] = {}


class DualLevel:
    """The mode of one level of forward differentiation."""

    carries_tangents = True

    def __init__(self) -> None:
        if not rules:  # by name: the rules are written in operators, which stand above core
            importlib.import_module("pellucid.engine.ops.tangent_rules")
        self._members: list[weakref.ref[Any]] = []

    def tangent(self, x: Any) -> Any:
        """The tangent of `x` at this level, or None."""
        if not isinstance(x, TensorData) or not x.__dict__:
            return None
        marks = x.__dict__.get("_tangents")
        return marks.get(self) if marks else None

    def attach(self, x: Any, tangent: Any) -> None:
        """Make `x` a dual tensor of this level."""
        marks = x.__dict__.setdefault("_tangents", {})
        marks[self] = laid_out_like(tangent, x)
        self._members.append(weakref.ref(x))

    def close(self) -> None:
        """Let every tensor forget its tangent of this level."""
        for reference in self._members:
            x = reference()
            marks = x.__dict__.get("_tangents") if x is not None else None
            if x is not None and marks is not None:
                marks.pop(self, None)
                if not marks:
                    del x.__dict__["_tangents"]
        self._members.clear()

    # -- calls -------------------------------------------------------------------------------------------------------

    def intercept(self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Any) -> Any:
        out = proceed(op, operands, settings)
        tangents = [self.tangent(x) for x in operands]
        if any(tangent is not None for tangent in tangents):
            self._spread(op, operands, settings, tangents, out)
        return out

    def _spread(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], tangents: list[Any], out: Any
    ) -> None:
        outputs = out if isinstance(out, tuple) else (out,)
        found = tangents_of(op, operands, settings, tangents, outputs)
        if op.kind not in ("view", "views"):  # a result of its own can be written to, so its tangent is its own too
            found = [each if each is None else _own(each, tangents) for each in found]
        for each, tangent in zip(outputs, found, strict=True):
            if tangent is not None:
                self.attach(each, tangent)
        node = outputs[0]._grad_fn
        if (
            isinstance(node, OpNode)
            and node.op is op
            and node.recipe.saved_outputs
            and node.saved is not graph.RELEASED
        ):
            for i in node.recipe.saved_outputs:  # kept as other tensors over the same data
                saved = node.saved["output", i].tensor
                if saved is not None and found[i] is not None:
                    self.attach(saved, self.tangent(outputs[i]))

    def intercept_write(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], target: Any, out: Any
    ) -> Any:
        """A call whose result goes into an existing tensor, with its tangent."""
        tangents = [self.tangent(x) for x in operands]
        is_dual = any(tangent is not None for tangent in tangents)
        if out is not None:
            targets = out if isinstance(out, tuple | list) else (out,)
            if is_dual or any(self.tangent(x) is not None for x in targets):
                raise NotImplementedError(
                    f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= "
                    "function. Leave out= away."
                )
            return run_out(op, out, operands, settings)
        before = self._of_view(target)
        if not is_dual and before is None:
            return run_in_place(op, target, operands, settings)
        if target._meta.dtype.category < 2:
            return run_in_place(op, target, operands, settings)
        if is_dual:
            from pellucid.engine.core.dispatch import run

            given = operands
            if state.grad_enabled and operands[0] is target:  # what is recorded may save it
                given = (by_name["clone"](target), *operands[1:])
                tangents[0] = None if tangents[0] is None else by_name["clone"](tangents[0])
            value = run(op, given, settings)
            tangent = tangents_of(op, given, settings, tangents, (value,))[0]
            tangent = None if tangent is None else _own(tangent, tangents)
        else:
            tangent = graph.zeros(target._meta)
        old = by_name["clone"](before) if before is not None and state.grad_enabled else None
        run_in_place(op, target, operands, settings)
        self._write(target, before, tangent if tangent is not None else graph.zeros(target._meta))
        self._mark_saved(op, target, old)
        return target

    def _mark_saved(self, op: Any, target: Any, old: Any) -> None:
        """What an in-place node keeps are other tensors over the same data, and a copy of what was there."""
        holder = at_own_level(target)  # inside vmap, a plain tensor's history is elsewhere
        node = holder._grad_fn if holder._base is None else holder._base._grad_fn
        if isinstance(node, CopySlices):
            node = node.function
        if not isinstance(node, OpNode) or node.op is not op or node.saved is graph.RELEASED:
            return
        for (kind, index), saved in (node.saved or {}).items():
            if kind == "input" and index:
                continue
            tangent = self.tangent(target) if kind == "output" else old
            kept = saved.tensor
            if kept is not None and tangent is not None and kept is not target:
                self.attach(kept, tangent)

    def _of_view(self, target: Any) -> Any:
        """The tangent of a tensor, or, for a view made before its base became dual, the part of the base's tangent."""
        own = self.tangent(target)
        if own is not None or target._base is None:
            return own
        around = self.tangent(target._base)
        if around is None:
            return None
        part = _part(around, target._base, target)
        target.__dict__.setdefault("_tangents", {})[self] = part
        self._members.append(weakref.ref(target))
        return part

    def _write(self, target: Any, before: Any, tangent: Any) -> None:
        """Put the tangent into the target's, which views of it share; a base without one gets zeros around it."""
        root = target if target._base is None else target._base
        if before is None and target._base is not None:
            self.attach(root, alike(graph.zeros(root._meta), tangent))
            before = self._of_view(target)
        if before is None:
            self.attach(target, tangent)
            return
        if not levels_of(tangent) <= levels_of(before):  # a tangent per sample does not fit into one for all
            held = self.tangent(root)
            self.attach(root, alike(by_name["clone"](before if held is None else held), tangent))
            if root is not target:
                target.__dict__["_tangents"].pop(self)
            before = self._of_view(target)
        if before._meta.dtype is not tangent._meta.dtype:
            tangent = by_name["cast"](tangent, dtype=before._meta.dtype)
        run_in_place(by_name["copy"], before, (before, tangent), {})


def _own(tangent: Any, others: list[Any]) -> Any:
    """The tangent, or a copy where it shares memory with other tensors."""
    shown = whole(tangent)
    shared = any(other is not None and whole(other)._storage is shown._storage for other in others)
    if not shared and shown._base is None and not shown._meta.has_overlap:
        return tangent
    return by_name["clone"](tangent)


def _part(tangent: Any, base: Any, view: Any) -> Any:
    return by_name["as_strided"](
        tangent,
        size=tuple(view._meta.shape),
        stride=view._meta.strides,
        storage_offset=view._offset - base._offset,
    )


def laid_out_like(tangent: Any, primal: Any) -> Any:
    """The tangent with the strides of its primal, so that every view of the one is a view of the other."""
    mine, wanted = tangent._meta, primal._meta
    if mine is wanted or mine.strides == wanted.strides or not wanted.is_dense:
        return tangent
    if all(a == b for a, b, n in zip(mine.strides, wanted.strides, wanted.shape, strict=True) if n > 1):
        return tangent
    return by_name["clone"](tangent, strides=wanted.strides)


class Kept:
    """What a rule asks for, in place of a saved tensor: the tensor itself."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def get(self, node: Any) -> Any:
        """The tensor."""
        return self.tensor


def tangents_of(
    op: Any, operands: tuple[Any, ...], settings: dict[str, Any], tangents: list[Any], outputs: tuple[Any, ...]
) -> list[Any]:
    """The tangent of every output; None where it is not floating."""
    floating = [each._meta.dtype.category >= 2 for each in outputs]
    if not any(floating) or op.dynamic:
        return [None] * len(outputs)
    if op.zero_gradient:
        return [_zeros(each, tangents) if is_one else None for each, is_one in zip(outputs, floating, strict=True)]
    rule = rules.get(op.name)
    if op.kind in ("view", "views"):
        found = rule(operands, tangents, settings) if rule else _view_of(op, tangents[0], settings)
        return list(found) if isinstance(found, tuple) else [found]
    if rule is not None:
        found = rule(operands, tangents, settings)
        return [_zeros(outputs[0], tangents) if found is None else _shaped(found, outputs[0])]
    if not op.rules:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet:"
            " it has no gradient rule either."
        )
    if op.kind == "pointwise" and not any(_is_complex(x) for x in (*operands, *outputs)):
        return [_by_slopes(op, operands, settings, tangents, outputs[0])]
    return _by_two_passes(op, operands, settings, tangents, outputs)


def _is_complex(x: Any) -> bool:
    return isinstance(x, TensorData) and x._meta.dtype.is_complex


def _view_of(op: Any, tangent: Any, settings: dict[str, Any]) -> Any:
    return op(tangent, **settings)


def _zeros(output: Any, tangents: list[Any]) -> Any:
    """A tangent of zeros, per sample where the others are per sample, so that they can be written into it."""
    made = graph.zeros(output._meta)
    for each in tangents:
        if each is not None:
            made = alike(made, each)
    return made


def _shaped(tangent: Any, output: Any) -> Any:
    """The tangent in the result's dtype and shape."""
    if tangent._meta.dtype is not output._meta.dtype:
        tangent = by_name["cast"](tangent, dtype=output._meta.dtype)
    if tangent._meta.shape != output._meta.shape:
        tangent = by_name["expand"](tangent, size=tuple(output._meta.shape))
    return tangent


def _node(
    op: Any, operands: tuple[Any, ...], settings: dict[str, Any], outputs: tuple[Any, ...], wanted: tuple[bool, ...]
) -> OpNode:
    """A node as recording would make it, for the operands that are wanted, whose saved tensors are the tensors."""
    plan = plan_of(op, operands, settings)
    recipe = plan.recipes.get(wanted)
    if recipe is None:
        recipe = plan.recipes[wanted] = Recipe(op, wanted, operands)
    node = OpNode(op, plan, recipe, operands, settings)
    node.edges = tuple([(node, 0) if wanted[i] else None for i in recipe.edge_operands])
    node.saved = {("input", i): Kept(operands[i]) for i in recipe.saved_inputs}
    for i in recipe.saved_outputs:
        node.saved["output", i] = Kept(outputs[i])
    return node


def _by_slopes(op: Any, operands: tuple[Any, ...], settings: dict[str, Any], tangents: list[Any], output: Any) -> Any:
    """Of a pointwise operator on real numbers: each tangent times its slope, by the gradient rule."""
    total = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        wanted = tuple([position == i for position in range(len(operands))])
        node = _node(op, operands, settings, (output,), wanted)
        found = node.apply([_shaped(tangent, output)])
        turned = next((each for each in found if each is not None), None)
        if turned is not None:
            turned = _shaped(turned, output)
            total = turned if total is None else by_name["add"](total, turned)
    return _zeros(output, tangents) if total is None else _shaped(total, output)


def _by_two_passes(
    op: Any, operands: tuple[Any, ...], settings: dict[str, Any], tangents: list[Any], outputs: tuple[Any, ...]
) -> list[Any]:
    """Of any operator: the derivative of the gradients with respect to the cotangents, in the tangents' direction."""
    wanted = tuple([tangent is not None for tangent in tangents])
    create = state.grad_enabled and any(is_tracked(x) for x in (*operands, *tangents) if isinstance(x, TensorData))
    before = state.grad_enabled, state.inference
    state.grad_enabled, state.inference = True, False
    try:
        probes = [leaf(_ones(each._meta)) if each._meta.dtype.category >= 2 else None for each in outputs]
        node = _node(op, operands, settings, outputs, wanted)
        pulled = node.apply(list(probes))
        roots: list[Any] = []
        weights: list[Any] = []
        for i, gradient in zip(node.recipe.edge_operands, pulled, strict=True):
            if gradient is None or tangents[i] is None:
                continue
            gradient = fit(gradient, operands[i]._meta, node, i)
            if graph.requires_grad(gradient):
                roots.append(graph.gradient_edge(gradient))
                weights.append(tangents[i])
        targets: list[Any] = [graph.gradient_edge(each) for each in probes if each is not None]
        found = iter(_pulled(op, roots, weights, create, targets) if roots else [None] * len(targets))
    finally:
        state.grad_enabled, state.inference = before
    own = {id(each) for each in probes if each is not None}
    results: list[Any] = []
    for each, probe in zip(outputs, probes, strict=True):
        tangent = None if probe is None else next(found)
        if probe is None:
            results.append(None)
        else:
            results.append(_zeros(each, tangents) if tangent is None else _shaped(released(tangent, own), each))
    return results


def _pulled(op: Any, roots: list[Any], weights: list[Any], create: bool, targets: list[Any]) -> list[Any]:
    try:
        return run_backward(roots, weights, create, create, targets)
    except RuntimeError as error:
        if "derivative for" not in str(error):
            raise
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet:"
            f" its gradient cannot be differentiated ({error})."
        ) from error


def _ones(meta: Meta) -> Any:
    return by_name["full"](size=tuple(meta.shape), value=1, dtype=meta.dtype, device=meta.device)


def dual(primal: Any, tangent: Any, level: DualLevel) -> Any:
    """A view of `primal` that carries `tangent` at `level`; errors in PyTorch's words for what does not go together."""
    for name, each in (("primal", primal), ("tangent", tangent)):
        if not (each.is_floating_point() or each.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {each.dtype}")
    if level.tangent(primal) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level is not "
            "supported."
        )
    if primal.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if level.tangent(tangent) is not None:
        raise RuntimeError(
            "Expected tangent tensor to not be a dual tensor at the same level: give unpack_dual(tangent).primal."
        )
    made = primal.view_as(primal)
    tangent = out_of_inference(tangent)
    level.attach(made, tangent if tangent.dtype == primal.dtype else tangent.to(primal.dtype))
    return made


def unpacked(value: Any, level: DualLevel) -> tuple[Any, Any]:
    """The tensor without its tangent at `level`, and that tangent or None."""
    tangent = level.tangent(value)
    if tangent is None:
        return value, None
    made = value.view_as(value)
    marks = made.__dict__["_tangents"]
    marks.pop(level, None)
    return made, tangent
