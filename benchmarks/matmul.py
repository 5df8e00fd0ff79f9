"""Products of matrices and linear layers against PyTorch, and as a share of the processor's multiply-add rate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.pairs import compare
from benchmarks.table import PAIRS, Table
from pellucid.engine.backends.cpu import jit
from pellucid.engine.backends.cpu.emit import F32, at, carrying, ir, splat, store_vector, vector
from pellucid.engine.backends.cpu.gemm import multiply_add, tile_of


def made(framework: ModuleType, *shape: int, seed: int = 0) -> Any:
    """The same normal numbers in either framework."""
    return framework.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def product(*sizes: int) -> tuple[Callable[[ModuleType], Callable[[], Any]], int]:
    """A product (…, m, k) @ (…, k, n), and how many multiply-adds it has."""
    *batch, m, k, n = sizes

    def make(framework: ModuleType) -> Callable[[], Any]:
        a, b = made(framework, *batch, m, k), made(framework, *batch, k, n, seed=1)
        return lambda: a @ b

    return make, int(np.prod(sizes))


def linear(m: int, k: int, n: int, backward: bool) -> tuple[Callable[[ModuleType], Callable[[], Any]], int]:
    """A linear layer with bias, with its gradients where wanted."""

    def make(framework: ModuleType) -> Callable[[], Any]:
        x, weight, bias = made(framework, m, k), made(framework, n, k, seed=1), made(framework, n, seed=2)
        function = framework.nn.functional.linear
        if not backward:
            return lambda: function(x, weight, bias)
        inputs = [each.requires_grad_() for each in (x, weight, bias)]
        dy = made(framework, m, n, seed=3)
        return lambda: framework.autograd.grad(function(*inputs), inputs, dy)[1]

    return make, m * k * n * (3 if backward else 1)


WORKS = [
    ("256³", *product(256, 256, 256)),
    ("1024³", *product(1024, 1024, 1024)),
    ("64 times 128³", *product(64, 128, 128, 128)),
    ("linear 512 x 2048 x 512", *linear(512, 2048, 512, False)),
    ("linear 512 x 2048 x 512, forward and backward", *linear(512, 2048, 512, True)),
    ("linear 64 x 784 x 128", *linear(64, 784, 128, False)),
]


def peak() -> float:
    """Multiply-adds a second of all threads on independent sums in registers: nothing is faster."""
    tile = tile_of(24, 1, 4)
    turns = 200_000

    def build(module: ir.Module, function: ir.Function) -> None:
        builder = ir.IRBuilder(function.append_basic_block())
        out = builder.bitcast(function.args[0], F32.as_pointer())
        factor = splat(builder, builder.load(out), tile.lanes)
        start = [ir.Constant(vector(F32, tile.lanes), [float(i)] * tile.lanes) for i in range(tile.rows)]
        with carrying(builder, 0, turns, start) as loop:
            loop.next = [multiply_add(builder, tile, factor, factor, value) for value in loop.values]
        for index, value in enumerate(loop.values):
            store_vector(builder, value, at(builder, out, 16 + index * tile.lanes))
        builder.ret_void()

    kernel = jit.Kernel("peak", (tile, turns), "pw", build)
    threads = pellucid.get_num_threads()
    work = jit.extents(threads, 1, release=True)
    out = np.full(16 + tile.rows * tile.lanes, 1e-9, np.float32)
    kernel(out, work)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        kernel(out, work)
        times.append(time.perf_counter() - start)
    return threads * turns * tile.rows * tile.lanes / min(times)


def run() -> Table:
    """Time the products."""
    threads = pellucid.get_num_threads()
    torch.set_num_threads(threads)
    most = peak()
    notes = (
        f"Median of 15 pairs; PyTorch {torch.__version__} eager, both with {threads} threads, float32. The last column "
        f"is Pellucid's share of {2 * most / 1e9:.0f} GFLOP/s, measured with sums in registers in the same run."
    )
    table = Table("matmul", [*PAIRS, "share of the peak"], notes)
    for name, make, count in WORKS:
        ours, theirs = make(pellucid), make(torch)
        expected = theirs().detach().numpy()
        if not np.allclose(ours().detach().numpy(), expected, rtol=0, atol=1e-4 * np.abs(expected).max()):
            raise AssertionError(f"{name}: the two frameworks computed different things")
        found = compare(ours, theirs)
        table.add(name, *found.cells(), f"{count / statistics.median(found.ours) / most:.0%}")
    return table
