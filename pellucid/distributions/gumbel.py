"""The Gumbel distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import AffineTransform, ExpTransform
from pellucid.distributions.uniform import Uniform
from pellucid.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Distribution function exp(-exp(-(x - loc) / scale)).

    >>> import pellucid as torch
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: ClassVar[Any] = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = pellucid.finfo(self.loc.dtype)
        low: Any = info.tiny
        high: Any = 1 - info.eps
        if not (isinstance(loc, Number) and isinstance(scale, Number)):
            low, high = pellucid.full_like(self.loc, low), pellucid.full_like(self.loc, high)
        steps = [
            ExpTransform().inv, AffineTransform(0, -pellucid.ones_like(self.scale)), ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]  # fmt: skip
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        """loc + scale times Euler's constant"""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """loc"""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """scale pi / sqrt 6"""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        """scale^2 pi^2 / 6"""
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return self.scale.log() + (1 + euler_constant)
