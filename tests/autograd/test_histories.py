"""Histories of views and writes, the order of a pass, custom Functions; programs that both frameworks run."""

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
def base_inplace_double(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    v = a[1:]
    a.mul_(x)
    z = (v**3).sum()
    (g,) = lib.autograd.grad(z, x, create_graph=True)
    (g2,) = lib.autograd.grad(g.sum(), x)
    return (g.detach(), g2)


@program
def copyslices_double(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    a[1:] = a[1:] * x[1:]
    (g,) = lib.autograd.grad((a**2).sum(), x, create_graph=True)
    (g2,) = lib.autograd.grad(g.sum(), x)
    return (g.detach(), g2)


@program
def view_hooks(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    v = a[1:]
    log = []
    v.register_hook(lambda g: log.append(("v", g.tolist())))
    a.register_hook(lambda g: log.append(("a", g.tolist())))
    v.mul_(2)
    (v * 3).sum().backward()
    return (log, x.grad)


@program
def view_hooks2(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    v = a[1:]
    v.mul_(2)
    log = []
    v.register_hook(lambda g: log.append(("v", g.tolist())))
    a.sum().backward()
    return (log, x.grad)


@program
def retain_view(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    v = a[1:]
    v.retain_grad()
    a.retain_grad()
    v.mul_(2)
    (a.sum() + v.sum()).backward()
    return (a.grad, v.grad, x.grad)


@program
def unbind_hooks(lib: Any) -> Any:
    x = leaf(lib)
    p, q, r = (x * 1).unbind()
    log = []
    p.register_hook(lambda g: log.append(("p", g.item())))
    r.register_hook(lambda g: (log.append(("r", g.item())), g * 10)[1])
    (p + r * 2).backward()
    return (log, x.grad)


@program
def unused_outputs(lib: Any) -> Any:
    x = leaf(lib)
    p, q, r = (x * 1).unbind()
    (p * 3).backward()
    return x.grad


@program
def prehook_none(lib: Any) -> Any:
    x = leaf(lib)
    p, q, r = (x * 1).unbind()
    log = []
    p.grad_fn.register_prehook(lambda gs: log.append([g is None for g in gs]))
    (p * 3).backward()
    return (log, x.grad)


@program
def grad_noncontig(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    x.grad = lib.ones(3, 2).t()
    (x * 2).sum().backward()
    return x.grad


@program
def grad_expanded(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    x.grad = lib.ones(1, 3).expand(2, 3)
    return (attempt(lambda: (x * 2).sum().backward()), x.grad)


@program
def grad_preset_alias(lib: Any) -> Any:
    x = leaf(lib)
    g = lib.zeros(3)
    x.grad = g
    (x * 2).sum().backward()
    return (x.grad is g, g)


@program
def channels_last_param(lib: Any) -> Any:
    w = lib.ones(2, 3, 2, 2).to(memory_format=lib.channels_last).requires_grad_()
    (w * lib.ones(2, 3, 2, 2)).sum().backward()
    return w.grad


@program
def half_param(lib: Any) -> Any:
    w = lib.ones(3, dtype=lib.float16, requires_grad=True)
    (w.float() * 2).sum().backward()
    return w.grad


@program
def hook_then_inplace_leaf(lib: Any) -> Any:
    x = leaf(lib)
    x.register_hook(lambda g: g * 2)
    with lib.no_grad():
        x.mul_(2)
    (x * x).sum().backward()
    return (x.grad, x._version)


@program
def leaf_becomes_nonleaf(lib: Any) -> Any:
    x = lib.zeros(3)
    y = leaf(lib)
    x.add_(y)
    log = []
    x.register_hook(lambda g: log.append(g.tolist()))
    x.sum().backward()
    return (log, x.is_leaf, y.grad)


@program
def norg_later(lib: Any) -> Any:
    x = lib.zeros(3)
    y = x * 2
    x.requires_grad_()
    return (y.requires_grad, attempt(lambda: y.sum().backward()))


@program
def rg_off(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    return (x.grad, y.requires_grad)


@program
def set_data_between(lib: Any) -> Any:
    x = leaf(lib)
    y = x * x
    x.data = lib.ones(3) * 10
    y.sum().backward()
    return x.grad


@program
def data_inplace_between(lib: Any) -> Any:
    x = leaf(lib)
    y = x * x
    x.data.mul_(10)
    y.sum().backward()
    return x.grad


@program
def nograd_inplace_between(lib: Any) -> Any:
    x = leaf(lib)
    y = x * x
    with lib.no_grad():
        x.mul_(10)
    return attempt(lambda: y.sum().backward())


@program
def metadata(lib: Any) -> Any:
    x = leaf(lib)
    f = (x * 2).grad_fn
    f.metadata["a"] = 1
    return (f.metadata, f.name(), repr(f)[:15], callable(f))


@program
def grad_fn_call(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    return y.grad_fn(lib.ones(3))


@program
def seq(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 2
    b = a + 1
    return b.grad_fn._sequence_nr() > a.grad_fn._sequence_nr()


@program
def custom_view(lib: Any) -> Any:

    class V(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(lib)
    y = V.apply(x * 1)
    return (y._is_view(), attempt(lambda: y.add_(1)), type(y.grad_fn).__name__)


@program
def custom_input_back(lib: Any) -> Any:

    class V(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(lib)
    a = x * 1
    y = V.apply(a)
    r = (y is a, y._is_view())
    y.sum().backward()
    return (r, x.grad)


@program
def mark_dirty(lib: Any) -> Any:

    class D(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(lib)
    a = x * 1
    v = a[1:]
    y = D.apply(a)
    y.sum().backward()
    return (y is a, x.grad, attempt(lambda: v.grad_fn.name()), attempt(lambda: D.apply(x)))


@program
def order(lib: Any) -> Any:
    log = []
    x = leaf(lib)
    w = leaf(lib)

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * 1

        @staticmethod
        def backward(ctx, g):
            log.append(ctx.n)
            return (g, None)

    a = F.apply(x, "a")
    b = F.apply(w, "b")
    c = F.apply(a, "c")
    d = F.apply(b + c, "d")
    e = F.apply(a, "e")
    (d + e).sum().backward()
    return log


@program
def leaf_order(lib: Any) -> Any:
    log = []
    ls = [leaf(lib) for _ in range(3)]
    for i, each in enumerate(ls):
        each.register_hook(lambda g, i=i: log.append(i))
    (ls[2] * ls[0] + ls[1]).sum().backward()
    return log


@program
def post_acc_order(lib: Any) -> Any:
    log = []
    x = leaf(lib)
    w = leaf(lib)
    x.register_post_accumulate_grad_hook(lambda p: log.append("x"))
    w.register_post_accumulate_grad_hook(lambda p: log.append("w"))
    y = x * 2
    y.register_hook(lambda g: log.append("y"))
    z = (y * w).sum()
    z.backward()
    return log


@program
def exception_in_backward(lib: Any) -> Any:

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError("x")

    x = leaf(lib)
    w = leaf(lib)
    y = (F.apply(x) * w).sum()
    r = attempt(lambda: y.backward())
    return (r, lib.is_grad_enabled(), x.grad)


@program
def grad_in_hook(lib: Any) -> Any:
    x = leaf(lib)
    log = []

    def h(g):
        log.append((lib.is_grad_enabled(), g.requires_grad))
        return None

    y = x * x
    y.register_hook(h)
    y.sum().backward(retain_graph=True)
    y.sum().backward(create_graph=True)
    return log


@program
def stale_noderef(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    f = y.grad_fn
    z = y.sum()
    del y
    z.backward()
    return f.next_functions[0][0].variable is x


@program
def expand_leaf_write(lib: Any) -> Any:
    x = lib.zeros(1, 3, requires_grad=True)
    a = (x * 1).expand(2, 3)
    return attempt(lambda: a.add_(1))


@program
def select_scatter(lib: Any) -> Any:
    x = lib.zeros(3, 3)
    y = leaf(lib)
    x[:, 1] += y
    x[0] *= 2
    x.diagonal().add_(y)
    (x * x).sum().backward()
    return (x, y.grad)


@program
def swap_views(lib: Any) -> Any:
    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    a = x * 1
    b = a.view(2, 2)
    c = b.t()
    d = c[0]
    d.mul_(10)
    b.add_(1)
    a.sum().backward()
    return (a, b, c, d, x.grad, type(d.grad_fn).__name__, type(c.grad_fn).__name__)


@program
def detach_shares(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    d = y.detach()
    d[0] = 100
    return (y, y._version, d._version, d.requires_grad)


@program
def index_put_acc(lib: Any) -> Any:
    x = lib.zeros(3)
    y = leaf(lib)
    x.index_put_((lib.tensor([0, 0, 1]),), y, accumulate=True)
    x[lib.tensor([True, False, False])] = y[2:]
    x.sum().backward()
    return (x, y.grad)


@program
def self_assign(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    a[:2] = a[1:].clone()
    a.sum().backward()
    return (a, x.grad)


@program
def iadd_self(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    a += a
    a *= a
    r = attempt(lambda: a.sum().backward())
    return (a, r, x.grad)


@program
def inplace_saved_out(lib: Any) -> Any:
    x = leaf(lib)
    a = x.sigmoid()
    b = a * 2
    a.mul_(2)
    return attempt(lambda: b.sum().backward())


@program
def inplace_exp(lib: Any) -> Any:
    x = leaf(lib)
    a = (x * 1).sqrt_()
    a.sum().backward()
    return x.grad


@program
def zero_after_save(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    b = a * a
    a.zero_()
    return attempt(lambda: b.sum().backward())


@program
def copy_broadcast(lib: Any) -> Any:
    x = lib.zeros(2, 3)
    y = leaf(lib)
    x.copy_(y)
    x.sum().backward()
    return (y.grad, type(x.grad_fn).__name__)


@program
def copy_dtype(lib: Any) -> Any:
    x = lib.zeros(3, dtype=lib.float64)
    y = leaf(lib)
    x.copy_(y)
    x.sum().backward()
    return (y.grad, x)


@program
def fill_tensor(lib: Any) -> Any:
    x = lib.zeros(3)
    y = lib.tensor(2.0, requires_grad=True)
    x.fill_(y)
    x.sum().backward()
    return (y.grad, type(x.grad_fn).__name__)


@program
def setitem_scalar_tensor(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    y = lib.tensor(5.0, requires_grad=True)
    a[1] = y
    a.sum().backward()
    return (a, x.grad, y.grad)


@program
def complex_view(lib: Any) -> Any:
    x = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = lib.view_as_real(x)
    y.sum().backward()
    return (x.grad, type(y.grad_fn).__name__)


@program
def real_part_grad(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    z = lib.complex(x, x * 2)
    z.abs().sum().backward()
    return x.grad


@program
def grad_layout_t(lib: Any) -> Any:
    w = lib.ones(2, 3, requires_grad=True)
    (lib.ones(4, 3) @ w.t()).sum().backward()
    return w.grad


@program
def accum_under_nograd(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 2).sum()
    z = (x * 3).sum()
    with lib.no_grad():
        y.backward()
        z.backward()
    return x.grad


@program
def grad_is_param(lib: Any) -> Any:
    x = leaf(lib)
    (x * x).sum().backward(create_graph=True)
    g = x.grad
    (x * 2).sum().backward()
    return (x.grad is g, x.grad.requires_grad)


@program
def zero_grad_alias(lib: Any) -> Any:
    x = leaf(lib)
    (x * 2).sum().backward()
    g = x.grad
    x.grad.zero_()
    (x * 3).sum().backward()
    return g


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
