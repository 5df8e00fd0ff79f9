"""Normalising layers: batch, layer, group, instance, RMS and local response normalisation, and normalize."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.batching import levels_of
from pellucid.engine.core.errors import check
from pellucid.engine.ops import normalization as ops
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, as_ints, need_tensor


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel centred and scaled by the batch's statistics, or in evaluation by the running ones (Ioffe and
    Szegedy, 2015).

    In training the running statistics move by `momentum` towards the batch's (the variance with n - 1 in the
    denominator).

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0], [3.0]])
    >>> torch.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    need_tensor(input, "batch_norm")
    if running_mean is not None:
        need_tensor(running_mean, "batch_norm", "running_mean", 2)
    if running_var is not None:
        need_tensor(running_var, "batch_norm", "running_var", 3)
    if weight is not None:
        need_tensor(weight, "batch_norm", "weight", 4)
    if bias is not None:
        need_tensor(bias, "batch_norm", "bias", 5)
    as_bool(training, "batch_norm", "training", 6)
    momentum = as_float(momentum, "batch_norm", "momentum", 7)
    if training and input.dim() >= 2:
        channels = input.size(1)
        if channels and input.numel() == channels:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {input.shape}: a batch of one "
                "has no variance."
                " Use a larger batch, drop_last=True in the DataLoader, or model.eval()."
            )
    if eps < 0.0 or training and eps == 0.0:
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    for name, each in (("running_mean", running_mean), ("running_var", running_var)):
        channels = input.size(1) if input.dim() >= 2 else 0
        fits = each is None or input.dim() < 2 or each.numel() == channels
        check(
            fits,
            f"{name} should contain {channels} elements not {0 if each is None else each.numel()}",
        )
    return batch_statistics_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def batch_statistics_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """batch_norm with the statistics that were used; moves the running statistics in training."""
    if input.dim() < 2:
        check(
            input.dim() == 1 and input.numel() == 0,
            f"batch_norm expects an input (batch, channels, …), got shape {list(input.shape)}",
        )
        return input * 1 if weight is None else input * weight[:0], input.detach(), input.detach()
    for name, each in (("running_mean", running_mean), ("running_var", running_var)):
        check(
            training or each is not None,
            f"{name} must be defined in evaluation mode (Expected running_mean and running_var to be defined)",
        )
    y, centre, scale = ops.batch_norm(
        input,
        weight,
        bias,
        None if training else running_mean,
        None if training else running_var,
        training=bool(training),
        eps=float(eps),
    )
    if training and running_mean is not None and running_var is not None:
        check(
            levels_of(input) <= levels_of(running_mean),
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched. Inside vmap use torch.func.replace_all_batch_norm_modules_(model), "
            "track_running_stats=False, or GroupNorm.",
        )
        count = input.numel() // input.size(1) if input.size(1) else 0
        _update_running(running_mean, running_var, input, centre, scale, momentum, eps, count)
    return y, centre, scale


@pellucid.no_grad()
def _update_running(
    mean: Any, var: Any, input: Any, centre: Any, scale: Any, momentum: float, eps: float, count: int
) -> None:
    dims = [0, *range(2, input.dim())]
    batch_mean = centre.detach().reshape(-1).to(mean.dtype)
    batch_var = input.detach().to(var.dtype).var(dims, correction=1)
    mean.copy_(batch_mean * momentum + mean * (1 - momentum))
    var.copy_(batch_var * momentum + var * (1 - momentum))


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """The last dimensions of each element centred and scaled to deviation 1 (Ba et al., 2016).

    >>> import pellucid as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    need_tensor(input, "layer_norm")
    if weight is not None:
        need_tensor(weight, "layer_norm", "weight", 3)
    if bias is not None:
        need_tensor(bias, "layer_norm", "bias", 4)
    eps = as_float(eps, "layer_norm", "eps", 5)
    shape = checked_shape("layer_norm", input, normalized_shape, weight, bias)
    return ops.layer_norm(input, weight, bias, axes=len(shape), eps=float(eps))[0]


