"""Masked reductions against PyTorch: values, dtypes, gradients, errors."""

import inspect
import math

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

REDUCTIONS = ["sum", "prod", "mean", "amax", "amin", "argmax", "argmin", "logsumexp", "median", "norm", "var", "std"]
ALONG = ["cumsum", "cumprod", "softmax", "log_softmax", "softmin"]
random = np.random.default_rng(0)
DATA = random.standard_normal((3, 4, 5))
MASK = random.random((3, 4, 5)) < 0.6
MASK[1, 2] = False


def both(function):
    expected, found = function(torch), function(pellucid)
    assert str(found.dtype) == str(expected.dtype)
    torch.testing.assert_close(torch.from_numpy(found.detach().numpy()), expected.detach(), equal_nan=True)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(name, dim, keepdim):
    if name in ("argmax", "argmin", "median") and not isinstance(dim, int):
        pytest.skip("takes one dimension")
    for mask in (None, MASK, MASK[0], np.zeros_like(MASK)):
        for kind in (np.float64, np.float32):

            def function(f, mask=mask, kind=kind):
                given = None if mask is None else f.from_numpy(mask)
                return getattr(f.masked, name)(f.from_numpy(DATA.astype(kind)), dim=dim, keepdim=keepdim, mask=given)

            both(function)


@pytest.mark.parametrize("name", [*REDUCTIONS, *ALONG])
def test_types(name):
    for kind, asked in ((np.int32, None), (np.int64, "float64"), (np.float32, "float64"), (np.uint8, None)):

        def function(f, kind=kind, asked=asked):
            dtype = None if asked is None else getattr(f, asked)
            source = f.from_numpy((DATA[0] * 3).astype(kind))
            return getattr(f.masked, name)(source, dim=1, dtype=dtype, mask=f.from_numpy(MASK[2]))

        try:
            function(torch)
        except Exception as error:
            with pytest.raises(type(error)):
                function(pellucid)
        else:
            both(function)


@pytest.mark.parametrize("name", ALONG)
def test_functions_along_a_dimension(name):
    for mask in (None, MASK, MASK[0], MASK[:, :, :1]):
        for dim in (0, -1):

            def function(f, mask=mask, dim=dim):
                given = None if mask is None else f.from_numpy(mask)
                return getattr(f.masked, name)(f.from_numpy(DATA), dim, mask=given)

            both(function)


@pytest.mark.parametrize("order", [2.0, 1, 0, 3.5, math.inf, -math.inf])
def test_norms_and_normalisation(order):
    both(lambda f: f.masked.norm(f.from_numpy(DATA), order, 1, mask=f.from_numpy(MASK)))
    both(lambda f: f.masked.normalize(f.from_numpy(DATA), order, 1, mask=f.from_numpy(MASK)))


def test_variances():
    for settings in ({"unbiased": False}, {"unbiased": True}, {"correction": 0}, {"correction": 2.5}):
        both(lambda f, s=settings: f.masked.var(f.from_numpy(DATA), 1, mask=f.from_numpy(MASK), **s))
    both(lambda f: f.masked.std(f.from_numpy(DATA), 1, False, mask=f.from_numpy(MASK)))
    both(lambda f: f.masked.var(f.from_numpy(DATA + 1j), 1, mask=f.from_numpy(MASK)))


def test_logaddexp():
    both(lambda f: f.masked.logaddexp(f.from_numpy(DATA), f.from_numpy(DATA[::-1].copy())))
    both(
        lambda f: f.masked.logaddexp(
            f.from_numpy(DATA),
            f.from_numpy(DATA[::-1].copy()),
            input_mask=f.from_numpy(MASK),
            other_mask=f.from_numpy(~MASK),
        )
    )


DIFFERENTIABLE = [name for name in [*REDUCTIONS, *ALONG] if not name.startswith("arg")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_reach_what_the_mask_keeps(name):
    def gradient(f):
        source = f.from_numpy(DATA.copy()).requires_grad_()
        result = getattr(f.masked, name)(source, dim=2, mask=f.from_numpy(MASK))
        weights = f.from_numpy(np.linspace(1, 2, result.numel()).reshape(tuple(result.shape)))
        f.where(f.isfinite(result), result * weights, 0.0).sum().backward()
        return source.grad.numpy()

    found, expected = gradient(pellucid), gradient(torch)
    assert np.isnan(found).sum() <= np.isnan(expected).sum()
    regular = ~np.isnan(expected)
    assert np.allclose(found[regular], expected[regular])


ERRORS = {
    "mask of more dimensions": lambda f: f.masked.sum(f.ones(2), mask=f.ones(2, 2, dtype=f.bool)),
    "mask of another size": lambda f: f.masked.sum(f.ones(2, 3), 1, mask=f.ones(2, 2, dtype=f.bool)),
    "twice the same dimension": lambda f: f.masked.sum(f.ones(2, 2), (0, 0)),
    "no such dimension": lambda f: f.masked.sum(f.ones(2), 3),
    "mean of whole numbers": lambda f: f.masked.mean(f.ones(2, dtype=f.int64)),
    "maximum of bools": lambda f: f.masked.amax(f.ones(2, dtype=f.bool), mask=f.ones(2, dtype=f.bool)),
    "maximum of nothing": lambda f: f.masked.amax(f.ones(0, 3), 0),
    "whole numbers without a median": lambda f: f.masked.median(
        f.ones(2, dtype=f.int64), mask=f.zeros(2, dtype=f.bool)
    ),
    "both corrections": lambda f: f.masked.var(f.ones(3), 0, True, correction=1),
    "argmax of two": lambda f: f.masked.argmax(f.ones(2, 2), (0, 1)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(expected.type) as found:
        ERRORS[name](pellucid)
    assert str(found.value).startswith(str(expected.value)[:40])


def test_names_and_signatures():
    for name in pellucid.masked.__all__:
        expected = inspect.signature(getattr(torch.masked, name)).parameters
        found = inspect.signature(getattr(pellucid.masked, name)).parameters
        assert [(each.name, each.kind) for each in found.values()] == [(e.name, e.kind) for e in expected.values()]


def test_complex_logsumexp():
    both(lambda f: f.masked.logsumexp(f.from_numpy(DATA + 0.5j), 1, mask=f.from_numpy(MASK)))


def test_zero_dimensional_and_empty():
    both(lambda f: f.masked.sum(f.tensor(3.0), mask=f.tensor(False)))
    both(lambda f: f.masked.mean(f.ones(0, 3), 0, mask=f.ones(0, 3, dtype=f.bool)))
    both(lambda f: f.masked.prod(f.ones(0, 3), 0))
    both(lambda f: f.masked.logsumexp(f.ones(2, 0), 1))
