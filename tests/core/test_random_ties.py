"""The order of equal keys, against PyTorch's topk."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from pellucid.engine.core import random_ties

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("length", (1, 2, 3, 4, 5, 16, 17, 18, 40, 300, 3000))
def test_ties_follow_pytorchs_selection(length):
    source = np.random.default_rng(length)
    for distinct in (1, 2, 7, 1000):
        values = source.integers(0, distinct, length).astype(np.float32)
        for count in {1, min(2, length), length // 64 or 1, length // 2 or 1, length}:
            expected = torch.topk(torch.from_numpy(values), count).indices.numpy()
            assert np.array_equal(random_ties.smallest_first(-values, count), expected), (distinct, count)


def test_distinct_keys_are_sorted():
    keys = np.random.default_rng(0).permutation(100).astype(np.float64)
    assert np.array_equal(random_ties.smallest_first(keys, 10), np.argsort(keys)[:10])


@functools.total_ordering
class Adversary:
    """A key that is decided while it is compared, so that every pivot turns out to be nearly the smallest.

    M. D. McIlroy (1999), "A killer adversary for quicksort".
    """

    frozen = 0
    candidate: Adversary | None = None

    def __init__(self) -> None:
        self.value: int | None = None

    def __eq__(self, other: object) -> bool:
        return self is other

    def __lt__(self, other: Adversary) -> bool:
        cls = type(self)
        if self.value is None and other.value is None:
            (self if self is cls.candidate else other).freeze()
        if self.value is None:
            cls.candidate = self
        elif other.value is None:
            cls.candidate = other
        large = 10**9
        return (large if self.value is None else self.value) < (large if other.value is None else other.value)

    def freeze(self) -> None:
        cls = type(self)
        self.value = cls.frozen
        cls.frozen += 1


@pytest.mark.parametrize("method", ("sort", "nth_element"))
def test_selection_survives_its_worst_case(method, monkeypatch):
    """Keys made against the median of three reach the depth limit, where the selection turns into a heap sort."""
    length, Adversary.frozen, Adversary.candidate = 1000, 0, None
    adversaries = [Adversary() for _ in range(length)]
    keys = np.empty(length, object)
    keys[:] = adversaries
    selection = random_ties._Selection(keys)
    if method == "sort":
        selection.sort(0, length)
    else:
        selection.nth_element(length - 2)
    values = np.array([length if a.value is None else a.value for a in adversaries], np.float32)

    heaps = []
    original = random_ties._Selection._heap_select
    monkeypatch.setattr(
        random_ties._Selection, "_heap_select", lambda self, *range_: (heaps.append(range_), original(self, *range_))
    )
    for coarse in (values, np.floor(values / 2), np.floor(values / 3)):  # ties, without which any sort would do
        for count in (length - 1, length):
            expected = torch.topk(torch.from_numpy(-coarse), count).indices.numpy()
            assert np.array_equal(random_ties.smallest_first(coarse, count), expected)
    assert heaps
