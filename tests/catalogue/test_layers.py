"""Every layer of the table has PyTorch's weights from the same seed, outputs, gradients and buffers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import pellucid

torch = pytest.importorskip("torch")

from .layers import LayerChecks  # noqa: E402 (needs torch)
from .samples import LAYERS  # noqa: E402
from .table import Layer  # noqa: E402


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.label)
def test_layer(layer: Layer, record_property: Callable[[str, Any], None]) -> None:
    checks = LayerChecks(layer, torch, pellucid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks.run()
    record_property("comparisons", checks.compare.count)
    assert not checks.compare.failures, "\n".join(checks.compare.failures[:6])
