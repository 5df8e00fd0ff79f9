"""Small integer types: factors wrap or are refused, and no result is widened, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pellucid

torch = pytest.importorskip("torch")

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda t, of, alpha: t.add(of(1, 2), of(3, 5), alpha=alpha),
    "sub": lambda t, of, alpha: t.sub(of(1, 2), of(3, 5), alpha=alpha),
    "index_add": lambda t, of, alpha: t.index_add(of(1, 2), 0, t.tensor([0, 1]), of(3, 5), alpha=alpha),
    "addmm": lambda t, of, alpha: t.addmm(
        of(1, 2)[:, None], of(1, 2)[:, None], of(4)[:, None], alpha=alpha, beta=alpha
    ),
    "baddbmm": lambda t, of, alpha: t.baddbmm(of(1)[None, None], of(2)[None, None], of(4)[None, None], alpha=alpha),
    "addmv": lambda t, of, alpha: t.addmv(of(1), of(2, 3)[None], of(4, 5), alpha=alpha, beta=alpha),
    "addbmm": lambda t, of, alpha: t.addbmm(of(1)[None], of(2)[None, None], of(4)[None, None], alpha=alpha, beta=alpha),
    "addr": lambda t, of, alpha: t.addr(of(1, 2)[None], of(3), of(4, 5), alpha=alpha, beta=alpha),
    "tensordot": lambda t, of, alpha: t.tensordot(of(1, 2)[:, None], of(3, 4), ([1], [0])),
    "unravel_index": lambda t, of, alpha: t.unravel_index(of(5, 1), (2, 3))[1],
    "bilinear": lambda t, of, alpha: t.nn.functional.bilinear(of(1, 2)[None], of(3)[None], of(4, 5)[None, :, None]),
}


def outcome(framework: Any, function: Callable[[Any, Any, Any], Any], kind: str, alpha: Any) -> Any:
    def of(*values: int) -> Any:
        return framework.tensor(values, dtype=getattr(framework, kind))

    try:
        result = function(framework, of, alpha)
    except (RuntimeError, TypeError) as error:
        return type(error)
    return result.tolist(), str(result.dtype).rpartition(".")[2]


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_integers(name: str, kind: str) -> None:
    for alpha in (1, -1, 300, 2.5, -2, 0, 70000):
        expected, actual = (outcome(each, FUNCTIONS[name], kind, alpha) for each in (torch, pellucid))
        assert actual == expected, alpha


def test_the_product_of_half_vectors_is_rounded_once() -> None:
    values = [[0.1, 2.7, -3.3, 0.77, 5.1], [1.3, -0.2, 0.9, 2.2, -1.7]]
    expected, actual = (
        each.linalg.vecdot(*[each.tensor(row, dtype=each.float16) for row in values]).item()
        for each in (torch, pellucid)
    )
    assert actual == expected
