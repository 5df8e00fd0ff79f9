"""Connectionist temporal classification: the loss over all alignments, and its gradient (Graves et al., 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import mul
from pellucid.engine.ops.shape import unsqueeze_axes

Ints = tuple[int, ...]


def _with_blanks(targets: np.ndarray, lengths: np.ndarray, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """Each padded target with blanks around its labels, and where a step over a blank is allowed (between unequal
    labels).
    """
    batch, longest = targets.shape
    known = np.arange(longest) < lengths[:, None]
    states = np.full((batch, 2 * longest + 1), blank, np.int64)
    states[:, 1::2] = np.where(known, targets, blank)
    skips = np.zeros(states.shape, bool)
    if longest > 1:
        skips[:, 3::2] = states[:, 3::2] != states[:, 1:-2:2]
    return states, skips


def _log_sum(*parts: np.ndarray) -> np.ndarray:
    top = np.maximum.reduce(parts)
    safe = np.where(np.isneginf(top), 0, top)
    total = np.exp(parts[0] - safe)
    for each in parts[1:]:
        total = total + np.exp(each - safe)
    return np.log(total) + safe


def _shifted(row: np.ndarray, by: int) -> np.ndarray:
    result = np.full_like(row, -np.inf)
    if by > 0:
        result[:, by:] = row[:, :-by]
    else:
        result[:, :by] = row[:, -by:]
    return result


def _at_states(log_probs: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The log-probability of each state at each step: (T, N, S)."""
    return np.take_along_axis(log_probs, np.broadcast_to(states, (len(log_probs), *states.shape)), 2)


def _forward(emitted: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """Log-probability of reaching each state at each step."""
    alpha = np.full_like(emitted, -np.inf)
    if not len(emitted):
        return alpha
    alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, len(emitted)):
        before = alpha[t - 1]
        jump = np.where(skips, _shifted(before, 2), -np.inf) if before.shape[1] > 2 else np.full_like(before, -np.inf)
        alpha[t] = _log_sum(before, _shifted(before, 1), jump) + emitted[t]
    return alpha


def _backward(emitted: np.ndarray, skips: np.ndarray, steps: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Log-probability of finishing from each state at each step, that step's emission included."""
    beta = np.full_like(emitted, -np.inf)
    rows = np.arange(len(steps))
    onward = np.zeros_like(skips)
    onward[:, :-2] = skips[:, 2:]
    after = np.full(skips.shape, -np.inf, emitted.dtype)
    for t in range(len(emitted) - 1, -1, -1):
        jump = np.where(onward, _shifted(after, -2), -np.inf) if after.shape[1] > 2 else np.full_like(after, -np.inf)
        now = _log_sum(after, _shifted(after, -1), jump) + emitted[t]
        last = steps == t + 1
        if last.any():
            now[last] = -np.inf
            ends = rows[last]
            now[ends, 2 * lengths[last]] = emitted[t, ends, 2 * lengths[last]]
            labelled = ends[lengths[last] > 0]
            now[labelled, 2 * lengths[labelled] - 1] = emitted[t, labelled, 2 * lengths[labelled] - 1]
        beta[t] = after = now
    return beta


@op(outputs=("y", "alpha"), grad_name="CtcLossBackward0")
def ctc(
    log_probs: np.ndarray, targets: np.ndarray, *, steps: Ints, lengths: Ints, blank: int
) -> tuple[np.ndarray, np.ndarray]:
    """Minus the log-probability of each padded target over all alignments with (T, N, C); infinite where none
    exists.
    """
    step, length = np.asarray(steps, np.int64), np.asarray(lengths, np.int64)
    _check_labels(targets, length, log_probs.shape[2])
    states, skips = _with_blanks(targets, length, blank)
    alpha = _forward(_at_states(log_probs, states), skips)
    rows = np.arange(len(step))
    losses = np.where(length == 0, 0.0, np.inf).astype(log_probs.dtype)
    if len(log_probs):
        final = alpha[np.maximum(step, 1) - 1, rows]
        label = np.where(length > 0, final[rows, np.maximum(2 * length - 1, 0)], -np.inf)
        losses = np.where(step > 0, -_log_sum(final[rows, 2 * length], label), losses)
    return losses, alpha


def _check_labels(targets: np.ndarray, lengths: np.ndarray, classes: int) -> None:
    used = targets[np.arange(targets.shape[1]) < lengths[:, None]]
    if used.size and (used.min() < 0 or used.max() >= classes):
        wrong = int(used.min()) if used.min() < 0 else int(used.max())
        raise IndexError(
            f"ctc_loss: the target {wrong} is out of bounds: there are {classes} classes, 0 to {classes - 1}"
        )


@ctc.meta
def ctc_meta(log_probs: Meta, targets: Meta, *, steps: Ints, lengths: Ints, blank: int) -> tuple[Meta, Meta]:
    check(
        log_probs.dtype in (dtypes.float32, dtypes.float64),
        f"\"ctc_loss_cpu\" not implemented for '{title(log_probs.dtype)}': convert log_probs with .float()",
        NotImplementedError,
    )
    time, batch = log_probs.shape[:2]
    return log_probs.like((batch,)), log_probs.like((time, batch, 2 * targets.shape[1] + 1))


@ctc.vjp("log_probs")
def ctc_dlog_probs(
    dy: Any, log_probs: Any, targets: Any, y: Any, alpha: Any, steps: Ints, lengths: Ints, blank: int
) -> Any:
    slope = ctc_slope(log_probs, targets, y, alpha, steps=steps, lengths=lengths, blank=blank)
    return mul(slope, unsqueeze_axes(dy, axes=(0, 2)))


@op(grad_name="CtcLossBackwardBackward0")
def ctc_slope(
    log_probs: np.ndarray,
    targets: np.ndarray,
    losses: np.ndarray,
    alpha: np.ndarray,
    *,
    steps: Ints,
    lengths: Ints,
    blank: int,
) -> np.ndarray:
    """Probability minus expected share of each class at each step; 0 after the end, and where no alignment exists.

    As PyTorch's: the gradient with respect to log-probabilities that came out of a log_softmax. It has no gradient
    of its own.
    """
    step, length = np.asarray(steps, np.int64), np.asarray(lengths, np.int64)
    states, skips = _with_blanks(targets, length, blank)
    emitted = _at_states(log_probs, states)
    joint = alpha + _backward(emitted, skips, step, length)
    possible = ~np.isneginf(joint)
    share = np.where(possible, np.exp(joint + losses[:, None] - np.where(possible, emitted, 0)), 0)
    time, batch, classes = log_probs.shape
    cell = (np.arange(time)[:, None, None] * batch + np.arange(batch)[:, None]) * classes + states
    expected = np.bincount(cell.reshape(-1), share.reshape(-1), log_probs.size).reshape(log_probs.shape)
    slope = np.exp(log_probs) - expected
    live = (np.arange(time)[:, None] < step) & ~np.isinf(losses)
    return np.where(live[:, :, None], slope, 0)


@ctc_slope.meta
def ctc_slope_meta(
    log_probs: Meta, targets: Meta, losses: Meta, alpha: Meta, *, steps: Ints, lengths: Ints, blank: int
) -> Meta:
    return log_probs.like()
