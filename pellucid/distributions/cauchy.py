"""The Cauchy distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Density 1 / (pi scale (1 + ((x - loc) / scale)^2)); it has no mean.

    >>> import pellucid as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.1447)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        numbers = isinstance(loc, Number) and isinstance(scale, Number)
        super().__init__(Size() if numbers else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return self._expanded(Cauchy, batch_shape, _instance, ("loc", "scale"))

    def _filled(self, value: float) -> Tensor:
        return pellucid.full(self._extended_shape(), value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Tensor:
        """NaN: the integral does not converge."""
        return self._filled(math.nan)

    @property
    def mode(self) -> Tensor:
        """loc"""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self._filled(math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + scale times a standard Cauchy number."""
        return self.loc + self.loc.new(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Tensor:
        """Probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return pellucid.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Tensor:
        """The quantile `value`."""
        return pellucid.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4 pi scale)"""
        return math.log(4 * math.pi) + self.scale.log()
