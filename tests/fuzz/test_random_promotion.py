"""2,000 random expressions of mixed dtypes and shapes have PyTorch's values, dtypes and strides, or its error class."""

from __future__ import annotations

import pytest

import pellucid

pytest.importorskip("torch")

from .chunks import chunks, failures  # noqa: E402 (needs torch)
from .promotion import generate  # noqa: E402

CASES = 2_000


@pytest.mark.parametrize("cases", chunks("promotion", CASES), ids=lambda cases: f"from{cases.start}")
def test_mixed_expressions_have_pytorchs_result(cases: range) -> None:
    report = failures("promotion", generate, cases, pellucid)
    assert not report, report
