"""Adagrad: steps divided by the root of the sum of all squared gradients so far."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._rules import (
    RuleOptimizer,
    add_quotient_,
    check_fused_flag,
    check_learning_rate,
    counter,
    has_decay,
    require,
    with_decay,
)
from pellucid.optim.optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(RuleOptimizer):
    """Divides the gradient by the square root of the sum of its squares over all steps, plus `eps`.

    Duchi, Hazan and Singer 2011, "Adaptive Subgradient Methods". The learning rate falls as lr / (1 + t * lr_decay).
    Sparse gradients touch only their rows. Raises ValueError for negative settings.

    >>> import pellucid as torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> weight.sum().backward()
    >>> torch.optim.Adagrad([weight], lr=0.25).step()
    >>> round(weight.item(), 4)
    0.75
    """

    _late_settings = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}
    _accepts_sparse = True
    _sparse_advice = " with fused=True; leave it False for sparse embeddings"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        require(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(
            initial_accumulator_value >= 0.0, f"Invalid initial_accumulator_value value: {initial_accumulator_value}"
        )
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused_flag(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True
        # The sums exist before the first step, so that share_memory can hand them to other processes.
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._new_state(param, group))

    def share_memory(self) -> None:
        """Moves the sums of squares into memory that other processes share, as Hogwild training needs it.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.Adagrad([torch.zeros(2, requires_grad=True)])
        >>> optimizer.share_memory()
        """
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        value = complex(start, start) if param.is_complex() else start
        return {"step": counter(0.0, param, group), "sum": pellucid.full_like(param, value)}

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """s += g^2, p -= lr / (1 + t * lr_decay) * g / (sqrt(s) + eps), where t counts from 0."""
        state["step"] += 1
        rate = settings["lr"] / (1 + (state["step"].item() - 1) * settings["lr_decay"])
        if grad.is_sparse:
            _sparse_rule(param, grad, state["sum"], rate, settings)
            return
        grad = with_decay(grad, param, settings)
        total = state["sum"]
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt()
        # The backward of a square root needs its result, so only an undifferentiated one is added to in place.
        root = root + settings["eps"] if settings["differentiable"] else root.add_(settings["eps"])
        add_quotient_(param, grad, root, -rate)


def _sparse_rule(param: Tensor, grad: Any, total: Tensor, rate: Any, settings: dict[str, Any]) -> None:
    """The same update on the entries that a sparse gradient holds."""
    if has_decay(settings):
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    grad = grad.coalesce()
    where, values = tuple(grad.indices()), grad.values()
    squares = total[where] + values * values
    total[where] = squares
    param[where] = param[where] - rate * (values / (squares.sqrt() + settings["eps"]))
