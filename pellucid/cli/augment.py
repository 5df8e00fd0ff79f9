"""Random shifts, rotations and zooms of a whole batch at once, drawn from the default generator."""

from __future__ import annotations

import math

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor


def random_affine(
    images: Tensor, degrees: float = 10.0, shift: float = 0.1, zoom: float = 0.1, background: float | None = None
) -> Tensor:
    """Move each image of an (N, C, H, W) batch on its own, by bilinear interpolation.

    `degrees` bounds the rotation, `shift` the move as a share of the image's side, `zoom` the change of size. What
    comes in from outside is `background` or, without one, the nearest pixel of the border.
    """
    count = len(images)
    angle, size = spread(count, math.radians(degrees)), 1 + spread(count, zoom)
    across, down = spread(count, 2 * shift), spread(count, 2 * shift)  # the grid's coordinates run from -1 to 1
    cosine, sine = size * angle.cos(), size * angle.sin()
    rows = pellucid.stack([cosine, -sine, across, sine, cosine, down], dim=1)
    grid = F.affine_grid(rows.view(count, 2, 3), list(images.shape), align_corners=False)
    if background is None:
        return F.grid_sample(images, grid, padding_mode="border", align_corners=False)
    return F.grid_sample(images - background, grid, align_corners=False) + background


def spread(count: int, bound: float) -> Tensor:
    """`count` numbers, uniform between -bound and bound."""
    return (2 * pellucid.rand(count) - 1) * bound
