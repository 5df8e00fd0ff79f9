"""Prints what the parity trainings measured after the run."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def report_row(request: pytest.FixtureRequest) -> Any:
    """A function that keeps a line for the table at the end of the run."""

    def keep(line: str) -> None:
        request.node.user_properties.append(("parity", line))

    return keep


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Also under xdist, where user properties travel with the reports."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    rows = [value for report in reports for name, value in report.user_properties if name == "parity"]
    if rows:
        terminalreporter.section("parity with PyTorch")
        terminalreporter.line("training            weights  losses     first      last   max deviation")
        for row in rows:
            terminalreporter.line(row)
