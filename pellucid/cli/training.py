"""The training loop behind `pellucid demo` and `pellucid train`, and what is computed from the trained network.

It is written as a user would write it, with public names alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor, nn
from pellucid.cli.errors import CommandError
from pellucid.cli.progress import Bar, Progress
from pellucid.nn.utils import clip_grad_norm_
from pellucid.optim import AdamW
from pellucid.optim.lr_scheduler import CosineAnnealingLR
from pellucid.optim.swa_utils import AveragedModel
from pellucid.utils.checkpoints import CheckpointManager
from pellucid.utils.data import DataLoader

History = list[dict[str, float]]
METRIC = "validation_accuracy"


@dataclass(frozen=True)
class Settings:
    """What the training is done with; `average_decay` is that of the exponential average of the weights."""

    epochs: int = 30
    batch_size: int = 64
    lr: float = 4e-3
    weight_decay: float = 0.05
    label_smoothing: float = 0.05
    largest_gradient: float = 1.0
    average_decay: float = 0.98


def open_checkpoints(folder: Path) -> CheckpointManager:
    """The checkpoints of a run: the last two, and the one that did best on the validation images."""
    return CheckpointManager(folder, keep_last=2, metric=METRIC, mode="max")


@dataclass(frozen=True)
class Predictions:
    """What a network says of a data set: (N, classes) logits beside the (N,) true labels."""

    logits: Tensor
    labels: Tensor

    @property
    def accuracy(self) -> float:
        return (self.logits.argmax(1) == self.labels).float().mean().item()

    @property
    def loss(self) -> float:
        return F.cross_entropy(self.logits, self.labels).item()

    def mistakes(self, count: int) -> list[tuple[int, int, int, float]]:
        """(index, label, prediction, confidence) of the `count` wrong answers given with the most confidence."""
        confidence, predicted = self.logits.softmax(1).max(1)
        wrong = (predicted != self.labels).nonzero().flatten()
        order = wrong[confidence[wrong].argsort(descending=True)][:count]
        return [
            (index, self.labels[index].item(), predicted[index].item(), confidence[index].item())
            for index in order.tolist()
        ]


def predict(model: nn.Module, loader: DataLoader) -> Predictions:
    """The network's logits for all that the loader gives, in evaluation mode and without a graph."""
    model.eval()
    with pellucid.no_grad():
        batches = [(model(images), labels) for images, labels in loader]
    return Predictions(pellucid.cat([logits for logits, _ in batches]), pellucid.cat([labels for _, labels in batches]))


def average_with(decay: float) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]:
    """An exponential average that forgets faster at first, so that the untrained weights leave it soon."""

    @pellucid.no_grad()
    def average(averaged: Sequence[Tensor], current: Sequence[Tensor], count: Tensor | int) -> None:
        share = 1 - min(decay, (1 + int(count)) / (10 + int(count)))
        for mean, value in zip(averaged, current, strict=True):
            if mean.is_floating_point():
                mean.lerp_(value, share)
            else:  # BatchNorm's count of batches
                mean.copy_(value)

    return average


class Training:
    """A network, its averaged copy, optimiser, schedule and history: all that a checkpoint holds."""

    def __init__(
        self, model: nn.Module, settings: Settings, steps_per_epoch: int, augment: Callable[[Tensor], Tensor]
    ) -> None:
        self.model, self.settings, self.augment = model, settings, augment
        self.average = AveragedModel(model, multi_avg_fn=average_with(settings.average_decay), use_buffers=True)
        self.optimizer = AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        self.scheduler = CosineAnnealingLR(self.optimizer, T_max=settings.epochs * steps_per_epoch)
        self.steps_per_epoch = steps_per_epoch
        self.history: History = []

    def resume(self, checkpoints: CheckpointManager) -> None:
        """Go back to the newest checkpoint, random numbers included, so that the run ends as if never interrupted."""
        found = checkpoints.restore(**self._parts())
        if found is None:
            raise CommandError(f"there is no checkpoint to resume from in {checkpoints.folder}")
        self.history = found.extra

    def save(self, checkpoints: CheckpointManager) -> None:
        """Write everything down, as of the end of an epoch or before the first."""
        epoch = len(self.history)
        accuracy = self.history[-1][METRIC] if self.history else 0.0
        checkpoints.save(epoch, epoch=epoch, metrics={METRIC: accuracy}, extra=self.history, **self._parts())

    def fit(
        self, train: DataLoader, validation: DataLoader, checkpoints: CheckpointManager, until: int | None = None
    ) -> None:
        """Train up to epoch `until` (default: the last), with a checkpoint after each epoch and before the first."""
        epochs, last = self.settings.epochs, until or self.settings.epochs
        if not self.history:
            self.save(checkpoints)
        with Progress(last * self.steps_per_epoch, len(self.history) * self.steps_per_epoch) as bar:
            for epoch in range(len(self.history) + 1, last + 1):
                bar.set_description(f"epoch {epoch}/{epochs}")
                lr = self.scheduler.get_last_lr()[0]
                loss = self.train_epoch(train, bar)
                found = predict(self.average, validation)
                self.history.append({"loss": loss, "validation_loss": found.loss, METRIC: found.accuracy, "lr": lr})
                self.save(checkpoints)
                bar.write(
                    f"epoch {epoch:3}/{epochs}   loss {loss:.4f}   validation loss {found.loss:.4f}   "
                    f"validation accuracy {found.accuracy:.2%}   lr {lr:.2e}"
                )

    def train_epoch(self, loader: DataLoader, bar: Bar) -> float:
        """One pass over the training images; returns the mean loss."""
        self.model.train()
        total, seen = 0.0, 0
        for images, labels in loader:
            logits = self.model(self.augment(images))
            loss = F.cross_entropy(logits, labels, label_smoothing=self.settings.label_smoothing)
            if not math.isfinite(value := loss.item()):
                raise FloatingPointError(f"the loss became {value}; start again with a smaller learning rate")
            self.optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(self.model.parameters(), self.settings.largest_gradient)
            self.optimizer.step()
            self.scheduler.step()
            self.average.update_parameters(self.model)
            total, seen = total + value * len(labels), seen + len(labels)
            bar.update()
        return total / seen

    def _parts(self) -> dict[str, Any]:
        return {"model": self.model, "ema": self.average, "optimizer": self.optimizer, "scheduler": self.scheduler}
