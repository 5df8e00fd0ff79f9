"""Conversions to the small floating types give PyTorch's values, also where these types have no room."""

from __future__ import annotations

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

EDGES = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    448.0,
    464.0,
    465.0,
    -500.0,
    57344.0,
    61440.0,
    2.0**127,
    1.5 * 2.0**127,
    2.0**-127,
]


@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "target",
    ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "bfloat16"],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_conversion(source: str, target: str) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.standard_normal(2000) * 10.0 ** rng.integers(-40, 38, 2000), EDGES]).astype(np.float32)
    theirs = torch.from_numpy(values).to(getattr(torch, source))
    ours = pellucid.from_dlpack(theirs).to(getattr(pellucid, target))
    np.testing.assert_array_equal(ours.float().numpy(), theirs.to(getattr(torch, target)).float().numpy())