def checked_shape(name: str, input: Any, normalized_shape: Any, weight: Any, bias: Any) -> tuple[int, ...]:
    """The normalised shape; RuntimeError unless the input ends in it and weight and bias have it."""
    shape = as_ints(normalized_shape, name, "normalized_shape", 2, only_several=True)
    check(
        shape,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        f"normalized_shape = {list(shape)}",
    )
    for title, each in (("weight", weight), ("bias", bias)):
        check(
            each is None or tuple(each.shape) == shape,
            f"Expected {title} to be of same shape as normalized_shape, but got {title} of shape "
            f"{list(getattr(each, 'shape', ()))} and"
            f" normalized_shape = {list(shape)}",
        )
    if tuple(input.shape[-len(shape) :]) != shape:
        stars = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{stars}], but got input of "
            f"size{list(input.shape)} ({name})"
        )
    return shape


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """The last dimensions of each element scaled to mean square 1 (Zhang and Sennrich, 2019).

    >>> import pellucid as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 3.0]), (2,))
    tensor([1., 1.])
    """
    need_tensor(input, "rms_norm")
    if weight is not None:
        need_tensor(weight, "rms_norm", "weight", 3)
    if eps is not None:
        eps = as_float(eps, "rms_norm", "eps", 4)
    shape = checked_shape("rms_norm", input, normalized_shape, weight, None)
    wide = input.float() if input.dtype in (pellucid.float16, pellucid.bfloat16) else input
    if eps is None:
        eps = pellucid.finfo(wide.dtype).eps
    dims = tuple(range(-len(shape), 0))
    y = wide * (wide.square().mean(dims, keepdim=True) + eps).rsqrt()
    y = y if weight is None else y * weight
    return y.to(input.dtype)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """The channels of each sample in groups, each centred and scaled to deviation 1 (Wu and He, 2018).

    >>> import pellucid as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    num_groups = as_int(num_groups, "group_norm", "num_groups", 2)
    if weight is not None:
        need_tensor(weight, "group_norm", "weight", 3)
    if bias is not None:
        need_tensor(bias, "group_norm", "bias", 4)
    eps = as_float(eps, "group_norm", "eps", 5)
    if input.dim() >= 2 and num_groups > 0:
        _check_several_values(input, num_groups)
    return checked_group_norm(input, num_groups, weight, bias, eps)


def checked_group_norm(input: Any, num_groups: int, weight: Any, bias: Any, eps: float) -> Any:
    """group_norm after its checks, also for groups of one value."""
    check(input.dim() >= 2, f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    channels = input.size(1)
    check(num_groups > 0, f"Expected num groups to be greater than 0, got {num_groups}")
    check(
        channels % num_groups == 0,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        f"{list(input.shape)} and"
        f" num_groups={num_groups}",
    )
    for title, each in (("weight", weight), ("bias", bias)):
        check(
            each is None or tuple(each.shape) == (channels,),
            f"Expected {title} to be a vector of size equal to the number of channels in input, but got {title} of "
            "shape"
            f" {list(getattr(each, 'shape', ()))} and input of shape {list(input.shape)}",
        )
    return ops.group_norm(input, weight, bias, groups=int(num_groups), eps=float(eps))[0]


def _check_several_values(input: Any, groups: int) -> None:
    size = input.size(0) * (input.size(1) // groups)
    for each in input.shape[2:]:
        size *= each
    if size == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel of each sample centred and scaled to deviation 1 (Ulyanov et al., 2016).

    >>> import pellucid as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    need_tensor(input, "instance_norm")
    if running_mean is not None:
        need_tensor(running_mean, "instance_norm", "running_mean", 2)
    if running_var is not None:
        need_tensor(running_var, "instance_norm", "running_var", 3)
    if weight is not None:
        need_tensor(weight, "instance_norm", "weight", 4)
    if bias is not None:
        need_tensor(bias, "instance_norm", "bias", 5)
    as_bool(use_input_stats, "instance_norm", "use_input_stats", 6)
    if use_input_stats and input.dim() > 2:
        spatial = input.shape[2:].numel()
        if spatial == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    check(
        use_input_stats or running_mean is not None and running_var is not None,
        "Expected running_mean and running_var to be defined when use_input_stats=False",
    )
    batch, channels = input.shape[:2]
    folded = input.reshape(1, batch * channels, *input.shape[2:])
    repeat = lambda each: None if each is None else each.repeat(batch)  # noqa: E731
    mean: Any
    var: Any
    mean, var = repeat(running_mean), repeat(running_var)
    y = batch_statistics_norm(folded, repeat(weight), repeat(bias), mean, var, use_input_stats, momentum, eps)[0]
    if use_input_stats and running_mean is not None:
        with pellucid.no_grad():
            running_mean.copy_(mean.view(batch, channels).mean(0))
            running_var.copy_(var.view(batch, channels).mean(0))
    return y.view(input.shape)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Each value over a power of the squares of its neighbouring channels (Krizhevsky et al., 2012).

    >>> import pellucid as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 1, 1), 1, alpha=0.0)
    tensor([[[1.]]])
    """
    dims = input.dim()
    if dims < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {dims} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.square()
    before, after = size // 2, (size - 1) // 2
    zero = lambda n: squares.new_zeros(*squares.shape[:1], n, *squares.shape[2:])  # noqa: E731
    padded = pellucid.cat([zero(before), squares, zero(after)], 1)
    whole = not (input.is_floating_point() or input.is_complex())  # integers are averaged as pooling does it
    near = padded.unfold(1, size, 1).sum(-1).div(size, rounding_mode="trunc" if whole else None)
    return input / (near * alpha + k).pow(beta)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """input over its norm along a dimension, which counts as at least `eps`.

    >>> import pellucid as torch
    >>> torch.nn.functional.normalize(torch.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norm if out is None else pellucid.div(input, norm, out=out)
