"""`grad`, `grad_and_value` and `vjp`: reverse mode as functions of functions.

The history of what a function does is recorded as for `backward`; what sets these transforms apart is where it ends:
in inputs of their own, so that neither `.grad` nor the histories outside are touched, except that results depend on
what the function captured from outside as far as that is differentiated itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core import graph
from pellucid.engine.core.backward import run as run_backward
from pellucid.engine.core.batching import innermost_vmap, is_batched
from pellucid.engine.core.histories import (
    at_own_level,
    has_tracked_tangent,
    is_tracked,
    leaf,
    out_of_inference,
    reaches_outside,
    released,
)
from pellucid.engine.core.modes import state
from pellucid.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

Argnums = int | tuple[int, ...]


@contextmanager
def recording() -> Iterator[bool]:
    """A block in which a transform records, even under `no_grad` and `inference_mode`; gives whether results may be
    differentiated outside.
    """
    before = state.grad_enabled, state.inference
    state.grad_enabled, state.inference = True, False
    state.transforms += 1
    try:
        yield before[0] and not before[1]
    finally:
        state.transforms -= 1
        state.grad_enabled, state.inference = before


def own_input(tensor: Any) -> Any:
    """The input that the function sees in place of `tensor`: as differentiable outside as that is, and inside too."""
    if tensor._meta.dtype.category < 2:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    level = innermost_vmap()
    lifted = out_of_inference(tensor if level is None else level.lift(tensor))
    if graph.requires_grad(lifted):
        return pellucid.Tensor.view_as(lifted, lifted)
    return leaf(lifted)


def as_inputs(values: Any) -> tuple[Any, list[Any]]:
    """The nested value with tensors of the transform's own in place of its tensors, and those tensors."""
    leaves, structure = tree_flatten(values)
    for each in leaves:
        if not isinstance(each, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(each)}")
    inside = [own_input(each) for each in leaves]
    return tree_unflatten(inside, structure), inside


class Pullback:
    """The recorded outputs and inputs of a function, and gradients through them."""

    def __init__(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        self.outputs = [at_own_level(each) for each in outputs]
        self.inputs = list(inputs)
        self.own = {id(each) for each in inputs if graph.grad_fn_of(each) is None}

    def gradients(self, cotangents: Sequence[Any], keep: bool, may_differentiate: bool) -> list[Any]:
        """The gradient of every input; zeros where an output does not depend on it."""
        pairs = [
            (graph.gradient_edge(output), cotangent)
            for output, cotangent in zip(self.outputs, cotangents, strict=True)
            if graph.requires_grad(output)
        ]
        if not pairs:
            return [pellucid.zeros_like(each) for each in self.inputs]
        create = may_differentiate and self._matters_outside(cotangents)
        targets = [graph.gradient_edge(each) for each in self.inputs]
        roots: Any = [edge for edge, _ in pairs]
        found = run_backward(roots, [cotangent for _, cotangent in pairs], keep or create, create, targets)  # type: ignore[arg-type]
        return [
            pellucid.zeros_like(each).detach() if gradient is None else released(gradient, self.own, may_differentiate)
            for each, gradient in zip(self.inputs, found, strict=True)
        ]

    def transposed(self) -> Pullback:
        """The map from tangents of the inputs to those of the outputs, as the pullback of this pullback."""
        probes = [leaf(pellucid.ones_like(each).detach()) for each in self.outputs]
        pairs = [pair for pair in zip(self.outputs, probes, strict=True) if graph.requires_grad(pair[0])]
        targets: Any = [graph.gradient_edge(each) for each in self.inputs]
        roots: Any = [graph.gradient_edge(output) for output, _ in pairs]
        found = (
            run_backward(roots, [probe for _, probe in pairs], True, True, targets) if pairs else [None] * len(targets)
        )
        pulled = [
            pellucid.zeros_like(each).detach() if gradient is None else gradient
            for each, gradient in zip(self.inputs, found, strict=True)
        ]
        result = Pullback(pulled, probes)
        result.own |= self.own
        return result

    def _matters_outside(self, cotangents: Sequence[Any]) -> bool:
        """Whether somebody outside may differentiate the gradients."""
        if any(is_tracked(each) for each in cotangents):
            return True
        for each in self.outputs:
            if reaches_outside(each, self.own) or has_tracked_tangent(each):
                return True
            if is_batched(each) and is_tracked(each._storage.physical):
                return True
        return False


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The output of `func` and a function that gives, for a cotangent of the output, the cotangents of the inputs.

    With `has_aux`, `func` returns (output, aux) and the result is (output, function, aux).

    >>> import pellucid as torch
    >>> y, pull = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pull(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func: Callable[..., Any], primals: tuple[Any, ...], argnums: Any, has_aux: bool) -> Any:
    """`vjp` with respect to some of the arguments only."""
    with recording() as may_differentiate:
        if argnums is None:
            arguments, inside = as_inputs(primals)
            structure = tree_flatten(primals)[1]
        else:
            chosen = chosen_arguments(primals, argnums)
            replaced, inside = as_inputs(chosen)
            structure = tree_flatten(chosen)[1]
            arguments = with_arguments(primals, argnums, replaced)
        outputs = func(*arguments)
        aux = None
        if has_aux:
            outputs, aux = _output_and_aux(outputs, "vjp(f, *primals)")
        leaves, out_structure = tree_flatten(outputs)
        check_outputs(leaves, outputs, "vjp(f, *primals)")
        pullback = Pullback(leaves, inside)
        results = [released(each, pullback.own, may_differentiate) for each in leaves]
        aux = tree_map(lambda each: released(each, pullback.own, may_differentiate), aux)

    def wrapper(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return _pulled(pullback, cotangents, out_structure, structure, retain_graph, create_graph)

    result = tree_unflatten(results, out_structure)
    return (result, wrapper, aux) if has_aux else (result, wrapper)


def _pulled(
    pullback: Pullback, cotangents: Any, outputs: TreeSpec, inputs: TreeSpec, keep: bool, create: bool | None
) -> Any:
    leaves, structure = tree_flatten(cotangents)
    if structure != outputs:
        raise RuntimeError(
            "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
            f"cotangents: {structure}, primal output: {outputs}"
        )
    for number, (output, cotangent) in enumerate(zip(pullback.outputs, leaves, strict=True)):
        if cotangent.shape != output.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{number}] has a shape of {cotangent.shape} and output[{number}] has a "
                f"shape of {output.shape}."
            )
    outside = state.grad_enabled if create is None else create
    before = state.inference
    state.inference = False
    try:
        found = pullback.gradients(leaves, keep, outside)
    finally:
        state.inference = before
    return tree_unflatten(found, inputs)


