"""Rprop: steps from the signs of gradients alone."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import RuleOptimizer, check_learning_rate, count, counter, require
from pellucid.optim.optimizer import ParamsT, _get_value

__all__ = ["Rprop"]


class Rprop(RuleOptimizer):
    """Moves each coordinate by a step size of its own, which grows while the gradient's sign stays, else shrinks.

    Riedmiller and Braun 1993, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm".
    `etas` are the factors for shrinking and growing, `step_sizes` the bounds; `lr` is the first step size. Meant for
    full batches. Raises ValueError unless 0 < etas[0] < 1 < etas[1].

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.Rprop([weight], lr=0.25).step()
    >>> weight.item()
    0.75
    """

    _late_settings = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        require(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = _get_value(group["lr"])
        first = complex(lr, lr) if param.is_complex() else lr
        return {
            "step": counter(0.0, param, group),
            "prev": pellucid.zeros_like(param),
            "step_size": pellucid.full_like(param.grad, first),
        }

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """size *= eta by the sign of g * g_before, p -= sign(g) * size; where the sign turned, g counts as 0."""
        count(state, settings)
        shrink, grow = settings["etas"]
        previous, step_size = state["prev"], state["step_size"]
        agreement = grad * (previous.clone() if settings["differentiable"] else previous)
        factor = pellucid.where(agreement > 0, grow, pellucid.ones_like(agreement))
        factor = pellucid.where(agreement < 0, shrink, factor)
        step_size.mul_(factor).clamp_(*settings["step_sizes"])
        grad = pellucid.where(agreement < 0, 0.0, grad)
        size = step_size.clone() if settings["differentiable"] else step_size
        param.addcmul_(grad.sign(), size, value=-1)
        previous.copy_(grad)
