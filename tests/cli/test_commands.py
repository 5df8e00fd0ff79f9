"""The command line as a user meets it: options, messages, exit codes, Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.cli import main
from pellucid.cli.train import NETWORKS
from pellucid.cli.train_options import NETWORKS as NAMES

ROOT = Path(__file__).parents[2]
COMMAND = (  # Ctrl-C must work also where whoever started the tests ignores it
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from pellucid.cli import main; sys.exit(main(sys.argv[1:]))"
)


def start(*arguments: object) -> subprocess.Popen:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def weights(folder: Path) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in pellucid.load(folder / "model.pt")["model"].items()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, digit_folder) -> Path:
    pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("train") / "run"
    arguments = ["train", "--data", digit_folder, "--output", folder, "--epochs", 8, "--batch-size", 16]
    assert main([str(argument) for argument in arguments]) == 0
    return folder


def test_training_learns_and_reports(finished):
    content = pellucid.load(finished / "model.pt")
    assert content["classes"] == ["digit 0", "digit 1", "digit 2"] and content["image_size"] == 8
    assert content["channels"] == len(content["mean"]) == 1
    page = (finished / "report.html").read_text()
    assert "digit 2" in page and (finished / "history.png").exists()


def test_ctrl_c_leaves_a_checkpoint_and_resuming_ends_with_the_same_bits(finished, tmp_path, digit_folder):
    arguments = ["train", "--data", digit_folder, "--output", tmp_path]
    process = start(*arguments, "--epochs", 8, "--batch-size", 16)
    for line in process.stdout:
        if line.startswith("epoch   3/8"):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stdout.read()
    assert process.wait(60) == 130, rest
    assert "is saved. Continue with" in rest and "--resume" in rest and "Traceback" not in rest
    resumed = start(*arguments, "--resume")
    told = resumed.communicate(timeout=120)[0]
    assert resumed.returncode == 0 and "Continuing after epoch" in told, told
    expected, found = weights(finished), weights(tmp_path)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_a_run_is_neither_overwritten_nor_continued_as_another(finished, digit_folder, tmp_path, capsys):
    base = ["train", "--data", str(digit_folder), "--output", str(finished)]
    assert main(base) == 1
    assert "already holds a run" in capsys.readouterr().err
    assert main([*base, "--resume", "--epochs", "9"]) == 1
    assert "the run has epochs 8, but now it is 9" in capsys.readouterr().err
    assert main(["train", "--data", str(digit_folder), "--output", str(tmp_path), "--resume"]) == 1
    assert "no run to resume" in capsys.readouterr().err


def test_a_damaged_run_file_is_named(tmp_path, digit_folder, capsys):
    (tmp_path / "run.json").write_text("{")
    assert main(["train", "--data", str(digit_folder), "--output", str(tmp_path), "--resume"]) == 1
    assert "run.json is damaged" in capsys.readouterr().err


def test_without_pillow_the_message_says_what_to_install(digit_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert main(["train", "--data", str(digit_folder), "--output", str(tmp_path)]) == 1
    assert "pip install 'pellucid[vision]'" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--lr", "0"], ["--lr", "nan"], ["--epochs", "x"], ["--batch-size", "-1"],
                                    ["--model", "large"], ["--workers", "-1"]])  # fmt: skip
def test_options_that_make_no_sense_are_refused(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", "--data", ".", *option])
    assert ended.value.code == 2 and option[0] in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_one_line(digit_folder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    output = str(tmp_path / "file" / "run")
    assert main(["train", "--data", str(digit_folder), "--epochs", "1", "--output", output]) == 1
    assert "Not a directory" in capsys.readouterr().err


def test_version_help_and_module(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out
    command = [sys.executable, "-m", "pellucid", "--version"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told == f"pellucid {pellucid.version.__version__}\n"


def test_the_options_name_every_network():
    assert sorted(NETWORKS) == NAMES
