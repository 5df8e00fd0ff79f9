"""Categories as one-hot vectors."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """A vector that is 1 at a random category and 0 elsewhere.

    >>> import pellucid as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters of shape `batch_shape` before the categories."""
        new = self._get_checked_instance(OneHotCategorical, _instance)
        shape = Size(batch_shape)
        new._categorical = self._categorical.expand(shape)
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Probabilities that sum to 1."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        """probs"""
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        """The most probable category."""
        mode = self._categorical.probs.argmax(dim=-1)
        return pellucid.nn.functional.one_hot(mode, self._event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        """probs (1 - probs)"""
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """One-hot vectors."""
        drawn = self._categorical.sample(Size(sample_shape))
        return pellucid.nn.functional.one_hot(drawn, self._event_shape[0]).to(self.probs)

    def log_prob(self, value: Any) -> Tensor:
        """Log probability of the category."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All one-hot vectors along the first dimension."""
        n = self._event_shape[0]
        values = pellucid.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of the probabilities passed straight through samples (Bengio et al., 2013).

    >>> import pellucid as torch
    >>> torch.distributions.OneHotCategoricalStraightThrough(torch.ones(2)).rsample().shape
    torch.Size([2])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """One-hot vectors plus probs less probs without its gradient."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
