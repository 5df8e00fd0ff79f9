"""Mistakes: the class of PyTorch's error, and the phrase of its message that programs look for."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import pellucid

from .parity import Program, same_error_in_both

vmap_of = lambda f, *args, **how: lambda t: t.vmap(f(t), **how)(*[each(t) for each in args])  # noqa: E731
rows = lambda t: t.arange(12.0).view(3, 4)  # noqa: E731


def dual(t: ModuleType, use: Any) -> Any:
    forward = t.autograd.forward_ad
    with forward.dual_level():
        return use(forward, forward.make_dual(rows(t), rows(t)))


def no_level(t: ModuleType) -> Any:
    return t.autograd.forward_ad.make_dual(rows(t), rows(t))


def nested_levels(t: ModuleType) -> Any:
    with t.autograd.forward_ad.dual_level():
        return t.autograd.forward_ad.enter_dual_level()


ERRORS: dict[str, tuple[Program, str]] = {
    "item": (
        vmap_of(lambda t: lambda x: x.sum().item(), rows),
        "vmap: It looks like you're calling .item() on a Tensor",
    ),
    "float": (
        vmap_of(lambda t: lambda x: float(x.sum()), rows),
        "vmap: It looks like you're calling .item() on a Tensor",
    ),
    "branch": (
        vmap_of(lambda t: lambda x: x if x.sum() > 0 else -x, rows),
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow",
    ),
    "copy into an unbatched tensor": (
        vmap_of(lambda t: lambda x: t.zeros(4).copy_(x), rows),
        "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in",
    ),
    "random": (
        vmap_of(lambda t: lambda x: x + t.rand(4), rows),
        "vmap: called random operation while in randomness error mode",
    ),
    "dropout": (
        vmap_of(lambda t: lambda x: t.nn.functional.dropout(x), rows),
        "vmap: called random operation while in randomness error mode",
    ),
    "same randomness of given probabilities": (
        vmap_of(lambda t: lambda x: t.bernoulli(x.sigmoid()), rows, randomness="same"),
        "Vmap does not currently support same randomness with a batched tensor input",
    ),
    "different numbers in one tensor": (
        vmap_of(lambda t: lambda x: t.zeros(4).uniform_(), rows, randomness="different"),
        "vmap: Cannot ask for different inplace randomness on an unbatched tensor",
    ),
    "unknown randomness": (
        vmap_of(lambda t: lambda x: x, rows, randomness="some"),
        "Only allowed values for randomness are 'error', 'different', or 'same'",
    ),
    "dynamic shapes": (
        vmap_of(lambda t: t.nonzero, lambda t: t.tensor([[1.0, 0.0], [1.0, 1.0]])),
        "vmap: We do not support batching operators that can output dynamic shape",
    ),
    "mask": (vmap_of(lambda t: lambda x: x[x > 2], rows), "Attempting to batch over indexing with a boolean mask"),
    "out=": (
        vmap_of(lambda t: lambda x: t.add(x, 1, out=t.zeros(4)), rows),
        "Batching rule not implemented for aten::add.out",
    ),
    "numpy": (
        vmap_of(lambda t: lambda x: x.numpy(), rows),
        "Cannot access data pointer of Tensor that doesn't have storage",
    ),
    "no inputs": (lambda t: t.vmap(lambda: 1)(), "got no inputs"),
    "no batch": (vmap_of(lambda t: lambda x: x, rows, in_dims=None), "expected `in_dims` to be int or a"),
    "no tensor": (vmap_of(lambda t: lambda x: x, lambda t: 3), "Got in_dim=0 for an input but the input is of type"),
    "nothing to map over": (
        vmap_of(lambda t: lambda x: x, rows, in_dims=(None,)),
        "Expected at least one Tensor to vmap over",
    ),
    "sizes differ": (
        vmap_of(lambda t: lambda x, y: x, rows, lambda t: t.ones(2)),
        "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [3, 2]",
    ),
    "wrong axis": (
        vmap_of(lambda t: lambda x: x, rows, in_dims=2),
        "but that input is a Tensor of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2",
    ),
    "wrong structure": (
        vmap_of(lambda t: lambda x: x, rows, in_dims=((0, 0),)),
        "in_dims is not compatible with the structure of `inputs`",
    ),
    "axis of no type": (
        vmap_of(lambda t: lambda x: x, rows, in_dims=("a",)),
        "Got in_dim=a for an input but in_dim must be",
    ),
    "wrong out_dims": (
        vmap_of(lambda t: lambda x: (x, x), rows, out_dims=(0, 0, 0)),
        "out_dims is not compatible with the structure of `outputs`",
    ),
    "out_dims of no type": (
        vmap_of(lambda t: lambda x: x, rows, out_dims="a"),
        "`out_dims` must be an int, None or a python",
    ),
    "output is no tensor": (
        vmap_of(lambda t: lambda x: None, rows),
        "must only return Tensors, got type <class 'NoneType'>",
    ),
    "batched output without axis": (
        vmap_of(lambda t: lambda x: x, rows, out_dims=None),
        "can not return a BatchedTensor when out_dim is None",
    ),
    "axis outside": (vmap_of(lambda t: lambda x: x, rows, out_dims=2), "Dimension out of range"),
    "chunks": (vmap_of(lambda t: lambda x: x, rows, chunk_size=0), "chunk_size should be None or greater than 0"),
    "requires_grad_ inside": (
        lambda t: t.func.grad(lambda x: x.requires_grad_().sum())(rows(t)),
        "You are attempting to call Tensor.requires_grad_()",
    ),
    "backward inside": (
        lambda t: t.func.grad(lambda x: x.sum().backward())(rows(t)),
        "backward() called inside a functorch transform",
    ),
    "gradient of many": (
        lambda t: t.func.grad(lambda x: x)(rows(t)),
        "to return a scalar Tensor, got tensor with 2 dims",
    ),
    "gradient of none": (lambda t: t.func.grad(lambda x: 1.0)(rows(t)), "to return a Tensor, got <class 'float'>"),
    "gradient of integers": (
        lambda t: t.func.grad(lambda x: x.sum())(t.arange(3)),
        "only Tensors of floating point dtype can require gradients",
    ),
    "no aux": (
        lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(rows(t)),
        "output of function f should be a tuple",
    ),
    "argnums": (
        lambda t: t.func.grad(lambda x: x.sum(), argnums=1)(rows(t)),
        "Got argnum=1, but only 1 positional inputs",
    ),
    "argnums twice": (
        lambda t: t.func.grad(lambda x, y: x.sum(), argnums=(0, 0))(rows(t), rows(t)),
        "argnums elements must be unique",
    ),
    "cotangent": (lambda t: t.func.vjp(t.sin, rows(t))[1](rows(t)[0]), "Mismatch in shape: grad_output[0]"),
    "cotangents": (
        lambda t: t.func.vjp(lambda x: (x, x), rows(t))[1](rows(t)),
        "Expected pytree structure of cotangents to be the same",
    ),
    "vjp of integers": (
        lambda t: t.func.vjp(lambda x: x > 1, rows(t)),
        "All outputs of f must be floating-point or complex",
    ),
    "jvp of a list": (lambda t: t.func.jvp(t.sin, [rows(t)], (rows(t),)), "Expected primals to be a tuple"),
    "jvp structures": (
        lambda t: t.func.jvp(t.sin, (rows(t),), (rows(t), rows(t))),
        "Expected primals and tangents to have the same python structure",
    ),
    "jvp shapes": (
        lambda t: t.func.jvp(t.sin, (rows(t),), (rows(t)[0],)),
        "Trying to set a forward gradient that has a different size than that of the original Tensor",
    ),
    "jvp of integers": (
        lambda t: t.func.jvp(t.sum, (t.arange(3),), (t.arange(3),)),
        "Expected primal to be floating point or complex, but got: torch.int64",
    ),
    "independent output": (
        lambda t: t.func.jvp(lambda x: t.ones(1), (rows(t),), (rows(t),), strict=True),
        "The output of f is independent of the inputs",
    ),
    "jacrev of no tensor": (
        lambda t: t.func.jacrev(lambda x: 1.0)(rows(t)),
        "expected f(*primals) to return only tensors",
    ),
    "jacrev of complex": (
        lambda t: t.func.jacrev(lambda x: x)(t.ones(2, dtype=t.complex64)),
        "jacrev: Expected all inputs to be real",
    ),
    "jacrev chunks": (lambda t: t.func.jacrev(t.sin, chunk_size=0), "jacrev: `chunk_size` should be greater than 0"),
    "functionalize": (
        lambda t: t.func.functionalize(lambda x: x, remove="all")(t.ones(1)),
        "received invalid argument for remove=all",
    ),
    "batch norm with memory": (
        lambda t: t.vmap(t.nn.BatchNorm1d(4))(t.ones(2, 3, 4)),
        "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in",
    ),
    "no models": (lambda t: t.func.stack_module_state([]), "Expected at least one model, got 0"),
    "models of several classes": (
        lambda t: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.ReLU()]),
        "Expected all models to be of the same class",
    ),
    "models in several modes": (
        lambda t: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.Linear(1, 1).eval()]),
        "Expected all models to have the same training/eval mode",
    ),
    "keys in several dictionaries": (
        lambda t: t.func.functional_call(t.nn.ReLU(), ({"a": t.ones(1)}, {"a": t.ones(1)}), t.ones(1)),
        "appeared in multiple dictionaries",
    ),
    "no level": (no_level, "Trying to create a dual Tensor for forward AD but no level exists"),
    "nested levels": (nested_levels, "Nested forward mode AD is not supported at the moment"),
    "dual of a dual": (
        lambda t: dual(t, lambda forward, x: forward.make_dual(x, rows(t))),
        "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level",
    ),
    "dual into out=": (
        lambda t: dual(t, lambda forward, x: t.add(x, 1, out=t.zeros(3, 4))),
        "Trying to use forward AD with add_out that does not support it because it is an out= function",
    ),
    "batched cotangents": (
        lambda t: (lambda x: t.autograd.grad(x * 2, x, t.ones(2), is_grads_batched=True))(
            t.ones(2, requires_grad=True)
        ),
        "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_told_as_in_pytorch(name: str) -> None:
    same_error_in_both(*ERRORS[name])


def test_a_sample_that_escaped_says_so() -> None:
    seen: list[Any] = []
    pellucid.vmap(lambda x: seen.append(x) or x)(pellucid.ones(2, 3))
    with pytest.raises(RuntimeError, match="may have escaped from inside a function being vmapped"):
        seen[0] + 1  # PyTorch's own text; PyTorch itself may crash here
