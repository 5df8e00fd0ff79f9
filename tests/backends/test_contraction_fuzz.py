"""Random contractions against the NumPy references. `PELLUCID_FUZZ_SCALE` multiplies them; a failure names its seed."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pellucid.engine.backends.cpu import jit
from tests.backends import test_attention, test_convolution, test_matmul

pytestmark = pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here")
COUNT = int(12 * float(os.environ.get("PELLUCID_FUZZ_SCALE", "1")))
SEED = int(os.environ.get("PELLUCID_FUZZ_SEED", "0"))


def convolution(rng: random.Random, kind: Any) -> None:
    """A convolution of any settings, its data gradient and its weight gradient."""
    axes = rng.choice([1, 2, 2, 2, 3])
    kernel = tuple(rng.choice([1, 1, 2, 3, 3, 5]) for _ in range(axes))
    dilation = tuple(rng.choice([1, 1, 1, 2]) for _ in range(axes))
    stride = tuple(rng.choice([1, 1, 2, 3]) for _ in range(axes))
    padding = tuple(rng.randint(0, d * (k - 1)) for k, d in zip(kernel, dilation, strict=True))
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    space = tuple(n + rng.choice([0, 1, 3, 7, 14, 20]) for n in least)
    groups = rng.choice([1, 1, 1, 2, 3])
    channels, filters = rng.choice([1, 1, 2, 5, 16, 33]), rng.choice([1, 1, 3, 16, 17, 64])
    case = (rng.randint(1, 3), channels, filters, groups, space, kernel, stride, padding, dilation)
    layout = rng.choice(["row-major", "channels last", "strided"])
    test_convolution.check_case(case, kind, layout)


def product(rng: random.Random, kind: Any) -> None:
    """A batch of products with operands in any order."""
    sizes = [1, 2, 3, 5, 8, 13, 14, 15, 16, 17, 31, 33, 64, 100]
    turned = (rng.random() < 0.5, rng.random() < 0.5)
    test_matmul.check_size(rng.choice([1, 2, 5]), *[rng.choice(sizes) for _ in range(3)], turned, kind)


def attention(rng: random.Random, kind: Any) -> None:
    """Attention and its gradients."""
    batch, heads, queries, keys = (rng.choice(each) for each in ([1, 2], [1, 3], [1, 5, 30, 61], [1, 7, 33, 500]))
    shapes = [None, None, (queries, keys), (batch, 1, queries, keys), (heads, 1, keys), (1, 1, 1, keys)]
    case = (batch, heads, queries, keys, rng.choice([1, 8, 31, 64]), rng.choice([1, 16, 33]),
            rng.random() < 0.5, rng.choice(shapes))  # fmt: skip
    test_attention.check_case(case, kind, rng.random() < 0.5)


@pytest.mark.parametrize("program", [convolution, product, attention], ids=lambda program: program.__name__)
def test_random_contractions(program: Callable[[random.Random, Any], None]) -> None:
    for number in range(SEED, SEED + COUNT):
        rng = random.Random(number)
        try:
            program(rng, rng.choice([np.float32, np.float32, np.float64]))
        except Exception as error:
            raise AssertionError(f"PELLUCID_FUZZ_SEED={number} fails") from error
