"""Losses as layers: settings in the constructor, the arithmetic in `pellucid.nn.functional`.

`reduction` is 'mean', 'sum' or 'none' everywhere; `size_average` and `reduce` are its old spellings.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import pellucid.nn.functional as F
from pellucid import Tensor

from .linear import Linear
from .linear_cross_entropy_options import LinearCrossEntropyOptions
from .margin_loss import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from .reduced_loss import _Loss, _WeightedLoss

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
    "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class L1Loss(_Loss):
    """|x − y|.

    >>> import pellucid as torch
    >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """−weight[y] · x[y] for log-probabilities (N, C, …) and classes (N, …); the mean is weighted, `ignore_index` does
    not count.

    >>> import pellucid as torch
    >>> torch.nn.NLLLoss()(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """

    __constants__ = ["ignore_index", "reduction"]
    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The old name of `NLLLoss` for (N, C, H, W)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class PoissonNLLLoss(_Loss):
    """exp(x) − y·x with `log_input`, else x − y·log(x + eps); `full` adds Stirling's approximation of log(y!).

    >>> import pellucid as torch
    >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.0]), torch.tensor([3.0]))
    tensor(1.)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """½ (log max(var, eps) + (x − y)² / max(var, eps)); `full` adds ½ log 2π. Nix and Weigend, 1994.

    >>> import pellucid as torch
    >>> torch.nn.GaussianNLLLoss()(torch.tensor([[1.0]]), torch.tensor([[3.0]]), torch.tensor([[1.0]]))
    tensor(2.)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """y · (log y − x) for log-probabilities x; `log_target` says that y are logarithms too. Use reduction='batchmean'
    for the divergence.

    >>> import pellucid as torch
    >>> torch.nn.KLDivLoss(reduction="batchmean")(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.5, 0.5]]))
    tensor(0.)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    """(x − y)².

    >>> import pellucid as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(2.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """−(y log x + (1 − y) log(1 − x)) for probabilities x; logarithms are cut off at −100.

    >>> import pellucid as torch
    >>> torch.nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """−(p y log σ(x) + (1 − y) log(1 − σ(x))), p being `pos_weight`, computed without overflow.

    >>> import pellucid as torch
    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """Σ max(0, 1 − (x[y_j] − x[i])) / C over the target classes y_j, which end at the first −1, and all other classes
    i.

    >>> import pellucid as torch
    >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """½ d² / beta where d = |x − y| < beta, else d − ½ beta. Girshick, ICCV 2015.

    >>> import pellucid as torch
    >>> torch.nn.SmoothL1Loss()(torch.tensor([0.0]), torch.tensor([3.0]))
    tensor(2.5000)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """½ d² where d = |x − y| ≤ delta, else delta · (d − ½ delta). Huber, 1964.

    >>> import pellucid as torch
    >>> torch.nn.HuberLoss()(torch.tensor([0.0]), torch.tensor([3.0]))
    tensor(2.5000)
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(−y x)) for y of 1 and −1.

    >>> import pellucid as torch
    >>> torch.nn.SoftMarginLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """−log softmax(x)[y] for logits (N, C, …) and classes (N, …), or probabilities of the logits' shape.

    `label_smoothing` mixes the target with the uniform distribution; `ignore_index` does not count. Szegedy et al.,
    CVPR 2016.

    >>> import pellucid as torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]
    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross entropy of a linear layer's output, computed in chunks of the batch so that not all logits exist at once.

    >>> import pellucid as torch
    >>> torch.nn.LinearCrossEntropyLoss(4, 10)(torch.ones(2, 4), torch.tensor([1, 2])).shape
    torch.Size([])
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over the classes of binary cross entropy with logits, for targets (N, C) of 0 and 1.

    >>> import pellucid as torch
    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Σ_{i≠y} max(0, weight[y] (margin − x[y] + x[i]))ᵖ / C for p of 1 or 2.

    >>> import pellucid as torch
    >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
    tensor(0.3250)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, not {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """−log of the probability of all alignments of `targets` with `log_probs` (T, N, C). Graves et al., ICML 2006.

    The mean divides each loss by its target's length first; `zero_infinity` makes impossible alignments 0 instead of ∞.

    >>> import pellucid as torch
    >>> log_probs = torch.full((2, 1, 3), 1 / 3).log()
    >>> torch.nn.CTCLoss()(log_probs, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(1.0986)
    """

    __constants__ = ["blank", "reduction"]
    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
