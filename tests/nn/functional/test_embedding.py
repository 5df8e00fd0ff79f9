"""Look-ups in tables against PyTorch: padding, frequencies, renormalised rows, bags of every kind, errors."""

from __future__ import annotations

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array, torch

INDEX = np.array([[1, 4, 2], [4, 0, 4]])


@pytest.mark.parametrize("padding", [None, 4, -2])
@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_embedding(padding, by_frequency, kind):
    def call(f, w):
        return f.nn.functional.embedding(f.from_numpy(INDEX.astype(kind)), w, padding, scale_grad_by_freq=by_frequency)

    assert_same_function(call, random_array(5, 3), second=not by_frequency)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_embedding_of_one_and_of_none(shape):
    index = np.zeros(shape, np.int64)
    assert_same_function(
        lambda f, w: f.nn.functional.embedding(f.from_numpy(index.copy()), w),
        random_array(5, 3),
        second=not shape,
        strides=False,
    )


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_rows_are_renormalised_in_place(norm):
    found = []
    for f in (torch, pellucid):
        table = f.from_numpy(random_array(5, 3))
        y = f.nn.functional.embedding(f.from_numpy(INDEX.copy()), table, max_norm=0.7, norm_type=norm)
        found.append(
            (
                y.numpy(),
                table.numpy(),
                f.embedding_renorm_(f.from_numpy(random_array(5, 3)), f.tensor([1]), 0.5, norm).numpy(),
            )
        )
    for theirs, mine in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 4])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("offsets", [None, [0, 2, 2, 6], [0, 0, 6]], ids=str)
def test_bags(mode, padding, last, offsets):
    def call(f, w):
        index = f.from_numpy(INDEX.copy() if offsets is None else INDEX.reshape(-1).copy())
        starts = None if offsets is None else f.tensor(offsets)
        return f.nn.functional.embedding_bag(index, w, starts, mode=mode, padding_idx=padding, include_last_offset=last)

    assert_same_function(call, random_array(5, 3), second=False)


@pytest.mark.parametrize("padding", [None, 4])
@pytest.mark.parametrize("offsets", [None, [0, 2, 2, 5]], ids=str)
def test_bags_of_weighted_samples(padding, offsets):
    index = INDEX if offsets is None else INDEX.reshape(-1)

    def call(f, w, s):
        starts = None if offsets is None else f.tensor(offsets)
        return f.nn.functional.embedding_bag(
            f.from_numpy(index.copy()), w, starts, mode="sum", per_sample_weights=s, padding_idx=padding
        )

    assert_same_function(call, random_array(5, 3), random_array(*index.shape, seed=2), second=False)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_scaled_by_frequency(mode):
    call = lambda f, w: f.nn.functional.embedding_bag(f.from_numpy(INDEX.copy()), w, mode=mode, scale_grad_by_freq=True)  # noqa: E731
    assert_same_function(call, random_array(5, 3), second=False)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_of_the_top_namespace(mode):
    theirs, mine = (
        f.embedding_bag(
            f.from_numpy(random_array(5, 3)),
            f.from_numpy(INDEX.reshape(-1).copy()),
            f.tensor([0, 2, 2, 5]),
            False,
            mode,
        )
        for f in (torch, pellucid)
    )
    np.testing.assert_allclose(mine[0].numpy(), theirs[0].numpy())
    assert mine[1].tolist() == theirs[1].tolist() or not mode
    if mode == 2:
        assert [row for row in mine[3].tolist() if -1 not in row] == [theirs[3].tolist()[i] for i in (0, 2, 3)]
    y = pellucid.embedding(pellucid.from_numpy(random_array(5, 3)), pellucid.tensor([2]))
    np.testing.assert_allclose(y.numpy(), random_array(5, 3)[2:3])


def test_second_gradients_of_bags_exist():
    w, s = (pellucid.from_numpy(random_array(*shape)).requires_grad_() for shape in ((5, 3), (6,)))
    index, offsets = pellucid.tensor(INDEX.reshape(-1).tolist()), pellucid.tensor([0, 2, 2, 5])
    call = lambda w, s: pellucid.nn.functional.embedding_bag(index, w, offsets, mode="sum", per_sample_weights=s)  # noqa: E731
    assert pellucid.autograd.gradcheck(call, (w, s)) and pellucid.autograd.gradgradcheck(call, (w, s))
    largest = lambda w: pellucid.nn.functional.embedding_bag(index, w, offsets, mode="max")  # noqa: E731
    assert pellucid.autograd.gradcheck(largest, (w,))


def test_one_hot():
    for f in (torch, pellucid):
        assert f.nn.functional.one_hot(f.tensor([[0, 2]]), 4).tolist() == [[[1, 0, 0, 0], [0, 0, 1, 0]]]


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda f: f.nn.functional.embedding(f.tensor([5]), f.ones(5, 2)), "index out of range in self"),
        (lambda f: f.nn.functional.embedding(f.tensor([-1]), f.ones(5, 2)), "index out of range in self"),
        (
            lambda f: f.nn.functional.embedding(f.tensor([1.0]), f.ones(5, 2)),
            "Long, Int; but got torch.FloatTensor instead",
        ),
        (lambda f: f.nn.functional.embedding(f.tensor([1]), f.ones(5)), "'weight' must be 2-D"),
        (
            lambda f: f.nn.functional.embedding(f.tensor([1]), f.ones(5, 2), 7),
            "Padding_idx must be within num_embeddings",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([1]), f.ones(5, 2)),
            "offsets has to be a 1D Tensor but got None",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([[1]]), f.ones(5, 2), f.tensor([0])),
            "if input is 2D, then offsets has to be None",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([[[1]]]), f.ones(5, 2)),
            "input has to be 1D or 2D Tensor, but got Tensor of dimension 3",
        ),
        (lambda f: f.nn.functional.embedding_bag(f.tensor([1]), f.ones(5, 2), f.tensor([1])), "offsets[0] has to be 0"),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([1]), f.ones(5, 2), f.tensor([0, 4])),
            "offsets[-1] can not be greater than input's length",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([1]), f.ones(5, 2), f.tensor([0]), mode="x"),
            "mode has to be one of sum, mean or max",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([[1]]), f.ones(5, 2), per_sample_weights=f.ones(1, 1)),
            "only supported for mode='sum'",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([[7]]), f.ones(5, 2)),
            "which is not in the valid range [0, 5)",
        ),
        (
            lambda f: f.nn.functional.embedding_bag(f.tensor([[1]]), f.ones(5, 2), padding_idx=9),
            "padding_idx must be within the number of embeddings",
        ),
    ],
)
def test_errors(call, phrase):
    assert_same_error(call, phrase)
