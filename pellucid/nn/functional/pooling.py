"""Max, average and p-norm pooling as functions, sliding or adaptive.

Windows at random places are in `random_pooling.py`, the inverse of max pooling is in `unpooling.py`; the layers are in
`pellucid/nn/modules/pooling.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.ops import pooling as ops
from pellucid.engine.ops import shape
from pellucid.engine.tensor.arguments import as_bool, as_ints, deliver, need_tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d",
    "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices",
]  # fmt: skip

IntOrInts = int | Sequence[int]
Ints = tuple[int, ...]
_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


def window_sizes(function: str, argument: str, value: Any, count: int) -> Ints:
    """One int per dimension from an int, or a sequence of one or `count` ints."""
    ints = as_ints(value, function, argument)
    check(
        len(ints) in (1, count),
        f"{function}: {argument} must either be a single int, or a tuple of {_WORDS[count]}, but got {list(ints)}"
        if count > 1
        else f"{function}() {argument} must be an int, list of ints or tuple of ints of size 1 but got size {len(ints)}"
        f" (it should contain one int)",
    )
    return ints * count if len(ints) == 1 else ints


def _check_planes(function: str, x: Tensor, count: int) -> None:
    """RuntimeError unless the input is planes with or without a batch dimension, and not empty but for the batch."""
    inside = x.shape if x.ndim == count + 1 else x.shape[1:]
    check(
        x.ndim in (count + 1, count + 2) and 0 not in inside,
        f"{function}: non-empty {count + 1}D or {count + 2}D (batch mode) tensor expected for input: Expected"
        f" {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for input, but"
        f" got:{list(x.shape)}",
    )


def _lifted(x: Tensor) -> Any:
    """A signal as an image one row high."""
    return shape.unsqueeze_axes(x, axes=(x.ndim - 1,))


def _lowered(x: Any) -> Any:
    return shape.squeeze_axis(x, axis=x.ndim - 2)


def stride_of(stride: Any, kernel_size: Any) -> Any:
    """The stride, which is the kernel size where it is None or empty."""
    return kernel_size if stride is None or (isinstance(stride, list | tuple) and not stride) else stride


def _max_pool(
    function: str, count: int, x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    need_tensor(x, function)
    kernel = window_sizes(function, "kernel_size", kernel_size, count)
    stride = window_sizes(function, "stride", stride_of(stride, kernel), count)
    padding = window_sizes(function, "padding", padding, count)
    dilation = window_sizes(function, "dilation", dilation, count)
    _check_planes(function, x, count)
    if count > 1:
        return ops.max_pool(
            x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=bool(ceil_mode)
        )  # type: ignore[no-any-return]
    check(x.dtype.is_floating_point, f"\"max_pool1d_impl\" not implemented for '{x.dtype.name}'", NotImplementedError)
    values, indices = ops.max_pool(
        _lifted(x),
        kernel=(1, *kernel),
        stride=(1, *stride),
        padding=(0, *padding),
        dilation=(1, *dilation),
        ceil_mode=bool(ceil_mode),
    )
    return _lowered(values), _lowered(indices)


def max_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of (N, C, L) or (C, L); with `return_indices`, also where it is.

    The stride is the kernel size unless given; padding counts as −∞ and may be half a window at most.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)
    tensor([[3., 2.]])
    """
    as_bool(ceil_mode, "max_pool1d", "ceil_mode", 6)
    pair = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


