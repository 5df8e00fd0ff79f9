"""Hooks on tensors and nodes, and the names and edges of the graph; each a program that both frameworks run."""

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
def hook_order(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    log = []
    y.register_hook(lambda g: (log.append("a"), g * 2)[1])
    y.register_hook(lambda g: log.append(("b", g.tolist())))
    y.retain_grad()
    y.register_hook(lambda g: (log.append("c"), g * 10)[1])
    x.register_hook(lambda g: log.append(("x", g.tolist())))
    y.sum().backward()
    return (log, y.grad, x.grad)


@program
def hook_remove(lib: Any) -> Any:
    x = leaf(lib)
    h = x.register_hook(lambda g: g * 2)
    (x * 1).sum().backward()
    h.remove()
    h.remove()
    (x * 1).sum().backward()
    return x.grad


@program
def hook_remove_inside(lib: Any) -> Any:
    x = leaf(lib)
    log = []

    def hook(g):
        log.append(1)
        h.remove()

    h = x.register_hook(hook)
    (x * 1).sum().backward()
    (x * 1).sum().backward()
    return log


@program
def hook_with(lib: Any) -> Any:
    x = leaf(lib)
    with x.register_hook(lambda g: g * 2):
        (x * 1).sum().backward()
    (x * 1).sum().backward()
    return x.grad


@program
def hook_bad(lib: Any) -> Any:
    x = leaf(lib)
    x.register_hook(lambda g: 3)
    r = attempt(lambda: (x * 1).sum().backward())
    y = leaf(lib)
    y.register_hook(lambda g: lib.ones(2))
    r2 = attempt(lambda: (y * 1).sum().backward())
    z = leaf(lib)
    z.register_hook(lambda g: g.double())
    r3 = attempt(lambda: (z * 1).sum().backward())
    return (r, r2, r3, z.grad, attempt(lambda: lib.ones(1).register_hook(lambda g: g)))


@program
def hook_raise(lib: Any) -> Any:
    x = leaf(lib)

    def h(g):
        raise KeyError("boo")

    hd = x.register_hook(h)
    y = (x * x).sum()
    r = attempt(lambda: y.backward(retain_graph=True))
    hd.remove()
    y.backward()
    return (r, x.grad, lib.is_grad_enabled())


@program
def hook_inputs(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    log = []
    y.register_hook(lambda g: log.append("y"))
    x.register_hook(lambda g: (log.append("x"), g * 5)[1])
    r = lib.autograd.grad(y.sum(), x)
    return (r, log)


@program
def hook_inputs_mid(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    log = []
    y.register_hook(lambda g: (log.append("y"), g * 3)[1])
    r = lib.autograd.grad((y * y).sum(), y)
    return (r, log)


@program
def node_hooks(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    log = []
    y.grad_fn.register_hook(lambda gi, go: log.append((len(gi), len(go), [g is None for g in gi])))
    y.grad_fn.register_prehook(lambda go: (log.append(("pre", len(go))), (go[0] * 2,))[1])
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10,) + tuple(gi[1:]))
    y.sum().backward()
    return (log, x.grad)


@program
def node_hook_bad(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[0], gi[0]))
    return attempt(lambda: y.sum().backward())


@program
def node_prehook_bad(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.grad_fn.register_prehook(lambda go: (go[0], go[0]))
    return attempt(lambda: y.sum().backward())


@program
def post_acc(lib: Any) -> Any:
    x = leaf(lib)
    log = []
    h = x.register_post_accumulate_grad_hook(lambda p: log.append((p is x, p.grad.tolist())))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    h.remove()
    (x * 2).sum().backward()
    y = x * 2
    return (
        log,
        attempt(lambda: y.register_post_accumulate_grad_hook(lambda p: 0)),
        attempt(lambda: lib.ones(1).register_post_accumulate_grad_hook(lambda p: 0)),
    )


@program
def post_acc_none(lib: Any) -> Any:
    x = leaf(lib)

    def h(p):
        p.grad = None

    x.register_post_accumulate_grad_hook(h)
    (x * 2).sum().backward()
    return x.grad


@program
def next(lib: Any) -> Any:
    x = leaf(lib)
    w = lib.ones(3)
    y = (x * w).sum()
    f = y.grad_fn
    n = f.next_functions
    m = n[0][0]
    return (
        f.name(),
        len(n),
        n[0][1],
        m.name(),
        len(m.next_functions),
        m.next_functions[0][0].name(),
        m.next_functions[1],
        m.next_functions[0][0].variable is x,
        type(m.next_functions).__name__,
    )


@program
def next_two(lib: Any) -> Any:
    a, b = (leaf(lib), leaf(lib))
    y = a / b
    z = lib.cat([a, b, lib.ones(3)])
    u = lib.stack([a, b])
    w = lib.where(lib.tensor([True, False, True]), a, b)

    def names(f):
        return [(n.name() if n else None, i) for n, i in f.next_functions]

    return [
        names(q.grad_fn)
        for q in (
            y,
            z,
            u,
            w,
            a + 1,
            1 - a,
            a @ b,
            lib.ones(3) * b,
            a.sum(),
            a.view(3, 1),
            a[1:],
            a.max(),
            a.pow(2),
            a**b,
        )
    ]


@program
def chunk_next(lib: Any) -> Any:
    a = leaf(lib)
    p, q, r = (a * 2).chunk(3)
    return (p.grad_fn.name(), q.output_nr, p.grad_fn is q.grad_fn, (q * 1).grad_fn.next_functions[0][1])


@program
def accgrad(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    acc = y.grad_fn.next_functions[0][0]
    log = []
    acc.register_hook(lambda gi, go: log.append((len(gi), len(go), x.grad.tolist())))
    acc.register_prehook(lambda go: log.append(("pre", go[0].tolist(), x.grad)))
    y.sum().backward()
    return (log, acc.variable is x, acc.name(), acc.next_functions)


@program
def inside(lib: Any) -> Any:
    x = leaf(lib)
    log = []

    def h(g):
        with lib.enable_grad():
            z = leaf(lib)
            (z * z * g.sum()).sum().backward()
            log.append(z.grad.tolist())

    y = x * 2
    y.register_hook(h)
    y.sum().backward()
    return (log, x.grad)


@program
def inside_same_leaf(lib: Any) -> Any:
    x = leaf(lib)

    def h(g):
        with lib.enable_grad():
            (x * 3).sum().backward()

    y = x * 2
    y.register_hook(h)
    y.sum().backward()
    return x.grad


@program
def hook_inplace(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    log = []
    y.register_hook(lambda g: log.append(("1", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: log.append(("2", g.tolist())))
    y.sum().backward()
    return (log, x.grad)


@program
def inputs_hooks(lib: Any) -> Any:
    x = leaf(lib)
    log = []
    x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
    x.register_hook(lambda g: log.append("h"))
    (x * 2).sum().backward(inputs=[x])
    (x * 2).sum().backward(inputs=[x])
    g = x.grad
    return (log, g)


@program
def operators_with_numbers(lib: Any) -> Any:
    x = leaf(lib)

    def n(f):
        return (f.name(), [(q.name() if q else None, i) for q, i in f.next_functions])

    return [
        n(q.grad_fn)
        for q in (
            2 * x,
            x * 2,
            2 + x,
            x - 2,
            2 - x,
            x / 2,
            2**x,
            x % 2,
            -x,
            lib.add(x, 2),
            lib.mul(x, 2.0),
            x.add(1, alpha=2),
            x.clone().add_(2),
            x.clone().mul_(2),
            lib.lerp(x, x, 0.5),
            x.clamp(0),
            lib.maximum(x, x),
            x.fmod(2),
            x.fmod(lib.ones(3)),
            x % lib.ones(3),
            lib.addcmul(x, x, x),
            x.to(lib.float64),
            x.masked_fill(lib.tensor([True, False, True]), 0.0),
            x.gather(0, lib.tensor([0])),
            x[lib.tensor([0, 1])],
            x.index_select(0, lib.tensor([0])),
            x + lib.ones(3, dtype=lib.int64),
        )
    ]


@program
def inplace_names(lib: Any) -> Any:
    x = leaf(lib)

    def n(f):
        y = x.clone()
        f(y)
        return (y.grad_fn.name(), [(q.name() if q else None, i) for q, i in y.grad_fn.next_functions])

    o = lib.ones(3, requires_grad=True)
    return [
        n(f)
        for f in (
            lambda y: y.add_(o),
            lambda y: y.mul_(2),
            lambda y: y.copy_(o),
            lambda y: y.fill_(2),
            lambda y: y.zero_(),
            lambda y: y.exp_(),
            lambda y: y.masked_fill_(lib.tensor([True, False, True]), 0.0),
            lambda y: y.__setitem__(0, 1.0),
            lambda y: y[1:].mul_(2),
            lambda y: y.__setitem__(slice(0, 2), o[1:]),
            lambda y: y.view(3, 1).add_(1),
            lambda y: y.unsqueeze_(0),
            lambda y: y.clamp_(0, 1),
            lambda y: y.__setitem__(lib.tensor([0, 1]), o[:2]),
            lambda y: y.__setitem__(lib.tensor([True, False, True]), 2.0),
            lambda y: y.sub_(o),
            lambda y: y.div_(o),
            lambda y: y.pow_(2),
            lambda y: y.neg_(),
            lambda y: y.detach().add_(1),
            lambda y: y.normal_(),
            lambda y: y.uniform_(),
            lambda y: y.squeeze_(),
            lambda y: y.t_(),
            lambda y: y.addcmul_(o, o),
            lambda y: y.lerp_(o, 0.3),
            lambda y: y.index_add_(0, lib.tensor([0]), o[:1]),
        )
    ]


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
