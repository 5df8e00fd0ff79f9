"""`jacrev`, `jacfwd` and `hessian`: every row, or every column, of a Jacobian at once by vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.func.batching import vmap
from pellucid.func.forward import jvp_of
from pellucid.func.reverse import Argnums, chosen_arguments, vjp_of
from pellucid.utils._pytree import tree_flatten, tree_unflatten

Tensors = Sequence[Any]


def basis(tensors: Tensors, start: int, end: int) -> list[Tensor]:
    """Rows start to end of the identity over all elements of the tensors, cut into the tensors' shapes."""
    total = sum(each.numel() for each in tensors)
    cut: list[Tensor] = []
    before = 0
    for each in tensors:
        rows = pellucid.zeros((end - start, each.numel()), dtype=each.dtype, device=each.device)
        first, last = max(start, before), min(end, before + each.numel())
        if first < last:
            places = pellucid.arange(first, last, device=each.device)
            rows[places - start, places - before] = 1
        cut.append(rows.view(end - start, *each.shape))
        before += each.numel()
    assert total == before
    return cut


def _pieces(total: int, chunk_size: int | None) -> list[tuple[int, int]]:
    step = total if chunk_size is None else chunk_size
    return [(start, min(start + step, total)) for start in range(0, total, step)] if total else [(0, 0)]


def _refuse_complex(name: str, values: Tensors, is_input: bool) -> None:
    for position, each in enumerate(values):
        if isinstance(each, Tensor) and each.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {'inputs' if is_input else 'outputs'} to be real but received complex tensor at "
                f"flattened input idx: {position}"
            )


def _assigned(func: Any) -> list[str]:
    return [each for each in functools.WRAPPER_ASSIGNMENTS if hasattr(func, each)]


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func` by reverse mode: output structure, then input structure, then a
    tensor of shape output.shape + input.shape.

    Reverse mode suits outputs of few elements; `chunk_size` is how many of their elements are taken at a time.

    >>> import pellucid as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, assigned=_assigned(func), updated=())
    def jacobian(*args: Any) -> Any:
        _refuse_complex("jacrev", tree_flatten(args)[0], is_input=True)
        found = vjp_of(func, args, argnums, has_aux)
        output, pull = found[0], found[1]
        outputs, out_structure = tree_flatten(output)
        _refuse_complex("jacrev", outputs, is_input=False)
        inputs, in_structure = tree_flatten(chosen_arguments(args, argnums))
        total = sum(each.numel() for each in outputs)
        rows = [_rows_of(pull, basis(outputs, start, end), out_structure) for start, end in _pieces(total, chunk_size)]
        columns = [part[0] if len(part) == 1 else pellucid.cat(part, 0) for part in zip(*rows, strict=True)]
        jacobians, before = [], 0
        for each in outputs:
            parts = [
                column.narrow(0, before, each.numel()).reshape(*each.shape, *x.shape)
                for column, x in zip(columns, inputs, strict=True)
            ]
            jacobians.append(tree_unflatten(parts, in_structure))
            before += each.numel()
        result = tree_unflatten(jacobians, out_structure)
        return (result, found[2]) if has_aux else result

    return jacobian


def _rows_of(pull: Any, basis: list[Tensor], structure: Any) -> list[Tensor]:
    if len(basis) and not basis[0].shape[0]:
        return [
            pellucid.zeros((0, *each.shape), dtype=each.dtype)
            for each in tree_flatten(pull(_ones(basis, structure)))[0]
        ]
    return tree_flatten(vmap(lambda *rows: pull(tree_unflatten(rows, structure)))(*basis))[0]


def _ones(basis: list[Tensor], structure: Any) -> Any:
    return tree_unflatten([pellucid.ones(tuple(each.shape[1:]), dtype=each.dtype) for each in basis], structure)


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func` by forward mode, structured as that of `jacrev`.

    Forward mode suits inputs of few elements. `randomness` is vmap's.

    >>> import pellucid as torch
    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func, assigned=_assigned(func), updated=())
    def jacobian(*args: Any) -> Any:
        _refuse_complex("jacfwd", tree_flatten(args)[0], is_input=True)
        primals = chosen_arguments(args, argnums)
        inputs, in_structure = tree_flatten(primals)
        total = sum(each.numel() for each in inputs)
        directions_of_all = basis(inputs, 0, total)
        kept: list[Any] = []

        def push(*directions: Tensor) -> Any:
            tangents = tree_unflatten(directions, in_structure)
            found = jvp_of(func, args, tangents, argnums, False, has_aux)
            leaves, structure = tree_flatten(found[1])
            kept[:] = [structure, found[2] if has_aux else None, tree_flatten(found[0])[0]]
            return tuple(leaves)

        columns = vmap(push, randomness=randomness)(*directions_of_all)
        structure, aux, _ = kept
        _refuse_complex("jacfwd", columns, is_input=False)
        result = tree_unflatten([tree_unflatten(_split(each, inputs), in_structure) for each in columns], structure)
        return (result, aux) if has_aux else result

    return jacobian


def _split(columns: Tensor, inputs: Tensors) -> list[Tensor]:
    """Derivatives by input element (axis 0), as one Jacobian per input, the output's axes in front."""
    parts, before = [], 0
    moved = columns.movedim(0, -1)
    for x in inputs:
        part = moved.narrow(-1, before, x.numel())
        parts.append(part.reshape(*columns.shape[1:], *x.shape))
        before += x.numel()
    return parts


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of `func`: forward mode over reverse mode.

    >>> import pellucid as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
