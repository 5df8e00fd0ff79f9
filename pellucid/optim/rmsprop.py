"""RMSprop: steps divided by a running root mean square of the gradient."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_quotient_,
    add_scaled_,
    check_learning_rate,
    count,
    counter,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(RuleOptimizer):
    """Divides the gradient by the square root of a running average of its square, plus `eps`.

    Tieleman and Hinton 2012, Coursera lecture 6.5; `centered` subtracts the squared running mean first (Graves 2013,
    "Generating Sequences With Recurrent Neural Networks"). Raises ValueError for negative settings.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.RMSprop([weight], lr=0.1, alpha=0.75).step()
    >>> round(weight.item(), 4)
    0.8
    """

    _late_settings = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": counter(0.0, param, group), "square_avg": pellucid.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = pellucid.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = pellucid.zeros_like(param)
        return state

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p -= lr * g / (sqrt(s) + eps), or along a momentum buffer of these quotients."""
        count(state, settings)
        lr, alpha, momentum = settings["lr"], settings["alpha"], settings["momentum"]
        grad = with_decay(grad, param, settings)
        square_avg = state["square_avg"]
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if settings["centered"]:
            grad_avg = state["grad_avg"]
            grad_avg.lerp_(grad, 1 - alpha)
            mean = grad_avg.clone() if settings["differentiable"] else grad_avg
            root = square_avg.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square_avg.sqrt()
        # The backward of a square root needs its result, so only an undifferentiated one is added to in place.
        root = root.add(settings["eps"]) if settings["differentiable"] else root.add_(settings["eps"])
        if momentum > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(momentum).addcdiv_(grad, root)
            add_scaled_(param, buffer.clone() if isinstance(lr, Tensor) else buffer, -lr)
        else:
            add_quotient_(param, grad, root, -lr)
