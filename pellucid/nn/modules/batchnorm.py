"""Batch normalisation: statistics over the batch in training, running averages in evaluation; across processes in
`SyncBatchNorm`.
"""

from __future__ import annotations

from typing import Any

import pellucid
import pellucid.nn.functional as F
from pellucid import Tensor
from pellucid.nn import init
from pellucid.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy

from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """What batch and instance normalisation share: optional scale and shift, optional running statistics."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        weight = Parameter(pellucid.empty(num_features, device=device, dtype=dtype)) if affine else None
        self.register_parameter("weight", weight)
        shift = Parameter(pellucid.empty(num_features, device=device, dtype=dtype)) if affine and bias else None
        self.register_parameter("bias", shift)
        self._make_running_stats(device, dtype)
        self.reset_parameters()

    def _make_running_stats(self, device: Any, dtype: Any) -> None:
        mean = variance = count = None
        if self.track_running_stats:
            mean = pellucid.zeros(self.num_features, device=device, dtype=dtype)
            variance = pellucid.ones(self.num_features, device=device, dtype=dtype)
            count = pellucid.tensor(0, dtype=pellucid.long, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Running mean 0, running variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, and fresh running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)  # type: ignore[arg-type]
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        version = local_metadata.get("version")
        # Version 1 did not count batches; a checkpoint of that time says nothing about the count.
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked
            state_dict[key] = own if own is not None and not own.is_meta else pellucid.tensor(0, dtype=pellucid.long)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Batch normalisation over the channel dimension, which is the second."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._count_batch()
        use_batch, mean, variance = self._statistics()
        return F.batch_norm(input, mean, variance, self.weight, self.bias, use_batch, factor, self.eps)

    def _count_batch(self) -> float:
        """How much this batch weighs in the running statistics; with momentum None they are the plain average of all
        batches.
        """
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        return factor

    def _statistics(self) -> tuple[bool, Tensor | None, Tensor | None]:
        """Whether the batch's own statistics normalise, and the running ones if they are to be updated or used."""
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        if self.training and not self.track_running_stats:
            return use_batch, None, None
        return use_batch, self.running_mean, self.running_var


class BatchNorm1d(_BatchNorm):
    """(x − mean) / √(variance + eps) · weight + bias per channel of (N, C) or (N, C, L). Ioffe and Szegedy, ICML 2015.

    The running variance is the unbiased one: running ← (1 − momentum)·running + momentum·batch.

    >>> import pellucid as torch
    >>> torch.nn.BatchNorm1d(3)(torch.ones(4, 3)).shape
    torch.Size([4, 3])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """(x − mean) / √(variance + eps) · weight + bias per channel of (N, C, H, W). Ioffe and Szegedy, ICML 2015.

    >>> import pellucid as torch
    >>> torch.nn.BatchNorm2d(3).eval()(torch.ones(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """(x − mean) / √(variance + eps) · weight + bias per channel of (N, C, D, H, W). Ioffe and Szegedy, ICML 2015.

    >>> import pellucid as torch
    >>> torch.nn.BatchNorm3d(3)(torch.ones(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What lazy normalisation layers share: num_features is the size of the first input's second dimension."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # Made without parameters and statistics first: they have no size yet.
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = pellucid.tensor(0, dtype=pellucid.long, device=device)

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, and fresh running statistics, once they have shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take num_features from `input`."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for each in (self.weight, self.bias, self.running_mean, self.running_var):
            if is_lazy(each):
                each.materialize((self.num_features,))  # type: ignore[union-attr]
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A `BatchNorm1d` whose num_features comes from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A `BatchNorm2d` whose num_features comes from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A `BatchNorm3d` whose num_features comes from its first input."""

    cls_to_become = BatchNorm3d


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose training statistics are those of all processes of `process_group` together.

    Without an initialised process group it is plain batch normalisation over the channels of (N, C, …).

    >>> import pellucid as torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3))
    >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0].num_features
    3
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._count_batch()
        use_batch, mean, variance = self._statistics()
        world_size = _world_size(self.process_group) if use_batch and self.training else 1
        if world_size == 1:
            return F.batch_norm(input, mean, variance, self.weight, self.bias, use_batch, factor, self.eps)
        from .sync_batchnorm import synchronised_batch_norm

        return synchronised_batch_norm(
            input, self.weight, self.bias, mean, variance, self.eps, factor, self.process_group
        )

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """`module` with every batch norm in it replaced by a `SyncBatchNorm` that takes over its parameters and
        statistics.
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                converted.weight = module.weight
                converted.bias = module.bias
            converted.running_mean = module.running_mean
            converted.running_var = module.running_var
            converted.num_batches_tracked = module.num_batches_tracked
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


def _world_size(process_group: Any) -> int:
    """How many processes share statistics; 1 where no process group was initialised."""
    import sys

    distributed = sys.modules.get("pellucid.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return 1
    return distributed.get_world_size(process_group)
