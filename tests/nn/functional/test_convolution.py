"""Convolutions against PyTorch: every setting, three gradients and their gradients, layouts, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, error_of, random_array

torch = pytest.importorskip("torch")

SETTINGS = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"padding": (2, 1), "dilation": 2, "stride": (1, 2)},
    {"padding": "same", "dilation": 2},
    {"padding": "valid"},
]
GROUPS = [(1, (6, 4, 3, 2)), (2, (6, 2, 3, 3)), (4, (4, 1, 3, 3)), (4, (8, 1, 3, 2))]


def last(framework: Any, x: Any) -> Any:
    return x.to(memory_format=framework.channels_last)


@pytest.mark.filterwarnings("ignore:Using padding")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(("groups", "shape"), GROUPS)
def test_conv2d_has_pytorchs_values_and_gradients(
    groups: int, shape: tuple[int, ...], settings: dict[str, Any]
) -> None:
    arrays = random_array(2, 4, 9, 8), random_array(*shape), random_array(shape[0])
    assert_same_function(lambda t, x, w, b: t.conv2d(x, w, b, groups=groups, **settings), *arrays)


@pytest.mark.parametrize("settings", SETTINGS[:4], ids=str)
def test_a_channels_last_image_gives_a_channels_last_result(settings: dict[str, Any]) -> None:
    arrays = random_array(2, 4, 9, 8), random_array(6, 4, 3, 2), random_array(6)
    assert_same_function(lambda t, x, w, b: t.conv2d(last(t, x), w, b, **settings), *arrays)
    assert_same_function(lambda t, x, w, b: t.conv2d(x, last(t, w), b, **settings), *arrays)


@pytest.mark.parametrize("batch", [1, 7, 16, 37])
@pytest.mark.parametrize("size", [(5, 6), (20, 19)])
@pytest.mark.parametrize("stride", [1, 2])
def test_every_layout_of_the_arithmetic(batch: int, size: tuple[int, int], stride: int) -> None:
    """Batches above and below what is taken together, planes that count as small and that do not."""
    arrays = random_array(batch, 2, *size), random_array(3, 2, 3, 3)
    assert_same_function(lambda t, x, w: t.conv2d(x, w, stride=stride, padding=1), *arrays, second=False)
    assert_same_function(
        lambda t, x, w: t.conv_transpose2d(x, w, stride=stride), arrays[0], random_array(2, 3, 3, 3), second=False
    )
    grouped = random_array(batch, 4, *size), random_array(6, 2, 3, 3)
    assert_same_function(lambda t, x, w: t.conv2d(x, w, stride=stride, groups=2), *grouped, second=False)


@pytest.mark.parametrize("settings", [{}, {"stride": 2}, {"padding": 1, "dilation": 2}, {"groups": 2}], ids=str)
def test_other_numbers_of_dimensions(settings: dict[str, Any]) -> None:
    groups = settings.get("groups", 1)
    assert_same_function(
        lambda t, x, w, b: t.conv1d(x, w, b, **settings),
        random_array(2, 4, 9),
        random_array(6, 4 // groups, 3),
        random_array(6),
    )
    volume = random_array(1, 2, 5, 6, 7), random_array(4, 2 // groups, 3, 2, 3), random_array(4)
    assert_same_function(lambda t, x, w, b: t.conv3d(x, w, b, **settings), *volume)
    assert_same_function(
        lambda t, x, w: t.conv_transpose1d(x, w, **settings), random_array(2, 4, 5), random_array(4, 3, 3)
    )
    assert_same_function(
        lambda t, x, w: t.conv_transpose3d(x, w, **settings), random_array(1, 2, 3, 4, 2), random_array(2, 2, 2, 3, 2)
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"stride": 2, "output_padding": 1},
        {"padding": 1},
        {"padding": (2, 1), "dilation": 3, "stride": (1, 2), "output_padding": (0, 2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_conv_transpose2d(groups: int, settings: dict[str, Any]) -> None:
    arrays = random_array(2, 4, 5, 4), random_array(4, 3, 3, 2), random_array(3 * groups)
    assert_same_function(lambda t, x, w, b: t.conv_transpose2d(x, w, b, groups=groups, **settings), *arrays)
    if groups == 1:
        assert_same_function(lambda t, x, w, b: t.conv_transpose2d(last(t, x), w, b, **settings), *arrays)


def test_inputs_without_a_batch_and_empty_batches() -> None:
    assert_same_function(lambda t, x, w: t.conv2d(x, w), random_array(3, 8, 8), random_array(4, 3, 3, 3))
    assert_same_function(lambda t, x, w: t.conv_transpose2d(x, w), random_array(3, 4, 4), random_array(3, 2, 3, 3))
    assert_same_function(
        lambda t, x, w: t.conv2d(x, w), random_array(0, 3, 8, 8), random_array(4, 3, 3, 3), second=False
    )


def test_convolution_and_conv_tbc() -> None:
    arrays = random_array(2, 3, 6, 6), random_array(4, 3, 3, 3), random_array(4)
    assert_same_function(lambda t, x, w, b: t.convolution(x, w, b, [1], [1], [1, 1], False, [0], 1), *arrays)
    tbc = random_array(7, 2, 3), random_array(3, 3, 5), random_array(5)
    assert_same_function(lambda t, x, w, b: t.conv_tbc(x, w, b, 2), *tbc, name=False)


def test_strided_inputs_count_like_contiguous_ones() -> None:
    arrays = random_array(8, 9, 3, 2), random_array(3, 3, 4, 3)
    assert_same_function(lambda t, x, w: t.conv2d(x.permute(3, 2, 0, 1), w.permute(3, 0, 1, 2)[..., ::2]), *arrays)
    assert_same_function(
        lambda t, x, w: t.conv2d(x.expand(2, 3, 8, 8), w), random_array(1, 3, 1, 8), random_array(2, 3, 3, 3)
    )


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "int64", "int32", "uint8", "complex64"])
def test_dtypes(name: str) -> None:
    x, w = np.arange(2 * 3 * 5 * 5).reshape(2, 3, 5, 5) % 7, np.arange(4 * 3 * 3 * 3).reshape(4, 3, 3, 3) % 3
    found = [
        t.conv2d(t.from_numpy(x).to(getattr(t, name)), t.from_numpy(w).to(getattr(t, name)), padding=1)
        for t in (pellucid, torch)
    ]
    assert str(found[0].dtype) == str(found[1].dtype)
    wide = "complex128" if "complex" in name else "float64"
    np.testing.assert_array_equal(
        *[each.to(getattr(t, wide)).numpy() for each, t in zip(found, (pellucid, torch), strict=True)]
    )


def test_complex_gradients_are_conjugated() -> None:
    def run(t: Any) -> list[Any]:
        x, w = (
            t.complex(t.from_numpy(random_array(*s)), t.from_numpy(random_array(*s, seed=3))).requires_grad_()
            for s in ((2, 2, 5, 5), (3, 2, 3, 3))
        )
        y = t.conv2d(x, w, stride=2)
        return [y, *t.autograd.grad(y, [x, w], y.detach())]

    for mine, theirs in zip(run(pellucid), run(torch), strict=True):
        np.testing.assert_allclose(
            mine.detach().resolve_conj().numpy(), theirs.detach().resolve_conj().numpy(), rtol=1e-9
        )


def test_the_meta_device_knows_the_shape() -> None:
    x, w = pellucid.empty(2, 3, 9, 9, device="meta"), pellucid.empty(4, 3, 3, 3, device="meta")
    assert pellucid.conv2d(x, w, stride=2).shape == (2, 4, 4, 4)


def randn(t: Any, *shape: int) -> Any:
    return t.from_numpy(random_array(*shape)).float()


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (
            lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 5, 3, 3)),
            "to have 5 channels, but got 3 channels instead",
        ),
        (
            lambda t: t.conv2d(randn(t, 8, 8), randn(t, 4, 3, 3, 3)),
            "Expected 3D (unbatched) or 4D (batched) input to conv2d",
        ),
        (
            lambda t: t.conv2d(randn(t, 2, 3, 2, 2), randn(t, 4, 3, 3, 3)),
            "Kernel size can't be greater than actual input size",
        ),
        (
            lambda t: t.conv2d(randn(t, 2, 4, 8, 8), randn(t, 5, 2, 3, 3), groups=2),
            "expected weight to be divisible by 2",
        ),
        (
            lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), randn(t, 5)),
            "expected bias to be 1-dimensional",
        ),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), stride=0), "non-positive stride"),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), padding=-1), "negative padding"),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), dilation=0), "non-positive dilation"),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), groups=0), "non-positive groups"),
        (
            lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), stride=(1, 2, 3)),
            "expected stride to be a single",
        ),
        (
            lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), padding="same", stride=2),
            "strided convolutions",
        ),
        (
            lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), padding="some"),
            "Invalid padding string: 'some'",
        ),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3).double()), "should be the same"),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3), randn(t, 4).double()), "bias type (double"),
        (lambda t: t.conv2d(randn(t, 2, 3, 8, 8) > 0, randn(t, 4, 3, 3, 3) > 0), "not implemented for 'Bool'"),
        (lambda t: t.conv_transpose2d(randn(t, 2, 3, 8, 8), randn(t, 4, 3, 3, 3)), "Given transposed=1"),
        (
            lambda t: t.conv_transpose2d(randn(t, 2, 4, 8, 8), randn(t, 4, 3, 3, 3), output_padding=1),
            "output padding must be smaller",
        ),
        (
            lambda t: t.conv_tbc(randn(t, 7, 2, 3), randn(t, 3, 4, 5), randn(t, 5), 1),
            "is not == dim 1 in the weight tensor",
        ),
    ],
)
def test_errors(call: Any, phrase: str) -> None:
    assert_same_error(call, phrase)


def test_a_wrong_number_of_channels_says_what_probably_went_wrong() -> None:
    found = error_of(pellucid, lambda t: t.conv2d(randn(t, 2, 8, 8, 3), randn(t, 4, 3, 3, 3)))
    assert "input.permute(0, 3, 1, 2)" in str(found)
    found = error_of(pellucid, lambda t: t.conv2d(randn(t, 3, 2, 8, 8), randn(t, 4, 3, 3, 3)))
    assert "first two dimensions swapped" in str(found)
