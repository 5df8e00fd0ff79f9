"""Losses over classes that are one node of the graph with their reduction: negative log-likelihood and the margin
losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import div, mul
from pellucid.engine.ops.loss import reduced
from pellucid.engine.ops.shape import squeeze_axis, unsqueeze_axes


def _by_class(index: np.ndarray, weight: Any, kind: np.dtype, ignore_index: int, classes: int) -> np.ndarray:
    """The weight of each item: its class's, 0 where it is ignored. IndexError for a class that does not exist."""
    ignored = index == ignore_index
    wrong = ~ignored & ((index < 0) | (index >= classes))
    if wrong.any():
        raise IndexError(
            f"Target {int(index[wrong][0])} is out of bounds: there are {classes} classes, 0 to {classes - 1}."
        )
    if weight is None:
        return np.where(ignored, 0, 1).astype(kind)
    return (
        np.where(ignored, 0, weight[np.where(ignored, 0, index)]).astype(kind)
        if classes
        else np.zeros(index.shape, kind)
    )


@op
def nll_weights(target: np.ndarray, weight: Any, x: np.ndarray, *, ignore_index: int) -> np.ndarray:
    """The weight of each item's class, 0 where it is ignored."""
    return _by_class(target, weight, x.dtype, ignore_index, x.shape[1])


@nll_weights.meta
def nll_weights_meta(target: Meta, weight: Any, x: Meta, *, ignore_index: int) -> Meta:
    return Meta.of(target.shape, x.dtype, x.device)


def _class_axis(ndim: int) -> int:
    return 0 if ndim == 1 else 1


def _nll_node(settings: dict[str, Any]) -> str:
    return "NllLoss2DBackward0" if settings["spatial"] else "NllLossBackward0"


