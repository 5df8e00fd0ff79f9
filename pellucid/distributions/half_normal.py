"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.normal import Normal
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The absolute value of a normal number with mean 0 and deviation `scale`.

    >>> import pellucid as torch
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: ClassVar[Any] = constraints.nonnegative
    has_rsample: Any = True
    base_dist: Normal

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def scale(self) -> Tensor:
        """The deviation of the normal number."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """scale sqrt(2 / pi)"""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """0"""
        return pellucid.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """scale^2 (1 - 2 / pi)"""
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Any) -> Tensor:
        """Log density, minus infinity below 0."""
        if self._validate_args:
            self._validate_sample(value)
        return pellucid.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Tensor:
        """Probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Tensor:
        """The quantile `value`."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return self.base_dist.entropy() - math.log(2)
