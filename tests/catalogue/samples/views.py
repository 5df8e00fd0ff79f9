"""Functions whose result shares memory with their input."""

from __future__ import annotations

from typing import Any

from ..table import DTYPES, Case, call, pairs

REAL = tuple(dtype for dtype in DTYPES if not dtype.startswith("complex"))


def copied(framework: Any, result: Any) -> Any:
    return result.clone()


CASES = [
    Case(
        "reshape",
        lambda make: [
            call(make(2, 6), (3, 4)),
            call(make(2, 6), (-1,)),
            call(make(4), (2, -1)),
            call(make(0, 3), (3, 0)),
            call(make(), (1, 1)),
        ],
        errors=lambda make: [
            call(make(6), (4,)),
            call(make(6), (-1, -1)),
            call(make(6), (-1, 4)),
            call(make(0), (-1, 0)),
        ],
    ),
    Case(
        "Tensor.view",
        lambda make: [call(make(2, 6), 3, 4), call(make(2, 6), (-1,)), call(make(2, 6), [12])],
        errors=lambda make: [call(make(6), 4)],
    ),
    *pairs(
        "transpose swapaxes swapdims",
        lambda make: [call(make(2, 3), 0, 1), call(make(2, 3, 4), -1, 0), call(make(), 0, -1)],
        errors=lambda make: [call(make(2, 3), 0, 2), call(make(2), 0)],
    ),
    Case("t", lambda make: [call(make(2, 3)), call(make(3)), call(make())], errors=lambda make: [call(make(2, 2, 2))]),
    *pairs("adjoint", lambda make: [call(make(2, 3)), call(make(2, 2, 3))], dtypes=REAL),
    # PyTorch conjugates lazily, in a view; here it is a copy.
    *pairs("adjoint", lambda make: [call(make(2, 3))], dtypes=("complex64",), through=copied, note="complex"),
    Case(
        "permute",
        lambda make: [call(make(2, 3, 4), (2, 0, 1)), call(make(2, 3), (-1, 0)), call(make(), ())],
        errors=lambda make: [call(make(2, 3), (0,)), call(make(2, 3), (0, 0)), call(make(2, 3), (0, 2))],
    ),
    *pairs(
        "movedim moveaxis",
        lambda make: [call(make(2, 3, 4), 0, 2), call(make(2, 3, 4), (0, 1), (-1, 0))],
        errors=lambda make: [call(make(2, 3), (0, 1), (0,)), call(make(2, 3), (0, 0), (0, 1))],
    ),
    Case(
        "squeeze",
        lambda make: [
            call(make(1, 2, 1)),
            call(make(1, 2, 1), 0),
            call(make(1, 2), 1),
            call(make(1, 2, 1), (0, 2)),
            call(make()),
        ],
        errors=lambda make: [call(make(2), 1)],
    ),
    Case(
        "unsqueeze",
        lambda make: [call(make(2, 3), 0), call(make(2, 3), -1), call(make(), 0)],
        errors=lambda make: [call(make(2), 3), call(make(2))],
    ),
    Case(
        "flatten",
        lambda make: [call(make(2, 3, 4)), call(make(2, 3, 4), 1), call(make(2, 3, 4), 0, 1), call(make())],
        errors=lambda make: [call(make(2, 3), 1, 0)],
    ),
    Case("ravel", lambda make: [call(make(2, 3)), call(make())]),
    *pairs(
        "broadcast_to",
        lambda make: [call(make(3, 1), (3, 4)), call(make(2), (3, 2)), call(make(), (2,))],
        errors=lambda make: [call(make(3), (4,)), call(make(2, 2), (2,))],
    ),
    Case(
        "Tensor.expand",
        lambda make: [call(make(3, 1), 3, 4), call(make(2), (3, -1)), call(make(), 2, 2)],
        errors=lambda make: [call(make(3), 4), call(make(3), -1, 3)],
    ),
    Case(
        "narrow",
        lambda make: [call(make(4, 3), 0, 1, 2), call(make(4, 3), -1, -2, 2), call(make(3), 0, 3, 0)],
        errors=lambda make: [call(make(3), 0, 2, 2), call(make(3), 0, 0, -1)],
    ),
    Case(
        "select",
        lambda make: [call(make(4, 3), 0, 1), call(make(4, 3), -1, -1)],
        errors=lambda make: [call(make(3), 0, 3), call(make(), 0, 0)],
    ),
    Case(
        "diagonal",
        lambda make: [call(make(3, 4)), call(make(3, 4), 1), call(make(2, 3, 4), -1, 1, 2), call(make(3, 3), 4)],
        errors=lambda make: [call(make(3)), call(make(3, 3), 0, 0, 0)],
    ),
    *pairs(
        "unbind",
        lambda make: [call(make(2, 3)), call(make(2, 3), 1)],
        errors=lambda make: [call(make()), call(make(2), 1)],
    ),
    Case(
        "split",
        lambda make: [call(make(5, 2), 2), call(make(5, 2), [1, 4]), call(make(2, 5), 3, dim=1), call(make(0), 1)],
        errors=lambda make: [call(make(5), [1, 2]), call(make(5), -1), call(make(), 1)],
    ),
    Case(
        "chunk",
        lambda make: [call(make(5, 2), 2), call(make(5), 7), call(make(2, 4), 3, dim=1)],
        errors=lambda make: [call(make(5), 0), call(make(), 1)],
    ),
    Case(
        "tensor_split",
        lambda make: [call(make(7), 3), call(make(7), (2, 5)), call(make(2, 5), 2, dim=1), call(make(3), (5,))],
        errors=lambda make: [call(make(5), 0)],
    ),
    Case("split_with_sizes", lambda make: [call(make(5), [2, 3])], errors=lambda make: [call(make(5), [2, 2])]),
    *pairs(
        "hsplit vsplit",
        lambda make: [call(make(4, 4), 2), call(make(4, 4), (1, 3))],
        errors=lambda make: [call(make(4, 4), 3)],
    ),
    Case("dsplit", lambda make: [call(make(2, 2, 4), 2)]),
    Case(
        "Tensor.unfold",
        lambda make: [call(make(6), 0, 2, 1), call(make(2, 6), 1, 3, 2), call(make(), 0, 1, 1)],
        errors=lambda make: [call(make(3), 0, 4, 1), call(make(3), 0, 1, 0)],
    ),
    Case(
        "as_strided",
        lambda make: [call(make(6), (2, 3), (3, 1)), call(make(6), (2, 2), (1, 2), 1), call(make(4), (3, 2), (1, 1))],
        errors=lambda make: [call(make(4), (3,), (2,)), call(make(4), (2,), (1, 1)), call(make(4), (2,), (-1,))],
        nonfinite=False,
    ),
    *pairs(
        "Tensor.view_as Tensor.expand_as Tensor.reshape_as",
        lambda make: [call(make(2, 3), make(2, 3)), call(make(1, 3), make(1, 3))],
    ),
    Case("detach", lambda make: [call(make(2, 3))]),
    *pairs(
        "slice_scatter", lambda make: [call(make(4, 3), make(2, 3), 0, 1, 3), call(make(3, 4), make(3, 2), 1, 0, 4, 2)]
    ),
    Case(
        "select_scatter",
        lambda make: [call(make(4, 3), make(3), 0, 1)],
        errors=lambda make: [call(make(4, 3), make(2), 0, 1)],
    ),
    Case("diagonal_scatter", lambda make: [call(make(3, 3), make(3)), call(make(3, 3), make(2), 1)]),
    # PyTorch's gradient of the input fails its own gradcheck.
    Case("as_strided_scatter", lambda make: [call(make(3, 3), make(2, 2), (2, 2), (3, 1))], gradients=False),
]
