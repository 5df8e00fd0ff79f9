"""The handwritten digits that are part of the package (data/SOURCE.md says whose they are), split in three."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pellucid
from pellucid import Tensor
from pellucid.utils.data import TensorDataset

FILE = Path(__file__).parent / "data" / "optical_digits.csv.gz"
TEST, VALIDATION = 450, 150
CLASSES = [str(digit) for digit in range(10)]


@dataclass(frozen=True)
class Digits:
    """Normalised images with labels, in three parts; `mean` and `deviation` are the training part's."""

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset
    mean: float
    deviation: float


def load_images() -> tuple[np.ndarray, np.ndarray]:
    """All 1,797 images as uint8 of shape (1797, 8, 8) with values 0 to 16, and their digits as int64."""
    with gzip.open(FILE, "rt", encoding="ascii") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.uint8)
    return table[:, :64].reshape(-1, 8, 8), table[:, 64].astype(np.int64)


def load_digits() -> Digits:
    """1,197 images to learn from, 150 to validate and 450 to test on: always the same ones, drawn at random once.

    The file is in the order of its writers, so the parts share writers: the score is for new images by known hands.
    """
    images, labels = load_images()
    pixels = pellucid.from_numpy(images).float().unsqueeze(1) / 16
    order = pellucid.from_numpy(np.random.default_rng(0).permutation(len(labels)))
    test, validation, train = order[:TEST], order[TEST : TEST + VALIDATION], order[TEST + VALIDATION :]
    mean, deviation = pixels[train].mean().item(), pixels[train].std().item()
    normalised, digits = (pixels - mean) / deviation, pellucid.from_numpy(labels)

    def part(indices: Tensor) -> TensorDataset:
        return TensorDataset(normalised[indices], digits[indices])

    return Digits(part(train), part(validation), part(test), mean, deviation)
