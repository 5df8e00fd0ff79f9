"""Pooling against PyTorch: values, indices, gradients, ties, NaN, layouts, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array

torch = pytest.importorskip("torch")

SETTINGS = [
    {},
    {"stride": 1},
    {"padding": 1},
    {"padding": (1, 0), "stride": (1, 2), "ceil_mode": True},
    {"ceil_mode": True},
]
IMAGES = random_array(2, 3, 9, 8)
VOLUMES = random_array(2, 2, 5, 6, 7)


def functional(t: Any) -> Any:
    return t.nn.functional


def last(t: Any, x: Any) -> Any:
    return x.to(memory_format=t.channels_last)


@pytest.mark.parametrize("kernel", [2, 3, (3, 2)])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sliding_windows(kernel: Any, settings: dict[str, Any]) -> None:
    for layout in (lambda t, x: x, last):
        assert_same_function(
            lambda t, x, layout=layout: functional(t).max_pool2d(layout(t, x), kernel, return_indices=True, **settings),
            IMAGES,
        )
        for counted in (True, False):
            assert_same_function(
                lambda t, x, layout=layout, counted=counted: functional(t).avg_pool2d(
                    layout(t, x), kernel, count_include_pad=counted, **settings
                ),
                IMAGES,
            )
    assert_same_function(lambda t, x: functional(t).avg_pool2d(x, kernel, divisor_override=3, **settings), IMAGES)


def test_dilation_and_other_numbers_of_dimensions() -> None:
    assert_same_function(lambda t, x: functional(t).max_pool2d(x, 3, 2, 1, 2, return_indices=True), IMAGES)
    assert_same_function(lambda t, x: functional(t).max_pool2d(x, 3, 1, 1, 3, True, return_indices=True), IMAGES)
    assert_same_function(lambda t, x: functional(t).max_pool1d(x[0], 3, 2, 1, 2, return_indices=True), IMAGES)
    assert_same_function(lambda t, x: functional(t).avg_pool1d(x[0], 3, 2, 1), IMAGES)
    assert_same_function(lambda t, x: functional(t).max_pool3d(x, 2, 2, 1, 1, True, return_indices=True), VOLUMES)
    assert_same_function(lambda t, x: functional(t).max_pool3d(x, (3, 3, 4), 1, return_indices=True), VOLUMES)
    assert_same_function(lambda t, x: functional(t).avg_pool3d(x, 2, 2, 1, True, False), VOLUMES)
    assert_same_function(lambda t, x: functional(t).max_pool2d(x[0], 2), IMAGES)


def test_a_kernel_of_many_places_counts_them_right() -> None:
    assert_same_function(
        lambda t, x: functional(t).max_pool2d(x, (17, 18), 1, return_indices=True),
        random_array(1, 2, 20, 21),
        second=False,
    )


@pytest.mark.parametrize("size", [1, 3, (4, 2), (None, 5), (9, 8), (11, 3)])
def test_adaptive_windows(size: Any) -> None:
    for layout in (lambda t, x: x, last):
        plain = (
            size != 1 or layout is not last
        )  # PyTorch makes one channels-last window by another node and other strides
        assert_same_function(
            lambda t, x, layout=layout: functional(t).adaptive_avg_pool2d(layout(t, x), size),
            IMAGES,
            name=plain,
            strides=plain,
        )
        assert_same_function(
            lambda t, x, layout=layout: functional(t).adaptive_max_pool2d(layout(t, x), size, return_indices=True),
            IMAGES,
        )
    assert_same_function(lambda t, x: functional(t).adaptive_avg_pool3d(x, (2, 3, 4)), VOLUMES)
    assert_same_function(lambda t, x: functional(t).adaptive_max_pool3d(x, (2, 3, 4), return_indices=True), VOLUMES)
    assert_same_function(lambda t, x: functional(t).adaptive_avg_pool1d(x[0], 3), IMAGES)
    assert_same_function(lambda t, x: functional(t).adaptive_max_pool1d(x[0], 3, return_indices=True), IMAGES)


@pytest.mark.parametrize("norm", [1.0, 2, 3, 2.5, float("inf")])
def test_p_norms(norm: float) -> None:
    if norm == float("inf"):
        return assert_same_function(lambda t, x: functional(t).lp_pool2d(x, 100.0, 3), abs(IMAGES) / 4, second=False)
    assert_same_function(lambda t, x: functional(t).lp_pool2d(x, norm, 3, 2, True), abs(IMAGES), name=False)
    assert_same_function(lambda t, x: functional(t).lp_pool1d(x[0], norm, 3), abs(IMAGES), name=False)
    return assert_same_function(lambda t, x: functional(t).lp_pool3d(x, norm, 3), abs(VOLUMES), name=False)


def test_the_slope_of_a_p_norm_at_zero_is_zero() -> None:
    arrays = np.array([[[3.0, -2.0, 0.0, 0.0, 0.0, 1.0, 0.0]]])
    assert_same_function(lambda t, x: functional(t).lp_pool1d(x, 2.0, 2), arrays, second=False, name=False)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("sized", [False, True])
def test_unpooling_puts_values_back(rank: int, sized: bool) -> None:
    whole = {1: (3, 9), 2: (2, 3, 8, 9), 3: (1, 2, 4, 6, 5)}[rank]
    if not sized:
        whole = tuple(each - each % 2 if axis >= len(whole) - rank else each for axis, each in enumerate(whole))

    def run(t: Any, x: Any) -> Any:
        pool, unpool = (getattr(functional(t), f"max_{name}{rank}d") for name in ("pool", "unpool"))
        values, indices = pool(x, 2, return_indices=True)
        return unpool(values, indices, 2, output_size=whole[-rank:] if sized else None)

    assert_same_function(run, random_array(*whole))


@pytest.mark.parametrize("seed", range(6))
def test_ties_nan_and_infinities_are_chosen_as_in_pytorch(seed: int) -> None:
    values = np.random.default_rng(seed).choice([np.nan, 1.0, 2.0, np.inf, -np.inf, -np.inf], size=(2, 3, 6, 7))
    calls = [
        lambda F, x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        lambda F, x: F.max_pool2d(x, 2, 1, 1, 2, True, return_indices=True),
        lambda F, x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True),
        lambda F, x: F.max_pool1d(x[0], 3, 2, 1, return_indices=True),
    ]
    for call in calls:
        mine, theirs = (call(functional(t), t.from_numpy(values)) for t in (pellucid, torch))
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_integers() -> None:
    whole = np.random.default_rng(0).integers(-20, 20, (1, 2, 6, 6))
    for call in (
        lambda F, x: F.max_pool2d(x, 3, 2, 1),
        lambda F, x: F.avg_pool2d(x, 2),
        lambda F, x: F.avg_pool2d(x, 2, divisor_override=-3),
    ):
        mine, theirs = (call(functional(t), t.from_numpy(whole)) for t in (pellucid, torch))
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_fractional_windows_come_from_pytorchs_random_numbers() -> None:
    def run(t: Any, x: Any, **settings: Any) -> Any:
        t.manual_seed(3)
        name = "fractional_max_pool2d" if x.ndim == 4 else "fractional_max_pool3d"
        return getattr(functional(t), name)(x, return_indices=True, **settings)

    assert_same_function(lambda t, x: run(t, x, kernel_size=2, output_size=(3, 4)), IMAGES)
    assert_same_function(
        lambda t, x: run(t, x, kernel_size=(3, 2), output_ratio=(0.5, 0.6)), random_array(1, 3, 12, 11)
    )
    assert_same_function(lambda t, x: run(t, x, kernel_size=2, output_size=(3, 1, 5)), random_array(2, 3, 7, 8, 9))


def test_the_meta_device_knows_the_shape() -> None:
    x = pellucid.empty(2, 3, 9, 9, device="meta")
    F = pellucid.nn.functional
    assert F.max_pool2d(x, 2, ceil_mode=True).shape == (2, 3, 5, 5)
    assert F.avg_pool2d(x, 2).shape == (2, 3, 4, 4)
    assert F.adaptive_avg_pool2d(x, (1, None)).shape == (2, 3, 1, 9)


def randn(t: Any, *shape: int) -> Any:
    return t.from_numpy(random_array(*shape))


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda t: functional(t).max_pool2d(randn(t, 8, 8), 2), "non-empty 3D or 4D (batch mode) tensor expected"),
        (lambda t: functional(t).max_pool2d(randn(t, 2, 3, 8, 8), 9), "Output size is too small"),
        (lambda t: functional(t).max_pool2d(randn(t, 2, 3, 8, 8), 2, padding=2), "pad should be at most half"),
        (lambda t: functional(t).max_pool2d(randn(t, 2, 3, 8, 8), 2, padding=-1), "pad must be non-negative"),
        (lambda t: functional(t).max_pool2d(randn(t, 2, 3, 8, 8), 2, stride=0), "stride should not be zero"),
        (
            lambda t: functional(t).max_pool2d(randn(t, 2, 3, 8, 8), (2, 2, 2)),
            "kernel_size must either be a single int",
        ),
        (lambda t: functional(t).max_pool2d(randn(t, 2, 0, 8, 8), 2), "with optional 0 dim batch size for input"),
        (lambda t: functional(t).max_pool2d(randn(t, 2, 3, 8, 8) > 0, 2), "\"max_pool2d\" not implemented for 'Bool'"),
        (lambda t: functional(t).max_pool1d(randn(t, 8), 2), "Expected 2D or 3D (batch mode) tensor"),
        (lambda t: functional(t).avg_pool2d(randn(t, 2, 3, 8, 8), 2, divisor_override=0), "divisor must be not zero"),
        (lambda t: functional(t).avg_pool2d(randn(t, 2, 3, 8, 8), 2, padding=2), "pad should be at most half"),
        (lambda t: functional(t).adaptive_avg_pool2d(randn(t, 2, 3, 8, 8), (1, 2, 3)), "output_size must be 2"),
        (lambda t: functional(t).adaptive_avg_pool2d(randn(t, 2, 3, 0, 8), 2), "with dimension 2 being empty"),
        (lambda t: functional(t).adaptive_avg_pool2d(randn(t, 8, 8), (2, 2)), "Input dimension should be at least 3"),
        (lambda t: functional(t).adaptive_max_pool2d(randn(t, 2, 3, 8, 8).long(), 3), "not implemented for 'Long'"),
        (
            lambda t: functional(t).max_unpool2d(randn(t, 1, 1, 2, 2), t.full((1, 1, 2, 2), 99), 2),
            "Found an invalid max index: 99 (output volumes are of size 4x4)",
        ),
        (
            lambda t: functional(t).max_unpool2d(randn(t, 1, 1, 2, 2), t.full((1, 1, 2, 2), 0), 2, output_size=(9, 9)),
            'invalid output_size "(9, 9)" (dim 0 must be between 2 and 6)',
        ),
        (
            lambda t: functional(t).fractional_max_pool2d(randn(t, 2, 3, 8, 8), 2),
            "requires specifying either an output_size",
        ),
        (
            lambda t: functional(t).fractional_max_pool2d(randn(t, 2, 3, 8, 8), 2, output_size=8),
            "too large relative to input",
        ),
    ],
)
def test_errors(call: Any, phrase: str) -> None:
    assert_same_error(call, phrase)
