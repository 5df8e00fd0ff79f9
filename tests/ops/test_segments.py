"""Reductions of runs of rows against PyTorch: values, gradients, errors."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
KINDS = ["sum", "mean", "max", "min", "prod"]
random = np.random.default_rng(0)


def rows(axis):
    """Data of 6 rows along an axis, and lengths of three runs that sum to 6."""
    data = random.integers(-2, 3, (2, 6, 3) if axis else (6, 3)).astype(np.float64)
    return data, np.array([[2, 0, 4], [1, 3, 2]] if axis else [2, 0, 4])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("initial", [None, 1.5, 0])
def test_values_and_gradients(kind, axis, initial):
    data, lengths = rows(axis)
    offsets = np.concatenate([np.zeros_like(lengths[..., :1]), lengths.cumsum(-1)], -1)

    def results(f):
        out = []
        for form in ({"lengths": f.from_numpy(lengths)}, {"offsets": f.from_numpy(offsets)}):
            x = f.from_numpy(data.copy()).requires_grad_()
            y = f.segment_reduce(x, kind, axis=axis, initial=initial, **form)
            (y * f.arange(1.0, y.numel() + 1).reshape(y.shape)).nan_to_num(0, 0, 0).sum().backward()
            out += [y.detach().numpy(), x.grad.numpy()]
        return out

    for found, expected in zip(results(pellucid), results(torch), strict=True):
        np.testing.assert_allclose(found, expected)


def test_nan_wins_and_unsafe_leaves_rows_out():
    def results(f):
        data = f.tensor([1.0, float("nan"), 2.0, 5.0])
        return [f.segment_reduce(data, kind, lengths=f.tensor([2, 1]), unsafe=True).tolist() for kind in KINDS]

    assert str(results(pellucid)) == str(results(torch))


ERRORS = {
    "nothing": lambda f: f.segment_reduce(f.ones(2), "sum"),
    "indices": lambda f: f.segment_reduce(f.ones(2), "sum", indices=f.tensor([2])),
    "unknown": lambda f: f.segment_reduce(f.ones(2), "other", lengths=f.tensor([2])),
    "whole numbers": lambda f: f.segment_reduce(f.ones(2, dtype=f.int64), "sum", lengths=f.tensor([2])),
    "too few": lambda f: f.segment_reduce(f.ones(3), "sum", lengths=f.tensor([1, 1])),
    "negative": lambda f: f.segment_reduce(f.ones(2), "sum", lengths=f.tensor([3, -1])),
    "axis": lambda f: f.segment_reduce(f.ones(2, 6), "sum", lengths=f.tensor([2, 4]), axis=1),
    "no tensors": lambda f: f._chunk_cat([], 0, 2),
    "no chunks": lambda f: f._chunk_cat([f.ones(2, 2)], 0, 0),
    "dtypes": lambda f: f._chunk_cat([f.ones(2), f.ones(2).double()], 0, 1),
    "sizes": lambda f: f._chunk_cat([f.ones(2, 2), f.ones(3, 2)], 1, 1),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](torch)
    with pytest.raises(expected.type) as found:
        ERRORS[name](pellucid)
    assert str(found.value).startswith(str(expected.value)[:30])


def test_chunks_side_by_side():
    for dim, chunks in ((0, 2), (1, 4), (-1, 3)):

        def joined(f, dim=dim, chunks=chunks):
            return f._chunk_cat([f.arange(12.0).reshape(2, 6), f.arange(6.0).reshape(2, 3)], dim, chunks).tolist()

        assert joined(pellucid) == joined(torch)
