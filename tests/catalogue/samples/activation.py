"""Activation functions."""

from __future__ import annotations

from ..table import Make, Sample, call, pairs


def shapes(make: Make) -> list[Sample]:
    return [call(make(3, 4)), call(make()), call(make(0)), call(make.values([0, 1, -1, 3, -3, 6, 20, -20]))]


def with_axis(make: Make) -> list[Sample]:
    return [
        call(make(3, 4), 1),
        call(make(3, 4), dim=0),
        call(make(2, 3, 4), -1),
        call(make(), 0),
        call(make(0, 3), 1),
        call(make(3, 0), 1),
    ]


F = "nn.functional."

CASES = [
    *pairs(
        "relu "
        + " ".join(
            F + name
            for name in (
                "relu",
                "relu6",
                "silu",
                "mish",
                "hardtanh",
                "hardswish",
                "hardsigmoid",
                "softsign",
                "tanhshrink",
                "logsigmoid",
                "tanh",
                "sigmoid",
                "selu",
            )
        ),
        shapes,
    ),
    *pairs("selu celu", shapes),
    *pairs(F + "elu " + F + "celu", lambda make: shapes(make) + [call(make(3, 4), 0.5)]),
    *pairs(F + "leaky_relu", lambda make: shapes(make) + [call(make(3, 4), 0.2)]),
    *pairs(F + "hardshrink " + F + "softshrink", lambda make: shapes(make) + [call(make(3, 4), 0.3)]),
    *pairs("hardshrink", lambda make: shapes(make) + [call(make(3, 4), 0.3)]),
    *pairs(F + "threshold threshold", lambda make: [call(make(3, 4), 0.5, 2.0), call(make.values([0, 1, 2]), 1, 0)]),
    *pairs(
        F + "gelu",
        lambda make: shapes(make) + [call(make(3, 4), approximate="tanh")],
        errors=lambda make: [call(make(2), approximate="fast")],
        nonfinite=False,  # of infinity, PyTorch's vectorised kernel says NaN where its scalar one says infinity
    ),
    *pairs(F + "softplus", lambda make: shapes(make) + [call(make(3, 4), 2.0, 1.0), call(make.values([30, -30, 0]))]),
    *pairs(F + "hardtanh", lambda make: [call(make(3, 4), -0.5, 1.5)], note="bounds"),
    *pairs(
        F + "prelu prelu",
        lambda make: [call(make(2, 3, 4), make(3)), call(make(3, 4), make(1)), call(make(4), make(1))],
        errors=lambda make: [call(make(2, 3), make(2))],
    ),
    *pairs(
        F + "glu",
        lambda make: [call(make(4, 6)), call(make(4, 6), 0)],
        errors=lambda make: [call(make(3, 3)), call(make())],
    ),
    *pairs(
        "softmax log_softmax " + F + "softmax " + F + "log_softmax",
        with_axis,
        errors=lambda make: [call(make(3), 1), call(make(2, 2), -3)],
    ),
    *pairs("special.softmax special.log_softmax", with_axis),
    *pairs(F + "softmin", with_axis),
    *pairs(
        F + "normalize",
        lambda make: [
            call(make(3, 4)),
            call(make(3, 4), 1.0, 0),
            call(make(2, 3, 4), dim=-1),
            call(make.values([[0, 0], [1, 0]])),
        ],
        nonfinite=False,
    ),
    *pairs(
        F + "one_hot",
        lambda make: [call(make.index(4, size=3)), call(make.index(2, 3, size=3), 5), call(make.values(2, "int64"))],
        gradients=False,
        meta=False,
        errors=lambda make: [call(make.values([3], "int64"), 2), call(make.values([-1], "int64"))],
        dtypes=("float32",),
    ),
    *pairs("relu_ " + F + "relu_", lambda make: [call(make(3, 4))], gradients=False, forms=False),
]
