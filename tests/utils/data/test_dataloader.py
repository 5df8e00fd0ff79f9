"""DataLoader against PyTorch's: order for a seed, every option, error classes and warnings."""

import random
import warnings

import numpy as np
import pytest

import pellucid
from pellucid.utils import data as ours

torch = pytest.importorskip("torch")
from torch.utils import data as theirs  # noqa: E402

BOTH = ((pellucid, ours), (torch, theirs))


def datasets_of(framework, module):
    """A map-style dataset that draws from all global generators, and a stream."""

    class Noisy(module.Dataset):
        def __len__(self):
            return 23

        def __getitem__(self, index):
            number = framework.rand(()).item()
            return framework.full((2,), float(index)), number, random.random(), np.random.rand()

    class Stream(module.IterableDataset):
        def __init__(self, count, reported=None):
            self.count = count
            self.reported = reported

        def __iter__(self):
            info = module.get_worker_info()
            step = 1 if info is None else info.num_workers
            return iter(range(0 if info is None else info.id, self.count, step))

        def __len__(self):
            if self.reported is None:
                raise TypeError("no length")
            return self.reported

    return Noisy, Stream


def plain(value):
    """Tensors as nested lists."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def both_epochs(make, epochs=2):
    """What two epochs give in each framework, and where the default generator is then."""
    found = []
    for framework, module in BOTH:
        framework.manual_seed(3)
        random.seed(3)
        np.random.seed(3)
        loader = make(framework, module)
        batches = [[plain(batch) for batch in loader] for _ in range(epochs)]
        found.append((batches, framework.rand(2).tolist()))
    return found


OPTIONS = {
    "plain": {},
    "shuffled": {"batch_size": 4, "shuffle": True},
    "drop_last": {"batch_size": 4, "shuffle": True, "drop_last": True},
    "no_batching": {"batch_size": None},
    "no_batching_shuffled": {"batch_size": None, "shuffle": True},
    "workers": {"batch_size": 4, "num_workers": 2},
    "workers_shuffled": {"batch_size": 4, "num_workers": 2, "shuffle": True},
    "three_workers": {"batch_size": 3, "num_workers": 3, "shuffle": True, "prefetch_factor": 1},
    "prefetch": {"batch_size": 2, "num_workers": 2, "prefetch_factor": 5, "shuffle": True},
    "persistent": {"batch_size": 4, "num_workers": 2, "shuffle": True, "persistent_workers": True},
    "workers_no_batching": {"batch_size": None, "num_workers": 2, "shuffle": True},
    "spawn": {"batch_size": 8, "num_workers": 1, "shuffle": True, "multiprocessing_context": "fork"},
}


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("own_generator", [True, False])
def test_batches_are_pytorchs_to_the_bit(name, own_generator):
    def make(framework, module):
        noisy, _ = datasets_of(framework, module)
        generator = framework.Generator().manual_seed(8) if own_generator else None
        return module.DataLoader(noisy(), generator=generator, **OPTIONS[name])

    mine, reference = both_epochs(make)
    assert mine == reference


@pytest.mark.parametrize("workers", [0, 2])
def test_eager_samplers_are_asked_as_often_as_in_pytorch(workers):
    def make(framework, module):
        noisy, _ = datasets_of(framework, module)

        class Eager(module.Sampler):
            def __iter__(self):
                return iter(framework.randperm(23).tolist())

            def __len__(self):
                return 23

        options = {"batch_size": None, "num_workers": workers, "persistent_workers": workers > 0}
        return module.DataLoader(noisy(), sampler=Eager(), **options)

    mine, reference = both_epochs(make)
    assert mine == reference


@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_streams_come_as_in_pytorch(batch_size, drop_last, workers, persistent):
    if batch_size is None:
        drop_last = False

    def make(framework, module):
        _, stream = datasets_of(framework, module)
        options = {"num_workers": workers, "persistent_workers": persistent}
        return module.DataLoader(stream(17), batch_size=batch_size, drop_last=drop_last, **options)

    mine, reference = both_epochs(make)
    assert mine == reference


def test_batch_sampler_and_collate_fn():
    def make(framework, module):
        batches = [[5, 1], [2], [0, 3, 4]]
        return module.DataLoader(range(6), batch_sampler=batches, collate_fn=lambda batch: sum(batch))

    mine, reference = both_epochs(make)
    assert mine == reference
    assert mine[0][0] == [6, 2, 7]


def test_datasets_that_read_whole_batches_are_asked_for_them():
    class Batched(ours.Dataset):
        def __getitems__(self, indices):
            return [index * 2 for index in indices]

        def __len__(self):
            return 4

    assert [batch.tolist() for batch in ours.DataLoader(Batched(), batch_size=3)] == [[0, 2, 4], [6]]


@pytest.mark.parametrize(("size", "batch", "drop"), [(10, 3, False), (10, 3, True), (9, 3, True), (0, 3, False)])
def test_length(size, batch, drop):
    lengths = []
    for framework, module in BOTH:
        _, stream = datasets_of(framework, module)
        loader = module.DataLoader(list(range(size)), batch_size=batch, drop_last=drop)
        of_stream = module.DataLoader(stream(size, size), batch_size=batch, drop_last=drop)
        lengths.append((len(loader), len(of_stream), len(module.DataLoader([1, 2], batch_size=None))))
        with pytest.raises(TypeError):
            len(module.DataLoader(stream(5)))
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"num_workers": 1, "prefetch_factor": -1},
        {"persistent_workers": True},
        {"shuffle": True, "sampler": [0]},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "shuffle": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "nothing"},
        {"num_workers": 1, "multiprocessing_context": 3},
        {"iterable": True, "shuffle": True},
        {"iterable": True, "sampler": [0]},
        {"iterable": True, "batch_sampler": [[0]]},
    ],
)
def test_refused_options_have_pytorchs_class_and_words(options):
    messages = []
    for framework, module in BOTH:
        _, stream = datasets_of(framework, module)
        arguments = dict(options)
        dataset = stream(5) if arguments.pop("iterable", False) else [1, 2, 3]
        with pytest.raises((ValueError, TypeError)) as caught:
            module.DataLoader(dataset, **arguments)
        messages.append((type(caught.value), str(caught.value).replace(" ", "")))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "name", ["batch_size", "sampler", "dataset", "drop_last", "batch_sampler", "persistent_workers"]
)
def test_some_attributes_are_fixed(name):
    loader = ours.DataLoader([1, 2])
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
        setattr(loader, name, None)
    loader.collate_fn = list
    assert list(loader) == [[1], [2]]


def test_single_process_refuses_a_timeout_when_iterated():
    with pytest.raises(AssertionError):
        iter(ours.DataLoader([1], timeout=1))


def test_pinning_without_accelerator_warns():
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert [batch.tolist() for batch in ours.DataLoader([1, 2], pin_memory=True)] == [[1], [2]]


@pytest.mark.parametrize("workers", [0, 2])
def test_stream_longer_than_it_said_warns(workers):
    for framework, module in BOTH:
        _, stream = datasets_of(framework, module)
        loader = module.DataLoader(stream(5, 3), num_workers=workers)
        assert len(loader) == 3
        with pytest.warns(
            UserWarning, match=r"was reported to be 3\(when accessing len\(dataloader\)\), but"
        ) as caught:
            assert len(list(loader)) == 5
        assert [str(number) in str(warning.message) for number, warning in zip((4, 5), caught, strict=True)] == [
            True
        ] * 2


def test_too_many_workers_warn():
    with pytest.warns(
        UserWarning, match="This DataLoader will create 1000 worker processes in total. Our suggested max"
    ):
        ours.DataLoader([1], num_workers=1000)


def test_iterators_are_not_picklable_and_know_their_length():
    import pickle

    iterator = iter(ours.DataLoader(range(5), batch_size=2))
    assert len(iterator) == 3 and iter(iterator) is iterator
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iterator)


def test_names_that_programs_import():
    from pellucid.utils.data import _utils, dataloader, dataset, distributed, sampler

    assert dataloader.default_collate is ours.default_collate is _utils.collate.default_collate
    assert dataset.Dataset is ours.Dataset and sampler.BatchSampler is ours.BatchSampler
    assert distributed.DistributedSampler is ours.DistributedSampler
    loader = ours.DataLoader([1])
    assert isinstance(iter(loader), dataloader._BaseDataLoaderIter)
    assert loader._dataset_kind == ours._DatasetKind.Map and loader._index_sampler is loader.batch_sampler
    assert dataloader.DataLoader[int] is not None


def test_no_warning_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(ours.DataLoader(range(8), batch_size=2, num_workers=1))) == 4
