"""Embeddings."""

from __future__ import annotations

from ..table import Case, call

F = "nn.functional."
INEXACT = ("float32", "float64", "bfloat16")

CASES = [
    Case(
        F + "embedding",
        lambda make: [
            call(make.index(4, size=5), make(5, 3)),
            call(make.index(2, 3, size=5), make(5, 3), padding_idx=1),
            call(make.index(2, 3, size=5, dtype="int32"), make(5, 3)),
            call(make.index(6, size=3), make(5, 2), scale_grad_by_freq=True),
            call(make.index(size=5), make(5, 3)),
            call(make.index(0, size=5), make(5, 3)),
            call(make.index(3, size=5), make(5, 3), -1),
        ],
        dtypes=INEXACT,
        nonfinite=False,
        errors=lambda make: [
            call(make.values([5], "int64"), make(5, 3)),
            call(make.values([-1], "int64"), make(5, 3)),
            call(make(2, dtype="float32"), make(5, 3)),
            call(make.index(2, size=5), make(5, 3), padding_idx=7),
        ],
        meta=False,
    ),
    Case(
        "embedding",
        lambda make: [call(make(5, 3), make.index(2, 3, size=5)), call(make(5, 3), make.index(4, size=5), 2)],
        dtypes=INEXACT,
        nonfinite=False,
        meta=False,
    ),
    Case(
        F + "embedding_bag",
        lambda make: [
            *[call(make.index(2, 3, size=5), make(5, 3), mode=mode) for mode in ("sum", "mean", "max")],
            *[
                call(make.index(6, size=5), make(5, 3), make.values([0, 2, 5], "int64"), mode=mode)
                for mode in ("sum", "mean", "max")
            ],
            call(make.index(6, size=5), make(5, 3), make.values([0, 2, 2], "int64")),
            call(make.index(2, 3, size=5), make(5, 3), mode="sum", per_sample_weights=make(2, 3)),
            call(make.index(6, size=5), make(5, 3), make.values([0, 2, 6], "int64"), include_last_offset=True),
            call(make.index(2, 3, size=5), make(5, 3), padding_idx=1),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        meta=False,
        errors=lambda make: [
            call(make.index(6, size=5), make(5, 3)),
            call(make.index(2, 3, size=5), make(5, 3), make.values([0], "int64")),
            call(make.index(2, 3, size=5), make(5, 3), mode="median"),
        ],
    ),
]
