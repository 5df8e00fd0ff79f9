"""One seed for all generators, and their states together: Python's, NumPy's and Pellucid's.

Workers of a `DataLoader` start from a number that the main process draws, so that one seed decides theirs too; what
remains of chance is the order in which other processes and threads finish.
"""

from __future__ import annotations

import contextlib
import random
import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np

import pellucid
from pellucid.utils.deterministic import use_deterministic_algorithms


def seed_everything(seed: int | None = None, *, deterministic: bool = False) -> int:
    """Start Python's, NumPy's and Pellucid's generators at one seed (a random one when None), and return it.

    The seed lies between 0 and 2**32 - 1. `deterministic` also switches on `use_deterministic_algorithms`. DataLoader
    workers follow by themselves.

    >>> import pellucid as torch, random
    >>> from pellucid.utils.reproducibility import seed_everything
    >>> _ = seed_everything(1); first = random.random(), torch.initial_seed()
    >>> _ = seed_everything(1); first == (random.random(), torch.initial_seed())
    True
    """
    if seed is None:
        seed = secrets.randbits(32)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed_everything expects an int or None, but got {type(seed).__name__}")
    seed = int(seed)
    if not 0 <= seed < 2**32:
        raise ValueError(f"the seed must be between 0 and 2**32 - 1, which NumPy's generator takes, but got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    pellucid.manual_seed(seed)
    if deterministic:
        use_deterministic_algorithms(True)
    return seed


def get_rng_states() -> dict[str, Any]:
    """Where the three generators are, in plain values and tensors: `save` writes it and safe `load` reads it.

    >>> from pellucid.utils.reproducibility import get_rng_states, set_rng_states
    >>> import random
    >>> states = get_rng_states(); first = random.random()
    >>> set_rng_states(states); first == random.random()
    True
    """
    version, words, next_gauss = random.getstate()
    name, key, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "python": {"version": version, "words": list(words), "next_gauss": next_gauss},
        "numpy": {
            "name": name,
            "key": [int(word) for word in key],
            "position": int(position),
            "has_gauss": int(has_gauss),
            "cached_gaussian": float(cached),
        },
        "pellucid": pellucid.get_rng_state(),
    }


def set_rng_states(states: dict[str, Any]) -> None:
    """Let the three generators continue from where `get_rng_states` found them.

    >>> from pellucid.utils.reproducibility import get_rng_states, set_rng_states
    >>> set_rng_states(get_rng_states())
    """
    missing = {"python", "numpy", "pellucid"} - set(states)
    if missing:
        raise KeyError(f"these states lack {sorted(missing)}; pass what get_rng_states() returned")
    python, array = states["python"], states["numpy"]
    random.setstate((python["version"], tuple(python["words"]), python["next_gauss"]))
    key = np.array(array["key"], np.uint32)
    np.random.set_state((array["name"], key, array["position"], array["has_gauss"], array["cached_gaussian"]))
    pellucid.set_rng_state(states["pellucid"])


@contextlib.contextmanager
def isolated_rng(seed: int | None = None) -> Iterator[None]:
    """Draw inside without moving the three generators outside; with a seed, start there.

    >>> import random
    >>> from pellucid.utils.reproducibility import isolated_rng, seed_everything
    >>> _ = seed_everything(3); first = random.random()
    >>> _ = seed_everything(3)
    >>> with isolated_rng(0):
    ...     _ = random.random()
    >>> first == random.random()
    True
    """
    states = get_rng_states()
    try:
        if seed is not None:
            seed_everything(seed)
        yield
    finally:
        set_rng_states(states)
