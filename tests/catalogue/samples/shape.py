"""Joining, repeating, reordering: functions that move elements into new memory."""

from __future__ import annotations

from ..table import Case, call, pairs

CASES = [
    *pairs(
        "cat concat concatenate",
        lambda make: [
            call([make(2, 3), make(1, 3)]),
            call((make(2, 3), make(2, 2)), 1),
            call([make(2, 3), make(2, 3), make(2, 3)], dim=-1),
            call([make(0), make(2, 3)]),
            call([make(2, 3), make(2, 3, dtype="int64")]),
            call([make(3)]),
            call([make(0, 3), make(2, 3)]),
        ],
        errors=lambda make: [
            call([make(2, 3), make(2, 2)]),
            call([]),
            call([make(2), make()]),
            call([make(2)], 1),
            call([make(2), make(2, 2)]),
        ],
    ),
    Case(
        "stack",
        lambda make: [
            call([make(2, 3), make(2, 3)]),
            call([make(2), make(2), make(2)], 1),
            call([make(), make()], dim=-1),
        ],
        errors=lambda make: [call([make(2), make(3)]), call([]), call([make(2)], 3)],
    ),
    *pairs(
        "hstack vstack dstack row_stack column_stack",
        lambda make: [call([make(3), make(3)]), call([make(2, 3), make(2, 3)]), call([make(), make()])],
    ),
    *pairs(
        "tile",
        lambda make: [call(make(2, 3), (2,)), call(make(2, 3), (2, 1, 2)), call(make(3), (0,)), call(make(), (2,))],
    ),
    Case(
        "repeat_interleave",
        lambda make: [
            call(make(3), 2),
            call(make(2, 3), 2, dim=1),
            call(make(3), make.values([1, 0, 2], "int64")),
            call(make(2, 2), make.values([2, 1], "int64"), dim=0),
            call(make.values([1, 0, 2], "int64")),
        ],
        meta=False,
        errors=lambda make: [call(make(3), -1), call(make(3), make.values([1, 2], "int64"))],
    ),
    Case(
        "flip",
        lambda make: [call(make(2, 3), (0,)), call(make(2, 3), (0, -1)), call(make(3), [0]), call(make(), ())],
        errors=lambda make: [call(make(2, 3), (0, 0)), call(make(2), (1,))],
    ),
    *pairs("fliplr flipud", lambda make: [call(make(2, 3)), call(make(2, 1, 2))]),
    Case(
        "rot90",
        lambda make: [
            call(make(2, 3)),
            call(make(2, 3), 2),
            call(make(2, 3), -1, (1, 0)),
            call(make(2, 3, 2), 3, (0, 2)),
        ],
        errors=lambda make: [call(make(3)), call(make(2, 3), 1, (0, 0))],
    ),
    Case(
        "roll",
        lambda make: [
            call(make(5), 2),
            call(make(2, 3), 1),
            call(make(2, 3), (1, -1), (0, 1)),
            call(make(3, 2), -1, 0),
            call(make(0), 1),
        ],
        errors=lambda make: [call(make(2, 3), (1, 2), 0), call(make(2), 1, 3)],
    ),
    *pairs(
        "tril triu",
        lambda make: [
            call(make(3, 4)),
            call(make(3, 4), 1),
            call(make(2, 4, 3), diagonal=-1),
            call(make(0, 3)),
            call(make(3, 3), 5),
        ],
        errors=lambda make: [call(make(3))],
    ),
    *pairs(
        "diag",
        lambda make: [call(make(3)), call(make(3), 1), call(make(3, 4)), call(make(3, 4), -1)],
        errors=lambda make: [call(make(2, 2, 2))],
    ),
    *pairs(
        "diag_embed",
        lambda make: [call(make(3)), call(make(2, 3), 1), call(make(2, 3), offset=-1, dim1=0, dim2=2)],
        errors=lambda make: [call(make(2), 0, 0, 0)],
    ),
    *pairs("diagflat", lambda make: [call(make(3)), call(make(2, 2)), call(make(3), 1)]),
    Case("block_diag", lambda make: [call(make(2, 3), make(1, 2)), call(make(2), make())]),
    Case(
        "meshgrid",
        lambda make: [
            call(make(2), make(3), indexing="ij"),
            call(make(2), make(3), indexing="xy"),
            call([make(2), make(3), make(2)], indexing="ij"),
        ],
        meta=False,
    ),
    Case("cartesian_prod", lambda make: [call(make(2), make(3)), call(make(3))]),
    Case(
        "combinations", lambda make: [call(make(4)), call(make(4), 3), call(make(3), with_replacement=True)], meta=False
    ),
    *pairs(
        "atleast_1d atleast_2d atleast_3d",
        lambda make: [call(make()), call(make(2)), call(make(2, 3)), call([make(), make(2)])],
    ),
    Case(
        "broadcast_tensors",
        lambda make: [call(make(3, 1), make(4)), call(make(), make(2))],
        errors=lambda make: [call(make(3), make(4))],
    ),
    Case(
        "broadcast_shapes",
        lambda make: [call((3, 1), (4,)), call((), (2, 2)), call((1,), (0,))],
        gradients=False,
        errors=lambda make: [call((3,), (4,))],
    ),
    Case("kron", lambda make: [call(make(2, 3), make(3, 2)), call(make(2), make(2, 2)), call(make(), make(2))]),
    Case(
        "cross",
        lambda make: [call(make(2, 3), make(2, 3)), call(make(3, 2), make(3, 2), 0)],
        errors=lambda make: [call(make(2, 2), make(2, 2))],
    ),
    # PyTorch's has no gradient: it writes over what it saved.
    Case("vander", lambda make: [call(make(4)), call(make(3), 5), call(make(3), increasing=True)], gradients=False),
    Case("clone", lambda make: [call(make(2, 3)), call(make()), call(make(0))]),
    Case(
        "unflatten",
        lambda make: [call(make(2, 6), 1, (2, 3)), call(make(6), 0, (-1, 2))],
        errors=lambda make: [call(make(2, 6), 1, (4, 2))],
    ),
]
