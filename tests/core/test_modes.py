"""no_grad, enable_grad, set_grad_enabled and inference_mode; programs that both frameworks run."""

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
def modes_nested(lib: Any) -> Any:
    log = []
    with lib.no_grad():
        log.append(lib.is_grad_enabled())
        with lib.enable_grad():
            log.append(lib.is_grad_enabled())
            with lib.set_grad_enabled(False):
                log.append(lib.is_grad_enabled())
            log.append(lib.is_grad_enabled())
        log.append(lib.is_grad_enabled())
    log.append(lib.is_grad_enabled())
    return log


@program
def modes_reuse(lib: Any) -> Any:
    c = lib.no_grad()
    log = []
    with c:
        with c:
            log.append(lib.is_grad_enabled())
        log.append(lib.is_grad_enabled())
    log.append(lib.is_grad_enabled())
    lib.set_grad_enabled(True)
    return log


@program
def mode_raise(lib: Any) -> Any:
    try:
        with lib.no_grad():
            raise KeyError
    except KeyError:
        pass
    return lib.is_grad_enabled()


@program
def decorators(lib: Any) -> Any:

    @lib.no_grad()
    def f():
        return lib.is_grad_enabled()

    @lib.no_grad
    def g():
        return lib.is_grad_enabled()

    @lib.enable_grad()
    def h():
        return lib.is_grad_enabled()

    @lib.inference_mode()
    def i():
        return (lib.is_inference_mode_enabled(), lib.is_grad_enabled())

    @lib.inference_mode
    def i2():
        return (lib.is_inference_mode_enabled(), lib.is_grad_enabled())

    @lib.set_grad_enabled(False)
    def j():
        return lib.is_grad_enabled()

    with lib.no_grad():
        k = h()
    return (f(), g(), h(), i(), i2(), j(), k, lib.is_grad_enabled(), f.__name__)


@program
def generator(lib: Any) -> Any:

    @lib.no_grad()
    def gen():
        x = yield lib.is_grad_enabled()
        try:
            yield (x, lib.is_grad_enabled())
        except ValueError:
            yield ("caught", lib.is_grad_enabled())
        return lib.is_grad_enabled()

    g = gen()
    log = [
        next(g),
        lib.is_grad_enabled(),
        g.send(5),
        lib.is_grad_enabled(),
        g.throw(ValueError()),
        lib.is_grad_enabled(),
    ]
    try:
        next(g)
    except StopIteration as s:
        log.append(s.value)
    return log


@program
def generator_close(lib: Any) -> Any:
    log = []

    @lib.no_grad()
    def gen():
        try:
            yield 1
        finally:
            log.append(lib.is_grad_enabled())

    g = gen()
    next(g)
    g.close()
    log.append(lib.is_grad_enabled())
    return log


@program
def set_grad_fn(lib: Any) -> Any:
    lib.set_grad_enabled(False)
    a = lib.is_grad_enabled()
    lib.set_grad_enabled(True)
    return a


@program
def inference(lib: Any) -> Any:
    with lib.inference_mode():
        x = lib.ones(3)
        y = x + 1
        v = x[1:]
        x.add_(1)
        r = (
            x.is_inference(),
            y.is_inference(),
            v.is_inference(),
            v._is_view(),
            lib.is_inference_mode_enabled(),
            attempt(lambda: x._version),
        )
    w = leaf(lib)
    return (
        r,
        attempt(lambda: x.add_(1)),
        attempt(lambda: w * x),
        (x + 1).is_inference(),
        attempt(lambda: x.requires_grad_()),
        x.clone().is_inference(),
        attempt(lambda: v.add_(1)),
        x[1:].is_inference(),
        attempt(lambda: x[0:1].add_(1)),
        (w + x).requires_grad,
        x.requires_grad,
        attempt(lambda: x.view(3).is_inference()),
    )


@program
def inference_normal_in(lib: Any) -> Any:
    x = lib.ones(3)
    w = leaf(lib)
    u = w * 1
    with lib.inference_mode():
        v = x[1:]
        a = v.is_inference()
        x.add_(1)
        b = x._version
        d = x.detach().is_inference()
        y = w * 2
        u.add_(1)
        q = u.requires_grad
        uu = u[1:]
    return (
        a,
        b,
        d,
        y.requires_grad,
        y.is_inference(),
        v._is_view(),
        attempt(lambda: v.add_(1)),
        u,
        q,
        attempt(lambda: u.sum().backward()),
        uu,
    )


@program
def inference_view_grad(lib: Any) -> Any:
    w = leaf(lib)
    u = w * 1
    with lib.inference_mode():
        v = u[1:]
    return (v.requires_grad, attempt(lambda: v.add_(1)), v.is_leaf)


@program
def inference_nested(lib: Any) -> Any:
    with lib.inference_mode():
        with lib.inference_mode(False):
            a = (lib.is_inference_mode_enabled(), lib.is_grad_enabled())
            x = leaf(lib)
            y = (x * 2).requires_grad
        with lib.enable_grad():
            b = (lib.is_grad_enabled(), (leaf(lib) * 2).requires_grad)
        c = lib.is_grad_enabled()
    return (a, b, c, y)


@program
def inference_backward(lib: Any) -> Any:
    leaf(lib)
    with lib.inference_mode():
        x = leaf(lib)
        r = (x.requires_grad, (x * 2).requires_grad, x.is_inference(), (x * 2).is_leaf)
    return r


@program
def inference_grad_acc(lib: Any) -> Any:
    w = leaf(lib)
    y = (w * w).sum()
    with lib.inference_mode():
        r = attempt(lambda: y.backward())
    return (r, w.grad)


@program
def inference_copy(lib: Any) -> Any:
    w = lib.ones(3)
    with lib.inference_mode():
        x = lib.zeros(3)
    w.copy_(x)
    return (w, attempt(lambda: x.copy_(w)), attempt(lambda: lib.add(w, w, out=x)))


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
