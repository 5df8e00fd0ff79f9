"""A distribution of values that transforms made from another distribution's."""

from __future__ import annotations

from typing import Any, ClassVar

import pellucid
from pellucid import Size, Tensor
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.independent import Independent
from pellucid.distributions.transforms import ComposeTransform, Transform
from pellucid.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Y = f(X) with X from `base_distribution`: log p(y) = log p(x) - log |dy/dx|.

    >>> import pellucid as torch
    >>> D = torch.distributions
    >>> D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()]).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(each, Transform) for each in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {base_distribution}."
            )
        forward = whole.forward_shape(shape)
        base_distribution = base_distribution.expand(whole.inverse_shape(forward)[: len(shape) - base_event_dim])
        reinterpreted = whole.domain.event_dim - base_event_dim
        if reinterpreted > 0:
            base_distribution = Independent(base_distribution, reinterpreted)
        self.base_dist = base_distribution
        event_dim = whole.codomain.event_dim + max(base_event_dim - whole.domain.event_dim, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with a base expanded to `batch_shape`."""
        new = self._get_checked_instance(TransformedDistribution, _instance)
        new.transforms = self.transforms
        shape = Size(batch_shape)
        base = ComposeTransform(self.transforms).inverse_shape(shape + self.event_shape)
        new.base_dist = self.base_dist.expand(base[: len(base) - len(self.base_dist.event_shape)])
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The last transform's codomain."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        extra = len(self.event_shape) - found.event_dim
        return constraints.independent(found, extra) if extra > 0 else found

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the base."""
        return self.base_dist.has_rsample

    def _through(self, x: Tensor) -> Tensor:
        for each in self.transforms:
            x = each(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """The base's values, transformed, without a gradient."""
        with pellucid.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The base's values, transformed."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        """The base's log density less the log-determinants."""
        if self._validate_args:
            self._validate_sample(value)
        event_dim, total, y = len(self.event_shape), 0.0, value
        for each in reversed(self.transforms):
            x = each.inv(y)
            event_dim += each.domain.event_dim - each.codomain.event_dim
            total = total - _sum_rightmost(each.log_abs_det_jacobian(x, y), event_dim - each.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Any) -> Any:
        """p where the map grows, 1 - p where it falls."""
        sign: Any = 1
        for each in self.transforms:
            sign = sign * each.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Tensor:
        """The base's at the value mapped back."""
        for each in reversed(self.transforms):
            value = each.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        """The base's quantile, transformed."""
        return self._through(self.base_dist.icdf(self._monotonize_cdf(value)))
