"""The HTML page of a training run: its numbers, its curves and its most confident mistakes, in one file."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np

from pellucid.cli.png import data_address, encode_png
from pellucid.cli.training import Predictions

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #28282e; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
h1, h2 {{ font-weight: 600; line-height: 1.2; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid #e0e0e6; }}
td + td, th + th {{ text-align: right; }}
.plot {{ width: 100%; }}
.mistakes {{ display: flex; flex-wrap: wrap; gap: 1.2rem; }}
.mistakes figure {{ margin: 0; width: 8rem; }}
.mistakes img {{ width: 8rem; height: 8rem; object-fit: contain; image-rendering: pixelated; background: #eee; }}
figcaption {{ font-size: .85rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
<table>{facts}</table>
<h2>Training</h2>
<p>The training loss is measured on augmented images with smoothed labels, so it stays above the validation loss.
Validation uses the exponential average of the weights.</p>
<img class="plot" src="{plot}" alt="Loss and validation accuracy of each epoch">
<h2>Classes</h2>
<table><tr><th>class</th><th>images</th><th>recognised</th></tr>{classes}</table>
<h2>Most confident mistakes</h2>
{mistakes}
</body>
</html>
"""


@dataclass(frozen=True)
class Mistake:
    """A picture (uint8, grey or colour) that was taken for something else."""

    picture: np.ndarray
    label: str
    prediction: str
    confidence: float
    name: str


def write_report(
    title: str,
    facts: dict[str, str],
    plot: bytes,
    predictions: Predictions,
    classes: list[str],
    mistakes: list[Mistake],
) -> str:
    """The page as text; `plot` is a PNG file's content."""
    cells = [(html.escape(name), html.escape(value)) for name, value in facts.items()]
    rows = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in cells)
    figures = "".join(figure_of(mistake) for mistake in mistakes)
    none = "<p>There is none: every image was recognised.</p>"
    return PAGE.format(
        title=html.escape(title),
        facts=rows,
        plot=data_address(plot),
        classes=class_rows(predictions, classes),
        mistakes=f'<div class="mistakes">{figures}</div>' if figures else none,
    )


def class_rows(predictions: Predictions, classes: list[str]) -> str:
    """One table row for each class: how many images it has and how many of them were recognised."""
    labels = predictions.labels.tolist()
    hits = [label for label, found in zip(labels, predictions.logits.argmax(1).tolist(), strict=True) if label == found]
    rows = []
    for index, name in enumerate(classes):
        count, right = labels.count(index), hits.count(index)
        share = f"{right / count:.1%}" if count else "-"
        rows.append(f"<tr><td>{html.escape(name)}</td><td>{count}</td><td>{share}</td></tr>")
    return "".join(rows)


def figure_of(mistake: Mistake) -> str:
    """A mistake's picture with what it is, what it was taken for and how sure the network was."""
    caption = f"{mistake.label}, taken for {mistake.prediction} ({mistake.confidence:.0%})"
    return (
        f'<figure><img src="{data_address(encode_png(mistake.picture))}" alt="{html.escape(caption)}">'
        f"<figcaption>{html.escape(caption)}<br>{html.escape(mistake.name)}</figcaption></figure>"
    )
