"""Padding against PyTorch: every mode, negative amounts, layouts, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("mode", "amounts", "shape"),
    [
        ("constant", (1, -1, 2, -2), (3, 4, 5)),
        ("constant", (-4, 1), (3, 4, 5)),
        ("constant", (), (3, 4)),
        ("constant", (1, 2, 3, 4, 0, 1, 2, 0), (1, 2, 3, 2)),
        ("reflect", (1, 2), (3, 4, 5)),
        ("reflect", (1, 2), (4, 5)),
        ("reflect", (1, 2, 2, -1), (3, 4, 5)),
        ("reflect", (1, 2, 2, 1, 1, 0), (2, 3, 3, 4, 4)),
        ("replicate", (4, 2, 0, 5), (3, 4, 5)),
        ("replicate", (-1, 2, -2, 0), (3, 4, 5)),
        ("replicate", (1, 2, 3, 0, 1, 1), (2, 3, 2, 2, 2)),
        ("circular", (2, 4), (3, 4, 5)),
        ("circular", (2, 4, -1, 2), (3, 4, 5)),
        ("circular", (1, 2, 3, 1, 2, 2), (1, 2, 3, 3, 4)),
    ],
)
def test_modes(mode: str, amounts: tuple[int, ...], shape: tuple[int, ...]) -> None:
    plain = mode != "circular"  # PyTorch makes it of copies into slices
    assert_same_function(
        lambda t, x: t.nn.functional.pad(x, amounts, mode=mode), random_array(*shape), name=plain, strides=plain
    )


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_a_channels_last_image_stays_so(mode: str) -> None:
    assert_same_function(
        lambda t, x: t.nn.functional.pad(x.to(memory_format=t.channels_last), (1, 2, 2, 1), mode=mode),
        random_array(2, 3, 4, 5),
    )


def test_values_and_dtypes() -> None:
    whole = np.arange(6).reshape(2, 3)
    for call in (
        lambda t: t.nn.functional.pad(t.from_numpy(whole), (1, 1), value=1.7),
        lambda t: t.nn.functional.pad(t.from_numpy(whole), (1, 1), mode="reflect"),
        lambda t: t.nn.functional.pad(t.from_numpy(whole > 2), (1, 1), value=1),
        lambda t: t.constant_pad_nd(t.from_numpy(whole.T), (1, 1), 3),
    ):
        mine, theirs = call(pellucid), call(torch)
        assert str(mine.dtype) == str(theirs.dtype)
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_nothing_to_pad_gives_a_copy() -> None:
    x = pellucid.ones(2, 3)
    assert pellucid.nn.functional.pad(x, (0, 0)).data_ptr() != x.data_ptr()


def test_half_precision_keeps_its_bits() -> None:
    x = pellucid.tensor([[1.0078125, float("nan"), float("-inf")]], dtype=pellucid.bfloat16)
    padded = pellucid.nn.functional.pad(x, (1, 1), mode="replicate")
    assert padded.dtype is pellucid.bfloat16
    assert padded[0, 1].item() == 1.0078125


def randn(t: Any, *shape: int) -> Any:
    return t.from_numpy(random_array(*shape))


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda F, t: F.pad(randn(t, 2, 3), (1, 1, 1)), "Padding length must be divisible by 2"),
        (lambda F, t: F.pad(randn(t, 2, 3), (1,) * 6), "less than or equal to two times the input dimension"),
        (lambda F, t: F.pad(randn(t, 2, 3), (-2, -2)), "narrow(): length must be non-negative."),
        (lambda F, t: F.pad(randn(t, 2, 3), 1), "must be tuple of ints, not int"),
        (lambda F, t: F.pad(randn(t, 2, 3), (1, 1), mode="foo"), "Unrecognised padding mode foo"),
        (lambda F, t: F.pad(randn(t, 2, 3), (1, 1), mode="reflect", value=1), "doesn't take in value argument"),
        (
            lambda F, t: F.pad(randn(t, 2, 3), (3, 1), mode="reflect"),
            "Padding size should be less than the corresponding input",
        ),
        (
            lambda F, t: F.pad(randn(t, 3), (1, 1), mode="reflect"),
            "Padding size 2 is not supported for 1D input tensor",
        ),
        (lambda F, t: F.pad(randn(t, 2, 3, 4), (5, 1), mode="circular"), "wrapping around more than once"),
        (lambda F, t: F.pad(randn(t, 2, 3, 4), (-3, -2), mode="circular"), "resulting in an empty dimension"),
        (lambda F, t: F.pad(randn(t, 2, 0, 4, 5), (1, 1, 1, 1), mode="reflect"), "with possibly 0 batch size"),
        (lambda F, t: F.pad([1], (1, 1)), "must be Tensor, not list"),
    ],
)
def test_errors(call: Any, phrase: str) -> None:
    assert_same_error(lambda t: call(t.nn.functional, t), phrase)
