"""The loss of connectionist temporal classification."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.errors import check
from pellucid.engine.ops import ctc as ops
from pellucid.engine.tensor.arguments import as_bool, as_ints, need_tensor


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Minus the log-probability of label sequences over all their alignments with `log_probs` (T, N, C) (Graves et
    al., 2006).

    `targets` is (N, S), padded, or all labels one after the other; "mean" divides each loss by its target's length.
    A target that
    is longer than its input allows gives an infinite loss (0 with `zero_infinity`) and no gradient. Gradients are
    right for
    `log_probs` that come from `log_softmax`, and have no gradients of their own.

    >>> import pellucid as torch
    >>> log_probs = torch.zeros(2, 1, 3).log_softmax(-1)
    >>> torch.nn.functional.ctc_loss(log_probs, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(1.0986)
    """
    need_tensor(log_probs, "ctc_loss", "log_probs"), need_tensor(targets, "ctc_loss", "targets", 2)
    as_bool(zero_infinity, "ctc_loss", "zero_infinity", 7)
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if not isinstance(lengths, pellucid.Tensor):
            as_ints(lengths, "ctc_loss", name, 3, only_several=True)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction; it is 'none', 'mean' or 'sum'")
    unbatched = log_probs.dim() == 2
    check(log_probs.dim() in (2, 3), f"log_probs must be (T, N, C) or (T, C), got shape {list(log_probs.shape)}")
    batched = log_probs.unsqueeze(1) if unbatched else log_probs
    steps, lengths = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    _check(batched, targets, steps, lengths, blank)
    losses = ops.ctc(batched, _padded(targets, lengths, unbatched), steps=steps, lengths=lengths, blank=int(blank))[0]
    if zero_infinity:
        losses = pellucid.where(losses == float("inf"), pellucid.zeros((), dtype=losses.dtype), losses)
    if reduction == "mean":
        divisors = pellucid.tensor(lengths, dtype=losses.dtype, device=losses.device).clamp_min(1)
        return (losses / divisors).mean()
    if reduction == "sum":
        return losses.sum()
    return losses.squeeze(0) if unbatched else losses


def _lengths(given: Any, name: str) -> tuple[int, ...]:
    if isinstance(given, pellucid.Tensor):
        check(not given.is_floating_point() and not given.is_complex(), f"{name} must be integral, got {given.dtype}")
        return tuple(given.reshape(-1).tolist())
    return tuple([int(each) for each in given]) if isinstance(given, tuple | list) else (int(given),)


def _check(log_probs: Any, targets: Any, steps: tuple[int, ...], lengths: tuple[int, ...], blank: int) -> None:
    time, batch, classes = log_probs.shape
    check(
        time > 0,
        "Expected tensor to have size at least 1 at dimension 0, but got size 0 for log_probs: there are no time steps",
    )
    check(0 <= blank < classes, f"blank must be in label range: {blank} is not in 0..{classes - 1}")
    check(len(steps) == batch, f"input_lengths must be of size batch_size ({batch}), but has {len(steps)} elements")
    check(
        len(lengths) == batch, f"target_lengths must be of size batch_size ({batch}), but has {len(lengths)} elements"
    )
    check(not targets.is_floating_point(), f"targets must be integers (torch.long or torch.int), got {targets.dtype}")
    for name, values in (("input_lengths", steps), ("target_lengths", lengths)):
        low = min(values, default=0)
        check(low >= 0, f"Expected {name} to have value at least 0, but got value {low}")
    high = max(steps, default=0)
    check(high <= time, f"Expected input_lengths to have value at most {time}, but got value {high}")


def _padded(targets: Any, lengths: tuple[int, ...], unbatched: bool) -> Any:
    """Targets as (N, longest); concatenated ones are cut at the lengths."""
    longest = max(lengths, default=0)
    if targets.dim() == 2 or unbatched:
        rows = targets.reshape(len(lengths), -1) if targets.numel() or targets.dim() != 2 else targets
        check(
            rows.size(1) >= longest,
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {rows.size(1)} for "
            "argument #2 'targets'",
        )
        return rows[:, :longest].to(pellucid.int64)
    check(targets.dim() == 1, f"targets must be 1- or 2-dimensional, got shape {list(targets.shape)}")
    check(
        sum(lengths) == targets.numel(),
        f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {targets.numel()} for argument #2 "
        "'targets'",
    )
    rows = targets.new_zeros(len(lengths), longest, dtype=pellucid.int64)
    start = 0
    for i, length in enumerate(lengths):
        rows[i, :length] = targets[start : start + length]
        start += length
    return rows
