"""Every function of the table gives PyTorch's values, dtypes, gradients, second gradients, forms and error classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import pellucid

torch = pytest.importorskip("torch")

from .checks import Checks  # noqa: E402 (needs torch)
from .samples import CASES, COMPOSITES  # noqa: E402
from .table import Case  # noqa: E402

MOST_SHOWN = 6


def labelled(cases: list[Case]) -> list[Any]:
    return [pytest.param(case, id=case.label) for case in cases]


def check(case: Case, name: str, record_property: Callable[[str, Any], None]) -> None:
    checks = Checks(case, torch, pellucid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(checks, name)()
    record_property("comparisons", checks.compare.count)
    failures = checks.compare.failures
    assert not failures, f"{len(failures)} differences:\n" + "\n".join(failures[:MOST_SHOWN])


@pytest.mark.parametrize("case", labelled(CASES))
def test_values(case: Case, record_property: Callable[[str, Any], None]) -> None:
    check(case, "values", record_property)


@pytest.mark.parametrize("case", labelled([case for case in CASES if case.gradients]))
def test_gradients(case: Case, record_property: Callable[[str, Any], None]) -> None:
    check(case, "gradients", record_property)


@pytest.mark.parametrize(
    "case",
    labelled([case for case in CASES if case.gradients and case.through is None and case.name not in COMPOSITES]),
)
def test_names_of_graph_nodes(case: Case, record_property: Callable[[str, Any], None]) -> None:
    check(case, "graph", record_property)


@pytest.mark.parametrize("case", labelled([case for case in CASES if case.forms]))
def test_forms(case: Case, record_property: Callable[[str, Any], None]) -> None:
    check(case, "forms", record_property)


@pytest.mark.parametrize("case", labelled(CASES))
def test_errors(case: Case, record_property: Callable[[str, Any], None]) -> None:
    check(case, "errors", record_property)
