"""backward and grad: arguments, accumulation, layout of gradients, errors; programs that both frameworks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PROGRAMS: list[Callable[[Any], Any]] = []


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(function)
    return function


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


@program
def basic(lib: Any) -> Any:
    x = leaf(lib)
    y = x * x
    y.sum().backward()
    g1 = x.grad
    (x * 2).sum().backward()
    return (x.grad, g1 is x.grad, g1)


@program
def gradient_arg(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.backward(lib.ones(3))
    return (
        x.grad,
        attempt(lambda: (x * 2).backward()),
        attempt(lambda: (x * 2).backward(lib.ones(2))),
        attempt(lambda: (x * 2).backward([lib.ones(3)])),
    )


@program
def second_backward(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * x).sum()
    y.backward()
    return (attempt(lambda: y.backward()), x.grad)


@program
def second_backward_add(lib: Any) -> Any:
    x = leaf(lib)
    y = (x + 1).sum()
    y.backward()
    return (attempt(lambda: y.backward()), x.grad)


@program
def create(lib: Any) -> Any:
    x = leaf(lib)
    y = (x**3).sum()
    y.backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return (g.detach(), x.grad)


@program
def create_accum(lib: Any) -> Any:
    x = leaf(lib)
    (x**3).sum().backward(create_graph=True)
    (x**2).sum().backward(create_graph=True)
    return x.grad


@program
def inputs(lib: Any) -> Any:
    x = leaf(lib)
    w = leaf(lib, 4.0, 5.0, 6.0)
    y = (x * w).sum()
    y.backward(inputs=[x])
    return (x.grad, w.grad)


@program
def inputs_unused(lib: Any) -> Any:
    x = leaf(lib)
    w = leaf(lib)
    (x * x).sum().backward(inputs=[x, w])
    return (x.grad, w.grad)


@program
def inputs_empty(lib: Any) -> Any:
    x = leaf(lib)
    return attempt(lambda: (x * x).sum().backward(inputs=[]))


@program
def inputs_norg(lib: Any) -> Any:
    x = leaf(lib)
    return attempt(lambda: (x * x).sum().backward(inputs=[lib.ones(3)]))


@program
def grad_unused(lib: Any) -> Any:
    x = leaf(lib)
    w = leaf(lib)
    y = (x * x).sum()
    return (
        attempt(lambda: lib.autograd.grad(y, [x, w], retain_graph=True)),
        lib.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True),
        lib.autograd.grad(y, [x, w], materialize_grads=True, retain_graph=True),
        attempt(lambda: lib.autograd.grad(y, [x, w], materialize_grads=True, allow_unused=False)),
    )


@program
def grad_same(lib: Any) -> Any:
    x = leaf(lib)
    y = x.sum()
    return (lib.autograd.grad(y, y), lib.autograd.grad(y, [x, y], retain_graph=True))


@program
def grad_dup(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * x).sum()
    return lib.autograd.grad(y, [x, x])


@program
def grad_outputs(lib: Any) -> Any:
    x = leaf(lib)
    y = x * x
    z = x * 3
    return (
        lib.autograd.grad([y, z], x, [lib.ones(3), lib.ones(3)], retain_graph=True),
        attempt(lambda: lib.autograd.grad([y, z], x, [lib.ones(3)])),
        attempt(lambda: lib.autograd.grad(y, x)),
        lib.autograd.grad([y.sum(), z], x, [None, lib.ones(3)]),
    )


@program
def grad_nograd_out(lib: Any) -> Any:
    return (
        attempt(lambda: lib.autograd.grad(lib.ones(1), leaf(lib))),
        attempt(lambda: lib.ones(1).backward()),
        attempt(lambda: lib.autograd.grad(leaf(lib).sum(), lib.ones(3))),
        attempt(lambda: lib.autograd.grad(leaf(lib).sum(), [])),
    )


@program
def alias(lib: Any) -> Any:
    x = leaf(lib)
    g = lib.ones(3)
    (x * 1.0).backward(g)
    return (x.grad is g, x.grad.data_ptr() == g.data_ptr())


@program
def alias2(lib: Any) -> Any:
    x = leaf(lib)
    g = lib.ones(3)
    x.backward(g)
    r = (x.grad.data_ptr() == g.data_ptr(), x.grad)
    g.fill_(7)
    return (r, x.grad)


@program
def alias3(lib: Any) -> Any:
    x = leaf(lib)
    w = leaf(lib)
    g = lib.ones(3)
    (x + w).backward(g)
    return (x.grad.data_ptr() == w.grad.data_ptr(), x.grad.data_ptr() == g.data_ptr())


@program
def layout(lib: Any) -> Any:
    x = lib.ones(2, 3).t().requires_grad_()
    (x * lib.ones(3, 2)).sum().backward()
    a = x.grad
    y = lib.ones(2, 3, requires_grad=True)
    (y.t() * lib.ones(3, 2)).sum().backward()
    return (a, y.grad)


@program
def layout_expand(lib: Any) -> Any:
    y = lib.ones(2, 3, requires_grad=True)
    y.sum().backward()
    z = lib.ones(2, 3).expand(4, 2, 3).requires_grad_()
    z.sum().backward()
    q = lib.ones(4, 4)[:, ::2].requires_grad_()
    (q * 2).sum().backward()
    return (y.grad, z.grad, q.grad, y.grad.stride())


@program
def accum_inplace(lib: Any) -> Any:
    x = leaf(lib)
    (x * 2).sum().backward()
    g = x.grad
    p = g.data_ptr()
    (x * 2).sum().backward()
    return (g is x.grad, p == x.grad.data_ptr(), g)


@program
def double(lib: Any) -> Any:
    x = lib.tensor(2.0, requires_grad=True)
    y = x**4
    (g,) = lib.autograd.grad(y, x, create_graph=True)
    (g2,) = lib.autograd.grad(g, x, create_graph=True)
    (g3,) = lib.autograd.grad(g2, x, create_graph=True)
    (g4,) = lib.autograd.grad(g3, x)
    return [each.detach() for each in (g, g2, g3, g4)]


@program
def complex(lib: Any) -> Any:
    x = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = (x * x.conj()).real.sum()
    y.backward()
    r = x.grad
    return (r, attempt(lambda: (x * x).sum().backward()), attempt(lambda: (x * 1).backward(lib.ones(2))))


@program
def complex_real_mix(lib: Any) -> Any:
    x = leaf(lib)
    y = x * (1 + 2j)
    y.backward(lib.tensor([1j, 1j, 1j]))
    return x.grad


@program
def no_grad_backward(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * x).sum()
    with lib.no_grad():
        y.backward()
    return x.grad


@program
def dtype_mixed(lib: Any) -> Any:
    x = leaf(lib)
    y = x.double() * x
    y.sum().backward()
    z = leaf(lib)
    (z.half().float() * z).sum().backward()
    return (x.grad, z.grad)


@program
def multi_root(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    z = y * y
    lib.autograd.backward([z.sum(), y.sum()])
    return x.grad


@program
def root_is_ancestor(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    z = (y * y).sum()
    lib.autograd.backward([y, z], [lib.ones(3), None])
    return x.grad


@program
def threads(lib: Any) -> Any:
    import threading

    x = leaf(lib)
    rs = []

    def w():
        rs.append(lib.is_grad_enabled())
        for _ in range(20):
            (x * 2).sum().backward()

    with lib.no_grad():
        ths = [threading.Thread(target=w) for _ in range(3)]
        [a.start() for a in ths]
        [a.join() for a in ths]
    return rs


@program
def anomaly(lib: Any) -> Any:
    x = lib.tensor(-1.0, requires_grad=True)
    with lib.autograd.detect_anomaly():
        return attempt(lambda: (x.sqrt() * 1).backward())


@program
def gradedge(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    e = lib.autograd.graph.get_gradient_edge(y)
    return (e.output_nr, e.node.name(), lib.autograd.grad(y.sum(), lib.autograd.graph.get_gradient_edge(x)))


@program
def backward_kw(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 2).sum()
    y.backward(None, True)
    y.backward(gradient=lib.tensor(2.0))
    return x.grad


@program
def gradient_broadcast(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 2).sum()
    return attempt(lambda: y.backward(lib.ones(1)))


@program
def gradient_dtype(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.backward(lib.ones(3, dtype=lib.float64))
    return x.grad


@program
def gradient_rg(lib: Any) -> Any:
    x = leaf(lib)
    w = leaf(lib)
    y = x * 2
    y.backward(w, create_graph=True)
    return (x.grad.detach(), x.grad.requires_grad)


@program
def gradient_int(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.backward(lib.ones(3, dtype=lib.int64))
    return x.grad


@program
def edge_in(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    z = (y * y).sum()
    E = lib.autograd.graph.get_gradient_edge
    return (
        lib.autograd.grad(E(z), [E(y), E(x)], retain_graph=True),
        lib.autograd.grad([E(z)], E(y), grad_outputs=lib.tensor(2.0), retain_graph=True),
        attempt(lambda: lib.autograd.grad(E(z), x, retain_graph=True)),
        attempt(lambda: lib.autograd.grad(E(y), x)),
    )


@program
def edge_backward(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 2).sum()
    E = lib.autograd.graph.get_gradient_edge
    lib.autograd.backward(E(y))
    a = x.grad
    return (a, attempt(lambda: lib.autograd.backward((x * 2).sum(), inputs=[E(x)])), x.grad)


@program
def inputs_create(lib: Any) -> Any:
    x = leaf(lib)
    y = (x**3).sum()
    y.backward(inputs=[x], create_graph=True)
    y.backward(inputs=[x], create_graph=True)
    return (x.grad.tolist(), x.grad.requires_grad)


@program
def inputs_same_obj(lib: Any) -> Any:
    x = leaf(lib)
    (x * 2).sum().backward(inputs=[x])
    g = x.grad
    (x * 2).sum().backward(inputs=[x])
    return (g is x.grad, g)


@program
def inputs_dup(lib: Any) -> Any:
    x = leaf(lib)
    return (attempt(lambda: (x * 2).sum().backward(inputs=[x, x])), x.grad)


@program
def saved_after(lib: Any) -> Any:
    x = leaf(lib)
    y = x * x
    y.sum().backward()
    return attempt(lambda: lib.autograd.grad(y.sum(), x))


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
