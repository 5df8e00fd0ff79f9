"""Order: sorting, ranking, searching, unique values."""

from __future__ import annotations

from ..table import Case, call

CASES = [
    Case(
        "sort",
        lambda make: [
            call(make.distinct(3, 4)),
            call(make.distinct(3, 4), 0),
            call(make.distinct(5), descending=True),
            call(make.ties(8), stable=True),
            call(make.ties(2, 6), dim=1, descending=True, stable=True),
            call(make()),
            call(make(0)),
        ],
        errors=lambda make: [call(make(3), 1)],
    ),
    Case(
        "argsort",
        lambda make: [
            call(make.distinct(3, 4)),
            call(make.distinct(4), descending=True),
            call(make.ties(8), stable=True),
            call(make.distinct(3, 4), dim=0),
        ],
        gradients=False,
    ),
    Case("msort", lambda make: [call(make.distinct(4, 3))]),
    Case(
        "topk",
        lambda make: [
            call(make.distinct(3, 5), 2),
            call(make.distinct(3, 5), 2, 0),
            call(make.distinct(6), 3, largest=False),
            call(make.distinct(4), 4),
            call(make.distinct(4), 0),
            call(make(), 1),
        ],
        errors=lambda make: [call(make(3), 4), call(make(3), -1)],
        nonfinite=False,
    ),
    Case(
        "kthvalue",
        lambda make: [call(make.distinct(3, 5), 2), call(make.distinct(5, 3), 3, dim=0, keepdim=True)],
        errors=lambda make: [call(make(3), 4), call(make(3), 0)],
        nonfinite=False,  # equal values: any of their positions
    ),
    Case(
        "unique",
        lambda make: [
            call(make.ties(8)),
            call(make.ties(3, 4), return_inverse=True),
            call(make.ties(8), return_counts=True),
            call(make.ties(4, 2), dim=0, return_inverse=True),
            call(make.ties(2, 5), dim=1, return_counts=True),
            call(make(0)),
        ],
        gradients=False,
        meta=False,
        nonfinite=False,
    ),
    Case(
        "unique_consecutive",
        lambda make: [
            call(make.ties(8)),
            call(make.ties(8), return_inverse=True, return_counts=True),
            call(make.ties(4, 2), dim=0),
        ],
        gradients=False,
        meta=False,
    ),
    Case(
        "searchsorted",
        lambda make: [
            call(make.values([-1, 0, 1, 2]), make(3, 4)),
            call(make.values([-1, 0, 1, 2]), make(5), right=True),
            call(make.values([[0, 1, 2], [1, 2, 3]]), make(2, 2), side="right"),
            call(make.values([0, 1, 1, 2]), make.ties(6)),
            call(make.values([0, 1]), 0.5),
            call(make.values([0, 1]), make(3), out_int32=True),
        ],
        gradients=False,
        nonfinite=False,
    ),
    Case(
        "bucketize",
        lambda make: [
            call(make(3, 4), make.values([-1, 0, 1])),
            call(make.ties(5), make.values([0, 1, 2]), right=True),
        ],
        gradients=False,
        nonfinite=False,
    ),
]
