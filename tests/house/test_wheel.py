"""The wheel is pure Python, small, and holds the data, the licence and the typing marker."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 3 * 1024 * 1024


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed (it is in the test extra)")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_it_is_pure_python_and_under_3_mb(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < LIMIT, f"{wheel.stat().st_size} bytes"


def test_it_holds_what_the_package_needs(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("pellucid/py.typed", "pellucid/cli/data/optical_digits.csv.gz", "pellucid/cli/data/SOURCE.md"):
        assert needed in names
    for licence in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names)
    assert not [name for name in names if name.endswith((".so", ".pyd", ".dll", ".pyc"))]


def test_its_version_is_the_package_s(wheel):
    source = (ROOT / "pellucid" / "version.py").read_text()
    line = next(line for line in source.splitlines() if line.startswith("__version__"))
    assert wheel.name.split("-")[1] == line.split('"')[1]
