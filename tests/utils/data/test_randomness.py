"""Random state of workers: PyTorch's seeds, and held generators that do not repeat between workers and epochs."""

import functools
import random

import numpy as np
import pytest

import pellucid
from pellucid.utils import data as ours
from pellucid.utils.data._utils.randomness import find_generators
from pellucid.utils.data._utils.worker import _generate_state

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Transform:
    def __init__(self, generator):
        self.generator = generator


class Augmented(ours.Dataset):
    """Every sample is a number from a generator that the dataset, or its transform, holds."""

    def __init__(self, make, nested):
        generator = make()
        self.transforms = [Transform(generator)] if nested else []
        if not nested:
            self.generator = generator

    def __len__(self):
        return 8

    def __getitem__(self, index):
        generator = self.transforms[0].generator if self.transforms else self.generator
        if isinstance(generator, pellucid.Generator):
            return pellucid.rand((), generator=generator).item()
        return generator.random() if hasattr(generator, "random") else generator.rand()


MAKERS = {
    "numpy": lambda: np.random.default_rng(0),
    "philox": lambda: np.random.Generator(np.random.Philox(0)),
    "legacy": lambda: np.random.RandomState(0),
    "python": lambda: random.Random(0),
    "pellucid": lambda: pellucid.Generator().manual_seed(0),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("nested", [True, False])
def test_held_generators_differ_by_worker_and_epoch_and_repeat_with_the_seed(name, nested):
    def epochs():
        pellucid.manual_seed(0)
        loader = ours.DataLoader(Augmented(MAKERS[name], nested), batch_size=2, num_workers=4)
        return [[batch.tolist() for batch in loader] for _ in range(2)]

    first = epochs()
    streams = [tuple(batch) for epoch in first for batch in epoch]
    assert len(set(streams)) == 8
    assert epochs() == first


def test_workers_draw_the_same_however_they_start(run_script):
    done = run_script("""
        import random
        import numpy as np
        class Augmented(Numbers):
            def __init__(self):
                self.rng = np.random.default_rng(0)
            def __getitem__(self, index):
                return self.rng.random(), random.random(), np.random.rand(), torch.rand(()).item()
        def epoch(method):
            torch.manual_seed(0)
            options = {"num_workers": 2, "multiprocessing_context": method}
            return [[item.item() for item in batch] for batch in DataLoader(Augmented(), **options)]
        if __name__ == "__main__":
            print(epoch("fork") == epoch("spawn") == epoch("forkserver"))
    """)
    assert done.out.strip() == "True", done.err


def test_generators_that_were_equal_stay_equal():
    class Paired(ours.Dataset):
        def __init__(self):
            self.of_image, self.of_mask = np.random.default_rng(5), np.random.default_rng(5)

        def __len__(self):
            return 4

        def __getitem__(self, index):
            return self.of_image.random(), self.of_mask.random()

    for image, mask in ours.DataLoader(Paired(), num_workers=2):
        assert image.item() == mask.item()


def test_a_streams_own_generator_is_the_same_in_all_workers_and_new_in_each_epoch():
    class Shuffled(ours.IterableDataset):
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def __iter__(self):
            info = ours.get_worker_info()
            return iter(self.rng.permutation(20).tolist()[info.id :: info.num_workers])

    pellucid.manual_seed(0)
    loader = ours.DataLoader(Shuffled(), num_workers=2)
    first, second = [[batch.item() for batch in loader] for _ in range(2)]
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second


def test_generators_are_found_wherever_attributes_lead():
    generators = [np.random.default_rng(i) for i in range(7)]

    def closure(x):
        return generators[0].normal(x)

    class Slotted:
        __slots__ = ("rng",)

    class Dataset(ours.Dataset):
        def __init__(self):
            self.rng = generators[1]
            self.options = {"deep": [(Transform(generators[2]),)]}
            self.function = functools.partial(lambda g, x: x, generators[3])
            self.method = generators[4].normal
            self.slotted = Slotted()
            self.slotted.rng = generators[5]
            self.closure = closure
            self.me = self
            self.many = [generators[6]] * 1000
            self.system = random.SystemRandom()

    found = {id(generator) for generator, _ in find_generators([Dataset()])}
    expected = {id(generator) for generator in [*generators[1:4], generators[5], *generators]}
    # A bound C method shows its generator by __self__ only to those who call it; a long container holds samples.
    assert found >= {id(g) for g in (generators[1], generators[2], generators[3], generators[5], generators[0])}
    assert found <= expected


def test_global_generators_are_left_to_the_seed():
    holder = Transform(np.random.mtrand._rand)
    holder.more = random._inst
    assert list(find_generators([holder])) == []


@pytest.mark.parametrize("base_seed", [0, 1, 12345678901234567, 2**63 - 1])
@pytest.mark.parametrize("worker", [0, 7])
def test_numpy_seed_is_pytorchs(base_seed, worker):
    torch = pytest.importorskip("torch")
    assert _generate_state(base_seed, worker) == torch.utils.data._utils.worker._generate_state(base_seed, worker)
