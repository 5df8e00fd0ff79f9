"""Convolution kernels against the operators' NumPy bodies: tile edges, strides, dilation, groups, layouts, NaN."""

from __future__ import annotations

import concurrent.futures
import itertools
from typing import Any

import numpy as np
import pytest

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.convolution import convolution_kernel
from pellucid.engine.backends.cpu.convolution_gradient import WeightGradientWriter
from pellucid.engine.backends.cpu.convolution_operators import convolution as make_convolution
from pellucid.engine.backends.cpu.convolution_operators import convolution_weight as make_weight
from pellucid.engine.backends.cpu.gemm import tile_of
from pellucid.engine.backends.cpu.packing import workspace
from pellucid.engine.core import dtypes
from pellucid.engine.core.device import CPU
from pellucid.engine.core.meta import Meta
from pellucid.engine.ops.convolution import convolution, convolution_weight

pytestmark = pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here")

# batch, input channels of a group, filters of a group, groups, space, kernel, stride, padding, dilation
CASES = [
    (2, 5, 7, 1, (9,), (3,), (1,), (1,), (1,)),
    (2, 8, 40, 1, (300,), (5,), (2,), (2,), (1,)),
    (1, 1, 16, 1, (4000,), (10,), (5,), (0,), (1,)),
    (3, 2, 1, 1, (1,), (1,), (1,), (0,), (1,)),
    (2, 3, 4, 2, (9, 11), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 6, 33, 1, (9, 31), (3, 5), (2, 2), (1, 2), (1, 2)),
    (3, 4, 64, 1, (14, 14), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 3, 17, 1, (50, 29), (7, 7), (2, 2), (3, 3), (1, 1)),
    (2, 19, 64, 1, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 8, 9, 1, (5, 6), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 600, 5, 1, (28, 14), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 16, 65, 1, (7, 8), (1, 1), (2, 2), (0, 0), (1, 1)),
    (1, 2, 3, 1, (5, 5), (3, 3), (1, 3), (2, 2), (3, 2)),
    (2, 1, 1, 6, (13, 12), (3, 3), (2, 2), (1, 1), (1, 1)),
    (2, 1, 2, 5, (13, 12), (5, 3), (1, 1), (2, 1), (1, 1)),
    (2, 1, 1, 3, (300,), (5,), (3,), (2,), (1,)),
    (1, 1, 1, 3, (4, 70, 66), (2, 4, 3), (1, 1, 2), (0, 2, 1), (2, 1, 1)),
    (2, 5, 6, 1, (4, 5, 6), (3, 2, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    (2, 2, 3, 2, (6, 5, 9), (3, 2, 3), (2, 1, 2), (1, 0, 1), (2, 1, 1)),
    (2, 400, 3, 1, (3, 3), (3, 3), (1, 1), (1, 1), (1, 1)),
]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}


def meta_of(x: np.ndarray) -> Meta:
    strides = tuple(s // x.itemsize for s in x.strides)
    return Meta.of(x.shape, dtypes.float32 if x.dtype == np.float32 else dtypes.float64, CPU, strides)


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    if layout == "channels last":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    if layout == "strided":
        return np.repeat(x, 2, axis=-1)[..., ::2]
    return x


def run(make: Any, op: Any, operands: list[Any], settings: dict[str, Any]) -> np.ndarray:
    metas = tuple(None if x is None else meta_of(x) for x in operands)
    result = op.meta_rule(*metas, **settings)
    kernel = make(op, metas, (result,), settings)
    assert kernel is not None
    found = kernel(operands, settings)
    assert found.shape == tuple(result.shape)
    steps = zip(found.shape, found.strides, result.byte_strides, strict=True)
    assert all(step == wanted for size, step, wanted in steps if size > 1)
    return found


def close(found: np.ndarray, expected: np.ndarray, kind: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[kind] * scale)


def operands_of(case: Any, kind: Any, layout: str) -> tuple[list[Any], dict[str, Any]]:
    batch, channels, filters, groups, space, kernel, stride, padding, dilation = case
    random = np.random.default_rng(3)
    x = random.standard_normal((batch, channels * groups, *space)).astype(kind)
    weight = random.standard_normal((filters * groups, channels, *kernel)).astype(kind)
    bias = random.standard_normal(filters * groups).astype(kind)
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return [laid_out(x, layout), laid_out(weight, layout), bias], how


def left_over(case: Any, space: tuple[int, ...]) -> list[int]:
    """The output padding with which the transposed convolution has the size of the input again."""
    return [
        n + 2 * p - d * (k - 1) - 1 - (m - 1) * s for n, m, k, s, p, d in zip(case[4], space, *case[5:], strict=True)
    ]


def check_case(case: Any, kind: Any, layout: str) -> None:
    """A convolution, its data gradient and its weight gradient against the bodies in float64."""
    (x, weight, bias), how = operands_of(case, kind, layout)
    forward = {**how, "transposed": False, "output_padding": (0,) * len(case[4])}
    exact = [each.astype(np.float64) for each in (x, weight, bias)]
    y = run(make_convolution, convolution, [x, weight, bias], forward)
    close(y, convolution.body(*exact, **forward), kind)
    dy = laid_out(np.cos(y), layout)
    backward = {**how, "transposed": True, "output_padding": tuple(left_over(case, y.shape[2:]))}
    expected = convolution.body(dy.astype(np.float64), exact[1], None, **backward)
    close(run(make_convolution, convolution, [dy, weight, None], backward), expected, kind)
    gradient = {**how, "kernel": case[5]}
    expected = convolution_weight.body(dy.astype(np.float64), exact[0], **gradient)
    close(run(make_weight, convolution_weight, [dy, x], gradient), expected, kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["row-major", "channels last", "strided"])
def test_the_kernels_give_what_the_bodies_give(kind: Any, layout: str) -> None:
    for case in CASES if kind == np.float32 else CASES[::3]:  # the same code; every kernel has to be compiled
        check_case(case, kind, layout)


def test_a_bias_is_added_where_a_transposed_convolution_has_no_taps() -> None:
    x, weight = np.ones((1, 2, 2, 2), np.float32), np.ones((2, 3, 1, 1), np.float32)
    how = {"stride": (3, 3), "padding": (0, 0), "dilation": (1, 1), "groups": 1, "output_padding": (1, 1)}
    settings: dict[str, Any] = {**how, "transposed": True}
    found = run(make_convolution, convolution, [x, weight, np.array([1, 2, 3], np.float32)], settings)
    np.testing.assert_array_equal(found, convolution.body(x, weight, np.array([1, 2, 3]), **settings))


def test_nan_and_infinity_stay_where_a_kernel_sees_them() -> None:
    (x, weight, bias), how = operands_of(CASES[6], np.float32, "row-major")
    x[0, 0, 3, 4], x[1, 2, 13, 13] = np.nan, np.inf
    settings = {**how, "transposed": False, "output_padding": (0, 0)}
    found = run(make_convolution, convolution, [x, weight, bias], settings)
    expected = convolution.body(x, weight, bias, **settings)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


def test_empty_operands_are_left_to_the_bodies() -> None:
    x, weight = meta_of(np.empty((0, 2, 4), np.float32)), meta_of(np.empty((3, 2, 1), np.float32))
    how: dict[str, Any] = {"stride": (1,), "padding": (0,), "dilation": (1,), "groups": 1}
    how |= {"transposed": False, "output_padding": (0,)}
    assert (
        make_convolution(convolution, (x, weight, None), (convolution.meta_rule(x, weight, None, **how),), how) is None
    )


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    from pellucid.engine.backends.cpu.pool import pool
    from pellucid.engine.core import threads

    (x, weight, bias), how = operands_of(CASES[7], np.float32, "row-major")
    settings = {**how, "transposed": False, "output_padding": (0, 0)}
    found = []
    for count in (1, 2, 5):
        pool().set_threads(count)
        y = run(make_convolution, convolution, [x, weight, bias], settings)
        found.append((y, run(make_weight, convolution_weight, [y, x], {**how, "kernel": CASES[7][5]})))
    pool().set_threads(threads.get_num_threads())
    for (y, gradient), (other, other_gradient) in itertools.pairwise(found):
        np.testing.assert_array_equal(y, other)
        np.testing.assert_array_equal(gradient, other_gradient)


def test_threads_of_python_that_compute_at_once_do_not_share_memory() -> None:
    jobs = [CASES[0], CASES[6], CASES[8], CASES[-1]]  # blocks of very different sizes

    def repeated(case: Any) -> None:
        for _ in range(40):
            check_case(case, np.float32, "row-major")

    workspace.forget()
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as threads:
        for done in [threads.submit(repeated, case) for case in jobs]:
            done.result()


@pytest.mark.parametrize("target", isa.CROSS_TARGETS, ids=lambda target: target.name)
def test_the_kernels_compile_for_every_instruction_set(target: isa.Isa) -> None:
    tile = tile_of(4, 2, 4, target)
    kernels = [
        convolution_kernel(tile, 1),
        jit.Kernel("gradient", (), "pppppw", WeightGradientWriter(tile, 1, False)),
    ]
    for kernel in kernels:
        text = jit.assembly(kernel, target)
        assert ("zmm" in text) == (target.name == "avx512")
        assert not target.has_fma or "fma" in text or "fmla" in text
