"""Batching rules of reading and writing at positions: where the positions have samples, the sample's own number joins
them.
"""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import Call, run_each
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.graph import by_name
from pellucid.engine.ops.batching_rules import aligned, batching_rule, merged, parted, sample_rank
from pellucid.engine.ops.shape import reshape_to


def sample_numbers(call: Call, rank: int) -> Any:
    """0 … size-1 as an index with `rank` axes behind that of the samples."""
    numbers = by_name["arange"](start=0, step=1, count=call.size, dtype=dtypes.int64, device=call.plan.metas[0].device)
    return reshape_to(numbers, (call.size, *(1,) * rank))


def _places(call: Call, first: int) -> tuple[list[int], int, bool]:
    """Of an advanced index: the axes that have one, the rank of their common shape, and whether they are adjacent."""
    axes = [i - first for i in range(first, len(call.values)) if call.values[i] is not None]
    rank = max([sample_rank(call, i + first) for i in axes], default=0)
    return axes, rank, axes == list(range(axes[0], axes[-1] + 1)) if axes else True


def _sampled(call: Call, first: int, rank: int) -> list[Any]:
    """The indices, with samples in front of `rank` axes where they have samples."""
    found = []
    for i in range(first, len(call.values)):
        value = call.front(i)
        found.append(aligned(value, sample_rank(call, i), rank) if call.axes[i] is not None else value)
    return found


@batching_rule("index")
def index_rule(call: Call) -> tuple[Any, Any]:
    axes, rank, adjacent = _places(call, 1)
    if not axes:
        return run_each(call)
    if all(axis is None for axis in call.axes[1:]):
        return call.run(call.front(0), None, *call.values[1:]), 0 if adjacent else rank
    indices = _sampled(call, 1, rank)
    if call.axes[0] is None:
        return call.run(call.values[0], *indices), axes[0] if adjacent else 0
    found = call.run(call.front(0), sample_numbers(call, rank), *indices)
    if not adjacent or axes[0] == 0:
        return found, 0
    return _with_common_at(
        found, rank, axes[0]
    ), 0  # NumPy puts the common shape in front; one sample has it at its place


def _with_common_at(value: Any, rank: int, place: int) -> Any:
    """(samples, common, rest) with the common axes moved behind `place` axes of the rest."""
    ndim = value._meta.ndim
    rest = list(range(1 + rank, ndim))
    order = (0, *rest[:place], *range(1, 1 + rank), *rest[place:])
    return by_name["permute"](value, dims=order)


def _with_common_in_front(value: Any, rank: int, place: int) -> Any:
    """The inverse: the common axes behind those of the samples."""
    ndim = value._meta.ndim
    common = list(range(1 + place, 1 + place + rank))
    order = (0, *common, *[d for d in range(1, ndim) if d not in common])
    return by_name["permute"](value, dims=order)


@batching_rule("index_put")
def index_put_rule(call: Call) -> tuple[Any, Any]:
    """x, values, and an index per axis."""
    axes, rank, adjacent = _places(call, 2)
    target = sample_rank(call, 0) - len(axes) + rank
    if not axes or sample_rank(call, 1) > target:
        return run_each(call)
    values, place = call.front(1), axes[0] if adjacent else 0
    if call.axes[1] is not None:
        values = aligned(values, sample_rank(call, 1), target)
    elif place:
        values = reshape_to(values, (1, *(1,) * (target - values._meta.ndim), *values._meta.shape))
    if place:
        values = _with_common_in_front(values, rank, place)
    indices = _sampled(call, 2, rank)
    return call.run(call.expanded(0), values, sample_numbers(call, rank), *indices), 0


@batching_rule("gather")
def gather_rule(call: Call) -> tuple[Any, Any]:
    if not sample_rank(call, 0) or not sample_rank(call, 1):
        return run_each(call)
    return call.run(call.expanded(0), call.expanded(1), dim=call.settings["dim"] + 1), 0


@batching_rule("scatter", "scatter_reduce")
def scatter_rule(call: Call) -> tuple[Any, Any]:
    """A source without axes is one number for every place."""
    ranks = [sample_rank(call, i) for i in range(3)]
    one_number = not ranks[1] and call.axes[1] is None
    if not ranks[0] or not ranks[2] or not (ranks[1] or one_number):
        return run_each(call)
    source = call.values[1] if one_number else call.expanded(1)
    return call.run(call.expanded(0), source, call.expanded(2), dim=call.settings["dim"] + 1), 0


