"""Comparisons, and choices that depend on a condition."""

from __future__ import annotations

from ..table import Case, Make, Sample, call, pairs


def compared(make: Make) -> list[Sample]:
    return [
        call(make.ties(3, 4), make.ties(3, 4)),
        call(make.ties(3, 1), make.ties(4)),
        call(make(3), 1),
        call(make(3), 0.5),
        call(make(), make()),
        call(make(0), make(1)),
        call(make(3), make(3, dtype="int64")),
    ]


CASES = [
    *pairs(
        "eq ne not_equal lt less le less_equal gt greater ge greater_equal",
        compared,
        gradients=False,
        errors=lambda make: [call(make(3), make(4)), call(make(2), None)],
    ),
    *pairs(
        "equal",
        lambda make: [
            call(make.ties(3), make.ties(3)),
            call(make.values([1, 0]), make.values([1, 0])),
            call(make(2), make(3)),
            call(make(0), make(0)),
        ],
        gradients=False,
        meta=False,
    ),
    *pairs(
        "isclose allclose",
        lambda make: [
            call(make(3, 4), make(3, 4)),
            call(make.values([1, 2, 0]), make.values([1, 2, 0])),
            call(make.values([1.0, 1.0]), make.values([1.1, 1.0]), rtol=0.2),
            call(make.values([1.0, 1.0]), make.values([1.1, 1.0]), atol=0.2),
            call(make.values([1.0]), make.values([1.0]), equal_nan=True),
        ],
        errors=lambda make: [call(make(2), make(2, dtype="int32")), call(make(2), make(2), rtol=-1)],
        gradients=False,
        meta=False,
    ),
    Case(
        "isin",
        lambda make: [
            call(make.ties(3, 4), make.ties(2)),
            call(make.ties(4), 1),
            call(1, make.ties(4)),
            call(make.ties(4), make.ties(3), invert=True),
            call(make.ties(4), make(0)),
        ],
        gradients=False,
        meta=False,
    ),
    Case(
        "where",
        lambda make: [
            call(make.mask(3, 4), make(3, 4), make(3, 4)),
            call(make.mask(4), make(3, 1), make()),
            call(make.mask(3), make(3), 0.0),
            call(make.mask(3), 1, make(3)),
            call(make.mask(2, 2), 1.0, 0.0),
            call(make.mask(3), make(3), make(3, dtype="float64", grad=False)),
            call(make.mask(), make(2), make(2)),
        ],
        errors=lambda make: [call(make.mask(3), make(4), make(3)), call(make(3, dtype="float32"), make(3), make(3))],
    ),
    Case(
        "where", lambda make: [call(make.mask(3, 4)), call(make.mask(0))], gradients=False, meta=False, note="indices"
    ),
    Case(
        "masked_fill",
        lambda make: [
            call(make(3, 4), make.mask(3, 4), 1),
            call(make(3, 4), make.mask(4), 0),
            call(make(3), make.mask(3), make()),
            call(make(3, 1), make.mask(4), 1),
            call(make(0), make.mask(0), 1),
        ],
        errors=lambda make: [
            call(make(3), make.mask(4), 1),
            call(make(3), make(3, dtype="int32"), 1),
            call(make(3), make.mask(3), make(2)),
        ],
    ),
    Case(
        "masked_select",
        lambda make: [
            call(make(3, 4), make.mask(3, 4)),
            call(make(3, 4), make.mask(4)),
            call(make(3), make.mask(2, 1)),
            call(make(), make.mask()),
        ],
        errors=lambda make: [call(make(3), make.mask(4)), call(make(3), make(3, dtype="int64"))],
        meta=False,
    ),
    Case(
        "masked_scatter",
        lambda make: [
            call(make(3, 4), make.mask(3, 4), make(12)),
            call(make(3, 4), make.mask(4), make(3, 4)),
            call(make(3), make.mask(3), make(5)),
        ],
        errors=lambda make: [call(make(3), make.values([1, 1, 1], "bool"), make(2))],
    ),
    *pairs(
        "is_nonzero",
        lambda make: [call(make()), call(make(1))],
        gradients=False,
        meta=False,
        errors=lambda make: [call(make(2)), call(make(0))],
    ),
    *pairs("is_floating_point is_complex is_signed", lambda make: [call(make(2))], gradients=False),
]
