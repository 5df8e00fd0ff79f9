"""Kernels of recurrent steps against the operators' NumPy bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pellucid.engine.backends.cpu import isa, jit
from pellucid.engine.backends.cpu.recurrent import StepWriter, step
from pellucid.engine.core import dtypes
from pellucid.engine.core.device import CPU
from pellucid.engine.core.meta import Meta
from pellucid.engine.ops.recurrent import gru_gates, gru_gates_slopes, lstm_gates, lstm_gates_slopes

pytestmark = pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here")

# operator, parts of each operand
OPERATORS = [
    (lstm_gates, (4, 1)), (lstm_gates_slopes, (1, 1, 1, 1, 4)),
    (gru_gates, (3, 3, 1)), (gru_gates_slopes, (1, 3, 1, 3)),
]  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("op", "parts"), OPERATORS, ids=lambda value: getattr(value, "name", None))
def test_steps_give_what_the_bodies_give(op: Any, parts: tuple[int, ...], kind: Any) -> None:
    random = np.random.default_rng(0)
    dtype = dtypes.float32 if kind == np.float32 else dtypes.float64
    for rows, size in ((1, 1), (3, 16), (5, 33), (300, 50)):
        for layout in ("dense", "rows apart", "columns apart", "repeated"):
            arrays = []
            for count in parts:
                x = random.standard_normal((rows, size * count)).astype(kind)
                if layout == "rows apart":
                    x = np.repeat(x, 2, axis=0)[::2]
                elif layout == "columns apart":
                    x = np.repeat(x, 2, axis=1)[:, ::2]
                elif layout == "repeated":
                    x = np.broadcast_to(x[:1], x.shape)
                arrays.append(x)
            if layout == "dense":
                arrays[0][0, 0] = np.nan
            metas = tuple(Meta.of(x.shape, dtype, CPU, tuple(s // x.itemsize for s in x.strides)) for x in arrays)
            kernel = step(op, metas, op.meta_rule(*metas), {})
            expected = op.body(*[x.astype(np.float64) for x in arrays])
            for ours, theirs in zip(kernel(arrays, {}), expected, strict=True):
                largest = max(1.0, float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0)))
                tolerance = (2e-6 if kind == np.float32 else 1e-14) * largest
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("target", isa.CROSS_TARGETS, ids=lambda target: target.name)
def test_the_kernels_compile_for_every_instruction_set(target: isa.Isa) -> None:
    for op, parts in OPERATORS:
        writer = StepWriter(op.name, 4, target.lanes(4))
        kernel = jit.Kernel(op.name, (), "p" * (len(op.outputs) + len(parts)) + "w", writer)
        assert ("zmm" in jit.assembly(kernel, target)) == (target.name == "avx512")
