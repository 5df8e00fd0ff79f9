"""`pellucid demo`: what it writes, that resuming changes nothing, and that PyTorch computes the same from its file."""

import numpy as np
import pytest

import pellucid
from pellucid.cli import demo
from pellucid.cli.digits import load_digits
from pellucid.cli.network import SmallCNN
from pellucid.cli.training import Settings, open_checkpoints, predict

torch = pytest.importorskip("torch")


class TorchBlock(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(outputs)
        self.conv2 = torch.nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(outputs)
        self.shortcut = torch.nn.Identity()
        if stride != 1 or inputs != outputs:
            conv = torch.nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
            self.shortcut = torch.nn.Sequential(conv, torch.nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + self.shortcut(x)).relu()


class TorchCNN(torch.nn.Module):
    """The network of pellucid/cli/network.py, written in PyTorch."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        conv = torch.nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.stem = torch.nn.Sequential(conv, torch.nn.BatchNorm2d(width), torch.nn.ReLU())
        self.blocks = torch.nn.Sequential(
            TorchBlock(width, width), TorchBlock(width, 2 * width, 2), TorchBlock(2 * width, 4 * width, 2)
        )
        self.head = torch.nn.Linear(4 * width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(images)).mean((2, 3)))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    accuracy = demo.run_demo(folder, epochs=4, seed=0)
    return folder, accuracy


def test_it_learns_and_writes_everything(finished):
    folder, accuracy = finished
    assert accuracy > 0.7
    assert (folder / "history.png").read_bytes().startswith(b"\x89PNG")
    assert "Most confident mistakes" in (folder / "report.html").read_text()
    assert list((folder / "checkpoints").glob("*.pt"))


def test_pytorch_computes_the_same_logits_from_the_file(finished):
    folder, _ = finished
    saved = torch.load(folder / "model.pt", weights_only=True)
    theirs, ours = TorchCNN(), SmallCNN(1, 10)
    theirs.load_state_dict(saved["model"])
    ours.load_state_dict(pellucid.load(folder / "model.pt")["model"])
    images = load_digits().test.tensors[0]
    with torch.no_grad(), pellucid.no_grad():
        expected, found = theirs.eval()(torch.from_numpy(images.numpy())), ours.eval()(images)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-4)
    assert expected.std() > 1


def test_pytorch_opens_the_training_checkpoint(finished):
    file = open_checkpoints(finished[0] / "checkpoints").latest()
    assert torch.load(file, weights_only=True)["epoch"] == 4


def test_an_interrupted_run_ends_with_the_same_bits(tmp_path):
    digits, settings = load_digits(), Settings(epochs=3, batch_size=128)

    def train(folder, stops):
        checkpoints = open_checkpoints(folder)
        for number, stop in enumerate(stops):
            pellucid.manual_seed(number)
            training = demo.start(digits, settings)
            if number:
                training.resume(checkpoints)
            demo.fit(training, digits, checkpoints, until=stop)
        return training

    whole, resumed = train(tmp_path / "whole", [3]), train(tmp_path / "resumed", [1, 2, 3])
    assert whole.history == resumed.history and len(whole.history) == 3
    for name, value in whole.average.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), resumed.average.state_dict()[name].numpy(), err_msg=name)


def test_a_loss_that_is_not_a_number_stops_the_run(tmp_path):
    digits = load_digits()
    training = demo.start(digits, Settings(epochs=1, lr=1e30))
    with pytest.raises(FloatingPointError, match="smaller learning rate"):
        demo.fit(training, digits, open_checkpoints(tmp_path))


@pytest.mark.slow
def test_the_whole_demo_reaches_98_5_percent(tmp_path):
    assert demo.run_demo(tmp_path, epochs=30, seed=0) >= 0.985


def test_predictions_are_made_without_a_graph_and_in_evaluation_mode():
    digits = load_digits()
    model = SmallCNN(1, 10).train()
    found = predict(model, demo.loader_of(digits.validation))
    assert not model.training and not found.logits.requires_grad and found.logits.shape == (150, 10)
