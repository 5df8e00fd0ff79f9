"""Activation functions in PyTorch's top namespace, some of them methods. `nn.functional` has those with `inplace=`."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import activation as ops
from pellucid.engine.ops import exponential
from pellucid.engine.tensor.arguments import as_bool, as_number, need_tensor

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def hardshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """input, 0 within lambd of 0.

    >>> import pellucid as torch
    >>> torch.hardshrink(torch.tensor([1.0, 0.2]))
    tensor([1., 0.])
    """
    lambd = as_number(lambd, "hardshrink", "lambd", 2)
    return ops.hardshrink(need_tensor(input, "hardshrink"), lambd=float(lambd), out=out)


def prelu(input: Any, weight: Any) -> Any:
    """input above 0, weight (one, or one per channel) times it elsewhere (He et al., 2015).

    >>> import pellucid as torch
    >>> torch.prelu(torch.tensor([-2.0]), torch.tensor([0.25]))
    tensor([-0.5000])
    """
    x, w = need_tensor(input, "prelu")._meta, need_tensor(weight, "prelu", "weight", 2)._meta
    check(
        x.dtype is w.dtype,
        f"prelu: Type promoting not supported. Got {title(x.dtype)} and {title(w.dtype)}: convert the weight",
    )
    if w.numel != 1:
        check(x.ndim > 0, "Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim >= 2 else 1
        check(
            channels == w.numel,
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {w.numel} and channel "
            f"size = {channels}.",
        )
    check(w.ndim <= 1, f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.ndim and x.ndim != 1:
        weight = weight.reshape([1, -1] + [1] * (x.ndim - 2)) if x.ndim >= 2 else weight.reshape(())
    return ops.prelu(input, weight)


def relu_(input: Any) -> Any:
    """`relu` in place.

    >>> import pellucid as torch
    >>> torch.relu_(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return exponential.relu(need_tensor(input, "relu_"), out=InPlace(input))


def threshold(input: Any, threshold: float, value: float, *, out: Any = None) -> Any:
    """input above the threshold, `value` elsewhere.

    >>> import pellucid as torch
    >>> torch.threshold(torch.tensor([1.0, 3.0]), 2.0, 0.0)
    tensor([0., 3.])
    """
    threshold = as_number(threshold, "threshold", "threshold", 2)
    value = as_number(value, "threshold", "value", 3)
    return ops.threshold(need_tensor(input, "threshold"), threshold=threshold, value=value, out=out)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """`threshold` in place.

    >>> import pellucid as torch
    >>> torch.threshold_(torch.tensor([1.0, 3.0]), 2.0, 0.0)
    tensor([0., 3.])
    """
    return ops.threshold(need_tensor(input, "threshold_"), threshold=threshold, value=value, out=InPlace(input))


def selu(input: Any) -> Any:
    """A scaled elu that keeps activations at mean 0 and deviation 1 (Klambauer et al., 2017).

    >>> import pellucid as torch
    >>> torch.selu(torch.tensor([1.0]))
    tensor([1.0507])
    """
    return ops.elu(need_tensor(input, "selu"), alpha=SELU_ALPHA, scale=SELU_SCALE, input_scale=1.0, node="EluBackward0")


def selu_(input: Any) -> Any:
    """`selu` in place.

    >>> import pellucid as torch
    >>> torch.selu_(torch.tensor([1.0]))
    tensor([1.0507])
    """
    need_tensor(input, "selu_")
    return ops.elu(input, alpha=SELU_ALPHA, scale=SELU_SCALE, input_scale=1.0, node="EluBackward1", out=InPlace(input))


def celu(input: Any, alpha: float = 1.0, *, out: Any = None, node: str = "CeluBackward0") -> Any:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017).

    >>> import pellucid as torch
    >>> torch.celu(torch.tensor([1.0]))
    tensor([1.])
    """
    alpha = as_number(alpha, "celu", "alpha", 2)
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    return ops.elu(
        need_tensor(input, "celu"), alpha=float(alpha), scale=1.0, input_scale=1.0 / alpha, node=node, out=out
    )


def celu_(input: Any, alpha: float = 1.0) -> Any:
    """`celu` in place.

    >>> import pellucid as torch
    >>> torch.celu_(torch.tensor([1.0]))
    tensor([1.])
    """
    return celu(input, alpha, out=InPlace(input), node="CeluBackward1")


def rrelu(
    input: Any,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
    *,
    out: Any = None,
) -> Any:
    """leaky_relu with a slope drawn from [lower, upper) for each element in training, and their mean otherwise.

    >>> import pellucid as torch
    >>> torch.rrelu(torch.tensor([1.0]))
    tensor([1.])
    """
    as_bool(training, "rrelu", "training", 4)
    check(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    need_tensor(input, "rrelu")
    if not training:
        node = "RreluWithNoiseBackward0" if out is None else "RreluWithNoiseBackward1"
        return ops.leaky_relu(input, negative_slope=(lower + upper) / 2, node=node, out=out)
    slopes = ops.rrelu_slopes(input.detach(), lower=float(lower), upper=float(upper), generator=generator)
    return ops.rrelu(input, slopes, out=out)


def rrelu_(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Any:
    """`rrelu` in place.

    >>> import pellucid as torch
    >>> torch.rrelu_(torch.tensor([1.0]))
    tensor([1.])
    """
    as_bool(training, "rrelu_", "training", 4)
    return rrelu(input, lower, upper, training, generator, out=InPlace(input))


class ActivationMethods:
    """Rows of `Tensor`."""

    hardshrink = hardshrink
    prelu = prelu
