"""The kernel of matrix products against NumPy in float64: tile edges, transposed operands, batches, what is added."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.gemm import tile_of
from pellucid.engine.backends.cpu.gemm_panels import PanelsWriter
from pellucid.engine.backends.cpu.matmul import MatmulPlan, MatmulWriter
from pellucid.engine.backends.cpu.matmul_operators import added_product, product
from pellucid.engine.core import dtypes
from pellucid.engine.core.device import CPU
from pellucid.engine.core.meta import Meta
from pellucid.engine.ops.linalg import addmm, baddbmm, bmm, mm

pytestmark = pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here")
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-14}
SIZES = [(1, 1, 1), (3, 5, 7), (14, 16, 32), (15, 17, 33), (13, 700, 31), (64, 784, 128), (28, 33, 10), (100, 1, 100)]


def steps(x: np.ndarray) -> tuple[int, int, int]:
    found = [stride // x.itemsize for stride in x.strides]
    return (found[0], found[1], found[2])


def matrices(random: np.random.Generator, batch: int, rows: int, columns: int, turned: bool, kind: Any) -> np.ndarray:
    if turned:
        return random.standard_normal((batch, columns, rows)).astype(kind).swapaxes(1, 2)
    return random.standard_normal((batch, rows, columns)).astype(kind)


def check_size(batch: int, m: int, k: int, n: int, turned: tuple[bool, bool], kind: Any) -> None:
    """A product, with something added and with factors, against NumPy in float64."""
    random = np.random.default_rng(1)
    a = matrices(random, batch, m, k, turned[0], kind)
    b = matrices(random, batch, k, n, turned[1], kind)
    x = random.standard_normal((batch, m, n)).astype(kind)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    scale = TOLERANCE[np.dtype(kind)] * max(1.0, float(np.abs(exact).max()))
    out = np.full((batch, m, n), np.nan, kind)
    plain = MatmulPlan((batch, m, k, n), out.itemsize, steps(a), steps(b))
    np.testing.assert_allclose(plain.run(out, a, b), exact, rtol=0, atol=scale)
    added = MatmulPlan((batch, m, k, n), out.itemsize, steps(a), steps(b), (m * n, n))
    np.testing.assert_allclose(added.run(out, a, b, x), exact + x, rtol=0, atol=scale)
    scaled = MatmulPlan((batch, m, k, n), out.itemsize, steps(a), steps(b), (0, 0), 0.5, -2.0)
    row = np.ascontiguousarray(x[0, 0])
    np.testing.assert_allclose(scaled.run(out, a, b, row), 0.5 * row - 2 * exact, rtol=0, atol=2 * scale)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("turned", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("batch", [1, 3])
def test_products_are_exact_to_rounding(kind: Any, turned: tuple[bool, bool], batch: int) -> None:
    for m, k, n in SIZES:
        check_size(batch, m, k, n, turned, kind)


def meta_of(x: np.ndarray) -> Meta:
    kinds = {"float32": dtypes.float32, "float64": dtypes.float64, "bfloat16": dtypes.bfloat16}
    return Meta.of(x.shape, kinds[x.dtype.name], CPU, tuple(stride // x.itemsize for stride in x.strides))


def run(make: Any, op: Any, operands: list[np.ndarray], **settings: Any) -> np.ndarray:
    metas = tuple(meta_of(x) for x in operands)
    result = op.meta_rule(*metas, **settings)
    kernel = make(op, metas, (result,), settings)
    assert kernel is not None
    found = kernel(operands, settings)
    assert found.strides == result.byte_strides and found.dtype == result.dtype.numpy
    return found


def test_operands_of_any_strides_and_shapes_of_what_is_added() -> None:
    random = np.random.default_rng(2)
    wide = random.standard_normal((2, 80, 120)).astype(np.float32)
    a, b = wide[:, ::2, ::3], wide[:, :40, ::2]
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(run(product, bmm, [a, b]), exact, atol=1e-4)
    np.testing.assert_allclose(run(product, mm, [a[0], b[0]]), exact[0], atol=1e-4)
    same = np.broadcast_to(a[:1], a.shape)
    np.testing.assert_allclose(run(product, bmm, [same, b]), a[:1].astype(np.float64) @ b, atol=1e-4)
    for shape in ((), (1,), (60,), (40, 1), (1, 60), (40, 60)):
        x = np.asarray(random.standard_normal(shape), np.float32)
        found = run(added_product, addmm, [x, a[0], b[0]], beta=1, alpha=1)
        np.testing.assert_allclose(found, x + exact[0], atol=1e-4)
        found = run(added_product, baddbmm, [x, a, b], beta=2, alpha=0.5)
        np.testing.assert_allclose(found, 2 * x + 0.5 * exact, atol=1e-4)


def test_what_is_multiplied_with_zero_is_not_read() -> None:
    a = np.ones((40, 40), np.float32)
    x = np.full((40, 40), np.nan, np.float32)
    np.testing.assert_array_equal(run(added_product, addmm, [x, a, a], beta=0, alpha=3), 120)


def test_nan_and_infinity_reach_their_rows_and_columns_only() -> None:
    a, b = np.ones((40, 50), np.float32), np.ones((50, 60), np.float32)
    a[33, 7], b[11, 58] = np.nan, np.inf
    found = run(product, mm, [a, b])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, a @ b)


def test_half_precision_adds_up_in_float32() -> None:
    import ml_dtypes

    a = np.random.default_rng(0).standard_normal((40, 50)).astype(ml_dtypes.bfloat16)
    found = run(product, mm, [a, a.T])
    expected = (a.astype(np.float64) @ a.T.astype(np.float64)).astype(ml_dtypes.bfloat16)
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("target", isa.CROSS_TARGETS, ids=lambda target: target.name)
def test_the_kernels_compile_for_every_instruction_set(target: isa.Isa) -> None:
    tile = tile_of(4, 2, 4, target)
    multiply = jit.Kernel("matmul", (), "ppppddw", MatmulWriter(tile, True, True))
    pack = jit.Kernel("panels", (), "ppw", PanelsWriter(4, tile.lanes, tile.rows, True))
    for kernel in (multiply, pack):
        assert ("zmm" in jit.assembly(kernel, target)) == (target.name == "avx512")
