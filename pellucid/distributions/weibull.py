"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.distributions import constraints
from pellucid.distributions.exponential import Exponential
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import AffineTransform, PowerTransform
from pellucid.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Distribution function 1 - exp(-(x / scale)^concentration).

    >>> import pellucid as torch
    >>> torch.distributions.Weibull(1.0, 1.0).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support: ClassVar[Any] = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(pellucid.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape`."""
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        """scale Gamma(1 + 1 / concentration)"""
        return self.scale * pellucid.exp(pellucid.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        """scale ((concentration - 1) / concentration)^(1 / concentration)"""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        """scale^2 (Gamma(1 + 2 / concentration) - Gamma(1 + 1 / concentration)^2)"""
        first = pellucid.lgamma(1 + self.concentration_reciprocal)
        second = pellucid.lgamma(1 + 2 * self.concentration_reciprocal)
        return self.scale.pow(2) * (pellucid.exp(second) - pellucid.exp(2 * first))

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        reciprocal = self.concentration_reciprocal
        return euler_constant * (1 - reciprocal) + pellucid.log(self.scale * reciprocal) + 1
