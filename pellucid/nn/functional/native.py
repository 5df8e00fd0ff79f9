"""Layers as PyTorch's top namespace spells them: `torch.layer_norm`, `torch.dropout`, `torch.embedding` and their kin.

The arguments' order and names differ from those of `nn.functional`, whose functions do the work.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.errors import check
from pellucid.engine.ops import embedding_bag as bag_ops
from pellucid.engine.ops import normalization as ops
from pellucid.engine.ops import random as random_ops
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, deliver, need_tensor
from pellucid.nn.functional import normalization
from pellucid.nn.functional.dropout import drop, drop_channels, drop_to_negative
from pellucid.nn.functional.linear import bag_padding, renormalise_rows
from pellucid.nn.functional.linear import embedding as _embedding
from pellucid.nn.functional.linear import embedding_bag as _embedding_bag


def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """`nn.functional.layer_norm`; `cudnn_enable` chooses between equal kernels.

    >>> import pellucid as torch
    >>> torch.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    need_tensor(input, "layer_norm")
    if weight is not None:
        need_tensor(weight, "layer_norm", "weight", 3)
    if bias is not None:
        need_tensor(bias, "layer_norm", "bias", 4)
    eps = as_float(eps, "layer_norm", "eps", 5)
    as_bool(cudnn_enable, "layer_norm", "cudnn_enable", 6)
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """`nn.functional.rms_norm`.

    >>> import pellucid as torch
    >>> torch.rms_norm(torch.tensor([3.0, 3.0]), (2,))
    tensor([1., 1.])
    """
    return normalization.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    """`nn.functional.group_norm`, also for groups of one value; `cudnn_enabled` chooses between equal kernels.

    >>> import pellucid as torch
    >>> torch.group_norm(torch.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    return normalization.checked_group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """`nn.functional.batch_norm`, also for channels of one value; `cudnn_enabled` chooses between equal kernels.

    >>> import pellucid as torch
    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0, False).reshape(2)
    tensor([-1.,  1.])
    """
    return normalization.batch_statistics_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[
        0
    ]


def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float,
    eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """`nn.functional.instance_norm`; `cudnn_enabled` chooses between equal kernels.

    >>> import pellucid as torch
    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """layer_norm with the means and inverse deviations that it found.

    >>> import pellucid as torch
    >>> torch.native_layer_norm(torch.tensor([1.0, 3.0]), (2,), None, None, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    shape = normalization.checked_shape("layer_norm", input, normalized_shape, weight, bias)
    y, centre, scale = ops.layer_norm(input, weight, bias, axes=len(shape), eps=float(eps))
    kind = _statistics_kind(input, weight, bias)
    return y, centre.to(kind), scale.to(kind)


def _statistics_kind(input: Any, *parameters: Any) -> Any:
    """The statistics come in the input's dtype unless a parameter of a half type's input is float32."""
    return (
        pellucid.float32
        if any(each is not None and each.dtype is pellucid.float32 for each in parameters)
        else input.dtype
    )


def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """group_norm of an input of N samples, C channels and HxW places, with each group's mean and inverse deviation
    (N, group).

    >>> import pellucid as torch
    >>> torch.native_group_norm(torch.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1]
    tensor([[2.]])
    """
    check(
        input.numel() == N * C * HxW,
        f"native_group_norm: {N} x {C} x {HxW} values were announced, but input is {list(input.shape)}",
    )
    y, centre, scale = ops.group_norm(input, weight, bias, groups=int(group), eps=float(eps))
    if y.requires_grad:  # unlike those of layer and batch normalisation, these statistics have gradients
        members = input.reshape(N, group, C * HxW // group).to(centre.dtype)
        centre, scale = members.mean(-1), (members.var(-1, correction=0) + eps).rsqrt()
    kind = _statistics_kind(input, weight, bias)
    return y, centre.reshape(N, group).to(kind), scale.reshape(N, group).to(kind)


def native_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    """batch_norm with the batch's means and inverse deviations (empty unless `training`).

    >>> import pellucid as torch
    >>> torch.native_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1]
    tensor([2.])
    """
    y, centre, scale = normalization.batch_statistics_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    kind = _statistics_kind(input, weight, bias, running_mean, running_var)
    centre, scale = centre.detach().reshape(-1).to(kind), scale.detach().reshape(-1).to(kind)
    found = y, centre if training else centre[:0], scale if training else scale[:0]
    return tuple(deliver(found, out))


def _native_batch_norm_legit(input: Any, weight: Any, bias: Any, *rest: Any, **settings: Any) -> tuple[Any, Any, Any]:
    """`native_batch_norm`; also without running statistics, as (training, momentum, eps) alone."""
    has_statistics = len(rest) > 3 or "running_mean" in settings or rest and not isinstance(rest[0], bool)
    statistics = () if has_statistics else (None, None)
    return native_batch_norm(input, weight, bias, *statistics, *rest, **settings)


def dropout(input: Any, p: float, train: bool) -> Any:
    """`nn.functional.dropout`.

    >>> import pellucid as torch
    >>> torch.dropout(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    need_tensor(input, "dropout")
    p = as_float(p, "dropout", "p", 2)
    as_bool(train, "dropout", "train", 3)
    return drop(input, p, train, False)


def dropout_(input: Any, p: float, train: bool) -> Any:
    """`dropout` in place.

    >>> import pellucid as torch
    >>> torch.dropout_(torch.ones(2), 1.0, True)
    tensor([0., 0.])
    """
    return drop(input, p, train, True)


def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """`dropout` of whole channels (dimension 1).

    >>> import pellucid as torch
    >>> torch.feature_dropout(torch.ones(1, 2), 1.0, True)
    tensor([[0., 0.]])
    """
    need_tensor(input, "feature_dropout")
    p = as_float(p, "feature_dropout", "p", 2)
    as_bool(train, "feature_dropout", "train", 3)
    return drop_channels(input, p, train)


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """`feature_dropout` in place.

    >>> import pellucid as torch
    >>> torch.feature_dropout_(torch.ones(1, 2), 1.0, True)
    tensor([[0., 0.]])
    """
    return drop_channels(input, p, train, True)


def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """`nn.functional.alpha_dropout`.

    >>> import pellucid as torch
    >>> torch.alpha_dropout(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return drop_to_negative(input, p, train, False, False)


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """`alpha_dropout` in place.

    >>> import pellucid as torch
    >>> torch.alpha_dropout_(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return drop_to_negative(input, p, train, True, False)


def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """`alpha_dropout` of whole channels.

    >>> import pellucid as torch
    >>> torch.feature_alpha_dropout(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return drop_to_negative(input, p, train, False, True)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """`feature_alpha_dropout` in place.

    >>> import pellucid as torch
    >>> torch.feature_alpha_dropout_(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return drop_to_negative(input, p, train, True, True)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """Dropout and the mask of what was kept; with `train` false nothing is dropped.

    >>> import pellucid as torch
    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if input.numel() == 0:
        return input, pellucid.empty_like(input, dtype=pellucid.bool)
    if train is False:
        kept = pellucid.ones_like(input, dtype=pellucid.bool)
        return random_ops.masked_scale(input, kept.to(input.dtype), scale=1.0), kept
    mask = pellucid.empty_like(input.detach()).bernoulli_(1 - p)
    kept = mask.to(pellucid.bool)
    return random_ops.masked_scale(input, mask, scale=1.0 / (1.0 - p) if p < 1 else 0.0), kept


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Rows of `weight` at integer positions: `nn.functional.embedding` with the table first.

    >>> import pellucid as torch
    >>> torch.embedding(torch.tensor([[1.0], [2.0]]), torch.tensor([1]))
    tensor([[2.]])
    """
    need_tensor(weight, "embedding", "weight", 1)
    need_tensor(indices, "embedding", "indices", 2)
    padding_idx = as_int(padding_idx, "embedding", "padding_idx", 3)
    padding = None if padding_idx == -1 else padding_idx
    return _embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Shrink, in place, the rows of a table that `indices` names to a norm of at most `max_norm`.

    >>> import pellucid as torch
    >>> torch.embedding_renorm_(torch.tensor([[3.0], [8.0]]), torch.tensor([0]), 1.0, 2.0).round()
    tensor([[1.],
            [8.]])
    """
    renormalise_rows(input, indices, max_norm, norm_type)
    return input


def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Bags of rows reduced by sum (mode 0), mean (1) or maximum (2); also each position's bag, the bags' sizes, and
    the rows that won.

    >>> import pellucid as torch
    >>> torch.embedding_bag(torch.tensor([[1.0], [3.0]]), torch.tensor([0, 1]), torch.tensor([0]))[0]
    tensor([[4.]])
    """
    check(mode in (0, 1, 2), f"mode has to be one of 0 (sum), 1 (mean) or 2 (max), got {mode}")
    name = ("sum", "mean", "max")[mode]
    padding = bag_padding(padding_idx, weight)
    y = _embedding_bag(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=name, sparse=sparse,
        per_sample_weights=per_sample_weights, include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    table = weight.detach()
    bags, counted = bag_ops.bag_shares(
        indices, offsets, table, mean=False, last=bool(include_last_offset), padding_idx=padding
    )
    sizes = pellucid.zeros(y.size(0) + 1, dtype=pellucid.int64).index_add_(0, bags, counted.to(pellucid.int64))[
        : y.size(0)
    ]
    if mode < 2:
        return y, bags if mode or padding >= 0 else bags[:0], sizes, sizes.clone()
    winners = bag_ops.embedding_bag(
        table,
        indices,
        offsets,
        None,
        mode=name,
        last=bool(include_last_offset),
        padding_idx=padding,
        scale_grad_by_freq=False,
    )[1]
    return y, bags, sizes, winners
