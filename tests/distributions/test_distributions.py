"""Distributions against PyTorch: densities, moments, gradients, samples of the same seed, divergences, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

_POSITIVE, _REAL = [0.3, 1.7, 4.0], [-1.2, 0.4, 2.5]
_CASES: list[tuple[str, dict[str, Any]]] = [
    ("Normal", {"loc": _REAL, "scale": _POSITIVE}), ("Laplace", {"loc": _REAL, "scale": _POSITIVE}),
    ("Uniform", {"low": [-1.0, 0.0, 2.0], "high": [0.5, 3.0, 9.0]}), ("Exponential", {"rate": _POSITIVE}),
    ("Gamma", {"concentration": _POSITIVE, "rate": [2.0, 0.5, 1.0]}), ("Chi2", {"df": _POSITIVE}),
    ("Beta", {"concentration1": _POSITIVE, "concentration0": [0.8, 2.0, 5.0]}),
    ("Dirichlet", {"concentration": [_POSITIVE, [1.0, 2.0, 0.7]]}), ("Bernoulli", {"probs": [0.1, 0.5, 0.9]}),
    ("Bernoulli", {"logits": _REAL}), ("Geometric", {"probs": [0.1, 0.5, 0.9]}), ("Poisson", {"rate": _POSITIVE}),
    ("Categorical", {"probs": [[0.2, 0.3, 0.5], [1.0, 2.0, 5.0]]}), ("Categorical", {"logits": [_REAL, _POSITIVE]}),
    ("MultivariateNormal", {"loc": [0.5, -1.0], "covariance_matrix": [[2.0, 0.3], [0.3, 1.0]]}),
    ("MultivariateNormal", {"loc": [0.5, -1.0], "scale_tril": [[2.0, 0.0], [0.3, 1.0]]}),
    ("MultivariateNormal", {"loc": [0.5, -1.0], "precision_matrix": [[2.0, 0.3], [0.3, 1.0]]}),
]  # fmt: skip


def _made(framework: Any, name: str, parameters: dict[str, Any]) -> tuple[Any, list[Any]]:
    given = {k: framework.tensor(v, dtype=framework.float64).requires_grad_() for k, v in parameters.items()}
    return getattr(framework.distributions, name)(**given), list(given.values())


def _facts(framework: Any, name: str, parameters: dict[str, Any], value: np.ndarray) -> dict[str, Any]:
    made, given = _made(framework, name, parameters)
    x = framework.tensor(value)
    facts: dict[str, Any] = {
        "repr": repr(made).replace("pellucid", "torch"),
        "shapes": (made.batch_shape, made.event_shape),
    }
    for what in ("mean", "mode", "variance", "stddev"):
        facts[what] = getattr(made, what).detach().numpy()
    for what, action in (
        ("log_prob", lambda: made.log_prob(x)),
        ("entropy", made.entropy),
        ("cdf", lambda: made.cdf(x)),
    ):
        try:
            found = action()
        except NotImplementedError:
            facts[what] = "not implemented"
            continue
        facts[what] = found.detach().numpy()
        if found.requires_grad and (name, what) not in (("Gamma", "cdf"), ("Chi2", "cdf")):  # no derivative in PyTorch
            gradients = framework.autograd.grad(found.sum(), given, allow_unused=True, retain_graph=True)
            facts[f"{what} gradients"] = [None if each is None else each.numpy() for each in gradients]
    return facts


@pytest.mark.parametrize("name, parameters", _CASES, ids=lambda each: each if isinstance(each, str) else "-".join(each))
def test_densities_moments_and_gradients(name: str, parameters: dict[str, Any]) -> None:
    torch.manual_seed(0)
    value = _made(torch, name, parameters)[0].sample((4,)).numpy()
    expected, found = _facts(torch, name, parameters, value), _facts(pellucid, name, parameters, value)
    assert found.keys() == expected.keys()
    for what, each in expected.items():
        if isinstance(each, np.ndarray):
            np.testing.assert_allclose(found[what], each, rtol=1e-7, atol=1e-9, err_msg=what)
        elif isinstance(each, list):
            for ours, theirs in zip(found[what], each, strict=True):
                assert (ours is None) == (theirs is None)
                if ours is not None:
                    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8, err_msg=what)
        else:
            assert found[what] == each


@pytest.mark.parametrize("name, parameters", _CASES, ids=lambda each: each if isinstance(each, str) else "-".join(each))
def test_samples_of_the_same_seed(name: str, parameters: dict[str, Any]) -> None:
    samples = []
    for framework in (torch, pellucid):
        framework.manual_seed(3)
        samples.append(_made(framework, name, parameters)[0].sample((7,)).numpy())
    np.testing.assert_allclose(samples[1], samples[0], rtol=1e-12)


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Uniform", "Exponential", "Gamma", "MultivariateNormal"])
def test_gradients_of_samples(name: str) -> None:
    parameters = dict(next(each for kind, each in _CASES if kind == name))
    found = []
    for framework in (torch, pellucid):
        framework.manual_seed(3)
        made, given = _made(framework, name, parameters)
        made.rsample((5,)).pow(2).sum().backward()
        found.append([each.grad.numpy() for each in given])
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=2e-3 if name == "Gamma" else 1e-9
        )  # PyTorch's Gamma is approximate


def test_gradients_of_beta_and_dirichlet_have_the_right_expectation() -> None:
    pellucid.manual_seed(0)
    concentration = pellucid.tensor([1.5, 3.0, 0.8], dtype=pellucid.float64, requires_grad=True)
    made = pellucid.distributions.Dirichlet(concentration)
    (estimated,) = pellucid.autograd.grad(made.rsample((20000,))[:, 0].mean(), concentration)
    (exact,) = pellucid.autograd.grad(made.mean[0], concentration)
    np.testing.assert_allclose(estimated.numpy(), exact.numpy(), atol=5e-3)


@pytest.mark.parametrize("name", sorted({name for name, _ in _CASES} - {"Chi2"}))
def test_divergences(name: str) -> None:
    cases = [each for kind, each in _CASES if kind == name]
    other = {k: (np.asarray(v) * 0.9 + (0.05 if k != "scale_tril" else 0)).tolist() for k, v in cases[0].items()}
    if name == "MultivariateNormal":
        other["covariance_matrix"] = [[1.0, 0.1], [0.1, 2.0]]
    found = []
    for framework in (torch, pellucid):
        p, q = _made(framework, name, cases[0])[0], _made(framework, name, other)[0]
        found.append(framework.distributions.kl_divergence(p, q).detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-8)


_ERRORS = [
    "D.Normal(t.tensor([0.0]), t.tensor([-1.0]))", "D.Normal(0.0, 1.0).log_prob(t.tensor([float('nan')]))",
    "D.Bernoulli(t.tensor(1.5))", "D.Bernoulli()", "D.Categorical(t.tensor(1.0))",
    "D.Exponential(1.0).log_prob(t.tensor(-1.0))",
    "D.Dirichlet(t.tensor(1.0))", "D.MultivariateNormal(t.zeros(2))", "D.Independent(D.Normal(0.0, 1.0), 1)",
    "D.Normal(t.zeros(2), t.ones(2)).log_prob(t.zeros(3))", "D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))",
    "D.Uniform(1.0, 0.0)", "D.Normal(t.zeros(2), t.ones(3))", "D.Categorical(t.tensor([0.5, -0.5]))",
]  # fmt: skip


@pytest.mark.parametrize("program", _ERRORS)
def test_errors(program: str) -> None:
    raised = []
    for framework in (torch, pellucid):
        with pytest.raises(Exception) as caught:  # noqa: B017 - the class is compared
            eval(program, {"t": framework, "D": framework.distributions})
        raised.append(caught)
    assert raised[1].type is raised[0].type
    assert str(raised[1].value)[:60] == str(raised[0].value)[:60]


def test_expand_keeps_parameters_and_values() -> None:
    for name, parameters in _CASES:
        made, _ = _made(pellucid, name, parameters)
        wide = made.expand((4, *made.batch_shape))
        value = made.sample()
        assert wide.batch_shape == (4, *made.batch_shape)
        np.testing.assert_allclose(wide.log_prob(value)[2].detach().numpy(), made.log_prob(value).detach().numpy())


def test_a_missing_distribution_says_so() -> None:
    with pytest.raises(AttributeError, match="not in Pellucid yet"):
        pellucid.distributions.Wishart  # noqa: B018
