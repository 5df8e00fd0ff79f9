"""Losses of regression, ranking and distance."""

from __future__ import annotations

import warnings
from typing import Any

import pellucid
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.ops import class_loss, pairwise
from pellucid.engine.ops import loss as ops
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, as_number, need_tensor, presented
from pellucid.nn.functional.loss import reduced, reduction_name, refuse_gradient


def _broadcast(input: Any, target: Any) -> tuple[Any, Any]:
    need_tensor(input, "loss"), need_tensor(target, "loss", "target", 2)
    if target.shape == input.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect"
        " results due to broadcasting. Please ensure they have the same size.",
        stacklevel=user_level(),
    )
    return pellucid.broadcast_tensors(input, target)  # type: ignore[return-value]


def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """(input - target)**2.

    >>> import pellucid as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    tensor(2.)
    """
    name = reduction_name(size_average, reduce, reduction)
    a, b = _broadcast(input, target)
    if weight is None:
        return ops.squared_error(a, b, reduction=name)
    check(weight.shape == input.shape, "Inputs and weight must have the same size.", ValueError)
    weighed = ops.squared_error(a, b, reduction="none") * weight
    return weighed.sum() / weight.sum() if name == "mean" else reduced(weighed, name)


def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """|input - target|.

    >>> import pellucid as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 1.0]))
    tensor(1.5000)
    """
    name = reduction_name(size_average, reduce, reduction)
    a, b = _broadcast(input, target)
    values = (a - b).abs()
    if weight is None:
        return reduced(values, name)
    check(weight.shape == input.shape, "Inputs and weight must have the same size.", ValueError)
    weighed = values * weight
    return weighed.sum() / weight.sum() if name == "mean" else reduced(weighed, name)


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """Squared below `beta`, absolute above (Girshick, 2015).

    >>> import pellucid as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([3.0]), torch.tensor([0.0]))
    tensor(2.5000)
    """
    name = reduction_name(size_average, reduce, reduction)
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    a, b = _broadcast(input, target)
    return reduced((a - b).abs(), name) if beta == 0 else ops.smooth_l1(a, b, beta=float(beta), reduction=name)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Squared below `delta`, absolute (times delta) above (Huber, 1964).

    >>> import pellucid as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([3.0]), torch.tensor([0.0]))
    tensor(2.5000)
    """
    delta = as_float(delta, "huber_loss", "delta", 4)
    name = reduction_name(None, None, reduction)
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    a, b = _broadcast(input, target)
    if weight is None:
        return ops.huber(a, b, delta=float(delta), reduction=name)
    weighed = ops.huber(a, b, delta=float(delta), reduction="none") * weight
    return weighed.sum() / weight.sum() if name == "mean" else reduced(weighed, name)


def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-target * input)) for targets 1 and -1.

    >>> import pellucid as torch
    >>> torch.nn.functional.soft_margin_loss(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """
    need_tensor(input, "soft_margin_loss")
    need_tensor(target, "soft_margin_loss", "target", 2)
    name = reduction_name(size_average, reduce, reduction)
    refuse_gradient("soft_margin_loss", "target", target)
    return ops.soft_margin(input, target, reduction=name)


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """input where the target is 1, max(0, margin - input) where it is -1.

    >>> import pellucid as torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.5000)
    """
    need_tensor(input, "hinge_embedding_loss")
    margin = as_float(margin, "hinge_embedding_loss", "margin", 3)
    name = reduction_name(size_average, reduce, reduction)
    far = pellucid.where(target != 1, (margin - input).clamp_min(0), pellucid.zeros((), dtype=input.dtype))
    near = pellucid.where(target != -1, input, pellucid.zeros((), dtype=input.dtype))
    return reduced(far + near, name)


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """max(0, -target * (input1 - input2) + margin): the first should rank higher where the target is 1.

    >>> import pellucid as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1.0]))
    tensor(1.)
    """
    margin = as_float(margin, "margin_ranking_loss", "margin", 4)
    name = reduction_name(size_average, reduce, reduction)
    check(
        input1.dim() == input2.dim() == target.dim(),
        "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
        f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ",
    )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), name)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1.

    >>> import pellucid as torch
    >>> torch.nn.functional.cosine_embedding_loss(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1)).round()
    tensor(0.)
    """
    need_tensor(input1, "cosine_embedding_loss", "input1", 1)
    need_tensor(input2, "cosine_embedding_loss", "input2", 2)
    need_tensor(target, "cosine_embedding_loss", "target", 3)
    margin = as_float(margin, "cosine_embedding_loss", "margin", 4)
    name = reduction_name(size_average, reduce, reduction)
    check(target.dim() in (0, 1), "0D or 1D target tensor expected, multi-target not supported")
    axis = target.dim()
    eps = 1e-12
    dot = (input1 * input2).sum(axis)
    scale = (((input1 * input1).sum(axis) + eps) * ((input2 * input2).sum(axis) + eps)).sqrt()
    cosine = dot / scale
    zero = pellucid.zeros_like(cosine.detach())
    values = pellucid.where(target == 1, 1 - cosine, zero) + pellucid.where(
        target == -1, (cosine - margin).clamp_min(0), zero
    )
    return reduced(values, name)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) (Balntas et al., 2016).

    >>> import pellucid as torch
    >>> torch.nn.functional.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2), margin=0.0)
    tensor(0.)
    """
    need_tensor(anchor, "triplet_margin_loss", "anchor", 1)
    need_tensor(positive, "triplet_margin_loss", "positive", 2)
    need_tensor(negative, "triplet_margin_loss", "negative", 3)
    p = as_float(p, "triplet_margin_loss", "p", 5)
    as_bool(swap, "triplet_margin_loss", "swap", 7)
    name = reduction_name(size_average, reduce, reduction)
    check(margin > 0 or margin == 0, f"margin must be greater than 0, got {margin}", ValueError)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = pellucid.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), name)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """triplet_margin_loss with a distance of one's own.

    >>> import pellucid as torch
    >>> z = torch.zeros(1, 2)
    >>> torch.nn.functional.triplet_margin_with_distance_loss(z, z, z)
    tensor(1.)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    dims = anchor.ndim
    check(
        dims == positive.ndim == negative.ndim,
        "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor"
        f" {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs",
    )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pellucid.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the other classes of max(0, margin - x[target] + x[i])**p.

    >>> import pellucid as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[1.0, 0.5]]), torch.tensor([0]))
    tensor(0.2500)
    """
    need_tensor(input, "multi_margin_loss")
    need_tensor(target, "multi_margin_loss", "target", 2)
    margin = as_number(margin, "multi_margin_loss", "margin", 4)
    name = reduction_name(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    filled = input.dim() == 2 and input.size(1) > 0 or input.dim() in (0, 1) and input.numel() > 0
    check(filled, f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    rows = input.size(0) if input.dim() == 2 else 1
    check(
        target.dim() <= 1 and target.numel() == rows,
        f"inconsistent target size, expected {rows} but got {list(target.shape)}",
    )
    refuse_gradient("multi_margin_loss", "weight", weight)
    classes = input.size(-1) if input.dim() else 1
    check(
        weight is None or weight.numel() == classes,
        f"inconsistent weight size, expected {classes} but got {getattr(weight, 'shape', None)}",
    )
    return class_loss.multi_margin(input, target, weight, p=p, margin=float(margin), reduction=name)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Sum of max(0, 1 - (x[t] - x[i])) over targets t (up to the first -1) and other classes i, over the number of
    classes.

    >>> import pellucid as torch
    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[0, -1]]))
    tensor(0.)
    """
    need_tensor(input, "multilabel_margin_loss")
    need_tensor(target, "multilabel_margin_loss", "target", 2)
    name = reduction_name(size_average, reduce, reduction)
    check(
        input.shape == target.shape,
        f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}",
    )
    filled = input.dim() == 2 and input.size(1) > 0 or input.dim() in (0, 1) and input.numel() > 0
    check(filled, f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    return class_loss.multilabel_margin(input, target, reduction=name)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last dimension.

    >>> import pellucid as torch
    >>> torch.nn.functional.pairwise_distance(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    need_tensor(x1, "pairwise_distance", "x1", 1)
    need_tensor(x2, "pairwise_distance", "x2", 2)
    p = as_float(p, "pairwise_distance", "p", 3)
    eps = as_float(eps, "pairwise_distance", "eps", 4)
    return presented((x1 - x2 + eps).norm(p, -1, keepdim=keepdim), "NormBackward1")


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """x1 . x2 over the product of their norms, each at least eps.

    >>> import pellucid as torch
    >>> torch.nn.functional.cosine_similarity(torch.ones(1, 2), torch.ones(1, 2)).round()
    tensor([1.])
    """
    need_tensor(x1, "cosine_similarity", "x1", 1)
    need_tensor(x2, "cosine_similarity", "x2", 2)
    dim = as_int(dim, "cosine_similarity", "dim", 3)
    eps = as_float(eps, "cosine_similarity", "eps", 4)
    kind = pellucid.promote_types(x1.dtype, x2.dtype)
    check(kind.is_floating_point, f"expected common dtype to be floating point, yet common dtype is {kind}")
    a, b = pellucid.broadcast_tensors(x1.to(kind), x2.to(kind))
    first, second = a.norm(2, dim, keepdim=True), b.norm(2, dim, keepdim=True)
    return ((a / first.clamp_min(eps)) * (b / second.clamp_min(eps))).sum(dim)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm of the difference of every two rows i < j of (N, M): N (N - 1) / 2 distances.

    >>> import pellucid as torch
    >>> torch.nn.functional.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([5.])
    """
    need_tensor(input, "pdist")
    p = as_float(p, "pdist", "p", 2)
    check(input.dim() == 2, f"pdist only supports 2D tensors, got: {input.dim()}D")
    check(input.is_floating_point(), f"pdist only supports floating-point dtypes, got {input.dtype}")
    check(p >= 0, f"pdist only supports non-negative p values, got {p}")
    return pairwise.pdist(input, p=float(p))
