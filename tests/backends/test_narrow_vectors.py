"""Contraction kernels with the vectors of older processors, which this one can run too, in a child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.engine.backends.cpu import isa, jit

pytestmark = [
    pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here"),
    pytest.mark.skipif(isa.host().name not in ("avx2", "avx512"), reason="needs a processor that runs AVX2"),
]

PROGRAM = """
import sys
import numpy as np
from pellucid.engine.backends.cpu import isa
target = getattr(isa, sys.argv[1])
isa.host = lambda: target
from tests.backends import test_attention, test_convolution, test_matmul

for name in ("CASES", "SIZES"):
    for module in (test_attention, test_convolution, test_matmul):
        if hasattr(module, name):
            setattr(module, name, getattr(module, name)[1::4])
test_convolution.test_the_kernels_give_what_the_bodies_give(np.float32, "row-major")
test_matmul.test_products_are_exact_to_rounding(np.float32, (False, True), 2)
test_matmul.test_products_are_exact_to_rounding(np.float64, (True, False), 1)
test_attention.test_the_kernels_give_what_the_bodies_give(np.float32, True)
test_attention.CASES = [(1, 1, 30, 80, 8, 8, True, None)]
test_attention.test_the_kernels_give_what_the_bodies_give(np.float64, False)
print("as exact")
"""


@pytest.mark.parametrize("name", ["AVX2", "SSE2"])
def test_kernels_with_narrower_vectors_are_as_exact(name: str) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PROGRAM, name]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert "as exact" in found.stdout, found.stderr[-2000:]
