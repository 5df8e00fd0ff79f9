"""SparseAdam: Adam for the sparse gradients of large embeddings."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import RuleOptimizer, check_betas, require
from pellucid.optim.optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(RuleOptimizer):
    """Adam that reads and writes only the entries present in a sparse gradient; the moments of others do not decay.

    Kingma and Ba 2014, algorithm 1, on the gradient's own entries. Raises ValueError for settings out of range and for
    sparse or complex parameters, RuntimeError in `step` for a dense gradient.

    >>> import pellucid as torch
    >>> weight = torch.ones(3, requires_grad=True)
    >>> torch.optim.SparseAdam([weight], lr=0.25).param_groups[0]["lr"]
    0.25
    """

    _accepts_sparse = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        require(lr > 0.0, f"Invalid learning rate: {lr}")
        require(eps > 0.0, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            ([index, position], param)
            for index, group in enumerate(self.param_groups)
            for position, param in enumerate(group["params"])
        ]
        sparse = [place for place, param in places if param.is_sparse]
        require(not sparse, f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complexes = [place for place, param in places if param.is_complex()]
        require(not complexes, f"Complex params at indices {complexes}: SparseAdam does not support complex parameters")

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The step of this optimizer is a number in PyTorch's files too.
        super(RuleOptimizer, self).__setstate__(state)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "exp_avg": pellucid.zeros_like(param), "exp_avg_sq": pellucid.zeros_like(param)}

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """Adam's update at the gradient's indices: p -= lr * sqrt(bias2) / bias1 * m / (sqrt(v) + eps)."""
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state["step"] += 1
        step = state["step"]
        entries: Any = grad
        entries = entries.coalesce()
        values = entries.values()
        if values.numel() == 0:
            return
        where = tuple(entries.indices())
        beta1, beta2 = settings["betas"]
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        first, second = exp_avg[where], exp_avg_sq[where]
        first = first + (values - first) * (1 - beta1)
        second = second + (values * values - second) * (1 - beta2)
        exp_avg[where] = first
        exp_avg_sq[where] = second
        step_size = settings["lr"] * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        param[where] = param[where] - step_size * (first / (second.sqrt() + settings["eps"]))
