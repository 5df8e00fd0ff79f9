"""Activation functions."""

from __future__ import annotations

import warnings
from typing import Any

import pellucid
from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.errors import check, user_level, wrap_dim
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import activation as ops
from pellucid.engine.ops import exponential
from pellucid.engine.tensor.arguments import as_bool, as_int, as_number, need_str, need_tensor
from pellucid.engine.tensor.normalization import log_softmax as _log_softmax
from pellucid.engine.tensor.normalization import softmax as _softmax


def _into(input: Any, inplace: bool) -> Any:
    return InPlace(input) if inplace else None


def _node(stem: str, inplace: bool) -> str:
    return f"{stem}Backward{int(inplace)}"


def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0).

    >>> import pellucid as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    need_tensor(input, "relu")
    return exponential.relu(input, out=_into(input, inplace))


def relu_(input: Any) -> Any:
    """`relu` in place."""
    need_tensor(input, "relu_")
    return relu(input, inplace=True)


def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(input, 0), 6).

    >>> import pellucid as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 9.0]))
    tensor([0., 6.])
    """
    need_tensor(input, "relu6")
    return hardtanh(input, 0.0, 6.0, inplace)


def gelu(input: Any, approximate: str = "none", *, out: Any = None) -> Any:
    """input times the normal distribution function of it, exactly or by tanh (Hendrycks and Gimpel, 2016).

    >>> import pellucid as torch
    >>> torch.nn.functional.gelu(torch.tensor([1.0]))
    tensor([0.8413])
    """
    need_tensor(input, "gelu")
    need_str(approximate, "gelu", "approximate", 2)
    check(approximate in ("none", "tanh"), f"approximate argument must be either none or tanh. Got {approximate!r}")
    return ops.gelu(input, out=out) if approximate == "none" else ops.gelu_tanh(input, out=out)


def silu(input: Any, inplace: bool = False) -> Any:
    """input * sigmoid(input).

    >>> import pellucid as torch
    >>> torch.nn.functional.silu(torch.tensor([0.0]))
    tensor([0.])
    """
    need_tensor(input, "silu")
    return ops.silu(input, out=_into(input, inplace))


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """input above 0, `negative_slope` times it elsewhere.

    >>> import pellucid as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """
    need_tensor(input, "leaky_relu")
    negative_slope = as_number(negative_slope, "leaky_relu", "negative_slope", 2)
    return ops.leaky_relu(
        input, negative_slope=float(negative_slope), node=_node("LeakyRelu", inplace), out=_into(input, inplace)
    )


def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """input above 0, alpha * (exp(input) - 1) elsewhere (Clevert et al., 2015).

    >>> import pellucid as torch
    >>> torch.nn.functional.elu(torch.tensor([2.0, 0.0]))
    tensor([2., 0.])
    """
    need_tensor(input, "elu")
    alpha = as_number(alpha, "elu", "alpha", 2)
    return ops.elu(
        input, alpha=float(alpha), scale=1.0, input_scale=1.0, node=_node("Elu", inplace), out=_into(input, inplace)
    )


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """`elu` in place."""
    return elu(input, alpha, inplace=True)


def selu(input: Any, inplace: bool = False) -> Any:
    """A scaled elu that keeps activations at mean 0 and deviation 1 (Klambauer et al., 2017).

    >>> import pellucid as torch
    >>> torch.nn.functional.selu(torch.tensor([1.0]))
    tensor([1.0507])
    """
    need_tensor(input, "selu")
    scale = 1.0507009873554804934193349852946
    alpha = 1.6732632423543772848170429916717
    return ops.elu(
        input, alpha=alpha, scale=scale, input_scale=1.0, node=_node("Elu", inplace), out=_into(input, inplace)
    )


def selu_(input: Any) -> Any:
    """`selu` in place."""
    return selu(input, inplace=True)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017).

    >>> import pellucid as torch
    >>> torch.nn.functional.celu(torch.tensor([1.0]))
    tensor([1.])
    """
    need_tensor(input, "celu")
    alpha = as_number(alpha, "celu", "alpha", 2)
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    return ops.elu(
        input,
        alpha=float(alpha),
        scale=1.0,
        input_scale=1.0 / alpha,
        node=_node("Celu", inplace),
        out=_into(input, inplace),
    )


def celu_(input: Any, alpha: float = 1.0) -> Any:
    """`celu` in place."""
    return celu(input, alpha, inplace=True)


