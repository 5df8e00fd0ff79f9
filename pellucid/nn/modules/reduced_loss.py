"""What all losses are made of: a reduction, and for some a weight per class. Used by loss.py."""

from __future__ import annotations

from pellucid import Tensor
from pellucid.nn import _reduction as _Reduction

from .module import Module

__all__: list[str] = []


class _Loss(Module):
    """What losses share: how the values of the elements are reduced."""

    __constants__ = ["reduction"]
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _Reduction.legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a weight per class, which is a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
