"""Scripts run as programs of their own, and the check that they leave nothing behind."""

import os
import pathlib
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

import psutil
import pytest

PREAMBLE = """\
import os, signal, sys, time, warnings
import pellucid as torch
from pellucid.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

warnings.filterwarnings("ignore", message="This DataLoader will create")

class Numbers(Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return torch.full((1000,), index)
"""


@dataclass
class Finished:
    """A script that has ended."""

    code: int
    out: str
    err: str
    seconds: float


def processes_of_session(session: int) -> list[psutil.Process]:
    """Living processes of a session; a zombie is dead and only waits to be counted."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess, PermissionError):
            continue
    return found


def segments_left() -> list[str]:
    """Names in shared memory that are ours."""
    folder = pathlib.Path("/dev/shm")
    return [path.name for path in folder.glob("*pellucid*")] if folder.is_dir() else []


def wait_until_gone(session: int, seconds: float = 5.0) -> list[str]:
    """Command lines of the session's processes that are still there after a while."""
    end = time.monotonic() + seconds
    while (left := processes_of_session(session)) and time.monotonic() < end:
        time.sleep(0.05)
    return [" ".join(process.cmdline()) for process in left]


@pytest.fixture
def start_script(tmp_path):
    """Start a script, after a preamble with imports and a dataset, in a session of its own; nothing survives it."""
    started = []

    def start(source: str, wrapper: tuple[str, ...] = (), **environment: str) -> subprocess.Popen:
        path = tmp_path / f"program{len(started)}.py"
        path.write_text(PREAMBLE + textwrap.dedent(source))
        variables = dict(os.environ, PYTHONPATH=os.pathsep.join(entry or os.getcwd() for entry in sys.path))
        process = subprocess.Popen(
            [*wrapper, sys.executable, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**variables, **environment},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        for survivor in processes_of_session(process.pid):
            survivor.kill()
        process.kill()
        process.wait()


@pytest.fixture
def run_script(start_script):
    """Run a script to its end within seconds and check that no process and no shared memory is left."""

    def run(source: str, wrapper: tuple[str, ...] = (), limit: float = 30, **environment: str) -> Finished:
        began = time.monotonic()
        process = start_script(source, wrapper, **environment)
        out, err = process.communicate(timeout=limit)
        seconds = time.monotonic() - began
        assert wait_until_gone(process.pid) == []
        assert segments_left() == []
        return Finished(process.returncode, out, err, seconds)

    return run
