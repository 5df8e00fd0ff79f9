"""Losses as PyTorch's top namespace spells them, with the reduction as a code: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from typing import Any

from pellucid.nn.functional import ctc, distances, loss

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(code: int) -> str:
    if code not in (0, 1, 2):
        raise ValueError(f"{code} is not a valid value for reduction; it is 0 (none), 1 (mean) or 2 (sum)")
    return _REDUCTIONS[code]


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Any:
    """`nn.functional.ctc_loss`.

    >>> import pellucid as torch
    >>> torch.ctc_loss(torch.zeros(1, 1, 1), torch.zeros(1, 0, dtype=torch.long), [1], [0])
    tensor(0.)
    """
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def kl_div(input: Any, target: Any, reduction: int = 1, *, log_target: bool = False) -> Any:
    """`nn.functional.kl_div`.

    >>> import pellucid as torch
    >>> torch.kl_div(torch.zeros(2), torch.ones(2))
    tensor(0.)
    """
    return loss.reduced(loss.divergence(input, target, log_target), _reduction(reduction))


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """`nn.functional.poisson_nll_loss`.

    >>> import pellucid as torch
    >>> torch.poisson_nll_loss(torch.zeros(1), torch.ones(1), True, False, 1e-8, 1)
    tensor(1.)
    """
    return loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    """`nn.functional.binary_cross_entropy_with_logits`.

    >>> import pellucid as torch
    >>> torch.binary_cross_entropy_with_logits(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """
    return loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 1) -> Any:
    """`nn.functional.hinge_embedding_loss`.

    >>> import pellucid as torch
    >>> torch.hinge_embedding_loss(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.5000)
    """
    return distances.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 1) -> Any:
    """`nn.functional.margin_ranking_loss`.

    >>> import pellucid as torch
    >>> torch.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1.0]))
    tensor(1.)
    """
    return distances.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 1) -> Any:
    """`nn.functional.cosine_embedding_loss`.

    >>> import pellucid as torch
    >>> torch.cosine_embedding_loss(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1)).round()
    tensor(0.)
    """
    return distances.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Any:
    """`nn.functional.triplet_margin_loss`.

    >>> import pellucid as torch
    >>> torch.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2), 0.0)
    tensor(0.)
    """
    return distances.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )
