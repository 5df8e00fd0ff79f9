"""Batching rules of normalisations and losses."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.batching import Call, Rule, move, repeated, run_each
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.graph import by_name
from pellucid.engine.ops.batching_rules import aligned, batching_rule, merged, parted, sample_rank
from pellucid.engine.ops.shape import reshape_to


def _affine(call: Call, y: Any, shape_of: Any) -> Any:
    """Normalised samples times weight plus bias, of which at least one has samples too."""
    for position, name in ((1, "mul"), (2, "add")):
        if call.values[position] is not None:
            parameter = call.front(position)
            y = by_name[name](y, shape_of(parameter, call.axes[position] is not None))
    return y


def _has_sampled_parameters(call: Call) -> bool:
    return call.axes[1] is not None or call.axes[2] is not None


@batching_rule("layer_norm")
def layer_norm_rule(call: Call) -> tuple[Any, Any]:
    if not _has_sampled_parameters(call):
        return call.run(call.front(0), call.values[1], call.values[2]), 0
    rank, axes = sample_rank(call, 0), call.settings["axes"]
    y, centre, scale = call.run(call.expanded(0), None, None)
    shaped = lambda p, sampled: aligned(p, axes, rank) if sampled else p  # noqa: E731
    return (_affine(call, y, shaped), centre, scale), 0


@batching_rule("group_norm")
def group_norm_rule(call: Call) -> tuple[Any, Any]:
    sampled = _has_sampled_parameters(call)
    parameters = (None, None) if sampled else (call.values[1], call.values[2])
    found = call.run(merged(call.expanded(0)), *parameters)
    y, centre, scale = [parted(each, call.size) for each in found]
    if sampled:
        y = _affine(call, y, _per_channel(call))
    return (y, centre, scale), 0


def _per_channel(call: Call) -> Any:
    """A parameter per channel, shaped against (samples, batch, channels, *space)."""
    space = (1,) * (sample_rank(call, 0) - 2)
    return lambda p, sampled: reshape_to(p, (call.size, 1, _width(p), *space) if sampled else (_width(p), *space))


def _width(parameter: Any) -> int:
    return int(parameter._meta.shape[-1])


@batching_rule("batch_norm")
def batch_norm_rule(call: Call) -> tuple[Any, Any]:
    """In training the samples become channels, each with its statistics; so too where those are given per sample."""
    own_statistics = call.settings["training"] or call.axes[3] is not None or call.axes[4] is not None
    sampled = _has_sampled_parameters(call)
    if not own_statistics and not sampled:
        y, centre, scale = call.run(merged(call.front(0)), *call.values[1:])
        return (parted(y, call.size), repeated(centre, call.size), repeated(scale, call.size)), 0
    x = merged(move(call.expanded(0), 0, 1), 1)
    running = [None if call.values[i] is None else merged(call.expanded(i)) for i in (3, 4)]
    parameters = [None if call.values[i] is None else merged(call.expanded(i)) for i in (1, 2)]
    y, centre, scale = call.run(x, *parameters, *running)
    return (parted(y, call.size, 1), parted(centre, call.size, 1), parted(scale, call.size, 1)), 1


def _reduced(values: Any, reduction: str, rank: int) -> Any:
    """One loss per sample of element losses with samples along axis 0."""
    if reduction == "none":
        return values
    axes = tuple(range(1, rank + 1))
    return by_name[reduction](values, dim=axes, keepdim=False, dtype=values._meta.dtype)


def _elementwise_loss(call: Call) -> tuple[Any, Any]:
    """Losses that broadcast like pointwise operators and are then reduced."""
    ranks = [sample_rank(call, i) for i in range(len(call.values))]
    rank = max(ranks)
    kinds = {meta.dtype for meta in call.operand_metas if hasattr(meta, "dtype")}
    if len(kinds) > 1:
        return run_each(call)
    operands = []
    for i, value in enumerate(call.values):
        front = call.front(i)
        operands.append(aligned(front, ranks[i], rank) if call.axes[i] is not None else value)
    values = call.run(*operands, reduction="none")
    return _reduced(values, call.settings["reduction"], rank), 0


_loss_rule: Rule = batching_rule(
    "binary_cross_entropy", "huber", "logits_cross_entropy", "smooth_l1", "soft_margin", "squared_error"
)(_elementwise_loss)


@batching_rule("nll")
def nll_rule(call: Call) -> tuple[Any, Any]:
    """Items of all samples in one batch; each sample divides by its own weights' sum."""
    if call.axes[2] is not None or sample_rank(call, 0) > 1 and not call.operand_metas[0].shape[0]:
        return run_each(call)
    rank, settings = sample_rank(call, 0), call.settings
    x, target = call.expanded(0), call.expanded(1)
    if rank > 1:
        x, target = merged(x), merged(target)
    else:
        target = reshape_to(target, (call.size,))
    ignore = settings["ignore_index"]
    values = call.run(x, target, call.values[2], reduction="none", spatial=rank > 2)[0]
    weights = by_name["nll_weights"](target, call.values[2], x, ignore_index=ignore)
    if rank > 1:
        values, weights = parted(values, call.size), parted(weights, call.size)
        weights = by_name["sum"](
            weights, dim=tuple(range(1, weights._meta.ndim)), keepdim=False, dtype=weights._meta.dtype
        )
    if settings["reduction"] == "none":
        return (values, weights), 0
    summed = values
    if rank > 1:
        axes = tuple(range(1, values._meta.ndim))
        summed = by_name["sum"](values, dim=axes, keepdim=False, dtype=values._meta.dtype)
    return (by_name["div"](summed, weights) if settings["reduction"] == "mean" else summed, weights), 0


