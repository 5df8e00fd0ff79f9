"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_scaled_,
    check_fused_flag,
    check_learning_rate,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["SGD"]


class SGD(RuleOptimizer):
    """Gradient descent, with momentum where asked: v = momentum * v + (1 - dampening) * g, p -= lr * v.

    The first v is the gradient itself, undampened. With `nesterov` the step is along g + momentum * v (Sutskever et
    al. 2013, "On the importance of initialization and momentum in deep learning"). `weight_decay` adds its multiple
    of the parameter to the gradient. Raises ValueError for negative settings and for `nesterov` without momentum.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.SGD([weight], lr=0.5, momentum=0.9).step()
    >>> weight.item()
    0.5
    """

    _late_settings = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
    _accepts_sparse = True
    _sparse_advice = " with fused=True; leave it False for sparse embeddings"
    _complex_as_real = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        require(weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused_flag(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": None} if group["momentum"] != 0 else {}

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p -= lr * v, where v is the gradient or the momentum buffer."""
        lr, momentum = settings["lr"], settings["momentum"]
        grad = with_decay(grad, param, settings)
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - settings["dampening"])
            if settings["nesterov"]:
                grad = grad.add(buffer, alpha=momentum)
            else:
                # A tensor lr keeps its other factor for the backward, and the next step writes into the buffer.
                grad = buffer.clone() if isinstance(lr, Tensor) else buffer
        add_scaled_(param, grad, -lr)
