"""10,000 random indexing expressions have PyTorch's result, or its error class."""

from __future__ import annotations

import pytest

import pellucid

pytest.importorskip("torch")

from .chunks import chunks, failures  # noqa: E402 (needs torch)
from .indexing import generate  # noqa: E402

CASES = 10_000


@pytest.mark.parametrize("cases", chunks("indexing", CASES), ids=lambda cases: f"from{cases.start}")
def test_indexing_expressions_have_pytorchs_result(cases: range) -> None:
    report = failures("indexing", generate, cases, pellucid)
    assert not report, report
