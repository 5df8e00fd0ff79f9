"""Quantiles, covariances, differences, integrals, counting, searching and lists of tensors against PyTorch."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

NAN, INF = float("nan"), float("inf")


def flat(found):
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def same(function, *operands, gradients=True):
    """Compare values, dtypes and (of floating-point operands) gradients and gradients of gradients."""
    results = []
    for framework in (pellucid, torch):
        inputs = [framework.tensor(each) for each in operands]
        watched = [each.requires_grad_() for each in inputs if gradients and each.is_floating_point()]
        outputs = flat(function(framework, *inputs))
        values = [(str(each.dtype), each.detach().numpy()) for each in outputs]
        if watched and outputs[0].requires_grad:
            found = framework.autograd.grad(outputs[0].pow(2).sum(), watched, create_graph=True)
            second = framework.autograd.grad(sum([each.pow(2).sum() for each in found]), watched, allow_unused=True)
            values += [("", each.detach().numpy()) for each in (*found, *second) if each is not None]
        results.append(values)
    for (ours_kind, ours), (kind, expected) in zip(*results, strict=True):
        assert ours_kind == kind and ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-10)


DATA = np.random.default_rng(0).standard_normal((3, 4, 5))


def grids(*found):
    """Counts and edges of multi-dimensional histograms, one after the other."""
    return [each for hist, edges in found for each in (hist, *edges)]


def points(f):
    return f.tensor(DATA.reshape(-1, 3))


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim, keepdim", [(None, False), (None, True), (1, False), (-1, True)])
def test_quantiles(interpolation, dim, keepdim):
    spoilt = DATA.copy()
    spoilt[0, 1, 2] = NAN
    for q in (0.3, [0.0, 0.25, 1.0]):
        for name, data in (("quantile", DATA), ("nanquantile", spoilt)):

            def function(f, x, q=q, name=name):
                level = q if isinstance(q, float) else f.tensor(q, dtype=x.dtype)
                return getattr(f, name)(x, level, dim, keepdim, interpolation=interpolation)

            same(function, data)
    same(lambda f, x: f.quantile(x, 0.5, dim, keepdim), spoilt, gradients=False)


ROWS = {
    "cov": lambda f, x: f.cov(x[0]),
    "cov of a vector": lambda f, x: f.cov(x[0, 0]),
    "cov with weights": lambda f, x: f.cov(
        x[0], fweights=f.tensor([1, 2, 0, 3, 1]), aweights=x[1, 0].detach().abs(), correction=2
    ),
    "corrcoef": lambda f, x: f.corrcoef(x[0]),
    "diff": lambda f, x: f.diff(x, 2, 1),
    "diff with ends": lambda f, x: f.diff(x, 1, 2, prepend=x[..., :1], append=x),
    "diff of order 0": lambda f, x: f.diff(x, 0),
    "trapezoid": lambda f, x: f.trapezoid(x, dx=0.5, dim=1),
    "trapezoid at points": lambda f, x: f.trapezoid(x, x[0, 0]),
    "cumulative_trapezoid": lambda f, x: f.cumulative_trapezoid(x, x[0], dim=2),
    "logcumsumexp": lambda f, x: f.logcumsumexp(x, 1),
    "gradient": lambda f, x: f.gradient(x),
    "gradient order 2": lambda f, x: f.gradient(x, spacing=[2.0, 0.5], dim=(0, 2), edge_order=2),
    "gradient at points": lambda f, x: f.gradient(x, spacing=(f.tensor([0.0, 1.0, 3.0, 4.0]).double(),), dim=1),
    "vander": lambda f, x: f.vander(x[0, 0].detach(), 4),
    "linalg.vander": lambda f, x: f.linalg.vander(x, N=3),
    "combinations": lambda f, x: f.combinations(x[0, 0], 3),
    "combinations again": lambda f, x: f.combinations(x[0, 0], 2, True),
    "cartesian_prod": lambda f, x: f.cartesian_prod(x[0, 0], x[0, 1]),
}


@pytest.mark.parametrize("name", ROWS)
def test_functions(name):
    same(ROWS[name], DATA)


def test_running_logarithms_do_not_overflow():
    same(lambda f, x: f.logcumsumexp(x, 0), np.array([1000.0, 1000.0, -1000.0, 2000.0]))
    same(lambda f, x: f.logcumsumexp(x, 0), np.array([-INF, -INF, 1.0, INF, 2.0, NAN]), gradients=False)
    same(lambda f, x: f.logcumsumexp(x, 0), np.zeros((0, 3)))


SORTED = np.array([[1.0, 3.0, 3.0, 5.0], [0.0, 2.0, 4.0, 6.0]])
VALUES = np.array([[3.0, 0.0, NAN], [6.0, INF, -1.0]])

INTEGERS = {
    "searchsorted": lambda f: f.searchsorted(f.tensor(SORTED), f.tensor(VALUES)),
    "searchsorted right": lambda f: f.searchsorted(f.tensor(SORTED), f.tensor(VALUES), right=True, out_int32=True),
    "searchsorted side": lambda f: f.searchsorted(f.tensor(SORTED[0]), f.tensor(VALUES), side="right"),
    "searchsorted sorter": lambda f: f.searchsorted(
        f.tensor([3.0, 1.0, 2.0]), f.tensor([2.5]), sorter=f.tensor([1, 2, 0])
    ),
    "searchsorted number": lambda f: f.searchsorted(f.tensor(SORTED[0]), 3),
    "searchsorted of nothing": lambda f: f.searchsorted(f.zeros(2, 0), f.ones(2, 1)),
    "bucketize": lambda f: f.bucketize(f.tensor(VALUES), f.tensor(SORTED[0])),
    "bucketize number": lambda f: f.bucketize(3.0, f.tensor(SORTED[0]), right=True),
    "isin": lambda f: f.isin(f.tensor([[1, 2], [3, 4]]), f.tensor([4, 1])),
    "isin inverted": lambda f: f.isin(f.tensor([1.0, NAN]), f.tensor([NAN, 2.0]), invert=True),
    "isin numbers": lambda f: (f.isin(f.tensor([1, 2]), 2), f.isin(2, f.tensor([1, 2]))),
    "bincount": lambda f: f.bincount(f.tensor([0, 2, 2, 5]), minlength=3),
    "bincount weighted": lambda f: f.bincount(f.tensor([0, 2, 2], dtype=f.uint8), f.tensor([0.5, 1.0, 2.0]), 5),
    "bincount of nothing": lambda f: (
        f.bincount(f.tensor([], dtype=f.int64)),
        f.bincount(f.tensor([], dtype=f.int64), minlength=2),
    ),
    "histc": lambda f: (f.histc(f.tensor(DATA), 7), f.histc(f.tensor(DATA), 5, -1, 1), f.histc(f.ones(3), 4)),
    "histogram": lambda f: f.histogram(f.tensor(DATA), 6),
    "histogram weighted": lambda f: f.histogram(
        f.tensor(DATA), 6, range=(-1.0, 1.0), weight=f.tensor(DATA), density=True
    ),
    "histogram edges": lambda f: f.histogram(f.tensor(DATA), f.tensor([-2.0, 0.0, 0.5, 1.0]).double()),
    "histogramdd": lambda f: grids(
        f.histogramdd(points(f), [3, 4, 2]),
        f.histogramdd(points(f), 3, range=[-1.0, 1.0, -0.5, 0.5, 0.0, 2.0], density=True),
        f.histogramdd(
            points(f),
            [f.tensor([-2.0, 0.0, 0.5]).double(), f.tensor([-1.0, 1.0]).double(), f.tensor([0.0, 2.0]).double()],
        ),
        f.histogramdd(points(f)[..., :2], (2, 2), weight=points(f)[..., 2].abs()),
        f.histogramdd(f.zeros(0, 2), [2, 3]),
    ),
    "tril_indices": lambda f: (
        f.tril_indices(3, 4, 1),
        f.tril_indices(3, 2, -1),
        f.tril_indices(0, 3),
        f.tril_indices(4, 2, -2),
    ),
    "triu_indices": lambda f: (f.triu_indices(3, 4, 1), f.triu_indices(3, 2, -1), f.triu_indices(2, 3, 9)),
    "unravel_index": lambda f: f.unravel_index(f.tensor([[5, 11], [0, 23]]), (2, 3, 4)),
    "nonzero_static": lambda f: f.nonzero_static(f.tensor([[0, 1], [2, 3]]), size=4),
    "view copies": lambda f: (
        f.view_copy(f.tensor(DATA), (12, 5)),
        f.permute_copy(f.tensor(DATA), (2, 0, 1)),
        *f.unbind_copy(f.tensor(DATA)),
    ),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_counts_and_places(name):
    for ours, expected in zip(flat(INTEGERS[name](pellucid)), flat(INTEGERS[name](torch)), strict=True):
        assert str(ours.dtype) == str(expected.dtype) and tuple(ours.shape) == tuple(expected.shape)
        np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-6, atol=1e-12)


ERRORS = {
    "level": lambda f: f.quantile(f.ones(3), 2.0),
    "levels": lambda f: f.quantile(f.ones(3), f.ones(2, 2)),
    "integers": lambda f: f.quantile(f.ones(3, dtype=f.int32), 0.5),
    "nothing": lambda f: f.quantile(f.ones(0), 0.5),
    "interpolation": lambda f: f.quantile(f.ones(3), 0.5, interpolation="x"),
    "cov": lambda f: f.cov(f.ones(2, 2, 2)),
    "fweights": lambda f: f.cov(f.ones(2, 3), fweights=f.ones(3)),
    "aweights": lambda f: f.cov(f.ones(2, 3), aweights=f.ones(2)),
    "grid of a vector": lambda f: f.histogramdd(f.ones(3), [3]),
    "grid bins": lambda f: f.histogramdd(points(f), [2, 2]),
    "grid range": lambda f: f.histogramdd(points(f), [2, 2, 2], range=[0.0, 1.0]),
    "grid range the wrong way": lambda f: f.histogramdd(points(f), 2, range=[1.0, 0.0] * 3),
    "grid weights": lambda f: f.histogramdd(points(f), 2, weight=f.ones(3).double()),
    "grid of integers": lambda f: f.histogramdd(points(f).long(), 2),
    "grid of NaN": lambda f: f.histogramdd(points(f) * float("nan"), 2),
    "diff": lambda f: f.diff(f.tensor(1.0)),
    "order": lambda f: f.diff(f.ones(3), n=-1),
    "trapezoid": lambda f: f.trapezoid(f.ones(3), f.ones(2)),
    "logcumsumexp": lambda f: f.logcumsumexp(f.tensor([1, 2]), 0),
    "gradient": lambda f: f.gradient(f.ones(1)),
    "bincount floats": lambda f: f.bincount(f.ones(2)),
    "bincount negative": lambda f: f.bincount(f.tensor([-1])),
    "bincount weights": lambda f: f.bincount(f.tensor([1, 2]), f.ones(3)),
    "histc": lambda f: f.histc(f.ones(2), bins=0),
    "histc range": lambda f: f.histc(f.ones(2), min=3, max=2),
    "side": lambda f: f.searchsorted(f.ones(3), f.ones(2), side="x"),
    "opposite sides": lambda f: f.searchsorted(f.ones(3), f.ones(2), side="left", right=True),
    "batches": lambda f: f.searchsorted(f.ones(2, 3), f.ones(3, 2)),
    "boundaries": lambda f: f.bucketize(f.ones(3), f.ones(3, 2)),
    "triangle": lambda f: f.tril_indices(-2, 3),
    "combinations": lambda f: f.combinations(f.ones(2, 2)),
    "broadcast": lambda f: f.broadcast_shapes((2,), (3,)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pytorchs(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(type(expected.value)) as ours:
        ERRORS[name](pellucid)
    assert str(ours.value)[:60] == str(expected.value)[:60]


FOREACH = {
    "add": lambda f, a, b: f._foreach_add(a, b, alpha=2),
    "add a number": lambda f, a, b: f._foreach_add(a, 3.0),
    "mul numbers": lambda f, a, b: f._foreach_mul(a, [2.0, 3.0]),
    "mul a tensor": lambda f, a, b: f._foreach_mul(a, f.tensor(2.0)),
    "div": lambda f, a, b: f._foreach_div(a, b),
    "norm": lambda f, a, b: f._foreach_norm(a),
    "norm inf": lambda f, a, b: f._foreach_norm(a, INF),
    "sqrt": lambda f, a, b: f._foreach_sqrt(f._foreach_abs(a)),
    "addcmul": lambda f, a, b: f._foreach_addcmul(a, a, b, 0.5),
    "addcdiv": lambda f, a, b: f._foreach_addcdiv(a, a, b, f.tensor([0.5, 2.0])),
    "lerp": lambda f, a, b: f._foreach_lerp(a, b, 0.25),
    "maximum": lambda f, a, b: f._foreach_maximum(a, b),
    "pow": lambda f, a, b: f._foreach_pow(2.0, a),
}


@pytest.mark.parametrize("name", FOREACH)
def test_lists_of_tensors(name):
    results = []
    for f in (pellucid, torch):
        a, b = [f.tensor(DATA[0]), f.tensor(DATA[1, 0])], [f.tensor(DATA[1]), f.tensor(DATA[2, 0])]
        results.append([each.numpy() for each in FOREACH[name](f, a, b)])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_lists_of_tensors_in_place():
    results = []
    for f in (pellucid, torch):
        a, b = [f.tensor(DATA[0]), f.tensor(DATA[1, 0])], [f.tensor(DATA[1]), f.tensor(DATA[2, 0])]
        assert f._foreach_mul_(a, 0.9) is a and f._foreach_copy_(a, a) is a
        f._foreach_add_(a, b, alpha=0.1)
        f._foreach_addcmul_(a, b, b, value=0.5)
        f._foreach_lerp_(a, b, 0.3)
        f._foreach_neg_(a)
        f._foreach_zero_(b)
        results.append([each.numpy() for each in (*a, *b)])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
    for wrong in ([pellucid.ones(2)] * 3, [1.0]):
        with pytest.raises(RuntimeError, match="must have"):
            pellucid._foreach_add([pellucid.ones(2)] * 2, wrong)
    with pytest.raises(TypeError, match="tuple of Tensors"):
        pellucid._foreach_add(pellucid.ones(2), 1)
