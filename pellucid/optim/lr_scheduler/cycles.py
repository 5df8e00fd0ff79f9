"""Schedules that move learning rate and momentum against each other: cyclic and one-cycle (Smith 2015 and 2018)."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from pellucid.optim.lr_scheduler.scheduler import LRScheduler, check_optimizer, per_group, set_group_value
from pellucid.optim.optimizer import Optimizer


def _uses_beta1(optimizer: Optimizer) -> bool:
    """Whether the optimizer's momentum is its first beta. Raises ValueError when it has no momentum at all."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; "
            f"{type(optimizer).__name__} does not: pass cycle_momentum=False"
        )
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], momentum: Any, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _start_momentum(optimizer: Optimizer, highest: list[Any], lowest: list[Any], use_beta1: bool) -> None:
    """Sets every group's momentum to its highest value, and notes both bounds in the group."""
    for group, high, low in zip(optimizer.param_groups, highest, lowest, strict=True):
        _set_momentum(group, high, use_beta1)
        group["max_momentum"] = high
        group["base_momentum"] = low


class CyclicLR(LRScheduler):
    """Moves the rate in triangles between `base_lr` and `max_lr`, and the momentum the other way.

    Smith 2015, "Cyclical Learning Rates for Training Neural Networks"; call `step` after every batch. The triangles
    keep their height ("triangular"), halve it ("triangular2"), shrink by `gamma` a step ("exp_range") or follow
    `scale_fn` of the cycle or the iteration. Raises ValueError for an unknown mode without `scale_fn`.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_group_value(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (float(step_size_down) if step_size_down is not None else up)
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_momentum(self, base_momentum: float, max_momentum: float, last_epoch: int) -> None:
        self.use_beta1 = _uses_beta1(self.optimizer)
        self.base_momentums = per_group("base_momentum", self.optimizer, base_momentum)
        self.max_momentums = per_group("max_momentum", self.optimizer, max_momentum)
        if last_epoch == -1:
            _start_momentum(self.optimizer, self.max_momentums, self.base_momentums, self.use_beta1)

    def _init_scale_fn(self) -> None:
        """Chooses the height's function of the cycle or iteration by the mode, unless the user gave one."""
        if self._scale_fn_custom is not None:
            return
        self._scale_fn_ref: Callable[[float], float]
        self.scale_mode = "cycle"
        if self.mode == "triangular":
            self._scale_fn_ref = self._triangular_scale_fn
        elif self.mode == "triangular2":
            self._scale_fn_ref = self._triangular2_scale_fn
        elif self.mode == "exp_range":
            self._scale_fn_ref = partial(self._exp_range_scale_fn, self.gamma)
            self.scale_mode = "iterations"

    def scale_fn(self, x: float) -> float:
        """The height of the triangle in cycle, or at iteration, `x`."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def get_lr(self) -> list[Any]:
        """The rates at iteration `last_epoch`; sets the momenta on the way."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        position = 1.0 + self.last_epoch / self.total_size - cycle
        ratio = self.step_ratio
        rise = position / ratio if position <= ratio else (position - 1) / (ratio - 1)
        height = rise * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds:
                _set_momentum(group, high - (high - low) * height, self.use_beta1)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of a custom function only a callable object's attributes are kept."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        function = self._scale_fn_custom
        is_object = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave; the function is the one this scheduler was made with."""
        function = self._scale_fn_custom
        super().load_state_dict(state_dict)
        self._scale_fn_custom = function
        if function is not None and state_dict["_scale_fn_custom"] is not None:
            function.__dict__.update(state_dict["_scale_fn_custom"])
        self._init_scale_fn()


class OneCycleLR(LRScheduler):
    """Raises the rate from max_lr / div_factor to `max_lr`, then lowers it far below its start, all in one cycle.

    Smith and Topin 2017, "Super-Convergence"; call `step` after every batch. The length is `total_steps`, or `epochs`
    times `steps_per_epoch`; a share `pct_start` of it rises. With `three_phase` the fall is a mirror of the rise, and
    a third phase goes down to initial / final_div_factor. Raises ValueError for settings out of range and for more
    steps than the cycle has.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(scheduler.get_last_lr()[0], 6)
    0.04
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _uses_beta1(optimizer)
            high = per_group("max_momentum", optimizer, max_momentum)
            low = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                _start_momentum(optimizer, high, low, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, fraction: float) -> Any:
        return (self._annealing_cos if self._anneal_func_type == "cos" else self._annealing_linear)(
            start, end, fraction
        )

    @staticmethod
    def _annealing_cos(start: Any, end: Any, pct: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start

    def get_lr(self) -> list[Any]:
        """The rates at iteration `last_epoch`; sets the momenta on the way."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        last = self._schedule_phases[-1]
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is last:
                break
            start = phase["end_step"]
        fraction = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], fraction))
            if self.cycle_momentum:
                momentum = self._anneal_func(group[phase["start_momentum"]], group[phase["end_momentum"]], fraction)
                _set_momentum(group, momentum, self.use_beta1)
        return rates


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """The length of the cycle; raises ValueError unless it is given in one of the two ways."""
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


def _phase(end_step: float, rates: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
    """A part of the cycle: the step at which it ends, and the group entries between which it moves."""
    return {
        "end_step": end_step,
        "start_lr": rates[0],
        "end_lr": rates[1],
        "start_momentum": momenta[0],
        "end_momentum": momenta[1],
    }


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The parts of the cycle, up and down, or up, down and out."""
    top = float(pct_start * total_steps) - 1
    falling, rising = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    up = _phase(top, ("initial_lr", "max_lr"), falling)
    if not three_phase:
        return [up, _phase(total_steps - 1, ("max_lr", "min_lr"), rising)]
    return [
        up,
        _phase(float(2 * pct_start * total_steps) - 2, ("max_lr", "initial_lr"), rising),
        _phase(total_steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]