def max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of (N, C, H, W) or (C, H, W); with `return_indices`, also where it is.

    The stride is the kernel size unless given; padding counts as −∞ and may be half a window at most. An index is the
    row-major place in the plane: of equal values the first, of several NaN the last.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool2d(torch.tensor([[[1., 3.], [2., 0.]]]), 2)
    tensor([[[3.]]])
    """
    as_bool(ceil_mode, "max_pool2d", "ceil_mode", 6)
    pair = _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


def max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of (N, C, D, H, W) or (C, D, H, W); settings as in `max_pool2d`.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool3d(torch.ones(1, 2, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    as_bool(ceil_mode, "max_pool3d", "ceil_mode", 6)
    pair = _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool1d_with_indices(torch.tensor([[1., 3.]]), 2)
    (tensor([[3.]]), tensor([[1]]))
    """
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool2d_with_indices(torch.tensor([[[1., 3.], [2., 0.]]]), 2)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_pool3d_with_indices(torch.ones(1, 2, 2, 2), 2)[1]
    tensor([[[[0]]]])
    """
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)


# -- averages ------------------------------------------------------------------------------------------------------


def _avg_pool(
    function: str,
    count: int,
    x: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    need_tensor(x, function)
    kernel = window_sizes(function, "kernel_size", kernel_size, count)
    stride = window_sizes(function, "stride", stride_of(stride, kernel), count)
    padding = window_sizes(function, "padding", padding, count)
    if count == 2:
        wrap_dim(-3, x.ndim)  # an IndexError where there is no such dimension
    _check_planes(function, x, count)
    how: dict[str, Any] = {
        "ceil_mode": bool(ceil_mode),
        "count_include_pad": bool(count_include_pad),
        "divisor": divisor_override,
    }
    if count > 1:
        return ops.avg_pool(x, kernel=kernel, stride=stride, padding=padding, **how)
    return _lowered(ops.avg_pool(_lifted(x), kernel=(1, *kernel), stride=(1, *stride), padding=(0, *padding), **how))


def avg_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L); padding counts as zeros unless `count_include_pad` is False.

    >>> import pellucid as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)
    tensor([[2., 1.]])
    """
    as_bool(ceil_mode, "avg_pool1d", "ceil_mode", 5)
    as_bool(count_include_pad, "avg_pool1d", "count_include_pad", 6)
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W).

    Padding counts as zeros unless `count_include_pad` is False; `divisor_override` replaces the number
    of elements that a sum is divided by.

    >>> import pellucid as torch
    >>> torch.nn.functional.avg_pool2d(torch.tensor([[[1., 3.], [2., 0.]]]), 2)
    tensor([[[1.5000]]])
    """
    as_bool(ceil_mode, "avg_pool2d", "ceil_mode", 5)
    as_bool(count_include_pad, "avg_pool2d", "count_include_pad", 6)
    made = _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return deliver(made, out)


def avg_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W); settings as in `avg_pool2d`.

    >>> import pellucid as torch
    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 2, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    as_bool(ceil_mode, "avg_pool3d", "ceil_mode", 5)
    as_bool(count_include_pad, "avg_pool3d", "count_include_pad", 6)
    made = _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return deliver(made, out)


# -- adaptive ------------------------------------------------------------------------------------------------------


def _output_size(function: str, value: Any, x: Tensor, count: int) -> Ints:
    """The wanted sizes; None keeps the input's size of that dimension."""
    need_tensor(x, function)
    if count > 1 and not isinstance(value, int):
        known = tuple(x.shape[-len(value) :]) if value is not None else ()
        given = value if value is not None else (None,) * count
        check(
            len(given) in (1, count) if value is not None else True,
            f"{function}: output_size must be {count} (a single int, or one int or None per dimension), but got"
            f" {value}",
        )
        check(
            x.ndim > len(given),
            f"{function}: Input dimension should be at least {len(given) + 1} (got shape {list(x.shape)})",
            ValueError,
        )
        value = tuple([n if size is None else size for size, n in zip(given, known or x.shape[-count:], strict=True)])
    ints = as_ints(value, function, "output_size")
    check(
        len(ints) in (1, count),
        f"{function}() argument 'output_size' should contain one int (got {len(ints)})"
        if count == 1
        else f"{function}: output_size must be {count}, but got {list(ints)}",
    )
    return ints * count if len(ints) == 1 else ints


def adaptive_avg_pool1d(input: Tensor, output_size: IntOrInts) -> Tensor:
    """The means of `output_size` evenly spread windows of (N, C, L) or (C, L).

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1., 3., 2.]]), 2)
    tensor([[2.0000, 2.5000]])
    """
    size = _output_size("adaptive_avg_pool1d", output_size, input, 1)
    _check_signal("adaptive_avg_pool1d", input)
    return _lowered(ops.adaptive_avg_pool(_lifted(input), size=(1, *size)))


