"""AdamW: Adam whose weight decay acts on the parameter and not through the gradient."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.optim.adam import Adam
from pellucid.optim.optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay: besides Adam's step the parameter loses lr * weight_decay of its value.

    Loshchilov and Hutter 2017, "Decoupled Weight Decay Regularization", algorithm 2. Step and decay are subtracted
    in one sum, so that a decay too small for the parameter's precision is not lost.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.AdamW([weight], lr=0.25, weight_decay=0.5).step()
    >>> round(weight.item(), 4)
    0.625
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Files from before AdamW was a kind of Adam do not carry the setting, or carry Adam's.
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
