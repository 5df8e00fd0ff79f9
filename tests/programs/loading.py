"""Data loading: datasets, samplers, collating, workers, order."""

import collections
import importlib
import typing

import numpy as np


def _data(torch):
    return importlib.import_module(torch.__name__ + ".utils.data")


class _Squares:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


def batches(torch, show):
    data = _data(torch)
    show([b for b in data.DataLoader(_Squares(5), batch_size=2)], len(data.DataLoader(_Squares(5), 2)))
    show(
        [b for b in data.DataLoader(_Squares(5), batch_size=2, drop_last=True)],
        list(data.DataLoader(_Squares(3), batch_size=None)),
    )
    show(list(data.DataLoader([1.5, 2.5])), list(data.DataLoader(["a", "b"], batch_size=2)))


def wrong_settings(torch, show):
    data = _data(torch)
    for call in (
        lambda: data.DataLoader(_Squares(3), batch_size=0),
        lambda: data.DataLoader(_Squares(3), batch_size=-1),
        lambda: data.DataLoader(_Squares(3), batch_size=1.5),
        lambda: data.DataLoader(_Squares(3), num_workers=-1),
        lambda: data.DataLoader(_Squares(3), timeout=-1),
        lambda: data.DataLoader(_Squares(3), prefetch_factor=2),
        lambda: data.DataLoader(_Squares(3), persistent_workers=True),
        lambda: data.DataLoader(_Squares(0), shuffle=True),
        lambda: data.DataLoader(_Squares(3), shuffle=True, sampler=[0]),
        lambda: data.DataLoader(_Squares(3), batch_sampler=[[0]], batch_size=2),
        lambda: data.DataLoader(_Squares(3), batch_size=None, drop_last=True),
        lambda: data.RandomSampler(_Squares(3), replacement=1),
        lambda: data.RandomSampler(_Squares(3), num_samples=0),
        lambda: data.BatchSampler([1], 0, False),
        lambda: data.BatchSampler([1], 1, 3),
        lambda: data.WeightedRandomSampler([1.0], 0),
        lambda: data.random_split(_Squares(3), [1, 1]),
        lambda: data.TensorDataset(torch.ones(2), torch.ones(3)),
        lambda: data.ConcatDataset([]),
        lambda: data.random_split(_Squares(3), [0.5, 0.6]),
        lambda: data.Dataset()[0],
        lambda: data.DataLoader(_Squares(3), multiprocessing_context="nope"),
        lambda: setattr(data.DataLoader(_Squares(3)), "batch_size", 3),
        lambda: data.WeightedRandomSampler([[1.0]], 1),
        lambda: data.WeightedRandomSampler([1.0], 1, replacement=2),
    ):
        show.raises(call)


def order_follows_the_generator(torch, show):
    data = _data(torch)
    loader = data.DataLoader(_Squares(6), batch_size=6, shuffle=True, generator=torch.Generator().manual_seed(1))
    show(next(iter(loader)), next(iter(loader)))
    torch.manual_seed(4)
    show(next(iter(data.DataLoader(_Squares(6), 6, shuffle=True))), torch.rand(1))
    show(list(data.RandomSampler(range(5), generator=torch.Generator().manual_seed(2))))
    show(list(data.SubsetRandomSampler([4, 2, 7], generator=torch.Generator().manual_seed(2))))


def samplers(torch, show):
    data = _data(torch)
    g = lambda: torch.Generator().manual_seed(0)  # noqa: E731
    show(
        list(data.SequentialSampler(range(3))),
        list(data.RandomSampler(range(3), replacement=True, num_samples=5, generator=g())),
    )
    show(
        list(data.WeightedRandomSampler([0.1, 0.9, 0.0], 5, generator=g())),
        list(data.RandomSampler(range(3), num_samples=7, generator=g())),
    )
    show(
        list(data.BatchSampler(range(5), 2, False)),
        list(data.BatchSampler(range(5), 2, True)),
        len(data.BatchSampler(range(5), 2, False)),
    )
    show(
        list(data.DataLoader(_Squares(4), sampler=[3, 1])),
        list(data.DataLoader(_Squares(4), batch_sampler=[[0, 1], [3]])),
    )


def distributed_samplers(torch, show):
    sampler = _data(torch).distributed.DistributedSampler(range(7), num_replicas=2, rank=1, shuffle=False)
    show(list(sampler), len(sampler))
    sampler = _data(torch).distributed.DistributedSampler(range(7), num_replicas=2, rank=0, drop_last=True, seed=3)
    sampler.set_epoch(2)
    show(list(sampler), len(sampler))
    show.raises(lambda: _data(torch).distributed.DistributedSampler(range(7), num_replicas=2, rank=5))


class _Point(typing.NamedTuple):
    x: object
    y: object


def collating(torch, show):
    collate = _data(torch).default_collate
    show(
        collate([1, 2]),
        collate([1.5, 2.5]),
        collate([torch.ones(2), torch.zeros(2)]),
        collate(["a", "b"]),
        collate([True, False]),
    )
    show(collate([np.ones(2), np.zeros(2)]), collate([np.float64(1), np.float64(2)]), collate([b"a", b"b"]))
    show(collate([(1, "a"), (2, "b")]), collate([[1, 2], [3, 4]]), collate([{"a": 1, "b": [1]}, {"a": 2, "b": [2]}]))
    show(collate([_Point(1, 2), _Point(3, 4)]), collate([collections.OrderedDict(a=1), collections.OrderedDict(a=2)]))
    show.raises(lambda: collate([None, None]))
    show.raises(lambda: collate([torch.ones(1), torch.ones(2)]))
    show.raises(lambda: collate([[1], [1, 2]]))
    show.raises(lambda: collate([object()]))
    show.raises(lambda: collate([]))
    show.raises(lambda: collate([np.array(["a"])]))


