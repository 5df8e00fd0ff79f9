"""Where results go: strides of pointwise results, out=, in-place types, overlap; programs that both frameworks run."""

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
def overlap(lib: Any) -> Any:
    a = lib.arange(5.0)
    return (
        attempt(lambda: a[1:].add_(a[:-1])),
        attempt(lambda: a[1:].copy_(a[:-1])),
        a,
        attempt(lambda: a.add_(a)),
        attempt(lambda: a.mul_(a[:5])),
        attempt(lambda: lib.add(a[1:], 1, out=a[:-1])),
        attempt(lambda: lib.add(a, 1, out=a)),
        a,
    )


@program
def overlap_t(lib: Any) -> Any:
    a = lib.arange(4.0).view(2, 2)
    return (attempt(lambda: a.add_(a.t())), attempt(lambda: a.copy_(a.t())), a)


@program
def inplace_types(lib: Any) -> Any:
    i = lib.ones(2, dtype=lib.int64)
    b = lib.ones(2, dtype=lib.bool)
    f = lib.ones(2)
    c = lib.ones(2, dtype=lib.complex64)
    return [
        attempt(q)
        for q in (
            lambda: i.add_(1.5),
            lambda: i.mul_(f),
            lambda: i.div_(2),
            lambda: b.add_(i),
            lambda: b.add_(True),
            lambda: f.add_(c),
            lambda: f.add_(1j),
            lambda: i.add_(b),
            lambda: f.add_(i),
            lambda: f.mul_(f.double()),
            lambda: i.sub_(True),
            lambda: b.mul_(b),
            lambda: i.pow_(2),
            lambda: i.sqrt_(),
            lambda: i.add_(lib.ones(2, 2, dtype=lib.int64)),
            lambda: i.add_(lib.ones(3, dtype=lib.int64)),
            lambda: i.remainder_(2.0),
            lambda: f.half().add_(f),
            lambda: i.int().add_(i),
            lambda: i.eq_(1),
            lambda: f.gt_(0),
            lambda: i.clamp_(0.5),
        )
    ]


@program
def out(lib: Any) -> Any:
    a = lib.ones(3)
    o = lib.empty(0)
    r = lib.add(a, a, out=o)
    found = [r is o, o]
    o2 = lib.empty(2)
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        lib.add(a, a, out=o2)
        found.append([type(x.message).__name__ for x in w])
        found.append(o2)
    found += [
        attempt(lambda: lib.add(a, a, out=lib.empty(3, dtype=lib.int64))),
        attempt(lambda: lib.add(a, a, out=lib.empty(3, dtype=lib.float64))),
        attempt(lambda: lib.add(a.double(), a, out=lib.empty(3))),
        attempt(lambda: lib.add(leaf(lib), a, out=lib.empty(3))),
        attempt(lambda: lib.add(a, a, out=leaf(lib))),
        attempt(lambda: lib.eq(a, a, out=lib.empty(3))),
        attempt(lambda: lib.sum(a, 0, out=lib.empty(()))),
        attempt(lambda: lib.sum(a, 0, out=lib.empty((), dtype=lib.int64))),
        attempt(lambda: lib.mm(lib.ones(2, 3), lib.ones(3, 2), out=lib.empty(2, 2))),
        attempt(lambda: lib.mm(lib.ones(2, 3), lib.ones(3, 2), out=lib.empty(2, 2, dtype=lib.float64))),
        attempt(lambda: lib.add(a, a, out=lib.empty(1).expand(3))),
        attempt(lambda: lib.exp(a, out=lib.empty(3, dtype=lib.int64))),
    ]
    big = lib.zeros(2, 3).t()
    lib.add(lib.ones(3, 2), 1, out=big)
    found.append(big)
    with lib.no_grad():
        found.append(attempt(lambda: lib.add(leaf(lib), a, out=lib.empty(3))))
    return found


@program
def out_strides(lib: Any) -> Any:
    a = lib.ones(2, 3).t()
    o = lib.empty(0)
    lib.add(a, 1, out=o)
    o2 = lib.empty(0)
    lib.mm(lib.ones(2, 3), lib.ones(3, 2), out=o2)
    m = lib.max(lib.ones(2, 3), 0, out=(lib.empty(0), lib.empty(0, dtype=lib.int64)))
    return (
        o,
        o2,
        m[0],
        m[1],
        lib.cat([a, a], out=lib.empty(0)),
        attempt(lambda: lib.max(lib.ones(2, 3), 0, out=(lib.empty(0), lib.empty(0)))),
    )


@program
def strides(lib: Any) -> Any:
    r = []
    a = lib.randn(2, 3, 4, 5)
    cl = a.contiguous(memory_format=lib.channels_last)
    ls = [
        a,
        cl,
        a.permute(3, 1, 0, 2),
        a.transpose(1, 2),
        a[:, :, ::2],
        a[:1].expand(2, 3, 4, 5),
        a[:, :1].expand(2, 3, 4, 5),
        cl[:, :, :1],
        lib.randn(1, 3, 4, 5).to(memory_format=lib.channels_last),
        lib.randn(2, 1, 4, 5).to(memory_format=lib.channels_last),
        lib.randn(2, 3, 1, 1).to(memory_format=lib.channels_last),
        a[..., 0],
    ]
    for x in ls:
        r.append(
            (
                (x + 1).stride(),
                (-x).stride(),
                (x * x).stride(),
                x.exp().stride(),
                (x > 0).stride(),
                x.clone().stride(),
                lib.empty_like(x).stride(),
                lib.zeros_like(x).stride(),
                x.double().stride(),
                x.contiguous().stride(),
                (1 - x).stride(),
                x.abs().stride(),
                lib.where(x > 0, x, -x).stride(),
                x.is_contiguous(),
                x.is_contiguous(memory_format=lib.channels_last) if x.ndim == 4 else None,
            )
        )
    for x in ls:
        for y in ls:
            try:
                q = (x + y).stride()
            except RuntimeError:
                q = "E"
            r.append(q)
            try:
                q = lib.where(x > 0, x, y).stride()
            except RuntimeError:
                q = "E"
            r.append(q)
    return r


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
