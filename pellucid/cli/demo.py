"""`pellucid demo`: train a network on handwritten digits, interrupt it, resume it, and report what it learned."""

from __future__ import annotations

import shutil
import time
from functools import partial
from pathlib import Path

import pellucid
from pellucid.cli.augment import random_affine
from pellucid.cli.digits import CLASSES, Digits, load_digits
from pellucid.cli.network import SmallCNN
from pellucid.cli.outcome import Outcome
from pellucid.cli.report import Mistake
from pellucid.cli.training import Predictions, Settings, Training, open_checkpoints, predict
from pellucid.utils.checkpoints import CheckpointManager
from pellucid.utils.data import DataLoader

YOUR_OWN = """
The same on your own images, one folder for each class (photos/cats/1.jpg, photos/dogs/1.jpg, ...):

    pip install 'pellucid[vision]'
    pellucid train --data photos --model small_cnn
"""


def run_demo(output: Path, epochs: int, seed: int) -> float:
    """Train, report, and return the accuracy on the test images."""
    started = time.monotonic()
    digits = load_digits()
    train, validation, test = len(digits.train), len(digits.validation), len(digits.test)
    print(f"Handwritten digits, 8x8 pixels: {train} to learn from, {validation} to validate, {test} to test.")
    settings = Settings(epochs=epochs)
    shutil.rmtree(output / "checkpoints", ignore_errors=True)
    checkpoints = open_checkpoints(output / "checkpoints")

    pellucid.manual_seed(seed)
    training = start(digits, settings)
    size = sum(parameter.numel() for parameter in training.model.parameters())
    print(f"A residual CNN of {size:,} parameters, {epochs} epochs.\n")
    halfway = epochs // 2
    if halfway:
        fit(training, digits, checkpoints, until=halfway)
        print(f"\nStopping after epoch {halfway}, as if the machine went down. A new network continues from the file")
        print(f"{checkpoints.latest()}: weights, optimiser, schedule and random numbers.\n")
        pellucid.manual_seed(seed + 1)  # whatever a new process would start from: the checkpoint replaces it
        training = start(digits, settings)
        training.resume(checkpoints)
    fit(training, digits, checkpoints)

    predictions = predict(training.average, loader_of(digits.test))
    seconds = time.monotonic() - started
    report(output, training, digits, predictions, seconds)
    print(f"\n{predictions.accuracy:.2%} of the test images recognised, {seconds:.0f} seconds in all.")
    print(YOUR_OWN)
    return predictions.accuracy


def start(digits: Digits, settings: Settings) -> Training:
    """A fresh network with its optimiser."""
    steps = len(digits.train) // settings.batch_size
    paper = -digits.mean / digits.deviation
    return Training(SmallCNN(1, len(CLASSES)), settings, steps, partial(random_affine, background=paper))


def fit(training: Training, digits: Digits, checkpoints: CheckpointManager, until: int | None = None) -> None:
    """Train on the digits up to an epoch."""
    train = DataLoader(digits.train, batch_size=training.settings.batch_size, shuffle=True, drop_last=True)
    training.fit(train, loader_of(digits.validation), checkpoints, until)


def loader_of(part: pellucid.utils.data.Dataset) -> DataLoader:
    """The images of a part in order, in large batches."""
    return DataLoader(part, batch_size=256)


def report(output: Path, training: Training, digits: Digits, predictions: Predictions, seconds: float) -> None:
    """Write weights, plot and page."""
    images = digits.test.tensors[0] * digits.deviation + digits.mean
    mistakes = [
        Mistake(((1 - images[index, 0]) * 255).round().to(pellucid.uint8).numpy(), CLASSES[label], CLASSES[found],
                confidence, f"test image {index}")
        for index, label, found, confidence in predictions.mistakes(12)
    ]  # fmt: skip
    facts = {
        "data": "UCI optical recognition of handwritten digits, 8x8 pixels",
        "accuracy on the test images": f"{predictions.accuracy:.2%} of {len(predictions.labels)}",
        "loss on the test images": f"{predictions.loss:.4f}",
        "epochs": str(training.settings.epochs),
        "time": f"{seconds:.0f} s",
        "pellucid": pellucid.__version__,
    }
    outcome = Outcome("Handwritten digits", training, predictions, CLASSES, mistakes, facts)
    outcome.write(output, image_size=8, channels=1, mean=[digits.mean], deviation=[digits.deviation])
