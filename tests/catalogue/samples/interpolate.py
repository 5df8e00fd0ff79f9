"""Resampling: interpolate, affine grids, grid sampling."""

from __future__ import annotations

from ..table import Case, Make, Sample, call, pairs

F = "nn.functional."
INEXACT = ("float32", "float64")


def resized(make: Make) -> list[Sample]:
    signal, image, volume = (2, 3, 5), (1, 2, 4, 5), (1, 2, 3, 4, 2)
    cases = [
        *((signal, mode) for mode in ("nearest", "nearest-exact", "area")),
        *((image, mode) for mode in ("nearest", "nearest-exact", "area")),
        *((volume, mode) for mode in ("nearest", "nearest-exact", "area")),
    ]
    found = [call(make(*shape), scale_factor=2, mode=mode) for shape, mode in cases]
    found += [call(make(*shape), size=(7, 3, 5)[: len(shape) - 2], mode=mode) for shape, mode in cases]
    for shape, mode in ((signal, "linear"), (image, "bilinear"), (image, "bicubic"), (volume, "trilinear")):
        for align in (False, True):
            found.append(call(make(*shape), scale_factor=2, mode=mode, align_corners=align))
            found.append(call(make(*shape), size=(3, 7, 3)[: len(shape) - 2], mode=mode, align_corners=align))
    found += [
        call(make(*image), scale_factor=(1.5, 0.7), mode="bilinear"),
        call(make(*image), scale_factor=1.3, mode="bilinear", recompute_scale_factor=True),
        call(make(*signal), scale_factor=0.6, mode="linear"),
        call(make(1, 2, 8, 8), size=(3, 5), mode="bilinear", antialias=True),
        call(make(1, 2, 8, 8), size=(3, 5), mode="bicubic", antialias=True),
        call(make(*image), size=6),
    ]
    return found


def sampled(make: Make) -> list[Sample]:
    found = []
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                grid = make(2, 2, 3, 2, low=-1.3, high=1.3)
                found.append(call(make(2, 3, 4, 5), grid, mode=mode, padding_mode=padding, align_corners=align))
    for padding in ("zeros", "border", "reflection"):
        found.append(
            call(
                make(1, 2, 3, 4, 3), make(1, 2, 2, 2, 3, low=-1.3, high=1.3), padding_mode=padding, align_corners=False
            )
        )
    return found


CASES = [
    Case(
        F + "interpolate",
        resized,
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [
            call(make(2, 3, 4)),
            call(make(2, 3, 4), size=3, scale_factor=2),
            call(make(2, 3, 4), size=(2, 2)),
            call(make(2, 3, 4), size=3, mode="bilinear"),
            call(make(2, 3, 4), size=3, mode="cubic"),
            call(make(2, 3, 4), size=3, align_corners=True),
            call(make(3), size=2),
            call(make(2, 3, 4), size=0),
        ],
    ),
    Case(
        F + "interpolate",
        lambda make: [call(make(1, 2, 3, 4), scale_factor=2)],
        dtypes=("bfloat16", "uint8"),
        gradients=False,
        note="other dtypes",
    ),
    Case(F + "upsample", lambda make: [call(make(1, 2, 3, 4), scale_factor=2)], dtypes=INEXACT, nonfinite=False),
    *pairs(
        F + "upsample_nearest", lambda make: [call(make(1, 2, 3, 4), scale_factor=2)], dtypes=INEXACT, nonfinite=False
    ),
    *pairs(
        F + "upsample_bilinear", lambda make: [call(make(1, 2, 3, 4), scale_factor=2)], dtypes=INEXACT, nonfinite=False
    ),
    Case(
        F + "grid_sample",
        sampled,
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [
            call(make(1, 2, 3, 3), make(2, 2, 2, 2)),
            call(make(1, 2, 3, 3), make(1, 2, 2, 3)),
            call(make(1, 2, 3, 3), make(1, 2, 2, 2), mode="cubic"),
            call(make(1, 2, 3), make(1, 2, 2)),
        ],
    ),
    Case(
        F + "affine_grid",
        lambda make: (
            [call(make(2, 2, 3), (2, 3, 4, 5), align_corners=align) for align in (False, True)]
            + [call(make(1, 3, 4), (1, 2, 3, 4, 2), align_corners=False)]
        ),
        dtypes=INEXACT,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [call(make(2, 3), (2, 3, 4, 5)), call(make(2, 2, 3), (2, 0, 4, 5))],
    ),
]
