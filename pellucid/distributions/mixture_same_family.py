"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.constraints import MixtureSameFamilyConstraint
from pellucid.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component is drawn by `mixture_distribution`, a value by that entry of the last batch dimension.

    >>> import pellucid as torch
    >>> D = torch.distributions
    >>> D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), 1.0)).mean
    tensor(0.)
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        weights, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        for a, b in zip(reversed(weights), reversed(components[:-1]), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                    f"`component_distribution.batch_shape`({components[:-1]})"
                )
        count = mixture_distribution.logits.shape[-1]
        if components[-1] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components[-1]})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with weights and components of shape `batch_shape`."""
        shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand((*shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """The components'."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _averaged(self, x: Tensor) -> Tensor:
        probs = self.mixture_distribution.probs
        weights = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return pellucid.sum(weights * x, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The weighted mean of the components' means."""
        return self._averaged(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means (law of total variance)."""
        apart = self.component_distribution.mean - self.mean.unsqueeze(-1 - self._event_ndims)
        return self._averaged(self.component_distribution.variance) + self._averaged(apart.pow(2.0))

    def cdf(self, value: Any) -> Tensor:
        """The weighted mean of the components'."""
        found = self.component_distribution.cdf(value.unsqueeze(-1 - self._event_ndims))
        return pellucid.sum(found * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the weighted sum of the components' densities."""
        if self._validate_args:
            self._validate_sample(value)
        found = self.component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return pellucid.logsumexp(found + pellucid.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Values of the components drawn."""
        with pellucid.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            axis = values.dim() - 1 - self._event_ndims
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*values.shape[:axis], 1, *values.shape[axis + 1 :]))
            return pellucid.gather(values, axis, index).squeeze(axis)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
