"""The uniform distribution on an interval."""

from __future__ import annotations

from numbers import Number
from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Density 1 / (high - low) on [low, high).

    >>> import pellucid as torch
    >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0))
    tensor(-1.3863)
    """

    has_rsample = True

    @property
    def arg_constraints(self) -> Any:
        """low below high"""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        numbers = isinstance(low, Number) and isinstance(high, Number)
        super().__init__(Size() if numbers else self.low.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: every value is as probable."""
        return pellucid.nan * self.high

    @property
    def stddev(self) -> Tensor:
        """(high - low) / sqrt 12"""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """(high - low)^2 / 12"""
        return (self.high - self.low).pow(2) / 12

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return self._expanded(Uniform, batch_shape, _instance, ("low", "high"))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """[low, high]"""
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """low + (high - low) times a uniform number."""
        shape = self._extended_shape(sample_shape)
        unit = pellucid.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + unit * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return pellucid.log(inside) - pellucid.log(self.high - self.low)

    def cdf(self, value: Any) -> Tensor:
        """Probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        """The quantile `value`."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return pellucid.log(self.high - self.low)
