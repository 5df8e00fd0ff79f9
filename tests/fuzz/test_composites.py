"""500 random composite functions have PyTorch's values, gradients and second gradients, or raise its error classes."""

from __future__ import annotations

import pytest

import pellucid

pytest.importorskip("torch")

from .chunks import chunks, failures  # noqa: E402 (needs torch)
from .composites import generate  # noqa: E402

CASES = 500


@pytest.mark.parametrize("cases", chunks("composites", CASES), ids=lambda cases: f"from{cases.start}")
def test_composite_functions_have_pytorchs_values_and_gradients(cases: range) -> None:
    report = failures("composites", generate, cases, pellucid)
    assert not report, report
