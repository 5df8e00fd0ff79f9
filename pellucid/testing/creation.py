"""`make_tensor`: tensors of random values for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor

INTEGRAL = frozenset(
    {
        pellucid.uint8,
        pellucid.int8,
        pellucid.int16,
        pellucid.int32,
        pellucid.int64,
        pellucid.uint16,
        pellucid.uint32,
        pellucid.uint64,
    }
)
FLOATING = frozenset({pellucid.float16, pellucid.bfloat16, pellucid.float32, pellucid.float64})
FLOAT8 = frozenset({pellucid.float8_e4m3fn, pellucid.float8_e5m2, pellucid.float8_e4m3fnuz, pellucid.float8_e5m2fnuz})
COMPLEX = frozenset({pellucid.complex64, pellucid.complex128})


def make_tensor(
    *shape: int | Sequence[int],
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of values drawn uniformly from [low, high), by default [-9, 10) for integers and [-9, 9) otherwise.

    Bounds are clamped to what the dtype holds. `noncontiguous` gives every second column of a wider tensor;
    `exclude_zero` puts 1, or the smallest normal number, in the place of zeros. ValueError for an empty or NaN
    interval, for `requires_grad` on integers, and for `noncontiguous` together with `memory_format`.

    >>> import pellucid as torch
    >>> torch.testing.make_tensor(2, 3, dtype=torch.int64, device="cpu").shape
    torch.Size([2, 3])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    _check_request(dtype, requires_grad, noncontiguous, memory_format)
    is_strided = noncontiguous and math.prod(sizes) > 1  # type: ignore[arg-type]
    if is_strided:
        sizes = (*sizes[:-1], 2 * sizes[-1])  # type: ignore[operator]
    result = _random(sizes, dtype, device, low, high)
    if is_strided:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = pellucid.finfo(dtype).tiny if dtype in FLOATING | FLOAT8 | COMPLEX else 1
    if requires_grad and dtype in FLOATING | COMPLEX:
        result.requires_grad_()
    return result


def _check_request(dtype: Any, requires_grad: bool, noncontiguous: bool, memory_format: Any) -> None:
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and (dtype is pellucid.bool or dtype in INTEGRAL):
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )


def _random(sizes: Any, dtype: Any, device: Any, low: float | None, high: float | None) -> Tensor:
    """Random values of any supported dtype; draws from the generator as PyTorch's `make_tensor` does."""
    if dtype is pellucid.bool:
        least, end = _interval(low, high, dtype, held=(0, 2), default=(0, 2))
        return pellucid.randint(math.ceil(least), math.ceil(end), sizes, dtype=dtype, device=device)
    if dtype in INTEGRAL:
        bounds = pellucid.iinfo(dtype)  # randint takes an int64 for the end, so int64's own maximum is never drawn
        held = (bounds.min, bounds.max + (0 if dtype is pellucid.int64 else 1))
        least, end = _interval(low, high, dtype, held=held, default=(-9, 10))
        return pellucid.randint(math.ceil(least), math.ceil(end), sizes, dtype=dtype, device=device)
    if dtype not in FLOATING | COMPLEX | FLOAT8:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor().")
    limits = pellucid.finfo(dtype)
    least, end = _interval(low, high, dtype, held=(limits.min, limits.max), default=(-9, 9))
    drawn = pellucid.empty(sizes, dtype=pellucid.float32 if dtype in FLOAT8 else dtype, device=device)
    _fill_uniform(pellucid.view_as_real(drawn) if dtype in COMPLEX else drawn, least, end)
    return drawn.to(dtype)


def _fill_uniform(tensor: Tensor, low: float, high: float) -> None:
    if high - low >= pellucid.finfo(tensor.dtype).max:  # the width of the interval would overflow
        tensor.uniform_(low / 2, high / 2).mul_(2)
    else:
        tensor.uniform_(low, high)


def _interval(
    low: float | None, high: float | None, dtype: Any, *, held: tuple[float, float], default: tuple[float, float]
) -> tuple[float, float]:
    """The interval to draw from: the given one or the default, within what the dtype holds."""
    least = default[0] if low is None else low
    end = default[1] if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (least, end)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={least} and high={end}")
    if least == end and dtype in FLOATING | COMPLEX:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types "
            "is deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif least >= end:
        raise ValueError(f"`low` must be less than `high`, but got {least} >= {end}")
    elif end < held[0] or least >= held[1]:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{least}, {end}), "
            f"but {dtype} only supports [{held[0]}, {held[1]})"
        )
    return min(max(least, held[0]), held[1]), min(max(end, held[0]), held[1])
