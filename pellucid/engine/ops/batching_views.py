"""Batching rules of the views: the same view with the axes counted one further, so that its gradient stays simple."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.batching import Call, run_view
from pellucid.engine.core.graph import by_name
from pellucid.engine.ops.batching_rules import aligned, batching_rule, sample_rank


@batching_rule("permute")
def permute_rule(call: Call) -> tuple[Any, int]:
    return call.run(call.front(0), dims=(0, *[d + 1 for d in call.settings["dims"]])), 0


@batching_rule("transpose")
def transpose_rule(call: Call) -> tuple[Any, Any]:
    if not sample_rank(call, 0):
        return by_name["alias"](call.values[0]), call.axes[0]
    settings = call.settings
    return call.run(call.front(0), dim0=settings["dim0"] + 1, dim1=settings["dim1"] + 1), 0


@batching_rule("t")
def matrix_transpose_rule(call: Call) -> tuple[Any, Any]:
    if sample_rank(call, 0) < 2:
        return by_name["alias"](call.values[0]), call.axes[0]
    return by_name["transpose"](call.front(0), dim0=1, dim1=2), 0


@batching_rule("alias")
def alias_rule(call: Call) -> tuple[Any, Any]:
    return call.run(call.values[0]), call.axes[0]


@batching_rule("expand")
def expand_rule(call: Call) -> tuple[Any, int]:
    shape = call.plan.metas[0].shape
    value = aligned(call.front(0), sample_rank(call, 0), len(shape))
    return by_name["expand"](value, size=(call.size, *shape)), 0


@batching_rule("view", "reshape_alias", "unsafe_view")
def view_rule(call: Call) -> tuple[Any, int]:
    return call.run(call.front(0), size=(call.size, *call.settings["size"])), 0


@batching_rule("unsqueeze_axes")
def unsqueeze_rule(call: Call) -> tuple[Any, int]:
    return call.run(call.front(0), axes=tuple([axis + 1 for axis in call.settings["axes"]])), 0


@batching_rule("squeeze_all", "squeeze_axis", "squeeze_axes")
def squeeze_rule(call: Call) -> tuple[Any, int]:
    meta, settings = call.operand_metas[0], call.settings
    axes = settings.get("axes", (settings["axis"],) if "axis" in settings else range(meta.ndim))
    kept = tuple([axis + 1 for axis in axes if axis < meta.ndim and meta.shape[axis] == 1])
    return by_name["squeeze_axes"](call.front(0), axes=kept), 0


@batching_rule("select", "slice", "split", "split_with_sizes", "unbind")
def axis_rule(call: Call) -> tuple[Any, int]:
    return call.run(call.front(0), dim=call.settings["dim"] + 1), 0


@batching_rule("diagonal")
def diagonal_rule(call: Call) -> tuple[Any, int]:
    settings = call.settings
    return call.run(call.front(0), dim1=settings["dim1"] + 1, dim2=settings["dim2"] + 1), 0


@batching_rule("unfold")
def unfold_rule(call: Call) -> tuple[Any, int]:
    if not sample_rank(call, 0):
        return run_view(call)
    return call.run(call.front(0), dim=call.settings["dim"] + 1), 0


@batching_rule("view_as_real", "view_as_complex", "view_as_dtype")
def retype_rule(call: Call) -> tuple[Any, int]:
    return call.run(call.front(0)), 0
