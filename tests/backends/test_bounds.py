"""Contraction kernels touch nothing beside their operands: run in a child process, with closed pages on both sides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.engine.backends.cpu import jit

pytestmark = pytest.mark.skipif(not jit.available(), reason="compiled kernels cannot be entered here")

PROGRAM = """
import numpy as np
from pellucid.engine.backends.cpu import attention_operators, convolution_operators, matmul_operators, packing, pool
from pellucid.engine.core import data
from tests.backends import test_attention, test_convolution, test_matmul
from tests.backends.guarded import guarded

random = np.random.default_rng(0)
pool.pool().set_threads(1)  # one slot of the workspace, which ends where it says
plain_empty = np.empty
np.empty = lambda shape, dtype=float: guarded(plain_empty(shape, dtype))
packing.Workspace.of = lambda self, size: guarded(np.zeros(packing._FLAGS + size, np.uint8))
for at_end in (True, False):
    def allocate(meta):
        return guarded(plain(meta), at_end)

    plain = data.allocate
    for module in (attention_operators, convolution_operators, matmul_operators):
        module.allocate = allocate
    for layout in ("row-major", "channels last"):
        for case in test_convolution.CASES:
            operands, how = test_convolution.operands_of(case, np.float32, layout)
            x, weight, bias = (guarded(each, at_end) for each in operands)
            forward = {**how, "transposed": False, "output_padding": (0,) * len(case[4])}
            y = test_convolution.run(test_convolution.make_convolution, test_convolution.convolution,
                                     [x, weight, bias], forward)
            dy = guarded(y, at_end)
            extra = tuple(test_convolution.left_over(case, y.shape[2:]))
            test_convolution.run(test_convolution.make_convolution, test_convolution.convolution, [dy, weight, None],
                                 {**how, "transposed": True, "output_padding": extra})
            test_convolution.run(test_convolution.make_weight, test_convolution.convolution_weight, [dy, x],
                                 {**how, "kernel": case[5]})
    for m, k, n in test_matmul.SIZES:
        for a_turned in (False, True):
            for b_turned in (False, True):
                a = test_matmul.matrices(random, 2, m, k, a_turned, np.float32)
                b = test_matmul.matrices(random, 2, k, n, b_turned, np.float32)
                plan = test_matmul.MatmulPlan((2, m, k, n), 4, test_matmul.steps(a), test_matmul.steps(b), (m * n, n))
                out, x = (guarded(np.zeros((2, m, n), np.float32), at_end) for _ in range(2))
                plan.run(out, guarded(a, at_end), guarded(b, at_end), x)
    for batch, heads, queries, keys, depth, width, causal, shape in test_attention.CASES:
        q = guarded(random.standard_normal((batch, heads, queries, depth)).astype(np.float32), at_end)
        k = guarded(random.standard_normal((batch, heads, keys, depth)).astype(np.float32), at_end)
        v = guarded(random.standard_normal((batch, heads, keys, width)).astype(np.float32), at_end)
        mask = [guarded(random.standard_normal(shape).astype(np.float32), at_end)] if shape else []
        how = {"scale": 0.5, "is_causal": causal}
        y, lse = test_attention.run(test_attention.make_forward, test_attention.attention, [q, k, v, *mask], **how)
        given = [guarded(y, at_end), q, k, v, guarded(y, at_end), guarded(lse, at_end), *mask]
        test_attention.run(test_attention.make_backward, test_attention.attention_gradients, given, **how)
print("within bounds")
"""


def test_kernels_stay_within_their_arrays() -> None:

    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, timeout=300)
    assert "within bounds" in found.stdout, f"exit {found.returncode}: {found.stderr[-2000:]}"


LOOPS = """
import importlib, random
import numpy as np
import pellucid
from pellucid.engine.core import data
from tests.backends import test_fuzz
from tests.backends.guarded import guarded

plain, plain_values, plain_empty = data.allocate, test_fuzz._values, np.empty
place = random.Random(0)
side = lambda: place.random() < 0.7
np.empty = lambda shape, dtype=float: guarded(plain_empty(shape, dtype), side())
for name in ("copies", "group_normalization", "normalization", "pointwise", "pooling", "reduction", "rules", "softmax",
             "tables"):
    module = importlib.import_module(f"pellucid.engine.backends.cpu.{name}")
    module.allocate = lambda meta: guarded(plain(meta), side())
make = pellucid.tensor
pellucid.tensor = lambda values: pellucid.from_numpy(guarded(values, side()))
for seed in range(700):
    test_fuzz._outcome(test_fuzz._program(random.Random(seed))[1])
F = pellucid.nn.functional
for size in (1, 7, 16, 33, 65):
    x = pellucid.tensor(np.random.default_rng(size).normal(size=(3, 4, 9, size)).astype(np.float32)).requires_grad_()
    index = pellucid.tensor(np.arange(size) % 4)
    for function in (
        lambda x: F.layer_norm(x, x.shape[-1:]), lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.group_norm(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 2, 1, 1),
        lambda x: F.embedding(index, x.flatten(1).t().contiguous()[:4]), lambda x: x.transpose(0, 3).contiguous(),
        lambda x: F.gelu(x) * x.sum(2, keepdim=True), lambda x: F.log_softmax(x, -1),
    ):
        try:
            function(x).sum().backward()
        except RuntimeError:  # a window that does not fit
            pass
print("within bounds")
"""


def test_loop_kernels_stay_within_their_arrays() -> None:
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", LOOPS], cwd=root, capture_output=True, text=True, timeout=300)
    assert "within bounds" in found.stdout, f"exit {found.returncode}: {found.stderr[-2000:]}"
