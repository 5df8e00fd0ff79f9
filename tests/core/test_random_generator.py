"""Seeding, states and sharing of the generator, against PyTorch's."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pellucid.engine.core import random as streams
from pellucid.engine.core import random_generator

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("seed", [0, 1, 5489, 2**31, 2**32, 2**63, 2**64 - 1, -1, -(2**63)])
def test_seeding_gives_pytorchs_state_and_initial_seed(seed):
    mine, reference = streams.Generator().manual_seed(seed), torch.Generator()
    reference.manual_seed(seed)
    assert mine.initial_seed() == reference.initial_seed()
    assert np.array_equal(mine.get_state(), reference.get_state().numpy())


def test_a_new_generator_has_pytorchs_default_seed():
    assert streams.Generator().initial_seed() == torch.Generator().initial_seed()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 3.0, "a", None, True])
def test_seeds_that_pytorch_refuses(seed):
    with pytest.raises((RuntimeError, ValueError)) as theirs:
        torch.Generator().manual_seed(seed)
    with pytest.raises(type(theirs.value)) as ours:
        streams.Generator().manual_seed(seed)
    assert str(theirs.value) in str(ours.value)


def test_seed_is_reported_and_changes():
    generator = streams.Generator()
    first, second = generator.seed(), generator.seed()
    assert first != second and generator.initial_seed() == second
    assert np.array_equal(generator.get_state(), streams.Generator(second).get_state())


@pytest.mark.parametrize("drawn", [0, 1, 2, 623, 624, 625, 1248, 5000])
def test_states_continue_in_the_other_library(drawn):
    reference, mine = torch.Generator().manual_seed(3), streams.Generator(3)
    torch.empty(drawn, dtype=torch.int32).random_(generator=reference)
    streams.integers(mine, (drawn,), np.dtype("int32"))
    torch.randn(3, generator=reference)  # leaves half a pair in the state
    streams.normal(mine, (3,), np.dtype("float32"))

    from_torch = streams.Generator(99).set_state(reference.get_state().numpy())
    to_torch = torch.Generator()
    to_torch.set_state(torch.from_numpy(mine.get_state()))
    for count in (1, 700, 2):
        ours = streams.normal(from_torch, (count,), np.dtype("float32"))
        assert ours.tobytes() == torch.randn(count, generator=to_torch).numpy().tobytes()
    assert np.array_equal(from_torch.get_state(), to_torch.get_state().numpy())


def test_the_float_normal_of_a_state_is_kept():
    state = streams.Generator(1).get_state()
    state[5048:5052] = np.frombuffer(np.float32(0.25).tobytes(), np.uint8)
    state[5052] = 1
    reference = torch.Generator()
    reference.set_state(torch.from_numpy(state.copy()))
    assert np.array_equal(streams.Generator().set_state(state).get_state(), reference.get_state().numpy())


def test_states_that_are_none_are_refused():
    generator = streams.Generator()
    before = generator.get_state()
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        generator.set_state(before.astype(np.float32))
    with pytest.raises(RuntimeError, match="Expected a CPUGeneratorImplState of size 5056"):
        generator.set_state(before[:-1])
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        generator.set_state(np.zeros(5056, np.uint8))
    assert np.array_equal(generator.get_state(), before)


def test_a_clone_is_equal_and_independent():
    generator = streams.Generator(5)
    streams.normal(generator, (7,), np.dtype("float64"))
    clone = generator.clone_state()
    assert np.array_equal(clone.get_state(), generator.get_state())
    expected = streams.normal(generator, (20,), np.dtype("float32"))
    assert np.array_equal(streams.normal(clone, (20,), np.dtype("float32")), expected)


def test_threads_share_the_draws_without_losing_or_doubling_any():
    shared, alone = streams.Generator(11), streams.Generator(11)
    parts: list[np.ndarray] = []

    def draw() -> None:
        for _ in range(20):
            parts.append(streams.integers(shared, (997,), np.dtype("int32")))

    workers = [threading.Thread(target=draw) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expected = streams.integers(alone, (4 * 20 * 997,), np.dtype("int32")).reshape(-1, 997)
    assert {part.tobytes() for part in parts} == {row.tobytes() for row in expected}


def test_drawing_ahead_takes_back_what_was_not_used():
    generator, plain = streams.Generator(6), streams.Generator(6)
    with random_generator.DrawAhead(generator) as draws:
        values = [draws.uniform() for _ in range(777)]
    assert values == streams.uniform(plain, (777,), np.dtype("float64")).tolist()
    assert np.array_equal(generator.get_state(), plain.get_state())
    with pytest.raises(ZeroDivisionError), random_generator.DrawAhead(generator) as draws:
        draws.uniform()
        raise ZeroDivisionError
    streams.uniform(plain, (1,), np.dtype("float64"))
    assert np.array_equal(generator.get_state(), plain.get_state())  # and the lock is free again
