"""Probability distributions: sampling, densities, moments, divergences (`torch.distributions`)."""

from __future__ import annotations

from pellucid.distributions import constraints, transforms
from pellucid.distributions.bernoulli import Bernoulli
from pellucid.distributions.beta import Beta
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.cauchy import Cauchy
from pellucid.distributions.chi2 import Chi2
from pellucid.distributions.constraint_registry import biject_to, transform_to
from pellucid.distributions.dirichlet import Dirichlet
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.exponential import Exponential
from pellucid.distributions.gamma import Gamma
from pellucid.distributions.geometric import Geometric
from pellucid.distributions.gumbel import Gumbel
from pellucid.distributions.half_cauchy import HalfCauchy
from pellucid.distributions.half_normal import HalfNormal
from pellucid.distributions.independent import Independent
from pellucid.distributions.kl import kl_divergence, register_kl
from pellucid.distributions.laplace import Laplace
from pellucid.distributions.log_normal import LogNormal
from pellucid.distributions.mixture_same_family import MixtureSameFamily
from pellucid.distributions.multivariate_normal import MultivariateNormal
from pellucid.distributions.normal import Normal
from pellucid.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from pellucid.distributions.pareto import Pareto
from pellucid.distributions.poisson import Poisson
from pellucid.distributions.studentT import StudentT
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from pellucid.distributions.uniform import Uniform
from pellucid.distributions.weibull import Weibull

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "ExponentialFamily", "Gamma", "Geometric", "Gumbel", "HalfCauchy",
    "HalfNormal", "Independent", "IndependentTransform", "Laplace", "LogNormal", "LowerCholeskyTransform",
    "MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "biject_to", "constraints", "identity_transform", "kl_divergence",
    "register_kl", "transform_to", "MixtureSameFamily", "Weibull", "Pareto", "transforms",
]  # fmt: skip
_MISSING = frozenset((
    "Binomial", "ContinuousBernoulli", "FisherSnedecor", "GeneralizedPareto", "InverseGamma", "Kumaraswamy",
    "LKJCholesky", "LogisticNormal", "LowRankMultivariateNormal", "Multinomial",
    "NegativeBinomial", "RelaxedBernoulli", "RelaxedOneHotCategorical", "VonMises",     "Wishart",
))  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _MISSING:
        raise AttributeError(
            f"torch.distributions.{name} is not in Pellucid yet; torch.distributions.__all__ lists what is, "
            "and a subclass of Distribution with sample and log_prob of your own works with all of them."
        )
    raise AttributeError(f"module 'pellucid.distributions' has no attribute '{name}'")
