"""The models that are timed, written once for either framework."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def resnet18(framework: ModuleType, classes: int = 1000, small_images: bool = False) -> Any:
    """ResNet-18 (He et al., 2015); for 32 x 32 images with a 3 x 3 stem and no pooling before the blocks."""
    return _resnet(framework, [2, 2, 2, 2], bottleneck=False, classes=classes, small_images=small_images)


def resnet50(framework: ModuleType, classes: int = 1000) -> Any:
    """ResNet-50 (He et al., 2015)."""
    return _resnet(framework, [3, 4, 6, 3], bottleneck=True, classes=classes, small_images=False)


def _resnet(framework: ModuleType, depths: list[int], bottleneck: bool, classes: int, small_images: bool) -> Any:
    nn = framework.nn
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False)] if small_images else [nn.Conv2d(3, 64, 7, 2, 3, bias=False)]
    layers = [*stem, nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    if not small_images:
        layers.append(nn.MaxPool2d(3, 2, 1))
    inputs, expansion = 64, 4 if bottleneck else 1
    for number, depth in enumerate(depths):
        width = 64 << number
        for block in range(depth):
            stride = 2 if block == 0 and number else 1
            layers.append(_block(framework, inputs, width, width * expansion, stride, bottleneck))
            inputs = width * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def _block(framework: ModuleType, inputs: int, width: int, outputs: int, stride: int, bottleneck: bool) -> Any:
    nn = framework.nn

    def conv(i: int, o: int, kernel: int, stride: int = 1) -> list[Any]:
        return [nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(o)]

    relu = nn.ReLU(inplace=True)
    if bottleneck:
        path = [*conv(inputs, width, 1), relu, *conv(width, width, 3, stride), relu, *conv(width, outputs, 1)]
    else:
        path = [*conv(inputs, width, 3, stride), relu, *conv(width, outputs, 3)]
    shortcut = conv(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else []

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.path, self.shortcut, self.relu = nn.Sequential(*path), nn.Sequential(*shortcut), nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            y = self.path(x)
            y += self.shortcut(x)
            return self.relu(y)

    return Residual()


def gpt(framework: ModuleType, vocabulary: int, layers: int, width: int, heads: int, context: int) -> Any:
    """A decoder of pre-norm blocks with learned positions (Radford et al., 2019), without dropout."""
    nn = framework.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, tokens, _ = x.shape
            parts = self.qkv(self.norm1(x)).split(width, 2)
            q, k, v = [each.view(batch, tokens, heads, width // heads).transpose(1, 2) for each in parts]
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(batch, tokens, width))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.places(framework.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return Decoder()
