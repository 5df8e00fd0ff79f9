"""Handwritten digits for the parity trainings, as NumPy arrays and as a data set of either framework.

MNIST's test images are read from `../shared/data/mnist` beside the repository; where they are absent, the digits that
are embedded in the package stand in. Nothing here draws a random number outside a data set's `__getitem__`.
"""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

MNIST = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mnist"


def read_idx(path: Path) -> np.ndarray:
    """The array in a gzipped IDX file of unsigned bytes."""
    content = gzip.decompress(path.read_bytes())
    rank = content[3]
    shape = np.frombuffer(content, ">i4", count=rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


@functools.cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 28, 28) in [0, 1] as float32, and labels (n,) as int64."""
    if MNIST.is_dir():
        images = read_idx(MNIST / "t10k-images-idx3-ubyte.gz")
        labels = read_idx(MNIST / "t10k-labels-idx1-ubyte.gz")
        return images[:2000].astype(np.float32) / 255, labels[:2000].astype(np.int64)
    datasets = pytest.importorskip("pellucid.vision.datasets", reason="neither MNIST nor the embedded digits are here")
    pairs = [datasets.Digits(train=True)[index] for index in range(1500)]
    small = np.stack([np.asarray(image, np.float32).reshape(8, 8) for image, _ in pairs])
    large = np.kron(small / small.max(), np.ones((1, 3, 3), np.float32))
    return np.pad(large, ((0, 0), (2, 2), (2, 2))), np.array([int(label) for _, label in pairs])


def image_dataset(torch: ModuleType, augment: bool) -> Any:
    """(1, 28, 28) images; `augment` shifts, mirrors and adds noise, drawn by the framework itself."""
    images, labels = digits()

    class Images(torch.utils.data.Dataset):
        def __init__(self) -> None:
            self.images = torch.from_numpy(images.copy()).unsqueeze(1)
            self.labels = torch.from_numpy(labels.copy())

        def __len__(self) -> int:
            return len(self.labels)

        def __getitem__(self, index: int) -> tuple[Any, Any]:
            image = self.images[index]
            if augment:
                dy, dx = torch.randint(-2, 3, (2,)).tolist()
                image = torch.roll(image, (dy, dx), dims=(1, 2))
                if torch.rand(1).item() < 0.5:
                    image = image.flip(-1)
                image = image + 0.05 * torch.randn(image.shape)
            return image, self.labels[index]

    return Images()


def row_sequences(torch: ModuleType) -> Any:
    """Each image as a sequence of 5 to 28 rows of 28 pixels."""
    images, labels = digits()
    lengths = np.random.default_rng(0).integers(5, 29, len(images))

    class Rows(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(labels)

        def __getitem__(self, index: int) -> tuple[Any, int]:
            return torch.from_numpy(images[index, : lengths[index]].copy()), int(labels[index])

    return Rows()
