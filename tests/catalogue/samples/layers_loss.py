"""Losses as layers."""

from __future__ import annotations

from ..table import Layer, Make, Sample, Samples, call, layer

REDUCTIONS = ("mean", "sum", "none")


def losses(name: str, inputs: Samples, **kwargs: object) -> list[Layer]:
    return [layer(f"nn.{name}", inputs=inputs, reduction=how, **kwargs) for how in REDUCTIONS]


def two(make: Make) -> list[Sample]:
    return [call(make(3, 4), make(3, 4))]


def signs(make: Make) -> list[Sample]:
    return [call(make(4), make.values([1, -1, 1, -1]))]


def classes(make: Make) -> list[Sample]:
    return [call(make(5, 4), make.index(5, size=4)), call(make(2, 4, 3), make.index(2, 3, size=4))]


LAYERS = [
    *losses("MSELoss", two),
    *losses("L1Loss", two),
    *losses("SmoothL1Loss", two),
    *losses("SmoothL1Loss", two, beta=0.5),
    *losses("HuberLoss", two),
    *losses("HuberLoss", two, delta=0.5),
    *losses("CrossEntropyLoss", classes),
    *losses("CrossEntropyLoss", classes, label_smoothing=0.1),
    *losses("NLLLoss", classes),
    *losses("CrossEntropyLoss", classes, ignore_index=1),
    *losses("BCELoss", lambda make: [call(make.unit(3, 4), make.unit(3, 4))]),
    *losses("BCEWithLogitsLoss", lambda make: [call(make(3, 4), make.unit(3, 4))]),
    *losses("KLDivLoss", lambda make: [call(make(3, 4), make.unit(3, 4))]),
    layer("nn.KLDivLoss", reduction="batchmean", log_target=True, inputs=two),
    *losses("PoissonNLLLoss", lambda make: [call(make(3, 4), make.positive(3, 4))]),
    *losses("GaussianNLLLoss", lambda make: [call(make(3, 4), make(3, 4), make.positive(3, 4))]),
    *losses("HingeEmbeddingLoss", signs),
    *losses("SoftMarginLoss", signs),
    *losses("MarginRankingLoss", lambda make: [call(make(4), make(4), make.values([1, -1, 1, -1]))]),
    *losses("CosineEmbeddingLoss", lambda make: [call(make(3, 4), make(3, 4), make.values([1, -1, 1]))]),
    *losses("TripletMarginLoss", lambda make: [call(make(3, 4), make(3, 4), make(3, 4))]),
    *losses("TripletMarginWithDistanceLoss", lambda make: [call(make(3, 4), make(3, 4), make(3, 4))]),
    *losses("MultiMarginLoss", lambda make: [call(make(3, 4), make.index(3, size=4))]),
    *losses(
        "MultiLabelMarginLoss", lambda make: [call(make(2, 4), make.values([[3, 0, -1, 1], [1, -1, 0, 2]], "int64"))]
    ),
    *losses("MultiLabelSoftMarginLoss", lambda make: [call(make(3, 4), make.unit(3, 4))]),
    *losses(
        "CTCLoss",
        lambda make: [
            call(
                make(6, 2, 4),
                make.values([[1, 2, 1], [3, 1, 2]], "int64"),
                make.values([6, 5], "int64"),
                make.values([3, 2], "int64"),
            )
        ],
    ),
    layer(
        "nn.AdaptiveLogSoftmaxWithLoss", 8, 12, [4, 8], inputs=lambda make: [call(make(5, 8), make.index(5, size=12))]
    ),
]