def _output_and_aux(outputs: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(outputs, tuple) or len(outputs) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return outputs


def check_outputs(leaves: list[Any], outputs: Any, name: str) -> None:
    """RuntimeError unless a function gave tensors that have gradients, and at least one."""
    if not leaves:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for each in leaves:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(each)}"
            )
    for each in leaves:
        if each._meta.dtype.category < 2:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{each.dtype}"
            )


def checked_argnums(argnums: Any, count: int) -> Argnums:
    """`argnums` counted from the front; RuntimeError for what is no argument."""
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        found = tuple([_checked_argnum(each, count) for each in argnums])
        if len(set(found)) != len(found):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
        return found
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return _checked_argnum(argnums, count)
    raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")


def _checked_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def chosen_arguments(args: tuple[Any, ...], argnums: Any) -> Any:
    """The arguments that `argnums` names: one, or a tuple of them."""
    found = checked_argnums(argnums, len(args))
    return args[found] if isinstance(found, int) else tuple([args[each] for each in found])


def with_arguments(args: tuple[Any, ...], argnums: Any, replaced: Any) -> tuple[Any, ...]:
    """The arguments with others in the places that `argnums` names."""
    found = checked_argnums(argnums, len(args))
    places = (found,) if isinstance(found, int) else found
    values = (replaced,) if isinstance(found, int) else replaced
    arguments = list(args)
    for place, value in zip(places, values, strict=True):
        arguments[place] = value
    return tuple(arguments)


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func` and its value, which must be one number.

    With `has_aux`, `func` returns (value, aux) and the result is (gradient, (value, aux)).

    >>> import pellucid as torch
    >>> torch.func.grad_and_value(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @functools.wraps(func, assigned=_assigned(func), updated=())
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        with recording() as may_differentiate:
            chosen = chosen_arguments(args, argnums)
            replaced, inside = as_inputs(chosen)
            output = func(*with_arguments(args, argnums, replaced), **kwargs)
            aux = None
            if has_aux:
                output, aux = _output_and_aux(output, "grad_and_value(f)(*args)")
            _check_scalar(output)
            pullback = Pullback([output], inside)
            one = pellucid.ones_like(output)
            found = pullback.gradients([one.detach()], False, may_differentiate)
            value = released(output, pullback.own, may_differentiate)
            aux = tree_map(lambda each: released(each, pullback.own, may_differentiate), aux)
        gradient = tree_unflatten(found, tree_flatten(chosen)[1])
        return (gradient, (value, aux)) if has_aux else (gradient, value)

    return gradient_and_value


def _assigned(func: Any) -> list[str]:
    return [each for each in functools.WRAPPER_ASSIGNMENTS if hasattr(func, each)]


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim() != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
    if output.is_complex():
        raise RuntimeError("grad can be implicitly created only for real scalar outputs but got " + str(output.dtype))


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func` with respect to the arguments that `argnums` names.

    `func` must return one number; with `has_aux`, (number, aux), and the result is (gradient, aux).

    >>> import pellucid as torch
    >>> second = torch.func.grad(torch.func.grad(torch.sin))
    >>> second(torch.tensor(0.0))
    tensor(-0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, assigned=_assigned(func), updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient
