"""Jacobians, Hessians and products with vectors equal PyTorch's, in values, structure and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((2, 3)), RNG.standard_normal(3)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "elementwise": (lambda x: x.sin() * x, (A,)),
    "matrix": (lambda x: x @ x.t(), (A,)),
    "two inputs": (lambda x, y: (x * y).exp(), (A, B)),
    "two outputs": (lambda x, y: ((x * y).sum(0), x.sum() * y), (A, B)),
    "one unused": (lambda x, y: x * 2, (A, B)),
    "zero-dim": (lambda x: x * x, (np.array(3.0),)),
    "reduction": (lambda x: (x**3).sum(), (A,)),
    "constant output": (lambda x: (x * x, (x * 2).detach()), (B,)),
}
SCALAR: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "cubes": (lambda x: (x**3).sum(), (A,)),
    "mixed": (lambda x, y: (x * y).exp().sum(), (A, B)),
    "linear": (lambda x: (2 * x).sum(), (B,)),
    "half unused": (lambda x, y: (x**2).sum(), (A, B)),
    "one element": (lambda x: x * x, (np.array([2.0]),)),
    "rosenbrock": (lambda x: ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum(), (B,)),
}


def inputs_of(library: Any, arrays: tuple[np.ndarray, ...], requires_grad: bool = False) -> Any:
    tensors = tuple(
        library.tensor(each.tolist(), dtype=library.float64, requires_grad=requires_grad) for each in arrays
    )
    return tensors if len(tensors) > 1 else tensors[0]


def plain(value: Any) -> Any:
    """The values as nested lists, and whether they have a history."""
    if isinstance(value, (tuple, list)):
        return tuple(plain(each) for each in value)
    return np.round(np.asarray(value.detach()), 9).tolist(), value.requires_grad


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return plain(call())
    except Exception as error:
        return type(error).__name__, str(error).split(" Hint")[0]


def both(call: Callable[[Any], Any]) -> tuple[Any, Any]:
    return outcome(lambda: call(pellucid)), outcome(lambda: call(torch))


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"strict": True}, {"vectorize": True}], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian(name: str, options: dict[str, Any]) -> None:
    function, arrays = FUNCTIONS[name]
    ours, theirs = both(
        lambda lib: lib.autograd.functional.jacobian(
            function, inputs_of(lib, arrays, "create_graph" in options), **options
        )
    )
    assert ours == theirs


def test_forward_strategy_gives_the_same_jacobian() -> None:
    function, arrays = FUNCTIONS["two outputs"]
    ours, theirs = both(
        lambda lib: lib.autograd.functional.jacobian(
            function, inputs_of(lib, arrays), vectorize=True, strategy="forward-mode"
        )
    )
    assert ours == theirs


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"strict": True}, {"vectorize": True}], ids=str)
@pytest.mark.parametrize("name", SCALAR)
def test_hessian(name: str, options: dict[str, Any]) -> None:
    function, arrays = SCALAR[name]
    ours, theirs = both(
        lambda lib: lib.autograd.functional.hessian(
            function, inputs_of(lib, arrays, "create_graph" in options), **options
        )
    )
    assert ours == theirs


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"strict": True}], ids=str)
@pytest.mark.parametrize("product", ["vhp", "hvp"])
@pytest.mark.parametrize("name", SCALAR)
def test_hessian_products(name: str, product: str, options: dict[str, Any]) -> None:
    function, arrays = SCALAR[name]
    vectors = tuple(np.cos(np.arange(each.size)).reshape(each.shape) for each in arrays)

    def call(lib: Any) -> Any:
        inputs, v = inputs_of(lib, arrays, "create_graph" in options), inputs_of(lib, vectors)
        return getattr(lib.autograd.functional, product)(function, inputs, v, **options)

    ours, theirs = both(call)
    assert ours == theirs


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"strict": True}], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp_and_vjp(name: str, options: dict[str, Any]) -> None:
    function, arrays = FUNCTIONS[name]
    vectors = tuple(np.cos(np.arange(each.size)).reshape(each.shape) for each in arrays)
    needs = "create_graph" in options
    ours, theirs = both(
        lambda lib: lib.autograd.functional.jvp(
            function, inputs_of(lib, arrays, needs), inputs_of(lib, vectors), **options
        )
    )
    assert ours == theirs

    def pull_back(lib: Any) -> Any:
        inputs = inputs_of(lib, arrays, needs)
        outputs = function(*inputs) if isinstance(inputs, tuple) else function(inputs)
        many = isinstance(outputs, tuple)
        v = tuple(lib.ones_like(each).detach() for each in (outputs if many else (outputs,)))
        return lib.autograd.functional.vjp(function, inputs, v if many else v[0], **options)

    ours, theirs = both(pull_back)
    assert ours == theirs


MISUSES: dict[str, Callable[[Any], Any]] = {
    "no tensor": lambda lib: lib.autograd.functional.jacobian(lambda x: x, 3.0),
    "no tensor in tuple": lambda lib: lib.autograd.functional.jvp(lambda *x: x[0], (lib.ones(1), 2)),
    "no tensor out": lambda lib: lib.autograd.functional.vjp(lambda x: 3.0, lib.ones(1)),
    "vector missing": lambda lib: lib.autograd.functional.vjp(lambda x: x * 2, lib.ones(2)),
    "vector missing in jvp": lambda lib: lib.autograd.functional.jvp(lambda x: x * 2, lib.ones(2)),
    "vector size": lambda lib: lib.autograd.functional.vhp(lambda x: x.sum(), lib.ones(2), lib.ones(3)),
    "vector count": lambda lib: lib.autograd.functional.hvp(
        lambda x, y: x.sum(), (lib.ones(2), lib.ones(2)), (lib.ones(2),)
    ),
    "vector tuple": lambda lib: lib.autograd.functional.hvp(lambda x: x.sum(), lib.ones(2), (lib.ones(2), lib.ones(2))),
    "hessian of vector": lambda lib: lib.autograd.functional.hessian(lambda x: x * 2, lib.ones(2)),
    "hessian of tuple": lambda lib: lib.autograd.functional.hessian(lambda x: (x.sum(), x.sum()), lib.ones(2)),
    "hvp of vector": lambda lib: lib.autograd.functional.hvp(lambda x: x * 2, lib.ones(2), lib.ones(2)),
    "strict and vectorize": lambda lib: lib.autograd.functional.jacobian(
        lambda x: x * 2, lib.ones(2), strict=True, vectorize=True
    ),
    "forward without vectorize": lambda lib: lib.autograd.functional.jacobian(
        lambda x: x * 2, lib.ones(2), strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_torchs_error(name: str) -> None:
    ours, theirs = both(MISUSES[name])
    assert ours[0] == theirs[0]
    assert ours[1].replace("pellucid", "torch") == theirs[1] or "type <class" in theirs[1]
