"""How operators run on a whole batch of vmap at once: the common patterns, and the operators that follow them.

A rule gets a `Call` (physical operands, where their samples lie) and returns the physical results with the axis of
their samples. Pointwise operators and views without a rule are batched by core; anything else without a rule runs once
per sample. The other files named batching_*.py hold the rules that are one operator's own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pellucid.engine.core.batching import Call, Rule, rules, run_each
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.meta import Meta, contiguous_strides
from pellucid.engine.ops.shape import reshape_to


def batching_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for these operators."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name not in by_name:
                raise TypeError(f"a batching rule is given for '{name}', which is no operator")
            rules[name] = rule
        return rule

    return register


def merged(value: Any, first: int = 0) -> Any:
    """The tensor with the axes `first` and `first + 1` as one."""
    shape = value._meta.shape
    return reshape_to(value, (*shape[:first], shape[first] * shape[first + 1], *shape[first + 2 :]))


def parted(value: Any, size: int, axis: int = 0) -> Any:
    """The tensor with an axis taken apart into `size` and the rest."""
    shape = value._meta.shape
    rest = shape[axis] // size if size else 0
    return reshape_to(value, (*shape[:axis], size, rest, *shape[axis + 1 :]))


def aligned(value: Any, ndim: int, rank: int) -> Any:
    """A batch of samples of `ndim` axes with axes of size 1 put in front of each sample's until it has `rank`."""
    if not isinstance(value, TensorData) or rank <= ndim:
        return value
    return by_name["unsqueeze_axes"](value, axes=tuple(range(1, 1 + rank - ndim)))


def sample_rank(call: Call, i: int) -> int:
    """How many axes operand `i` has in one sample; 0 for a number or None."""
    meta = call.operand_metas[i] if i < len(call.operand_metas) else None
    return meta.ndim if isinstance(meta, Meta) else 0


def _shifted(dim: Any, ndim: int) -> Any:
    if dim is None:
        return tuple(range(1, ndim + 1))
    if isinstance(dim, tuple):
        return tuple([d + (d >= 0) for d in dim])
    return dim + (dim >= 0)


def _shaped(found: Any, call: Call) -> Any:
    several = found if found.__class__ is tuple else (found,)
    made = tuple(
        [reshape_to(each, (call.size, *meta.shape)) for each, meta in zip(several, call.plan.metas, strict=True)]
    )
    return made if found.__class__ is tuple else made[0]


def _along(*names: str) -> Rule:
    """Operators whose settings `names` tell axes: all operands batched in front, the axes counted one further."""

    def rule(call: Call) -> tuple[Any, Any]:
        operands = [call.expanded(i) for i in range(len(call.values))]
        ndim = sample_rank(call, 0)
        if any(sample_rank(call, i) != ndim for i in range(len(operands)) if isinstance(operands[i], TensorData)):
            return run_each(call)
        if not ndim:  # a number has no axis to go along, so it gets one
            operands = [by_name["unsqueeze_axes"](x, axes=(1,)) if isinstance(x, TensorData) else x for x in operands]
        changed = {name: _shifted(call.settings.get(name), max(ndim, 1)) for name in names}
        found = call.run(*operands, **changed)
        return (found if ndim else _shaped(found, call)), 0

    return rule


batching_rule(
    "all", "any", "amax", "amin", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "glu", "kthvalue",
    "log_softmax", "softmax", "safe_softmax", "logcumsumexp", "logsumexp", "max_dim", "mean", "median", "min_dim",
    "mode", "prod", "sort", "std", "sum", "var", "topk", "vector_norm", "cross", "cat",
)(_along("dim"))  # fmt: skip
batching_rule("flip")(_along("dims"))
batching_rule("roll")(_along("dims"))
batching_rule("fft_c2c", "fft_c2r", "fft_r2c")(_along("axes"))


@batching_rule("argmax", "argmin")
def argmax_rule(call: Call) -> tuple[Any, int]:
    """An axis, or the place in all of a sample."""
    value, dim = call.front(0), call.settings["dim"]
    axis = dim[0] if isinstance(dim, tuple) and len(dim) == 1 else dim
    if axis is None or isinstance(axis, tuple) or not sample_rank(call, 0):
        flat = reshape_to(value, (call.size, call.operand_metas[0].numel))
        return _shaped(call.run(flat, dim=(1,) if isinstance(dim, tuple) else 1, keepdim=False), call), 0
    return call.run(value, dim=_shifted(dim, sample_rank(call, 0))), 0


@batching_rule("max_all", "min_all")
def extreme_of_all_rule(call: Call) -> tuple[Any, int]:
    """The extreme along every axis of the sample; equal ones share the gradient either way."""
    name = "amax" if call.op.name == "max_all" else "amin"
    flat = reshape_to(call.front(0), (call.size, call.operand_metas[0].numel))
    return by_name[name](flat, dim=(1,), keepdim=False), 0


@batching_rule("stack")
def stack_rule(call: Call) -> tuple[Any, int]:
    return call.run(*[call.expanded(i) for i in range(len(call.values))], dim=call.settings["dim"] + 1), 0


