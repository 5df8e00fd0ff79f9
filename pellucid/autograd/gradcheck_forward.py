"""What `gradcheck` checks of forward mode: derivatives along directions against finite differences, and under vmap."""

from __future__ import annotations

import itertools
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pellucid.autograd.gradcheck import (
    Check,
    GradcheckError,
    are_close,
    derivatives,
    positions_of,
    random_direction,
)
from pellucid.autograd.gradcheck_batches import refuse_batch


def compare(check: Check, fast: bool) -> None:
    """Each element of each input moved on its own; in fast mode, one random direction per input."""
    for index, tensor in _differentiable_inputs(check):
        if fast:
            tangent = _as_tangent(random_direction(tensor, pellucid.Generator()), tensor)
            _compare_along(check, index, tangent, derivatives(check, tensor.data, tangent * check.eps))
            continue
        data = tensor.data
        for place in itertools.product(*[range(size) for size in tensor.shape]):
            for unit in (1, 1j) if tensor.is_complex() else (1,):
                tangent = pellucid.zeros_like(tensor, requires_grad=False)
                tangent[place] = unit
                _compare_along(check, index, tangent, derivatives(check, data[place], check.eps * unit))


def _as_tangent(direction: Any, tensor: Tensor) -> Tensor:
    if isinstance(direction, tuple):
        real, imaginary = [each.reshape(tensor.shape) for each in direction]
        return pellucid.complex(real, imaginary)
    return direction.reshape(tensor.shape)  # type: ignore[no-any-return]


def _differentiable_inputs(check: Check) -> list[tuple[int, Tensor]]:
    return [(i, each) for i, each in enumerate(check.inputs) if isinstance(each, Tensor) and each.requires_grad]


def pushed(check: Check, index: int, tangent: Tensor) -> list[Tensor]:
    """The tangents of the floating outputs when one input has this tangent."""
    with dual_level():
        given = list(check.inputs)
        given[index] = make_dual(given[index], tangent)
        outputs = check.function(*given)
        outputs = tuple(outputs) if isinstance(outputs, list | tuple) else (outputs,)
        found = []
        for position in positions_of(outputs):
            turned = unpack_dual(outputs[position]).tangent
            found.append(pellucid.zeros_like(outputs[position]) if turned is None else turned)
    return found


def _compare_along(check: Check, index: int, tangent: Tensor, moved: list[Tensor]) -> None:
    turned = pushed(check, index, tangent)
    for position, (ours, theirs) in enumerate(zip(turned, moved, strict=True)):
        ours = ours.detach().reshape(-1)
        if not are_close(ours, theirs, check.rtol, check.atol):
            raise GradcheckError(
                f"Jacobian computed with forward mode mismatch for output {position} with respect to input {index},\n"
                f"numerical:{theirs}\nanalytical:{ours}\n"
            )


def compare_batched(check: Check) -> None:
    """Two tangents at once against one after the other."""
    for index, tensor in _differentiable_inputs(check):
        tangents = [pellucid.randn_like(tensor).detach() for _ in range(2)]
        looped = [pushed(check, index, each) for each in tangents]
        try:
            found = pellucid.vmap(lambda tangent, index=index: tuple(pushed(check, index, tangent)))(
                pellucid.stack(tangents)
            )
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\ngradcheck failed while testing batched gradient "
                "computation with forward-mode AD."
            ) from error
        for position, ours in enumerate(found):
            theirs = pellucid.stack([each[position] for each in looped])
            if not pellucid.allclose(ours, theirs):
                refuse_batch(position, index, ours, theirs, " with forward-mode AD")
