"""What long graphs cost: no recursion, everything let go of, no reference cycles, no growth while training."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import pellucid

LENGTH = 100_000


def chain(step: Callable[[Any], Any], length: int = LENGTH) -> Any:
    y = pellucid.ones(4, requires_grad=True) * 1
    for _ in range(length):
        y = step(y)
    return y


def test_a_long_chain_runs_backwards_and_is_released() -> None:
    x = pellucid.ones(4, requires_grad=True)
    y = x
    for _ in range(LENGTH):
        y = y + 1
    node, tensor = weakref.ref(y.grad_fn), weakref.ref(y)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4
    del y
    assert node() is None and tensor() is None


@pytest.mark.parametrize("step", [lambda y: y * 1.0, lambda y: y.exp().clamp(0, 1), lambda y: y.mul_(1.0)])
def test_a_long_chain_is_released_without_a_backward(step: Callable[[Any], Any]) -> None:
    y = chain(step, LENGTH // 4)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_long_chains_of_views_and_of_writes() -> None:
    assert chain(lambda y: y.view(4), 20_000).sum().item() == 4

    def write(y: Any) -> Any:
        y[0] = 2.0
        return y

    y = chain(write, 20_000)
    y.sum().backward()
    assert y.tolist() == [2.0, 1.0, 1.0, 1.0]


def set_item(a: Any) -> Any:
    b = a * 1
    b[0] = a[1]
    return b


def write_through_view(a: Any) -> Any:
    b = a * 1
    b.view(16).mul_(2)
    return b


def with_hook(a: Any) -> Any:
    b = a * 1
    b.register_hook(lambda gradient: gradient * 2)
    b.retain_grad()
    return b * 2


STEPS = {
    "mul": lambda a: a * a,
    "exp": lambda a: a.exp(),
    "sqrt": lambda a: a.sqrt(),
    "sigmoid_": lambda a: (a * 1).sigmoid_(),
    "matmul": lambda a: a @ a,
    "view": lambda a: a.view(16),
    "index": lambda a: a[0],
    "set_item": set_item,
    "write_through_view": write_through_view,
    "with_hook": with_hook,
    "softmax": lambda a: a.softmax(0),
    "max": lambda a: a.max(0)[0],
    "cat": lambda a: pellucid.cat([a, a]),
    "chunk": lambda a: a.chunk(2)[0],
    "layer_norm": lambda a: pellucid.nn.functional.layer_norm(a, (4,)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("backwards", [True, False])
def test_operators_leave_no_reference_cycles(name: str, backwards: bool) -> None:
    def run() -> None:
        y = STEPS[name](pellucid.ones(4, 4, requires_grad=True))
        if backwards:
            y.sum().backward()

    run()  # what is made once (plans, node classes) is made here
    gc.collect()
    gc.disable()
    try:
        run()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_training_does_not_grow() -> None:
    model = pellucid.nn.Sequential(pellucid.nn.Linear(8, 16), pellucid.nn.ReLU(), pellucid.nn.Linear(16, 1))
    optimizer = pellucid.optim.Adam(model.parameters())

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            ((model(pellucid.randn(32, 8)) - 1) ** 2).mean().backward()
            optimizer.step()

    train(50)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        train(300)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000  # one kept tensor a step would be 100,000
    finally:
        tracemalloc.stop()
