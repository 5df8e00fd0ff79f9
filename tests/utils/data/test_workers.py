"""Workers: shared memory, sharding of streams, threads, order of replies, and what a worker can know."""

import gc
import os
import random
import threading
import time
import warnings

import numpy as np
import psutil
import pytest

import pellucid as torch
from pellucid.multiprocessing.shared_tensors import is_shared
from pellucid.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Numbers(Dataset):
    def __init__(self, count=12):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((3,), index)


class Stream(IterableDataset):
    def __init__(self, count=10):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class SplitStream(Stream):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.count)) if info is None else iter(range(info.id, self.count, info.num_workers))


def lists(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("collate_fn", [None, lambda samples: torch.cat(samples)])
def test_batches_lie_in_shared_memory_and_may_be_written(collate_fn):
    batches = list(DataLoader(Numbers(), batch_size=4, num_workers=2, collate_fn=collate_fn))
    assert all(is_shared(batch) for batch in batches)
    batches[0].add_(100)
    assert batches[0].flatten().tolist()[0] == 100 and batches[1].flatten().tolist()[0] == 4


def test_every_kind_of_content_crosses_over():
    content = {
        "strided": torch.arange(12).reshape(3, 4).t(),
        "gapped": torch.arange(12)[::3],
        "expanded": torch.ones(1).expand(5),
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(2.5),
        "bfloat16": torch.ones(3, dtype=torch.bfloat16),
        "complex": torch.ones(2, dtype=torch.complex64),
        "leaf": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "array": np.arange(1000),
        "text": "x" * 100_000,
        "object": {1, 2, 3},
        "none": None,
    }
    (batch,) = DataLoader([0], batch_size=None, num_workers=1, collate_fn=lambda sample: content)
    for name in ("strided", "gapped", "expanded", "empty", "scalar", "bfloat16", "complex", "leaf", "parameter"):
        assert batch[name].tolist() == content[name].tolist(), name
        assert batch[name].dtype == content[name].dtype and type(batch[name]) is type(content[name])
        assert batch[name].requires_grad == content[name].requires_grad
    assert batch["strided"].stride() == (1, 4) and batch["expanded"].stride() == (0,)
    assert batch["array"].tolist() == list(range(1000))
    batch["array"][0] = 5
    assert (batch["text"], batch["object"], batch["none"]) == (content["text"], {1, 2, 3}, None)


@pytest.mark.parametrize("keeps_in_worker", [True, False])
def test_kept_batches_are_not_overwritten_by_later_ones(keeps_in_worker):
    class Keeping:
        before = None

        def __call__(self, samples):
            batch = torch.stack(samples)
            kept, self.before = self.before, batch
            return batch, (batch if kept is None or not keeps_in_worker else kept)

    loader = DataLoader(Numbers(80), batch_size=2, num_workers=2, collate_fn=Keeping())
    seen = [(int(now[0, 0]), int(before[0, 0])) for now, before in loader]
    assert [now for now, _ in seen] == list(range(0, 80, 2))
    if keeps_in_worker:
        assert [before for _, before in seen[2:]] == list(range(0, 76, 2))
    kept = list(DataLoader(Numbers(400), batch_size=2, num_workers=2))
    assert [batch[:, 0].tolist() for batch in kept] == [[n, n + 1] for n in range(0, 400, 2)]


def test_batches_outlive_their_loader():
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2)
    iterator = iter(loader)
    batch = next(iterator)
    del iterator, loader
    assert batch[:, 0].tolist() == [0, 1, 2, 3]


def test_batches_stay_what_they_were_in_a_forked_child():
    batches = [batch for batch, _ in zip(DataLoader(Numbers(), batch_size=2, num_workers=1), range(2), strict=False)]
    again = DataLoader(batches, batch_size=None, num_workers=1, collate_fn=lambda batch: batch * 1)
    iterator = iter(again)
    batches.clear()
    for _ in DataLoader(Numbers(), batch_size=2, num_workers=1):
        pass
    assert [batch[:, 0].tolist() for batch in iterator] == [[0, 1], [2, 3]]


