"""Transforms of the parts of a tensor, and of numbers by a distribution function. They are also in `transforms.py`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid.distributions import constraints
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.transform import Transform
from pellucid.distributions.utils import _sum_rightmost

__all__ = ["CatTransform", "CumulativeDistributionTransform", "StackTransform"]


def _cached(transforms: Sequence[Any], cache_size: int) -> list[Any]:
    if not all(isinstance(each, Transform) for each in transforms):
        raise AssertionError("All elements of tseq must be Transform instances")
    return [each.with_cache(cache_size) for each in transforms] if cache_size else list(transforms)


class CatTransform(Transform):
    """Transforms of consecutive parts, `lengths` long, along a dimension.

    >>> import pellucid as torch
    >>> D = torch.distributions
    >>> D.CatTransform([D.ExpTransform(), D.transforms.identity_transform], 0, [1, 1])(torch.zeros(2))
    tensor([1., 0.])
    """

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = _cached(tseq, cache_size)
        self.lengths = list([1] * len(self.transforms) if lengths is None else lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths has {len(self.lengths)} entries for {len(self.transforms)} transforms")
        self.dim = dim

    @property
    def event_dim(self) -> int:
        """The most of the parts."""
        return max(each.event_dim for each in self.transforms)

    @property
    def length(self) -> int:
        """The parts' lengths together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another `cache_size`."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Any) -> list[Any]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} is out of range for a tensor of {x.dim()} dimensions")
        if x.size(self.dim) != self.length:
            raise AssertionError(f"Input size {x.size(self.dim)} at dim {self.dim} does not match length {self.length}")
        starts = itertools.accumulate(self.lengths, initial=0)
        return [x.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths, strict=False)]

    def _call(self, x: Any) -> Any:
        return pellucid.cat([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        parts = [t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)]
        return pellucid.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The parts', joined along a batch dimension or summed along one of the value's."""
        found = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            each = t.log_abs_det_jacobian(before, after)
            found.append(_sum_rightmost(each, self.event_dim - t.event_dim) if t.event_dim < self.event_dim else each)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return pellucid.cat(found, dim=dim) if dim < 0 else sum(found)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(each.bijective for each in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The parts' domains."""
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The parts' codomains."""
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """One transform for each slice along a dimension.

    >>> import pellucid as torch
    >>> D = torch.distributions
    >>> D.StackTransform([D.ExpTransform(), D.transforms.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = _cached(tseq, cache_size)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another `cache_size`."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, x: Any) -> list[Any]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} is out of range for a tensor of {x.dim()} dimensions")
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(f"{x.size(self.dim)} slices at dim {self.dim} for {len(self.transforms)} transforms")
        return [x.select(self.dim, i) for i in range(x.size(self.dim))]

    def _call(self, x: Any) -> Any:
        return pellucid.stack([t(part) for t, part in zip(self.transforms, self._slices(x), strict=True)], self.dim)

    def _inverse(self, y: Any) -> Any:
        return pellucid.stack([t.inv(part) for t, part in zip(self.transforms, self._slices(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The slices', stacked."""
        slices = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return pellucid.stack([t.log_abs_det_jacobian(before, after) for t, before, after in slices], dim=self.dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(each.bijective for each in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The slices' domains."""
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The slices' codomains."""
        return constraints.stack([each.codomain for each in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = the probability of at most x under a distribution of single numbers.

    >>> import pellucid as torch
    >>> D = torch.distributions
    >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1  # type: ignore[assignment]

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The log density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another `cache_size`."""
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
