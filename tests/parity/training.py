"""The training loops that are run in both frameworks, and what each leaves behind to be compared.

A float32 network with BatchNorm and ReLU is chaotic: a rounding error moves an activation over the kink, the
gradient jumps, and after 30 steps PyTorch with one thread and PyTorch with two (or without oneDNN) differ by up to
3e-3. So those networks train twice: in float32 with SiLU, where PyTorch agrees with itself to 2e-6, and in float64
with ReLU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from . import images, networks

STEPS = 30
BATCH = 32


@dataclass
class Run:
    """Initial parameters and buffers by name, the loss of every step, and the next draw after the last step."""

    initial: dict[str, np.ndarray] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    next_draw: list[float] = field(default_factory=list)

    def remember(self, network: Any, prefix: str = "") -> None:
        for name, value in network.state_dict().items():
            self.initial[prefix + name] = value.detach().clone().numpy()


def endless(loader: Any, steps: int) -> Iterator[Any]:
    """The first `steps` batches, starting a new epoch where one ends."""
    while steps:
        for batch in loader:
            yield batch
            steps -= 1
            if not steps:
                return


def classify(
    torch: ModuleType, network: Any, loader: Any, optimizer: Any, scheduler: Any = None, dtype: str = "float32"
) -> Run:
    run = Run()
    run.remember(network)
    network.train()
    for *inputs, labels in endless(loader, STEPS):
        optimizer.zero_grad()
        inputs[0] = inputs[0].to(getattr(torch, dtype))
        loss = torch.nn.functional.cross_entropy(network(*inputs), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        run.losses.append(loss.item())
    run.next_draw = torch.rand(3).tolist()
    return run


def image_loader(torch: ModuleType, augment: bool) -> Any:
    dataset = images.image_dataset(torch, augment)
    return torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True, drop_last=True)


def row_loader(torch: ModuleType) -> Any:
    def collate(samples: list[tuple[Any, int]]) -> tuple[Any, Any, Any]:
        rows = torch.nn.utils.rnn.pad_sequence([row for row, _ in samples], batch_first=True)
        lengths = torch.tensor([len(row) for row, _ in samples])
        return rows, lengths, torch.tensor([label for _, label in samples])

    dataset = images.row_sequences(torch)
    return torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True, collate_fn=collate)


def train_mlp(torch: ModuleType) -> Run:
    torch.manual_seed(0)
    network = networks.mlp(torch)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    return classify(torch, network, image_loader(torch, augment=False), optimizer)


def train_lenet(torch: ModuleType) -> Run:
    torch.manual_seed(0)
    network = networks.lenet(torch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.05)
    return classify(torch, network, image_loader(torch, augment=True), optimizer)


def train_resnet(torch: ModuleType, activation: str, dtype: str) -> Run:
    torch.manual_seed(0)
    network = networks.resnet(torch, activation).to(getattr(torch, dtype))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
    return classify(torch, network, image_loader(torch, augment=True), optimizer, scheduler, dtype)


def train_lstm(torch: ModuleType) -> Run:
    torch.manual_seed(0)
    network = networks.lstm_classifier(torch)
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3)
    return classify(torch, network, row_loader(torch), optimizer)


def train_transformer(torch: ModuleType) -> Run:
    torch.manual_seed(0)
    network = networks.transformer_classifier(torch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=STEPS)
    return classify(torch, network, row_loader(torch), optimizer, scheduler)


def train_dcgan(torch: ModuleType, smooth: bool, dtype: str) -> Run:
    """The discriminator sees detached fakes, the generator the same fakes attached; both losses are kept."""
    torch.manual_seed(0)
    generator, discriminator = networks.dcgan_pair(torch, smooth)
    number = getattr(torch, dtype)
    run = Run()
    run.remember(generator, "generator.")
    run.remember(discriminator, "discriminator.")
    generator, discriminator = generator.to(number), discriminator.to(number)
    criterion = torch.nn.BCELoss()
    for_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for real, _ in endless(image_loader(torch, augment=False), STEPS):
        discriminator.zero_grad()
        loss_real = criterion(discriminator(real.to(number) * 2 - 1), torch.ones(BATCH, dtype=number))
        loss_real.backward()
        fake = generator(torch.randn(BATCH, 16, 1, 1, dtype=number))
        loss_fake = criterion(discriminator(fake.detach()), torch.zeros(BATCH, dtype=number))
        loss_fake.backward()
        for_discriminator.step()
        generator.zero_grad()
        loss_generator = criterion(discriminator(fake), torch.ones(BATCH, dtype=number))
        loss_generator.backward()
        for_generator.step()
        run.losses += [(loss_real + loss_fake).item(), loss_generator.item()]
    run.next_draw = torch.rand(3).tolist()
    return run


TRAININGS: dict[str, Callable[[ModuleType], Run]] = {
    "mlp": train_mlp,
    "lenet": train_lenet,
    "resnet silu": partial(train_resnet, activation="SiLU", dtype="float32"),
    "resnet relu f64": partial(train_resnet, activation="ReLU", dtype="float64"),
    "lstm": train_lstm,
    "transformer": train_transformer,
    "dcgan silu": partial(train_dcgan, smooth=True, dtype="float32"),
    "dcgan relu f64": partial(train_dcgan, smooth=False, dtype="float64"),
}
