"""Cosine schedules: one descent, and descents with warm restarts (Loshchilov and Hutter 2016, "SGDR")."""

from __future__ import annotations

import math
from typing import Any

from pellucid.optim.lr_scheduler.scheduler import LRScheduler, group_values
from pellucid.optim.optimizer import Optimizer


def _between(low: float, high: Any, fraction: float) -> Any:
    """From `high` at fraction 0 along half a cosine to `low` at fraction 1."""
    return low + (high - low) * (1 + math.cos(math.pi * fraction)) / 2


class CosineAnnealingLR(LRScheduler):
    """Lowers the rate along half a cosine from its initial value to `eta_min` at epoch `T_max`, then up again.

    The rate follows from `last_epoch` and the initial rate alone, so a scheduler resumed from its own state goes on
    where it was, whatever rate the optimizer holds. Only where other schedulers work on the same optimizer (not those
    of a SequentialLR, which take turns) is the current rate scaled by the ratio of two epochs: their factors multiply.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> round(scheduler.get_last_lr()[0], 6)
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of `last_epoch`; in a chain, the current rates scaled by what this epoch changes."""
        self._warn_outside_step()
        if self._is_initial:
            return group_values(self.optimizer, "lr")
        return self._chained_lr() if self._is_in_chain() else self._get_closed_form_lr()

    def _is_in_chain(self) -> bool:
        """Whether another scheduler changes the rate in the same epochs."""
        others = self.optimizer._schedulers or ()
        return any(other is not self and other not in self._alternates for other in others)

    def _chained_lr(self) -> list[Any]:
        rates = group_values(self.optimizer, "lr")
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The last epoch ended at eta_min, which has no height to scale.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in zip(rates, self.base_lrs, strict=True)]
        ratio = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / before
        return [ratio * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [_between(self.eta_min, rate, self.last_epoch / self.T_max) for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the initial rate to `eta_min`, the first T_0 epochs long, each T_mult times the one before.

    `step(epoch)` takes fractions of epochs, for rates that change within one. Raises ValueError for settings that are
    no positive integers.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates `T_cur` epochs after the last restart."""
        self._warn_outside_step()
        return [_between(self.eta_min, rate, self.T_cur / self.T_i) for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Moves on by one epoch, or to the given one, which may be a fraction, and sets the rates.

        >>> import pellucid as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4)
        >>> optimizer.step()
        >>> scheduler.step(2.0)
        >>> round(scheduler.get_last_lr()[0], 6)
        0.5
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        with self._calling_get_lr():
            values = self.get_lr()
        self._write(values)

    def _jump(self, epoch: float) -> None:
        """Sets the current period and the position in it from the number of epochs since the start."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
