"""10,000 random programs of views, in-place writes and backward leave PyTorch's tensors, or raise its error classes."""

from __future__ import annotations

import pytest

import pellucid

pytest.importorskip("torch")

from .chunks import chunks, failures  # noqa: E402 (needs torch)
from .views import generate  # noqa: E402

CASES = 10_000


@pytest.mark.parametrize("cases", chunks("views", CASES), ids=lambda cases: f"from{cases.start}")
def test_view_programs_leave_pytorchs_tensors(cases: range) -> None:
    report = failures("views", generate, cases, pellucid)
    assert not report, report
