"""Spoilt calls of functions, methods and layers are refused as PyTorch refuses them, with the same class of error.

Differences on purpose are in `accepted_bad_calls.txt`, one per line with its reason. PELLUCID_FUZZ_SCALE makes
more of the calls.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pellucid

torch = pytest.importorskip("torch")

from tests.catalogue.samples import CASES, LAYERS  # noqa: E402 (needs torch)

from .bad_calls import BadCall, bad_calls, difference, good_calls  # noqa: E402
from .chunks import SCALE  # noqa: E402

SHARE = 0.02
PARTS = 8
LEAKS = ("AttributeError", "KeyError", "AssertionError", "RecursionError", "UnboundLocalError", "NameError")
ACCIDENTS = ("AttributeError", "AssertionError", "KeyError")  # of PyTorch's own


def accepted() -> list[tuple[re.Pattern[str], str]]:
    """Patterns of `call: PyTorch's verdict -> ours`, and the reason."""
    lines = (Path(__file__).parent / "accepted_bad_calls.txt").read_text().splitlines()
    rules = [line.split(" # ", 1) for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern.strip()), reason) for pattern, reason in rules]


RULES = accepted()


def verdicts(call: BadCall) -> str:
    """What differs and is not accepted; empty where nothing does."""
    found = difference(call, torch, pellucid)
    if found is None:
        return ""
    want, got, said = found
    text = f"{call.label}: {want} -> {got}"
    if got in LEAKS and want != got:
        return f"{text} (an error from the inside) | {said}"
    if want in ACCIDENTS and got != "ok" or "is ambiguous" in said.partition("' | ")[0] and got == "TypeError":
        return ""
    return "" if any(pattern.search(text) for pattern, _ in RULES) else f"{text} | {said}"


@pytest.mark.parametrize("part", range(PARTS))
def test_spoilt_calls_are_refused_alike(part: int) -> None:
    good = good_calls(CASES[part::PARTS], LAYERS[part::PARTS], torch, pellucid)
    failures = [text for call in bad_calls(good, part, min(1.0, SHARE * SCALE)) if (text := verdicts(call))]
    assert not failures, f"{len(failures)} calls:\n" + "\n".join(sorted(failures))


def test_every_accepted_difference_has_a_reason() -> None:
    assert all(reason.strip() for _, reason in RULES)
