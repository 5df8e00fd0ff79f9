"""Views and writes into them: histories, versions, what is forbidden; programs that both frameworks run."""

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
def setitem(lib: Any) -> Any:
    x = lib.zeros(3, 2) * 1
    y = leaf(lib)
    x[:, 0] = y
    n = x.grad_fn.__class__.__name__
    (x * lib.tensor([[1.0, 2], [3, 4], [5, 6]])).sum().backward()
    return (y.grad, n, x._version, x.requires_grad, x.is_leaf)


@program
def setitem_leaf_nograd(lib: Any) -> Any:
    x = lib.zeros(3)
    y = leaf(lib)
    x[1:] = y[1:]
    return (x, x._version)


@program
def chain_view(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    v = a.view(3, 1)
    u = v[1:]
    u.mul_(5)
    (a * lib.tensor([1.0, 2.0, 3.0])).sum().backward()
    return (a, v, u, x.grad, u._base is a, v._base is a)


@program
def view_stale(lib: Any) -> Any:
    a = lib.zeros(3)
    v = a[1:]
    y = leaf(lib)
    a.mul_(y)
    r = (v, v.requires_grad, type(v.grad_fn).__name__)
    v.sum().backward()
    return (r, y.grad)


@program
def view_stale2(lib: Any) -> Any:
    a = lib.zeros(4)
    v = a[1:]
    w = v.view(3, 1)
    y = leaf(lib)
    v.add_(y)
    return (a, v, w, w.grad_fn.next_functions[0][0].name())


@program
def as_strided(lib: Any) -> Any:
    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    a = x * 1
    v = a.as_strided((2, 2), (1, 2))
    v.mul_(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
    a.sum().backward()
    return (a, v, x.grad)


@program
def chunk_inplace(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    p = a.chunk(3)
    r = attempt(lambda: p[0].add_(1))
    u = a.unbind()
    r2 = attempt(lambda: u[0].mul_(2))
    s = a.split(2)
    r3 = attempt(lambda: s[0].mul_(2))
    b = lib.zeros(3)
    q = b.chunk(3)
    q[0].add_(1)
    r4 = b
    with lib.no_grad():
        p[0].add_(1)
    return (r, r2, r3, r4, a, attempt(lambda: p[0] + 1), attempt(lambda: lib.zeros(3).unbind()[0].add_(leaf(lib)[0])))


@program
def nograd_view(lib: Any) -> Any:
    x = leaf(lib)
    a = x * 1
    with lib.no_grad():
        v = a[1:]
    return (v.requires_grad, attempt(lambda: v.mul_(2)), v._is_view(), v)


@program
def nograd_view_leaf(lib: Any) -> Any:
    x = leaf(lib)
    with lib.no_grad():
        v = x[1:]
        v.mul_(2)
    return (x, x._version, attempt(lambda: v.mul_(2)), v.is_leaf)


@program
def expand_write(lib: Any) -> Any:
    a = lib.zeros(1, 3).expand(2, 3)
    return (
        attempt(lambda: a.add_(1)),
        attempt(lambda: a.copy_(lib.ones(2, 3))),
        attempt(lambda: a.fill_(2)),
        attempt(lambda: a.zero_()),
        attempt(lambda: a.__setitem__(0, 1.0)),
        a,
        attempt(lambda: a.mul_(2)),
    )


@program
def versions(lib: Any) -> Any:
    a = lib.zeros(4)
    v = a[1:]
    found = [a._version]
    v.add_(1)
    found += [a._version, v._version]
    a[0] = 3
    found.append(v._version)
    a.detach().add_(1)
    found.append(a._version)
    a.data.add_(1)
    found.append(a._version)
    a.zero_()
    a.fill_(1)
    a.copy_(a.clone())
    found.append(a._version)
    a.t_()
    found.append(a._version)
    a.requires_grad_()
    found.append(a._version)
    with lib.no_grad():
        a.add_(1)
    found.append(a._version)
    lib.add(lib.ones(4), 1, out=a.detach())
    found.append(a._version)
    a.detach().resize_(2)
    found.append(a._version)
    a.detach().unsqueeze_(0)
    found.append(a._version)
    return found


@program
def is_view(lib: Any) -> Any:
    a = lib.zeros(2, 4)
    fs = [
        lambda: a,
        lambda: a[0],
        lambda: a.view(8),
        lambda: a.reshape(8),
        lambda: a.t(),
        lambda: a.t().reshape(8),
        lambda: a.contiguous(),
        lambda: a.detach(),
        lambda: a.data,
        lambda: a.expand(3, 2, 4),
        lambda: a[[0]],
        lambda: a.flatten(),
        lambda: a.float(),
        lambda: a.double(),
        lambda: a.to("cpu"),
        lambda: a.clone(),
        lambda: a.squeeze(),
        lambda: a.narrow(0, 0, 1),
        lambda: a.view_as(a),
        lambda: a[...],
        lambda: a[None],
        lambda: a.unfold(1, 2, 1),
        lambda: a.diagonal(),
        lambda: a.real,
        lambda: a.mT,
        lambda: a.movedim(0, 1),
        lambda: a.swapaxes(0, 1),
        lambda: a.view(lib.int32),
        lambda: lib.as_strided(a, (2,), (1,)),
        lambda: a.requires_grad_(),
        lambda: a.unbind()[0],
        lambda: a.split(1)[0],
        lambda: a.chunk(2)[0],
    ]
    r = []
    for f in fs:
        q = f()
        r.append((q._is_view(), None if q._base is None else q._base is a, q.is_leaf, q is a, type(q.grad_fn).__name__))
    return r


@program
def leaf_view_inplace(lib: Any) -> Any:
    x = leaf(lib)
    v = x[1:]
    return (
        attempt(lambda: v.add_(1)),
        attempt(lambda: v.zero_()),
        attempt(lambda: x.view(3)[0].mul_(2)),
        attempt(lambda: x.unsqueeze_(0)),
        attempt(lambda: x.t_()),
        attempt(lambda: x.detach_()),
        attempt(lambda: x.resize_(2)),
    )


@program
def inplace_rg_into_norg(lib: Any) -> Any:
    a = lib.zeros(3)
    y = leaf(lib)
    a.add_(y)
    return (a, a.is_leaf)


@program
def inplace_rg_int(lib: Any) -> Any:
    a = lib.zeros(3, dtype=lib.int64)
    y = leaf(lib)
    return (attempt(lambda: a.add_(y)), attempt(lambda: a.copy_(y)), a)


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
