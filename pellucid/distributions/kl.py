"""Kullback-Leibler divergences between pairs of distributions, in a table by class."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.distributions.bernoulli import Bernoulli
from pellucid.distributions.beta import Beta
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.cauchy import Cauchy
from pellucid.distributions.dirichlet import Dirichlet
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.exponential import Exponential
from pellucid.distributions.gamma import Gamma
from pellucid.distributions.geometric import Geometric
from pellucid.distributions.half_normal import HalfNormal
from pellucid.distributions.independent import Independent
from pellucid.distributions.laplace import Laplace
from pellucid.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from pellucid.distributions.normal import Normal
from pellucid.distributions.one_hot_categorical import OneHotCategorical
from pellucid.distributions.poisson import Poisson
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.uniform import Uniform
from pellucid.distributions.utils import _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Rule = Callable[[Any, Any], Tensor]
_KL_REGISTRY: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """Decorate the function that computes the divergence of these two classes and their subclasses.

    >>> import pellucid as torch
    >>> class Mine(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def kl(p, q):
    ...     return torch.zeros(())
    """
    if not (isinstance(type_p, type) and issubclass(type_p, Distribution)):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not (isinstance(type_q, type) and issubclass(type_q, Distribution)):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def register(function: Rule) -> Rule:
        _KL_REGISTRY[type_p, type_q] = function
        _dispatch.cache_clear()
        return function

    return register


@functools.cache
def _dispatch(type_p: type, type_q: type) -> Rule | None:
    """The rule of the nearest classes: first by p, among those by q."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    best = min(matches, key=lambda pair: (type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])))
    return _KL_REGISTRY[best]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The expectation under p of log p - log q; NotImplementedError for a pair without a rule.

    >>> import pellucid as torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    rule = _dispatch(type(p), type(q))  # type: ignore[arg-type]
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return rule(p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normaliser (Nielsen and Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    mine = [each.detach().requires_grad_() for each in p._natural_params]
    other = q._natural_params
    normaliser = p._log_normalizer(*mine)
    gradients = pellucid.autograd.grad(normaliser.sum(), mine, create_graph=True)
    result = q._log_normalizer(*other) - normaliser
    for a, b, gradient in zip(mine, other, gradients, strict=True):
        result = result - _sum_rightmost((b - a) * gradient, len(q.event_shape))
    return result


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = pellucid.nn.functional.softplus
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones[q.probs == 0] = pellucid.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros[q.probs == 1] = pellucid.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = pellucid.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    normalisers = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalisers + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log() + pellucid.lgamma(b) - pellucid.lgamma(a) + (a - b) * pellucid.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )  # fmt: skip


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - pellucid.log1p(-q.probs) / p.probs - q.logits


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * pellucid.exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    variances = (p.scale / q.scale).pow(2)
    return 0.5 * (variances + ((p.loc - q.loc) / q.scale).pow(2) - 1 - variances.log())


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    mine, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_dets = (other.diagonal(dim1=-2, dim2=-1).log() - mine.diagonal(dim1=-2, dim2=-1).log()).sum(-1)
    batch = pellucid.broadcast_shapes(other.shape[:-2], mine.shape[:-2])
    n = p.event_shape[0]
    solved = pellucid.linalg.solve_triangular(other.expand((*batch, n, n)), mine.expand((*batch, n, n)), upper=False)
    traces = solved.pow(2).sum((-2, -1))
    return log_dets + 0.5 * (traces + _batch_mahalanobis(other, q.loc - p.loc) - n)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = pellucid.inf
    return result


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen, 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
