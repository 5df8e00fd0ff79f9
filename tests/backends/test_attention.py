"""Attention kernels against the operators' NumPy bodies: tile edges, layouts, masks, causality, no keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.attention import AttentionForward
from pellucid.engine.backends.cpu.attention_gradient import ARGUMENTS, AttentionBackward
from pellucid.engine.backends.cpu.attention_operators import attention as make_forward
from pellucid.engine.backends.cpu.attention_operators import attention_gradients as make_backward
from pellucid.engine.backends.cpu.gemm import tile_of
from pellucid.engine.core import dtypes
from pellucid.engine.core.device import CPU
from pellucid.engine.core.meta import Meta
from pellucid.engine.ops.attention import attention, attention_gradients

pytestmark = pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here")

# batch, heads, queries, keys, depth, width of the values, causal, shape of the mask
CASES: list[tuple[Any, ...]] = [
    (1, 1, 1, 1, 1, 1, False, None),
    (2, 3, 5, 7, 4, 6, False, None),
    (1, 2, 33, 50, 20, 40, True, None),
    (2, 2, 70, 70, 64, 64, True, None),
    (1, 1, 500, 900, 32, 64, True, None),
    (1, 1, 30, 80, 8, 8, True, None),
    (1, 2, 40, 600, 64, 33, False, (1, 1, 40, 600)),
    (2, 2, 20, 60, 16, 16, False, (20, 60)),
    (2, 2, 17, 19, 8, 8, False, (2, 1, 1, 19)),
    (2, 2, 17, 19, 8, 8, True, (2, 17, 1)),
]


def meta_of(x: np.ndarray) -> Meta:
    kinds = {"float32": dtypes.float32, "float64": dtypes.float64, "bool": dtypes.bool_}
    return Meta.of(x.shape, kinds[x.dtype.name], CPU, tuple(stride // x.itemsize for stride in x.strides))


def run(make: Any, op: Any, operands: list[np.ndarray], **settings: Any) -> Any:
    metas = tuple(meta_of(x) for x in operands)
    results = op.meta_rule(*metas, **settings)
    kernel = make(op, metas, results, settings)
    assert kernel is not None
    return kernel(operands, settings)


def close(found: np.ndarray, expected: np.ndarray, kind: Any, largest: float = 1) -> None:
    """Equal but for rounding in proportion to the largest number, or to terms of that size that cancel."""
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=largest))
    scale = (4e-6 if kind == np.float32 else 1e-14) * largest
    np.testing.assert_allclose(found, expected, rtol=0, atol=scale)


def check_case(case: Any, kind: Any, boolean: bool) -> None:
    """Attention and its gradients against the bodies in float64; `boolean`: the kind of mask."""
    random = np.random.default_rng(5)
    batch, heads, queries, keys, depth, width, causal, mask_shape = case
    query = random.standard_normal((batch, queries, heads, depth)).astype(kind).swapaxes(1, 2)
    key = random.standard_normal((batch, heads, keys, 2 * depth)).astype(kind)[..., :depth]
    value = random.standard_normal((batch, heads, keys, width)).astype(kind)
    mask = []
    if mask_shape:
        mask = [random.random(mask_shape) > 0.4 if boolean else random.standard_normal(mask_shape).astype(kind)]
        mask[0][..., 3 % mask_shape[-2], :] = False if boolean else -np.inf  # a query that sees nothing
    how = {"scale": depth**-0.5, "is_causal": causal}
    exact = [x if x.dtype == bool else x.astype(np.float64) for x in (query, key, value, *mask)]
    with np.errstate(invalid="ignore", divide="ignore"):
        y, lse = attention.body(*exact, **how)
        found = run(make_forward, attention, [query, key, value, *mask], **how)
        close(found[0], y, kind)
        close(found[1], lse, kind)
        dy = random.standard_normal(y.shape).astype(kind)
        expected = attention_gradients.body(dy.astype(np.float64), *exact[:3], y, lse, *exact[3:], **how)
        given = [dy, query, key, value, found[0], found[1], *mask]
        slopes = float(np.abs(dy @ value.swapaxes(-1, -2)).max()) * how["scale"]  # less their mean: near 0 for one key
        for gradient, wanted, factor in zip(
            run(make_backward, attention_gradients, given, **how), expected, (key, query, dy), strict=True
        ):
            close(gradient, wanted, kind, max(1.0, slopes * float(np.abs(factor).max())))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("boolean", [False, True])
def test_the_kernels_give_what_the_bodies_give(kind: Any, boolean: bool) -> None:
    for case in CASES:
        check_case(case, kind, boolean)


def test_second_gradients_are_those_of_the_products_and_the_softmax() -> None:
    random = np.random.default_rng(6)
    q, k, v = (pellucid.from_numpy(random.standard_normal((1, 2, 5, 3))).requires_grad_() for _ in range(3))
    mask = pellucid.from_numpy(random.random((5, 5)) > 0.3)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return pellucid.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    assert type(attend(q, k, v).grad_fn).__name__ == "ScaledDotProductFlashAttentionForCpuBackward0"
    assert pellucid.autograd.gradcheck(attend, (q, k, v))
    assert pellucid.autograd.gradgradcheck(attend, (q, k, v))


def test_a_nan_stays_in_the_row_of_its_query() -> None:
    x = np.ones((1, 1, 40, 16), np.float32)
    query = x.copy()
    query[0, 0, 33, 2] = np.nan
    y = run(make_forward, attention, [query, x, x], scale=1.0, is_causal=False)[0]
    np.testing.assert_array_equal(np.isnan(y).any(-1)[0, 0], np.arange(40) == 33)


@pytest.mark.parametrize("target", isa.CROSS_TARGETS, ids=lambda target: target.name)
def test_the_kernels_compile_for_every_instruction_set(target: isa.Isa) -> None:
    tile = tile_of(4, 2, 4, target)
    forward = jit.Kernel("attention", (), "p" * 7 + "dw", AttentionForward(tile, True))
    backward = jit.Kernel("backward", (), "p" * (len(ARGUMENTS) + 1) + "dw", AttentionBackward(tile, True))
    for kernel in (forward, backward):
        assert ("zmm" in jit.assembly(kernel, target)) == (target.name == "avx512")
