"""The program in README.md runs, and on PyTorch it ends with the same weights."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def final_weights(program: str, folder: Path, monkeypatch) -> list[np.ndarray]:
    folder.mkdir()
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), names)
    return [value.detach().numpy() for value in names["model"].parameters()]


def test_ten_lines_run_on_both(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    program = next(block for block in blocks if "manual_seed" in block)
    ours = final_weights(program, tmp_path / "ours", monkeypatch)
    theirs = final_weights(program.replace("pellucid", "torch"), tmp_path / "theirs", monkeypatch)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    saved = torch.load(tmp_path / "ours" / "model.pt", weights_only=True)
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(ours, saved.values(), strict=True))


def test_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]
    assert links and not [link for link in links if not (ROOT / link).exists()]
