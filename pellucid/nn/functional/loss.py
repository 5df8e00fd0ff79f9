"""Losses of classification: cross entropy and its kin. Regression and distance losses are in distances.py."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.core.meta import broadcast_shapes
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import class_loss
from pellucid.engine.ops import loss as ops
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, need_tensor
from pellucid.nn._reduction import legacy_get_string


def reduction_name(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction that is meant, with PyTorch's two deprecated flags taken into account; ValueError for an
    unknown one.
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction; it is 'none', 'mean' or 'sum'")
    return reduction


def reduced(values: Any, reduction: str) -> Any:
    """Element losses reduced to their mean or sum, or as they are."""
    return values.mean() if reduction == "mean" else values.sum() if reduction == "sum" else values


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log-probability (N, C, …) of each target class (N, …), weighted by class; "mean" divides by the
    weights' sum.

    >>> import pellucid as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
    tensor(1.)
    """
    need_tensor(input, "nll_loss")
    need_tensor(target, "nll_loss", "target", 2)
    if weight is not None:
        need_tensor(weight, "nll_loss", "weight", 3)
    ignore_index = as_int(ignore_index, "nll_loss", "ignore_index", 5)
    reduction = reduction_name(size_average, reduce, reduction)
    refuse_gradient("nll_loss_forward", "weight", weight)
    _check_target(input, target)
    return class_loss.nll(
        input, target, weight, ignore_index=int(ignore_index), reduction=reduction, spatial=input.dim() > 2
    )[0]


def refuse_gradient(function: str, argument: str, tensor: Any) -> None:
    """RuntimeError where a tensor that asks for a gradient will not get one."""
    check(
        tensor is None or not (tensor.requires_grad and pellucid.is_grad_enabled()),
        f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
        "have requires_grad"
        " True. Call .detach() on it.",
    )


