"""`assert_close` accepts and rejects what PyTorch's does, with PyTorch's messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

Case = Callable[[Any], tuple[Any, Any]]

INF, NAN = float("inf"), float("nan")


def verdict(library: Any, case: Case, **options: Any) -> tuple[str, str] | None:
    """The class and message of the error, or None; PyTorch's package names are ours in the text."""
    actual, expected = case(library)
    try:
        library.testing.assert_close(actual, expected, **options)
    except Exception as error:
        return type(error).__name__, str(error).replace("pellucid.engine.tensor.", "torch.").replace(
            "pellucid", "torch"
        )
    return None


CASES: dict[str, Case] = {
    "equal": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0])),
    "within": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0 + 1e-6])),
    "apart": lambda t: (t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[1.0, 2.5], [3.0, 5.0]])),
    "zero expected": lambda t: (t.tensor([0.1, 1.0]), t.tensor([0.0, 1.0])),
    "nan": lambda t: (t.tensor([NAN, 1.0]), t.tensor([NAN, 1.0])),
    "one nan": lambda t: (t.tensor([NAN, 1.0]), t.tensor([1.0, 1.0])),
    "infinities": lambda t: (t.tensor([INF, -INF]), t.tensor([INF, INF])),
    "zero-dim": lambda t: (t.tensor(1.0), t.tensor(2.0)),
    "zero-dim against zero": lambda t: (t.tensor(1), t.tensor(0)),
    "empty": lambda t: (t.zeros(0, 3), t.zeros(0, 3)),
    "integers": lambda t: (t.tensor([1, 2, 3]), t.tensor([1, 2, 4])),
    "bytes": lambda t: (t.tensor([1, 255], dtype=t.uint8), t.tensor([1, 0], dtype=t.uint8)),
    "booleans": lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    "double": lambda t: (t.tensor([1.0], dtype=t.float64), t.tensor([1.0 + 2e-7], dtype=t.float64)),
    "half": lambda t: (t.tensor([1.0], dtype=t.float16), t.tensor([1.01], dtype=t.float16)),
    "bfloat16": lambda t: (t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.01], dtype=t.bfloat16)),
    "complex": lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    "dtype": lambda t: (t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    "mixed dtypes apart": lambda t: (t.tensor([1.0]), t.tensor([2], dtype=t.int32)),
    "shape": lambda t: (t.zeros(2, 3), t.zeros(3, 2)),
    "stride": lambda t: (t.zeros(2, 3), t.zeros(3, 2).t()),
    "device": lambda t: (t.zeros(2), t.zeros(2, device="meta")),
    "meta": lambda t: (t.zeros(2, device="meta"), t.ones(2, device="meta")),
    "numbers": lambda t: (1.0, 2.0),
    "near numbers": lambda t: (1.0, 1.0 + 1e-9),
    "int and float": lambda t: (1, 1.0),
    "float nan": lambda t: (NAN, NAN),
    "complex numbers": lambda t: (1j, 2j),
    "bools": lambda t: (True, False),
    "numpy scalars": lambda t: (np.float32(1), np.float64(2)),
    "none": lambda t: (None, 1),
    "both none": lambda t: (None, None),
    "arrays": lambda t: (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    "array and tensor": lambda t: (np.array([1.0]), 1.0),
    "strings": lambda t: ("a", "a"),
    "sequences": lambda t: ([t.zeros(2), 1.0], (t.zeros(2), 2.0)),
    "lengths": lambda t: ([1, 2], [1]),
    "mappings": lambda t: ({"a": [t.ones(2)], "b": 1}, {"b": 1, "a": [t.zeros(2)]}),
    "keys": lambda t: ({"a": 1, "c": 1}, {"a": 1, "b": 2}),
    "nested lengths": lambda t: ({"a": [1, 2]}, {"a": [1]}),
    "float8": lambda t: (t.tensor([1.0, 2.0]).to(t.float8_e5m2), t.tensor([1.0, 4.0]).to(t.float8_e5m2)),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"rtol": 0, "atol": 0},
    {"rtol": 0.5, "atol": 0.5},
    {"rtol": 0.1},
    {"atol": 0.1},
    {"equal_nan": True},
    {"check_dtype": False},
    {"check_stride": True},
    {"msg": "mine"},
    {"msg": lambda text: f"before\n{text}\nafter"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["-".join(each) or "defaults" for each in OPTIONS])
@pytest.mark.parametrize("name", CASES)
def test_verdict_and_message_are_torchs(name: str, options: dict[str, Any]) -> None:
    assert verdict(pellucid, CASES[name], **options) == verdict(torch, CASES[name], **options)


@pytest.mark.parametrize("seed", range(3))
def test_greatest_differences_of_random_tensors_are_torchs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(30):
        shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
        expected = rng.standard_normal(shape).round(1).astype("float32")
        actual = np.where(rng.random(shape) < 0.5, expected, expected + rng.standard_normal(shape)).astype("float32")
        case: Case = lambda t, a=actual, e=expected: (t.from_numpy(a), t.from_numpy(e))  # noqa: E731
        assert verdict(pellucid, case) == verdict(torch, case)


def test_a_subclass_is_refused_when_types_must_agree() -> None:
    parameter = pellucid.nn.Parameter(pellucid.ones(2))
    pellucid.testing.assert_close(parameter, pellucid.ones(2))
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        pellucid.testing.assert_close(parameter, pellucid.ones(2), allow_subclasses=False)


def test_tensors_that_require_grad_are_compared_by_value() -> None:
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
        pellucid.testing.assert_close(pellucid.ones(2, requires_grad=True), pellucid.zeros(2, requires_grad=True))


def test_assert_allclose_warns_and_is_loose() -> None:
    with pytest.warns(FutureWarning, match="assert_close"):
        pellucid.testing.assert_allclose(pellucid.tensor([1.0]), [1.00005])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        pellucid.testing.assert_allclose(pellucid.tensor([1.0]), [1.001])
