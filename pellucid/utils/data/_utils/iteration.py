"""Iterators over a loader: what they share, the one that reads in this process, the position that can be resumed."""

from __future__ import annotations

import itertools
import warnings
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import pellucid
from pellucid.utils.data._utils import pin_memory
from pellucid.utils.data._utils.fetch import _BaseDatasetFetcher, _IterableDatasetFetcher
from pellucid.utils.data._utils.randomness import EpochRandomness
from pellucid.utils.data._utils.worker import ITERABLE, Job

if TYPE_CHECKING:
    from pellucid.utils.data.dataloader import DataLoader

_STATEFUL = ("sampler", "batch_sampler")


@dataclass
class Position:
    """How far an epoch has come, and what its order was drawn from.

    `done` counts the batches handed out without a gap, `beyond` lists the ones after the gap (`in_order=False`), and
    `drawn` counts the indices taken from the sampler, which workers are ahead with.
    `per_worker`, `next_worker` and `worker_states` say where each worker process was after its last such batch.
    `draws_seed` is False for a later epoch of persistent workers, which begins without a new seed.
    """

    randomness: EpochRandomness
    samplers: dict[str, Any]
    base_seed: int = 0
    done: int = 0
    drawn: int = 0
    beyond: set[int] = field(default_factory=set)
    per_worker: list[int] = field(default_factory=list)
    next_worker: int = 0
    worker_states: list[bytes | None] = field(default_factory=list)
    draws_seed: bool = True
    is_finished: bool = False

    @classmethod
    def at_start(cls, loader: DataLoader[Any]) -> Position:
        """Before the first draw of an epoch."""
        workers = loader.num_workers
        return cls(
            EpochRandomness(loader.generator),
            sampler_states(loader),
            per_worker=[0] * workers,
            worker_states=[None] * workers,
        )

    def count(self, number: int, worker: int | None = None, random_state: Any = None) -> None:
        """Batch `number` was handed out, made by this worker."""
        self.beyond.add(number)
        while self.done in self.beyond:
            self.beyond.remove(self.done)
            self.done += 1
        if worker is not None:
            self.per_worker[worker] += 1
            if random_state is not None:
                self.worker_states[worker] = random_state.tobytes()

    def state_dict(self) -> dict[str, Any]:
        """The position as plain numbers and tensors."""
        return {
            "randomness": self.randomness.state_dict(),
            "samplers": self.samplers,
            "base_seed": self.base_seed,
            "done": self.done,
            "drawn": self.drawn,
            "beyond": sorted(self.beyond),
            "per_worker": list(self.per_worker),
            "next_worker": self.next_worker,
            "worker_states": [_as_tensor(state) for state in self.worker_states],
            "draws_seed": self.draws_seed,
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Position:
        """The inverse of `state_dict`."""
        return cls(
            EpochRandomness.from_state_dict(state["randomness"]),
            state["samplers"],
            state["base_seed"],
            state["done"],
            state["drawn"],
            set(state["beyond"]),
            list(state["per_worker"]),
            state["next_worker"],
            [None if value is None else value.numpy().tobytes() for value in state["worker_states"]],
            state["draws_seed"],
        )


def _as_tensor(state: bytes | None) -> Any:
    return None if state is None else pellucid.from_numpy(np.frombuffer(bytearray(state), np.uint8))


def sampler_states(loader: DataLoader[Any]) -> dict[str, Any]:
    """State of the loader's samplers, of those that keep one."""
    return {
        name: getattr(loader, name).state_dict()
        for name in _STATEFUL
        if hasattr(getattr(loader, name), "state_dict") and hasattr(getattr(loader, name), "load_state_dict")
    }


def load_sampler_states(loader: DataLoader[Any], states: dict[str, Any]) -> None:
    """Bring the samplers to a state of `sampler_states`."""
    for name, state in states.items():
        getattr(loader, name).load_state_dict(state)


class _BaseDataLoaderIter:
    """An iteration over a loader. Draws from generators happen when and as often as in PyTorch."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._generator = loader.generator
        self._pin_memory = _decide_pinning(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._ahead: deque[Any] = deque()
        resumed = loader._take_resumed()
        if resumed is None:
            self._position = Position.at_start(loader)
            self._position.base_seed = self._begin_sampler(draws_seed=True)
        else:
            self._take_up(loader, resumed)
        self._base_seed = self._position.base_seed
        loader._position = self._position

    def _begin_sampler(self, draws_seed: bool) -> int:
        """Ask the sampler for its order and draw the workers' seed: as often, and in the order, that PyTorch does."""
        self._sampler_iter = iter(self._index_sampler)
        if not draws_seed:
            return 0
        seed = pellucid.empty((), dtype=pellucid.int64).random_(generator=self._generator)
        if self._num_workers > 0:
            self._sampler_iter = iter(self._index_sampler)
        return int(seed.item())

    def _take_up(self, loader: DataLoader[Any], position: Position) -> None:
        """Go to where an interrupted epoch was: its sampler is begun again and the batches handed out are left out."""
        self._position = position
        self._num_yielded = position.done + len(position.beyond)
        load_sampler_states(loader, position.samplers)
        with position.randomness.replayed(self._generator) as replay:
            self._begin_sampler(position.draws_seed)
            taken = list(itertools.islice(self._sampler_iter, max(position.drawn, 1)))
            if position.drawn == 0:
                # The epoch had not asked for its first index, which is when samplers seed themselves: that happened
                # now, so the global generators stay where it left them.
                position.drawn = len(taken)
                replay.stays = True
        self._ahead = deque(taken[position.done :])

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _next_index(self) -> Any:
        if self._ahead:
            return self._ahead.popleft()
        index = next(self._sampler_iter)
        self._position.drawn += 1
        return index

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        try:
            data = self._next_data()
        except StopIteration:
            self._position.is_finished = True
            raise
        self._num_yielded += 1
        reported = self._IterableDataset_len_called
        if self._dataset_kind == ITERABLE and reported is not None and self._num_yielded > reported:
            self._warn_of_length(reported)
        return data

    def _warn_of_length(self, reported: int) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {reported}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker: split the stream in __iter__ with get_worker_info(), or pass "
                "shard='auto' to the loader."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _decide_pinning(loader: DataLoader[Any]) -> bool:
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device, "
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    if pin_memory.is_accelerator_available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=5,
    )
    return False


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Reads in the process that iterates."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0: nothing waits without workers")
        self._dataset_fetcher: _BaseDatasetFetcher = job_of(loader).fetcher(0)
        if isinstance(self._dataset_fetcher, _IterableDatasetFetcher) and self._position.done:
            with self._position.randomness.replayed(None):
                self._dataset_fetcher.skip(self._position.done, loader.batch_size)

    def _next_data(self) -> Any:
        index = self._next_index()
        self._position.count(self._position.done)
        try:
            data = self._dataset_fetcher.fetch(index)
        except StopIteration:
            self._position.done -= 1
            raise
        return pin_memory.pin_memory(data) if self._pin_memory else data


def job_of(loader: DataLoader[Any]) -> Job:
    """What a loader's workers have to do."""
    return Job(
        loader._dataset_kind,
        loader.dataset,
        loader._auto_collation,
        loader.collate_fn,
        loader.drop_last,
        loader.worker_init_fn,
        loader.batch_size,
        loader.num_workers,
        loader.shard,
    )
