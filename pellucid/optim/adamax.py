"""Adamax: Adam with the largest gradient of the past in place of a root mean square."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_quotient_,
    check_betas,
    check_learning_rate,
    count,
    counter,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(RuleOptimizer):
    """Divides the running mean of the gradient by u = max(beta2 * u, |g| + eps), a decaying maximum.

    Kingma and Ba 2014, "Adam: A Method for Stochastic Optimization", algorithm 2. Raises ValueError for settings out
    of range.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.Adamax([weight], lr=0.25).step()
    >>> round(weight.item(), 4)
    0.75
    """

    _late_settings = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(0.0, param, group),
            "exp_avg": pellucid.zeros_like(param),
            "exp_inf": pellucid.zeros_like(param),
        }

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """u = max(beta2 * u, |g| + eps), p -= lr / bias1 * m / u."""
        step = count(state, settings)
        beta1, beta2 = settings["betas"]
        exp_avg, exp_inf = state["exp_avg"], state["exp_inf"]
        grad = with_decay(grad, param, settings)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_inf.copy_(pellucid.maximum(exp_inf * beta2, grad.abs().add_(settings["eps"])))
        if settings["differentiable"]:
            # The next step writes into both while this step's graph still needs them.
            exp_avg, exp_inf = exp_avg.clone(), exp_inf.clone()
        add_quotient_(param, exp_avg, exp_inf, -(settings["lr"] / (1 - beta1**step)))
