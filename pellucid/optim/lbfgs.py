"""L-BFGS: a quasi-Newton method for functions without noise. Its line search lives in `_line_search.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.optim._line_search import strong_wolfe
from pellucid.optim._rules import check_learning_rate
from pellucid.optim.optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Steps along the gradient times an inverse Hessian that is built from the last `history_size` steps.

    Nocedal and Wright, "Numerical Optimization", algorithm 7.4; `line_search_fn="strong_wolfe"` looks for a step that
    satisfies the Wolfe conditions, None takes `lr` as it is. One `step` makes up to `max_iter` iterations and calls
    the closure up to `max_eval` times, so the closure is required. Raises ValueError for several parameter groups.

    >>> import pellucid as torch
    >>> x = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    13.0
    >>> torch.allclose(x, torch.ones(2))
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimises for up to `max_iter` iterations; returns the loss before the first.

        >>> import pellucid as torch
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> def closure():
        ...     x.grad = None
        ...     loss = (x * x).sum()
        ...     loss.backward()
        ...     return loss
        >>> torch.optim.LBFGS([x]).step(closure).item()
        9.0
        """

        def evaluate() -> Any:
            with pellucid.enable_grad():
                return closure()

        with pellucid.no_grad():
            return self._minimize(evaluate)

    def _minimize(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, gradient = float(first_loss), self._flat_gradient()
        state["func_evals"] += 1
        evaluations = 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            _choose_direction(state, gradient, group["history_size"])
            direction = state["d"]
            state["prev_flat_grad"] = gradient.clone()
            state["prev_loss"] = previous_loss = loss
            state["t"] = self._first_step_size(gradient, state["n_iter"])
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            is_last = iteration == group["max_iter"]
            loss, gradient, used = self._advance(closure, loss, gradient, slope, evaluations, is_last)
            evaluations += used
            state["func_evals"] += used
            if is_last or evaluations >= group["max_eval"] or _largest(gradient) <= group["tolerance_grad"]:
                break
            moved = _largest(direction.mul(state["t"]))
            if moved <= group["tolerance_change"] or abs(loss - previous_loss) < group["tolerance_change"]:
                break
        return first_loss

    def _first_step_size(self, gradient: Tensor, n_iter: int) -> Any:
        """The step size to try: lr, but no further than a unit of the 1-norm in the very first iteration."""
        lr = _to_scalar(self.param_groups[0]["lr"])
        return min(1.0, 1.0 / gradient.abs().sum()) * lr if n_iter == 1 else lr

    def _advance(
        self, closure: Callable[[], Any], loss: float, gradient: Tensor, slope: Tensor, evaluations: int, is_last: bool
    ) -> tuple[float, Tensor, int]:
        """Moves along the direction; returns loss and gradient there and the evaluations it took to find them."""
        group, state = self.param_groups[0], self.state[self._params[0]]
        direction = state["d"]
        if group["line_search_fn"] is None:
            self._move(state["t"], direction)
            if is_last:
                # Nobody asks for loss and gradient after the last iteration.
                return loss, gradient, 0
            return float(closure()), self._flat_gradient(), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [param.clone(memory_format=pellucid.contiguous_format) for param in self._params]

        def evaluate(step_size: Any) -> tuple[float, Tensor]:
            self._move(step_size, direction)
            value = float(closure())
            flat = self._flat_gradient()
            for param, before in zip(self._params, start, strict=True):
                param.copy_(before)
            return value, flat

        loss, gradient, state["t"], used = strong_wolfe(
            evaluate, state["t"], direction, loss, gradient, slope, max_evaluations=group["max_eval"] - evaluations
        )
        self._move(state["t"], direction)
        return loss, gradient, used

    def _flat_gradient(self) -> Tensor:
        """All gradients in one vector, zeros where there is none, complex numbers as pairs."""
        parts = []
        for param in self._params:
            grad = param.grad
            if grad is None:
                grad = pellucid.zeros_like(param)
            elif grad.is_sparse:
                grad = grad.to_dense()
            parts.append((pellucid.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return pellucid.cat(parts, 0)

    def _move(self, step_size: Any, direction: Tensor) -> None:
        """Adds step_size * direction to the parameters."""
        offset = 0
        factor = _get_value(step_size)
        for param in self._params:
            target = pellucid.view_as_real(param) if param.is_complex() else param
            end = offset + target.numel()
            target.add_(direction[offset:end].view_as(target), alpha=factor)
            offset = end


def _largest(vector: Tensor) -> Tensor:
    return vector.abs().max()


def _choose_direction(state: dict[str, Any], gradient: Tensor, history_size: int) -> None:
    """Sets state["d"], after taking the last step and the change of gradient along it into the history."""
    if state["n_iter"] == 1:
        state.update(d=gradient.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return
    old_dirs, old_stps, ro = state["old_dirs"], state["old_stps"], state["ro"]
    y = gradient.sub(state["prev_flat_grad"])
    s = state["d"].mul(state["t"])
    ys = y.dot(s)
    if ys > 1e-10:
        if len(old_dirs) == history_size:
            for history in (old_dirs, old_stps, ro):
                history.pop(0)
        old_dirs.append(y)
        old_stps.append(s)
        ro.append(1.0 / ys)
        state["H_diag"] = ys / y.dot(y)
    state["d"] = _two_loop_recursion(state, gradient, history_size)


def _two_loop_recursion(state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
    """Minus the inverse Hessian of the history times the gradient (Nocedal and Wright, algorithm 7.4)."""
    old_dirs, old_stps, ro = state["old_dirs"], state["old_stps"], state["ro"]
    al = state.setdefault("al", [None] * history_size)
    q = gradient.neg()
    for i in range(len(old_dirs) - 1, -1, -1):
        al[i] = old_stps[i].dot(q) * ro[i]
        q.add_(old_dirs[i], alpha=-al[i].item())
    r = q.mul(state["H_diag"])
    for i in range(len(old_dirs)):
        be = old_dirs[i].dot(r) * ro[i]
        r.add_(old_stps[i], alpha=(al[i] - be).item())
    return r
