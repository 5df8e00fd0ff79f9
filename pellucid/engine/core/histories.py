"""Where a transform's own history ends: inputs of its own, and results that keep of their history what lies outside."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import graph
from pellucid.engine.core.batching import BatchedStorage, batched, innermost_vmap, marks_of
from pellucid.engine.core.data import INFERENCE, TensorData, shallow
from pellucid.engine.core.storage import Version


def cut(tensor: Any) -> Any:
    """The same tensor without gradient history at its own level, with its tangents."""
    out = shallow(tensor)
    marks = marks_of(tensor)
    if marks:
        out.__dict__["_tangents"] = dict(marks)
    return out


def out_of_inference(tensor: Any) -> Any:
    """The tensor, or one over the same data that may be saved, where it was made in inference mode."""
    if tensor._counter is not INFERENCE:
        return tensor
    out = cut(tensor)
    out._counter = Version()
    return out


def leaf(tensor: Any) -> Any:
    """A tensor over the same data, at the level of the innermost vmap, whose gradient is wanted there."""
    level = innermost_vmap()
    out = cut(tensor if level is None else level.lift(tensor))
    out._needs_grad = True
    return out


def is_tracked(tensor: Any) -> bool:
    """Whether an operator on this tensor, or on one of its tangents, would be recorded at any level."""
    while True:
        if graph.requires_grad(tensor) or has_tracked_tangent(tensor) or _has_history_inside(tensor):
            return True
        if tensor._storage.__class__ is not BatchedStorage:
            return False
        tensor = tensor._storage.physical


def _has_history_inside(tensor: Any) -> bool:
    """Whether a plain tensor, or its base, was written to and recorded at the level of a running vmap."""
    for each in (tensor, tensor._base):
        stand_ins = each.__dict__.get("_stand_ins") if each is not None and each.__dict__ else None
        if stand_ins and any([graph.requires_grad(known) for known in stand_ins.values()]):
            return True
    return False


def at_own_level(tensor: Any) -> Any:
    """The tensor that has the history at the level of the innermost vmap: itself, unless it was written to there."""
    level = innermost_vmap()
    if level is None:
        return tensor
    lifted = level.lift(tensor)
    return lifted if graph.requires_grad(lifted) else tensor


def has_tracked_tangent(tensor: Any) -> bool:
    """Whether an operator on one of its tangents would be recorded at any level."""
    marks = marks_of(tensor)
    return any([is_tracked(each) for each in (marks or {}).values()])


def detached_deeply(tensor: Any) -> Any:
    """The tensor without gradient history at any level."""
    storage = tensor._storage
    if storage.__class__ is not BatchedStorage:
        return cut(tensor)
    out = batched(detached_deeply(storage.physical), storage.axis, storage.level)
    marks = marks_of(tensor)
    if marks:
        out.__dict__["_tangents"] = dict(marks)
    return out


def reaches_outside(tensor: Any, own: set[int]) -> bool:
    """Whether the tensor's history ends anywhere but in the tensors with the ids `own`."""
    node = graph.grad_fn_of(tensor)
    if node is None:
        return graph.requires_grad(tensor) and id(tensor) not in own
    stack = [node]
    visited: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, graph.AccumulateGrad):
            if id(node.variable) not in own:
                return True
            continue
        edges = [edge[0] for edge in node.edges if edge is not None]
        if not edges:
            return True
        stack += edges
    return False


def _standing_for(physical: Any, tensor: Any) -> Any:
    """The batched tensor over another physical one, at its place in its level's history."""
    out = batched(physical, tensor._storage.axis, tensor._storage.level)
    out._grad_fn, out._output_nr, out._needs_grad = graph.grad_fn_of(tensor), tensor._output_nr, tensor._needs_grad
    marks = marks_of(tensor)
    if marks:
        out.__dict__["_tangents"] = dict(marks)
    return out


def released(value: Any, own: set[int], may_differentiate: bool = True) -> Any:
    """A result as the caller sees it: without the history that ends in a transform's own inputs."""
    if not isinstance(value, TensorData):
        return value
    if not may_differentiate:
        return detached_deeply(value)
    storage = value._storage
    if storage.__class__ is BatchedStorage:
        inner = released(storage.physical, own)
        if inner is not storage.physical:
            value = _standing_for(inner, value)
    if graph.requires_grad(value) and not reaches_outside(value, own):
        return cut(value)
    return value
