"""What the update rules share: the loop from `step` to a rule, settings as numbers, flags, unscaling.

Each update is written once, as the `_rule` of its optimizer: a function of one parameter, its gradient, its state and
the settings, which writes into parameter and state. `foreach` and `fused` select that same function: they are checked
as PyTorch checks them and change nothing in the result. `RuleOptimizer._update_group` is the one place that applies a
rule to all parameters, so a backend that can take a whole step in one call has one place to do it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid.engine.core.kernels import update
from pellucid.optim.optimizer import Optimizer, _get_capturable_supported_devices, _get_scalar_dtype


def require(condition: Any, message: str) -> None:
    """Raises ValueError(message) unless the condition holds."""
    if not condition:
        raise ValueError(message)


def check_learning_rate(lr: Any, message: str = "Invalid learning rate:") -> None:
    """Accepts numbers and one-element tensors that are not negative."""
    require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
    require(lr >= 0.0, f"{message} {lr}")


def check_betas(betas: Sequence[Any]) -> None:
    """Accepts two decay rates in [0, 1)."""
    require(0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}")
    require(0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}")


def check_fused_flag(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raises RuntimeError for flags that exclude `fused=True`."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def setting(value: Any, keep_tensor: bool) -> Any:
    """A one-element tensor as a number, or as a 0-dimensional tensor where gradients or a device need it as one."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        return value
    return value.reshape(()) if keep_tensor else value.item()


def has_decay(settings: dict[str, Any]) -> bool:
    """Whether there is weight decay; one given as a tensor counts, whatever its value."""
    weight_decay = settings["weight_decay"]
    return isinstance(weight_decay, Tensor) or weight_decay != 0


def with_decay(grad: Tensor, param: Tensor, settings: dict[str, Any]) -> Tensor:
    """The gradient with that of the penalty weight_decay / 2 * |param|^2 added; the gradient itself without decay."""
    weight_decay = settings["weight_decay"]
    if isinstance(weight_decay, Tensor):
        return grad + param.clone() * weight_decay
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad


def add_scaled_(target: Tensor, term: Tensor, factor: Any) -> None:
    """target += factor * term, where the factor is a number or a 0-dimensional tensor."""
    if isinstance(factor, Tensor):
        target.addcmul_(term, factor)
    else:
        target.add_(term, alpha=factor)


def add_quotient_(target: Tensor, numerator: Tensor, denominator: Tensor, factor: Any) -> None:
    """target += factor * numerator / denominator, where the factor is a number or a 0-dimensional tensor."""
    if isinstance(factor, Tensor):
        target.addcmul_(numerator / denominator, factor)
    else:
        target.addcdiv_(numerator, denominator, value=factor)


