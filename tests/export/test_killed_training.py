"""A training that is killed again and again, and taken up each time, ends with the bits of one that was left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import os, random, signal, sys, time
import pellucid
from pellucid import nn
from pellucid.utils.checkpoints import CheckpointManager
from pellucid.utils.data import DataLoader, TensorDataset

EPOCHS = 12


def train(folder):
    pellucid.manual_seed(0)
    x = pellucid.randn(96, 6)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
    optimizer = pellucid.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = pellucid.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    manager = CheckpointManager(folder, metric="loss")
    found = manager.restore(**parts)
    for epoch in range(found.epoch + 1 if found else 0, EPOCHS):
        total = 0.0
        for inputs, target in DataLoader(data, batch_size=16, shuffle=True):
            loss = nn.functional.cross_entropy(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        manager.save(epoch, epoch=epoch, metrics=total, **parts)
    return b"".join(value.numpy().tobytes() for value in model.state_dict().values())


undisturbed = train(sys.argv[1] + "/whole")
chance = random.Random(0)
kills = 0
while True:
    child = os.fork()
    if child == 0:
        train(sys.argv[1] + "/killed")
        os._exit(0)
    time.sleep(chance.uniform(0.01, 0.08))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        break
    kills += 1
    if kills > 200:
        raise SystemExit("no progress between kills")
assert train(sys.argv[1] + "/killed") == undisturbed, "the weights differ"
print(kills)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the killed process is made by fork")
def test_a_training_killed_at_random_instants_ends_with_the_same_bits(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) >= 3, "the process finished before it could be killed"
