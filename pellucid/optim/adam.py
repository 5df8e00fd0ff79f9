"""Adam, with coupled or decoupled weight decay."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_quotient_,
    add_scaled_,
    check_betas,
    check_fused_flag,
    check_learning_rate,
    count,
    counter,
    has_decay,
    require,
    setting,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT, _to_scalar

__all__ = ["Adam"]


def _check_tensor_settings(lr: Any, betas: Any, foreach: bool | None, capturable: bool) -> None:
    """Raises ValueError for tensor settings in combinations that PyTorch refuses."""
    eager_foreach = foreach and not capturable
    if isinstance(lr, Tensor) and eager_foreach:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    both_floats = isinstance(betas[0], float) and isinstance(betas[1], float)
    both_tensors = isinstance(betas[0], Tensor) and isinstance(betas[1], Tensor)
    require(both_floats or both_tensors, "betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if not isinstance(beta, Tensor):
            continue
        name = f"betas[{index}]"
        require(not eager_foreach, f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        require(beta.numel() == 1, f"Tensor {name} must be 1-element")


class Adam(RuleOptimizer):
    """Scales each coordinate's step by running averages of its gradient and of the gradient's square.

    Kingma and Ba 2014, "Adam: A Method for Stochastic Optimization", algorithm 1; `amsgrad` keeps the largest
    second moment (Reddi et al. 2018). `weight_decay` is added to the gradient, or, with `decoupled_weight_decay`,
    taken from the parameter (AdamW). Raises ValueError for settings out of range.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.Adam([weight], lr=0.25).step()
    >>> round(weight.item(), 4)
    0.75
    """

    _late_settings = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _sparse_advice = ", please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        _check_tensor_settings(lr, betas, foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": (_to_scalar(betas[0]), _to_scalar(betas[1])),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused_flag(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {
            "step": counter(0.0, param, group),
            "exp_avg": pellucid.zeros_like(param),
            "exp_avg_sq": pellucid.zeros_like(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = pellucid.zeros_like(param)
        return state

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        settings = super()._settings(group)
        keep_tensors = bool(group["differentiable"] or group["capturable"])
        settings["betas"] = tuple(setting(beta, keep_tensors) for beta in group["betas"])
        return settings

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p -= lr / bias1 * m / (sqrt(v / bias2) + eps), and lr * weight_decay * p where the decay is decoupled."""
        step = count(state, settings)
        decoupled = settings["decoupled_weight_decay"]
        if not decoupled:
            grad = with_decay(grad, param, settings)
        beta1, beta2 = settings["betas"]
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        _update_moments(exp_avg, exp_avg_sq, grad, beta1, beta2)
        if settings["amsgrad"]:
            exp_avg_sq = _keep_largest(state["max_exp_avg_sq"], exp_avg_sq, settings["differentiable"])
        bias_correction1 = 1 - beta1**step
        bias_correction2 = 1 - beta2**step
        denominator = (exp_avg_sq.sqrt() / bias_correction2**0.5).add_(settings["eps"])
        step_size = settings["lr"] / bias_correction1
        if settings["differentiable"]:
            # The next step writes into the moment while this step's graph still needs it.
            exp_avg = exp_avg.clone()
        if not (decoupled and has_decay(settings)):
            add_quotient_(param, exp_avg, denominator, -step_size)
            return
        # One subtraction for update and decay: 1 - lr * decay alone rounds to 1 in float32 once lr * decay < 3e-8.
        update = exp_avg / denominator
        decay = settings["weight_decay"] * bias_correction1
        if settings["differentiable"]:
            update = update + param.clone() * decay
        else:
            add_scaled_(update, param, decay)
        add_scaled_(param, update, -step_size)


def _update_moments(exp_avg: Tensor, exp_avg_sq: Tensor, grad: Tensor, beta1: Any, beta2: Any) -> None:
    """m = lerp(m, g, 1 - beta1) and v = beta2 * v + (1 - beta2) * g^2, in place."""
    if isinstance(beta1, Tensor):
        exp_avg.lerp_(grad, 1 - beta1.to(dtype=grad.dtype, device=grad.device))
        exp_avg_sq.lerp_(grad * grad, 1 - beta2.to(dtype=grad.dtype, device=grad.device))
        return
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)


def _keep_largest(largest: Tensor, exp_avg_sq: Tensor, differentiable: bool) -> Tensor:
    """Raises `largest` to `exp_avg_sq` in place where that is larger, and returns it."""
    if differentiable:
        # Both operands are written into by the next step, so the graph gets copies.
        return largest.copy_(pellucid.maximum(largest.clone(), exp_avg_sq.clone()))
    return pellucid.maximum(largest, exp_avg_sq, out=largest)
