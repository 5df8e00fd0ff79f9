"""Samplers: PyTorch's order for the same seed, and an order per epoch for distributed runs."""

import pytest

import pellucid
from pellucid.utils import data as ours

torch = pytest.importorskip("torch")
from torch.utils import data as theirs  # noqa: E402

BOTH = ((pellucid, ours), (torch, theirs))


def both_orders(make, epochs=2):
    """What the sampler gives in each framework, over some epochs, and the next number of the default generator."""
    found = []
    for framework, module in BOTH:
        framework.manual_seed(11)
        sampler = make(framework, module)
        orders = [list(sampler) for _ in range(epochs)]
        found.append((orders, framework.rand(3).tolist(), len(sampler)))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_samples": 5},
        {"num_samples": 47},
        {"num_samples": 40},
        {"replacement": True},
        {"replacement": True, "num_samples": 100},
        {"replacement": True, "num_samples": 64},
    ],
)
@pytest.mark.parametrize("own_generator", [True, False])
def test_random_sampler_draws_pytorchs_order(options, own_generator):
    def make(framework, module):
        generator = framework.Generator().manual_seed(5) if own_generator else None
        return module.RandomSampler(range(20), generator=generator, **options)

    mine, reference = both_orders(make)
    assert mine == reference


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("own_generator", [True, False])
def test_weighted_sampler_draws_pytorchs_order(replacement, own_generator):
    def make(framework, module):
        generator = framework.Generator().manual_seed(5) if own_generator else None
        return module.WeightedRandomSampler([0.1, 2, 0.7, 3, 0.2, 1], 5, replacement, generator)

    mine, reference = both_orders(make)
    assert mine == reference


def test_subset_sampler_draws_pytorchs_order():
    mine, reference = both_orders(lambda framework, module: module.SubsetRandomSampler([3, 9, 27, 81]))
    assert mine == reference


@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 8])
def test_batch_sampler(drop_last, size):
    mine = ours.BatchSampler(ours.SequentialSampler(range(size)), 4, drop_last)
    reference = theirs.BatchSampler(theirs.SequentialSampler(range(size)), 4, drop_last)
    assert list(mine) == list(reference)
    assert len(mine) == len(reference)


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ValueError, lambda m: m.RandomSampler([])),
        (ValueError, lambda m: m.RandomSampler([1], num_samples=0)),
        (ValueError, lambda m: m.RandomSampler([1], num_samples=1.5)),
        (TypeError, lambda m: m.RandomSampler([1], replacement=1)),
        (ValueError, lambda m: m.WeightedRandomSampler([1.0], 0)),
        (ValueError, lambda m: m.WeightedRandomSampler([1.0], True)),
        (ValueError, lambda m: m.WeightedRandomSampler([[1.0]], 1)),
        (ValueError, lambda m: m.WeightedRandomSampler([1.0], 1, replacement="yes")),
        (ValueError, lambda m: m.BatchSampler([1], 0, False)),
        (ValueError, lambda m: m.BatchSampler([1], True, False)),
        (ValueError, lambda m: m.BatchSampler([1], 2, "no")),
        (NotImplementedError, lambda m: iter(m.Sampler())),
        (TypeError, lambda m: len(m.Sampler())),
        (ValueError, lambda m: m.DistributedSampler([1], 2, 2)),
        (ValueError, lambda m: m.DistributedSampler([1], 2, -1)),
    ],
)
def test_errors_are_pytorchs(error, make):
    messages = []
    for _, module in BOTH:
        with pytest.raises(error) as caught:
            make(module)
        messages.append(str(caught.value))
    if error is ValueError:
        assert messages[0].startswith(messages[1])


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(
    ("drop_last", "size"), [*((False, size) for size in (1, 2, 7, 9, 12)), *((True, size) for size in (3, 7, 9, 12))]
)
def test_distributed_sampler_gives_pytorchs_parts(shuffle, drop_last, size):
    for epoch in (0, 3):
        parts = []
        for _, module in BOTH:
            samplers = [module.DistributedSampler(range(size), 3, rank, shuffle, 5, drop_last) for rank in range(3)]
            for sampler in samplers:
                sampler.set_epoch(epoch)
            parts.append([list(sampler) for sampler in samplers])
            assert [len(part) for part in parts[-1]] == [len(sampler) for sampler in samplers]
        assert parts[0] == parts[1]


def test_distributed_order_changes_without_set_epoch_and_ranks_stay_disjoint():
    ranks = [ours.DistributedSampler(range(12), 3, rank) for rank in range(3)]
    next(iter(ranks[0]))  # a rank that peeks at a sample does not get out of step
    first, second = ([list(sampler) for sampler in ranks] for _ in range(2))
    assert first != second
    for epoch in (first, second):
        assert sorted(sum(epoch, [])) == list(range(12))
    for sampler in ranks:
        sampler.set_epoch(1)
    assert [list(sampler) for sampler in ranks] == second
    for sampler in ranks:
        sampler.set_epoch(0)
    assert [list(sampler) for sampler in ranks] == first


def test_distributed_order_moves_on_inside_a_loader():
    sampler = ours.DistributedSampler(range(12), 2, 0)
    loader = ours.DataLoader(range(12), batch_size=2, sampler=sampler)
    epochs = [[batch.tolist() for batch in loader] for _ in range(2)]
    assert epochs[0] != epochs[1]
    sampler.set_epoch(0)
    assert [batch.tolist() for batch in loader] == epochs[0]
