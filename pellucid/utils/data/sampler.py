"""Samplers: the order in which a loader asks its dataset for samples.

Every random sampler makes the same draws, from the same generators, in the same order as PyTorch's, so that one seed
gives one order in both. The sampler that splits the work between ranks is in `distributed.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import pellucid
from pellucid import Generator, Tensor

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

# RandomSampler with replacement asks for its indices in groups of this many; PyTorch's stream depends on it.
_GROUP = 32


class Sampler(Generic[T_co]):
    """An order over a dataset's keys: a subclass writes `__iter__`, and `__len__` where the length is known.

    >>> from pellucid.utils.data import Sampler
    >>> class Backwards(Sampler):
    ...     def __init__(self, data): self.data = data
    ...     def __iter__(self): return iter(range(len(self.data) - 1, -1, -1))
    >>> list(Backwards("abc"))
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} should implement __iter__")


class SequentialSampler(Sampler[int]):
    """0, 1, ..., len - 1.

    >>> from pellucid.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A permutation of the indices, or with `replacement=True` independent draws; `num_samples` of them.

    Without a generator the default one gives one number, which seeds the order.

    >>> import pellucid as torch
    >>> sampler = torch.utils.data.RandomSampler("abcd", generator=torch.Generator().manual_seed(0))
    >>> sorted(sampler)
    [0, 1, 2, 3]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
                + (" (the dataset is empty)" if num_samples is None else "")
            )

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has: as given, or the dataset's present length."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = pellucid.Generator()
            generator.manual_seed(int(pellucid.empty((), dtype=pellucid.int64).random_().item()))
        if self.replacement:
            yield from self._draws(size, generator)
        else:
            whole, rest = divmod(self.num_samples, size)
            for _ in range(whole):
                yield from pellucid.randperm(size, generator=generator).tolist()
            # The permutation is drawn even where nothing of it is used: the generator moves as PyTorch's does.
            yield from pellucid.randperm(size, generator=generator).tolist()[:rest]

    def _draws(self, size: int, generator: Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, _GROUP)
        for count in [_GROUP] * whole + [rest]:
            draws = pellucid.randint(high=size, size=(count,), dtype=pellucid.int64, generator=generator)
            yield from draws.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """A permutation of the given indices.

    >>> from pellucid.utils.data import SubsetRandomSampler
    >>> sorted(SubsetRandomSampler([7, 3, 5]))
    [3, 5, 7]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in pellucid.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` draws of 0 ... len(weights) - 1, each index with probability in proportion to its weight.

    >>> from pellucid.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0], num_samples=3))
    [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not _is_positive_int(num_samples):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        weights_tensor = pellucid.as_tensor(weights, dtype=pellucid.double)
        if weights_tensor.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(weights_tensor.shape)}"
            )
        self.weights = weights_tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        draws = pellucid.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from draws.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last one is shorter, or left out with `drop_last`.

    >>> from pellucid.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_positive_int(batch_size):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _is_positive_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