def test_tensor_within_a_graph_is_refused():
    loader = DataLoader([0], batch_size=None, num_workers=1, collate_fn=lambda _: torch.ones(2, requires_grad=True) * 2)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(loader)


def test_many_batches_hold_no_descriptor_open():
    before = len(os.listdir("/proc/self/fd"))
    batches = list(DataLoader(Numbers(200), num_workers=2))
    assert len(batches) == 200
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_index_lists_longer_than_a_pipe_do_not_block():
    class Wide(Numbers):
        def __getitems__(self, indices):
            return [torch.tensor(len(indices))]

        def __len__(self):
            return 1_000_000

    loader = DataLoader(Wide(), batch_size=100_000, num_workers=2, prefetch_factor=4)
    assert lists(loader) == [[100_000]] * 10


@pytest.mark.parametrize("worker_type", ["process", "thread"])
def test_out_of_order_gives_what_is_ready(worker_type):
    class OneSlow(Numbers):
        def __getitem__(self, index):
            time.sleep(0.4 if index == 0 else 0)
            return index

    loader = DataLoader(OneSlow(), num_workers=2, in_order=False, worker_type=worker_type)
    order = [batch.item() for batch in loader]
    assert order[0] != 0 and sorted(order) == list(range(12))
    in_order = DataLoader(OneSlow(), num_workers=2, worker_type=worker_type)
    assert [batch.item() for batch in in_order] == list(range(12))


def test_worker_info():
    def facts(samples):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, len(info.dataset), os.getpid(), torch.get_num_threads()

    assert get_worker_info() is None
    torch.manual_seed(0)
    found = list(DataLoader(Numbers(4), num_workers=2, collate_fn=facts))
    assert [f[0] for f in found] == [0, 1, 0, 1]
    assert {f[1] for f in found} == {2} and {f[3] for f in found} == {4} and {f[5] for f in found} == {1}
    assert found[1][2] == found[0][2] + 1
    assert len({f[4] for f in found} | {os.getpid()}) == 3


def test_persistent_workers_stay_and_others_do_not():
    for persistent in (True, False):
        loader = DataLoader(Numbers(4), num_workers=2, collate_fn=lambda _: os.getpid(), persistent_workers=persistent)
        first, second = set(loader), set(loader)
        assert (first == second) == persistent


def test_persistent_workers_end_with_their_loader():
    loader = DataLoader(Numbers(4), num_workers=2, collate_fn=lambda _: os.getpid(), persistent_workers=True)
    gc.disable()
    try:
        pids = set(loader)
        del loader
        assert not any(psutil.pid_exists(pid) for pid in pids)
    finally:
        gc.enable()


def test_persistent_epoch_can_be_left_early():
    loader = DataLoader(Numbers(), batch_size=2, num_workers=2, persistent_workers=True)
    next(iter(loader))
    assert lists(loader) == lists(DataLoader(Numbers(), batch_size=2))


def test_every_worker_yields_the_whole_stream_and_the_loader_says_so_once():
    loader = DataLoader(Stream(4), batch_size=2, num_workers=2)
    with pytest.warns(
        UserWarning, match=r"Stream is an IterableDataset that does not ask .* every item comes 2 times"
    ) as w:
        batches = lists(loader)
    assert batches == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert len(w) == 1 and "shard='auto'" in str(w[0].message)


@pytest.mark.parametrize("count", [0, 1, 5, 10, 13])
@pytest.mark.parametrize("batch_size", [None, 1, 3])
@pytest.mark.parametrize("dataset", [Stream, SplitStream])
def test_sharding_yields_each_item_once(count, batch_size, dataset):
    expected = lists(DataLoader(Stream(count), batch_size=batch_size, collate_fn=np.array))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = {"batch_size": batch_size, "num_workers": 2, "shard": "auto", "collate_fn": np.array}
        found = lists(DataLoader(dataset(count), **options))
    flat = [int(item) for batch in found for item in np.ravel(batch)]
    assert sorted(flat) == list(range(count))
    if dataset is Stream:
        assert found == expected  # the batches of a loader without workers, in its order


