"""Padding: with a constant, or with the tensor's own elements (mirrored, the edge again, or from the other end)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, channels_last_strides
from pellucid.engine.core.op import op
from pellucid.engine.core.plan import number_as
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.convolution import is_channels_last

Pairs = tuple[tuple[int, int], ...]  # per axis, how many elements before and after; negative ones are cut off


def _like(x: Meta, shape: tuple[int, ...]) -> Meta:
    return Meta.of(shape, x.dtype, x.device, channels_last_strides(shape) if is_channels_last(x) else None)


@op(half="keep", grad_name="ConstantPadNdBackward0")
def constant_pad(x: np.ndarray, *, pad: Pairs, value: Any) -> np.ndarray:
    """`x` with `value` around it; negative amounts cut off."""
    shape = [n + before + after for n, (before, after) in zip(x.shape, pad, strict=True)]
    order = np.argsort([-abs(step) for step in x.strides], kind="stable")
    wide = np.full([shape[axis] for axis in order], number_as(value, x.dtype), x.dtype).transpose(np.argsort(order))
    source, target = [], []
    for n, (before, after) in zip(x.shape, pad, strict=True):
        source.append(slice(max(0, -before), n - max(0, -after)))
        target.append(slice(max(0, before), n + before + after - max(0, after)))
    wide[tuple(target)] = x[tuple(source)]
    return wide


@constant_pad.meta
def constant_pad_meta(x: Meta, *, pad: Pairs, value: Any) -> Meta:
    shape = tuple([n + before + after for n, (before, after) in zip(x.shape, pad, strict=True)])
    for axis, (n, (before, after)) in enumerate(zip(x.shape, pad, strict=True)):
        check(
            n + before >= 0 and n + after >= 0 and shape[axis] >= 0,
            f"The input size {n}, plus negative padding {before} and {after}, resulted in a negative output size,"
            " which is"
            f" invalid. Check dimension {axis} of your input. narrow(): length must be non-negative.",
        )
    return _like(x, shape)


@constant_pad.vjp("x")
def constant_pad_dx(dy: Any, pad: Pairs) -> Any:
    return constant_pad(dy, pad=tuple([(-before, -after) for before, after in pad]), value=0)


def _sources(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """Which element stands at each place of a padded axis."""
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return places.clip(0, n - 1)
    if mode == "circular":  # of what a negative amount on the other side has left
        start, left = max(0, -before), n - max(0, -before) - max(0, -after)
        return start + (places - start) % max(left, 1)
    return (n - 1) - np.abs((n - 1) - np.abs(places))


def _named(settings: dict[str, Any]) -> str:
    stem = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}[settings["mode"]]
    return f"{stem}{len(settings['pad'])}DBackward0"


@op(half="keep", grad_name=_named)
def border_pad(x: np.ndarray, *, pad: Pairs, mode: str) -> np.ndarray:
    """The last axes padded with elements of `x`: "reflect" (without the edge), "replicate" or "circular"."""
    first = x.ndim - len(pad)
    for axis, (before, after) in enumerate(pad, start=first):
        if before or after:
            x = np.take(x, _sources(x.shape[axis], before, after, mode), axis)
    return x if any(map(any, pad)) else x.copy()


@border_pad.meta
def border_pad_meta(x: Meta, *, pad: Pairs, mode: str) -> Meta:
    _check_border(x, pad, mode)
    first = x.ndim - len(pad)
    space = [n + before + after for n, (before, after) in zip(x.shape[first:], pad, strict=True)]
    shape = (*x.shape[:first], *space)
    check(
        all(each >= 1 for each in space) or mode == "circular",
        f"input (shape {list(x.shape)}) is too small. Calculated output shape: {list(shape)}",
    )
    check(
        x.dtype.name != "bool" or mode == "circular",
        f"\"{_kernel_name(mode)}{len(pad)}d\" not implemented for '{title(x.dtype)}'",
        NotImplementedError,
    )
    return _like(x, shape) if mode != "circular" else Meta.of(shape, x.dtype, x.device)


def _kernel_name(mode: str) -> str:
    return "reflection_pad" if mode == "reflect" else "replication_pad"


def _check_border(x: Meta, pad: Pairs, mode: str) -> None:
    count = len(pad)
    first = x.ndim - count
    if mode == "circular":
        _check_circular(x, pad)
        return
    sizes = x.shape if x.ndim == count + 1 else x.shape[1:]
    check(
        x.ndim in (count + 1, count + 2) and 0 not in sizes,
        f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero"
        " dimensions"
        f" for input, but got: {list(x.shape)}",
    )
    if mode == "reflect":
        for axis in range(x.ndim - 1, first - 1, -1):
            before, after = pad[axis - first]
            check(
                before < x.shape[axis] and after < x.shape[axis],
                f"Argument #{2 * (x.ndim - axis) + 2}: Padding size should be less than the corresponding input"
                " dimension, but"
                f" got: padding ({before}, {after}) at dimension {axis} of input {list(x.shape)}",
            )


def _check_circular(x: Meta, pad: Pairs) -> None:
    first = x.ndim - len(pad)
    for axis, (before, after) in enumerate(pad, start=first):
        n = x.shape[axis]
        check(
            before <= n and after <= n,
            f"Padding value causes wrapping around more than once. (padding ({before}, {after}) at dimension {axis}"
            " of input"
            f" {list(x.shape)})",
        )
        check(
            n + before + after >= 0,
            f"Negative padding value is resulting in an empty dimension (padding ({before}, {after}) at dimension"
            f" {axis} of"
            f" input {list(x.shape)})",
        )


@border_pad.vjp("x")
def border_pad_dx(dy: Any, x_meta: Meta, pad: Pairs, mode: str) -> Any:
    return border_pad_adjoint(dy, size=tuple(x_meta.shape[x_meta.ndim - len(pad) :]), pad=pad, mode=mode)


@op
def border_pad_adjoint(x: np.ndarray, *, size: tuple[int, ...], pad: Pairs, mode: str) -> np.ndarray:
    """Every element of a padded array added to the one that it repeats."""
    first = x.ndim - len(pad)
    for axis, (before, after) in enumerate(pad, start=first):
        if before or after:
            x = _folded(x, axis, size[axis - first], before, after, mode)
    return x if any(map(any, pad)) else x.copy()


def _folded(x: np.ndarray, axis: int, n: int, before: int, after: int, mode: str) -> np.ndarray:
    sources = _sources(n, before, after, mode)
    start, end = max(0, before), len(sources) - max(0, after)
    lead = (slice(None),) * axis
    whole = np.zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype)
    if start < end:
        cut = max(0, -before)
        whole[(*lead, slice(cut, cut + end - start))] = x[(*lead, slice(start, end))]
    for place in (*range(start), *range(max(end, start), len(sources))):
        whole[(*lead, sources[place])] += x[(*lead, place)]
    return whole


@border_pad_adjoint.meta
def border_pad_adjoint_meta(x: Meta, *, size: tuple[int, ...], pad: Pairs, mode: str) -> Meta:
    return _like(x, (*x.shape[: x.ndim - len(pad)], *size))


@border_pad_adjoint.vjp("x")
def border_pad_adjoint_dx(dy: Any, pad: Pairs, mode: str) -> Any:
    return border_pad(dy, pad=pad, mode=mode)
