"""The PNG files, the plot and the report page that commands write, against Pillow and an HTML parser."""

import base64
import html.parser
import io

import numpy as np
import pytest

from pellucid.cli.plot import plot_history, ticks
from pellucid.cli.png import data_address, encode_png

HISTORY = [
    {"loss": 2.0 / (epoch + 1), "validation_loss": 1.5 / (epoch + 1), "validation_accuracy": 1 - 0.5 / (epoch + 1)}
    for epoch in range(12)
]


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (8, 3, 3), (1, 9, 3)])
def test_pillow_reads_the_same_pixels(shape):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    opened = image.open(io.BytesIO(encode_png(pixels)))
    assert opened.mode == ("L" if len(shape) == 2 else "RGB")
    np.testing.assert_array_equal(np.asarray(opened), pixels)


@pytest.mark.parametrize("pixels", [np.zeros((2, 2)), np.zeros(4, np.uint8), np.zeros((2, 2, 4), np.uint8)])
def test_what_is_no_picture_is_refused(pixels):
    with pytest.raises(ValueError, match="uint8"):
        encode_png(pixels)


def test_data_address_holds_the_file():
    png = encode_png(np.zeros((2, 2), np.uint8))
    assert base64.b64decode(data_address(png).removeprefix("data:image/png;base64,")) == png


def test_plot_shows_every_curve():
    picture = plot_history(HISTORY)
    assert picture.shape == (360, 1000, 3) and picture.dtype == np.uint8
    blue, orange, green = ([38, 98, 200], [228, 122, 24], [24, 140, 84])
    found = {tuple(pixel) for pixel in picture.reshape(-1, 3).tolist()}
    assert {tuple(blue), tuple(orange), tuple(green)} <= found
    falling = np.argwhere((picture == blue).all(2) & (np.arange(1000) < 300)[None, :])
    first, last = falling[falling[:, 1].argmin()], falling[falling[:, 1].argmax()]
    assert first[0] < last[0], "a loss that falls is a line that goes down"


@pytest.mark.parametrize("history", [HISTORY[:1], HISTORY[:2], [{**HISTORY[0], "validation_loss": float("nan")}] * 3])
def test_plot_of_short_and_broken_histories(history):
    assert plot_history(history).std() > 0


def test_plot_of_nothing_says_so():
    with pytest.raises(ValueError, match="no epoch"):
        plot_history([])


@pytest.mark.parametrize(("low", "high"), [(0, 2.3), (95, 100), (0, 0.004), (1, 40), (1, 2), (0, 1)])
def test_ticks_are_few_round_and_inside(low, high):
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 9 and all(low - 1e-9 <= mark <= high + 1e-9 for mark in marks)


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in {"src", "href"}]
        if tag not in {"meta", "img", "br", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_report_is_one_well_formed_page_without_outside_files():
    pellucid = pytest.importorskip("pellucid")
    from pellucid.cli.report import Mistake, write_report
    from pellucid.cli.training import Predictions

    logits = pellucid.tensor([[4.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    predictions = Predictions(logits, pellucid.tensor([0, 1, 1]))
    assert [mistake[:3] for mistake in predictions.mistakes(5)] == [(1, 1, 0)]
    mistake = Mistake(np.zeros((8, 8), np.uint8), "<cat>", "dog", 0.9, "a&b.png")
    page = write_report("A & B", {"accuracy": "<1"}, encode_png(np.zeros((2, 2), np.uint8)), predictions,
                        ["<cat>", "dog"], [mistake])  # fmt: skip
    tags = Tags()
    tags.feed(page)
    assert not tags.open and all(address.startswith("data:") for address in tags.addresses)
    assert "&lt;cat&gt;, taken for dog (90%)" in page and "<cat>" not in page and "50.0%" in page