@batching_rule("index_select", "index_add", "index_copy", "index_fill")
def along_index_rule(call: Call) -> tuple[Any, Any]:
    """Positions along an axis that are the same for every sample."""
    last = len(call.values) - 1
    if call.axes[last] is not None or not sample_rank(call, 0):
        return run_each(call)
    operands = [call.expanded(0), *call.values[1:]]
    if call.op.name == "index_fill":
        if call.axes[1] is not None:
            return run_each(call)
    elif last == 2:
        if not sample_rank(call, 1):
            return run_each(call)
        operands[1] = call.expanded(1)
    return call.run(*operands, dim=call.settings["dim"] + 1), 0


@batching_rule("masked_fill")
def masked_fill_rule(call: Call) -> tuple[Any, Any]:
    rank = max(sample_rank(call, 0), sample_rank(call, 1))
    x = aligned(call.expanded(0), sample_rank(call, 0), rank)
    mask = call.front(1)
    if call.axes[1] is not None:
        mask = aligned(mask, sample_rank(call, 1), rank)
    if call.axes[2] is None:
        return call.run(x, mask, call.values[2]), 0
    value = by_name["cast"](aligned(call.front(2), 0, rank), dtype=x._meta.dtype)
    return by_name["where"](mask, value, x), 0


@batching_rule("searchsorted")
def searchsorted_rule(call: Call) -> tuple[Any, Any]:
    if call.axes[0] is None and sample_rank(call, 0) == 1 and isinstance(call.values[1], TensorData):
        return call.run(call.values[0], call.front(1)), 0
    return run_each(call)


@batching_rule("isin")
def isin_rule(call: Call) -> tuple[Any, Any]:
    if call.axes[1] is None:
        return call.run(call.front(0), call.values[1]), 0
    return run_each(call)


@batching_rule("embedding")
def embedding_rule(call: Call) -> tuple[Any, Any]:
    """Tables of the samples one below the other."""
    if call.axes[0] is None:
        return call.run(call.values[0], call.front(1)), 0
    table, rows = call.front(0), call.operand_metas[0].shape[0]
    shift = by_name["mul"](sample_numbers(call, sample_rank(call, 1)), rows)
    index = by_name["add"](by_name["cast"](call.expanded(1), dtype=dtypes.int64), shift)
    flat = reshape_to(table, (call.size * rows, table._meta.shape[2]))
    return call.run(flat, index, padding_idx=-1), 0


@batching_rule("embedding_rows")
def embedding_rows_rule(call: Call) -> tuple[Any, Any]:
    settings = call.settings
    if settings["padding_idx"] >= 0 or settings["scale_grad_by_freq"]:
        return run_each(call)
    rows = settings["rows"]
    shift = by_name["mul"](sample_numbers(call, sample_rank(call, 1)), rows)
    index = by_name["add"](by_name["cast"](call.expanded(1), dtype=dtypes.int64), shift)
    table = call.run(call.expanded(0), index, rows=rows * call.size)
    return reshape_to(table, (call.size, rows, table._meta.shape[1])), 0


@batching_rule("bernoulli", "sample", "rrelu_slopes", "fill_random")
def drawn_rule(call: Call) -> tuple[Any, int]:
    """Numbers of all samples in one draw."""
    return call.run(call.front(0)), 0


@batching_rule("bernoulli_into", "normal_around")
def drawn_around_rule(call: Call) -> tuple[Any, int]:
    ranks = [sample_rank(call, i) for i in (0, 1)]
    operands = [
        aligned(call.expanded(i) if i == 0 else call.front(i), ranks[i], max(ranks)) if call.axes[i] is not None else x
        for i, x in enumerate(call.values)
    ]
    if call.axes[0] is None and call.op.name == "bernoulli_into":
        operands[0] = call.expanded(0)
    return call.run(*operands), 0


@batching_rule("multinomial")
def multinomial_rule(call: Call) -> tuple[Any, int]:
    weights = call.front(0)
    if sample_rank(call, 0) == 1:
        return call.run(weights), 0
    return parted(call.run(merged(weights)), call.size), 0
