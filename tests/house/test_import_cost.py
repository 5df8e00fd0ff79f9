"""`import pellucid` costs little more than `import numpy`: what it loads is checked here, the time in benchmarks."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each of these takes milliseconds to import, and none is needed before its first use.
HEAVY = [
    "asyncio",
    "concurrent",
    "ctypes.util",
    "email",
    "http",
    "importlib.metadata",
    "llvmlite",
    "logging",
    "multiprocessing",
    "PIL",
    "scipy",
    "sqlite3",
    "ssl",
    "tarfile",
    "torch",
    "tqdm",
    "unittest",
    "urllib.request",
    "xml",
    "zipfile",
]


def loaded_by(statement: str) -> list[str]:
    """The names of the modules that a fresh interpreter imports for `statement`, as -X importtime lists them."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = result.stderr.splitlines()
    return [line.rsplit("|", 1)[1].strip() for line in lines if line.startswith("import time:")][1:]


def within(module: str, packages: list[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


@pytest.fixture(scope="module")
def added() -> list[str]:
    numpy = set(loaded_by("import numpy, ml_dtypes"))
    return [module for module in loaded_by("import pellucid") if module not in numpy]


def test_only_numpy_and_ml_dtypes_besides_our_own_files(added):
    foreign = [name for name in added if not within(name, ["pellucid", *sys.stdlib_module_names])]
    assert "pellucid" in added and not foreign, f"import pellucid also loads {foreign}"


def test_nothing_heavy_is_loaded_before_its_first_use(added):
    heavy = [name for name in added if within(name, HEAVY)]
    assert not heavy, f"import pellucid loads {heavy}; import it where it is used"
