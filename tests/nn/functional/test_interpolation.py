"""Resampling against PyTorch: modes, sizes, factors, filters, bytes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

from .gradients import assert_same_error, assert_same_function, random_array

torch = pytest.importorskip("torch")

SIZES = [
    {"size": (3, 4)},
    {"size": (10, 13)},
    {"size": (7, 6)},
    {"size": (14, 12)},
    {"scale_factor": 1.7},
    {"scale_factor": (0.6, 1.3)},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
    {"size": (1, 9)},
]
IMAGES = random_array(2, 3, 7, 6)


def last(t: Any, x: Any) -> Any:
    return x.to(memory_format=t.channels_last)


@pytest.mark.parametrize("target", SIZES, ids=str)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "bilinear", "bicubic"])
def test_images(mode: str, target: dict[str, Any]) -> None:
    for aligned in (True, False) if mode in ("bilinear", "bicubic") else (None,):
        for layout in (lambda t, x: x, last):
            assert_same_function(
                lambda t, x, layout=layout, aligned=aligned: t.nn.functional.interpolate(
                    layout(t, x), mode=mode, align_corners=aligned, **target
                ),
                IMAGES,
            )


@pytest.mark.parametrize("target", SIZES, ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_filters_against_aliasing(mode: str, target: dict[str, Any]) -> None:
    for aligned in (True, False) if mode != "lanczos" else (None,):
        assert_same_function(
            lambda t, x, aligned=aligned: t.nn.functional.interpolate(
                x, mode=mode, align_corners=aligned, antialias=True, **target
            ),
            IMAGES,
        )


@pytest.mark.parametrize("target", [{"size": 4}, {"size": 11}, {"scale_factor": 1.7}, {"scale_factor": 2.0}], ids=str)
def test_signals_and_volumes(target: dict[str, Any]) -> None:
    for mode in ("nearest", "nearest-exact", "area", "linear"):
        assert_same_function(
            lambda t, x, mode=mode: t.nn.functional.interpolate(x, mode=mode, **target), random_array(2, 3, 7)
        )
    for mode in ("nearest", "nearest-exact", "area", "trilinear"):
        assert_same_function(
            lambda t, x, mode=mode: t.nn.functional.interpolate(x, mode=mode, **target), random_array(1, 2, 4, 5, 3)
        )


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [5, 8, 13, 32])
def test_positions_are_computed_in_single_precision(mode: str, size: int) -> None:
    x = random_array(1, 2, size, size).astype(np.float32)
    targets = [{"size": each} for each in (1, 3, 7, 8, 16, 24, 31, 65)]
    targets += [{"scale_factor": each} for each in (0.3, 0.5, 1.5, 2, 2.3, 3.7, 1 / 3)]
    for target in targets:
        mine, theirs = (
            t.nn.functional.interpolate(t.from_numpy(x), mode=mode, **target).numpy() for t in (pellucid, torch)
        )
        np.testing.assert_allclose(mine, theirs, atol=1e-5, err_msg=str(target))


@pytest.mark.parametrize(
    ("mode", "antialias"),
    [("nearest", False), ("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)],
)
def test_bytes_are_rounded_as_in_pytorch(mode: str, antialias: bool) -> None:
    for size in (5, 16, 33):
        x = np.random.default_rng(size).integers(0, 256, (1, 3, size, size)).astype(np.uint8)
        for target in (3, 7, 24, 65):
            mine, theirs = (
                t.nn.functional.interpolate(t.from_numpy(x), size=target, mode=mode, antialias=antialias).numpy()
                for t in (pellucid, torch)
            )
            np.testing.assert_array_equal(mine, theirs)


def test_a_given_factor_moves_positions_even_where_the_size_stays() -> None:
    x = np.arange(7.0).reshape(1, 1, 7)
    mine, theirs = (t.nn.functional.interpolate(t.from_numpy(x), scale_factor=1.1).numpy() for t in (pellucid, torch))
    np.testing.assert_array_equal(mine, theirs)
    image = np.arange(42.0).reshape(1, 1, 7, 6)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        mine, theirs = (
            t.nn.functional.interpolate(t.from_numpy(image), scale_factor=1.1, mode=mode).numpy()
            for t in (pellucid, torch)
        )
        np.testing.assert_allclose(mine, theirs)


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_old_names() -> None:
    F = pellucid.nn.functional
    x = pellucid.ones(1, 1, 2, 2)
    for name in ("upsample", "upsample_nearest", "upsample_bilinear"):
        with pytest.warns(UserWarning, match="deprecated"):
            assert getattr(F, name)(x, scale_factor=2).shape == (1, 1, 4, 4)


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda F, x: F.interpolate(x), "either size or scale_factor should be defined"),
        (lambda F, x: F.interpolate(x, size=3, scale_factor=2), "only one of size or scale_factor should be defined"),
        (lambda F, x: F.interpolate(x, size=(3, 3, 3)), "must have the same number of spatial dimensions"),
        (lambda F, x: F.interpolate(x, size=3, align_corners=True), "align_corners option can only be set"),
        (lambda F, x: F.interpolate(x, size=3, mode="linear"), "Got 4D input, but linear mode needs 3D input"),
        (lambda F, x: F.interpolate(x[0], size=3, mode="bilinear"), "Got 3D input, but bilinear mode needs 4D input"),
        (lambda F, x: F.interpolate(x, size=0), "Input and output sizes should be greater than 0"),
        (lambda F, x: F.interpolate(x, size=3, antialias=True), "Anti-alias option is restricted"),
        (lambda F, x: F.interpolate(x, size=3, recompute_scale_factor=True), "not meaningful with an explicit size"),
        (lambda F, x: F.interpolate(x.long(), size=3), "not implemented for 'Long'"),
        (lambda F, x: F.interpolate(x, size=(3, 2.5)), "expected size to be one of int"),
    ],
)
def test_errors(call: Any, phrase: str) -> None:
    assert_same_error(lambda t: call(t.nn.functional, t.ones(1, 2, 4, 4)), phrase)
