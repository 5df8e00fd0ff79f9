"""Layers of signals, images and volumes: convolution, pooling, padding, resampling."""

from __future__ import annotations

from ..table import Layer, Make, Sample, Samples, call, layer

SIZES = (7, 6, 5)


def over(rank: int, channels: int = 4) -> Samples:
    def samples(make: Make) -> list[Sample]:
        return [call(make.distinct(2, channels, *SIZES[:rank])), call(make.distinct(channels, *SIZES[:rank]))]

    return samples


def free(rank: int) -> Samples:
    def samples(make: Make) -> list[Sample]:
        return [call(make(2, 4, *SIZES[:rank])), call(make(4, *SIZES[:rank]))]

    return samples


def convolutions(rank: int) -> list[Layer]:
    name, turned = f"nn.Conv{rank}d", f"nn.ConvTranspose{rank}d"
    return [
        layer(name, 4, 3, 3, inputs=free(rank)),
        layer(name, 4, 6, 2, stride=2, padding=1, groups=2, bias=False, inputs=free(rank)),
        layer(name, 4, 3, 3, padding="same", dilation=2, inputs=free(rank)),
        layer(name, 4, 3, 3, padding=1, padding_mode="circular", inputs=free(rank)),
        layer(name, 4, 3, 3, padding=1, padding_mode="reflect", inputs=free(rank)),
        layer(f"nn.LazyConv{rank}d", 3, 3, inputs=free(rank)),
        layer(turned, 4, 3, 3, inputs=free(rank)),
        layer(turned, 4, 2, 3, stride=2, padding=1, output_padding=1, groups=2, inputs=free(rank)),
    ]


def poolings(rank: int) -> list[Layer]:
    return [
        layer(f"nn.MaxPool{rank}d", 2, inputs=over(rank)),
        layer(f"nn.MaxPool{rank}d", 3, 2, 1, ceil_mode=True, inputs=over(rank)),
        layer(f"nn.MaxPool{rank}d", 2, return_indices=True, inputs=over(rank)),
        layer(f"nn.AvgPool{rank}d", 2, inputs=over(rank)),
        layer(f"nn.AvgPool{rank}d", 3, 2, 1, count_include_pad=False, inputs=over(rank)),
        layer(f"nn.LPPool{rank}d", 2, 2, inputs=over(rank)),
        layer(f"nn.AdaptiveAvgPool{rank}d", 3, inputs=over(rank)),
        layer(f"nn.AdaptiveMaxPool{rank}d", 3, inputs=over(rank)),
    ]


def paddings(rank: int) -> list[Layer]:
    return [
        layer(f"nn.ZeroPad{rank}d", 1, inputs=over(rank)),
        layer(f"nn.ConstantPad{rank}d", 1, 2.5, inputs=over(rank)),
        layer(f"nn.ReflectionPad{rank}d", 2, inputs=over(rank)),
        layer(f"nn.ReplicationPad{rank}d", 2, inputs=over(rank)),
        layer(f"nn.CircularPad{rank}d", 1, inputs=over(rank)),
    ]


LAYERS = [
    *[entry for rank in (1, 2, 3) for family in (convolutions, poolings, paddings) for entry in family(rank)],
    layer("nn.FractionalMaxPool2d", 2, output_size=3, inputs=over(2)),
    layer("nn.Upsample", scale_factor=2, inputs=lambda make: [call(make(1, 2, 3, 4))]),
    layer("nn.Upsample", (5, 6), mode="bilinear", align_corners=True, inputs=lambda make: [call(make(1, 2, 3, 4))]),
    layer("nn.UpsamplingNearest2d", scale_factor=2, inputs=lambda make: [call(make(1, 2, 3, 4))]),
    layer("nn.UpsamplingBilinear2d", scale_factor=2, inputs=lambda make: [call(make(1, 2, 3, 4))]),
    layer("nn.PixelShuffle", 2, inputs=over(2)),
    layer("nn.PixelUnshuffle", 2, inputs=lambda make: [call(make(1, 2, 4, 6))]),
    layer("nn.ChannelShuffle", 2, inputs=lambda make: [call(make(1, 4, 2, 2))]),
    layer("nn.Fold", (5, 4), 2, inputs=lambda make: [call(make(2, 12, 12))]),
    layer("nn.Unfold", 2, inputs=lambda make: [call(make(2, 3, 5, 4))]),
]
