"""Reductions and scans."""

from __future__ import annotations

from ..table import Case, Make, Name, Sample, call, pairs


def axes(make: Make) -> list[Sample]:
    return [
        call(make(3, 4)),
        call(make(3, 4), 0),
        call(make(3, 4), dim=1, keepdim=True),
        call(make(2, 3, 4), dim=(0, 2)),
        call(make(2, 3, 4), (1, -1), True),
        call(make(3, 1, 2), -2),
        call(make()),
        call(make(), 0),
        call(make(0, 3), 0),
        call(make(0, 3), 1),
    ]


def one_axis(make: Make) -> list[Sample]:
    return [
        call(make(3, 4)),
        call(make(3, 4), 0),
        call(make(3, 4), dim=1, keepdim=True),
        call(make(2, 3, 4), -1),
        call(make()),
        call(make(), 0),
        call(make(0, 3), 0),
    ]


def wrong_axes(make: Make) -> list[Sample]:
    return [call(make(3, 4), 2), call(make(3, 4), -3), call(make(3), "x")]


def wrong_pairs(make: Make) -> list[Sample]:
    return [*wrong_axes(make), call(make(3, 4), (0, 0))]


def distinct_axes(make: Make) -> list[Sample]:
    return [
        call(make.distinct(3, 4)),
        call(make.distinct(3, 4), 0),
        call(make.distinct(3, 4), dim=1, keepdim=True),
        call(make.distinct(2, 3, 4), -1),
        call(make()),
        call(make(), 0),
        call(make.ties(3, 4), 1),
        call(make.ties(3, 4)),
    ]


def scanned(make: Make) -> list[Sample]:
    return [call(make(3, 4), 0), call(make(3, 4), dim=-1), call(make(), 0), call(make(0, 3), 0), call(make(2, 3, 2), 1)]


def variances(make: Make) -> list[Sample]:
    return [
        call(make(3, 4)),
        call(make(3, 4), 0),
        call(make(3, 4), 1, unbiased=False),
        call(make(2, 3, 4), (0, 2), correction=0),
        call(make(3, 4), dim=1, keepdim=True, correction=2),
        call(make(3, 4), False),
        call(make(5)),
        call(make(0, 3), 1),
    ]


