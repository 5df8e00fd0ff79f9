"""Layers of features and sequences: linear, activation, normalisation, dropout, embedding, recurrence, attention."""

from __future__ import annotations

from ..table import Layer, Make, Name, Sample, call, layer


def features(make: Make) -> list[Sample]:
    return [call(make(3, 4)), call(make(2, 3, 4))]


def channels(make: Make) -> list[Sample]:
    return [call(make(3, 4))]


def sequence(make: Make) -> list[Sample]:
    return [call(make(5, 2, 3)), call(make(5, 3))]


def batch_first(make: Make) -> list[Sample]:
    return [call(make(2, 5, 3))]


def encoded(make: Make) -> list[Sample]:
    return [
        call(make(4, 2, 8)),
        call(make(4, 2, 8), src_key_padding_mask=make.values([[False] * 4, [False, False, True, True]], "bool")),
    ]


def encoded_batch_first(make: Make) -> list[Sample]:
    return [
        call(make(2, 4, 8)),
        call(make(2, 4, 8), src_key_padding_mask=make.values([[False] * 4, [False, False, True, True]], "bool")),
    ]


def recurrent_layers() -> list[Layer]:
    settings: list[dict[str, object]] = [
        {},
        {"num_layers": 2},
        {"bidirectional": True},
        {"bias": False},
        {"num_layers": 2, "dropout": 0.4, "bidirectional": True},
    ]
    found = [layer(f"nn.{kind}", 3, 4, inputs=sequence, **how) for kind in ("RNN", "LSTM", "GRU") for how in settings]
    found += [layer(f"nn.{kind}", 3, 4, inputs=batch_first, batch_first=True) for kind in ("RNN", "LSTM", "GRU")]
    found += [
        layer("nn.RNN", 3, 4, inputs=sequence, nonlinearity="relu"),
        layer("nn.LSTM", 3, 4, inputs=sequence, proj_size=2),
    ]
    found += [
        layer(f"nn.{kind}Cell", 3, 4, inputs=lambda make: [call(make(2, 3)), call(make(3))])
        for kind in ("RNN", "LSTM", "GRU")
    ]
    return found