@op(outputs=("y", "scale"), grad_name=_nll_node)
def nll(
    x: np.ndarray, target: np.ndarray, weight: Any, *, ignore_index: int, reduction: str, spatial: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Minus x at each item's class (axis 1, or 0 of a vector) times the class's weight, 0 for an ignored item, and
    the weights' sum.

    The mean divides by that sum.
    """
    axis = _class_axis(x.ndim)
    index = target.astype(np.int64, copy=False).reshape(() if x.ndim == 1 else target.shape)
    scale = _by_class(index, weight, x.dtype, ignore_index, x.shape[axis])
    if x.shape[axis]:
        safe = np.where(index == ignore_index, 0, index)
        picked = np.take_along_axis(x, np.expand_dims(safe, axis), axis).squeeze(axis)
        values = np.where(index == ignore_index, 0, -picked * scale)
    else:
        values = np.zeros(index.shape, x.dtype)
    weights = np.sum(scale, dtype=x.dtype)
    if reduction == "none":
        return values.astype(x.dtype, copy=False), weights
    summed = np.sum(values, dtype=x.dtype)
    return (summed / weights if reduction == "mean" else summed), weights


@nll.meta
def nll_meta(
    x: Meta, target: Meta, weight: Any, *, ignore_index: int, reduction: str, spatial: bool
) -> tuple[Meta, Meta]:
    classes = x.shape[_class_axis(x.ndim)]
    check(
        target.dtype in (dtypes.int64, dtypes.uint8),
        f"expected target dtype to be Long or Byte, but got {title(target.dtype)}: class indices need target.long() "
        "(expected scalar"
        f" type Long but found {title(target.dtype)})",
    )
    check(x.dtype.category == 2, f"\"nll_loss_out_frame\" not implemented for '{title(x.dtype)}'", NotImplementedError)
    check(
        weight is None or weight.ndim == 1 and weight.numel == classes,
        f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
        "shape:"
        f" {list(getattr(weight, 'shape', ()))}",
    )
    check(
        weight is None or weight.dtype is x.dtype,
        f"expected scalar type {title(x.dtype)} but found {title(weight.dtype) if weight is not None else ''} (the "
        "class weights need"
        " the dtype of the input)",
    )
    shape = () if x.ndim == 1 or reduction != "none" else target.shape
    return x.like(shape), x.like(())


@nll.vjp("x")
def nll_dx(dy: Any, target: Any, weight: Any, scale: Any, x_meta: Meta, ignore_index: int, reduction: str) -> Any:
    if reduction == "mean":
        dy = div(dy, scale)
    return nll_spread(dy, target, weight, size=tuple(x_meta.shape), ignore_index=ignore_index)


@op(grad_name="NllLossBackwardBackward0")
def nll_spread(
    cotangent: np.ndarray, target: np.ndarray, weight: Any, *, size: tuple[int, ...], ignore_index: int
) -> np.ndarray:
    """Zeros of the shape of x with minus the weighted cotangent (of shape () or the target's) at each item's class."""
    result = np.zeros(size, cotangent.dtype)
    if not result.size:
        return result
    axis = _class_axis(len(size))
    index = target.astype(np.int64, copy=False).reshape(() if len(size) == 1 else target.shape)
    scale = _by_class(index, weight, cotangent.dtype, ignore_index, size[axis])
    safe = np.where(index == ignore_index, 0, index)
    values = np.where(index == ignore_index, 0, -cotangent * scale)
    np.put_along_axis(result, np.expand_dims(safe, axis), np.expand_dims(values, axis), axis)
    return result


@nll_spread.meta
def nll_spread_meta(cotangent: Meta, target: Meta, weight: Any, *, size: tuple[int, ...], ignore_index: int) -> Meta:
    return Meta.of(size, cotangent.dtype, cotangent.device)


@nll_spread.vjp("cotangent")
def nll_spread_dcotangent(dy: Any, target: Any, weight: Any, cotangent_meta: Meta, ignore_index: int) -> Any:
    whole = cotangent_meta.ndim == 0
    return nll(dy, target, weight, ignore_index=ignore_index, reduction="sum" if whole else "none", spatial=False)[0]


def _margins(x: np.ndarray, target: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, their classes as a column, and how far every other class is above the row's own minus the margin (0 at
    the own).
    """
    rows = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    places = target.reshape(-1, 1).astype(np.int64, copy=False)
    if places.size and (places.min() < 0 or places.max() >= rows.shape[1]):
        raise RuntimeError(
            f"target out of range: there are {rows.shape[1]} classes, the targets go from {places.min()} to "
            f"{places.max()}"
        )
    gaps = np.maximum(margin - np.take_along_axis(rows, places, 1) + rows, 0)
    np.put_along_axis(gaps, places, 0, 1)
    return rows, places, gaps


@op(grad_name="MultiMarginLossBackward0")
def multi_margin(
    x: np.ndarray, target: np.ndarray, weight: Any, *, p: int, margin: float, reduction: str
) -> np.ndarray:
    """The mean over classes of max(0, margin - x[target] + x[i])**p for i other than the target."""
    rows, places, gaps = _margins(x, target, margin)
    powers = gaps if p == 1 else gaps * gaps
    if weight is not None:
        powers = powers * weight[places]
    values = np.sum(powers, 1) / np.asarray(max(rows.shape[1], 1), x.dtype)
    return reduced(values.reshape(target.shape), reduction)


@multi_margin.meta
def multi_margin_meta(x: Meta, target: Meta, weight: Any, *, p: int, margin: float, reduction: str) -> Meta:
    check(
        x.dtype.category == 2, f"\"multi_margin_loss_cpu\" not implemented for '{title(x.dtype)}'", NotImplementedError
    )
    check(
        target.dtype is dtypes.int64,
        f"expected scalar type Long but found {title(target.dtype)}: convert the target with .long()",
    )
    return x.like(target.shape if reduction == "none" else ())


@multi_margin.vjp("x")
def multi_margin_dx(
    dy: Any, x: Any, target: Any, weight: Any, x_meta: Meta, p: int, margin: float, reduction: str
) -> Any:
    slope = multi_margin_slope(x, target, weight, p=p, margin=margin)
    count = x_meta.shape[0] if x_meta.ndim == 2 else 1
    given = div(dy, max(count, 1)) if reduction == "mean" else dy
    if given._meta.ndim:  # one loss per row; of one row without a batch, PyTorch's has a dimension as its target has
        given = unsqueeze_axes(given, axes=(1,)) if x_meta.ndim == 2 else squeeze_axis(given, axis=0)
    return mul(slope, given)


@op(grad_name="MultiMarginLossBackwardBackward0")
def multi_margin_slope(x: np.ndarray, target: np.ndarray, weight: Any, *, p: int, margin: float) -> np.ndarray:
    """The slope of each row's loss; as in PyTorch it has no gradient of its own."""
    rows, places, gaps = _margins(x, target, margin)
    slope = ((gaps > 0) if p == 1 else 2 * gaps).astype(x.dtype) / np.asarray(max(rows.shape[1], 1), x.dtype)
    if weight is not None:
        slope = slope * weight[places]
    np.put_along_axis(slope, places, -np.sum(slope, 1, keepdims=True), 1)
    return slope.reshape(x.shape)


@multi_margin_slope.meta
def multi_margin_slope_meta(x: Meta, target: Meta, weight: Any, *, p: int, margin: float) -> Meta:
    return x.like()


def _labelled(x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gaps 1 - x[label] + x[i] where they count and are positive, for every label before the first -1, and the
    labels' rows.
    """
    rows = x.reshape(-1, x.shape[-1] if x.ndim else 1)
    labels = target.reshape(rows.shape).astype(np.int64, copy=False)
    if labels.size and (labels.min() < -1 or labels.max() >= rows.shape[1]):
        raise RuntimeError(f"argument #2 'target' is out of range: labels are -1 or 0 to {rows.shape[1] - 1}")
    given = np.logical_and.accumulate(labels >= 0, 1)
    places = np.where(given, labels, 0)
    own = np.zeros(rows.shape, bool)
    row, column = np.nonzero(given)
    own[row, places[row, column]] = True
    gaps = np.maximum(1 - np.take_along_axis(rows, places, 1)[:, :, None] + rows[:, None, :], 0)
    return np.where(given[:, :, None] & ~own[:, None, :], gaps, 0), places, given


@op(grad_name="MultilabelMarginLossBackward0")
def multilabel_margin(x: np.ndarray, target: np.ndarray, *, reduction: str) -> np.ndarray:
    """Sum of max(0, 1 - (x[t] - x[i])) over labels t and other classes i, over the number of classes."""
    gaps, _, _ = _labelled(x, target)
    values = np.sum(gaps, (1, 2), dtype=x.dtype) / np.asarray(max(gaps.shape[2], 1), x.dtype)
    return reduced(values.reshape(x.shape[:-1]), reduction)


@multilabel_margin.meta
def multilabel_margin_meta(x: Meta, target: Meta, *, reduction: str) -> Meta:
    check(
        x.dtype.category == 2,
        f"\"multilabel_margin_loss_forward_out_frame\" not implemented for '{title(x.dtype)}'",
        NotImplementedError,
    )
    check(
        target.dtype is dtypes.int64,
        f"expected scalar type Long but found {title(target.dtype)}: convert the target with .long()",
    )
    return x.like(x.shape[:-1] if reduction == "none" else ())


@multilabel_margin.vjp("x")
def multilabel_margin_dx(dy: Any, x: Any, target: Any, x_meta: Meta, reduction: str) -> Any:
    count = x_meta.shape[0] if x_meta.ndim == 2 else 1
    given = div(dy, max(count, 1)) if reduction == "mean" else dy
    return mul(multilabel_margin_slope(x, target), unsqueeze_axes(given, axes=(1,)) if given._meta.ndim else given)


@op(grad_name="MultilabelMarginLossBackwardBackward0")
def multilabel_margin_slope(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The slope of each row's loss; as in PyTorch it has no gradient of its own."""
    gaps, places, _ = _labelled(x, target)
    live = (gaps > 0).astype(x.dtype)
    slope = np.sum(live, 1)
    np.subtract.at(slope, (np.arange(len(places))[:, None], places), np.sum(live, 2))
    return (slope / np.asarray(max(gaps.shape[2], 1), x.dtype)).reshape(x.shape)


@multilabel_margin_slope.meta
def multilabel_margin_slope_meta(x: Meta, target: Meta) -> Meta:
    return x.like()
