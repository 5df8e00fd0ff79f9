"""Transforms, the constraint registry and the distributions made of them, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

Program = Callable[[Any, Any], Any]


def _t(framework: Any, values: Any) -> Any:
    return framework.tensor(values, dtype=framework.float64)


_VECTOR, _POSITIVE = [-1.3, 0.2, 0.9], [0.3, 1.2, 2.5]
_TRANSFORMS: dict[str, tuple[Program, Any]] = {
    "exp": (lambda t, D: D.ExpTransform(), _VECTOR),
    "sigmoid": (lambda t, D: D.SigmoidTransform(), _VECTOR),
    "softplus": (lambda t, D: D.SoftplusTransform(), _VECTOR),
    "tanh": (lambda t, D: D.TanhTransform(), _VECTOR),
    "power": (lambda t, D: D.PowerTransform(_t(t, -1.5)), _POSITIVE),
    "affine": (lambda t, D: D.AffineTransform(_t(t, _VECTOR), _t(t, [-2.0, 1.0, 3.0])), _VECTOR),
    "affine of vectors": (lambda t, D: D.AffineTransform(1.0, _t(t, [-2.0, 1.0, 3.0]), event_dim=1), _VECTOR),
    "affine by numbers": (lambda t, D: D.AffineTransform(1, -2), _VECTOR),
    "composed": (lambda t, D: D.ComposeTransform([D.TanhTransform(), D.AffineTransform(1.0, 2.0)]), _VECTOR),
    "independent": (lambda t, D: D.IndependentTransform(D.ExpTransform(), 1), [_VECTOR, _POSITIVE]),
    "composed dims": (
        lambda t, D: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0, event_dim=1)]),
        [_VECTOR, _POSITIVE],
    ),
    "reshape": (lambda t, D: D.ReshapeTransform((4,), (2, 2)), [[0.0, 1.0, 2.0, 3.0]]),
    "stick breaking": (lambda t, D: D.StickBreakingTransform(), [_VECTOR, _POSITIVE]),
    "corr cholesky": (lambda t, D: D.CorrCholeskyTransform(), [[0.3, -0.8, 1.1], [0.1, 0.2, 0.3]]),
    "stack": (lambda t, D: D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=0), [_VECTOR, _VECTOR]),
    "cat": (lambda t, D: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=-1, lengths=[2, 1]), _VECTOR),
    "cumulative": (lambda t, D: D.CumulativeDistributionTransform(D.Normal(_t(t, 0.0), _t(t, 1.0))), _VECTOR),
    "inverse": (lambda t, D: D.ExpTransform().inv, _POSITIVE),
}


@pytest.mark.parametrize("name", _TRANSFORMS)
def test_values_inverses_and_determinants(name: str) -> None:
    make, values = _TRANSFORMS[name]
    found = []
    for framework in (torch, pellucid):
        transform, x = make(framework, framework.distributions), _t(framework, values).requires_grad_()
        y = transform(x)
        det = transform.log_abs_det_jacobian(x, y)
        gradients = framework.autograd.grad((y.sin().sum() + det.sum()), x, allow_unused=True)
        arrays = [y.detach().numpy(), transform.inv(y).detach().numpy(), det.detach().numpy(), gradients[0].numpy()]
        facts = (tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape)), transform.bijective,
                 transform.domain.event_dim, transform.codomain.event_dim, transform.inv.inv is transform)  # fmt: skip
        found.append((arrays, facts))
    for ours, theirs in zip(found[1][0], found[0][0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert found[1][1] == found[0][1]


def test_a_cache_returns_the_very_argument() -> None:
    for framework in (torch, pellucid):
        transform = framework.distributions.ExpTransform(cache_size=1)
        x = framework.zeros(3)
        assert transform.inv(transform(x)) is x
        assert transform.with_cache(0) is not transform and transform == framework.distributions.ExpTransform()


_CONSTRAINTS = [
    "c.real", "c.positive", "c.nonnegative", "c.greater_than(1.5)", "c.less_than(2.0)", "c.interval(-1.0, 3.0)",
    "c.unit_interval", "c.half_open_interval(0.0, 2.0)", "c.simplex", "c.corr_cholesky", "c.real_vector",
    "c.independent(c.positive, 1)", "c.cat([c.positive, c.real], -1, [2, 1])", "c.lower_cholesky",
    "c.positive_definite", "c.stack([c.positive, c.real, c.real], -1)", "c.boolean", "c.dependent",
]  # fmt: skip


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("program", _CONSTRAINTS)
def test_registry(program: str, registry: str) -> None:
    found: list[Any] = []
    for framework in (torch, pellucid):
        constraint = eval(program, {"c": framework.distributions.constraints})
        matrices = program in ("c.lower_cholesky", "c.positive_definite")
        x = _t(framework, [[0.3, -0.2], [0.5, 0.1]] if matrices else _VECTOR)
        try:
            value = getattr(framework.distributions, registry)(constraint)(x)
        except NotImplementedError as error:
            found.append(str(error))
            continue
        assert constraint.check(value).all()
        found.append(value.numpy())
    if isinstance(found[0], str):
        assert found[1] == found[0]
    else:
        np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def _flow(t: Any, D: Any, a: Any, b: Any) -> Any:  # noqa: N803
    return D.TransformedDistribution(D.Normal(a, b), [D.AffineTransform(a, -b), D.SigmoidTransform()])


_MADE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "LogNormal": lambda t, D, a, b: D.LogNormal(a, b),
    "HalfNormal": lambda t, D, a, b: D.HalfNormal(b),
    "HalfCauchy": lambda t, D, a, b: D.HalfCauchy(b),
    "Cauchy": lambda t, D, a, b: D.Cauchy(a, b),
    "Gumbel": lambda t, D, a, b: D.Gumbel(a, b),
    "StudentT": lambda t, D, a, b: D.StudentT(b, a, 2.0),
    "OneHotCategorical": lambda t, D, a, b: D.OneHotCategorical(b),
    "StraightThrough": lambda t, D, a, b: D.OneHotCategoricalStraightThrough(logits=a),
    "Weibull": lambda t, D, a, b: D.Weibull(b, b + 1.0),
    "Mixture": lambda t, D, a, b: D.MixtureSameFamily(D.Categorical(b), D.Normal(a, b)),
    "Pareto": lambda t, D, a, b: D.Pareto(b, b + 2.0),
    "flow": _flow,
}


def _wide_log_prob(made: Any, value: Any) -> Any:
    return made.expand((2, *made.batch_shape)).log_prob(value)


def _outcome(action: Callable[[], Any], framework: Any, given: list[Any]) -> Any:
    try:
        found = action()
    except NotImplementedError:
        return ["not implemented"]
    arrays = [found.detach().numpy()]
    if found.requires_grad:
        gradients = framework.autograd.grad(found.sum(), given, allow_unused=True, retain_graph=True)
        arrays += [np.zeros(()) if each is None else each.numpy() for each in gradients]
    return arrays


@pytest.mark.parametrize("name", _MADE)
def test_distributions(name: str) -> None:
    torch.manual_seed(0)
    value = _MADE[name](torch, torch.distributions, _t(torch, _VECTOR), _t(torch, _POSITIVE)).sample((4,)).numpy()
    found = []
    for framework in (torch, pellucid):
        given = [_t(framework, each).requires_grad_() for each in (_VECTOR, _POSITIVE)]
        made = _MADE[name](framework, framework.distributions, *given)
        x, p = framework.tensor(value), framework.full((4, 3), 0.3, dtype=framework.float64)
        framework.manual_seed(3)
        actions: list[Callable[[], Any]] = [
            partial(made.sample, (5,)), partial(made.log_prob, x), made.entropy,
            partial(made.cdf, x), partial(made.icdf, p), partial(getattr, made, "mean"),
            partial(getattr, made, "mode"), partial(getattr, made, "variance"), partial(getattr, made, "stddev"),
            made.enumerate_support,
            partial(_wide_log_prob, made, x[0]),
        ]  # fmt: skip
        facts = (repr(made), made.batch_shape, made.event_shape, made.has_rsample, made.has_enumerate_support)
        found.append(([_outcome(action, framework, given) for action in actions], facts))
    assert found[1][1] == found[0][1]
    for number, (ours, theirs) in enumerate(zip(found[1][0], found[0][0], strict=True)):
        assert len(ours) == len(theirs), number
        for mine, other in zip(ours, theirs, strict=True):
            if isinstance(other, str):
                assert mine == other, number
            else:
                np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10, err_msg=str(number))


@pytest.mark.parametrize("name", [each for each in _MADE if each not in ("StudentT", "OneHotCategorical", "Mixture")])
def test_gradients_of_samples(name: str) -> None:
    found = []
    for framework in (torch, pellucid):
        given = [_t(framework, each).requires_grad_() for each in (_VECTOR, _POSITIVE)]
        framework.manual_seed(3)
        sample = _MADE[name](framework, framework.distributions, *given).rsample((5,))
        gradients = framework.autograd.grad(sample.sin().sum(), given, allow_unused=True)
        found.append([np.zeros(()) if each is None else each.numpy() for each in gradients])
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["LogNormal", "HalfNormal", "Cauchy", "OneHotCategorical", "flow", "StudentT"])
def test_divergences(name: str) -> None:
    found: list[Any] = []
    for framework in (torch, pellucid):
        D = framework.distributions  # noqa: N806
        a, b = _t(framework, _VECTOR), _t(framework, _POSITIVE)
        p, q = (_MADE[name](framework, D, each, spread) for each, spread in ((a, b), (a + 0.5, b.flip(0) + 0.2)))
        try:
            found.append(D.kl_divergence(p, q).numpy())
        except NotImplementedError as error:
            found.append(str(error))
    if isinstance(found[0], str):
        assert found[1] == found[0]
    else:
        np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
