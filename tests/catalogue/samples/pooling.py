"""Poolings."""

from __future__ import annotations

from ..table import Case, Make, Sample, Samples, call

F = "nn.functional."
FLOATS = ("float32", "float64", "bfloat16")
INEXACT = ("float32", "float64")
SIZES = (7, 6, 4)


def windows(rank: int) -> Samples:
    size = SIZES[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            call(make.distinct(2, 3, *size), 2),
            call(make.distinct(1, 2, *size), 3, 2, 1),
            call(make.distinct(2, *size), (2,) * rank, stride=1),
            call(make.distinct(1, 2, *size), 2, stride=2, ceil_mode=True),
        ]

    return samples


def maximum_windows(rank: int) -> Samples:
    size = SIZES[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            *windows(rank)(make),
            call(make.distinct(1, 2, *size), 2, dilation=2),
            call(make.distinct(1, 2, *size), 2, return_indices=True),
            call(make.ties(1, 2, *size), 3, 1, 1),
        ]

    return samples


def average_windows(rank: int) -> Samples:
    size = SIZES[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            *windows(rank)(make),
            call(make(1, 2, *size), 3, 2, 1, count_include_pad=False),
            call(make(1, 2, *size), 3, 2, 1, True, False),
        ]

    return samples


def wrong(rank: int) -> Samples:
    size = SIZES[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            call(make(2, 3, *size), 9),
            call(make(2, 3, *size), 2, padding=2),
            call(make(2, 3, *size), 0),
            call(make(), 2),
        ]

    return samples


def adaptive(rank: int) -> Samples:
    size = SIZES[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            call(make.distinct(2, 3, *size), 1),
            call(make.distinct(2, 3, *size), 3),
            call(make.distinct(3, *size), (2,) * rank if rank > 1 else 2),
            *([call(make.distinct(1, 2, *size), (None, 2, 2)[:rank])] if rank > 1 else []),
        ]

    return samples


CASES = [
    *[
        Case(f"{F}max_pool{n}d", maximum_windows(n), errors=wrong(n), dtypes=FLOATS, nonfinite=False, meta=n < 3)
        for n in (1, 2, 3)
    ],
    *[Case(f"{F}avg_pool{n}d", average_windows(n), errors=wrong(n), dtypes=FLOATS, nonfinite=False) for n in (1, 2, 3)],
    *[
        Case(
            f"{F}adaptive_avg_pool{n}d",
            adaptive(n),
            dtypes=FLOATS if n < 3 else INEXACT,  # PyTorch adds up a volume in bfloat16
            nonfinite=False,
            errors=lambda make: [call(make(2, 3, 4, 4, 4), -1)],
        )
        for n in (1, 2, 3)
    ],
    *[
        Case(
            f"{F}adaptive_max_pool{n}d",
            lambda make, n=n: [*adaptive(n)(make), call(make.distinct(1, 2, *SIZES[:n]), 2, return_indices=True)],
            dtypes=INEXACT,
            nonfinite=False,
        )
        for n in (1, 2, 3)
    ],
    *[
        Case(
            f"{F}lp_pool{n}d",
            lambda make, n=n: [
                call(make.positive(1, 2, *SIZES[:n]), 2, 2),
                call(make.positive(1, 2, *SIZES[:n]), 3, 2, 1),
            ],
            dtypes=INEXACT,
            nonfinite=False,
            tolerance=10,
        )
        for n in (1, 2, 3)
    ],
    Case(
        F + "max_unpool1d",
        lambda make: [call(make(1, 2, 3), make.values([[[0, 3, 5], [1, 2, 4]]], "int64"), 2)],
        dtypes=INEXACT,
    ),
    Case(
        F + "max_unpool2d",
        lambda make: [
            call(make(1, 1, 2, 2), make.values([[[[0, 3], [9, 10]]]], "int64"), 2),
            call(make(1, 2, 2), make.values([[[0, 3], [9, 10]]], "int64"), 2, output_size=(5, 4)),
        ],
        dtypes=INEXACT,
        nonfinite=False,
    ),
    Case(
        F + "max_unpool3d",
        lambda make: [call(make(1, 1, 1, 1, 2), make.values([[[[[0, 3]]]]], "int64"), 2)],
        dtypes=INEXACT,
    ),
    *[
        Case(
            f"{F}fractional_max_pool{n}d",
            lambda make, n=n: [call(make.distinct(1, 2, *SIZES[:n]), 2, output_size=2)],
            random=True,
            dtypes=INEXACT,
            nonfinite=False,
            meta=False,
        )
        for n in (2, 3)
    ],
]
