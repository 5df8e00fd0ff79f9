"""Type promotion of all pairs, with tensors, zero-dim tensors and numbers; programs that both frameworks run."""

from __future__ import annotations

import operator
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


def kinds(lib: Any) -> list[Any]:
    return [
        lib.bool,
        lib.uint8,
        lib.uint16,
        lib.uint32,
        lib.uint64,
        lib.int8,
        lib.int16,
        lib.int32,
        lib.int64,
        lib.float16,
        lib.bfloat16,
        lib.float32,
        lib.float64,
        lib.float8_e4m3fn,
        lib.float8_e5m2,
        lib.complex64,
        lib.complex128,
    ]


def answer(f: Callable[[], Any]) -> str:
    try:
        return str(f())
    except Exception as e:
        return type(e).__name__


@program
def promote_types(lib: Any) -> Any:
    return {f"{a}{b}": answer(lambda: lib.promote_types(a, b)) for a in kinds(lib) for b in kinds(lib)}


@program
def can_cast(lib: Any) -> Any:
    return {f"{a}{b}": answer(lambda: lib.can_cast(a, b)) for a in kinds(lib) for b in kinds(lib)}


def ones(lib: Any, kind: Any, shape: Any) -> Any:
    return lib.ones(shape).to(kind)


@program
def result_type(lib: Any) -> Any:
    r = {}
    half = {lib.float16}  # whose complex type is complex32, which Pellucid does not have
    for a in kinds(lib):
        for sa in ((2,), ()):
            for b in kinds(lib):
                for sb in ((2,), ()):
                    if not (half & {a, b} and (a.is_complex or b.is_complex)):
                        r[f"{a}{sa}{b}{sb}"] = answer(lambda: lib.result_type(ones(lib, a, sa), ones(lib, b, sb)))
            for s in (True, 1, 1.5, 1j):
                if not (a in half and s == 1j):
                    r[f"{a}{sa}{s}"] = answer(lambda: lib.result_type(ones(lib, a, sa), s))
    return r


@program
def op_types(lib: Any) -> Any:
    r = {}
    ks = [
        k
        for k in kinds(lib)
        if "float8" not in str(k) and str(k) not in ("torch.uint16", "torch.uint32", "torch.uint64", "torch.float16")
    ]
    for n, f in dict(
        add=operator.add,
        mul=operator.mul,
        truediv=operator.truediv,
        floordiv=operator.floordiv,
        mod=operator.mod,
        pow=operator.pow,
        eq=operator.eq,
        and_=operator.and_,
        sub=operator.sub,
    ).items():
        for a in ks:
            for b in ks:
                r[n, str(a), str(b)] = answer(lambda: f(ones(lib, a, (2,)), ones(lib, b, (2,))).dtype)
            for b in ks:
                r[n, str(a), str(b), 0] = answer(lambda: f(ones(lib, a, (2,)), ones(lib, b, ())).dtype)
            for s in (True, 2, 1.5, 1j):
                r[n, str(a), s] = answer(lambda: f(ones(lib, a, (2,)), s).dtype)
                r[n, s, str(a)] = answer(lambda: f(s, ones(lib, a, (2,))).dtype)
                r[n, str(a), s, 0] = answer(lambda: f(ones(lib, a, ()), s).dtype)
    return r


@program
def default(lib: Any) -> Any:
    r = []
    for d in (lib.float64, lib.float32):
        lib.set_default_dtype(d)
        try:
            r.append(
                (
                    answer(lambda: lib.tensor(1.5).dtype),
                    answer(lambda: lib.tensor(1j).dtype),
                    answer(lambda: (lib.tensor(1) / 2).dtype),
                    answer(lambda: (lib.tensor([1]) + 1.5).dtype),
                    answer(lambda: lib.zeros(1).dtype),
                    answer(lambda: lib.arange(0, 1, 0.5).dtype),
                    answer(lambda: (lib.tensor([1]) + 1j).dtype),
                    answer(lambda: lib.tensor([1]).sqrt().dtype),
                    answer(lambda: lib.get_default_dtype()),
                    answer(lambda: lib.tensor(1).dtype),
                    answer(lambda: lib.tensor([True]).sum().dtype),
                    answer(lambda: lib.rand(2).dtype),
                    answer(lambda: lib.linspace(0, 1, 3).dtype),
                    answer(lambda: lib.empty(1).dtype),
                )
            )
        finally:
            lib.set_default_dtype(lib.float32)
    return (
        r,
        answer(lambda: lib.set_default_dtype(lib.int64)),
        answer(lambda: lib.set_default_dtype("float")),
        answer(lambda: lib.set_default_dtype(lib.complex64)),
    )


@program
def bits(lib: Any) -> Any:
    f = lib.tensor([1.0, 2.0])
    return [
        attempt(q)
        for q in (
            lambda: f + None,
            lambda: f + "a",
            lambda: f + [1, 2],
            lambda: None + f,
            lambda: f is None,
            lambda: f != "a",
            lambda: f < None,
            lambda: lib.add(f, "a"),
            lambda: lib.add(1, 2),
            lambda: lib.add(1, f),
            lambda: f.add(None),
            lambda: lib.exp(1.0),
            lambda: lib.mul(2, 3),
            lambda: f @ 2,
            lambda: f * True,
            lambda: f + lib.ones(3),
            lambda: f + lib.ones(2, 3),
            lambda: lib.tensor([1]) + 2**63,
            lambda: lib.tensor([1], dtype=lib.uint8) + 300,
            lambda: lib.tensor([1], dtype=lib.int8) * 1000,
            lambda: lib.tensor([1.0], dtype=lib.float16) * 1000000.0,
        )
    ]


@pytest.mark.parametrize("function", PROGRAMS, ids=[each.__name__ for each in PROGRAMS])
def test_programs_have_pytorchs_outcome(agrees: Callable[..., None], function: Callable[[Any], Any]) -> None:
    agrees(function)
