"""Images from a folder that holds one folder for each class, with a clear word on everything that does not fit.

`train/` and `val/` folders (or `test/`, `validation/`, `valid/`) inside are taken for what their names say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

import pellucid
from pellucid import Tensor
from pellucid.cli.errors import CommandError
from pellucid.utils.data import Dataset

SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
HELD_OUT = ("val", "valid", "validation", "test")
KEPT_BYTES = 1 << 30  # up to this much, decoded images stay in memory
VALIDATION_SHARE = 0.2
NAMED = 10  # of the unreadable files, this many are named


@dataclass(frozen=True)
class File:
    """One readable image file: where it is, its class and what its header says."""

    path: Path
    label: int
    width: int
    height: int
    is_grey: bool


def pillow() -> ModuleType:
    """Pillow's Image module; without it, an error that says what to install."""
    try:
        from PIL import Image
    except ImportError:
        raise CommandError(
            "reading image files needs Pillow: pip install 'pellucid[vision]' (or pip install pillow)"
        ) from None
    return Image


def list_classes(folder: Path) -> dict[str, list[Path]]:
    """The image files of each class folder, by name; classes without any are left out and said."""
    if not folder.is_dir():
        raise CommandError(f"{folder} is not a folder" if folder.exists() else f"there is no folder {folder}")
    found = {}
    for entry in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        files = sorted(path for path in entry.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
        if files:
            found[entry.name] = files
        else:
            print(f"Class {entry.name!r} is left out: {entry} holds no image")
    if len(found) < 2:
        raise CommandError(why_no_classes(folder, list(found)))
    return found


def why_no_classes(folder: Path, classes: list[str]) -> str:
    """What is wrong with a folder of fewer than two classes, and how it should look."""
    layout = f"expected a folder for each class: {folder}/cats/1.jpg, {folder}/dogs/1.jpg, ..."
    if classes:
        return f"{folder} holds a single class, {classes[0]!r}, so there is nothing to tell apart; {layout}"
    loose = sum(path.suffix.lower() in SUFFIXES for path in folder.iterdir())
    if loose:
        return f"{folder} holds {loose} images but no class folders; {layout}"
    return f"{folder} holds no images ({', '.join(sorted(SUFFIXES))}); {layout}"


def read_headers(classes: dict[str, list[Path]]) -> tuple[list[File], dict[Path, str]]:
    """Size and kind of every image without decoding it, and the files that could not be opened with the reason."""
    image = pillow()
    files, unreadable = [], {}
    for label, paths in enumerate(classes.values()):
        for path in paths:
            try:
                with image.open(path) as opened:
                    is_grey = opened.mode in {"1", "L", "LA"} or opened.mode.startswith("I")
                    width, height = opened.size
                    files.append(File(path, label, width, height, is_grey))
            except Exception as error:  # each format's reader raises its own kinds
                unreadable[path] = str(error) or type(error).__name__
    return files, unreadable


def read_pixels(path: Path, size: int, channels: int) -> np.ndarray:
    """A file as uint8 of shape (channels, size, size): the largest centred square, resized."""
    image = pillow()
    from PIL import ImageOps

    with image.open(path) as opened:
        if opened.format == "JPEG":
            opened.draft(None, (2 * size, 2 * size))  # decodes at a reduced size where that is still large enough
        picture = ImageOps.exif_transpose(opened)
        if picture.mode.startswith("I"):  # 16 bits a pixel, which convert() would clip
            picture = image.fromarray((np.asarray(picture).astype(np.float32) / 257).clip(0, 255).astype(np.uint8))
        if picture.has_transparency_data:
            picture = picture.convert("RGBA")
            picture = image.alpha_composite(image.new("RGBA", picture.size, "white"), picture)
        picture = picture.convert("L" if channels == 1 else "RGB")
        if picture.size != (size, size):
            picture = ImageOps.fit(picture, (size, size), image.Resampling.BILINEAR)
        pixels = np.array(picture, dtype=np.uint8)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1).copy()


def decode(files: list[File], size: int, channels: int) -> tuple[list[File], np.ndarray | None, dict[Path, str]]:
    """Decode every file once: the readable ones, their pixels if these fit in memory, and the unreadable ones."""
    fits = len(files) * channels * size * size <= KEPT_BYTES
    good, pixels, unreadable = [], [], {}
    for file in files:
        try:
            decoded = read_pixels(file.path, size, channels)
        except Exception as error:  # each format's reader raises its own kinds
            unreadable[file.path] = str(error) or type(error).__name__
            continue
        good.append(file)
        if fits:
            pixels.append(decoded)
    return good, np.stack(pixels) if fits and pixels else None, unreadable


