"""Checks of a convolution layer's settings, and its padding in the form that `F.pad` takes."""

from __future__ import annotations

from typing import Any

from .utils import _reverse_repeat_tuple

_MODES = ("zeros", "reflect", "replicate", "circular")


def check_settings(
    in_channels: int, out_channels: int, stride: tuple[int, ...], padding: Any, groups: int, padding_mode: str
) -> None:
    """Raise ValueError for settings that no convolution has."""
    if groups <= 0:
        raise ValueError(f"groups must be a positive integer, not {groups}")
    if in_channels % groups != 0:
        raise ValueError(f"in_channels must be divisible by groups, but {in_channels} is not divisible by {groups}")
    if out_channels % groups != 0:
        raise ValueError(f"out_channels must be divisible by groups, but {out_channels} is not divisible by {groups}")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _MODES:
        names = ", ".join(repr(mode) for mode in _MODES)
        raise ValueError(f"padding_mode must be one of {{{names}}}, but got padding_mode='{padding_mode}'")


def padding_for_pad(padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """The padding as `F.pad` takes it: before and after, last dimension first; 'same' puts an odd one after."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    amounts: list[int] = []
    for width, step in zip(reversed(kernel_size), reversed(dilation), strict=True):
        total = step * (width - 1) if padding == "same" else 0
        amounts += [total // 2, total - total // 2]
    return amounts


__all__ = ["check_settings", "padding_for_pad"]
