"""Fetchers: from an index (or a batch of them) to the collated batch, in the process that reads the dataset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pellucid.utils.data._utils.collate import collating


class _BaseDatasetFetcher:
    """What the fetchers share. `report` is called with a sample's position in its batch before the sample is read."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.report: Callable[[int], None] = _nobody

    def draw(self, possibly_batched_index: Any) -> Any:
        """The samples, not collated."""
        raise NotImplementedError

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The collated batch, or the converted sample where there is no batching."""
        data = self.draw(possibly_batched_index)
        self.report(COLLATING)
        with collating(possibly_batched_index if self.auto_collation else None):
            return self.collate_fn(data)


WHOLE_BATCH = -1  # the position that is reported while `__getitems__` reads all samples at once
COLLATING = -2  # and while collate_fn runs


def _nobody(position: int) -> None:
    """Nobody listens in the main process."""


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def draw(self, possibly_batched_index: Any) -> Any:
        dataset = self.dataset
        if not self.auto_collation:
            self.report(0)
            return dataset[possibly_batched_index]
        if getattr(dataset, "__getitems__", None):
            self.report(WHOLE_BATCH)
            return dataset.__getitems__(possibly_batched_index)
        samples = []
        for position, index in enumerate(possibly_batched_index):
            self.report(position)
            samples.append(dataset[index])
        return samples


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter: Iterator[Any] = iter(dataset)
        self.ended = False

    def draw(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            self.report(0)
            return next(self.dataset_iter)
        size = len(possibly_batched_index)
        samples = self._pull(size)
        self.ended = len(samples) < size
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return samples

    def _pull(self, count: int) -> list[Any]:
        samples: list[Any] = []
        for position in range(count):
            self.report(position)
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                break
        return samples

    def skip(self, batches: int, batch_size: int | None) -> None:
        """Read and drop batches, so that the next one is what an interrupted epoch would have given."""
        for _ in range(batches):
            self.draw([None] * batch_size if batch_size is not None else None)


class _ShardedDatasetFetcher(_IterableDatasetFetcher):
    """Of a stream that every worker reads in full, the batches number `worker`, `worker + workers`, ...

    Together the workers give the batches of a loader without workers, in its order. A dataset that asked for
    `get_worker_info()` by its first sample splits the stream itself and is left alone.
    """

    def __init__(
        self,
        dataset: Any,
        auto_collation: bool,
        collate_fn: Callable[[Any], Any],
        drop_last: bool,
        *,
        worker: int,
        workers: int,
        splits_itself: Callable[[], bool],
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self._worker = worker
        self._workers = workers
        self._splits_itself = splits_itself
        self._drawn = 0

    def draw(self, possibly_batched_index: Any) -> Any:
        size = len(possibly_batched_index) if self.auto_collation else 1
        if self._drawn == 0:
            first = list(itertools.islice(self.dataset_iter, 1))
            if self._splits_itself():
                self._workers = 1
                self._worker = 0
            self.dataset_iter = itertools.chain(first, self.dataset_iter)
        before = self._worker if self._drawn == 0 else self._workers - 1
        self._drawn += 1
        if before and not self.ended:
            self._pull(before * size)
        return super().draw(possibly_batched_index)
