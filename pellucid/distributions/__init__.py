"""Probability distributions: sampling, densities, moments, divergences (`torch.distributions`)."""

from __future__ import annotations

from pellucid.distributions import constraints
from pellucid.distributions.bernoulli import Bernoulli
from pellucid.distributions.beta import Beta
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.chi2 import Chi2
from pellucid.distributions.dirichlet import Dirichlet
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.exp_family import ExponentialFamily
from pellucid.distributions.exponential import Exponential
from pellucid.distributions.gamma import Gamma
from pellucid.distributions.geometric import Geometric
from pellucid.distributions.independent import Independent
from pellucid.distributions.kl import kl_divergence, register_kl
from pellucid.distributions.laplace import Laplace
from pellucid.distributions.multivariate_normal import MultivariateNormal
from pellucid.distributions.normal import Normal
from pellucid.distributions.poisson import Poisson
from pellucid.distributions.uniform import Uniform

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Chi2", "Dirichlet", "Distribution", "Exponential", "ExponentialFamily",
    "Gamma", "Geometric", "Independent", "Laplace", "MultivariateNormal", "Normal", "Poisson", "Uniform", "constraints",
    "kl_divergence", "register_kl",
]  # fmt: skip
_MISSING = frozenset((
    "AbsTransform", "AffineTransform", "Binomial", "CatTransform", "Cauchy", "ComposeTransform", "ContinuousBernoulli",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform", "FisherSnedecor", "GeneralizedPareto",
    "Gumbel", "HalfCauchy", "HalfNormal", "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily",
    "Multinomial", "NegativeBinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto",
    "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform",
    "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "VonMises", "Weibull", "Wishart", "biject_to",
    "constraint_registry", "identity_transform", "transform_to", "transforms",
))  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _MISSING:
        raise AttributeError(
            f"torch.distributions.{name} is not in Pellucid yet; there are {', '.join(__all__[:16])}, and a subclass "
            "of Distribution with sample and log_prob of your own works with all of them."
        )
    raise AttributeError(f"module 'pellucid.distributions' has no attribute '{name}'")
