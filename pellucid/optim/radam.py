"""RAdam: Adam that waits with the division until its second moment can be trusted."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_quotient_,
    add_scaled_,
    check_betas,
    check_learning_rate,
    count,
    counter,
    has_decay,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(RuleOptimizer):
    """Steps along the running mean of the gradient, and divides it as Adam does only once rho_t > 5.

    Liu et al. 2019, "On the Variance of the Adaptive Learning Rate and Beyond", algorithm 2.
    `decoupled_weight_decay` takes the decay from the parameter, in one sum with the step. Raises ValueError for
    settings out of range.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.RAdam([weight], lr=0.25).step()
    >>> round(weight.item(), 4)
    0.75
    """

    _late_settings = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": counter(0.0, param, group),
            "exp_avg": pellucid.zeros_like(param),
            "exp_avg_sq": pellucid.zeros_like(param),
        }

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p -= lr / bias1 * m * (r * sqrt(bias2) / (sqrt(v) + eps)), with the bracket 1 while rho_t <= 5."""
        step = count(state, settings)
        lr, differentiable = settings["lr"], settings["differentiable"]
        beta1, beta2 = settings["betas"]
        decoupled = settings["decoupled_weight_decay"]
        if not decoupled:
            grad = with_decay(grad, param, settings)
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step_size = lr / (1 - beta1**step)
        trusted, factor = _rectification(step, beta2)
        if differentiable:
            exp_avg = exp_avg.clone()
        decay = lr * settings["weight_decay"] if decoupled and has_decay(settings) else None
        if not isinstance(trusted, Tensor) and decay is None:
            if trusted:
                add_quotient_(param, exp_avg, _root(exp_avg_sq, settings), -step_size * factor)
            else:
                add_scaled_(param, exp_avg, -step_size)
            return
        update = exp_avg * step_size
        if isinstance(trusted, Tensor):
            update = pellucid.where(trusted, update * factor / _root(exp_avg_sq, settings), update)
        elif trusted:
            update = update * factor / _root(exp_avg_sq, settings)
        if decay is not None:
            update = update + (param.clone() if differentiable else param) * decay
        param.sub_(update)


def _root(exp_avg_sq: Tensor, settings: dict[str, Any]) -> Tensor:
    """sqrt(v) + eps; the backward of a square root needs its result, so only an undifferentiated one is reused."""
    root = exp_avg_sq.sqrt()
    return root.add(settings["eps"]) if settings["differentiable"] else root.add_(settings["eps"])


def _rectification(step: Any, beta2: float) -> tuple[Any, Any]:
    """Whether the second moment can be trusted at this step, and r * sqrt(bias2); both tensors for a tensor step."""
    bias_correction2 = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / bias_correction2
    trusted = length > 5.0
    if not isinstance(trusted, Tensor) and not trusted:
        return False, 1.0
    ratio = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return trusted, (ratio * bias_correction2) ** 0.5
