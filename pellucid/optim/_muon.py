"""Muon: momentum made orthogonal, for the weight matrices of hidden layers."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import RuleOptimizer, check_learning_rate, require, setting
from pellucid.optim.optimizer import ParamsT

__all__ = ["Muon"]


class Muon(RuleOptimizer):
    """Replaces the momentum of each matrix by the nearest semi-orthogonal matrix, found by Newton-Schulz iteration.

    Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks". The iteration runs in bfloat16.
    `adjust_lr_fn` is "original" (lr * sqrt(max(1, rows / columns)), also for None) or "match_rms_adamw"
    (lr * 0.2 * sqrt(max(rows, columns)); Liu et al. 2025, "Muon is Scalable for LLM Training"). Raises ValueError for
    parameters that are not matrices: give biases, embeddings and convolutions to another optimizer.

    >>> import pellucid as torch
    >>> weight = torch.zeros(2, 2, requires_grad=True)
    >>> (weight * torch.eye(2)).sum().backward()
    >>> torch.optim.Muon([weight], lr=0.5).step()
    >>> bool(weight[0, 0] < -0.3), weight[0, 1].item()
    (True, 0.0)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr, "Learning rate should be >= 0 but is:")
        require(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        require(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        require(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported: use 'original' or 'match_rms_adamw'",
        )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                require(
                    param.ndim == 2,
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{tuple(param.shape)}; give it to another optimizer, such as AdamW",
                )

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": pellucid.zeros_like(param.grad)}

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        # Computed before a tensor lr becomes a number: its own precision decides what is left of the parameter.
        kept = setting(1 - group["lr"] * group["weight_decay"], False)
        return {**super()._settings(group), "kept": kept}

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """p = (1 - lr * decay) * p - adjusted lr * orthogonal(momentum)."""
        momentum, lr = settings["momentum"], settings["lr"]
        buffer = state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if settings["nesterov"] else buffer
        update = _orthogonalize(update, settings["ns_coefficients"], settings["ns_steps"], settings["eps"])
        param.mul_(settings["kept"])
        param.add_(update, alpha=-_adjusted(lr, settings["adjust_lr_fn"], param.shape))


def _orthogonalize(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The bfloat16 matrix with the singular vectors of the given one and singular values near 1."""
    require(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    require(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    # The Gram matrix is smaller on the side of the shorter dimension.
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        polynomial = pellucid.addmm(gram, gram, gram, beta=b, alpha=c)
        x = pellucid.addmm(x, polynomial, x, beta=a)
    return x.T if is_tall else x


def _adjusted(lr: float, rule: str | None, shape: Any) -> float:
    """The learning rate that gives matrices of all shapes steps of comparable size."""
    rows, columns = shape[:2]
    if rule == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))
