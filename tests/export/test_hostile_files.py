"""Damaged and hostile files raise a clear error: nothing runs, nothing hangs, nothing takes memory that the file does
not have.
"""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .hostile import CANARY, cases

ERRORS = {"RuntimeError", "UnpicklingError", "EOFError", "ValueError", "SafetensorError"}
SECONDS = 20.0  # on a machine that does other things as well
FIXED_BYTES = 96 << 20
BYTES_PER_BYTE = 40  # an empty list is one byte of pickle and some seventy of memory
HERE = Path(__file__).parent
CASES = cases()


@pytest.fixture(scope="module")
def outcomes():
    """What happened to each case, in one other process; a crash of that process leaves the later cases without an
    outcome.
    """
    if os.path.exists(CANARY):
        os.unlink(CANARY)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    run = subprocess.run(
        [sys.executable, str(HERE / "open_hostile_files.py")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=280,
        check=False,
    )
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) == len(CASES), f"the process ended at case {CASES[len(found)].name!r}: {run.stderr[-2000:]}"
    return found


def test_there_are_more_than_two_hundred_different_cases():
    assert len({case.name for case in CASES}) >= 200
    assert [case.content for case in cases()] == [case.content for case in CASES], (
        "the same seed must give the same files"
    )


def test_nothing_runs(outcomes):
    ran = [CASES[position].name for position, *_, canary in outcomes if canary]
    assert not ran, f"code in the file was run, first in: {ran[0]}"


def test_every_case_is_an_error_that_says_what_is_wrong(outcomes):
    wrong = []
    for position, kind, message, *_ in outcomes:
        case = CASES[position]
        missing = [word for word in case.words if word not in message]
        if kind == "loaded" and case.harmless:
            continue
        if kind not in ERRORS or len(message) < 20 or len(message) > 2000 or missing:
            wrong.append(f"{case.name}: {kind}: {message[:200]} (missing {missing})")
    assert not wrong, "\n".join(wrong)


def test_a_flipped_bit_in_an_archive_is_noticed_or_means_nothing(outcomes):
    sound = "{'a': tensor([1., 2., 3., 4.]), 'b': tensor([2., 3., 4.]), 'c': tensor([5, 6]), 'lr': 0.1}"
    other = [
        f"{CASES[position].name}: {message}"
        for position, kind, message, *_ in outcomes
        if kind == "loaded" and CASES[position].name.startswith("bit flipped") and message != sound
    ]
    assert not other, "\n".join(other)
    assert collections.Counter(kind for _, kind, *_ in outcomes)["loaded"] < 80


def test_no_case_takes_long(outcomes):
    slow = [f"{CASES[position].name}: {seconds:.1f} s" for position, _, _, seconds, *_ in outcomes if seconds > SECONDS]
    assert not slow, slow


def test_no_case_takes_more_memory_than_its_size_warrants(outcomes):
    hungry = [
        f"{CASES[position].name}: {peak >> 20} MiB for {len(CASES[position].content)} bytes"
        for position, _, _, _, peak, _ in outcomes
        if peak > FIXED_BYTES + BYTES_PER_BYTE * len(CASES[position].content)
    ]
    assert not hungry, hungry
