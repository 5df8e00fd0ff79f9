"""`DataLoader`: a dataset, an order, and how to read it, as an iterable of batches.

The iterators are in `_utils/iteration.py` (in this process) and `_utils/parallel.py` (with workers).
"""

from __future__ import annotations

import multiprocessing as python_multiprocessing
import multiprocessing.context
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from pellucid import Generator
from pellucid.utils.data._utils.collate import default_collate, default_convert
from pellucid.utils.data._utils.fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher
from pellucid.utils.data._utils.iteration import (
    Position,
    _BaseDataLoaderIter,
    _SingleProcessDataLoaderIter,
    load_sampler_states,
    sampler_states,
)
from pellucid.utils.data._utils.parallel import _MultiProcessingDataLoaderIter
from pellucid.utils.data._utils.worker import ITERABLE, MAP, get_worker_info
from pellucid.utils.data.dataset import Dataset, IterableDataset
from pellucid.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[T]], Any]

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
_MANY_OBJECTS = 500_000


class _DatasetKind:
    """The two styles of dataset."""

    Map = MAP
    Iterable = ITERABLE

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> _BaseDatasetFetcher:
        """The fetcher for a dataset of this kind."""
        fetcher = _MapDatasetFetcher if kind == MAP else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """None for ever: an iterable dataset decides itself what comes next, and when to end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Batches of a dataset: which samples in which order (`sampler`, `shuffle`), how many (`batch_size`), put together
    how (`collate_fn`), and read by whom (`num_workers`).

    PyTorch's arguments mean what they mean there, and one seed gives the same order. Workers are processes; their
    batches arrive through shared memory and are not copied. With `worker_type="thread"` they are threads that share the
    dataset. `shard="auto"` lets the workers of an IterableDataset split the stream, so that each item comes once.
    `timeout` is the seconds to wait for a batch (0: no limit). `state_dict()` says where in the epoch the loader is.

    A worker's exception is raised here as the same class with its traceback and the sample's index; a worker that dies,
    a lack of shared memory and a dataset that cannot be pickled raise errors that say what to do.

    >>> import pellucid as torch
    >>> from pellucid.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(torch.arange(5), torch.arange(5) * 10)
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 10]
    [2, 3] [20, 30]
    [4] [40]
    """

    dataset: Dataset[T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler[Any] | Iterable[Any]
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: _collate_fn_t[Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: _worker_init_fn_t | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_type: str = "process",
        shard: str | None = None,
    ) -> None:
        prefetch_factor = _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.worker_type = worker_type
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.shard = shard
        self._dataset_kind = ITERABLE if isinstance(dataset, IterableDataset) else MAP
        self._check_ours()
        if self._dataset_kind == ITERABLE:
            _check_iterable(shuffle, sampler, batch_sampler)
        batch_size, drop_last = _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(dataset, bool(shuffle), generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self._position: Position | None = None
        self._resumed: Position | None = None
        self.check_worker_number_rationality()

    def _default_sampler(self, dataset: Any, shuffle: bool, generator: Generator | None) -> Sampler[Any]:
        if self._dataset_kind == ITERABLE:
            return _InfiniteConstantSampler()
        return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)

    def _check_ours(self) -> None:
        if self.worker_type not in ("process", "thread"):
            raise ValueError(f"worker_type option should be 'process' or 'thread', but got {self.worker_type!r}")
        if self.shard not in (None, "auto"):
            raise ValueError(f"shard option should be None or 'auto', but got {self.shard!r}")
        if self.shard is not None and self._dataset_kind == MAP:
            raise ValueError(
                "shard option is for an IterableDataset: the samples of a map-style dataset come once anyway"
            )
        if self.worker_type == "thread" and self.multiprocessing_context is not None:
            raise ValueError("multiprocessing_context can only be used with worker_type='process'")

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        self._explain_growth()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started, or None for the default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        if multiprocessing_context is not None:
            multiprocessing_context = _check_context(multiprocessing_context, self.num_workers)
        self.__multiprocessing_context = multiprocessing_context

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)  # type: ignore[attr-defined]
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == MAP:
            return len(self._index_sampler)
        # Kept so that the iterator can warn when the dataset yields more than it said.
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processors to run them."""
        if not self.num_workers or self.worker_type == "thread":
            return
        has_affinity = hasattr(os, "sched_getaffinity")
        processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
        if processors is not None and self.num_workers <= processors:
            return
        suggestion = (
            "DataLoader is not able to compute a suggested max number of worker in current system."
            if processors is None
            else f"Our suggested max number of worker in current system is {processors}"
            f"{'' if has_affinity else ' (`cpuset` is not taken into account)'}, which is smaller than what this "
            "DataLoader is going to create."
        )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware "
            "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )

    def _explain_growth(self) -> None:
        """Say once per loader why workers' memory grows where the dataset holds very many Python objects."""
        if self.worker_type == "thread" or self.__dict__.get("_has_explained"):
            return
        for name, value in getattr(self.dataset, "__dict__", {}).items():
            if isinstance(value, (list, dict, tuple)) and len(value) >= _MANY_OBJECTS:
                self._has_explained = True
                warnings.warn(
                    f"dataset.{name} is a {type(value).__name__} of {len(value):,} Python objects. Each worker process "
                    "that reads one writes its reference count and so copies its memory page: over an epoch every one "
                    f"of the {self.num_workers} workers comes to hold a copy of its own. A NumPy array, a tensor, or "
                    "worker_type='thread' does not grow.",
                    stacklevel=4,
                )

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: the batches of the epoch handed out so far, and what its order is drawn from.

        A loader made with the same arguments that loads this first yields exactly the epoch's remaining batches.
        Between epochs it holds the state of `generator` and of samplers that have a `state_dict` of their own.

        >>> from pellucid.utils.data import DataLoader
        >>> loader = DataLoader(range(4))
        >>> first = next(iter(loader))
        >>> again = DataLoader(range(4))
        >>> again.load_state_dict(loader.state_dict())
        >>> [batch.item() for batch in again]
        [1, 2, 3]
        """
        position = self._resumed or self._position
        is_between = position is None or position.is_finished
        return {
            "epoch": None if position is None or is_between else position.state_dict(),
            "generator": None if self.generator is None else self.generator.get_state(),
            "samplers": sampler_states(self) if is_between else {},
            "num_workers": self.num_workers,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go where `state_dict()` was taken: the next iteration yields the rest of that epoch.

        >>> from pellucid.utils.data import DataLoader
        >>> DataLoader(range(4)).load_state_dict(DataLoader(range(4)).state_dict())
        """
        if state_dict["epoch"] is None:
            self._resumed = self._position = None
            load_sampler_states(self, state_dict["samplers"])
            if self.generator is not None and state_dict["generator"] is not None:
                self.generator.set_state(state_dict["generator"])
            return
        position = Position.from_state_dict(state_dict["epoch"])
        if state_dict["num_workers"] != self.num_workers:
            if self._dataset_kind == ITERABLE:
                raise ValueError(
                    f"the state was saved with num_workers={state_dict['num_workers']}: how far each worker had come "
                    f"in an IterableDataset cannot be carried over to num_workers={self.num_workers}"
                )
            position.per_worker, position.next_worker = [0] * self.num_workers, 0
            position.worker_states = [None] * self.num_workers
        self._resumed = position

    def _take_resumed(self) -> Position | None:
        resumed, self._resumed = self._resumed, None
        return resumed


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> int | None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    return 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor


def _check_iterable(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    for name, value, is_given in (
        ("shuffle", shuffle, shuffle not in (False, None)),
        ("sampler", sampler, sampler is not None),
        ("batch_sampler", batch_sampler, batch_sampler is not None),
    ):
        if is_given:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_batching(
    batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> tuple[int | None, bool]:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        return None, False
    if batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
    return batch_size, drop_last


def _check_context(context: Any, num_workers: int) -> Any:
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = python_multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={context!r}"
            )
        context = python_multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    return context