@batching_rule("nll_weights")
def nll_weights_rule(call: Call) -> tuple[Any, Any]:
    if call.axes[1] is not None or sample_rank(call, 2) < 2:
        return run_each(call)
    weights = call.run(merged(call.expanded(0)), call.values[1], merged(call.expanded(2)))
    return parted(weights, call.size), 0


@batching_rule("nll_spread")
def nll_spread_rule(call: Call) -> tuple[Any, Any]:
    """Every item's cotangent at its class."""
    size = call.settings["size"]
    if call.axes[2] is not None or (len(size) > 1 and not size[0]):
        return run_each(call)
    items = () if len(size) == 1 else (size[0], *size[2:])
    cotangent, target = call.expanded(0), call.expanded(1)
    if sample_rank(call, 0) == 0 and items:
        cotangent = aligned(cotangent, 0, len(items))
        cotangent = by_name["expand"](cotangent, size=(call.size, *items))
    flat = (call.size * size[0], *size[1:]) if items else (call.size, *size)
    inner = flat[:1] + flat[2:]
    spread = call.run(reshape_to(cotangent, inner), reshape_to(target, inner), call.values[2], size=flat)
    return reshape_to(spread, (call.size, *size)), 0


@batching_rule("lstm_gates", "gru_gates", "lstm_gates_slopes", "gru_gates_slopes")
def gates_rule(call: Call) -> tuple[Any, Any]:
    """Cells of all samples in one batch, where every operand has the cells along axis 0."""
    metas = [meta for meta in call.operand_metas if meta is not None]
    if len({meta.shape[0] if meta.ndim == 2 else None for meta in metas}) != 1 or metas[0].ndim != 2:
        return run_each(call)
    operands = [merged(call.expanded(i)) if isinstance(x, TensorData) else x for i, x in enumerate(call.values)]
    found = call.run(*operands)
    return tuple([parted(each, call.size) for each in found]), 0


@batching_rule("attention", "attention_gradients")
def attention_rule(call: Call) -> tuple[Any, Any]:
    """The samples' batches one after the other; the mask, the last operand, may be one for all of them."""
    last = 3 if call.op.name == "attention" else 6
    operands = [merged(call.expanded(i)) for i in range(last)]
    mask = call.values[last] if len(call.values) > last else None
    if mask is not None:
        operands.append(_mask_of_all(call, last))
    found = call.run(*operands, *[None for _ in range(len(call.values) - len(operands))])
    return tuple([parted(each, call.size) for each in found]), 0


def _mask_of_all(call: Call, i: int) -> Any:
    """The mask against (samples * batch, heads, rows, keys)."""
    meta, batch = call.operand_metas[i], call.operand_metas[1].shape[0]
    if call.axes[i] is None and (meta.ndim < 4 or meta.shape[0] == 1):
        return call.values[i]
    whole = aligned(call.expanded(i), meta.ndim, 4)
    return merged(by_name["expand"](whole, size=(call.size, batch, *whole._meta.shape[2:])))
