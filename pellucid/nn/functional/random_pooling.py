"""Fractional max pooling as functions: windows at pseudo-random places (Graham 2014,
https://arxiv.org/abs/1412.6071).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core.errors import check
from pellucid.engine.ops import random_pooling as ops
from pellucid.engine.ops import shape
from pellucid.engine.tensor.arguments import as_ints, need_tensor

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]  # fmt: skip


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest values of windows at random distances of (N, C, H, W) or (C, H, W).

    As many windows as `output_size`, or as `output_ratio` (a pair between 0 and 1) of the input's size. The random
    numbers come from the default generator.

    >>> import pellucid as torch
    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 2, 9, 9), 2, output_size=5).shape
    torch.Size([1, 2, 5, 5])
    """
    pair = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return pair if return_indices else pair[0]


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> F = torch.nn.functional
    >>> F.fractional_max_pool2d_with_indices(torch.ones(1, 2, 9, 9), 2, output_size=5)[1].shape
    torch.Size([1, 2, 5, 5])
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest values of windows at random distances of (N, C, D, H, W) or (C, D, H, W), as in two dimensions.

    >>> import pellucid as torch
    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 2, 9, 9, 9), 2, output_size=5).shape
    torch.Size([1, 2, 5, 5, 5])
    """
    pair = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return pair if return_indices else pair[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.fractional_max_pool3d_with_indices(torch.ones(1, 2, 9, 9, 9), 2, output_size=5)[1].dtype
    torch.int64
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def _fractional(
    count: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> Any:
    function = f"fractional_max_pool{count}d"
    need_tensor(input, function)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{function} requires specifying either an output_size or an output_ratio")
    check(
        input.ndim in (count + 1, count + 2),
        f"{function}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(input.shape)}",
        IndexError if input.ndim <= count else RuntimeError,
    )
    if output_size is None:
        output_size = _from_ratio(function, count, input, output_ratio)
    kernel, size = (
        _sizes(function, "kernel_size", kernel_size, count),
        _sizes(function, "output_size", output_size, count),
    )
    batched = input.ndim == count + 2
    x = input if batched else shape.unsqueeze_axes(input, axes=(0,))
    if samples is None:
        samples = pellucid.rand(x.shape[0], x.shape[1], count, dtype=input.dtype, device=input.device)
    values, indices = ops.fractional_max_pool(x, samples, kernel=kernel, size=size)
    return (values, indices) if batched else (shape.squeeze_axis(values, axis=0), shape.squeeze_axis(indices, axis=0))


def _from_ratio(function: str, count: int, input: Tensor, ratio: Any) -> tuple[int, ...]:
    if not isinstance(ratio, list | tuple):
        raise TypeError(
            f"{function}(): output_ratio must be {count} numbers between 0 and 1, one per dimension, but got {ratio}"
        )
    if len(ratio) != count:
        raise ValueError(f"{function} requires output_ratio to either be a single Int or tuple of Ints. (got {ratio})")
    return tuple([int(n * each) for n, each in zip(input.shape[-count:], ratio, strict=True)])


def _sizes(function: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    ints = as_ints(value, function, argument)
    check(
        len(ints) in (1, count),
        f"{function}: {argument} must either be a single Int or tuple of Ints, but got {list(ints)}",
    )
    return ints * count if len(ints) == 1 else ints
