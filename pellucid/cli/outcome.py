"""What a finished training leaves in its folder: weights, plot and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pellucid
from pellucid.cli.plot import plot_history
from pellucid.cli.png import encode_png
from pellucid.cli.report import Mistake, write_report
from pellucid.cli.training import Predictions, Training


@dataclass(frozen=True)
class Outcome:
    """A trained network with what it says of images that it has not seen."""

    title: str
    training: Training
    predictions: Predictions
    classes: list[str]
    mistakes: list[Mistake]
    facts: dict[str, str]

    def write(self, folder: Path, image_size: int, channels: int, mean: list[float], deviation: list[float]) -> None:
        """Write model.pt (the averaged weights and all that is needed to use them), history.png and report.html."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "model": self.training.average.module.state_dict(),
            "network": "small_cnn",
            "classes": self.classes,
            "channels": channels,
            "image_size": image_size,
            "mean": mean,
            "std": deviation,
        }
        pellucid.save(content, folder / "model.pt")
        plot = encode_png(plot_history(self.training.history))
        (folder / "history.png").write_bytes(plot)
        page = write_report(self.title, self.facts, plot, self.predictions, self.classes, self.mistakes)
        (folder / "report.html").write_text(page, encoding="utf-8")
        print(f"\nWritten to {folder}: report.html, history.png and model.pt, which PyTorch opens too")
