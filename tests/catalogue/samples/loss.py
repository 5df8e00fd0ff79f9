"""Losses, with every reduction and PyTorch's gradients."""

from __future__ import annotations

from collections.abc import Callable

from ..table import Case, Make, Sample, call, pairs

FLOATS = ("float32", "float64", "bfloat16")
F = "nn.functional."
REDUCTIONS = ("none", "mean", "sum")


def reduced(one: Callable[[Make], Sample]) -> Callable[[Make], list[Sample]]:
    """The sample with each reduction, and with the default."""

    def samples(make: Make) -> list[Sample]:
        given = [one(make) for _ in REDUCTIONS]
        return [
            one(make),
            *(Sample(s.args, {**s.kwargs, "reduction": how}) for s, how in zip(given, REDUCTIONS, strict=True)),
        ]

    return samples


def two(make: Make) -> Sample:
    return call(make(3, 4), make(3, 4))


def wrong(make: Make) -> list[Sample]:
    return [call(make(3, 4), make(3, 4), reduction="average"), call(make(3))]


def classes(make: Make) -> list[Sample]:
    labels = make.index(5, size=4)
    ignoring = make.values([0, -100, 2, 3, 1], "int64")
    return [
        *reduced(lambda make: call(make(5, 4), make.index(5, size=4)))(make),
        call(make(5, 4), labels, weight=make.positive(4)),
        call(make(5, 4), ignoring),
        call(make(5, 4), labels, weight=make.positive(4), ignore_index=1),
        call(make(5, 4), ignoring, weight=make.positive(4), reduction="sum"),
        call(make(2, 4, 3, 2), make.index(2, 3, 2, size=4)),
        call(make(2, 4, 3), make.index(2, 3, size=4), reduction="none"),
        call(make(4), make.values(2, "int64")),
    ]


def wrong_classes(make: Make) -> list[Sample]:
    return [
        call(make(5, 4), make.index(4, size=4)),
        call(make(2, 4), make.values([0, 7], "int64")),
        call(make(2, 4), make(2, dtype="float32")),
        call(make(2, 4), make.index(2, size=4), weight=make(3)),
    ]


def smoothed(make: Make) -> list[Sample]:
    labels = make.index(5, size=4)
    return [
        *classes(make),
        call(make(5, 4), labels, label_smoothing=0.1),
        call(make(5, 4), labels, weight=make.positive(4), label_smoothing=0.2, reduction="sum"),
        call(make(5, 4), make.values([0, -100, 2, 3, 1], "int64"), label_smoothing=0.1),
        call(make(5, 4), make.unit(5, 4)),
        call(make(5, 4), make.unit(5, 4), weight=make.positive(4), reduction="none"),
        call(make(2, 4, 3), make.unit(2, 4, 3), label_smoothing=0.1),
    ]