def count(state: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Adds one to the step counter; returns it as a number, or as the tensor where it must stay on the device."""
    step = state["step"]
    step += 1
    return step if settings["capturable"] else step.item()


def counter(value: float, param: Tensor, group: dict[str, Any]) -> Tensor:
    """A new counter: on the CPU, unless the group's flags keep counters on the parameter's device."""
    fused = group.get("fused")
    on_device = group.get("capturable") or fused
    return pellucid.tensor(
        float(value), dtype=_get_scalar_dtype(fused), device=param.device if on_device else pellucid.device("cpu")
    )


def _check_flags(group: dict[str, Any], tensors: Iterable[Tensor]) -> None:
    """Raises AssertionError for combinations of flags that PyTorch refuses when it takes a step."""
    if group.get("foreach") and group.get("differentiable"):
        raise AssertionError("_foreach ops don't support autograd: choose foreach=True or differentiable=True")
    if group.get("capturable"):
        supported = _get_capturable_supported_devices()
        if any(tensor.device.type not in supported for tensor in tensors):
            raise AssertionError(
                f"If capturable=True, params and state_steps must be on supported devices: {supported}. "
                "On the CPU leave capturable=False; nothing is lost by it"
            )


def _check_fused_parameter(param: Tensor) -> None:
    """Raises RuntimeError for a parameter that a fused step would refuse."""
    if not (param.is_floating_point() and param.device.type in ("cpu", "cuda")):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"['cpu', 'cuda'] but {param.dtype} and {param.device.type}"
        )


class RuleOptimizer(Optimizer):
    """An optimizer whose step applies one rule to every parameter that has a gradient, group by group."""

    # Settings that files of older versions lack, with the values that mean what those versions did.
    _late_settings: ClassVar[dict[str, Any]] = {}
    # State entries that are 0-dimensional tensors and were numbers in older files.
    _counters: ClassVar[tuple[str, ...]] = ("step",)
    _accepts_sparse: ClassVar[bool] = False
    _sparse_advice: ClassVar[str] = ""
    # Whether a complex parameter is to be handed to the rule as pairs of real numbers.
    _complex_as_real: ClassVar[bool] = True

    # What a gradient scaler sets before the step of an optimizer that unscales by itself, that is with fused=True.
    grad_scale: Tensor | None = None
    found_inf: Tensor | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._late_settings.items():
                group.setdefault(name, value)
            for param in group["params"]:
                param_state = self.state.get(param, {})
                for name in self._counters:
                    if name in param_state and not isinstance(param_state[name], Tensor):
                        param_state[name] = counter(param_state[name], param, group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient; `closure`, if given, is called first and its loss returned.

        >>> import pellucid as torch
        >>> weight = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([weight], lr=0.25)
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = weight.sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item(), weight.item()
        (1.0, 0.75)
        """
        loss = None
        with pellucid.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            if closure is not None:
                with pellucid.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self._update_group(group)
        return loss

    @staticmethod
    def _rule(param: Tensor, grad: Tensor, state: dict[str, Any], settings: dict[str, Any]) -> None:
        """Updates one parameter and its state in place; every optimizer writes its own."""
        raise NotImplementedError

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter before its first step; an empty one is not kept."""
        raise NotImplementedError

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        """The group's settings as its rule wants them: tensors as numbers, unless gradients or a device need them."""
        keep_tensors = bool(group.get("differentiable") or group.get("capturable"))
        return {name: setting(value, keep_tensors) for name, value in group.items() if name != "params"}

    def _update_group(self, group: dict[str, Any]) -> None:
        """Applies the rule to every parameter of the group that has a gradient."""
        params, grads, states = self._with_gradients(group)
        _check_flags(group, params)
        if not self._unscale(grads, group):
            return
        settings = self._settings(group)
        maximize = settings.get("maximize", False)
        items = list(zip(params, grads, states, strict=True))
        if not maximize:
            items = update(self._rule, items, settings)
        for param, grad, state in items:
            if maximize:
                grad = -grad
            if self._complex_as_real and param.is_complex():
                param, grad, state = _as_real(param, grad, state)
            self._rule(param, grad, state, settings)

    def _with_gradients(self, group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor], list[dict[str, Any]]]:
        """The group's parameters that have gradients, these gradients, and their states, made where missing."""
        params: list[Tensor] = []
        grads: list[Tensor] = []
        states: list[dict[str, Any]] = []
        fused = group.get("fused")
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if grad.is_sparse and (fused or not self._accepts_sparse):
                raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{self._sparse_advice}")
            if fused:
                _check_fused_parameter(param)
            state = self.state.get(param)
            if not state:
                state = self._new_state(param, group)
                if state:
                    self.state[param] = state
            params.append(param)
            grads.append(grad)
            states.append(state)
        return params, grads, states

    def _unscale(self, grads: list[Tensor], group: dict[str, Any]) -> bool:
        """Divides the gradients by a gradient scaler's factor in place; False where it found inf: no step then."""
        if self.grad_scale is None and self.found_inf is None:
            return True
        if not group.get("fused"):
            raise AssertionError("Expected grad_scale and found_inf to be None: only fused=True unscales by itself")
        if self.found_inf is not None and self.found_inf.item():
            return False
        if self.grad_scale is not None:
            for grad in grads:
                grad.div_(self.grad_scale)
        return True


def _as_real(param: Tensor, grad: Tensor, state: dict[str, Any]) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """The same three as views whose last dimension holds real and imaginary part."""
    views = {
        name: pellucid.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value
        for name, value in state.items()
    }
    return pellucid.view_as_real(param), pellucid.view_as_real(grad), views