def converting_without_batches(torch, show):
    convert = _data(torch).default_convert
    show(
        convert(np.ones(2)),
        convert([np.int64(1), "a"]),
        convert({"a": np.zeros(1)}),
        convert(_Point(np.ones(1), 2)),
        convert(None),
    )


def custom_collating(torch, show):
    loader = _data(torch).DataLoader(_Squares(4), batch_size=2, collate_fn=lambda items: sum(items))
    show(list(loader))
    show(list(_data(torch).DataLoader(_Squares(2), batch_size=None, collate_fn=lambda item: item + 1)))


def datasets(torch, show):
    data = _data(torch)
    pairs = data.TensorDataset(torch.arange(4), torch.arange(4) * 2)
    show(pairs[1], len(pairs), data.Subset(pairs, [3, 0])[0], len(data.Subset(pairs, [3, 0])))
    both = data.ConcatDataset([_Squares(2), _Squares(3)])
    show(len(both), both[3], both[-1], both.cumulative_sizes)
    show.raises(lambda: both[-9])
    parts = data.random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(1))
    show([part.indices for part in parts], [len(part) for part in parts])
    show(data.StackDataset(a=_Squares(2), b=_Squares(2))[1], data.StackDataset(_Squares(2), _Squares(2))[0])
    show.raises(lambda: data.StackDataset(_Squares(1), _Squares(2)))


def iterable_datasets(torch, show):
    data = _data(torch)

    class Stream(data.IterableDataset):
        def __iter__(self):
            yield from range(5)

    show(list(data.DataLoader(Stream(), batch_size=2)), list(data.ChainDataset([Stream(), Stream()]))[:7])
    show.raises(lambda: data.DataLoader(Stream(), shuffle=True))
    show.raises(lambda: data.DataLoader(Stream(), sampler=[1]))
    show.raises(lambda: len(data.DataLoader(Stream())))


def iterable_datasets_with_a_wrong_length(torch, show):
    data = _data(torch)

    class Stream(data.IterableDataset):
        def __len__(self):
            return 2

        def __iter__(self):
            yield from range(5)

    show.warns(lambda: list(data.DataLoader(Stream())))


class _Failing(_Squares):
    def __getitem__(self, i):
        if i == 2:
            raise KeyError("item two")
        return i


class _Seeds(_Squares):
    def __getitem__(self, i):
        torch = importlib.import_module(self.framework)
        info = _data(torch).get_worker_info()
        return [info.id, info.num_workers, int(torch.initial_seed() - info.seed)]


def _note_worker(worker_id):
    global _noted
    _noted = worker_id


class _Noted(_Squares):
    def __getitem__(self, i):
        return _noted


def workers_keep_the_order(torch, show):
    data = _data(torch)
    loader = data.DataLoader(_Squares(7), batch_size=2, num_workers=2, prefetch_factor=1, persistent_workers=True)
    show(list(loader), list(loader))


def workers_know_who_they_are(torch, show):
    data = _data(torch)
    seeds = _Seeds(4)
    seeds.framework = torch.__name__
    show(list(data.DataLoader(seeds, num_workers=2)), data.get_worker_info())
    show(list(data.DataLoader(_Noted(4), num_workers=2, worker_init_fn=_note_worker)))


def errors_in_workers(torch, show):
    data = _data(torch)
    show.raises(lambda: list(data.DataLoader(_Failing(4))))
    show.raises(lambda: list(data.DataLoader(_Failing(4), num_workers=1)))


def sharding_by_worker(torch, show):
    data = _data(torch)
    name = torch.__name__

    class Sharded(data.IterableDataset):
        def __iter__(self):
            info = _data(importlib.import_module(name)).get_worker_info()
            yield from range(info.id, 6, info.num_workers)

    show([b.tolist() for b in data.DataLoader(Sharded(), batch_size=2, num_workers=2)])


def random_numbers_in_the_loader(torch, show):
    data = _data(torch)
    torch.manual_seed(9)
    list(data.DataLoader(_Squares(2)))
    show(torch.rand(1))
    torch.manual_seed(9)
    list(data.DataLoader(_Squares(2), shuffle=True))
    show(torch.rand(1))


def get_items_at_once(torch, show):
    class Many(_Squares):
        def __getitems__(self, indices):
            show(indices)
            return [i + 100 for i in indices]

    show(list(_data(torch).DataLoader(Many(3), batch_size=2)))


def attributes_of_a_loader(torch, show):
    loader = _data(torch).DataLoader(_Squares(4), batch_size=2, shuffle=True)
    for name in (
        "batch_size",
        "num_workers",
        "drop_last",
        "timeout",
        "pin_memory",
        "prefetch_factor",
        "persistent_workers",
    ):
        show(getattr(loader, name))
    show(type(loader.sampler).__name__, type(loader.batch_sampler).__name__, loader.collate_fn.__name__)
