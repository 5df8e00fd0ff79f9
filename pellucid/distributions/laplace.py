"""The Laplace distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Density exp(-|x - loc| / scale) / (2 scale).

    >>> import pellucid as torch
    >>> torch.distributions.Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        numbers = isinstance(loc, Number) and isinstance(scale, Number)
        super().__init__(Size() if numbers else self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """loc"""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """loc"""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """2 scale^2"""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """sqrt(2) scale"""
        return 2**0.5 * self.scale

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return self._expanded(Laplace, batch_shape, _instance, ("loc", "scale"))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """By inverting the distribution function at a uniform number in (-1, 1)."""
        shape = self._extended_shape(sample_shape)
        info = pellucid.finfo(self.loc.dtype)
        u = self.loc.new_empty(shape).uniform_(info.eps - 1, 1)
        return self.loc - self.scale * u.sign() * pellucid.log1p(-u.abs())

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        return -pellucid.log(2 * self.scale) - pellucid.abs(value - self.loc) / self.scale

    def cdf(self, value: Any) -> Tensor:
        """Probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * pellucid.expm1(-distance.abs() / self.scale)

    def icdf(self, value: Any) -> Tensor:
        """The quantile `value`."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * pellucid.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return 1 + pellucid.log(2 * self.scale)
