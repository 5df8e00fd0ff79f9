"""Leaves, detach and data, version counters, retained gradients; each a program that both frameworks run."""

from __future__ import annotations

import warnings
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
def retain(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def inputs_nonleaf(lib: Any) -> Any:
    x = leaf(lib)
    z = x * 2
    y = (z * z).sum()
    y.backward(inputs=z)
    return (x.grad, z.grad)


@program
def inputs_nonleaf_retains(lib: Any) -> Any:
    x = leaf(lib)
    z = x * 2
    z.retain_grad()
    y = (z * z).sum()
    y.backward(inputs=z)
    return (x.grad, z.grad)


@program
def leaf_err(lib: Any) -> Any:
    x = leaf(lib)

    def f():
        x.add_(1)

    def g():
        x[0] = 1

    def h():
        x.view(3).add_(1)

    def i():
        x.zero_()

    return ([attempt(q) for q in (f, g, h, i)], x)


@program
def version(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    z = y * y
    y.add_(1)
    return attempt(lambda: z.sum().backward())


@program
def version2(lib: Any) -> Any:
    x = leaf(lib)
    y = x.exp()
    y.add_(1)
    return attempt(lambda: y.sum().backward())


@program
def version_view(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    z = y * y
    y[0] = 5
    return attempt(lambda: z.sum().backward())


@program
def version_data(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    z = y * y
    y.data.add_(1)
    z.sum().backward()
    return (x.grad, y._version)


@program
def version_detach(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    z = y * y
    y.detach().add_(1)
    return (y._version, attempt(lambda: z.sum().backward()))


@program
def requires(lib: Any) -> Any:
    x = lib.ones(2)
    y = leaf(lib) * 2
    return (
        x.requires_grad_(),
        x.is_leaf,
        y.is_leaf,
        attempt(lambda: y.requires_grad_(False)),
        y.requires_grad_(),
        attempt(lambda: lib.ones(2, dtype=lib.int64).requires_grad_()),
        attempt(lambda: setattr(y, "requires_grad", False)),
        lib.ones(2, dtype=lib.int64).requires_grad_(False),
    )


@program
def requires_int_ctor(lib: Any) -> Any:
    return (
        attempt(lambda: lib.tensor([1], requires_grad=True)),
        attempt(lambda: lib.zeros(2, dtype=lib.int32, requires_grad=True)),
        lib.zeros(2, dtype=lib.complex64, requires_grad=True),
    )


@program
def detach_(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.detach_()
    v = (x * 2)[0:1]
    return (y, y.is_leaf, attempt(lambda: v.detach_()), x.detach_(), x.detach()._is_view(), x.detach()._base is None)


@program
def detach_view(lib: Any) -> Any:
    x = lib.arange(4.0)
    v = x[1:]
    return (
        v.detach()._is_view(),
        x.detach()._is_view(),
        v.data._is_view(),
        x.data._is_view(),
        x.view(4).detach()._base is x,
    )


@program
def data_set(lib: Any) -> Any:
    x = leaf(lib)
    x.data = lib.zeros(2)
    return (
        x,
        x._version,
        attempt(lambda: setattr(x, "data", lib.zeros(2, dtype=lib.int64))),
        attempt(lambda: setattr(x, "data", 3)),
    )


@program
def data_set_version(lib: Any) -> Any:
    x = lib.ones(3)
    x.add_(1)
    d = lib.zeros(2)
    d.add_(1)
    d.add_(1)
    x.data = d
    a = x._version
    x.add_(1)
    return (a, x._version, d._version, d)


@program
def grad_set(lib: Any) -> Any:
    x = leaf(lib)
    return [
        attempt(lambda v=v: setattr(x, "grad", v))
        for v in (3, lib.ones(2), lib.ones(3, dtype=lib.float64), x, lib.ones(3, device="meta"), lib.ones(3), None)
    ]


@program
def retain_nonleaf_twice(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    (y * y).sum().backward(retain_graph=True)
    (y * y).sum().backward()
    return (y.grad, y.retains_grad, x.retains_grad)


@program
def retain_leaf(lib: Any) -> Any:
    x = leaf(lib)
    x.retain_grad()
    return (x.retains_grad, attempt(lambda: lib.ones(1).retain_grad()))


@program
def retain_inplace(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return (y.grad, x.grad)


@program
def grad_nonleaf_warn(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        g = y.grad
    return (g, [type(i.message).__name__ for i in w])


@program
def invalid_grad_fn(lib: Any) -> Any:

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return lib.ones(5)

    x = leaf(lib)
    return attempt(lambda: F.apply(x).sum().backward())


@program
def invalid_count(lib: Any) -> Any:

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return (g, g)

    x = leaf(lib)
    return attempt(lambda: F.apply(x).sum().backward())


@program
def fn_broadcastable(lib: Any) -> Any:

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return lib.ones(2, 3)

    x = leaf(lib)
    F.apply(x).sum().backward()
    return x.grad


@program
def fn_none(lib: Any) -> Any:

    class F(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(lib)
    y = F.apply(x).sum()
    y.backward()
    return x.grad


@program
def leaf_backward(lib: Any) -> Any:
    x = lib.tensor(1.0, requires_grad=True)
    x.backward()
    x.backward()
    return x.grad


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
