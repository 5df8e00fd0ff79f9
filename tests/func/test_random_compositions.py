"""Random functions under random transforms, in PyTorch and here: whatever nests must give the same numbers."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pellucid

torch: Any = pytest.importorskip("torch")

SCALE = float(os.environ.get("PELLUCID_FUZZ_SCALE", "1"))
Step = Callable[[ModuleType, Any, Any, Any, float], Any]


def written(t: ModuleType, y: Any, x: Any, w: Any, k: float) -> Any:
    z = y.clone()
    z[0] = z[1] * x[2]
    z[1:].mul_(x[:-1])
    return z


def filled(t: ModuleType, y: Any, x: Any, w: Any, k: float) -> Any:
    z = t.zeros_like(y)
    z.copy_(y)
    z.view(1, 3)[:, 1:].add_(x[1:], alpha=k)
    return z.sub_(k)


STEPS: list[Step] = [
    written,
    filled,
    lambda t, y, x, w, k: y.sin() * x,
    lambda t, y, x, w, k: w @ y,
    lambda t, y, x, w, k: t.tanh(y) + k,
    lambda t, y, x, w, k: y.softmax(0) * y.sum(),
    lambda t, y, x, w, k: t.cat([y[1:], y[:1]]) + t.nn.functional.pad(y[:2], (1, 0)),
    lambda t, y, x, w, k: (y - y.mean()) / (y.var(unbiased=False) + k).sqrt() * w[0],
    lambda t, y, x, w, k: t.outer(y, x).sum(1),
    lambda t, y, x, w, k: y.cumsum(0).flip(0),
    lambda t, y, x, w, k: t.stack([y, x]).prod(0),
    lambda t, y, x, w, k: t.nn.functional.conv1d(y.view(1, 1, 3), w[:1].view(1, 1, 3), padding=1).view(3),
    lambda t, y, x, w, k: t.where(x > 0, y, y * k),
    lambda t, y, x, w, k: y.sort().values * y.max(),
    lambda t, y, x, w, k: t.einsum("ij,j,i->i", w, y, x),
    lambda t, y, x, w, k: y / (1 + y * y),
    lambda t, y, x, w, k: t.nn.functional.gelu(y),
    lambda t, y, x, w, k: t.linalg.inv(w @ w.mT + 5 * t.eye(3, dtype=w.dtype) + t.diag(y * y)) @ x,
    lambda t, y, x, w, k: y[t.tensor([2, 0, 1])] * y.norm(),
    lambda t, y, x, w, k: t.logsumexp(t.stack([y, x]), 0),
    lambda t, y, x, w, k: y.masked_fill(x > 0.5, k) + y.index_select(0, t.tensor([0, 0, 2])),
    lambda t, y, x, w, k: y.scatter_add(0, t.tensor([0, 0, 1]), x * y),
    lambda t, y, x, w, k: t.nn.functional.mse_loss(y, x) * y,
    lambda t, y, x, w, k: y.index_put((t.tensor([1, 2]),), x[:2] * y[1:], accumulate=True),
    lambda t, y, x, w, k: t.bmm(w.expand(2, 3, 3), t.stack([y, x]).unsqueeze(2)).sum(0).view(3),
]


def transformed(t: ModuleType, name: str, g: Any) -> Any:
    f = t.func
    return {
        "grad": lambda x, w: f.grad(lambda x, w: (g(x, w) ** 2).sum())(x, w),
        "grad of w": lambda x, w: f.grad(lambda x, w: (g(x, w) ** 2).sum(), argnums=1)(x, w),
        "jacrev": lambda x, w: f.jacrev(g)(x, w),
        "jacfwd": lambda x, w: f.jacfwd(g)(x, w),
        "hessian": lambda x, w: f.hessian(lambda x, w: g(x, w).sum())(x, w),
        "jvp": lambda x, w: f.jvp(lambda x: g(x, w), (x,), (t.ones_like(x) * 0.5,))[1],
        "vjp": lambda x, w: f.vjp(lambda x: g(x, w).sum(), x)[1](t.tensor(2.0, dtype=x.dtype))[0],
        "vmap": lambda x, w: t.vmap(g, in_dims=(0, None), out_dims=-1)(t.stack([x, x * 1.5]), w),
        "vmap of w": lambda x, w: t.vmap(g, in_dims=(None, 2))(x, t.stack([w, w * 0.5, w.mT], 2)),
    }[name]


NAMES = ("grad", "grad of w", "jacrev", "jacfwd", "hessian", "jvp", "vjp", "vmap", "vmap", "vmap of w")


def result(t: ModuleType, steps: list[tuple[Step, float]], names: list[str], x: np.ndarray, w: np.ndarray) -> Any:
    def function(x: Any, w: Any) -> Any:
        y = x
        for step, k in steps:
            y = step(t, y, x, w, k)
        return y

    for name in names:
        function = transformed(t, name, function)
    return np.asarray(function(t.from_numpy(x.copy()), t.from_numpy(w.copy())).detach().numpy())


@pytest.mark.parametrize("seed", range(round(90 * SCALE)))
def test_compositions_give_what_pytorch_gives(seed: int) -> None:
    chance = random.Random(seed)
    steps = [(chance.choice(STEPS), chance.random() + 0.1) for _ in range(chance.randrange(2, 6))]
    names = [chance.choice(NAMES) for _ in range(chance.randrange(1, 4))]
    numbers = np.random.default_rng(seed)
    x, w = numbers.standard_normal(3), numbers.standard_normal((3, 3))
    try:
        theirs = result(torch, steps, names, x, w)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch: {str(error)[:80]}")
    ours = result(pellucid, steps, names, x, w)
    assert ours.shape == theirs.shape, names
    finite = np.isfinite(theirs)  # at a pole (a norm of 0) PyTorch gives NaN, as docs/differences.md says
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=1e-6, atol=1e-8, err_msg=str(names))
