"""Padding as a function, in every mode; the layers are in `pellucid/nn/modules/padding.py`."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid import Tensor
from pellucid.engine.core.errors import check
from pellucid.engine.ops import padding as ops
from pellucid.engine.tensor.arguments import as_float, as_ints, as_number, need_str, need_tensor

__all__ = ["constant_pad_nd", "pad"]

Pairs = tuple[tuple[int, int], ...]


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The input with more elements around it: `pad` gives how many before and after, last dimension first.

    `mode` is "constant" (`value`, 0 by default; any number of dimensions), "reflect" (mirrored, without the edge
    itself), "replicate" (the edge again) or "circular" (from the other end), these for one to three spatial dimensions.
    Negative amounts cut off.

    >>> import pellucid as torch
    >>> torch.nn.functional.pad(torch.tensor([[1., 2., 3.]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    need_str(mode, "pad", "mode", 3)
    if value is not None:
        value = as_float(value, "pad", "value", 4)
    need_tensor(input, "pad")
    if isinstance(pad, int) or isinstance(pad, Tensor):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    pairs = _pairs(as_ints(pad, "pad", "pad"), input.ndim)
    if mode == "constant":
        return ops.constant_pad(input, pad=_all_axes(pairs, input.ndim), value=0 if value is None else value)
    check(value is None or value == 0, f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"Unrecognised padding mode {mode} (it may be constant, reflect, replicate or circular)"
        )
    _check_supported(len(pairs), input.ndim, mode)
    return ops.border_pad(input, pad=pairs, mode=mode)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """The input with `value` around it; amounts as for `pad`.

    >>> import pellucid as torch
    >>> torch.constant_pad_nd(torch.ones(2), (1, 0), 5.0)
    tensor([5., 1., 1.])
    """
    value = as_number(value, "constant_pad_nd", "value", 3)
    need_tensor(input, "constant_pad_nd")
    pairs = _pairs(as_ints(pad, "constant_pad_nd", "pad"), input.ndim)
    return ops.constant_pad(input, pad=_all_axes(pairs, input.ndim), value=value)


def _pairs(amounts: tuple[int, ...], ndim: int) -> Pairs:
    """The amounts per dimension, in the order of the dimensions."""
    check(len(amounts) % 2 == 0, f"Padding length must be divisible by 2 (got {len(amounts)} amounts)")
    check(
        len(amounts) <= 2 * ndim,
        "Padding length should be less than or equal to two times the input dimension but got padding length"
        f" {len(amounts)} and input of dimension {ndim}",
    )
    return tuple([(amounts[i], amounts[i + 1]) for i in range(len(amounts) - 2, -1, -2)])


def _all_axes(pairs: Pairs, ndim: int) -> Pairs:
    return ((0, 0),) * (ndim - len(pairs)) + pairs


def _check_supported(count: int, ndim: int, mode: str) -> None:
    if count in (1, 2, 3) and ndim in (count + 1, count + 2):
        return
    raise NotImplementedError(
        f"Padding size {2 * count} is not supported for {ndim}D input tensor.\n"
        f"Supported combinations for non-constant padding (mode {mode}):\n"
        "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
        "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
        "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
    )