def _check_target(input: Any, target: Any) -> None:
    check(input.dim() >= 1, f"Expected 1 or more dimensions (got {input.dim()})", ValueError)
    if input.dim() == 1:
        check(
            target.dim() <= 1 and target.numel() == 1,
            f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}",
            ValueError,
        )
        return
    expected = (input.shape[0], *input.shape[2:])
    count = target.shape[0] if target.dim() else 1
    check(
        input.shape[0] == count,
        f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({count}).",
        ValueError,
    )
    check(
        tuple(target.shape) == expected,
        f"Expected target size {list(expected)}, got {list(target.shape)} (size mismatch: the input is "
        f"{list(input.shape)}, with classes as"
        " dimension 1; 0D or 1D target tensor expected for (N, C), multi-target not supported)",
    )


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """log_softmax and nll_loss in one: input (N, C, …) are logits, target class indices (N, …) or probabilities (N,
    C, …).

    >>> import pellucid as torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 2), torch.tensor([0]))
    tensor(0.6931)
    """
    need_tensor(input, "cross_entropy")
    need_tensor(target, "cross_entropy", "target", 2)
    if weight is not None:
        need_tensor(weight, "cross_entropy", "weight", 3)
    ignore_index = as_int(ignore_index, "cross_entropy", "ignore_index", 5)
    label_smoothing = as_float(label_smoothing, "cross_entropy", "label_smoothing", 8)
    reduction = reduction_name(size_average, reduce, reduction)
    check(0.0 <= label_smoothing <= 1.0, f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = 0 if input.dim() == 1 else 1
    if target.shape == input.shape and target.is_floating_point():
        check(ignore_index < 0, "ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, axis)
    if input.dim() > 0 and target.shape == input.shape:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}: use "
            "target.to(input.dtype)"
        )
    logarithms = input.log_softmax(axis)
    loss = nll_loss(logarithms, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return loss
    return loss * (1 - label_smoothing) + _smoothing(logarithms, target, weight, ignore_index, reduction, axis) * (
        label_smoothing / input.size(axis)
    )


def _smoothing(logarithms: Any, target: Any, weight: Any, ignore_index: int, reduction: str, axis: int) -> Any:
    """Minus the (weighted) sum of all log-probabilities of each item that is not ignored."""
    shape = [1] * logarithms.dim()
    shape[axis] = -1
    weighed = logarithms if weight is None else logarithms * weight.view(shape)
    everything = -weighed.sum(axis)
    everything = everything.masked_fill(target == ignore_index, 0.0)
    if reduction != "mean":
        return reduced(everything, reduction)
    counted = logarithms.detach() if axis else logarithms.detach().unsqueeze(0)
    return (
        everything.sum()
        / class_loss.nll_weights(target.reshape(-1), weight, counted, ignore_index=int(ignore_index)).sum()
    )


def _soft_cross_entropy(input: Any, target: Any, weight: Any, reduction: str, label_smoothing: float, axis: int) -> Any:
    classes = input.size(axis)
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    logarithms = input.log_softmax(axis)
    shape = [1] * input.dim()
    shape[axis] = -1
    weighed = logarithms if weight is None else logarithms * weight.view(shape)
    per_item = -(weighed * target).sum(axis)
    if reduction == "mean":
        return per_item.sum() / max(input.numel() // classes, 1) if classes and input.numel() else per_item.mean()
    return reduced(per_item, reduction)


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """-(t log p + (1 - t) log(1 - p)), with logarithms not below -100.

    >>> import pellucid as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_name(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they"
            " have the same size."
        )
    refuse_gradient("binary_cross_entropy", "weight", weight)
    if weight is not None:
        weight = weight.expand(broadcast_shapes(weight.shape, target.shape))
    for each in (target, weight):
        if each is not None and each.dtype is not input.dtype:
            raise RuntimeError(
                f"Found dtype {title(each.dtype)} but expected {title(input.dtype)}: convert one of them"
            )
    return ops.binary_cross_entropy(input, target, weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """binary_cross_entropy of sigmoid(input), without overflow; `pos_weight` multiplies the loss of positives.

    >>> import pellucid as torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """
    if weight is not None:
        need_tensor(weight, "binary_cross_entropy_with_logits", "weight", 3)
    if pos_weight is not None:
        need_tensor(pos_weight, "binary_cross_entropy_with_logits", "pos_weight", 7)
    reduction = reduction_name(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    refuse_gradient("binary_cross_entropy_with_logits", "weight", weight)
    refuse_gradient("binary_cross_entropy_with_logits", "pos_weight", pos_weight)
    return ops.logits_cross_entropy(input, target, weight, pos_weight, reduction=reduction)


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """target * (log target - input) for log-probabilities `input`; "batchmean" divides the sum by the batch size.

    >>> import pellucid as torch
    >>> torch.nn.functional.kl_div(torch.zeros(1, 1), torch.ones(1, 1), reduction="batchmean")
    tensor(0.)
    """
    need_tensor(input, "kl_div"), need_tensor(target, "kl_div", "target", 2)
    as_bool(log_target, "kl_div", "log_target", 6)
    import warnings

    batchmean = reduction == "batchmean"
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' "
            "divides only by the batch"
            " size, and aligns with the KL div math definition. 'mean' will be changed to behave the same as "
            "'batchmean' in the next"
            " major release.",
            stacklevel=user_level(),
        )
    name = "sum" if batchmean else reduction_name(size_average, reduce, reduction)
    total = reduced(divergence(input, target, log_target), name)
    return total / input.size(0) if batchmean and input.dim() else total


def divergence(input: Any, target: Any, log_target: bool) -> Any:
    """Each element's part of the Kullback-Leibler divergence."""
    check(input.is_floating_point() and target.is_floating_point(), "kl_div: Integral inputs not supported.")
    return target.exp() * (target - input) if log_target else pellucid.xlogy(target, target) - target * input


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log-likelihood of counts under Poisson rates (or their logarithms), without Stirling's term unless
    `full`.

    >>> import pellucid as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(1), torch.ones(1))
    tensor(1.)
    """
    need_tensor(input, "poisson_nll_loss")
    need_tensor(target, "poisson_nll_loss", "target", 2)
    as_bool(log_input, "poisson_nll_loss", "log_input", 3)
    as_bool(full, "poisson_nll_loss", "full", 4)
    name = reduction_name(size_average, reduce, reduction)
    values = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * 3.141592653589793 * target).log()
        values = values + stirling.masked_fill(target <= 1, 0)
    return reduced(values, name)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Minus the log-likelihood of targets under normals of mean `input` and variance `var` (at least eps).

    >>> import pellucid as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.zeros(1), torch.zeros(1), torch.ones(1))
    tensor(0.)
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * pellucid.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(b for a, b in zip(input.shape, var.shape, strict=True) if a != b) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with pellucid.no_grad():
        var.clamp_(min=eps)
    values = 0.5 * (var.log() + (input - target).square() / var)
    return reduced(values + 0.9189385332046727 if full else values, reduction)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over classes of binary cross entropy with logits.

    >>> import pellucid as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    need_tensor(input, "multilabel_soft_margin_loss")
    name = reduction_name(size_average, reduce, reduction)
    smooth = pellucid.nn.functional.logsigmoid
    values = -(target * smooth(input) + (1 - target) * smooth(-input))
    values = values if weight is None else values * weight
    return reduced(values.sum(input.dim() - 1) / input.size(input.dim() - 1), name)