LAYERS = [
    layer("nn.Linear", 4, 3, inputs=features),
    layer("nn.Linear", 4, 3, bias=False, inputs=features),
    layer("nn.Linear", 4, 3, dtype=Name("float64"), inputs=lambda make: [call(make(2, 4, dtype="float64"))]),
    layer("nn.Bilinear", 4, 2, 3, inputs=lambda make: [call(make(5, 4), make(5, 2))]),
    layer("nn.LazyLinear", 3, inputs=features),
    layer("nn.Identity", inputs=features),
    layer("nn.Flatten", inputs=features),
    layer("nn.Flatten", 0, inputs=features),
    layer("nn.Unflatten", 1, (2, 2), inputs=channels),
    *[
        layer(f"nn.{name}", inputs=features)
        for name in (
            "ReLU",
            "ReLU6",
            "Sigmoid",
            "Tanh",
            "ELU",
            "SELU",
            "CELU",
            "GELU",
            "SiLU",
            "Mish",
            "Hardswish",
            "Hardsigmoid",
            "Hardtanh",
            "Softplus",
            "Softsign",
            "Tanhshrink",
            "Hardshrink",
            "Softshrink",
            "LeakyReLU",
            "LogSigmoid",
            "GLU",
            "RReLU",
            "PReLU",
        )
    ],
    layer("nn.PReLU", 4, inputs=channels),
    layer("nn.GELU", approximate="tanh", inputs=features),
    layer("nn.Threshold", 0.1, 2.0, inputs=features),
    layer("nn.ELU", 0.5, inputs=features),
    layer("nn.LeakyReLU", 0.2, inputs=features),
    *[layer(f"nn.{name}", 1, inputs=features) for name in ("Softmax", "LogSoftmax", "Softmin")],
    layer("nn.Softmax2d", inputs=lambda make: [call(make(2, 3, 2, 2))]),
    layer("nn.BatchNorm1d", 4, inputs=lambda make: [call(make(3, 4)), call(make(3, 4, 5))]),
    layer("nn.BatchNorm1d", 4, affine=False, momentum=None, inputs=channels),
    layer("nn.BatchNorm1d", 4, track_running_stats=False, inputs=channels),
    layer("nn.BatchNorm2d", 3, inputs=lambda make: [call(make(2, 3, 4, 2))]),
    layer("nn.BatchNorm3d", 3, inputs=lambda make: [call(make(2, 3, 4, 2, 2))]),
    layer("nn.LazyBatchNorm1d", inputs=channels),
    layer("nn.LayerNorm", 4, inputs=features),
    layer("nn.LayerNorm", (3, 4), elementwise_affine=False, inputs=lambda make: [call(make(2, 3, 4))]),
    layer("nn.LayerNorm", 4, bias=False, inputs=features),
    layer("nn.RMSNorm", 4, inputs=features),
    layer("nn.GroupNorm", 2, 4, inputs=lambda make: [call(make(3, 4)), call(make(3, 4, 5))]),
    layer("nn.InstanceNorm1d", 4, inputs=lambda make: [call(make(3, 4, 5))]),
    layer("nn.InstanceNorm2d", 3, affine=True, track_running_stats=True, inputs=lambda make: [call(make(2, 3, 4, 2))]),
    layer("nn.InstanceNorm3d", 3, inputs=lambda make: [call(make(2, 3, 2, 2, 2))]),
    layer("nn.LocalResponseNorm", 2, inputs=lambda make: [call(make(2, 4, 3))]),
    layer("nn.Dropout", 0.3, inputs=features),
    layer("nn.Dropout", inplace=True, inputs=lambda make: [call(make(3, 4, grad=False))]),
    layer("nn.Dropout1d", 0.4, inputs=lambda make: [call(make(2, 3, 4))]),
    layer("nn.Dropout2d", 0.4, inputs=lambda make: [call(make(2, 3, 4, 2))]),
    layer("nn.Dropout3d", 0.4, inputs=lambda make: [call(make(2, 3, 2, 2, 2))]),
    layer("nn.AlphaDropout", 0.3, inputs=features),
    layer("nn.FeatureAlphaDropout", 0.3, inputs=lambda make: [call(make(2, 3, 4))]),
    layer("nn.Embedding", 6, 3, inputs=lambda make: [call(make.index(2, 4, size=6))]),
    layer("nn.Embedding", 6, 3, padding_idx=2, inputs=lambda make: [call(make.index(2, 4, size=6))]),
    layer("nn.Embedding", 6, 3, max_norm=1.0, inputs=lambda make: [call(make.index(2, 4, size=6))]),
    layer(
        "nn.EmbeddingBag",
        6,
        3,
        inputs=lambda make: [call(make.index(2, 4, size=6)), call(make.index(5, size=6), make.values([0, 2], "int64"))],
    ),
    layer("nn.EmbeddingBag", 6, 3, mode="sum", inputs=lambda make: [call(make.index(2, 4, size=6))]),
    layer("nn.EmbeddingBag", 6, 3, mode="max", inputs=lambda make: [call(make.index(2, 4, size=6))]),
    layer("nn.CosineSimilarity", inputs=lambda make: [call(make(3, 4), make(3, 4))]),
    layer("nn.PairwiseDistance", inputs=lambda make: [call(make(3, 4), make(3, 4))]),
    *recurrent_layers(),
    layer(
        "nn.MultiheadAttention",
        8,
        2,
        inputs=lambda make: [
            call(make(3, 2, 8), make(5, 2, 8), make(5, 2, 8)),
            call(make(3, 8), make(5, 8), make(5, 8)),
            call(make(3, 2, 8), make(3, 2, 8), make(3, 2, 8), need_weights=False),
        ],
    ),
    layer(
        "nn.MultiheadAttention",
        8,
        2,
        dropout=0.3,
        batch_first=True,
        bias=False,
        inputs=lambda make: [
            call(
                make(2, 3, 8),
                make(2, 5, 8),
                make(2, 5, 8),
                key_padding_mask=make.values([[False] * 5, [False] * 3 + [True] * 2], "bool"),
            ),
            call(
                make(2, 3, 8),
                make(2, 3, 8),
                make(2, 3, 8),
                attn_mask=make.values([[False, True, True], [False, False, True], [False] * 3], "bool"),
            ),
        ],
    ),
    layer(
        "nn.MultiheadAttention",
        8,
        2,
        kdim=3,
        vdim=5,
        add_bias_kv=True,
        add_zero_attn=True,
        inputs=lambda make: [call(make(3, 2, 8), make(5, 2, 3), make(5, 2, 5), average_attn_weights=False)],
    ),
    layer("nn.TransformerEncoderLayer", 8, 2, 16, inputs=encoded),
    layer(
        "nn.TransformerEncoderLayer",
        8,
        2,
        16,
        0.0,
        activation="gelu",
        batch_first=True,
        norm_first=True,
        inputs=encoded_batch_first,
    ),
    layer("nn.TransformerDecoderLayer", 8, 2, 16, inputs=lambda make: [call(make(3, 2, 8), make(4, 2, 8))]),
    layer("nn.Transformer", 8, 2, 1, 1, 16, inputs=lambda make: [call(make(3, 2, 8), make(4, 2, 8))]),
]
