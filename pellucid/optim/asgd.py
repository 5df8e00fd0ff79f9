"""ASGD: gradient descent with a falling step and an average of the parameters."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    check_learning_rate,
    count,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT, _get_scalar_dtype, _get_value

__all__ = ["ASGD"]


class ASGD(RuleOptimizer):
    """Gradient descent whose state `ax` averages the parameter from step `t0` on.

    Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging". The step size falls as
    lr / (1 + lambd * lr * t)^alpha. Raises ValueError for negative `lr` or `weight_decay`.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.ASGD([weight], lr=0.25, lambd=0.0).step()
    >>> weight.item()
    0.75
    """

    _late_settings = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _counters = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        where = {"dtype": _get_scalar_dtype(), "device": param.device}
        return {
            "step": pellucid.zeros((), **where),
            "eta": pellucid.tensor(float(_get_value(group["lr"])), **where),
            "mu": pellucid.ones((), **where),
            "ax": pellucid.zeros_like(param),
        }

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p = (1 - lambd * eta) * p - eta * g, ax += mu * (p - ax); eta and mu are then set for the next step."""
        step = count(state, settings)
        lr, lambd = settings["lr"], settings["lambd"]
        mu, ax, eta = state["mu"], state["ax"], state["eta"]
        grad = with_decay(grad, param, settings)
        if settings["capturable"]:
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
            ax.add_(param.sub(ax).mul_(mu))
            eta.copy_(lr / ((1 + lambd * lr * step) ** settings["alpha"]))
            mu.copy_(1 / (step - settings["t0"]).clamp(min=1))
            return
        rate, weight = eta.item(), mu.item()
        if settings["foreach"]:  # the same in another order: PyTorch's foreach form decays and steps in one product
            param.sub_(grad.add(param, alpha=lambd).mul_(rate))
            step = state["step"]
        else:
            param.mul_(1 - lambd * rate)
            param.add_(grad, alpha=-rate)
        if weight == 1:
            ax.copy_(param)
        else:
            ax.add_(param.sub(ax), alpha=weight)
        eta.fill_(_get_value(lr / ((1 + lambd * lr * step) ** settings["alpha"])))
        mu.fill_(_get_value(1 / max(1, step - settings["t0"])))
