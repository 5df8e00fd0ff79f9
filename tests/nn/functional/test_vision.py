"""Sampling grids, rearranged channels and windows as columns, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array

torch = pytest.importorskip("torch")

IMAGES, VOLUMES = random_array(2, 3, 7, 6), random_array(1, 2, 4, 5, 3)
GRID, GRID3 = random_array(2, 4, 5, 2) * 1.3, random_array(1, 3, 4, 2, 3) * 1.3


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode: str, padding: str, aligned: bool) -> None:
    def run(t: Any, x: Any, grid: Any) -> Any:
        return t.nn.functional.grid_sample(x, grid, mode, padding, aligned)

    assert_same_function(run, IMAGES, GRID, second=False)
    if mode != "bicubic":
        assert_same_function(run, VOLUMES, GRID3, second=False)


def test_the_gradient_of_a_sample_differentiates_again() -> None:
    x = pellucid.from_numpy(IMAGES).requires_grad_()
    grid = pellucid.from_numpy(GRID)
    cotangent = pellucid.ones(2, 3, 4, 5, dtype=pellucid.float64).requires_grad_()
    y = pellucid.nn.functional.grid_sample(x, grid, align_corners=False)
    (dx,) = pellucid.autograd.grad(y, x, cotangent, create_graph=True)
    (back,) = pellucid.autograd.grad(dx, cotangent, pellucid.ones_like(dx))
    ones = pellucid.nn.functional.grid_sample(pellucid.ones_like(x), grid, align_corners=False)
    np.testing.assert_allclose(back.numpy(), ones.detach().numpy())


def test_positions_that_are_not_numbers_are_outside() -> None:
    grid = np.full((1, 1, 2, 2), np.nan)
    mine, theirs = (
        t.nn.functional.grid_sample(t.from_numpy(IMAGES[:1]), t.from_numpy(grid), align_corners=False).numpy()
        for t in (pellucid, torch)
    )
    np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))


@pytest.mark.parametrize("aligned", [True, False])
def test_affine_grid(aligned: bool) -> None:
    assert_same_function(lambda t, x: t.nn.functional.affine_grid(x, (2, 3, 4, 5), aligned), random_array(2, 2, 3))
    assert_same_function(lambda t, x: t.nn.functional.affine_grid(x, (2, 3, 4, 5, 2), aligned), random_array(2, 3, 4))


def test_channels_and_pixels() -> None:
    assert_same_function(lambda t, x: t.pixel_shuffle(x, 2), random_array(2, 8, 3, 4))
    assert_same_function(lambda t, x: t.pixel_shuffle(x.to(memory_format=t.channels_last), 2), random_array(2, 8, 3, 4))
    assert_same_function(lambda t, x: t.pixel_unshuffle(x, 2), random_array(8, 4, 6))
    assert_same_function(lambda t, x: t.channel_shuffle(x, 3), random_array(2, 6, 3, 4))
    assert pellucid.pixel_shuffle(pellucid.ones(0, 8, 3, 4), 2).shape == (0, 2, 6, 8)


def test_windows_as_columns_and_back() -> None:
    assert_same_function(lambda t, x: t.nn.functional.unfold(x, (2, 3), 1, (0, 1), (2, 1)), IMAGES)
    assert_same_function(lambda t, x: t.nn.functional.unfold(x[0], 2, 2, 1, 2), IMAGES, name=False)
    assert_same_function(lambda t, x: t.nn.functional.fold(x, (5, 6), 3), random_array(2, 18, 12))
    assert_same_function(
        lambda t, x: t.nn.functional.fold(x, (5, 6), (3, 2), (1, 2), (1, 0), 2), random_array(18, 6), name=False
    )


def randn(t: Any, *shape: int) -> Any:
    return t.from_numpy(random_array(*shape))


@pytest.mark.filterwarnings("ignore:Default grid_sample")
@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda F, t: F.grid_sample(randn(t, 1, 2, 5, 5), randn(t, 1, 3, 3, 2), mode="foo"), "expected mode to be"),
        (
            lambda F, t: F.grid_sample(randn(t, 1, 2, 5, 5), randn(t, 1, 3, 3, 2), padding_mode="foo"),
            "expected padding_mode to be",
        ),
        (lambda F, t: F.grid_sample(randn(t, 1, 2, 5, 5), randn(t, 2, 3, 3, 2)), "same batch size"),
        (lambda F, t: F.grid_sample(randn(t, 1, 2, 5, 5), randn(t, 1, 3, 3, 3)), "expected grid to have size 2"),
        (lambda F, t: F.grid_sample(randn(t, 1, 2, 0, 5), randn(t, 1, 3, 3, 2)), "non-empty spatial dimensions"),
        (
            lambda F, t: F.grid_sample(randn(t, 1, 2, 5, 5, 5), randn(t, 1, 3, 3, 3, 3), "bicubic"),
            "bicubic interpolation only supports 4D input",
        ),
        (lambda F, t: F.affine_grid(randn(t, 1, 3, 4), (1, 2, 4, 5)), "Expected a batch of 2D affine matrices"),
        (
            lambda F, t: F.affine_grid(randn(t, 1, 2, 3).long(), (1, 2, 4, 4)),
            "Expected theta to have floating point type",
        ),
        (lambda F, t: F.affine_grid(randn(t, 1, 2, 3), (0, 2, 4, 4)), "Expected non-zero, positive output size"),
        (lambda F, t: F.pixel_shuffle(randn(t, 1, 7, 2, 3), 2), "is not divisible by 4"),
        (lambda F, t: F.pixel_shuffle(randn(t, 8, 2), 2), "at least 3 dimensions"),
        (lambda F, t: F.pixel_unshuffle(randn(t, 1, 2, 4, 5), 2), "expects width to be divisible by downscale_factor"),
        (lambda F, t: F.channel_shuffle(randn(t, 1, 4, 3, 3), 3), "Number of channels must be divisible by groups"),
        (lambda F, t: F.unfold(randn(t, 1, 2, 5, 6), 7), "but its components must be at least one"),
        (lambda F, t: F.unfold(randn(t, 1, 2, 5, 6), 3, stride=0), "stride should be greater than zero"),
        (
            lambda F, t: F.fold(randn(t, 1, 18, 11), (5, 6), 3),
            "to match the calculated number of sliding blocks 3 * 4 = 12",
        ),
        (lambda F, t: F.fold(randn(t, 1, 17, 12), (5, 6), 3), "to be divisible by the product of kernel_size"),
    ],
)
def test_errors(call: Any, phrase: str) -> None:
    assert_same_error(lambda t: call(t.nn.functional, t), phrase)
