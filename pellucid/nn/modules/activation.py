"""Activation functions as layers. Softmax and its kin are in softmax.py, multi-head attention in attention.py; both are
exported here.
"""

from __future__ import annotations

import warnings
from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn.init import constant_
from pellucid.nn.parameter import Parameter

from .attention import MultiheadAttention
from .module import Module
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid",
    "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


def _and_inplace(inplace: bool) -> str:
    return ", inplace=True" if inplace else ""


class _MaybeInplace(Module):
    """What activations without other settings share: whether to work in place."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """x where x > threshold, else value.

    >>> import pellucid as torch
    >>> torch.nn.Threshold(0.1, 20)(torch.tensor([0.0, 1.0]))
    tensor([20.,  1.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{_and_inplace(self.inplace)}"


class ReLU(_MaybeInplace):
    """max(x, 0).

    >>> import pellucid as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class RReLU(Module):
    """x where x ≥ 0, else a·x, with a drawn from [lower, upper] in training and their mean in evaluation. Xu et al.,
    2015.

    >>> import pellucid as torch
    >>> torch.nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{_and_inplace(self.inplace)}"


class Hardtanh(Module):
    """x limited to [min_val, max_val].

    >>> import pellucid as torch
    >>> torch.nn.Hardtanh(-2, 2)(torch.tensor([-3.0, 0.5]))
    tensor([-2.0000,  0.5000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]
    min_val: float
    max_val: float
    inplace: bool

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, given, new in (("min_value", min_value, "min_val"), ("max_value", max_value, "max_val")):
            if given is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=2
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{_and_inplace(self.inplace)}"


class ReLU6(Hardtanh):
    """x limited to [0, 6].

    >>> import pellucid as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 8.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(−x)).

    >>> import pellucid as torch
    >>> torch.nn.Sigmoid()(torch.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return pellucid.sigmoid(input)


class Hardsigmoid(Module):
    """x / 6 + 1 / 2 limited to [0, 1].

    >>> import pellucid as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([0.0, 4.0]))
    tensor([0.5000, 1.0000])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import pellucid as torch
    >>> torch.nn.Tanh()(torch.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return pellucid.tanh(input)


class SiLU(_MaybeInplace):
    """x · sigmoid(x), also called swish. Elfwing et al., 2017.

    >>> import pellucid as torch
    >>> torch.nn.SiLU()(torch.tensor([1.0]))
    tensor([0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_MaybeInplace):
    """x · tanh(log(1 + eˣ)). Misra, 2019.

    >>> import pellucid as torch
    >>> torch.nn.Mish()(torch.tensor([1.0]))
    tensor([0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class Hardswish(Module):
    """x · (x + 3) / 6 between −3 and 3, 0 below, x above. Howard et al. (MobileNetV3), ICCV 2019.

    >>> import pellucid as torch
    >>> torch.nn.Hardswish()(torch.tensor([-4.0, 3.0]))
    tensor([-0.,  3.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class _WithAlpha(Module):
    """What ELU and CELU share."""

    __constants__ = ["alpha", "inplace"]
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_and_inplace(self.inplace)}"


class ELU(_WithAlpha):
    """x where x > 0, else alpha · (eˣ − 1). Clevert et al., ICLR 2016.

    >>> import pellucid as torch
    >>> torch.nn.ELU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_WithAlpha):
    """max(0, x) + min(0, alpha · (exp(x / alpha) − 1)). Barron, 2017.

    >>> import pellucid as torch
    >>> torch.nn.CELU(2.0)(torch.tensor([-1.0, 1.0]))
    tensor([-0.7869,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(_MaybeInplace):
    """1.0507 · ELU(x, alpha=1.6733), whose fixed point is mean 0 and variance 1. Klambauer et al., NeurIPS 2017.

    >>> import pellucid as torch
    >>> torch.nn.SELU()(torch.tensor([1.0]))
    tensor([1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """a · sigmoid(b), where a and b are the halves of the input along `dim`. Dauphin et al., ICML 2017.

    >>> import pellucid as torch
    >>> torch.nn.GLU()(torch.tensor([2.0, 0.0]))
    tensor([1.])
    """

    __constants__ = ["dim"]
    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """x · Φ(x), Φ the normal distribution function, exact or with `approximate='tanh'`. Hendrycks and Gimpel, 2016.

    >>> import pellucid as torch
    >>> torch.nn.GELU()(torch.tensor([1.0]))
    tensor([0.8413])
    """

    __constants__ = ["approximate"]
    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class _WithLambda(Module):
    """What the two shrinking functions share."""

    __constants__ = ["lambd"]
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Hardshrink(_WithLambda):
    """x where |x| > lambd, else 0.

    >>> import pellucid as torch
    >>> torch.nn.Hardshrink()(torch.tensor([0.3, 1.0]))
    tensor([0., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class LeakyReLU(Module):
    """x where x ≥ 0, else negative_slope · x.

    >>> import pellucid as torch
    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{_and_inplace(self.inplace)}"


class LogSigmoid(Module):
    """log(1 / (1 + exp(−x))), without overflow.

    >>> import pellucid as torch
    >>> torch.nn.LogSigmoid()(torch.tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta · x)) / beta, and x itself where beta · x > threshold.

    >>> import pellucid as torch
    >>> torch.nn.Softplus()(torch.tensor([0.0]))
    tensor([0.6931])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(_WithLambda):
    """x moved towards 0 by lambd, and 0 where |x| ≤ lambd.

    >>> import pellucid as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.3, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class PReLU(Module):
    """x where x ≥ 0, else a·x with a trained a, one for all or one per channel. He et al., ICCV 2015.

    >>> import pellucid as torch
    >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    __constants__ = ["num_parameters"]
    num_parameters: int
    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(pellucid.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Every slope as at the start."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """x / (1 + |x|).

    >>> import pellucid as torch
    >>> torch.nn.Softsign()(torch.tensor([1.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x − tanh(x).

    >>> import pellucid as torch
    >>> torch.nn.Tanhshrink()(torch.tensor([1.0]))
    tensor([0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)
