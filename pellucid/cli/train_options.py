"""The options of `pellucid train`, apart from the command so that `pellucid --help` loads nothing else."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

NETWORKS = ["small_cnn"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pellucid train`; those that define the run have no default here, so that --resume can tell."""
    parser.add_argument("--data", type=Path, required=True, help="folder with one folder of images for each class")
    parser.add_argument("--model", choices=NETWORKS, help="network to train (small_cnn)")
    parser.add_argument("--output", type=Path, default=Path("runs/train"), help="where results go (runs/train)")
    parser.add_argument("--epochs", type=positive(int), help="passes over the training images (30)")
    parser.add_argument("--batch-size", type=positive(int), help="images a step (64)")
    parser.add_argument("--image-size", type=positive(int), help="side in pixels (the images' own if small, else 32)")
    parser.add_argument("--lr", type=positive(float), help="learning rate at the start (0.004)")
    parser.add_argument("--seed", type=int, help="seed of all random numbers (0)")
    parser.add_argument("--workers", type=positive(int, zero=True), default=0, help="processes that load images (0)")
    parser.add_argument("--resume", action="store_true", help="continue the run in --output from its last checkpoint")


def positive(kind: type, zero: bool = False) -> Callable[[str], float]:
    """An argparse type that admits finite numbers above zero only, or zero too."""

    def parse(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of type {kind.__name__}") from None
        if not (0 < number < math.inf or zero and number == 0):
            raise argparse.ArgumentTypeError(f"{text} is below zero" if zero else f"{text} is not above zero")
        return number

    return parse
