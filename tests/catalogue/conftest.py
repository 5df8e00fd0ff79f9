"""Counts the comparisons of the catalogue and prints their number after the run."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Also under xdist, where user properties travel with the reports."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    counts = [value for report in reports for name, value in report.user_properties if name == "comparisons"]
    if counts:
        terminalreporter.section("catalogue")
        terminalreporter.line(f"{sum(counts)} comparisons with PyTorch in {len(counts)} tests")
