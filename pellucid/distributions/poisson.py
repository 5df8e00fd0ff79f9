"""The Poisson distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Mass rate^k exp(-rate) / k!.

    >>> import pellucid as torch
    >>> torch.distributions.Poisson(1.0).log_prob(torch.tensor(0.0))
    tensor(-1.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if isinstance(rate, Number) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """rate"""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """rate rounded down"""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """rate"""
        return self.rate

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        return self._expanded(Poisson, batch_shape, _instance, ("rate",))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Counts."""
        with pellucid.no_grad():
            return pellucid.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        """Log mass."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (pellucid.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return pellucid.exp(x)
