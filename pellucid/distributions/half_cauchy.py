"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.cauchy import Cauchy
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy number with median 0 and scale `scale`.

    >>> import pellucid as torch
    >>> torch.distributions.HalfCauchy(1.0).mode
    tensor(0.)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: ClassVar[Any] = constraints.nonnegative
    has_rsample: Any = True
    base_dist: Cauchy

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the Cauchy number."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return pellucid.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def mode(self) -> Tensor:
        """0"""
        return pellucid.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        """Log density, minus infinity below 0."""
        if self._validate_args:
            self._validate_sample(value)
        value = pellucid.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
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
