"""The picture of a training run: losses on the left, accuracy on the right, drawn into a NumPy array.

Two panels of lines are all that is drawn here, so that the core install needs no plotting library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

INK, FAINT, PAPER = (40, 40, 46), (224, 224, 230), (255, 255, 255)
BLUE, ORANGE, GREEN = (38, 98, 200), (228, 122, 24), (24, 140, 84)
DETAIL = 2  # everything is drawn at twice the size and averaged down, which smooths the lines

# A character is five columns, two hexadecimal digits each; a column's lowest bit is its top pixel.
GLYPHS = {
    " ": "0000000000", "%": "2313086462", "-": "0808080808", ".": "0060600000",
    "0": "3e5149453e", "1": "00427f4000", "2": "4261514946", "3": "2141454b31", "4": "1814127f10",
    "5": "2745454539", "6": "3c4a494930", "7": "0171090503", "8": "3649494936", "9": "064949291e",
    "a": "2054545478", "b": "7f48444438", "c": "3844444420", "d": "384444487f", "e": "3854545418",
    "f": "087e090102", "g": "0c5252523e", "h": "7f08040478", "i": "00447d4000", "j": "2040443d00",
    "k": "7f10284400", "l": "00417f4000", "m": "7c04180478", "n": "7c08040478", "o": "3844444438",
    "p": "7c14141408", "q": "081414187c", "r": "7c08040408", "s": "4854545420", "t": "043f444020",
    "u": "3c4040207c", "v": "1c2040201c", "w": "3c4030403c", "x": "4428102844", "y": "0c5050503c",
    "z": "4464544c44",
}  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """One line of a panel: a value for each epoch."""

    name: str
    values: list[float]
    colour: tuple[int, int, int]


class Panel:
    """A rectangle of a picture with axes; data coordinates run from `low` to `high` upwards."""

    def __init__(self, picture: np.ndarray, left: int, width: int, low: float, high: float, epochs: int) -> None:
        self.picture = picture
        self.left, self.right = (left + 64) * DETAIL, (left + width - 16) * DETAIL
        self.top, self.bottom = 40 * DETAIL, picture.shape[0] - 52 * DETAIL
        self.low, self.high, self.epochs = low, high, epochs

    def place(self, epoch: float, value: float) -> tuple[float, float]:
        """Row and column of a point; values outside the axes are held at the frame."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        across = (epoch - 1) / max(self.epochs - 1, 1)
        return self.bottom - share * (self.bottom - self.top), self.left + across * (self.right - self.left)

    def draw_axes(self, title: str, unit: str) -> None:
        draw_text(self.picture, self.top - 30 * DETAIL, self.left, title)
        for value in ticks(self.low, self.high):
            row, _ = self.place(1, value)
            draw_line(self.picture, (row, self.left), (row, self.right), FAINT, 1)
            label = f"{value:.10g}{unit}"
            draw_text(self.picture, int(row) - 7 * DETAIL, self.left - (12 * len(label) + 8) * DETAIL, label)
        for epoch in sorted({1, *(int(tick) for tick in ticks(1, self.epochs) if tick >= 1), self.epochs}):
            if epoch not in (1, self.epochs) and self.epochs - epoch < self.epochs / 10:
                continue  # it would run into the last label
            _, column = self.place(epoch, self.low)
            draw_text(self.picture, self.bottom + 7 * DETAIL, int(column) - 6 * len(str(epoch)) * DETAIL, str(epoch))
        draw_text(self.picture, self.bottom + 30 * DETAIL, (self.left + self.right) // 2 - 36 * DETAIL, "epoch")

    def draw_curve(self, curve: Curve, rank: int, at_the_bottom: bool) -> None:
        """The line, and its name in the corner that it leaves free."""
        points = [self.place(epoch, value) for epoch, value in enumerate(curve.values, 1) if math.isfinite(value)]
        for start, end in zip(points, points[1:] or points, strict=False):
            draw_line(self.picture, start, end, curve.colour, 2 * DETAIL)
        row = self.bottom - (26 + 20 * rank) * DETAIL if at_the_bottom else self.top + (8 + 20 * rank) * DETAIL
        draw_text(self.picture, row, self.right - (12 * len(curve.name) + 8) * DETAIL, curve.name, curve.colour)


def plot_history(history: list[dict[str, float]], width: int = 1000, height: int = 360) -> np.ndarray:
    """Losses and accuracy of each epoch as a uint8 picture of shape (height, width, 3)."""
    if not history:
        raise ValueError("there is nothing to plot: the history holds no epoch")
    picture = np.empty((height * DETAIL, width * DETAIL, 3), dtype=np.float32)
    picture[:] = PAPER
    train, validation, accuracy = (
        [epoch[name] for epoch in history] for name in ("loss", "validation_loss", "validation_accuracy")
    )
    top = max([value for value in train + validation if math.isfinite(value)], default=1.0)
    losses = Panel(picture, 0, width // 2, 0.0, top or 1.0, len(history))
    losses.draw_axes("loss", "")
    losses.draw_curve(Curve("training", train, BLUE), 0, at_the_bottom=False)
    losses.draw_curve(Curve("validation", validation, ORANGE), 1, at_the_bottom=False)

    # The first epochs would flatten all that follows, so they may leave the panel below.
    floor = min(100 * sorted(accuracy)[len(accuracy) // 5], 95.0)
    accuracies = Panel(picture, width // 2, width // 2, math.floor(floor / 5) * 5.0, 100.0, len(history))
    accuracies.draw_axes("accuracy", "%")
    accuracies.draw_curve(Curve("validation", [100 * value for value in accuracy], GREEN), 0, at_the_bottom=True)
    small = picture.reshape(height, DETAIL, width, DETAIL, 3).mean((1, 3))
    return small.round().astype(np.uint8)


def ticks(low: float, high: float) -> list[float]:
    """Four to eight round numbers between `low` and `high`."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9) / 4))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 8)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def draw_line(
    picture: np.ndarray, start: tuple[float, float], end: tuple[float, float], colour: tuple[int, int, int], size: int
) -> None:
    """A straight line of square dots of `size` pixels."""
    steps = int(max(abs(end[0] - start[0]), abs(end[1] - start[1]))) + 1
    for share in np.linspace(0, 1, steps + 1):
        row, column = (int(a + share * (b - a)) - size // 2 for a, b in zip(start, end, strict=True))
        picture[max(row, 0) : row + size, max(column, 0) : column + size] = colour


def draw_text(picture: np.ndarray, row: int, column: int, text: str, colour: tuple[int, int, int] = INK) -> None:
    """A line of text, 12 pixels a character in the finished picture; what has no glyph stays blank."""
    scale = 2 * DETAIL
    for place, character in enumerate(text.lower()):
        columns = bytes.fromhex(GLYPHS.get(character, GLYPHS[" "]))
        dots = np.array([[column_bits >> bit & 1 for column_bits in columns] for bit in range(7)], dtype=bool)
        mask = dots.repeat(scale, 0).repeat(scale, 1)
        left = column + place * 6 * scale
        area = picture[max(row, 0) : row + mask.shape[0], max(left, 0) : left + mask.shape[1]]
        area[mask[: area.shape[0], : area.shape[1]]] = colour
