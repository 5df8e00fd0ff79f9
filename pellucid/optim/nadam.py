"""NAdam: Adam with Nesterov momentum."""

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
    has_decay,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(RuleOptimizer):
    """Adam whose step looks ahead along the momentum, with the momentum itself on a schedule.

    Dozat 2016, "Incorporating Nesterov Momentum into Adam"; the momentum of step t is
    beta1 * (1 - 0.5 * 0.96^(t * momentum_decay)). `decoupled_weight_decay` takes the decay from the parameter, in one
    sum with the step. Raises ValueError for settings out of range.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.NAdam([weight], lr=0.25).step()
    >>> round(weight.item(), 4)
    0.7359
    """

    _late_settings = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    _counters = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(0.0, param, group),
            "mu_product": counter(1.0, param, group),
            "exp_avg": pellucid.zeros_like(param),
            "exp_avg_sq": pellucid.zeros_like(param),
        }

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p -= (a * g + b * m) / (sqrt(v / bias2) + eps), where a and b come from the momentum's schedule."""
        step = count(state, settings)
        lr, differentiable = settings["lr"], settings["differentiable"]
        beta1, beta2 = settings["betas"]
        decoupled = settings["decoupled_weight_decay"]
        if not decoupled:
            grad = with_decay(grad, param, settings)
        grad_factor, momentum_factor = _lookahead(step, state["mu_product"], beta1, settings)
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = exp_avg_sq.div(1 - beta2**step).sqrt()
        # The backward of a square root needs its result, so only an undifferentiated one is added to in place.
        denominator = root.add(settings["eps"]) if differentiable else root.add_(settings["eps"])
        if differentiable:
            exp_avg = exp_avg.clone()
        if decoupled and has_decay(settings):
            before = param.clone() if differentiable else param
            update = (grad * (lr * grad_factor) + exp_avg * (lr * momentum_factor)) / denominator
            param.sub_(update + before * (lr * settings["weight_decay"]))
            return
        add_quotient_(param, grad, denominator, -lr * grad_factor)
        add_quotient_(param, exp_avg, denominator, -lr * momentum_factor)


def _lookahead(step: Any, mu_product: Tensor, beta1: float, settings: dict[str, Any]) -> tuple[Any, Any]:
    """Multiplies the product of momenta by this step's; returns the weights of the gradient and of its mean."""
    decay = settings["momentum_decay"]
    mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * decay)))
    mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * decay)))
    mu_product *= mu
    product = mu_product if settings["capturable"] else mu_product.item()
    return (1.0 - mu) / (1.0 - product), mu_next / (1.0 - product * mu_next)
