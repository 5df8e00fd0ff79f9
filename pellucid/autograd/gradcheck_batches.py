"""What `gradcheck` checks of gradients under vmap: cotangents all at once against one after the other."""

from __future__ import annotations

from typing import Any, NoReturn

import pellucid
from pellucid import Tensor
from pellucid.autograd.gradcheck import Check, GradcheckError


def refuse_batch(output: int, index: int, ours: Tensor, theirs: Tensor, how: str = "") -> NoReturn:
    """GradcheckError for batched gradients that differ from those computed in a loop."""
    raise GradcheckError(
        f"For output {output} and input {index}:\n\ngradcheck or gradgradcheck failed while testing batched gradient "
        f"computation{how}.\n\nGot:\n{ours}\n\nExpected:\n{theirs}"
    )


def compare(check: Check) -> None:
    """For each output, two random cotangents."""
    outputs = check.outputs()
    inputs = check.differentiable_inputs
    for position, output in enumerate(outputs):
        if not (isinstance(output, Tensor) and output.requires_grad):
            continue
        rows = [pellucid.randn_like(output).detach() for _ in range(2)]
        looped = [_gradients(output, inputs, each) for each in rows]
        try:
            found = _gradients(output, inputs, pellucid.stack(rows), is_grads_batched=True)
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\ngradcheck or gradgradcheck failed while testing "
                "batched gradient computation."
            ) from error
        for index, ours in enumerate(found):
            theirs = pellucid.stack([each[index] for each in looped])
            if not pellucid.allclose(ours, theirs):
                refuse_batch(position, index, ours, theirs)


def _gradients(output: Tensor, inputs: list[Tensor], cotangent: Tensor, **options: Any) -> list[Tensor]:
    found = pellucid.autograd.grad(output, inputs, cotangent, retain_graph=True, allow_unused=True, **options)
    lead = tuple(cotangent.shape[: cotangent.dim() - output.dim()])
    return [
        pellucid.zeros((*lead, *each.shape), dtype=each.dtype) if gradient is None else gradient
        for each, gradient in zip(inputs, found, strict=True)
    ]
