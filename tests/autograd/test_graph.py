"""Hooks on saved tensors and on several gradients, and the views of the graph, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
LIBRARIES = [pellucid, torch]


def leaf(library: Any, *values: float) -> Any:
    return library.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def array(tensor: Any) -> list[Any]:
    return np.asarray(tensor.detach()).tolist()


def nested_hooks(lib: Any) -> Any:
    packed: list[str] = []

    def note(name: str, value: Any) -> Any:
        packed.append(name)
        return value

    hooks = lib.autograd.graph.saved_tensors_hooks
    x = leaf(lib)
    with hooks(lambda t: note("outer", t), lambda t: t):
        y = x * x
        with hooks(lambda t: note("inner", t * 2), lambda t: note("unpack", t / 2)):
            z = y * y
    z.sum().backward()
    return packed.count("outer"), packed.count("inner"), packed.count("unpack"), array(x.grad)


def test_saved_tensors_pass_through_the_innermost_hooks() -> None:
    assert nested_hooks(pellucid) == nested_hooks(torch)


def test_second_gradients_pass_through_hooks() -> None:
    for lib in LIBRARIES:
        x = leaf(lib)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            y = (x * x * x).sum()
        (first,) = lib.autograd.grad(y, x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        assert array(first) == [3.0, 12.0]
        assert array(second) == [6.0, 12.0]


def test_what_hooks_return_is_checked() -> None:
    for lib in LIBRARIES:
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
            y = leaf(lib) * leaf(lib)
        with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
            y.sum().backward()
        with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
            with lib.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
                (leaf(lib) * 1) * (leaf(lib) * 1)


def test_hooks_can_be_forbidden() -> None:
    for lib in LIBRARIES:
        with lib.autograd.graph.disable_saved_tensors_hooks("not here"):
            x = leaf(lib)
            (x * x).sum().backward()
            with pytest.raises(RuntimeError, match="not here"), lib.autograd.graph.saved_tensors_hooks(id, id):
                pass
        with lib.autograd.graph.save_on_cpu():
            y = (x * x).sum()
        y.backward()
        assert array(x.grad) == [4.0, 8.0]


def test_saved_tensors_may_be_mutated_on_request() -> None:
    for lib in LIBRARIES:
        x = leaf(lib)
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            y = x.clone()
            z = (y * y).sum()
            y.zero_()
            z.backward()
            with pytest.raises(RuntimeError, match="cannot be nested"):
                with lib.autograd.graph.allow_mutation_on_saved_tensors():
                    pass
        assert array(x.grad) == [2.0, 4.0]


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hook(mode: str) -> None:
    logs = []
    for lib in LIBRARIES:
        log: list[Any] = []

        def note(found: Any, log: list[Any] = log) -> None:
            log.append([each is not None for each in found] if isinstance(found, (list, tuple)) else array(found))

        a, b = leaf(lib), leaf(lib)
        c, d = a * b, a * b
        handle = lib.autograd.graph.register_multi_grad_hook((a, b, c, d), note, mode=mode)
        c.sum().backward(retain_graph=True)
        c.sum().backward(inputs=(a,), retain_graph=True)
        (c + d).sum().backward(retain_graph=True)
        if mode == "any":  # PyTorch cannot tell what grad() will compute for leaves
            lib.autograd.grad(d.sum(), a, retain_graph=True)
        handle.remove()
        c.sum().backward()
        logs.append(log)
    assert logs[0] == logs[1]
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        pellucid.autograd.graph.register_multi_grad_hook((leaf(pellucid),), print, mode="some")


def test_multi_grad_hook_comes_as_soon_as_the_last_gradient() -> None:
    for lib in LIBRARIES:
        order: list[str] = []
        x = leaf(lib)
        x.register_hook(lambda g, order=order: order.append("x"))
        y = x * 2
        z = y * 3
        lib.autograd.graph.register_multi_grad_hook((y, z), lambda grads, order=order: order.append("both"))
        z.sum().backward()
        assert order == ["both", "x"]


def test_gradient_edges_and_nodes() -> None:
    for lib in LIBRARIES:
        x = leaf(lib)
        y = x * 2
        edge = lib.autograd.graph.get_gradient_edge(y)
        assert edge.node is y.grad_fn and edge.output_nr == 0
        assert isinstance(y.grad_fn, lib.autograd.graph.Node)
        assert type(lib.autograd.graph.get_gradient_edge(x).node).__name__ == "AccumulateGrad"
        with pytest.raises(RuntimeError, match="gradient edge"):
            lib.autograd.graph.get_gradient_edge(lib.ones(1))


def test_a_counted_write_is_found() -> None:
    for lib in LIBRARIES:
        x = leaf(lib) * 1
        y = x * x
        lib.autograd.graph.increment_version(x)
        assert x._version == 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_variable_is_every_tensor() -> None:
    for lib in LIBRARIES:
        x = lib.ones(2)
        assert isinstance(x, lib.autograd.Variable)
        y = lib.autograd.Variable(x, requires_grad=True)
        assert y.requires_grad and y.data_ptr() == x.data_ptr()
        ended: list[str] = []
        z = y * 2
        z.register_hook(
            lambda g, lib=lib, ended=ended: lib.autograd.Variable._execution_engine.queue_callback(
                lambda: ended.append("end")
            )
        )
        z.sum().backward()
        assert ended == ["end"]
