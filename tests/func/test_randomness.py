"""Random numbers inside vmap: the same for every sample, or each sample's own, and PyTorch's numbers where its order of
drawing is told by the shapes.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import pellucid

from .parity import Program, same_in_both


def drawn(randomness: str) -> Program:
    def program(t: ModuleType) -> Any:
        x = t.rand(3, 20)
        functions = [
            lambda x: t.rand(20) + 0 * x,
            lambda x: t.randn(17) + 0 * x[:17],
            lambda x: t.randint(10, (20,)) + 0 * x,
            lambda x: t.randperm(5) + 0 * x[:5],
            lambda x: t.rand_like(x),
            lambda x: t.randn_like(x),
            lambda x: x.clone().uniform_(1, 2),
            lambda x: x.clone().normal_(),
            lambda x: x.clone().bernoulli_(0.3),
            lambda x: t.nn.functional.dropout(x, 0.4),
            lambda x: t.normal(0.0, 1.0, (20,)) + 0 * x,
        ]
        if randomness == "different":
            functions += [lambda x: t.bernoulli(x), lambda x: t.normal(x, 1.0), lambda x: t.multinomial(x, 2)]
        found = []
        for number, function in enumerate(functions):
            t.manual_seed(number)
            found.append(t.vmap(function, randomness=randomness)(x))
        return found

    return program


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_the_numbers_are_those_of_pytorch(randomness: str) -> None:
    same_in_both(drawn(randomness))


@pytest.mark.parametrize("function", [pellucid.rand_like, lambda x: x + pellucid.randn(4), pellucid.nn.Dropout()])
def test_same_and_different(function: Any) -> None:
    x = pellucid.ones(5, 4)
    same = pellucid.vmap(function, randomness="same")(x)
    different = pellucid.vmap(function, randomness="different")(x)
    assert bool((same == same[0]).all())
    assert not bool((different == different[0]).all())


def test_chunks_draw_the_same_numbers() -> None:
    x = pellucid.ones(5, 4)
    found = pellucid.vmap(pellucid.rand_like, randomness="same", chunk_size=2)(x)
    assert bool((found == found[0]).all())


def test_nested_levels_draw_for_each_of_their_samples() -> None:
    x = pellucid.ones(2, 3)
    inner = pellucid.vmap(lambda x: x + pellucid.rand(()), randomness="different")
    both = pellucid.vmap(inner, randomness="different")(x)
    assert len(set(both.flatten().tolist())) == 6
    shared = pellucid.vmap(inner, randomness="same")(x)
    assert bool((shared[0] == shared[1]).all())
    assert len(set(shared[0].tolist())) == 3
