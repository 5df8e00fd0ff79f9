"""Normalisations."""

from __future__ import annotations

from ..table import Case, call

F = "nn.functional."
FLOATS = ("float32", "float64", "bfloat16")

CASES = [
    Case(
        F + "batch_norm",
        lambda make: [
            call(make(4, 3), make(3), make.positive(3), make(3), make(3), True),
            call(make(2, 3, 4), make(3), make.positive(3), training=True, momentum=0.3),
            call(make(2, 3, 4, 2), make(3), make.positive(3), make(3), make(3)),
            call(make(2, 3, 2, 2), None, None, make(3), make(3), training=True),
            call(make(4, 3), make(3), make.positive(3), eps=0.1),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
        gradients=False,
        errors=lambda make: [
            call(make(1, 3), make(3), make.positive(3), training=True),
            call(make(2, 3), None, None),
            call(make(2, 3), make(4), make.positive(4)),
        ],
    ),
    Case(
        F + "batch_norm",
        lambda make: [
            call(make(4, 3), None, None, make(3), make(3), True),
            call(make(2, 3, 2, 2), None, None, make(3), make(3), training=True),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
        note="gradients",
    ),
    Case(
        F + "layer_norm",
        lambda make: [
            call(make(2, 3, 4), (4,)),
            call(make(2, 3, 4), (3, 4), make(3, 4), make(3, 4)),
            call(make(3, 4), (4,), make(4)),
            call(make(3, 4), [4], eps=0.1),
            call(make(4), (4,)),
            call(make(0, 4), (4,)),
        ],
        dtypes=FLOATS,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [call(make(2, 3), (4,)), call(make(2, 3), (3,), make(2)), call(make(2, 3), ())],
    ),
    Case(
        "layer_norm",
        lambda make: [call(make(2, 3, 4), (4,)), call(make(2, 3, 4), (4,), make(4), make(4), 1e-3)],
        dtypes=FLOATS,
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        F + "rms_norm",
        lambda make: [
            call(make(2, 3, 4), (4,)),
            call(make(3, 4), (4,), make(4)),
            call(make(2, 3, 4), (3, 4), make(3, 4), 0.1),
        ],
        dtypes=FLOATS,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [call(make(2, 3), (4,))],
    ),
    Case(
        F + "group_norm",
        lambda make: [
            call(make(2, 4), 2),
            call(make(2, 4, 3), 2, make(4), make(4)),
            call(make(2, 6, 2, 2), 3, make(6), make(6), 0.1),
            call(make(2, 4, 3), 1),
            call(make(2, 4, 3), 4),
        ],
        dtypes=FLOATS,
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [call(make(2, 4, 2), 3), call(make(2, 4, 2), 2, make(3)), call(make(4), 2)],
    ),
    Case(
        F + "instance_norm",
        lambda make: [
            call(make(2, 3, 4)),
            call(make(2, 3, 4, 2), weight=make(3), bias=make(3)),
            call(make(2, 3, 4), make(3), make.positive(3), use_input_stats=False),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
    ),
    Case(
        F + "local_response_norm",
        lambda make: [call(make(2, 4, 3), 2), call(make(2, 4, 3, 2), 3, 0.1, 0.5, 2.0)],
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
    ),
]
