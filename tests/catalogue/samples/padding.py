"""Padding."""

from __future__ import annotations

from ..table import Case, call

F = "nn.functional."

CASES = [
    Case(
        F + "pad",
        lambda make: [
            call(make(2, 3), (1, 2)),
            call(make(2, 3), (1, 0, 0, 2), value=1.5),
            call(make(2, 3, 4), (1, 1), "reflect"),
            call(make(2, 3, 4), (2, 1), "replicate"),
            call(make(2, 3, 4), (1, 2), "circular"),
            call(make(1, 2, 4, 5), (1, 2, 2, 1), "reflect"),
            call(make(1, 2, 3, 4), (1, 2, 2, 1), "replicate"),
            call(make(1, 2, 3, 4), (1, 2, 2, 1), "circular"),
            call(make(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 0), "replicate"),
            call(make(1, 2, 3, 3, 3), (1, 1, 1, 1, 1, 0), "reflect"),
            call(make(2, 5), (-1, -2)),
            call(make(2, 3), (-1, 2)),
            call(make(3), (0, 0)),
        ],
        nonfinite=False,
        errors=lambda make: [
            call(make(2, 3), (1,)),
            call(make(2, 3), (1, 1, 1, 1, 1, 1)),
            call(make(2, 3, 4), (4, 0), "reflect"),
            call(make(2, 3), (-4, 0)),
            call(make(2, 3), (1, 1), "mirror"),
        ],
    ),
    Case("constant_pad_nd", lambda make: [call(make(2, 3), (1, 2), 1), call(make(2, 3), [0, 1])]),
]
