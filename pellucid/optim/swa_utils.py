"""Averages of models over training: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import Module
from pellucid.nn.modules.batchnorm import _BatchNorm
from pellucid.optim.lr_scheduler.scheduler import LRScheduler, per_group
from pellucid.optim.optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]

AverageOfOne = Callable[[Tensor, Tensor, Any], Tensor]
AverageOfMany = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _can_lerp(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageOfMany:
    """A function that moves a list of averages to decay * average + (1 - decay) * current, in place.

    >>> import pellucid as torch
    >>> average, current = torch.zeros(1), torch.ones(1)
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [current], 1)
    >>> average.item()
    0.25
    """
    _check_decay(decay)

    def ema_update(averages: Sequence[Tensor], currents: Sequence[Tensor], num_averaged: Any) -> None:
        with pellucid.no_grad():
            for average, current in zip(averages, currents, strict=True):
                if _can_lerp(average):
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> AverageOfMany:
    """A function that takes a list of current values into a list of equally weighted averages, in place.

    >>> import pellucid as torch
    >>> average, current = torch.zeros(1), torch.ones(1)
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()([average], [current], 3)
    >>> average.item()
    0.25
    """

    def swa_update(averages: Sequence[Tensor], currents: Sequence[Tensor], num_averaged: Any) -> None:
        count = float(num_averaged) + 1
        with pellucid.no_grad():
            for average, current in zip(averages, currents, strict=True):
                if _can_lerp(average):
                    average.lerp_(current, 1 / count)
                else:
                    average.copy_(average + (current - average) / count)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> AverageOfOne:
    """A function of average, current value and count that returns decay * average + (1 - decay) * current.

    >>> import pellucid as torch
    >>> torch.optim.swa_utils.get_ema_avg_fn(0.75)(torch.zeros(1), torch.ones(1), 1).item()
    0.25
    """
    _check_decay(decay)

    def ema_update(average: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with pellucid.no_grad():
            return decay * average + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> AverageOfOne:
    """A function of average, current value and count that returns the average with one value more.

    >>> import pellucid as torch
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(1), torch.ones(1), 3).item()
    0.25
    """

    def swa_update(average: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with pellucid.no_grad():
            return average + (current - average) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters `update_parameters` moves towards those of the model in training.

    The default is the equally weighted average of Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima and
    Better Generalization"; `avg_fn` or `multi_avg_fn` (one of them, AssertionError for both) give another, such as
    `get_ema_multi_avg_fn(0.999)`. Buffers are averaged with `use_buffers`, else copied.

    >>> import pellucid as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOfOne | None = None,
        multi_avg_fn: AverageOfMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", pellucid.tensor(0, dtype=pellucid.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's output."""
        return self.module(*args, **kwargs)

    def _tensors(self, model: Module) -> Iterable[Tensor]:
        """What is averaged of a model."""
        return itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def update_parameters(self, model: Module) -> None:
        """Takes the current parameters of `model` into the average; the first call copies them.

        >>> import pellucid as torch
        >>> model = torch.nn.Linear(1, 1)
        >>> averaged = torch.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged.item()
        1
        """
        averages = [average.detach() for average in self._tensors(self.module)]
        currents = [
            current.detach().to(average.device) for average, current in zip(averages, self._tensors(model), strict=True)
        ]
        if self.n_averaged == 0:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(current)
        else:
            self._average(averages, currents)
        if not self.use_buffers:
            for own, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(buffer.detach().to(own.device))
        self.n_averaged += 1

    def _average(self, averages: list[Tensor], currents: list[Tensor]) -> None:
        """Calls the averaging function: tensor by tensor, or on lists of one device and dtype each."""
        if self.multi_avg_fn is not None:
            groups = Optimizer._group_tensors_by_device_and_dtype([averages, currents])
            for (device, _), ((group_averages, group_currents), _) in groups.items():
                self.multi_avg_fn(group_averages, group_currents, self.n_averaged.to(device))
            return
        function = get_swa_avg_fn() if self.avg_fn is None else self.avg_fn
        for average, current in zip(averages, currents, strict=True):
            average.copy_(function(average, current, self.n_averaged.to(average.device)))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of a model's batch normalisation anew, in one pass over `loader`.

    Averaged weights never saw the statistics they were averaged with. A batch is an input, or a list or tuple whose
    first entry is the input.

    >>> import pellucid as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean.item()
    2.0
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        # None makes the statistics an equally weighted average over all batches.
        module.momentum = None
    with pellucid.no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves the rate of each group to `swa_lr` within `anneal_epochs` epochs, along a cosine or a line, and holds it.

    Raises ValueError for an unknown strategy and for a negative number of epochs.

    >>> import pellucid as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=1)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        """The rate from which a mix of `alpha` parts of swa_lr is lr."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def get_lr(self) -> list[Any]:
        """The mix of the initial rate, found back from the current one, and swa_lr at this step."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        alpha_before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        alpha = self.anneal_func(max(0, min(1, step / length)))
        rates = []
        for group in self.optimizer.param_groups:
            initial = self._get_initial_lr(group["lr"], group["swa_lr"], alpha_before)
            rates.append(group["swa_lr"] * alpha + initial * (1 - alpha))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and the annealing function."""
        state = super().state_dict()
        del state["anneal_func"]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
