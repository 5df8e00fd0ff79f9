"""`make_tensor` draws PyTorch's numbers and refuses what PyTorch's refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


def as_array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().to((pellucid if isinstance(tensor, pellucid.Tensor) else torch).complex128))


def pair(*shape: Any, dtype: str, **options: Any) -> tuple[Any, Any]:
    made = []
    for library in (pellucid, torch):
        library.manual_seed(3)
        made.append(library.testing.make_tensor(*shape, dtype=getattr(library, dtype), device="cpu", **options))
    return made[0], made[1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options", [{}, {"low": 0, "high": 2}, {"noncontiguous": True}, {"exclude_zero": True}], ids=str
)
def test_values_strides_and_dtype_are_torchs(dtype: str, options: dict[str, Any]) -> None:
    for shape in [(4, 5), ((3, 2),), (7,), (), (0, 3)]:
        ours, theirs = pair(*shape, dtype=dtype, **options)
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert tuple(ours.stride()) == tuple(theirs.stride())
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_array_equal(as_array(ours), as_array(theirs))


def test_the_whole_range_of_a_dtype_can_be_asked_for() -> None:
    ours, theirs = pair(5, dtype="float32", low=-1e39, high=1e39)
    np.testing.assert_array_equal(as_array(ours), as_array(theirs))
    ours, theirs = pair(5, dtype="int8", low=-1000, high=1000)
    np.testing.assert_array_equal(as_array(ours), as_array(theirs))


def test_requires_grad() -> None:
    ours, theirs = pair(2, dtype="float32", requires_grad=True)
    assert ours.requires_grad and theirs.requires_grad and ours.is_leaf


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("float32", {"low": float("nan")}),
        ("float32", {"low": 2, "high": 1}),
        ("int64", {"low": 2, "high": 2}),
        ("uint8", {"low": -5, "high": -1}),
        ("int64", {"requires_grad": True}),
        ("bool", {"low": 2, "high": 3}),
    ],
)
def test_impossible_requests_raise_torchs_errors(dtype: str, options: dict[str, Any]) -> None:
    messages = []
    for library in (pellucid, torch):
        with pytest.raises(ValueError) as caught:
            library.testing.make_tensor(2, dtype=getattr(library, dtype), device="cpu", **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
