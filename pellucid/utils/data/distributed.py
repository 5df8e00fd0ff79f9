"""The sampler that gives each rank of a distributed run its own part of every epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

import pellucid
from pellucid.utils.data.dataset import Dataset
from pellucid.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """Every `num_replicas`-th index of an order that all ranks agree on, starting at `rank`.

    The order of epoch e comes from the seed `seed + e`. `set_epoch(e)` chooses e; where it is not called, an iteration
    that ran to its end moves on to the next epoch by itself (PyTorch repeats the same order), on every rank alike.

    >>> from pellucid.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            num_replicas, rank = _complete(num_replicas, rank)
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)  # type: ignore[arg-type]
        if drop_last and count % num_replicas != 0:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed
        self._is_epoch_over = False

    def __iter__(self) -> Iterator[T_co]:
        if self._is_epoch_over:
            self.epoch += 1
            self._is_epoch_over = False
        epoch = self.epoch
        indices = self._indices_of_rank()
        yield from indices[:-1]
        # Only an iteration that came to its last index counts: a rank that peeks at a batch stays in step.
        self._is_epoch_over = self.epoch == epoch
        yield from indices[-1:]

    def _indices_of_rank(self) -> list[Any]:
        if self.shuffle:
            generator = pellucid.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = pellucid.randperm(len(self.dataset), generator=generator).tolist()  # type: ignore[arg-type]
        else:
            indices = list(range(len(self.dataset)))  # type: ignore[arg-type]
        if not self.drop_last and indices:
            indices = (indices * math.ceil(self.total_size / len(indices)))[: self.total_size]
        indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(
                f"Number of indices ({len(indices)}) does not match total_size ({self.total_size}): "
                "the dataset's length has changed since the sampler was made"
            )
        return indices[self.rank : self.total_size : self.num_replicas]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order the next iteration gives.

        >>> from pellucid.utils.data import DistributedSampler
        >>> sampler = DistributedSampler(range(8), num_replicas=2, rank=0)
        >>> sampler.set_epoch(3)
        >>> third = list(sampler)
        >>> sampler.set_epoch(3)
        >>> list(sampler) == third
        True
        """
        self.epoch = epoch
        self._is_epoch_over = False

    def state_dict(self) -> dict[str, Any]:
        """The epoch, and whether it is over."""
        return {"epoch": self.epoch, "is_epoch_over": self._is_epoch_over}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to the epoch that `state_dict()` recorded."""
        self.epoch = state_dict["epoch"]
        self._is_epoch_over = state_dict["is_epoch_over"]


def _complete(num_replicas: int | None, rank: int | None) -> tuple[int, int]:
    import pellucid.distributed as dist

    if not dist.is_available():
        raise RuntimeError("Requires distributed package to be available; or pass num_replicas and rank")
    return (
        dist.get_world_size() if num_replicas is None else num_replicas,
        dist.get_rank() if rank is None else rank,
    )
