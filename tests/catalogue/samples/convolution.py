"""Convolutions, linear and bilinear maps, sliding blocks."""

from __future__ import annotations

from ..table import Case, Make, Sample, Samples, call, pairs

F = "nn.functional."
FLOATS = ("float32", "float64", "bfloat16")


def convolutions(rank: int) -> Samples:
    """Samples of a convolution over `rank` axes."""
    size = (6, 5, 4)[:rank]

    def samples(make: Make) -> list[Sample]:
        kernel = (3, 2, 2)[:rank]
        return [
            call(make(2, 3, *size), make(4, 3, *kernel), make(4)),
            call(make(1, 3, *size), make(2, 3, *kernel), stride=2, padding=1),
            call(make(3, *size), make(2, 3, *kernel)),
            call(make(2, 4, *size), make(4, 2, *kernel), make(4), 1, 1, 1, 2),
            call(make(1, 3, *size), make(3, 1, *kernel), groups=3),
            call(make(1, 2, *size), make(2, 2, *(2,) * rank), dilation=2),
            call(make(1, 2, *size), make(2, 2, *kernel), padding="same"),
            call(make(1, 2, *size), make(2, 2, *kernel), padding="valid"),
            call(make(1, 2, *size), make(2, 2, *(1,) * rank), stride=(2,) * rank),
            call(make(0, 2, *size), make(2, 2, *kernel)),
        ]

    return samples


def wrong_convolutions(rank: int) -> Samples:
    size = (6, 5, 4)[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            call(make(2, 3, *size), make(4, 2, *(3,) * rank)),
            call(make(2, 3, *size), make(4, 3, *(9,) * rank)),
            call(make(2, 3, *size), make(4, 3, *(3,) * rank), make(3)),
            call(make(2, 3, *size), make(4, 3, *(3,) * rank), stride=0),
            call(make(2, 3, *size), make(4, 3, *(3,) * rank), padding=-1),
            call(make(2, 3, *size), make(4, 3, *(3,) * rank), groups=2),
            call(make(2, 3), make(4, 3, *(3,) * rank)),
            call(make(2, 3, *size), make(4, 3, *(3,) * rank), stride=2, padding="same"),
            call(
                make(2, 3, *size), make(4, 3, *(3,) * rank, dtype="float64" if make.dtype == "float32" else "float32")
            ),
        ]

    return samples


def transposed(rank: int) -> Samples:
    size = (4, 3, 3)[:rank]

    def samples(make: Make) -> list[Sample]:
        kernel = (3, 2, 2)[:rank]
        return [
            call(make(2, 3, *size), make(3, 4, *kernel), make(4)),
            call(make(1, 3, *size), make(3, 2, *kernel), stride=2, padding=1, output_padding=1),
            call(make(3, *size), make(3, 2, *kernel)),
            call(make(1, 4, *size), make(4, 2, *kernel), None, 2, 0, 0, 2),
            call(make(1, 2, *size), make(2, 2, *(2,) * rank), dilation=2),
        ]

    return samples


def wrong_transposed(rank: int) -> Samples:
    size = (4, 3, 3)[:rank]

    def samples(make: Make) -> list[Sample]:
        return [
            call(make(2, 3, *size), make(2, 4, *(3,) * rank)),
            call(make(2, 3, *size), make(3, 4, *(3,) * rank), stride=2, output_padding=2),
        ]

    return samples


CASES = [
    *[
        Case(
            f"{prefix}conv{n}d",
            convolutions(n),
            errors=wrong_convolutions(n),
            dtypes=FLOATS,
            nonfinite=False,
            tolerance=10,
        )
        for n in (1, 2, 3)
        for prefix in ((F, "") if n == 2 else (F,))
    ],
    *[
        Case(
            f"{F}conv_transpose{n}d",
            transposed(n),
            errors=wrong_transposed(n),
            dtypes=("float32", "float64"),
            nonfinite=False,
            tolerance=10,
        )
        for n in (1, 2, 3)
    ],
    *pairs(
        F + "linear",
        lambda make: [
            call(make(3, 4), make(2, 4), make(2)),
            call(make(2, 3, 4), make(2, 4)),
            call(make(4), make(2, 4), make(2)),
            call(make(3, 4), make(4)),
            call(make(0, 4), make(2, 4)),
        ],
        dtypes=(*FLOATS, "int64"),
        nonfinite=False,
        errors=lambda make: [call(make(3, 4), make(2, 3)), call(make(3, 4), make(2, 4), make(3))],
    ),
    *pairs(
        F + "bilinear",
        lambda make: [
            call(make(3, 4), make(3, 2), make(5, 4, 2), make(5)),
            call(make(2, 3, 4), make(2, 3, 2), make(1, 4, 2)),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        errors=lambda make: [call(make(3, 4), make(3, 2), make(5, 4, 3))],
    ),
    Case(
        F + "unfold",
        lambda make: [
            call(make(2, 3, 5, 4), 2),
            call(make(1, 2, 5, 5), (2, 3), 1, 1, 2),
            call(make(3, 4, 4), 2, dilation=2),
        ],
        dtypes=("float32", "float64"),
        errors=lambda make: [call(make(2, 3, 4, 4), 6), call(make(4), 2)],
    ),
    Case(
        F + "fold",
        lambda make: [
            call(make(2, 12, 12), (5, 4), 2),
            call(make(1, 8, 4), (4, 4), 2, stride=2),
            call(make(12, 12), (5, 4), 2),
        ],
        dtypes=("float32", "float64"),
        errors=lambda make: [call(make(2, 12, 11), (5, 4), 2), call(make(2, 11, 12), (5, 4), 2)],
    ),
    *pairs(
        F + "pixel_shuffle pixel_shuffle",
        lambda make: [call(make(2, 8, 3, 2), 2), call(make(4, 2, 2), 2)],
        errors=lambda make: [call(make(2, 3, 2, 2), 2)],
        nonfinite=False,
    ),
    *pairs(
        F + "pixel_unshuffle pixel_unshuffle",
        lambda make: [call(make(2, 2, 4, 6), 2)],
        errors=lambda make: [call(make(2, 2, 3, 2), 2)],
        nonfinite=False,
    ),
    *pairs(F + "channel_shuffle", lambda make: [call(make(2, 6, 2, 2), 3)], nonfinite=False, gradients=False),
]
