"""The two old flags of losses, `size_average` and `reduce`, as one word."""

from __future__ import annotations

import warnings

from pellucid.engine.core.errors import user_level

__all__ = ["legacy_get_string"]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """'mean', 'sum' or 'none', as the two flags say; it warns, naming the word to use."""
    average = size_average is None or size_average
    word = "none" if reduce is not None and not reduce else "mean" if average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
            stacklevel=user_level(),
        )
    return word


def get_enum(reduction: str) -> int:
    """PyTorch's number for a reduction: 0 none, 1 mean, 2 sum; ValueError for another word."""
    numbers = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction; it is 'none', 'mean' or 'sum'")
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=user_level()
        )
    return numbers[reduction]


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """PyTorch's number for what the two flags say."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