def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """leaky_relu with a slope drawn from [lower, upper) for each element in training, and their mean otherwise.

    >>> import pellucid as torch
    >>> torch.nn.functional.rrelu(torch.tensor([1.0]))
    tensor([1.])
    """
    need_tensor(input, "rrelu")
    lower = as_number(lower, "rrelu", "lower", 2)
    upper = as_number(upper, "rrelu", "upper", 3)
    as_bool(training, "rrelu", "training", 4)
    check(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    if not training:
        slope = (lower + upper) / 2
        return ops.leaky_relu(
            input, negative_slope=slope, node=_node("RreluWithNoise", inplace), out=_into(input, inplace)
        )
    slopes = ops.rrelu_slopes(input.detach(), lower=float(lower), upper=float(upper), generator=None)
    return ops.rrelu(input, slopes, out=_into(input, inplace))


def rrelu_(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Any:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None) -> Any:
    """log(1 + exp(beta * input)) / beta; linear above `threshold`.

    >>> import pellucid as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0]))
    tensor([0.6931])
    """
    need_tensor(input, "softplus")
    beta = as_number(beta, "softplus", "beta", 2)
    threshold = as_number(threshold, "softplus", "threshold", 3)
    return ops.softplus(input, beta=float(beta), threshold=float(threshold), out=out)


def logsigmoid(input: Any, *, out: Any = None) -> Any:
    """log(sigmoid(input)) without overflow.

    >>> import pellucid as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([0.0]))
    tensor([-0.6931])
    """
    need_tensor(input, "logsigmoid")
    return ops.log_sigmoid(input, out=out)


def mish(input: Any, inplace: bool = False) -> Any:
    """input * tanh(softplus(input)) (Misra, 2019).

    >>> import pellucid as torch
    >>> torch.nn.functional.mish(torch.tensor([0.0]))
    tensor([0.])
    """
    need_tensor(input, "mish")
    return ops.mish(input, out=_into(input, inplace))


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """input kept between two bounds.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    need_tensor(input, "hardtanh")
    check(min_val <= max_val, "min_val cannot be greater than max_val", ValueError)
    check(int(min_val) >= 0 or input.dtype.is_signed, "cannot do hardtanh on an unsigned type with negative limits")
    return ops.hardtanh(input, low=float(min_val), high=float(max_val), out=_into(input, inplace))


def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """input * relu6(input + 3) / 6.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardswish(torch.tensor([3.0]))
    tensor([3.])
    """
    need_tensor(input, "hardswish")
    return ops.hardswish(input, out=_into(input, inplace))


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """relu6(input + 3) / 6.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([0.0]))
    tensor([0.5000])
    """
    need_tensor(input, "hardsigmoid")
    return ops.hardsigmoid(input, out=_into(input, inplace))


def softshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """input drawn towards 0 by lambd.

    >>> import pellucid as torch
    >>> torch.nn.functional.softshrink(torch.tensor([1.0, 0.2]))
    tensor([0.5000, 0.0000])
    """
    need_tensor(input, "softshrink")
    lambd = as_number(lambd, "softshrink", "lambd", 2)
    check(
        lambd >= 0, f"lambda must be in range [0, 3.40282e+38] for input dtype {title(input.dtype)}, but found {lambd}"
    )
    return ops.softshrink(input, lambd=float(lambd), out=out)


def tanhshrink(input: Any) -> Any:
    """input - tanh(input).

    >>> import pellucid as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([0.0]))
    tensor([0.])
    """
    return input - input.tanh()


def softsign(input: Any) -> Any:
    """input / (1 + |input|).

    >>> import pellucid as torch
    >>> torch.nn.functional.softsign(torch.tensor([1.0]))
    tensor([0.5000])
    """
    return input / (input.abs() + 1)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """input above the threshold, `value` elsewhere.

    >>> import pellucid as torch
    >>> torch.nn.functional.threshold(torch.tensor([1.0, 3.0]), 2.0, 0.0)
    tensor([0., 3.])
    """
    need_tensor(input, "threshold")
    threshold = as_number(threshold, "threshold", "threshold", 2)
    value = as_number(value, "threshold", "value", 3)
    return ops.threshold(input, threshold=threshold, value=value, out=_into(input, inplace))


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """`threshold` in place."""
    return ops.threshold(input, threshold=threshold, value=value, out=InPlace(input))


def glu(input: Any, dim: int = -1) -> Any:
    """The first half along a dimension times the sigmoid of the second (Dauphin et al., 2016).

    >>> import pellucid as torch
    >>> torch.nn.functional.glu(torch.tensor([4.0, 0.0]))
    tensor([2.])
    """
    dim = as_int(dim, "glu", "dim", 2)
    check(input.dim() > 0, "glu does not support scalars because halving size must be even")
    return ops.glu(input, dim=wrap_dim(dim, input.dim()))


def _implicit_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=user_level(),
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(input) over its sum along a dimension.

    >>> import pellucid as torch
    >>> torch.nn.functional.softmax(torch.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(input, _implicit_dim("softmax", input.dim()) if dim is None else dim, dtype=dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of -input.

    >>> import pellucid as torch
    >>> torch.nn.functional.softmin(torch.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """log(softmax(input)), without overflow.

    >>> import pellucid as torch
    >>> torch.nn.functional.log_softmax(torch.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return _log_softmax(input, _implicit_dim("log_softmax", input.dim()) if dim is None else dim, dtype=dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """softmax of logits with Gumbel noise; with `hard`, one-hot forward and soft backward (Jang et al., 2016).

    >>> import pellucid as torch
    >>> float(torch.nn.functional.gumbel_softmax(torch.zeros(3), hard=True).sum().detach().round())
    1.0
    """
    need_tensor(logits, "gumbel_softmax", "logits")
    noise = -pellucid.empty_like(logits.detach()).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = pellucid.zeros_like(logits.detach()).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft


def tanh(input: Any) -> Any:
    """Hyperbolic tangent.

    >>> import pellucid as torch
    >>> torch.nn.functional.tanh(torch.tensor([0.0]))
    tensor([0.])
    """
    return input.tanh()


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-input)).

    >>> import pellucid as torch
    >>> torch.nn.functional.sigmoid(torch.tensor([0.0]))
    tensor([0.5000])
    """
    return input.sigmoid()