def _check_signal(function: str, x: Tensor) -> None:
    check(
        x.ndim in (2, 3),
        f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 'self' (while checking"
        " arguments for"
        f" {function})",
    )


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of evenly spread windows of (N, C, H, W) or (C, H, W), so many as `output_size` says.

    It is an int or (height, width), where None keeps a size.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 8, 7, 5), (1, None)).shape
    torch.Size([1, 8, 1, 5])
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of evenly spread windows of (N, C, D, H, W) or (C, D, H, W); `output_size` as in `adaptive_avg_pool2d`.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 8, 7, 5, 3), 2).shape
    torch.Size([1, 8, 2, 2, 2])
    """
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


def _adaptive_avg(function: str, count: int, input: Tensor, output_size: Any) -> Any:
    size = _output_size(function, output_size, input, count)
    if size == (1,) * count and input.ndim > count and input.dtype.is_floating_point:
        return input.mean(dim=tuple(range(-count, 0)), keepdim=True)  # one window over everything
    return ops.adaptive_avg_pool(input, size=size)


def _adaptive_max(function: str, count: int, input: Tensor, output_size: Any) -> Any:
    size = _output_size(function, output_size, input, count)
    if count > 1:
        return ops.adaptive_max_pool(input, size=size)
    _check_signal(function, input)
    values, indices = ops.adaptive_max_pool(_lifted(input), size=(1, *size))
    return _lowered(values), _lowered(indices)


def adaptive_max_pool1d(input: Tensor, output_size: IntOrInts, return_indices: bool = False) -> Any:
    """The largest values of `output_size` evenly spread windows of (N, C, L) or (C, L); on request, also where.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1., 3., 2., 0.]]), 2)
    tensor([[3., 2.]])
    """
    pair = _adaptive_max("adaptive_max_pool1d", 1, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest values of evenly spread windows of (N, C, H, W) or (C, H, W), and with `return_indices` where.

    `output_size` is an int or (height, width), where None keeps a size.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool2d(torch.tensor([[[1., 3.], [2., 0.]]]), 1)
    tensor([[[3.]]])
    """
    pair = _adaptive_max("adaptive_max_pool2d", 2, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest values of evenly spread windows of (N, C, D, H, W) or (C, D, H, W), and with `return_indices` where.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool3d(torch.ones(1, 2, 5, 4, 3), (2, None, 1)).shape
    torch.Size([1, 2, 2, 4, 1])
    """
    pair = _adaptive_max("adaptive_max_pool3d", 3, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: IntOrInts, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool1d_with_indices(torch.tensor([[1., 3.]]), 1)
    (tensor([[3.]]), tensor([[1]]))
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool2d_with_indices(torch.tensor([[[1., 3.], [2., 0.]]]), 1)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` with the indices, whatever `return_indices` says.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool3d_with_indices(torch.ones(1, 2, 2, 2), 1)[1]
    tensor([[[[0]]]])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size)


# -- norms ---------------------------------------------------------------------------------------------------------


def _lp_pool(count: int, x: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    function = f"lp_pool{count}d"
    need_tensor(x, function)
    kernel = window_sizes(function, "kernel_size", kernel_size, count)
    means = _avg_pool(function, count, x.pow(norm_type), kernel, stride, 0, ceil_mode, True, None)
    places = 1
    for each in kernel:
        places *= each
    direction = means.detach().sign()  # has no slope, and 0 times the infinite slope of a root at 0 would be NaN
    return (direction * means.abs().relu()).mul(places).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of (N, C, L) or (C, L), where p is `norm_type`.

    >>> import pellucid as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3., 4.]]), 2, 2)
    tensor([[5.]])
    """
    as_bool(ceil_mode, "lp_pool1d", "ceil_mode", 5)
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of (N, C, H, W) or (C, H, W), where p is `norm_type`.

    >>> import pellucid as torch
    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    as_bool(ceil_mode, "lp_pool2d", "ceil_mode", 5)
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None, ceil_mode: bool = False
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of (N, C, D, H, W) or (C, D, H, W), where p is `norm_type`.

    >>> import pellucid as torch
    >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 2), 3, 2).round()
    tensor([[[[2.]]]])
    """
    as_bool(ceil_mode, "lp_pool3d", "ceil_mode", 5)
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
