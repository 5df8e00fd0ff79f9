"""Filling parameters with starting values, in place and outside autograd, with PyTorch's numbers for the same seed.

The random streams themselves are in the engine; the layers' own default recipes are in their `reset_parameters`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import pellucid
from pellucid import Tensor
from pellucid.engine.core.errors import user_level
from pellucid.engine.tensor.publishing import publish

if TYPE_CHECKING:
    from pellucid.random import Generator

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_Fan = Literal["fan_in", "fan_out"]
_LINEAR = frozenset(
    ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance of activations through `nonlinearity`; `param` is leaky_relu's negative slope.

    >>> import pellucid as torch
    >>> round(torch.nn.init.calculate_gain("leaky_relu", 0.2), 4)
    1.3868
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    known = ", ".join(sorted(_LINEAR | {"tanh", "relu", "leaky_relu", "selu"}))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}; it is one of {known}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with draws from the uniform distribution on [a, b).

    >>> import pellucid as torch
    >>> weight = torch.nn.init.uniform_(torch.empty(3, 5), -1.0, 1.0)
    >>> bool((weight.abs() <= 1).all())
    True
    """
    with pellucid.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with draws from the normal distribution with the given mean and standard deviation."""
    with pellucid.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with draws from the normal distribution restricted to [a, b], by rejection; `a` and `b` are values, not
    multiples of std.

    >>> import pellucid as torch
    >>> weight = torch.nn.init.trunc_normal_(torch.empty(100), std=0.02, a=-0.04, b=0.04)
    >>> bool((weight.abs() <= 0.04).all())
    True
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=user_level(),
        )
    kept = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with pellucid.no_grad():
        if kept > 0.3:
            return _redraw_outside(tensor, mean, std, a, b, generator)
        return _reject_uniform(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_outside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Normal draws, with everything outside [a, b] drawn anew; few rounds when most of the mass is inside."""
    low, high = tensor.new_tensor(a, device="cpu").item(), tensor.new_tensor(b, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while bool((outside := (result < low) | (result > high)).any()):
        redrawn = pellucid.empty_like(result).normal_(mean, std, generator=generator)
        result = pellucid.where(outside, redrawn, result)
    return tensor if result is tensor else tensor.copy_(result)


def _reject_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Uniform candidates on [a, b], each accepted with its density over the largest density: for a tail of the
    normal.
    """
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates: Tensor) -> Tensor:
        log_density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return pellucid.empty_like(tensor).uniform_(generator=generator).log_().gt(log_density)

    tensor.uniform_(a, b, generator=generator)
    pending, result = rejected(tensor), tensor
    while bool(pending.any()):
        candidates = pellucid.empty_like(tensor).uniform_(a, b, generator=generator)
        result = pellucid.where(pending, candidates, result)
        pending = pending & rejected(candidates)
    return tensor if result is tensor else tensor.copy_(result)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`."""
    with pellucid.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    with pellucid.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: ones on the main diagonal, zeros elsewhere.

    >>> import pellucid as torch
    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, not {tensor.ndimension()}")
    with pellucid.no_grad():
        return tensor.copy_(pellucid.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a 1-, 2- or 3-D convolution's weight so that each group passes its input channels through unchanged."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, not {tensor.ndimension()}")
    if tensor.size(0) % groups != 0:
        raise ValueError(f"dim 0 must be divisible by groups, but {tensor.size(0)} is not divisible by {groups}")
    if tensor.is_meta:
        return tensor
    per_group = tensor.size(0) // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with pellucid.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs feed one output of a weight, and how many outputs one input feeds."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform on ±gain·√(6 / (fan_in + fan_out)). Glorot and Bengio, AISTATS 2010, section 4.2.1.

    >>> import pellucid as torch
    >>> weight = torch.nn.init.xavier_uniform_(torch.empty(2, 4))
    >>> bool((weight.abs() <= 1).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation gain·√(2 / (fan_in + fan_out)). Glorot and Bengio, AISTATS 2010."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: _Fan = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform on ±gain·√(3 / fan); `a` is leaky_relu's slope. He et al., ICCV 2015, equation 14.

    >>> import pellucid as torch
    >>> weight = torch.nn.init.kaiming_uniform_(torch.empty(2, 6), nonlinearity="relu")
    >>> bool((weight.abs() <= 1).all())
    True
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=user_level())
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: _Fan = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with standard deviation gain / √fan; `a` is leaky_relu's slope. He et al., ICCV 2015, equation 14."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=user_level())
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix, trailing dimensions flattened, times `gain`. Saxe et al., ICLR 2014.

    >>> import pellucid as torch
    >>> weight = torch.nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(weight @ weight.T, torch.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, not {tensor.ndimension()}")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with pellucid.no_grad():
        flattened = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = pellucid.linalg.qr(flattened.t() if rows < columns else flattened)
        # QR leaves the signs of the columns open; a positive diagonal of R makes the distribution uniform.
        q = q * pellucid.diag(r, 0).sign()
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal draws with the fraction `sparsity` of each column set to zero. Martens, ICML 2010, section 5.3."""
    if tensor.ndimension() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, not {tensor.ndimension()}")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with pellucid.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[pellucid.randperm(rows)[:zeros], column] = 0
    return tensor


# Private in PyTorch, and used by programs all the same.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_


def _deprecated(new: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The old name of `new`, without the underscore; it warns."""
    name = new.__name__[:-1]

    def deprecated_init(*args: Any, **kwargs: Any) -> Tensor:
        message = f"`nn.init.{name}` is now deprecated in favor of `nn.init.{new.__name__}`."
        warnings.warn(message, FutureWarning, stacklevel=user_level())
        return new(*args, **kwargs)

    deprecated_init.__name__ = name
    deprecated_init.__doc__ = f"The old name of `{new.__name__}`; it works in place as well."
    return deprecated_init


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

# doctest looks at functions whose code is in this file, and their public forms' is not.
__test__ = {name: globals()[name] for name in __all__}
publish(globals())
