"""Attention."""

from __future__ import annotations

from ..table import Case, call

F = "nn.functional."

CASES = [
    Case(
        F + "scaled_dot_product_attention",
        lambda make: [
            call(make(2, 3, 4, 5), make(2, 3, 6, 5), make(2, 3, 6, 7)),
            call(make(2, 4, 5), make(2, 4, 5), make(2, 4, 5), is_causal=True),
            call(make(1, 2, 4, 5), make(1, 2, 4, 5), make(1, 2, 4, 5), attn_mask=make(4, 4)),
            call(
                make(1, 2, 3, 5),
                make(1, 2, 4, 5),
                make(1, 2, 4, 5),
                attn_mask=make.values([[True, False, True, True]] * 3, "bool"),
            ),
            call(make(4, 5), make(4, 5), make(4, 5), scale=0.5),
            call(make(2, 4, 3, 5), make(2, 2, 3, 5), make(2, 2, 3, 5), enable_gqa=True),
            call(
                make(1, 2, 3, 4),
                make(1, 2, 3, 4),
                make(1, 2, 3, 4),
                make.values([[True] * 3, [False] * 3, [True, False, True]], "bool"),
            ),
        ],
        dtypes=("float32", "float64", "bfloat16"),
        nonfinite=False,
        tolerance=10,
        errors=lambda make: [
            call(make(2, 4, 5), make(2, 4, 5), make(2, 4, 5), attn_mask=make(4, 4), is_causal=True),
            call(make(2, 4, 5), make(2, 4, 6), make(2, 4, 5)),
        ],
    ),
    Case(
        F + "scaled_dot_product_attention",
        lambda make: [call(make(1, 2, 4, 5), make(1, 2, 4, 5), make(1, 2, 4, 5), dropout_p=0.3)],
        random=True,
        dtypes=("float32",),
        nonfinite=False,
        tolerance=10,
        note="dropout",
    ),
    Case(
        F + "multi_head_attention_forward",
        lambda make: [
            call(
                make(3, 2, 4),
                make(5, 2, 4),
                make(5, 2, 4),
                4,
                2,
                make(12, 4),
                make(12),
                None,
                None,
                False,
                0.0,
                make(4, 4),
                make(4),
            ),
        ],
        dtypes=("float32", "float64"),
        nonfinite=False,
        tolerance=10,
    ),
]