def _cat_rule(call: Call) -> tuple[Any, int]:
    """As along an axis; empty vectors, which `cat` passes over, are left out."""
    shapes = [meta.shape for meta in call.operand_metas]
    kept = [i for i, shape in enumerate(shapes) if shape != (0,)] or [0]
    kinds = {meta.dtype for meta in call.operand_metas}
    if len(kept) < len(shapes) and len(kinds) > 1:
        return run_each(call)
    return call.run(*[call.expanded(i) for i in kept], dim=call.settings["dim"] + 1), 0


rules["cat"] = _cat_rule


def leading_rule(call: Call) -> tuple[Any, int]:
    """Operators that take any axes in front of the ones they work on."""
    ranks = {sample_rank(call, i) for i, x in enumerate(call.values) if isinstance(x, TensorData)}
    if len(ranks) > 1:
        return run_each(call)
    return call.run(*[call.expanded(i) for i in range(len(call.values))]), 0


batching_rule(
    "det", "slogdet", "inv", "cholesky", "cholesky_inverse", "cofactors", "eig", "eigh", "eigvals", "eigvalsh",
    "lu", "lu_factor", "matrix_exp", "qr", "svd", "svdvals", "tril", "triu", "solve_triangular",
    "cholesky_solve", "cdist", "pixel_shuffle", "pixel_unshuffle", "masked_scale",
)(leading_rule)  # fmt: skip


def fold_rule(call: Call) -> tuple[Any, Any]:
    """Operators that treat the entries of axis 0 alike: the samples' entries one after another."""
    if any(isinstance(x, TensorData) and not sample_rank(call, i) for i, x in enumerate(call.values)):
        return run_each(call)
    operands = [merged(call.expanded(i)) if isinstance(x, TensorData) else x for i, x in enumerate(call.values)]
    found = call.run(*operands)
    if found.__class__ is tuple:
        return tuple([parted(each, call.size) for each in found]), 0
    return parted(found, call.size), 0


batching_rule(
    "adaptive_avg_pool", "adaptive_avg_pool_adjoint", "adaptive_max_pool", "avg_pool", "avg_pool_adjoint", "max_pool",
    "max_unpool", "pool_gather", "pool_scatter", "upsample", "upsample_adjoint", "im2col", "col2im", "channel_shuffle",
    "grid_sampler_2d", "grid_sampler_3d", "grid_scatter", "grid_slope", "grid_turn", "affine_grid_generator",
    "affine_grid_adjoint",
)(fold_rule)  # fmt: skip


@batching_rule("border_pad", "border_pad_adjoint")
def border_pad_rule(call: Call) -> tuple[Any, Any]:
    rank, padded = sample_rank(call, 0), len(call.settings["pad"])
    return fold_rule(call) if rank > padded else (call.run(call.front(0)), 0)


@batching_rule("constant_pad")
def constant_pad_rule(call: Call) -> tuple[Any, int]:
    return call.run(call.front(0), pad=((0, 0), *call.settings["pad"])), 0


@batching_rule("repeat")
def repeat_rule(call: Call) -> tuple[Any, int]:
    counts = call.settings["counts"]
    value = aligned(call.front(0), sample_rank(call, 0), len(counts))
    return call.run(value, counts=(1, *counts)), 0


@batching_rule("cast", "zero")
def elementwise_rule(call: Call) -> tuple[Any, Any]:
    return call.run(*call.values), call.axes[0]


@batching_rule("clone")
def clone_rule(call: Call) -> tuple[Any, Any]:
    strides = call.settings.get("strides")
    if strides is None:
        return call.run(call.values[0]), call.axes[0]
    value, meta = call.front(0), call.operand_metas[0]
    plain = strides == contiguous_strides(meta.shape)
    shape = value._meta.shape
    return call.run(value, strides=contiguous_strides(shape) if plain else (max(meta.numel, 1), *strides)), 0


@batching_rule("copy")
def copy_rule(call: Call) -> tuple[Any, int]:
    source = call.front(1)
    if call.axes[1] is not None:
        source = aligned(source, sample_rank(call, 1), sample_rank(call, 0))
    return call.run(call.expanded(0), source), 0


@batching_rule("fill", "fill_from")
def fill_rule(call: Call) -> tuple[Any, Any]:
    if call.axes[1] is None:
        return call.run(*call.values), call.axes[0]
    return by_name["copy"](call.expanded(0), aligned(call.front(1), 0, sample_rank(call, 0))), 0


@batching_rule("trace")
def trace_rule(call: Call) -> tuple[Any, int]:
    diagonal = by_name["diagonal"](call.front(0), offset=0, dim1=1, dim2=2)
    return by_name["sum"](diagonal, dim=(1,), keepdim=False, dtype=call.plan.metas[0].dtype), 0


@batching_rule("embed_slice", "fold_windows")
def embed_slice_rule(call: Call) -> tuple[Any, Any]:
    settings = call.settings
    if not settings["size"]:
        return run_each(call)
    return call.run(call.front(0), size=(call.size, *settings["size"]), dim=settings["dim"] + 1), 0


@batching_rule("embed_diagonal")
def embed_diagonal_rule(call: Call) -> tuple[Any, int]:
    settings = call.settings
    changed = {"dim1": settings["dim1"] + 1, "dim2": settings["dim2"] + 1}
    return call.run(call.front(0), size=(call.size, *settings["size"]), **changed), 0


for _name in ("views", "products", "selection", "layers"):
    importlib.import_module(f"pellucid.engine.ops.batching_{_name}")
