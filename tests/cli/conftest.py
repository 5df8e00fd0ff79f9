"""Small folders of images for the commands to read."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def digit_folder(tmp_path_factory) -> Path:
    """Forty 8x8 images of each of three digits, one folder a digit."""
    image = pytest.importorskip("PIL.Image")
    from pellucid.cli.digits import load_images

    folder = tmp_path_factory.mktemp("digits")
    pixels, labels = load_images()
    for digit in range(3):
        (folder / f"digit {digit}").mkdir()
        for index in np.flatnonzero(labels == digit)[:40]:
            ink = (255 - pixels[index] * 15.9).astype(np.uint8)
            image.fromarray(ink).save(folder / f"digit {digit}" / f"{index}.png")
    return folder
