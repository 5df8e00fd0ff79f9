"""The networks that are trained in both frameworks; `torch` is PyTorch or Pellucid."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def mlp(torch: ModuleType) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, 128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, 64), nn.GELU(), nn.Dropout(0.1),
        nn.Linear(64, 10),
    )  # fmt: skip


def lenet(torch: ModuleType) -> Any:
    nn, functional = torch.nn, torch.nn.functional

    class LeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x: Any) -> Any:
            x = functional.max_pool2d(torch.relu(self.conv1(x)), 2)
            x = functional.avg_pool2d(torch.tanh(self.conv2(x)), 2)
            x = torch.relu(self.fc1(torch.flatten(x, 1)))
            return self.fc3(torch.relu(self.fc2(x)))

    return LeNet()


def resnet(torch: ModuleType, activation: str) -> Any:
    """A residual network of three blocks; `activation` names a class of `nn` that takes `inplace`."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.activation = getattr(nn, activation)(inplace=True)
            self.shortcut = nn.Sequential()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            y = self.activation(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            y += self.shortcut(x)
            return self.activation(y)

    network = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), getattr(nn, activation)(inplace=True),
        Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network


def lstm_classifier(torch: ModuleType) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(28, 24, num_layers=2, batch_first=True, dropout=0.2, bidirectional=True)
            self.head = nn.Linear(48, 10)

        def forward(self, padded: Any, lengths: Any) -> Any:
            # sorted here, since the order of equal lengths in PyTorch's unstable sort depends on the processor
            lengths, order = torch.sort(lengths, descending=True, stable=True)
            packed = nn.utils.rnn.pack_padded_sequence(padded[order], lengths, batch_first=True)
            outputs, (hidden, _) = self.lstm(packed)
            steps, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
            last = torch.cat([hidden[-2], hidden[-1]], dim=1)
            return self.head(last + steps.mean(1))[torch.argsort(order)]

    return Classifier()


def transformer_classifier(torch: ModuleType) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(28, 32)
            self.position = nn.Parameter(torch.randn(1, 28, 32) * 0.02)
            layer = nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, num_layers=2)
            self.head = nn.Linear(32, 10)

        def forward(self, padded: Any, lengths: Any) -> Any:
            length = padded.shape[1]
            is_padding = torch.arange(length)[None, :] >= lengths[:, None]
            x = self.embed(padded) + self.position[:, :length]
            x = self.encoder(x, src_key_padding_mask=is_padding)
            x = x.masked_fill(is_padding[..., None], 0.0)
            return self.head(x.sum(1) / lengths[:, None])

    return Classifier()


def dcgan_pair(torch: ModuleType, smooth: bool) -> tuple[Any, Any]:
    """A generator of 28x28 images from 16 numbers, and a discriminator, with DCGAN's initial weights.

    `smooth` replaces ReLU and LeakyReLU by SiLU, whose gradient does not jump.
    """
    nn = torch.nn

    def relu() -> Any:
        return nn.SiLU() if smooth else nn.ReLU(True)

    def leaky_relu() -> Any:
        return nn.SiLU() if smooth else nn.LeakyReLU(0.2, inplace=True)

    generator = nn.Sequential(
        nn.ConvTranspose2d(16, 24, 7, bias=False), nn.BatchNorm2d(24), relu(),
        nn.ConvTranspose2d(24, 12, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(12), relu(),
        nn.ConvTranspose2d(12, 1, 4, stride=2, padding=1, bias=False), nn.Tanh(),
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(1, 12, 4, stride=2, padding=1, bias=False), leaky_relu(),
        nn.Conv2d(12, 24, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(24), leaky_relu(),
        nn.Conv2d(24, 1, 7, bias=False), nn.Flatten(0), nn.Sigmoid(),
    )  # fmt: skip

    def initialise(module: Any) -> None:
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(module.weight, 0.0, 0.02)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02)
            nn.init.zeros_(module.bias)

    return generator.apply(initialise), discriminator.apply(initialise)