CASES = [
    *pairs(F + "mse_loss " + F + "l1_loss", reduced(two), errors=wrong, dtypes=FLOATS),
    Case(
        F + "smooth_l1_loss",
        lambda make: reduced(two)(make) + [call(make(3, 4), make(3, 4), beta=0.5), call(make(3), make(3), beta=0.0)],
        errors=wrong,
        dtypes=FLOATS,
    ),
    Case(
        F + "huber_loss",
        lambda make: reduced(two)(make) + [call(make(3, 4), make(3, 4), delta=0.5)],
        errors=wrong,
        dtypes=FLOATS,
    ),
    Case(F + "cross_entropy", smoothed, errors=wrong_classes, dtypes=FLOATS),
    Case(F + "nll_loss", classes, errors=wrong_classes, dtypes=FLOATS),
    Case(
        F + "binary_cross_entropy",
        lambda make: (
            reduced(lambda make: call(make.unit(3, 4), make.unit(3, 4)))(make)
            + [
                call(make.unit(3), make.unit(3), weight=make.positive(3)),
                call(make.values([0, 1, 0, 1]), make.values([0, 1, 1, 0])),
            ]
        ),
        errors=lambda make: [call(make.values([1.5]), make.values([1.0])), call(make.unit(3), make.unit(2))],
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "binary_cross_entropy_with_logits",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make.unit(3, 4)))(make)
            + [
                call(make(3, 4), make.unit(3, 4), weight=make.positive(4)),
                call(make(3, 4), make.unit(3, 4), pos_weight=make.positive(4)),
                call(make.values([50, -50, 0]), make.values([1, 1, 0])),
            ]
        ),
        errors=lambda make: [call(make(3), make.unit(2))],
        dtypes=FLOATS,
    ),
    Case(
        F + "kl_div",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make.unit(3, 4)))(make)
            + [
                call(make(3, 4), make.unit(3, 4), reduction="batchmean"),
                call(make(3, 4), make(3, 4), log_target=True, reduction="sum"),
                call(make(3), make.values([0, 1, 0.5]), reduction="sum"),
            ]
        ),
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "poisson_nll_loss",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make.positive(3, 4)))(make)
            + [call(make.positive(3), make.positive(3), log_input=False), call(make(3), make.positive(3), full=True)]
        ),
        dtypes=FLOATS,
    ),
    Case(
        F + "gaussian_nll_loss",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make(3, 4), make.positive(3, 4)))(make)
            + [
                call(make(3, 4), make(3, 4), make.positive(3, 1), full=True),
                call(make(3), make(3), make.positive(3), eps=1.0),
            ]
        ),
        errors=lambda make: [call(make(3), make(3), make.values([-1, 1, 1])), call(make(3), make(3), make.positive(2))],
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "hinge_embedding_loss",
        lambda make: (
            reduced(lambda make: call(make(6), make.values([1, -1, 1, -1, -1, 1])))(make)
            + [call(make(3), make.values([1, -1, 1]), margin=2.0)]
        ),
        dtypes=FLOATS,
    ),
    Case(F + "soft_margin_loss", reduced(lambda make: call(make(4), make.values([1, -1, 1, -1]))), dtypes=FLOATS),
    Case(
        F + "margin_ranking_loss",
        lambda make: (
            reduced(lambda make: call(make(4), make(4), make.values([1, -1, 1, -1])))(make)
            + [call(make(4), make(4), make.values([1, -1, 1, -1]), margin=0.5)]
        ),
        dtypes=FLOATS,
    ),
    Case(
        F + "cosine_embedding_loss",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make(3, 4), make.values([1, -1, 1])))(make)
            + [
                call(make(3, 4), make(3, 4), make.values([1, -1, -1]), margin=0.2),
                call(make(4), make(4), make.values(1)),
            ]
        ),
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "triplet_margin_loss",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make(3, 4), make(3, 4)))(make)
            + [call(make(3, 4), make(3, 4), make(3, 4), margin=0.5, p=1, swap=True)]
        ),
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "triplet_margin_with_distance_loss",
        reduced(lambda make: call(make(3, 4), make(3, 4), make(3, 4))),
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "multi_margin_loss",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make.index(3, size=4)))(make)
            + [
                call(make(3, 4), make.index(3, size=4), p=2, margin=0.5),
                call(make(3, 4), make.index(3, size=4), weight=make.positive(4)),
                *[
                    call(make(4), make.index(*shape, size=4), reduction=how)
                    for shape in ((), (1,))
                    for how in ("none", "mean", "sum")
                ],
            ]
        ),
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "multilabel_margin_loss",
        reduced(lambda make: call(make(2, 4), make.values([[3, 0, -1, 1], [1, -1, 0, 2]], "int64"))),
        dtypes=FLOATS,
        nonfinite=False,
    ),
    Case(
        F + "multilabel_soft_margin_loss",
        lambda make: (
            reduced(lambda make: call(make(3, 4), make.unit(3, 4)))(make)
            + [call(make(3, 4), make.unit(3, 4), weight=make.positive(4))]
        ),
        dtypes=FLOATS,
    ),
    Case(
        F + "ctc_loss",
        lambda make: [call(make(6, 2, 4), make.values([1, 2, 3, 1], "int64"), (6, 6), (2, 2), reduction="sum")],
        dtypes=("float32", "float64"),
        nonfinite=False,
        meta=False,
        strided=False,
        note="of targets one after the other",
    ),
    Case(
        F + "ctc_loss",
        lambda make: [
            call(
                make(6, 2, 4),
                make.values([[1, 2, 1], [3, 1, 2]], "int64"),
                make.values([6, 5], "int64"),
                make.values([3, 2], "int64"),
            ),
            call(
                make(5, 2, 4),
                make.values([[1, 1], [2, 3]], "int64"),
                (5, 5),
                (2, 2),
                reduction="none",
                zero_infinity=True,
            ),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        meta=False,
    ),
    *pairs(
        F + "cosine_similarity cosine_similarity",
        lambda make: [call(make(3, 4), make(3, 4)), call(make(3, 4), make(4), dim=-1), call(make(3, 4), make(3, 4), 0)],
        dtypes=FLOATS,
        nonfinite=False,
    ),
    *pairs(
        F + "pairwise_distance pairwise_distance",
        lambda make: [
            call(make(3, 4), make(3, 4)),
            call(make(3, 4), make(3, 4), 1.0),
            call(make(3, 4), make(3, 4), keepdim=True),
        ],
        dtypes=FLOATS,
        nonfinite=False,
    ),
    *pairs(
        F + "pdist pdist",
        lambda make: [call(make(4, 3)), call(make(4, 3), 1.0)],
        dtypes=("float32", "float64"),
        nonfinite=False,
    ),
]
