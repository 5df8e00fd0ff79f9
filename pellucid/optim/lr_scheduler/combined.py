"""Schedulers made of schedulers: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from pellucid.optim.lr_scheduler.plateau import ReduceLROnPlateau
from pellucid.optim.lr_scheduler.scheduler import LRScheduler, group_values, set_group_value
from pellucid.optim.optimizer import Optimizer


def _check_members(owner: str, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
    """Raises for members that have no optimizer, another one, or that want a metric."""
    for index, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{owner} at index {index} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{owner} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
            )
        if optimizer is not scheduler.optimizer:
            raise ValueError(
                f"{owner} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


def _leaves(scheduler: Any) -> set[Any]:
    """The schedulers that a possibly combined one is made of, itself if it is not."""
    if not hasattr(scheduler, "_schedulers"):
        return {scheduler}
    return set().union(*(_leaves(member) for member in scheduler._schedulers))


class _CombinedLR(LRScheduler):
    """What the two share: members, and a state that holds the members' states."""

    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, with the members' states under "_schedulers"."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave, members included."""
        members = self._schedulers
        super().load_state_dict(state_dict)
        self._schedulers = members
        for index, saved in enumerate(state_dict["_schedulers"]):
            members[index].load_state_dict(saved)


class SequentialLR(_CombinedLR):
    """Runs one scheduler after the other, changing to the next at each milestone epoch.

    A scheduler begins with the initial rate in its own epoch 0. Raises ValueError unless there is one milestone fewer
    than schedulers, all of the same optimizer and none of them ReduceLROnPlateau.

    >>> import pellucid as torch
    >>> from pellucid.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> warmup, decay = ConstantLR(optimizer, factor=0.1, total_iters=9), ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warmup, decay], milestones=[1])
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.1, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        owner = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{owner} expects at least one scheduler, but got no scheduler.")
        _check_members(owner, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # The members have set the rate and counted an epoch when they were made; both are taken back.
        for group in optimizer.param_groups:
            set_group_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        leaves = [_leaves(scheduler) for scheduler in schedulers]
        for own in leaves:
            others = set().union(*leaves) - own
            for scheduler in own:
                scheduler._alternates = scheduler._alternates | others
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Takes back the epoch that each member counted when it was made."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for member in scheduler._schedulers:
                self.recursive_undo(member)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Steps the scheduler whose turn it is."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_CombinedLR):
    """Steps several schedulers one after the other in every epoch, so that their factors multiply.

    Raises ValueError for an empty list, schedulers of different optimizers or a ReduceLROnPlateau.

    >>> import pellucid as torch
    >>> from pellucid.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ChainedScheduler([ConstantLR(optimizer, factor=0.5), ExponentialLR(optimizer, gamma=0.5)])
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        owner = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{owner} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        _check_members(owner, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = group_values(optimizer, "lr")

    def _initial_step(self) -> None:
        # A sequence that begins with this chain makes its members step before the optimizer can have.
        for scheduler in self._schedulers:
            scheduler._attempts_before = None
        super()._initial_step()

    def step(self) -> None:  # type: ignore[override]
        """Steps every member once."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = group_values(self.optimizer, "lr")
