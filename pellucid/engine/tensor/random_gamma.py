"""Variates that `torch.distributions` draws: gamma and binomial."""

from __future__ import annotations

from typing import Any

from pellucid.engine.ops import random_gamma as ops
from pellucid.engine.tensor.arguments import need_tensor


def _standard_gamma(input: Any, generator: Any = None) -> Any:
    """Gamma variates of scale 1 with the given concentrations, with a gradient by implicit reparametrisation.

    >>> import pellucid as torch
    >>> torch._standard_gamma(torch.ones(2)).shape
    torch.Size([2])
    """
    return ops.standard_gamma(need_tensor(input, "_standard_gamma"), generator=generator)


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """Successes in `count` trials of probability `prob`.

    >>> import pellucid as torch
    >>> torch.binomial(torch.tensor([5.0]), torch.tensor([1.0]))
    tensor([5.])
    """
    return ops.binomial(need_tensor(count, "binomial", "count"), need_tensor(prob, "binomial", "prob"),
                        generator=generator)  # fmt: skip
