"""`jvp` and `linearize`: forward mode as functions of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core.histories import released
from pellucid.engine.core.modes import state
from pellucid.engine.core.tangents import DualLevel, dual, unpacked
from pellucid.func.reverse import Pullback, as_inputs, check_outputs, chosen_arguments, recording, with_arguments
from pellucid.utils._pytree import tree_flatten, tree_map, tree_unflatten

JVP = "jvp(f, primals, tangents)"


@contextmanager
def dual_level() -> Iterator[DualLevel]:
    """A level of forward differentiation that runs while the block does."""
    level = DualLevel()
    inference, state.inference = state.inference, False
    state.stack.append(level)
    state.transforms += 1
    try:
        yield level
    finally:
        state.transforms -= 1
        state.inference = inference
        state.stack.remove(level)
        level.close()


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The output of `func` at `primals`, and its derivative in the direction of `tangents`.

    An output that does not depend on the inputs has the derivative zero; with `strict`, that is an error. With
    `has_aux`, `func` returns (output, aux) and the result is (output, derivative, aux).

    >>> import pellucid as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(func: Any, primals: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool) -> Any:
    """`jvp` with respect to some of the arguments only."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    differentiated = primals if argnums is None else chosen_arguments(primals, argnums)
    leaves, structure = tree_flatten(differentiated)
    directions, other = tree_flatten(tangents)
    if structure != other:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {other}"
        )
    _check_tensors(leaves, "primals")
    _check_tensors(directions, "tangents")
    with dual_level() as level:
        duals = tree_unflatten([dual(x, t, level) for x, t in zip(leaves, directions, strict=True)], structure)
        outputs = func(*(duals if argnums is None else with_arguments(primals, argnums, duals)))
        aux = None
        if has_aux:
            if not isinstance(outputs, tuple) or len(outputs) != 2:
                raise RuntimeError(f"{JVP}: output of function f should be a tuple: (output, aux) if has_aux is True")
            outputs, aux = outputs
            aux = tree_map(lambda each: unpacked(each, level)[0] if isinstance(each, Tensor) else each, aux)
        found, out_structure = tree_flatten(outputs)
        _check_results(found, outputs)
        pairs = [_result(each, level, strict) for each in found]
    primal_out = tree_unflatten([pair[0] for pair in pairs], out_structure)
    tangent_out = tree_unflatten([pair[1] for pair in pairs], out_structure)
    return (primal_out, tangent_out, aux) if has_aux else (primal_out, tangent_out)


def _check_tensors(values: list[Any], what: str) -> None:
    if not values:
        raise RuntimeError(f"{JVP}: Expected {what} to contain at least one Tensor.")
    for each in values:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"{JVP}: Expected {what} to only contain Tensors, got {type(each)}")


def _check_results(found: list[Any], outputs: Any) -> None:
    if not found:
        raise RuntimeError(f"{JVP}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for each in found:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"{JVP}: expected f(*args) to return only tensors, got unsupported type {type(each)}")


def _result(value: Any, level: DualLevel, strict: bool) -> tuple[Any, Any]:
    primal, tangent = unpacked(value, level)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        tangent = pellucid.zeros_like(primal)
    return primal, tangent


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `func` at `primals`, and the function that gives its derivative in any direction there.

    `func` runs once; each call of the result then costs a reverse pass through its history.

    >>> import pellucid as torch
    >>> y, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(3.0))
    tensor(3.)
    """
    leaves, structure = tree_flatten(primals)
    with recording() as may_differentiate:
        arguments, inside = as_inputs(primals)
        outputs = func(*arguments)
        found, out_structure = tree_flatten(outputs)
        check_outputs(found, outputs, "linearize(f, *primals)")
        linear = Pullback(found, inside).transposed()
        results = [released(each, linear.own, may_differentiate) for each in found]

    def jvp_fn(*tangents: Any) -> Any:
        directions, other = tree_flatten(tangents)
        if other != structure:
            raise RuntimeError(f"Expected the tangents {other} to have the same argspec as the primals {structure}")
        for position, (t, x) in enumerate(zip(directions, leaves, strict=True)):
            for name in ("shape", "device", "dtype"):
                if getattr(t, name) != getattr(x, name):
                    raise RuntimeError(
                        f"tangent:{position} with {name} {getattr(t, name)} in flattened pytree doesn't match the "
                        f"{name} {getattr(x, name)} of the corresponding primal."
                    )
        return tree_unflatten(linear.gradients(directions, True, state.grad_enabled), out_structure)

    return tree_unflatten(results, out_structure), jvp_fn
