"""Transforms of single numbers: exp, sigmoid, tanh, powers, affine maps. They are also in `transforms.py`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid.distributions import constraints
from pellucid.distributions.transform import Transform
from pellucid.distributions.utils import lazy_property

__all__ = [
    "AbsTransform", "AffineTransform", "ExpTransform", "PowerTransform", "SigmoidTransform", "SoftplusTransform",
    "TanhTransform",
]  # fmt: skip


class ExpTransform(Transform):
    """y = exp(x).

    >>> import pellucid as torch
    >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
    tensor(1.)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign: ClassVar[Any] = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """x"""
        return x


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), kept strictly between 0 and 1.

    >>> import pellucid as torch
    >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
    tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign: ClassVar[Any] = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SigmoidTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        info = pellucid.finfo(x.dtype)
        return pellucid.clamp(pellucid.sigmoid(x), min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y: Any) -> Any:
        info = pellucid.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log y + log (1 - y)"""
        softplus = pellucid.nn.functional.softplus
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)); above 20 the argument itself.

    >>> import pellucid as torch
    >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
    tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign: ClassVar[Any] = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftplusTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return pellucid.nn.functional.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log sigmoid(x)"""
        return -pellucid.nn.functional.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x). Values at -1 and 1 have infinite arguments: ask for a cache where samples are scored.

    >>> import pellucid as torch
    >>> torch.distributions.TanhTransform()(torch.tensor(0.0))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign: ClassVar[Any] = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TanhTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return pellucid.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log (1 - tanh^2 x) = 2 (log 2 - x - log(1 + exp(-2 x)))"""
        return 2.0 * (math.log(2.0) - x - pellucid.nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|; the inverse takes the positive value.

    >>> import pellucid as torch
    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """y = x^exponent on positive values.

    >>> import pellucid as torch
    >>> torch.distributions.PowerTransform(torch.tensor(2.0))(torch.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent = exponent

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another `cache_size`."""
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all().item())

    __hash__ = None  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |exponent y / x|"""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return pellucid.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    def inverse_shape(self, shape: Any) -> Any:
        """Broadcast with the exponent."""
        return pellucid.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))


class AffineTransform(Transform):
    """y = loc + scale x, on values of `event_dim` dimensions.

    >>> import pellucid as torch
    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many dimensions one value has."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """All values of `event_dim` dimensions."""
        return constraints.real if self.event_dim == 0 else constraints.independent(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """All values of `event_dim` dimensions."""
        return constraints.real if self.event_dim == 0 else constraints.independent(constraints.real, self.event_dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another `cache_size`."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = None  # type: ignore[assignment]

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        if isinstance(self.scale, int | float):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |scale|, summed over the dimensions of one value"""
        if isinstance(self.scale, int | float):
            result = pellucid.full_like(x, math.log(abs(self.scale)))
        else:
            result = pellucid.abs(self.scale).log()
        kept = x.shape[: x.dim() - self.event_dim]
        if self.event_dim:
            result = result.view((*result.size()[: -self.event_dim], -1)).sum(-1)
        return result.expand(kept)

    def forward_shape(self, shape: Any) -> Any:
        """Broadcast with loc and scale."""
        return pellucid.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def inverse_shape(self, shape: Any) -> Any:
        """Broadcast with loc and scale."""
        return self.forward_shape(shape)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    return bool((a == b).all().item())
