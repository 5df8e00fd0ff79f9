"""Training runs that stop and go on: the same curve, the last and the best files, damaged files."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import pellucid
from pellucid.utils.checkpoints import CheckpointManager

torch = pytest.importorskip("torch")


def names(manager):
    return [int(re.search(r"-(\d+)\.pt$", path.name)[1]) for path in manager.checkpoints()]


class Counter:
    """The least that has a state."""

    def __init__(self, value=0):
        self.value = value

    def state_dict(self):
        return {"value": self.value, "tensor": pellucid.ones(3)}

    def load_state_dict(self, state):
        self.value = state["value"]


def damage(path, place=0.5):
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 0xFF
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


# -- which files are kept -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "losses", "kept", "best"),
    [
        (dict(keep_last=2, metric="loss"), [5, 1, 3, 4, 2], [1, 3, 4], 1),
        (dict(keep_last=2, metric="loss", mode="max"), [5, 1, 3, 4, 2], [0, 3, 4], 0),
        (dict(keep_last=1, keep_best=2, metric="loss"), [5, 1, 3, 2, 4], [1, 3, 4], 1),
        (dict(keep_last=1, keep_best=0, metric="loss"), [1, 2, 3], [2], 2),
        (dict(keep_last=None, metric="loss"), [1, 2, 3], [0, 1, 2], 0),
        (dict(keep_last=2), [1, 2, 3], [1, 2], None),
        (dict(keep_last=1, metric="loss"), [2, 1, 1, 1], [1, 3], 1),
        (dict(keep_last=1, metric="loss"), [3, float("nan"), float("inf"), 4], [0, 3], 0),
        (dict(keep_last=1, metric="loss", mode="max"), [3, float("nan"), 2], [0, 2], 0),
    ],
)
def test_the_last_and_the_best_are_kept(tmp_path, how, losses, kept, best):
    manager = CheckpointManager(tmp_path, **how)
    for step, loss in enumerate(losses):
        manager.save(step, model=Counter(step), metrics={"loss": loss})
    for again in (manager, CheckpointManager(tmp_path, **how)):
        assert names(again) == kept
        assert again.latest().name == f"checkpoint-{kept[-1]:08d}.pt"
        assert (again.best() and again.best().name) == (None if best is None else f"checkpoint-{best:08d}.pt")


def test_other_files_are_left_alone(tmp_path):
    for name in ("checkpoint-1.pt", "checkpoint-00000001.pt.bak", "other-00000001.pt", "notes.txt"):
        (tmp_path / name).write_text("mine")
    manager = CheckpointManager(tmp_path, keep_last=1)
    for step in range(3):
        manager.save(step, model=Counter())
    assert names(manager) == [2] and len(list(tmp_path.iterdir())) == 5


def test_a_step_saved_again_replaces_its_file(tmp_path):
    manager = CheckpointManager(tmp_path, metric="loss")
    manager.save(1, model=Counter(1), metrics=0.5)
    manager.save(1, model=Counter(2), metrics=0.25)
    target = Counter()
    assert manager.restore(model=target).metrics == {"loss": 0.25} and target.value == 2


# -- what is restored -----------------------------------------------------------------------------------------------


def test_everything_comes_back(tmp_path):
    manager = CheckpointManager(tmp_path, metric="loss")
    parts = {
        name: Counter(position) for position, name in enumerate(("model", "optimizer", "scheduler", "scaler", "ema"))
    }
    path = manager.save(
        7,
        epoch=3,
        metrics={"loss": pellucid.tensor(0.5), "accuracy": 0.9},
        extra={"position": [1, 2], "t": pellucid.ones(2)},
        **parts,
    )
    targets = {name: Counter(-1) for name in parts}
    found = manager.restore(**targets)
    assert {name: each.value for name, each in targets.items()} == {name: each.value for name, each in parts.items()}
    assert (found.path, found.step, found.epoch, found.metrics) == (
        path,
        7,
        3,
        {"loss": 0.5, "accuracy": pytest.approx(0.9)},
    )
    assert found.extra["position"] == [1, 2] and found.extra["t"].tolist() == [1, 1]


def test_several_objects_of_a_kind(tmp_path):
    manager = CheckpointManager(tmp_path)
    manager.save(1, model={"generator": Counter(1), "critic": Counter(2)}, optimizer=[Counter(3), Counter(4)])
    models, optimizers = {"generator": Counter(), "critic": Counter()}, [Counter(), Counter()]
    manager.restore(model=models, optimizer=optimizers)
    assert [models["generator"].value, models["critic"].value, *(each.value for each in optimizers)] == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="2 objects, and is restored into 1"):
        manager.restore(optimizer=[Counter()])
    with pytest.raises(RuntimeError, match="keys"):
        manager.restore(model={"generator": Counter()})


def test_random_generators_go_on_where_they_were(tmp_path):
    manager = CheckpointManager(tmp_path)

    def draw():
        return random.random(), np.random.rand(2).tolist(), np.random.normal(), pellucid.rand(3).tolist()

    np.random.normal()  # leaves a second normal number in NumPy's state
    manager.save(1)
    expected = draw()
    draw()
    manager.restore()
    assert draw() == expected
    manager.restore(random_state=False)
    assert draw() != expected


def test_an_empty_folder_and_missing_states(tmp_path):
    manager = CheckpointManager(tmp_path / "new" / "folder")
    assert manager.restore(model=Counter()) is None and manager.latest() is None and manager.best() is None
    manager.save(1, model=Counter())
    with pytest.raises(RuntimeError, match="has no state for ema, optimizer; it has model"):
        manager.restore(model=Counter(), optimizer=Counter(), ema=Counter())


@pytest.mark.parametrize(
    "harm",
    [
        damage,
        cut,
        lambda path: path.write_bytes(b""),
        lambda path: damage(path, 0.1),
        lambda path: path.write_bytes(b"x" * 999),
    ],
)
def test_a_damaged_newest_file_is_skipped_with_a_warning(tmp_path, harm):
    manager = CheckpointManager(tmp_path, metric="loss")
    for step in range(3):
        manager.save(step, model=Counter(step), metrics=float(3 - step))
    harm(manager.latest())
    target = Counter(-1)
    with pytest.warns(UserWarning, match="checkpoint-00000002.pt cannot be read and is skipped") as caught:
        assert CheckpointManager(tmp_path, metric="loss").restore(model=target).step == 1
    assert target.value == 1 and caught[0].filename == __file__


def test_when_all_are_damaged_it_is_an_error_and_nothing_changes(tmp_path):
    manager = CheckpointManager(tmp_path)
    for step in range(2):
        cut(manager.save(step, model=Counter(step)))
    target = Counter(-1)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="none of the 2 checkpoints"):
        manager.restore(model=target)
    assert target.value == -1
    with pytest.raises(RuntimeError):
        manager.restore(manager.latest(), model=target)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    manager = CheckpointManager(tmp_path)
    with pytest.raises(TypeError, match="Counter, which load\\(\\) refuses"):
        manager.save(1, extra={"config": Counter()})
    with pytest.raises(TypeError, match="no state_dict"):
        manager.save(1, model=object())
    with pytest.raises(ValueError, match="no 'loss'"):
        CheckpointManager(tmp_path, metric="loss").save(1, metrics={"other": 1.0})
    assert names(manager) == []


@pytest.mark.parametrize(
    "how", [dict(mode="least"), dict(keep_last=0), dict(keep_best=-1), dict(prefix="a/b"), dict(prefix="")]
)
def test_settings_are_checked(tmp_path, how):
    with pytest.raises(ValueError):
        CheckpointManager(tmp_path, **how)


def test_leftovers_of_killed_saves_are_removed(tmp_path):
    from pellucid.engine.export.atomic import _host

    (tmp_path / f".checkpoint-00000001.pt.{_host()}-999999999-0123abcd.tmp").touch()
    CheckpointManager(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_pytorch_opens_the_files(tmp_path):
    path = CheckpointManager(tmp_path).save(5, model=Counter(4), extra=[1, "x"])
    content = torch.load(path, weights_only=True)
    assert content["step"] == 5 and content["state"]["model"]["value"] == 4 and content["extra"] == [1, "x"]


# -- a training run -------------------------------------------------------------------------------------------------


class Run:
    """A small training with everything that has a state: dropout, momentum, a schedule, an average, shuffling."""

    def __init__(self, folder):
        random.seed(0)
        np.random.seed(0)
        pellucid.manual_seed(0)
        nn = pellucid.nn
        self.model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
        self.ema = pellucid.optim.swa_utils.AveragedModel(
            self.model, multi_avg_fn=pellucid.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        )
        self.optimizer = pellucid.optim.Adam(self.model.parameters(), lr=0.01)
        self.scheduler = pellucid.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=20)
        self.inputs = pellucid.randn(32, 4)
        self.manager = CheckpointManager(folder, metric="val_loss")

    def epoch(self, number):
        order = list(range(32))
        random.shuffle(order)
        total = 0.0
        for start in range(0, 32, 8):
            x = self.inputs[pellucid.tensor(order[start : start + 8])] + float(np.random.rand()) * 0.01
            loss = ((self.model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.ema.update_parameters(self.model)
            total += loss.item()
        self.scheduler.step()
        return total

    def parts(self):
        return dict(model=self.model, optimizer=self.optimizer, scheduler=self.scheduler, ema=self.ema)

    def train(self, epochs):
        found = self.manager.restore(**self.parts())
        curve = list(found.extra) if found else []
        for number in range(len(curve), epochs):
            curve.append(self.epoch(number))
            self.manager.save(number, epoch=number, metrics=curve[-1], extra=list(curve), **self.parts())
        return curve


def test_a_run_that_is_taken_up_again_has_the_same_curve(tmp_path):
    whole = Run(tmp_path / "whole").train(8)
    assert len(set(whole)) == 8
    assert Run(tmp_path / "parts").train(3) == whole[:3]
    assert Run(tmp_path / "parts").train(5) == whole[:5]
    cut(Run(tmp_path / "parts").manager.latest())
    with pytest.warns(UserWarning, match="skipped"):
        assert Run(tmp_path / "parts").train(8) == whole
