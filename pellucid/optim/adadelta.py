"""Adadelta: steps in the units of the parameter, from running averages of gradients and of steps."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_scaled_,
    check_learning_rate,
    count,
    counter,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(RuleOptimizer):
    """Scales the gradient by the ratio of two running root mean squares, that of past steps over that of gradients.

    Zeiler 2012, "ADADELTA: An Adaptive Learning Rate Method"; `lr` multiplies the step. Raises ValueError for settings
    out of range.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.Adadelta([weight], rho=0.75, eps=0.25).step()
    >>> round(weight.item(), 4)
    0.2929
    """

    _late_settings = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(0.0, param, group),
            "square_avg": pellucid.zeros_like(param),
            "acc_delta": pellucid.zeros_like(param),
        }

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """d = sqrt(a + eps) / sqrt(s + eps) * g, p -= lr * d, where s averages g^2 and a averages d^2."""
        count(state, settings)
        rho, eps = settings["rho"], settings["eps"]
        square_avg, acc_delta = state["square_avg"], state["acc_delta"]
        grad = with_decay(grad, param, settings)
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square_avg.add(eps).sqrt_()
        delta = acc_delta.add(eps).sqrt_()
        if settings["differentiable"]:
            delta = delta / root * grad
        else:
            delta.div_(root).mul_(grad)
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        add_scaled_(param, delta, -settings["lr"])
