"""Batching rules of matrix products and convolutions: samples go into rows, columns, the batch or the groups."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.batching import Call, move, repeated, run_each, to_front
from pellucid.engine.core.graph import by_name
from pellucid.engine.ops.batching_rules import aligned, batching_rule, merged, parted, sample_rank
from pellucid.engine.ops.shape import reshape_to


def _matrix_product(call: Call, first: int) -> tuple[Any, int]:
    """a @ b of matrices; `first` is the position of a."""
    a, b = call.front(first), call.front(first + 1)
    if call.axes[first + 1] is None:
        return parted(by_name["mm"](merged(a), b), call.size), 0
    if call.axes[first] is None:
        columns = merged(move(b, 0, 1), 1)  # (k, samples * p)
        return parted(by_name["mm"](a, columns), call.size, 1), 1
    return by_name["bmm"](a, b), 0


@batching_rule("mm")
def mm_rule(call: Call) -> tuple[Any, int]:
    return _matrix_product(call, 0)


def _batched_product(call: Call, first: int) -> tuple[Any, int]:
    a, b = call.front(first), call.front(first + 1)
    if call.axes[first + 1] is None:
        rows = merged(move(a, 0, 1), 1)  # (batch, samples * n, k)
        return parted(by_name["bmm"](rows, b), call.size, 1), 1
    if call.axes[first] is None:
        columns = merged(move(b, 0, 2), 2)  # (batch, k, samples * p)
        return parted(by_name["bmm"](a, columns), call.size, 2), 2
    return parted(by_name["bmm"](merged(a), merged(b)), call.size), 0


@batching_rule("bmm")
def bmm_rule(call: Call) -> tuple[Any, int]:
    return _batched_product(call, 0)


@batching_rule("addmm", "baddbmm")
def addmm_rule(call: Call) -> tuple[Any, int]:
    """beta * x + alpha * a @ b, where a beta of 0 ignores x."""
    rank = 2 if call.op.name == "addmm" else 3
    beta, alpha = call.settings["beta"], call.settings["alpha"]
    if call.axes[1] is None and call.axes[2] is None:
        product = repeated(by_name["mm" if rank == 2 else "bmm"](call.values[1], call.values[2]), call.size)
    else:
        found, axis = _matrix_product(call, 1) if rank == 2 else _batched_product(call, 1)
        product = to_front(found, axis)
    if alpha != 1:
        product = by_name["mul"](product, alpha)
    if beta == 0:
        return product, 0
    x = call.front(0)
    if call.axes[0] is not None:
        x = aligned(x, sample_rank(call, 0), rank)
    return by_name["add"](x if beta == 1 else by_name["mul"](x, beta), product), 0


@batching_rule("mv")
def mv_rule(call: Call) -> tuple[Any, int]:
    a, b = call.front(0), call.front(1)
    if call.axes[1] is None:
        return parted(by_name["mv"](merged(a), b), call.size), 0
    if call.axes[0] is None:
        return by_name["mm"](b, by_name["t"](a)), 0
    product = by_name["bmm"](a, by_name["unsqueeze_axes"](b, axes=(2,)))
    return by_name["squeeze_axes"](product, axes=(2,)), 0


@batching_rule("dot")
def dot_rule(call: Call) -> tuple[Any, int]:
    a, b = call.front(0), call.front(1)
    if call.axes[1] is None:
        return by_name["mv"](a, b), 0
    if call.axes[0] is None:
        return by_name["mv"](b, a), 0
    product = by_name["bmm"](by_name["unsqueeze_axes"](a, axes=(1,)), by_name["unsqueeze_axes"](b, axes=(2,)))
    return reshape_to(product, (call.size,)), 0


@batching_rule("solve")
def solve_rule(call: Call) -> tuple[Any, Any]:
    if sample_rank(call, 0) != sample_rank(call, 1):
        return run_each(call)
    return call.run(call.expanded(0), call.expanded(1)), 0


def _with_bias(call: Call, y: Any, axis: int) -> tuple[Any, int]:
    """A convolution's result (samples along `axis`) plus its bias along the channels."""
    bias = call.values[2] if len(call.values) > 2 else None
    if bias is None:
        return y, axis
    y = to_front(y, axis)
    space = y._meta.ndim - 3
    if call.axes[2] is None:
        shaped = reshape_to(bias, (bias._meta.shape[0], *(1,) * space))
    else:
        shaped = reshape_to(call.front(2), (call.size, 1, bias_channels(call), *(1,) * space))
    return by_name["add"](y, shaped), 0


def bias_channels(call: Call) -> int:
    """The length of one sample's bias."""
    return int(call.operand_metas[2].shape[0])


@batching_rule("convolution")
def convolution_rule(call: Call) -> tuple[Any, int]:
    """Samples of the input go into its batch; samples of the weight into the channels, as groups."""
    settings = call.settings
    if call.axes[1] is None:
        if call.axes[0] is None:  # the bias alone has samples
            y = repeated(call.run(call.values[0], call.values[1], None), call.size)
            return _with_bias(call, y, 0)
        shared = len(call.values) > 2 and call.axes[2] is None
        y = parted(call.run(merged(call.front(0)), call.values[1], call.values[2] if shared else None), call.size)
        return (y, 0) if shared else _with_bias(call, y, 0)
    weight = merged(call.front(1))
    groups = settings["groups"]
    if call.axes[0] is None and groups == 1 and not settings["transposed"]:
        y = call.run(call.values[0], weight, None)
    else:
        x = merged(move(call.expanded(0), 0, 1), 1)
        y = call.run(x, weight, None, groups=groups * call.size)
    return _with_bias(call, parted(y, call.size, 1), 1)


@batching_rule("convolution_weight")
def convolution_weight_rule(call: Call) -> tuple[Any, int]:
    """A gradient per sample: samples become groups."""
    coarse, fine = [merged(move(call.expanded(i), 0, 1), 1) for i in (0, 1)]
    return parted(call.run(coarse, fine, groups=call.settings["groups"] * call.size), call.size), 0
