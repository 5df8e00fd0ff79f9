"""Adafactor: Adam's scaling from the row and column means of squared gradients."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import RuleOptimizer, check_learning_rate, counter, require
from pellucid.optim.optimizer import ParamsT

__all__ = ["Adafactor"]


class Adafactor(RuleOptimizer):
    """Divides the gradient by an estimate of its root mean square that is kept as one row and one column per matrix.

    Shazeer and Stern 2018, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost". The step is relative to
    the parameter's own root mean square (at least eps[1]), and its root mean square is clipped to `d`. eps[0] None
    stands for the dtype's epsilon. Raises ValueError for settings out of range.

    >>> import pellucid as torch
    >>> weight = torch.ones(2, 2, requires_grad=True)
    >>> weight.sum().backward()
    >>> optimizer = torch.optim.Adafactor([weight], lr=0.25)
    >>> optimizer.step()
    >>> round(weight[0, 0].item(), 4), tuple(optimizer.state[weight]["row_var"].shape)
    (0.75, (2, 1))
    """

    _late_settings = {"foreach": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr, "Learning rate should be >= 0 but is:")
        require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        require(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        grad = param.grad
        state = {"step": counter(0.0, param, group)}
        if grad.dim() > 1:
            *batch, rows, columns = grad.shape
            state["row_var"] = grad.new_zeros((*batch, rows, 1))
            state["col_var"] = grad.new_zeros((*batch, 1, columns))
        else:
            state["variance"] = pellucid.zeros_like(grad)
        return state

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p -= alpha / max(1, rms(u) / d) * u with u = g / sqrt(estimate), alpha relative to rms(p)."""
        state["step"] += 1
        step = state["step"].item()
        eps1, eps2 = settings["eps"]
        eps1 = pellucid.finfo(param.dtype).eps if eps1 is None else eps1
        lr = settings["lr"]
        alpha = max(eps2, _root_mean_square(param)) * min(lr, 1 / (step**0.5))
        if settings["weight_decay"] != 0:
            param.mul_(1 - lr * settings["weight_decay"])
        freshness = step ** settings["beta2_decay"]
        estimate = _estimate_squares(grad, state, freshness, eps1)
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        clip = max(1.0, _root_mean_square(update) / settings["d"])
        param.add_(update, alpha=-alpha / clip)


def _root_mean_square(tensor: Tensor) -> float:
    return tensor.norm(2).item() / tensor.numel() ** 0.5


def _estimate_squares(grad: Tensor, state: dict[str, Any], freshness: float, eps: float) -> Tensor:
    """Moves the running means towards this gradient's squares; returns what they say about every entry."""
    if grad.dim() <= 1:
        variance = state["variance"]
        variance.lerp_(grad * grad, freshness)
        return variance.clone()
    row_var, col_var = state["row_var"], state["col_var"]
    row_var.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), freshness)
    col_var.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), freshness)
    estimate = row_var @ col_var
    return estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps))
