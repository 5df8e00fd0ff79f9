"""The exponential distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.utils import broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Density rate exp(-rate x) for x >= 0.

    >>> import pellucid as torch
    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if isinstance(rate, Number) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """1 / rate"""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """0"""
        return pellucid.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """1 / rate"""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """1 / rate^2"""
        return self.rate.pow(-2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return self._expanded(Exponential, batch_shape, _instance, ("rate",))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A standard exponential number over the rate."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Tensor:
        """Probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return 1 - pellucid.exp(-self.rate * value)

    def icdf(self, value: Any) -> Tensor:
        """The quantile `value`."""
        return -pellucid.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return 1.0 - pellucid.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return -pellucid.log(-x)
