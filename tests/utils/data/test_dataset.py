"""Datasets against PyTorch's: samples, lengths, error classes, and the indices of random_split."""

import pytest

import pellucid
from pellucid.utils import data as ours

torch = pytest.importorskip("torch")
from torch.utils import data as theirs  # noqa: E402


class Batched(list):
    """A list that reads whole batches and counts how often."""

    calls = 0

    def __getitems__(self, indices):
        self.calls += 1
        return [self[index] for index in indices]


def test_tensor_dataset_takes_rows_of_every_tensor():
    dataset = ours.TensorDataset(pellucid.arange(6).reshape(3, 2), pellucid.tensor([7, 8, 9]))
    assert len(dataset) == 3
    row, label = dataset[1]
    assert row.tolist() == [2, 3] and label.item() == 8
    assert dataset[-1][1].item() == 9
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        ours.TensorDataset(pellucid.zeros(3), pellucid.zeros(4))


@pytest.mark.parametrize("module", [ours, theirs])
def test_stack_dataset(module):
    parts = Batched("abc"), [0, 1, 2]
    pairs = module.StackDataset(*parts)
    named = module.StackDataset(x=parts[0], y=parts[1])
    assert len(pairs) == len(named) == 3
    assert pairs[1] == ("b", 1) and named[1] == {"x": "b", "y": 1}
    assert pairs.__getitems__([2, 0]) == [("c", 2), ("a", 0)]
    assert named.__getitems__([2, 0]) == [{"x": "c", "y": 2}, {"x": "a", "y": 0}]
    assert named.__getitems__([]) == []
    assert parts[0].calls == 3
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        module.StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        module.StackDataset()
    with pytest.raises(ValueError, match="both types are given"):
        module.StackDataset([1], x=[1])


@pytest.mark.parametrize("module", [ours, theirs])
def test_concat_dataset(module):
    class Letters(module.Dataset):
        def __init__(self, letters):
            self.letters = letters

        def __getitem__(self, index):
            return self.letters[index]

        def __len__(self):
            return len(self.letters)

    dataset = Letters("ab") + Letters("") + Letters("cde")
    assert isinstance(dataset, module.ConcatDataset)
    assert [dataset[i] for i in range(len(dataset))] == list("abcde")
    assert [dataset[-i] for i in range(1, 6)] == list("edcba")
    assert module.ConcatDataset(["ab", "cde"]).cumulative_sizes == [2, 5]
    with pytest.raises(IndexError):
        dataset[5]
    with pytest.raises(ValueError, match="should not exceed dataset length"):
        dataset[-6]
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        module.ConcatDataset([])
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert module.ConcatDataset(["ab"]).cummulative_sizes == [2]


@pytest.mark.parametrize("module", [ours, theirs])
def test_chain_dataset(module):
    class Count(module.IterableDataset):
        def __init__(self, end):
            self.end = end

        def __iter__(self):
            return iter(range(self.end))

        def __len__(self):
            return self.end

    both = Count(2) + Count(3)
    assert isinstance(both, module.ChainDataset)
    assert list(both) == [0, 1, 0, 1, 2] and len(both) == 5
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(module.ChainDataset([[1]]))
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        module.ConcatDataset([Count(2)])


@pytest.mark.parametrize("module", [ours, theirs])
def test_subset(module):
    whole = Batched("abcde")
    part = module.Subset(whole, [4, 0, 2])
    assert [part[i] for i in range(3)] == ["e", "a", "c"] and len(part) == 3
    assert part.__getitems__([2, 1]) == ["c", "a"] and whole.calls == 1
    assert module.Subset(range(10), [4, 0]).__getitems__([1]) == [0]

    class Shouting(module.Subset):
        def __getitem__(self, index):
            return super().__getitem__(index).upper()

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Shouting(whole, [0])


@pytest.mark.parametrize("module", [ours, theirs])
def test_base_dataset_has_no_length_and_no_items(module):
    with pytest.raises(NotImplementedError):
        module.Dataset()[0]
    with pytest.raises(TypeError):
        len(module.Dataset())


@pytest.mark.parametrize("lengths", [[3, 7], [0, 10], [10], [0.3, 0.7], [0.33, 0.33, 0.34], [1.0], [1 / 3] * 3])
@pytest.mark.parametrize("own_generator", [True, False])
def test_random_split_gives_pytorchs_indices(lengths, own_generator):
    found = []
    for framework, module in ((pellucid, ours), (torch, theirs)):
        framework.manual_seed(7)
        arguments = {"generator": framework.Generator().manual_seed(3)} if own_generator else {}
        found.append([part.indices for part in module.random_split(range(10), lengths, **arguments)])
    assert found[0] == found[1]


def test_random_split_refuses_what_does_not_add_up():
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset!"):
        ours.random_split(range(10), [3, 6])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        ours.random_split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 2 is 0"):
        ours.random_split(range(2), [0.4, 0.4, 0.2])
