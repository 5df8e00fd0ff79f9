"""What every learning-rate scheduler shares: initial rates, the step, the check of the order of calls."""

from __future__ import annotations

import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pellucid import Tensor
from pellucid.optim.optimizer import Optimizer, _to_scalar

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)

# Attributes of a scheduler that are no part of its state.
_TRANSIENT = ("optimizer", "_attempts_before", "_alternates")


def check_optimizer(optimizer: Any) -> None:
    """Raises TypeError for anything but an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def attach(scheduler: LRScheduler, optimizer: Optimizer) -> None:
    """Notes in the optimizer that a scheduler sets its rates, so that schedulers can know of each other."""
    if optimizer._schedulers is None:
        optimizer._schedulers = weakref.WeakSet()
    optimizer._schedulers.add(scheduler)


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each parameter group: a list of the right length as it is, anything else repeated."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return [item.clone() if isinstance(item, Tensor) else item for item in value]


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """One setting of every group; tensors are copied, since a step writes into them."""
    values = [group[key] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def set_group_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Writes a setting; a tensor keeps its identity, because compiled steps hold on to it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(_to_scalar(value))
    else:
        group[key] = value


def function_state(function: Any) -> dict[str, Any] | None:
    """What is saved of a function in a scheduler: a callable object's attributes; nothing of a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


class LRScheduler:
    """Sets the learning rates of an optimizer's groups; a subclass writes `get_lr`, called after `last_epoch` moved.

    Call `step()` after `optimizer.step()`, usually once an epoch. `last_epoch` is given only to resume, and then every
    group must hold `initial_lr` (KeyError otherwise).

    >>> import pellucid as torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5 ** self.last_epoch for rate in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int
    _step_count: int
    _last_lr: list[Any]
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    # Optimizer steps attempted before this scheduler was made; None where nothing is to be checked.
    _attempts_before: int | None = None
    # Schedulers of the same optimizer that never step in the same epoch as this one, being parts of one sequence.
    _alternates: frozenset[Any] = frozenset()
    # Subclasses that can compute the rates from base_lrs and last_epoch alone define this as a method.
    _get_closed_form_lr: Callable[[], list[Any]] | None = None

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler with "
                    "last_epoch >= 0. Load the optimizer's state before making the scheduler, or leave last_epoch at "
                    "-1 and load the scheduler's state"
                )
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._attempts_before = optimizer._step_attempts
        attach(self, optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Sets the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, step_size=3).state_dict()["last_epoch"]
        0
        """
        return {key: value for key, value in self.__dict__.items() if key not in _TRANSIENT}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave; the optimizer's own rates are in the optimizer's state.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3)
        >>> scheduler.load_state_dict({**scheduler.state_dict(), "last_epoch": 2})
        >>> scheduler.last_epoch
        2
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last `step` set, one for each group.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, step_size=3).get_last_lr()
        [0.5]
        """
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`, for `step` to set; use `get_last_lr` to read what is set."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Moves on by one epoch and sets the rates; warns once when the optimizer has not stepped before it.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        if self._step_count == 1:
            self._warn_if_optimizer_waits()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _warn_if_optimizer_waits(self) -> None:
        """Warns when no step was attempted since the scheduler was made; a step skipped by a scaler is an attempt."""
        # A step replaced on the instance, or that of a wrapper which never called Optimizer.__init__, may not reach the
        # counter, so nothing is known then.
        is_counted = "step" not in vars(self.optimizer) and getattr(type(self.optimizer).step, "hooked", False)
        if not is_counted or self._attempts_before != self.optimizer._step_attempts:
            return
        warnings.warn(
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
            "`optimizer.step()` before `lr_scheduler.step()`; otherwise the first value of the schedule is skipped. "
            "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
            UserWarning,
            stacklevel=3,
        )

    def _update_lr(self, epoch: int | None = None) -> None:
        """Moves to the next epoch, or to the given one, and writes its rates into the groups."""
        with self._calling_get_lr():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = self.get_lr() if self._get_closed_form_lr is None else self._get_closed_form_lr()
        self._write(values)

    def _write(self, values: list[Any]) -> None:
        """Writes rates into the groups."""
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_group_value(group, "lr", value)
        self._last_lr = group_values(self.optimizer, "lr")

    @contextmanager
    def _calling_get_lr(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        """Warns when a user calls `get_lr`, which for most schedulers computes the next rates and not the current."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The name that LRScheduler had before PyTorch 2.0; programs still inherit from it."""
