"""The gamma distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Density rate^a x^(a - 1) exp(-rate x) / Gamma(a) with a the concentration.

    Samples have gradients by implicit reparametrisation (Figurnov et al., 2018).

    >>> import pellucid as torch
    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        numbers = isinstance(concentration, Number) and isinstance(rate, Number)
        super().__init__(Size() if numbers else self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """concentration / rate"""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """(concentration - 1) / rate, at least 0"""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """concentration / rate^2"""
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return self._expanded(Gamma, batch_shape, _instance, ("concentration", "rate"))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A standard gamma number over the rate, kept above 0."""
        shape = self._extended_shape(sample_shape)
        value = pellucid._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=pellucid.finfo(value.dtype).tiny)  # the gradient stays as it is
        return value

    def log_prob(self, value: Any) -> Tensor:
        """Log density."""
        value = pellucid.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            pellucid.xlogy(self.concentration, self.rate) + pellucid.xlogy(self.concentration - 1, value)
            - self.rate * value - pellucid.lgamma(self.concentration)
        )  # fmt: skip

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        a = self.concentration
        return a - pellucid.log(self.rate) + pellucid.lgamma(a) + (1.0 - a) * pellucid.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return pellucid.lgamma(x + 1) + (x + 1) * pellucid.log(-y.reciprocal())

    def cdf(self, value: Any) -> Tensor:
        """Probability of at most `value`."""
        if self._validate_args:
            self._validate_sample(value)
        return pellucid.special.gammainc(self.concentration, self.rate * value)
