"""A loader's state: after loading it, the loader yields exactly the batches that were left."""

import io
import random

import numpy as np
import pytest

import pellucid
from pellucid.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Sampler,
    WeightedRandomSampler,
    get_worker_info,
)

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Augmented(Dataset):
    """Samples with noise from every generator, also one that the dataset holds."""

    def __init__(self, noisy):
        self.noisy = noisy
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return 21

    def __getitem__(self, index):
        if not self.noisy:
            return index
        return index, pellucid.rand(()).item(), random.random(), np.random.rand(), self.rng.random()


class Stream(IterableDataset):
    def __init__(self, noisy=False):
        self.noisy = noisy

    def __iter__(self):
        info = get_worker_info()
        for number in range(0 if info is None else info.id, 21, 1 if info is None else info.num_workers):
            yield (number, pellucid.rand(()).item()) if self.noisy else number


class Drawn(Sampler):
    """Draws each index from a global generator, while the epoch runs."""

    def __iter__(self):
        for _ in range(10):
            yield int(pellucid.randint(0, 21, ()).item()) if random.random() < 0.5 else int(np.random.randint(21))


def plain(batch):
    """Tensors as lists."""
    if isinstance(batch, (list, tuple)):
        return [plain(item) for item in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


def check_resumes(make, after, epochs_before=0, draws_globally=False):
    """Interrupt `make()` after some batches; a new loader, in a program with another random state, yields the rest."""
    pellucid.manual_seed(2)
    random.seed(2)
    np.random.seed(2)
    loader = make()
    for _ in range(epochs_before):
        list(loader)
    iterator = iter(loader)
    for _ in range(after):
        next(iterator)
    file = io.BytesIO()
    pellucid.save(loader.state_dict(), file)
    states = pellucid.get_rng_state(), random.getstate(), np.random.get_state()
    rest = [plain(batch) for batch in iterator]

    pellucid.manual_seed(99)
    random.seed(99)
    np.random.seed(99)
    resumed = make()
    file.seek(0)
    resumed.load_state_dict(pellucid.load(file))
    if draws_globally:  # then a program saves and restores the global generators itself
        pellucid.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
    before = pellucid.get_rng_state().tolist()
    found = iter(resumed)
    found = [next(found)] + list(found)
    assert [plain(batch) for batch in found] == rest
    if resumed.num_workers and not draws_globally:
        assert pellucid.get_rng_state().tolist() == before  # the program's own generator is left alone
    assert len(list(resumed)) == len(rest) + after


MAPS = {
    "sequential": {},
    "shuffled": {"shuffle": True, "batch_size": 4},
    "drop_last": {"shuffle": True, "batch_size": 4, "drop_last": True},
    "no_batching": {"shuffle": True, "batch_size": None},
    "workers": {"shuffle": True, "batch_size": 4, "num_workers": 2},
    "three_workers": {"shuffle": True, "batch_size": 2, "num_workers": 3},
    "persistent": {"shuffle": True, "batch_size": 4, "num_workers": 2, "persistent_workers": True},
    "threads": {"shuffle": True, "batch_size": 4, "num_workers": 2, "worker_type": "thread"},
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("own_generator", [True, False])
def test_map_style(name, after, own_generator):
    def make():
        generator = pellucid.Generator().manual_seed(4) if own_generator else None
        return DataLoader(Augmented(False), generator=generator, **MAPS[name])

    check_resumes(make, after, epochs_before=1)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("after", [1, 3, 4])
def test_noise_of_workers_goes_on_too(workers, after):
    check_resumes(lambda: DataLoader(Augmented(True), batch_size=2, shuffle=True, num_workers=workers), after)


@pytest.mark.parametrize("workers", [0, 2])
def test_samplers_that_draw_from_global_generators(workers):
    for after in (0, 1, 2):
        options = {"batch_size": 2, "num_workers": workers}
        check_resumes(
            lambda options=options: DataLoader(Augmented(False), sampler=Drawn(), **options), after, draws_globally=True
        )
    sampler = WeightedRandomSampler([1.0] * 21, 15)
    check_resumes(lambda: DataLoader(Augmented(False), sampler=sampler, num_workers=workers), 4)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_streams(workers, batch_size, after):
    check_resumes(lambda: DataLoader(Stream(noisy=workers > 0), batch_size=batch_size, num_workers=workers), after)


def test_sharded_stream():
    class Plain(IterableDataset):
        def __iter__(self):
            return iter(range(21))

    check_resumes(lambda: DataLoader(Plain(), batch_size=2, num_workers=2, shard="auto"), 3)


def test_other_number_of_workers():
    pellucid.manual_seed(0)
    loader = DataLoader(Augmented(False), batch_size=4, shuffle=True, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    rest = [plain(batch) for batch in iterator]
    for workers in (0, 1, 3):
        resumed = DataLoader(Augmented(False), batch_size=4, shuffle=True, num_workers=workers)
        resumed.load_state_dict(state)
        assert [plain(batch) for batch in resumed] == rest
    stream = DataLoader(Stream(), num_workers=2)
    next(iter(stream))
    with pytest.raises(ValueError, match="cannot be carried over to num_workers=1"):
        DataLoader(Stream(), num_workers=1).load_state_dict(stream.state_dict())


def test_out_of_order_yields_what_was_not_yielded():
    import time

    class OneSlow(Augmented):
        def __getitem__(self, index):
            time.sleep(0.5 if index == 1 else 0)
            return index

    loader = DataLoader(OneSlow(False), num_workers=2, in_order=False)
    iterator = iter(loader)
    seen = [next(iterator).item() for _ in range(4)]
    assert 1 not in seen
    resumed = DataLoader(Augmented(False), num_workers=2, in_order=False)
    resumed.load_state_dict(loader.state_dict())
    assert sorted(seen + [batch.item() for batch in resumed]) == list(range(21))


def test_twice_interrupted():
    pellucid.manual_seed(0)
    expected = [batch.item() for batch in DataLoader(Augmented(False), shuffle=True)]
    pellucid.manual_seed(0)
    loader = DataLoader(Augmented(False), shuffle=True)
    found = []
    for count in (3, 5, 13):
        iterator = iter(loader)
        found += [next(iterator).item() for _ in range(count)]
        state = loader.state_dict()
        loader = DataLoader(Augmented(False), shuffle=True)
        loader.load_state_dict(state)
        assert str(loader.state_dict()) == str(state)  # nothing is lost before the iteration begins
    assert found == expected


def test_state_after_a_loop_was_left():
    loader = DataLoader(range(6), num_workers=2)
    for batch in loader:
        if batch.item() == 2:
            break
    resumed = DataLoader(range(6), num_workers=2)
    resumed.load_state_dict(loader.state_dict())
    assert [batch.item() for batch in resumed] == [3, 4, 5]
    assert [batch.item() for batch in resumed] == [0, 1, 2, 3, 4, 5]


def test_between_epochs_generator_and_sampler_go_on():
    def make():
        return DataLoader(range(9), shuffle=True, generator=pellucid.Generator().manual_seed(1))

    loader, other = make(), make()
    list(loader)
    other.load_state_dict(loader.state_dict())
    assert [plain(batch) for batch in other] == [plain(batch) for batch in loader]

    def distributed():
        return DataLoader(range(9), sampler=DistributedSampler(range(9), 2, 1), batch_size=2)

    loader, other = distributed(), distributed()
    list(loader)
    other.load_state_dict(loader.state_dict())
    assert [plain(batch) for batch in other] == [plain(batch) for batch in loader]
    check_resumes(distributed, 1, epochs_before=2)
