"""Reading and writing at places that a tensor names."""

from __future__ import annotations

from ..table import Case, Make, Sample, call, pairs


def scattered(make: Make) -> list[Sample]:
    return [
        call(make(3, 4), 0, make.values([[2, 0, 1, 0], [0, 2, 2, 1]], "int64"), make(3, 4)),
        call(make(3, 4), 1, make.index(3, 1, size=4), make(3, 1)),
        call(make(4), -1, make.index(1, size=4), make(3)),
        call(make(3, 4), 1, make.index(0, 4, size=4), make(3, 4)),
    ]


def selecting(make: Make) -> list[Sample]:
    return [
        call(make(4, 3), 0, make.index(5, size=4)),
        call(make(4, 3), -1, make.index(2, size=3, dtype="int32")),
        call(make(4), 0, make.index(0, size=4)),
        call(make(4), 0, make.index(size=4)),
        call(make(), 0, make.values([0, 0], "int64")),
    ]


def adding(make: Make) -> list[Sample]:
    return [
        call(make(4, 3), 0, make.index(5, size=4), make(5, 3)),
        call(make(4, 3), 1, make.index(2, size=3), make(4, 2)),
        call(make(4), 0, make.index(6, size=4), make(6)),
    ]


CASES = [
    Case(
        "index_select",
        selecting,
        errors=lambda make: [
            call(make(3), 0, make.values([3], "int64")),
            call(make(3), 0, make.index(1, 1, size=3)),
            call(make(3), 0, make(1, dtype="float32")),
            call(make(3), 1, make.index(1, size=3)),
        ],
        meta=False,
    ),
    Case(
        "gather",
        lambda make: [
            call(make(3, 4), 0, make.index(2, 4, size=3)),
            call(make(3, 4), 1, make.index(3, 6, size=4)),
            call(make(3, 4), -1, make.index(2, 2, size=4)),
            call(make(), 0, make.index(size=1)),
            call(make(3), 0, make.index(0, size=3)),
        ],
        errors=lambda make: [
            call(make(3, 4), 0, make.index(2, size=3)),
            call(make(3), 0, make.values([3], "int64")),
            call(make(3), 0, make(2, dtype="float32")),
            call(make(2, 3), 1, make.index(3, 3, size=3)),
        ],
    ),
    Case(
        "scatter",
        lambda make: (
            scattered(make)[:2]
            + [
                call(make(3, 4), 1, make.index(3, 1, size=4), 2),
                call(make(3, 4), 1, make.index(3, 2, size=4), 1, reduce="add"),
            ]
        ),
        errors=lambda make: [
            call(make(3, 4), 0, make.index(2, size=3), make(2)),
            call(make(3), 0, make.values([3], "int64"), 1),
            call(make(3), 0, make.index(2, size=3), make(1)),
        ],
    ),
    Case(
        "scatter_add",
        lambda make: scattered(make) + [call(make(3, 4), 1, make.index(3, 6, size=4), make(3, 6))],
        errors=lambda make: [call(make(3), 0, make.values([5], "int64"), make(1))],
    ),
    Case(
        "scatter_reduce",
        lambda make: [
            call(make.distinct(3, 4), 1, make.index(3, 6, size=4), make.distinct(3, 6), reduce=how, include_self=own)
            for how in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        ],
        errors=lambda make: [call(make(3), 0, make.index(2, size=3), make(2), reduce="first")],
    ),
    Case(
        "index_add",
        lambda make: adding(make) + [call(make(4), 0, make.index(3, size=4), make(3), alpha=2)],
        errors=lambda make: [
            call(make(4), 0, make.index(2, size=4), make(3)),
            call(make(4), 0, make.values([4], "int64"), make(1)),
        ],
    ),
    Case(
        "index_copy",
        lambda make: [
            call(make(4, 3), 0, make.permutation(4), make(4, 3)),
            call(make(2, 4), 1, make.values([3, 0], "int64"), make(2, 2)),
        ],
        errors=lambda make: [call(make(4), 0, make.index(2, size=4), make(3))],
    ),
    Case(
        "index_fill",
        lambda make: [call(make(4, 3), 0, make.index(2, size=4), 1), call(make(4), 0, make.index(2, size=4), make())],
        errors=lambda make: [call(make(4), 0, make.index(2, size=4), make(2))],
    ),
    Case(
        "index_reduce",
        lambda make: [
            call(make(4, 3), 0, make.index(5, size=4), make(5, 3), how, include_self=own)
            for how in ("prod", "mean", "amax", "amin")
            for own in (True, False)
        ],
    ),
    Case(
        "index_put",
        lambda make: [
            call(make(4, 3), (make.permutation(4),), make(4, 3)),
            call(make(4, 3), (make.index(5, size=4), make.index(5, size=3)), make(5), accumulate=True),
            call(make(4), (make.mask(4),), make()),
        ],
    ),
    Case(
        "take",
        lambda make: [
            call(make(3, 4), make.index(5, size=12)),
            call(make(3, 4), make.index(2, 2, size=12)),
            call(make(4), make.values([-1, 0], "int64")),
        ],
        errors=lambda make: [call(make(4), make.values([4], "int64")), call(make(4), make(2, dtype="float32"))],
    ),
    Case(
        "take_along_dim",
        lambda make: [
            call(make(3, 4), make.index(3, 2, size=4), 1),
            call(make(3, 4), make.index(5, size=12)),
            call(make(3, 4), make.index(1, 4, size=3), dim=0),
        ],
    ),
    Case(
        "Tensor.put_",
        lambda make: [
            call(make(3, 4), make.permutation(12), make(12)),
            call(make(3, 4), make.index(5, size=12), make(5), accumulate=True),
        ],
        gradients=False,
    ),
    Case(
        "nonzero",
        lambda make: [call(make.ties(3, 4)), call(make()), call(make(0, 3)), call(make.ties(4), as_tuple=True)],
        gradients=False,
        meta=False,
    ),
    Case("argwhere", lambda make: [call(make.ties(3, 4)), call(make.ties(4))], gradients=False, meta=False),
    *pairs(
        "tril_indices triu_indices",
        lambda make: [call(3, 4), call(4, 3, 1), call(2, 2, offset=-1)],
        gradients=False,
        dtypes=("float32",),
    ),
    Case(
        "unravel_index",
        lambda make: [call(make.index(4, size=12), (3, 4)), call(make.index(2, 2, size=6), (2, 3))],
        gradients=False,
        meta=False,
    ),
]
