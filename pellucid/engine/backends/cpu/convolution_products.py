"""Convolutions that look at single pixels of channels-last images: plain products of pixels × channels and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.backends.cpu.matmul import MatmulPlan
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import float32, float64
from pellucid.engine.core.meta import Meta
from pellucid.engine.ops.convolution import is_channels_last


def _applies(images: list[Meta], kernel: Any, settings: dict[str, Any]) -> bool:
    looks_at_one = all(k == 1 for k in kernel) and all(s == 1 for s in settings["stride"])
    plain = looks_at_one and not any(settings["padding"]) and settings["groups"] == 1
    floats = all(meta.dtype in (float32, float64) for meta in images)
    return plain and floats and all(is_channels_last(meta) for meta in images)


def forward_product(x: Meta, weight: Meta, bias: Meta | None, result: Meta, settings: dict[str, Any]) -> Any:
    """The convolution, transposed or not, as pixels × channels times channels × filters; None where it is none."""
    if not _applies([x, result], weight.shape[2:], settings) or (bias is not None and bias.strides[0] != 1):
        return None
    read, written = x.shape[1], result.shape[1]
    along_read, along_written = (0, 1) if settings["transposed"] else (1, 0)
    steps = (0, weight.strides[along_read], weight.strides[along_written])
    if 1 not in steps:
        return None
    sizes = (1, x.numel // read, read, written)
    run = MatmulPlan(sizes, x.dtype.itemsize, (0, read, 1), steps, None if bias is None else (0, 0)).run

    def multiply(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        return run(allocate(result), *arrays[:2], *[each for each in arrays[2:] if each is not None])

    return multiply


def weight_product(coarse: Meta, fine: Meta, result: Meta, settings: dict[str, Any]) -> Any:
    """The gradient of such a weight: filters × pixels times pixels × channels; None where it is none."""
    if not _applies([coarse, fine], settings["kernel"], settings):
        return None
    filters, channels = coarse.shape[1], fine.shape[1]
    sizes = (1, filters, coarse.numel // filters, channels)
    run = MatmulPlan(sizes, fine.dtype.itemsize, (0, 1, filters), (0, channels, 1)).run
    return lambda arrays, settings: run(allocate(result), *arrays)
