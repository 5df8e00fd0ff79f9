"""The random programs can fail: one wrong function in an otherwise faithful framework is found, and shrunk."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from . import indexing, promotion, views  # noqa: E402 (needs torch)
from .chunks import failures  # noqa: E402


class Flawed(ModuleType):
    """PyTorch with one function replaced."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__("flawed")
        self.flaw, self.function = name, function

    def __getattr__(self, name: str) -> Any:
        return self.function if name == self.flaw else getattr(torch, name)


def copying_reshape(x: Any, shape: tuple[int, ...]) -> Any:
    return torch.reshape(x, shape).clone()


def detached_stack(tensors: list[Any], dim: int) -> Any:
    return torch.stack([x.detach() for x in tensors], dim)


def float_where(condition: Any, x: Any, y: Any) -> Any:
    return torch.where(condition, x, y).float()


def index_put_that_overwrites(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    return torch.index_put(x, indices, values)


@pytest.mark.parametrize(
    ("name", "generate", "flaw", "function", "kind"),
    [
        ("views", views.generate, "reshape", copying_reshape, "grad_fn"),
        ("views", views.generate, "stack", detached_stack, "requires_grad"),
        ("promotion", promotion.generate, "where", float_where, "dtype"),
        ("indexing", indexing.generate, "index_put", index_put_that_overwrites, "values"),
    ],
)
def test_a_wrong_function_is_found(
    name: str, generate: Callable[[str], Any], flaw: str, function: Callable[..., Any], kind: str
) -> None:
    report = failures(name, generate, range(400), Flawed(flaw, function))
    assert f"{flaw}: {kind}" in report
    example = report.partition(f"torch.{flaw}(")[0].rpartition("# ")[2]
    assert example.count("\n") <= 5, report
