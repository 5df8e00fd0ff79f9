"""Random state of loading: what a worker's generators start from, and the states that make a loader resumable.

A worker seeds the global generators (Python's, NumPy's, Pellucid's) as PyTorch does. Generators that the dataset holds
are copied with it, so every worker would draw the same numbers, and again in every epoch; they are set anew here.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import random
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import pellucid
from pellucid import Generator, Tensor
from pellucid.utils.data.dataset import IterableDataset

_LONGEST = 256  # longer containers hold samples, not transforms
_MOST = 20_000  # objects looked at
_LEAVES = (str, bytes, int, float, complex, type(None), np.ndarray, np.generic, Tensor, types.ModuleType, type)
_MASK32 = 0xFFFFFFFF


def numpy_seed(base_seed: int, worker_id: int) -> list[int]:
    """The four words that seed `numpy.random` in a worker: PyTorch's, which are NumPy's own SeedSequence of both."""
    sequence = np.random.SeedSequence([worker_id, base_seed & _MASK32, base_seed >> 32])
    return sequence.generate_state(4).tolist()


class WorkerRandomness:
    """All random state of one worker process: the global generators and those that the dataset holds."""

    def __init__(self, base_seed: int, worker_id: int, roots: list[Any]) -> None:
        self._base_seed = base_seed
        self._worker_id = worker_id
        self._held = list(find_generators(roots))

    def seed(self) -> None:
        """Start the streams of this worker and epoch."""
        seed = self._base_seed + self._worker_id
        pellucid.manual_seed(seed)
        random.seed(seed)
        np.random.seed(numpy_seed(self._base_seed, self._worker_id))
        for generator, orders in self._held:
            # The worker's number is left out where the generator orders a stream that the workers split between them.
            _respawn(generator, self._base_seed, 0 if orders else self._worker_id + 1)

    def state(self) -> bytes:
        """Where all streams are."""
        held = [_state_of(generator) for generator, _ in self._held]
        return pickle.dumps((random.getstate(), np.random.get_state(), _pellucid_state(), held), 5)

    def restore(self, state: bytes) -> None:
        """Go where `state()` was taken."""
        python, legacy, ours, held = pickle.loads(state)
        random.setstate(python)
        np.random.set_state(legacy)
        pellucid.set_rng_state(_bytes_tensor(ours))
        for (generator, _), value in zip(self._held, held, strict=True):
            _set_state(generator, value)


def _pellucid_state() -> bytes:
    return pellucid.get_rng_state().numpy().tobytes()


def _bytes_tensor(state: bytes) -> Tensor:
    return pellucid.from_numpy(np.frombuffer(bytearray(state), np.uint8))


def _state_of(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state().numpy().tobytes()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(_bytes_tensor(state))


def _respawn(generator: Any, base_seed: int, worker: int) -> None:
    """Set a generator by the epoch's seed, the worker and its own state: equal generators stay equal to each other."""
    digest = hashlib.blake2b(pickle.dumps(_state_of(generator), 5), digest_size=16).digest()
    own = np.frombuffer(digest, np.uint32).tolist()
    sequence = np.random.SeedSequence([base_seed & _MASK32, base_seed >> 32, worker, *own])
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(sequence).state
    elif isinstance(generator, np.random.RandomState):
        generator.seed(sequence.generate_state(4))
    else:
        low, high = sequence.generate_state(2).tolist()
        number = low | (high >> 1) << 32
        if isinstance(generator, random.Random):
            generator.seed(number)
        else:
            generator.manual_seed(number)


def find_generators(roots: list[Any]) -> Iterator[tuple[Any, bool]]:
    """(generator, whether it orders a stream) of every random generator reachable through attributes.

    A generator that an IterableDataset holds itself usually shuffles a stream of which each worker takes its part, so
    all workers must draw the same from it; every other one augments samples, and workers must differ.
    """
    seen = {id(pellucid.default_generator), id(np.random.mtrand._rand), id(getattr(random, "_inst", None))}
    pending: list[tuple[Any, Any]] = [(root, None) for root in roots]
    while pending and len(seen) < _MOST:
        value, holder = pending.pop()
        if isinstance(value, _LEAVES) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random, Generator)):
            if not isinstance(value, random.SystemRandom):
                yield value, isinstance(holder, IterableDataset)
            continue
        pending += _parts(value, holder)


def _parts(value: Any, holder: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return [(item, holder) for item in value.values()] if len(value) <= _LONGEST else []
    if isinstance(value, (list, tuple, set, frozenset)):
        return [(item, holder) for item in value] if len(value) <= _LONGEST else []
    if isinstance(value, functools.partial):
        return [(item, value) for item in (value.func, *value.args, *value.keywords.values())]
    if isinstance(value, types.MethodType):
        return [(value.__self__, holder)]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        return [(item, value) for item in cells + list(value.__defaults__ or ())]
    parts = [(item, value) for item in getattr(value, "__dict__", {}).values()]
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if isinstance(kind.__dict__.get(name), types.MemberDescriptorType) and hasattr(value, name):
                parts.append((getattr(value, name), value))
    return parts


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


class EpochRandomness:
    """The main process's random state when an epoch began, from which its order can be drawn again."""

    def __init__(self, generator: Generator | None) -> None:
        self.ours = pellucid.get_rng_state()
        self.own = None if generator is None else generator.get_state()
        self.python = random.getstate()
        self.legacy: tuple[Any, ...] = np.random.get_state()  # type: ignore[assignment]

    def state_dict(self) -> dict[str, Any]:
        """The states as tensors and plain numbers."""
        version, words, gauss = self.python
        name, keys, position, has_gauss, cached = self.legacy[:5]
        return {
            "pellucid": self.ours,
            "generator": self.own,
            "python": [version, list(words), gauss],
            "numpy": [name, [int(key) for key in keys], int(position), int(has_gauss), float(cached)],
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> EpochRandomness:
        """The inverse of `state_dict`."""
        loaded = cls.__new__(cls)
        loaded.ours, loaded.own = state["pellucid"], state["generator"]
        version, words, gauss = state["python"]
        loaded.python = (version, tuple(words), gauss)
        name, keys, position, has_gauss, cached = state["numpy"]
        loaded.legacy = (name, np.array(keys, np.uint32), position, has_gauss, cached)
        return loaded

    @contextmanager
    def replayed(self, generator: Generator | None) -> Iterator[Replay]:
        """Within, the global generators are where the epoch began; the loader's own one stays where it comes to."""
        now = EpochRandomness(None)
        replay = Replay()
        self._enter()
        if generator is not None and self.own is not None:
            generator.set_state(self.own)
        try:
            yield replay
        finally:
            if not replay.stays:
                now._enter()

    def _enter(self) -> None:
        pellucid.set_rng_state(self.ours)
        random.setstate(self.python)
        np.random.set_state(self.legacy)


class Replay:
    """A draw made again; with `stays` the global generators are not brought back afterwards."""

    stays = False
