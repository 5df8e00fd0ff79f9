"""Distributions of the exponential family, whose entropy follows from the log normaliser."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)).

    The entropy is F(theta) - <theta, grad F(theta)> - E[k(x)] (Nielsen and Nock, 2010).

    >>> import pellucid as torch
    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        natural = [each.detach().requires_grad_() for each in self._natural_params]
        normaliser = self._log_normalizer(*natural)
        gradients = pellucid.autograd.grad(normaliser.sum(), natural, create_graph=True)
        result = normaliser - self._mean_carrier_measure
        for parameter, gradient in zip(natural, gradients, strict=True):
            result = result - _sum_rightmost(parameter * gradient, len(self.event_shape))
        return result