def choose_size(files: list[File], wanted: int | None) -> int:
    """The side that images are brought to: `wanted`, or that of most where they are small squares, or 32."""
    sizes = Counter((file.width, file.height) for file in files)
    (width, height), count = sizes.most_common(1)[0]
    size = wanted or (width if 2 * count > len(files) and width == height and 8 <= width <= 64 else 32)
    others = len(files) - sizes[size, size]
    if others:
        largest, smallest = max(sizes), min(sizes)
        span = f"{width}x{height}" if len(sizes) == 1 else "from {}x{} to {}x{}".format(*smallest, *largest)
        print(f"{others} of {len(files)} images are not {size}x{size} ({span}); they are cropped square and resized")
    return size


def tell_unreadable(unreadable: dict[Path, str]) -> None:
    """Name the files that are skipped, the first few with their reason."""
    if not unreadable:
        return
    print(f"{len(unreadable)} unreadable {'file is' if len(unreadable) == 1 else 'files are'} skipped:")
    for path, reason in list(unreadable.items())[:NAMED]:
        print(f"  {path}: {reason}")
    if len(unreadable) > NAMED:
        print(f"  and {len(unreadable) - NAMED} more")


class ImageFolder(Dataset):
    """Normalised images of one size with their class; pixels come from memory or, if too many, from the files."""

    def __init__(
        self, files: list[File], pixels: np.ndarray | None, size: int, channels: int, classes: list[str]
    ) -> None:
        self.files, self.pixels = files, pixels
        self.size, self.channels, self.classes = size, channels, classes
        self.mean = pellucid.zeros(channels, 1, 1)
        self.deviation = pellucid.ones(channels, 1, 1)

    def __len__(self) -> int:
        return len(self.files)

    def raw(self, index: int) -> np.ndarray:
        """The uint8 pixels of an image, (channels, height, width)."""
        if self.pixels is not None:
            return self.pixels[index]
        return read_pixels(self.files[index].path, self.size, self.channels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = pellucid.from_numpy(self.raw(index)).float() / 255
        return (image - self.mean) / self.deviation, self.files[index].label

    def normalise_by(self, indices: Sequence[int]) -> None:
        """Take mean and deviation of each channel from (at most two thousand of) these images."""
        chosen = indices[:: max(1, len(indices) // 2000)]
        pixels = np.stack([self.raw(index) for index in chosen]).astype(np.float32) / 255
        mean, deviation = pixels.mean((0, 2, 3)), pixels.std((0, 2, 3))
        self.mean = pellucid.tensor(mean.tolist()).view(-1, 1, 1)
        self.deviation = pellucid.tensor(np.maximum(deviation, 1e-3).tolist()).view(-1, 1, 1)


def open_folder(folder: Path, wanted_size: int | None) -> tuple[ImageFolder, list[int], list[int]]:
    """The data set of a folder, and the indices of its training and validation images."""
    train, held_out = split_folders(folder)
    classes = list_classes(train)
    files, unreadable = read_headers(classes)
    if held_out:
        others = list_classes(held_out)
        if list(others) != list(classes):
            raise CommandError(f"{train} and {held_out} hold different classes: {list(classes)} and {list(others)}")
        more, also_unreadable = read_headers(others)
        files, unreadable = files + more, unreadable | also_unreadable
    if not files:
        tell_unreadable(unreadable)
        raise CommandError(f"none of the images in {folder} can be read")
    channels = 1 if all(file.is_grey for file in files) else 3
    size = choose_size(files, wanted_size)
    files, pixels, broken = decode(files, size, channels)
    tell_unreadable(unreadable | broken)
    images = ImageFolder(files, pixels, size, channels, list(classes))
    chosen = split_indices(images, held_out)
    images.normalise_by(chosen[0])
    return images, *chosen


def split_folders(folder: Path) -> tuple[Path, Path | None]:
    """The training folder and, where the data comes already split, the one held out."""
    train = folder / "train"
    held_out = next((folder / name for name in HELD_OUT if (folder / name).is_dir()), None)
    return (train, held_out) if train.is_dir() and held_out else (folder, None)


def split_indices(images: ImageFolder, held_out: Path | None) -> tuple[list[int], list[int]]:
    """Training and validation images: as the folders say, or a fifth of each class drawn with a fixed seed."""
    if held_out:
        is_held_out = [held_out in file.path.parents for file in images.files]
        train = [index for index, out in enumerate(is_held_out) if not out]
        validation = [index for index, out in enumerate(is_held_out) if out]
    else:
        train, validation = [], []
        generator = np.random.default_rng(0)
        for label in range(len(images.classes)):
            members = [index for index, file in enumerate(images.files) if file.label == label]
            generator.shuffle(members)
            count = max(1, round(VALIDATION_SHARE * len(members))) if len(members) > 1 else 0
            validation += members[:count]
            train += members[count:]
    if len({images.files[index].label for index in train}) < 2 or not validation:
        raise CommandError(
            f"there are too few readable images: {len(train)} to train on and {len(validation)} to validate with; "
            "two classes with at least two images each are needed"
        )
    return sorted(train), sorted(validation)