def test_sharding_is_for_streams():
    with pytest.raises(ValueError, match="shard option is for an IterableDataset"):
        DataLoader(Numbers(), shard="auto")
    with pytest.raises(ValueError, match="shard option should be None or 'auto'"):
        DataLoader(Stream(), shard="yes")


def test_threads_share_the_dataset():
    class Counting(Numbers):
        seen = 0

        def __getitem__(self, index):
            self.seen += 1
            info = get_worker_info()
            assert info.worker_method == "thread" and info.dataset is self
            return index, info.id, info.rng.random_generator.random()

    dataset = Counting()
    torch.manual_seed(0)
    indices, workers, numbers = zip(*DataLoader(dataset, num_workers=2, worker_type="thread"), strict=True)
    assert dataset.seen == 12 and [int(index) for index in indices] == list(range(12))
    assert [int(worker) for worker in workers] == [0, 1] * 6
    assert len({float(number) for number in numbers}) == 12
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pellucid-loader")]


def test_threads_report_exceptions_and_timeouts():
    class Bad(Numbers):
        def __getitem__(self, index):
            if index == 3:
                raise LookupError("gone")
            if index == 7:
                time.sleep(3)
            return index

    iterator = iter(DataLoader(Bad(), num_workers=2, worker_type="thread", timeout=1))
    assert [next(iterator).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(LookupError, match=r"in DataLoader worker thread 1\. It was loading sample index 3") as caught:
        next(iterator)
    assert "gone" in str(caught.value)
    assert [next(iterator).item() for _ in range(3)] == [4, 5, 6]
    with pytest.raises(RuntimeError, match=r"timed out after 1 seconds. Worker 1 of 2 is loading sample index 7"):
        next(iterator)


def test_threads_give_the_batches_of_processes():
    random.seed(1)
    for dataset in (Numbers(), SplitStream()):
        found = [
            lists(DataLoader(dataset, batch_size=3, num_workers=2, worker_type=kind)) for kind in ("process", "thread")
        ]
        assert found[0] == found[1]
    with pytest.raises(ValueError, match="worker_type option should be 'process' or 'thread'"):
        DataLoader(Numbers(), worker_type="fibre")
    with pytest.raises(ValueError, match="multiprocessing_context can only be used with worker_type='process'"):
        DataLoader(Numbers(), num_workers=1, worker_type="thread", multiprocessing_context="fork")


def test_growth_by_many_objects_is_explained_once():
    class Listed(Dataset):
        def __init__(self):
            self.names = [None] * 600_000

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return index

    loader = DataLoader(Listed(), num_workers=1)
    with pytest.warns(UserWarning, match=r"dataset\.names is a list of 600,000 Python objects") as w:
        list(loader)
        list(loader)
    assert len(w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(Listed(), num_workers=1, worker_type="thread"))


def test_threads_do_not_grow_over_a_list_of_objects(run_script):
    done = run_script("""
        import psutil
        class Names(Dataset):
            def __init__(self):
                self.names = [f"name {number}" for number in range(1_000_000)]
            def __len__(self):
                return len(self.names)
            def __getitem__(self, index):
                return self.names[index]
        loader = DataLoader(Names(), batch_size=2000, num_workers=2, worker_type="thread")
        sizes = []
        for epoch in range(4):
            assert sum(len(batch) for batch in loader) == 1_000_000
            sizes.append(psutil.Process().memory_info().rss)
        print(max(sizes[1:]) / sizes[0])
    """)
    assert float(done.out) < 1.05, done.err
