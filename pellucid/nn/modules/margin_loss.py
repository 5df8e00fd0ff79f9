"""Losses that push pairs and triplets of vectors or scores apart by a margin; exported by loss.py."""

from __future__ import annotations

from collections.abc import Callable

import pellucid.nn.functional as F
from pellucid import Tensor

from .distance import PairwiseDistance
from .reduced_loss import _Loss

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class HingeEmbeddingLoss(_Loss):
    """x where y = 1, max(0, margin − x) where y = −1.

    >>> import pellucid as torch
    >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.5]), torch.tensor([1, -1]))
    tensor(0.5000)
    """

    __module__ = "pellucid.nn.modules.loss"  # where files of PyTorch say that it is

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """1 − cos(x₁, x₂) where y = 1, max(0, cos(x₁, x₂) − margin) where y = −1.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0, 0.0]])
    >>> torch.nn.CosineEmbeddingLoss()(x, x, torch.tensor([-1]))
    tensor(1.)
    """

    __module__ = "pellucid.nn.modules.loss"  # where files of PyTorch say that it is

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, −y (x₁ − x₂) + margin): y = 1 says that x₁ should be the larger, −1 the smaller.

    >>> import pellucid as torch
    >>> torch.nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1]))
    tensor(2.)
    """

    __module__ = "pellucid.nn.modules.loss"  # where files of PyTorch say that it is

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, ‖a − p‖ − ‖a − n‖ + margin); with `swap` also ‖p − n‖ counts as the negative distance. Balntas et al.,
    BMVC 2016.

    >>> import pellucid as torch
    >>> a, n = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])
    >>> torch.nn.TripletMarginLoss(margin=6.0, eps=0.0)(a, a, n)
    tensor(1.)
    """

    __module__ = "pellucid.nn.modules.loss"  # where files of PyTorch say that it is

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance function of two batches of vectors.

    >>> import pellucid as torch
    >>> loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1, 2))
    tensor(3.)
    """

    __module__ = "pellucid.nn.modules.loss"  # where files of PyTorch say that it is

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip
