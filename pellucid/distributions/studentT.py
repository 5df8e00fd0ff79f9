"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.chi2 import Chi2
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale times a standard normal number over the root of a chi-squared one per degree of freedom.

    >>> import pellucid as torch
    >>> torch.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        new = self._expanded(StudentT, batch_shape, _instance, ("df", "loc", "scale"))
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        """loc; NaN up to one degree of freedom"""
        mean = self.loc.clone(memory_format=pellucid.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self) -> Tensor:
        """loc"""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """scale^2 df / (df - 2); infinite up to 2, NaN up to one degree of freedom"""
        variance = self.df.clone(memory_format=pellucid.contiguous_format)
        finite = self.df > 2
        variance[finite] = self.scale[finite].pow(2) * self.df[finite] / (self.df[finite] - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """By its definition."""
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * (normal * pellucid.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def _log_normaliser(self) -> Tensor:
        df = self.df
        gammas = pellucid.lgamma(0.5 * df) - pellucid.lgamma(0.5 * (df + 1.0))
        return self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + gammas

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1.0) * pellucid.log1p(y**2.0 / self.df) - self._log_normaliser()

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = pellucid.lgamma(half) + math.lgamma(0.5) - pellucid.lgamma(more)
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta
