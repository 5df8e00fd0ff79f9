"""Seeds and states of generators are PyTorch's, byte for byte, and can be exchanged with it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
LIBRARIES = [pellucid, torch]


def state(owner: Any) -> bytes:
    found = owner.get_rng_state() if hasattr(owner, "get_rng_state") else owner.get_state()
    return np.asarray(found).tobytes()


@pytest.mark.parametrize("seed", [0, 1, 123456789, 2**32, 2**63, 2**64 - 1, -1, -(2**63)])
def test_a_seed_gives_torchs_state(seed: int) -> None:
    for library in LIBRARIES:
        library.manual_seed(seed)
    assert pellucid.initial_seed() == torch.initial_seed()
    assert state(pellucid) == state(torch)
    ours, theirs = [library.Generator().manual_seed(seed) for library in LIBRARIES]
    assert ours.initial_seed() == theirs.initial_seed()
    assert state(ours) == state(theirs)


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, "3", True, None, "x"])
def test_other_seeds_are_treated_as_in_torch(seed: Any) -> None:
    found: list[list[str]] = []
    for library in LIBRARIES:
        texts = []
        for call in (library.manual_seed, library.Generator().manual_seed):
            try:
                texts.append(str(call(seed).initial_seed()))
            except Exception as error:
                texts.append(type(error).__name__ + str(error)[:30])
        found.append(texts)
    assert found[0] == found[1]


def test_states_are_exchanged_with_torch() -> None:
    torch.manual_seed(4)
    torch.rand(10)
    torch.randn(1)
    pellucid.set_rng_state(pellucid.from_numpy(torch.get_rng_state().numpy()))
    assert state(pellucid) == state(torch)
    assert pellucid.rand(20).tolist() == torch.rand(20).tolist()
    torch.set_rng_state(torch.from_numpy(pellucid.get_rng_state().numpy()))
    assert pellucid.randn(33).tolist() == torch.randn(33).tolist()


def test_bad_states_are_refused() -> None:
    for library in LIBRARIES:
        with pytest.raises(RuntimeError, match="Expected a CPUGeneratorImplState of size 5056"):
            library.set_rng_state(library.zeros(3, dtype=library.uint8))
        with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
            library.set_rng_state(library.zeros(5056))
        with pytest.raises(TypeError, match="expected a torch.ByteTensor, but got int"):
            library.set_rng_state(3)


def test_seed_draws_a_seed() -> None:
    for library in LIBRARIES:
        assert library.seed() == library.initial_seed()
        assert library.seed() != library.seed()


def test_generators_are_independent_and_can_be_copied() -> None:
    for library in LIBRARIES:
        generator = library.Generator()
        assert generator.initial_seed() == 67280421310721
        assert str(generator.device) == "cpu"
        generator.manual_seed(5)
        library.rand(3, generator=generator)
        for twin in (pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator), generator.clone_state()):
            assert state(twin) == state(generator)
            library.rand(1, generator=twin)
            assert state(twin) != state(generator)
    with pytest.raises(RuntimeError):
        pellucid.Generator("cuda")


def test_the_default_generator_is_one_object() -> None:
    for library in LIBRARIES:
        assert library.random.default_generator is library.default_generator
        assert library.manual_seed(9) is library.default_generator
        library.default_generator.manual_seed(10)
        first = library.rand(2).tolist()
        library.manual_seed(10)
        assert library.rand(2).tolist() == first


def test_fork_rng() -> None:
    for library in LIBRARIES:
        library.manual_seed(1)
        before = state(library)
        with pytest.raises(KeyError), library.random.fork_rng():
            library.rand(3)
            raise KeyError
        assert state(library) == before
        with library.random.fork_rng(devices=[], enabled=False):
            library.rand(3)
        assert state(library) != before
    with pytest.raises(RuntimeError, match="no accelerator"), pellucid.random.fork_rng(devices=[0]):
        pass
