"""`pellucid train`: fit a network to a folder of images, or continue a run that was interrupted."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pellucid
from pellucid.cli.augment import random_affine
from pellucid.cli.errors import CommandError
from pellucid.cli.image_folder import ImageFolder, open_folder
from pellucid.cli.network import SmallCNN
from pellucid.cli.outcome import Outcome
from pellucid.cli.report import Mistake
from pellucid.cli.training import Predictions, Settings, Training, open_checkpoints, predict
from pellucid.utils.data import DataLoader, Subset

NETWORKS = {"small_cnn": SmallCNN}
DEFAULTS = {"model": "small_cnn", "epochs": 30, "batch_size": 64, "lr": 4e-3, "seed": 0, "image_size": None}


@dataclass(frozen=True)
class Plan:
    """What a run is defined by; a resumed run has the same."""

    model: str
    epochs: int
    batch_size: int
    lr: float
    seed: int
    image_size: int | None
    classes: list[str]
    training_images: int


def run_train(options: argparse.Namespace) -> None:
    """Train as the options say; Ctrl-C ends it with a checkpoint to resume from."""
    started = time.monotonic()
    plan_file, folder = options.output / "run.json", options.output / "checkpoints"
    earlier = read_earlier_plan(plan_file) if options.resume else None
    if not options.resume and any(folder.glob("*.pt")):
        raise CommandError(f"{options.output} already holds a run: continue it with --resume, or name another --output")
    size = earlier["image_size"] if earlier else options.image_size
    images, train, validation = open_folder(options.data, size)
    plan = make_plan(options, images, train, earlier)
    print(f"{len(train)} images to learn from and {len(validation)} to validate, {len(plan.classes)} classes")

    pellucid.manual_seed(plan.seed)
    batch_size = min(plan.batch_size, len(train))
    settings = Settings(epochs=plan.epochs, batch_size=batch_size, lr=plan.lr)
    model = NETWORKS[plan.model](images.channels, len(plan.classes))
    training = Training(model, settings, len(train) // batch_size, random_affine)
    checkpoints = open_checkpoints(folder)
    if earlier:
        training.resume(checkpoints)
        print(f"Continuing after epoch {len(training.history)} of {plan.epochs}")
    else:
        options.output.mkdir(parents=True, exist_ok=True)
        plan_file.write_text(json.dumps(vars(plan), indent=2) + "\n", encoding="utf-8")

    held_out = DataLoader(Subset(images, validation), batch_size=256, num_workers=options.workers)
    try:
        loader = training_loader(Subset(images, train), batch_size, options.workers)
        training.fit(loader, held_out, checkpoints)
    except KeyboardInterrupt:
        command = f"pellucid train --data {options.data} --output {options.output} --resume"
        print(f"\nInterrupted; epoch {len(training.history)} is saved. Continue with\n    {command}")
        raise
    predictions = predict(training.average, held_out)
    report(options.output, training, images, validation, predictions, time.monotonic() - started)


def training_loader(images: Subset, batch_size: int, workers: int) -> DataLoader:
    """Shuffled batches, all of one size; worker processes, where wanted, live as long as the run."""
    return DataLoader(
        images,
        batch_size=batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        persistent_workers=workers > 0,
    )


def read_earlier_plan(file: Path) -> dict:
    """The plan of the run to resume."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CommandError(f"there is no run to resume in {file.parent}: {file} is missing") from None
    except ValueError as error:
        raise CommandError(f"cannot resume: {file} is damaged ({error})") from None


def make_plan(options: argparse.Namespace, images: ImageFolder, train: list[int], earlier: dict | None) -> Plan:
    """The options with their defaults, or the earlier run's, which given options and data must not contradict."""
    given = {name: value for name in DEFAULTS if (value := getattr(options, name)) is not None}
    found = {"classes": images.classes, "training_images": len(train)}
    if earlier is None:
        return Plan(**{**DEFAULTS, **given, **found, "image_size": images.size})
    for name, value in {**given, **found}.items():
        if earlier[name] != value:
            raise CommandError(
                f"cannot resume: the run has {name.replace('_', ' ')} {earlier[name]}, but now it is {value}; "
                "give the same data and options, or start a new run with another --output"
            )
    return Plan(**earlier)


def report(
    output: Path, training: Training, images: ImageFolder, shown: list[int], predictions: Predictions, seconds: float
) -> None:
    """Write weights, plot and page, with the mistakes among the validation images."""
    classes = images.classes
    mistakes = []
    for position, label, found, confidence in predictions.mistakes(24):
        pixels = images.raw(shown[position]).transpose(1, 2, 0)
        picture = np.ascontiguousarray(pixels[:, :, 0] if images.channels == 1 else pixels)
        name = images.files[shown[position]].path.name
        mistakes.append(Mistake(picture, classes[label], classes[found], confidence, name))
    facts = {
        "accuracy on the validation images": f"{predictions.accuracy:.2%} of {len(predictions.labels)}",
        "loss on the validation images": f"{predictions.loss:.4f}",
        "epochs": str(training.settings.epochs),
        "time": f"{seconds:.0f} s",
        "pellucid": pellucid.__version__,
    }
    print(f"\n{predictions.accuracy:.2%} of the validation images recognised")
    Outcome("Training report", training, predictions, classes, mistakes, facts).write(
        output, images.size, images.channels, images.mean.flatten().tolist(), images.deviation.flatten().tolist()
    )
