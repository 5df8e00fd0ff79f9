"""Folders of images as people have them: empty, unsorted, damaged, of all sizes and kinds."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pellucid.cli.errors import CommandError
from pellucid.cli.image_folder import open_folder, read_pixels

image = pytest.importorskip("PIL.Image")


def save(path: Path, mode: str = "RGB", size: tuple[int, int] = (12, 12), colour=None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image.new(mode, size, colour).save(path)


def make(folder: Path, per_class: int = 4, **how) -> Path:
    for name in ("cats", "dogs"):
        for index in range(per_class):
            save(folder / name / f"{index}.png", **how)
    return folder


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ([], "holds no images"),
        (["notes.txt"], "holds no images"),
        (["1.png", "2.png"], "holds 2 images but no class folders"),
        (["cats/1.png", "cats/2.png"], "a single class, 'cats'"),
        (["cats/1.png", "dogs/readme.txt"], "a single class, 'cats'"),
        (["cats/1.png", "dogs/1.png"], "too few readable images"),
    ],
)
def test_a_folder_that_cannot_be_learned_from_is_refused(tmp_path, layout, message):
    for name in layout:
        if name.endswith(".png"):
            save(tmp_path / name)
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("-")
    with pytest.raises(CommandError, match=message):
        open_folder(tmp_path, None)


def test_no_folder_at_all(tmp_path):
    with pytest.raises(CommandError, match="there is no folder"):
        open_folder(tmp_path / "missing", None)
    (tmp_path / "file").write_text("-")
    with pytest.raises(CommandError, match="is not a folder"):
        open_folder(tmp_path / "file", None)


def test_unreadable_files_are_named_and_skipped(tmp_path, capsys):
    make(tmp_path, 6)
    (tmp_path / "cats" / "text.jpg").write_text("not an image")
    whole = (tmp_path / "cats" / "0.png").read_bytes()
    (tmp_path / "dogs" / "half.png").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "dogs" / "empty.png").write_bytes(b"")
    images, train, validation = open_folder(tmp_path, None)
    told = capsys.readouterr().out
    assert "3 unreadable files are skipped" in told
    assert all(name in told for name in ("text.jpg", "half.png", "empty.png"))
    assert len(images) == len(train) + len(validation) == 12


def test_only_unreadable_files(tmp_path):
    for name in ("cats", "dogs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_text("-")
    with pytest.raises(CommandError, match="none of the images"):
        open_folder(tmp_path, None)


def test_other_sizes_are_resized_and_said(tmp_path, capsys):
    make(tmp_path, 5, size=(16, 16))
    save(tmp_path / "cats" / "wide.png", size=(40, 20))
    images, *_ = open_folder(tmp_path, None)
    assert images.size == 16 and images[5][0].shape == (3, 16, 16)
    assert "1 of 11 images are not 16x16 (from 16x16 to 40x20)" in capsys.readouterr().out
    assert open_folder(tmp_path, 24)[0].size == 24
    make(tmp_path / "large", 5, size=(300, 200))
    assert open_folder(tmp_path / "large", None)[0].size == 32


def test_a_fifth_of_each_class_is_held_out_and_always_the_same(digit_folder):
    images, train, validation = open_folder(digit_folder, None)
    assert not set(train) & set(validation) and len(train) == 96
    assert [sum(images.files[index].label == label for index in validation) for label in range(3)] == [8, 8, 8]
    assert open_folder(digit_folder, None)[1:] == (train, validation)
    pixels = np.stack([images[index][0].numpy() for index in train])
    assert images.channels == 1 and abs(pixels.mean()) < 1e-3 and abs(pixels.std() - 1) < 1e-3


def test_a_folder_that_is_already_split(tmp_path):
    make(tmp_path / "train", 5)
    make(tmp_path / "val", 2)
    images, train, validation = open_folder(tmp_path, None)
    assert (len(train), len(validation), images.classes) == (10, 4, ["cats", "dogs"])
    assert all("val" in images.files[index].path.parts for index in validation)
    shutil.rmtree(tmp_path / "val" / "dogs")
    save(tmp_path / "val" / "cows" / "1.png")
    with pytest.raises(CommandError, match="different classes"):
        open_folder(tmp_path, None)


def test_kinds_of_pixels(tmp_path):
    image.fromarray(np.full((4, 4), 257 * 200, np.uint16)).save(tmp_path / "deep.png")
    assert (read_pixels(tmp_path / "deep.png", 4, 1) == 200).all()
    image.new("RGBA", (4, 4), (10, 20, 30, 0)).save(tmp_path / "clear.png")
    assert (read_pixels(tmp_path / "clear.png", 4, 3) == 255).all()
    image.new("P", (4, 4)).save(tmp_path / "palette.gif")
    assert read_pixels(tmp_path / "palette.gif", 2, 3).shape == (3, 2, 2)
    image.new("CMYK", (64, 48)).save(tmp_path / "print.jpg")
    assert read_pixels(tmp_path / "print.jpg", 16, 3).shape == (3, 16, 16)
    image.new("1", (9, 9), 1).save(tmp_path / "bit.png")
    assert (read_pixels(tmp_path / "bit.png", 9, 1) == 255).all()


def test_images_beyond_the_memory_limit_come_from_their_files(digit_folder, monkeypatch):
    kept, train, _ = open_folder(digit_folder, None)
    monkeypatch.setattr("pellucid.cli.image_folder.KEPT_BYTES", 0)
    lazy, same, _ = open_folder(digit_folder, None)
    assert lazy.pixels is None and kept.pixels is not None and same == train
    np.testing.assert_array_equal(lazy[7][0].numpy(), kept[7][0].numpy())
