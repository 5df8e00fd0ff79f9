"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Density proportional to the product of x_i^(a_i - 1) over the simplex.

    >>> import pellucid as torch
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape` before the categories."""
        new = self._get_checked_instance(Dirichlet, _instance)
        shape = Size(batch_shape)
        new.concentration = self.concentration.expand(shape + self.event_shape)
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Gamma variates over their sum; the gradient is that of the gamma variates."""
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        gamma = pellucid._standard_gamma(concentration.double())
        info = pellucid.finfo(concentration.dtype)
        return (gamma / gamma.sum(-1, True)).to(concentration.dtype).clamp(info.tiny, 1 - info.eps / 2)

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        return (
            pellucid.xlogy(self.concentration - 1.0, value).sum(-1) + pellucid.lgamma(self.concentration.sum(-1))
            - pellucid.lgamma(self.concentration).sum(-1)
        )  # fmt: skip

    @property
    def mean(self) -> Tensor:
        """The concentrations over their sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most probable point; where all concentrations are below 1, the corner of the largest."""
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        mode[flat] = pellucid.nn.functional.one_hot(mode[flat].argmax(dim=-1), self.concentration.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        """Per coordinate."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        k, a = self.concentration.size(-1), self.concentration
        total = a.sum(-1)
        return (
            pellucid.lgamma(a).sum(-1) - pellucid.lgamma(total) - (k - total) * pellucid.digamma(total)
            - ((a - 1.0) * pellucid.digamma(a)).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.lgamma().sum(-1) - pellucid.lgamma(x.sum(-1))
