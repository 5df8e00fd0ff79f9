"""Recurrent cells and packed sequences, as functions."""

from __future__ import annotations

from typing import Any

from ..table import Case, call, pairs

INEXACT = ("float32", "float64")
RNN = "nn.utils.rnn."


def unpacked(framework: Any, packed: Any) -> list[Any]:
    return [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices]


CASES = [
    *pairs(
        "rnn_tanh_cell rnn_relu_cell",
        lambda make: [call(make(2, 3), make(2, 4), make(4, 3), make(4, 4), make(4), make(4))],
        dtypes=INEXACT,
        nonfinite=False,
        meta=False,
    ),
    Case(
        "lstm_cell",
        lambda make: [call(make(2, 3), [make(2, 4), make(2, 4)], make(16, 3), make(16, 4), make(16), make(16))],
        dtypes=INEXACT,
        nonfinite=False,
        meta=False,
    ),
    Case(
        "gru_cell",
        lambda make: [call(make(2, 3), make(2, 4), make(12, 3), make(12, 4), make(12), make(12))],
        dtypes=INEXACT,
        nonfinite=False,
        meta=False,
    ),
    Case(
        RNN + "pad_sequence",
        lambda make: [
            call([make(3), make(1), make(2)]),
            call([make(3, 2), make(4, 2)], batch_first=True),
            call([make(1), make(2)], padding_value=1.0),
            call([make(1), make(3)], batch_first=True, padding_side="left"),
        ],
        forms=False,
    ),
    Case(  # with the batch first: else PyTorch transposes the caller's tensor in place
        RNN + "unpad_sequence",
        lambda make: [call(make(2, 4, 3), make.values([2, 4], "int64"), batch_first=True)],
        forms=False,
    ),
    Case(
        RNN + "pack_padded_sequence",
        lambda make: [
            call(make(4, 3, 2), make.values([4, 2, 1], "int64")),
            call(make(3, 4, 2), [4, 4, 2], batch_first=True),
            call(make(4, 3, 2), [2, 4, 1], enforce_sorted=False),
        ],
        through=unpacked,
        forms=False,
        errors=lambda make: [call(make(4, 3), [2, 4, 1]), call(make(4, 2), [2, 0]), call(make(4, 2), [4])],
    ),
    Case(
        RNN + "pack_sequence",
        lambda make: [call([make(3, 2), make(2, 2)]), call([make(1), make(3)], enforce_sorted=False)],
        through=unpacked,
        forms=False,
        errors=lambda make: [call([make(1), make(3)])],
    ),
]
