"""One seed decides every draw; states of all generators come back together; deterministic mode."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.engine.core.determinism import determinism
from pellucid.utils import deterministic
from pellucid.utils.reproducibility import get_rng_states, isolated_rng, seed_everything, set_rng_states

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _mode_off() -> Iterator[None]:
    yield
    for library in (pellucid, torch):
        library.use_deterministic_algorithms(False)
        library.utils.deterministic.fill_uninitialized_memory = True


def draws() -> list[Any]:
    return [random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn(), pellucid.rand(3).tolist()]


def test_one_seed_decides_all_draws() -> None:
    assert seed_everything(11) == 11
    first = draws()
    seed_everything(11)
    assert draws() == first
    seed_everything(12)
    assert all(a != b for a, b in zip(draws(), first, strict=True))


def test_draws_are_those_of_the_libraries_themselves() -> None:
    seed_everything(11)
    ours = draws()
    random.seed(11)
    np.random.seed(11)
    torch.manual_seed(11)
    theirs = [random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn(), torch.rand(3).tolist()]
    assert ours == theirs


def test_a_random_seed_is_returned() -> None:
    seed = seed_everything()
    first = draws()
    assert seed_everything(seed) == seed
    assert draws() == first


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_outside_numpys_range_are_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="between 0 and 2\\*\\*32 - 1"):
        seed_everything(seed)


@pytest.mark.parametrize("seed", [1.5, "1", True])
def test_seeds_that_are_no_integers_are_refused(seed: Any) -> None:
    with pytest.raises(TypeError, match="seed_everything expects an int"):
        seed_everything(seed)


def test_states_come_back_together(tmp_path: Any) -> None:
    seed_everything(3)
    draws()
    pellucid.randn(1)  # leaves half of a Box-Muller pair in NumPy's and Python's generators too
    states = get_rng_states()
    first = draws()
    set_rng_states(states)
    assert draws() == first
    pellucid.save(states, tmp_path / "states.pt")
    draws()
    set_rng_states(pellucid.load(tmp_path / "states.pt"))
    assert draws() == first
    with pytest.raises(KeyError, match="numpy"):
        set_rng_states({"python": states["python"], "pellucid": states["pellucid"]})


def test_isolated_draws_do_not_move_the_generators() -> None:
    seed_everything(3)
    first = draws()
    seed_everything(3)
    with pytest.raises(RuntimeError), isolated_rng(5):
        draws()
        raise RuntimeError
    assert draws() == first


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_deterministic_mode_fills_new_memory(dtype: str) -> None:
    texts = []
    for library in (pellucid, torch):
        library.use_deterministic_algorithms(True)
        texts.append(repr(library.empty(3, dtype=getattr(library, dtype))))
    assert texts[0] == texts[1]
    deterministic.fill_uninitialized_memory = False
    assert not deterministic.fill_uninitialized_memory and not determinism.fill_uninitialized_memory


@pytest.mark.parametrize("mode", ["default", "warn", "error", 0, 1, 2, "other", 3, 1.5])
def test_debug_modes(mode: Any) -> None:
    found = []
    for library in (pellucid, torch):
        try:
            library.set_deterministic_debug_mode(mode)
            found.append(
                (
                    library.get_deterministic_debug_mode(),
                    library.are_deterministic_algorithms_enabled(),
                    library.is_deterministic_algorithms_warn_only_enabled(),
                )
            )
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    assert found[0] == found[1]


def test_operators_without_a_deterministic_way_can_refuse() -> None:
    determinism.refuse("scatter")
    pellucid.use_deterministic_algorithms(True)
    with pytest.raises(RuntimeError, match="scatter does not have a deterministic implementation, but you set"):
        determinism.refuse("scatter")
    pellucid.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match="scatter does not have a deterministic implementation"):
        determinism.refuse("scatter")


def test_seeding_can_switch_the_mode_on() -> None:
    seed_everything(1, deterministic=True)
    assert pellucid.are_deterministic_algorithms_enabled()