CASES = [
    Case("sum", lambda make: [call(make(2, 3), dim=None)], gradients=False, note="over None"),
    *pairs("sum nansum", axes, errors=wrong_pairs),
    *pairs("mean nanmean", axes, errors=wrong_pairs),
    Case("prod", one_axis, errors=wrong_axes, edges=False),
    Case(
        "prod",
        lambda make: [call(make.values([1, 0, 2])), call(make.values([[0, 0], [1, 2]]), 1)],
        note="with zeros",
        edges=False,
    ),
    *pairs(
        "sum prod mean cumsum",
        lambda make: [
            call(make(3, 4), 0, dtype=Name("float64")),
            call(make(3, 4), 0, dtype=Name("float32")),
            call(make(3, 4), 1, dtype=Name("complex64")),
        ],
        note="of a dtype",
        dtypes=("float32", "float64", "int64", "uint8", "bool"),
        nonfinite=False,
    ),
    *pairs(
        "amax amin",
        lambda make: axes(make)[:8] + [call(make.ties(3, 4), 1), call(make(0, 3), 1)],
        errors=lambda make: [*wrong_pairs(make), call(make(0, 3), 0), call(make(0))],
        edges=False,
    ),
    Case(
        "aminmax",
        lambda make: [call(make(3, 4)), call(make.distinct(3, 4), dim=0), call(make.ties(3, 4), dim=1, keepdim=True)],
        errors=lambda make: [call(make(0))],
        edges=False,
    ),
    *pairs(
        "max min",
        lambda make: distinct_axes(make) + [call(make(3, 4), make(3, 4)), call(make(3, 1), make(4))],
        errors=lambda make: [*wrong_axes(make), call(make(0)), call(make(0, 3), 0)],
    ),
    *pairs(
        "argmax argmin",
        distinct_axes,
        errors=lambda make: [*wrong_axes(make), call(make(0)), call(make(0, 3), 0)],
        gradients=False,
    ),
    *pairs("all any", axes, errors=wrong_axes, gradients=False),
    Case(
        "count_nonzero",
        lambda make: [call(make(3, 4)), call(make(3, 4), 0), call(make(2, 3, 4), (0, 1)), call(make(0))],
        errors=wrong_axes,
        gradients=False,
    ),
    *pairs("var std", variances, errors=wrong_pairs),
    *pairs("var std", lambda make: [call(make(1))], gradients=False, note="of one"),
    # The mean of an infinity: PyTorch says NaN here and infinity in `mean`.
    *pairs("var_mean std_mean", variances, errors=wrong_axes, nonfinite=False),
    *pairs(
        "logsumexp special.logsumexp",
        lambda make: [
            call(make(3, 4), 0),
            call(make(3, 4), (0, 1), keepdim=True),
            call(make(), 0),
            call(make(0, 3), 0),
        ],
        errors=wrong_axes,
        edges=False,
    ),
    *pairs(
        "median nanmedian",
        lambda make: [
            call(make.distinct(5)),
            call(make.distinct(3, 4), 1),
            call(make.distinct(4, 3), 0, keepdim=True),
            call(make()),
        ],
        errors=wrong_axes,
        edges=False,
    ),
    Case(
        "mode",
        lambda make: [call(make.ties(3, 5)), call(make.ties(5, 3), 0), call(make.ties(3, 5), -1, True)],
        errors=wrong_axes,
        gradients=False,
        nonfinite=False,
    ),
    *pairs(
        "quantile nanquantile",
        lambda make: [
            call(make.distinct(3, 4), 0.5),
            call(make.distinct(3, 4), 0.3, dim=1),
            call(make.distinct(3, 5), make.values([0.1, 0.5, 1.0]), dim=1, keepdim=True),
            *[
                call(make.distinct(6), 0.4, interpolation=how)
                for how in ("linear", "lower", "higher", "midpoint", "nearest")
            ],
        ],
        errors=lambda make: [call(make(3), 1.5), call(make(3), 0.5, interpolation="cubic")],
        dtypes=("float32", "float64"),
    ),
    *pairs("cumsum", scanned, errors=wrong_axes),
    *pairs(
        "cumprod",
        lambda make: scanned(make) + [call(make.values([[1, 0, 2, 3], [0, 2, 0, 1]]), 1)],
        errors=wrong_axes,
        edges=False,
    ),
    *pairs("cummax cummin", lambda make: scanned(make) + [call(make.ties(3, 5), 1)], errors=wrong_axes),
    Case("logcumsumexp", scanned, errors=wrong_axes),
    Case(
        "norm",
        lambda make: [
            call(make(3, 4)),
            call(make(3, 4), 2),
            call(make(3, 4), 1, 0),
            call(make(3, 4), p="fro"),
            call(make(3, 4), float("inf"), dim=1, keepdim=True),
            call(make(3, 4), 3, (0, 1)),
            call(make(3), 0),
        ],
        nonfinite=False,
    ),
    Case(
        "dist",
        lambda make: [call(make(3, 4), make(3, 4)), call(make(3), make(3), 1), call(make(3), make(3), 3)],
        nonfinite=False,
    ),
    Case("renorm", lambda make: [call(make(3, 4), 2, 0, 1.0), call(make(3, 4), 1, 1, 0.5)], nonfinite=False),
    Case(
        "trapezoid", lambda make: [call(make(5)), call(make(2, 5), make.distinct(5)), call(make(3, 4), dx=0.5, dim=0)]
    ),
    Case("cumulative_trapezoid", lambda make: [call(make(5)), call(make(3, 4), dx=0.5, dim=0)]),
    Case(
        "diff",
        lambda make: [
            call(make(5)),
            call(make(3, 4), 2),
            call(make(3, 4), dim=0),
            call(make(4), prepend=make(1)),
            call(make(2, 3), append=make(2, 2)),
        ],
        errors=lambda make: [call(make(3), -1), call(make())],
    ),
    Case(
        "histc",
        lambda make: [call(make(20), 5), call(make(20), bins=4, min=-1, max=1)],
        gradients=False,
        meta=False,
        nonfinite=False,
    ),
    Case(
        "bincount",
        lambda make: [
            call(make.index(12, size=5)),
            call(make.index(12, size=5), make(12)),
            call(make.index(6, size=3), minlength=8),
            call(make.index(0, size=3)),
        ],
        gradients=False,
        meta=False,
        errors=lambda make: [call(make.values([-1, 2], "int64")), call(make.index(2, 2, size=3))],
    ),
    Case(
        "gradient", lambda make: [call(make(5)), call(make(3, 4)), call(make(5), spacing=0.5), call(make(3, 4), dim=0)]
    ),
    Case("corrcoef", lambda make: [call(make(3, 6)), call(make(5))], nonfinite=False, tolerance=10),
    Case(
        "cov",
        lambda make: [
            call(make(3, 6)),
            call(make(5)),
            call(make(3, 6), correction=0),
            call(make(2, 4), fweights=make.index(4, size=3)),
        ],
        nonfinite=False,
        tolerance=10,
    ),
]
