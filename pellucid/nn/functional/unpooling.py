"""The partial inverse of max pooling as functions: values go back to where their indices say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid import Tensor
from pellucid.engine.core.errors import check
from pellucid.engine.ops import pooling as ops
from pellucid.engine.ops import shape
from pellucid.engine.tensor.arguments import need_tensor
from pellucid.nn.functional.pooling import IntOrInts, Ints, stride_of, window_sizes

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _unpooled_size(
    function: str, x: Tensor, kernel: Ints, stride: Ints, padding: Ints, output_size: Sequence[int] | None
) -> Ints:
    count = len(kernel)
    inside = x.shape[x.ndim - count :]
    plain = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(inside, kernel, stride, padding, strict=True)]
    if output_size is None:
        size = tuple(plain)
    else:
        check(
            len(output_size) in (count, count + 2),
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of"
            f" '{len(output_size)}'",
            ValueError,
        )
        size = tuple([int(each) for each in output_size[-count:]])
        for axis, (n, s, each) in enumerate(zip(plain, stride, size, strict=True)):
            check(
                n - s < each < n + s,
                f'invalid output_size "{size}" (dim {axis} must be between {n - s} and {n + s})',
                ValueError,
            )
    for axis, each in enumerate(size):
        check(
            each >= 0,
            "max_unpooling: output_size must contain non-negative spatial dimensions, but got"
            f" output_size[{axis}]={each}",
            ValueError,
        )
    return size


def _max_unpool(
    count: int, x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Any:
    function = f"max_unpool{count}d"
    need_tensor(x, function)
    need_tensor(indices, function, "indices", 2)
    kernel = window_sizes(function, "kernel_size", kernel_size, count)
    stride = window_sizes(function, "stride", stride_of(stride, kernel), count)
    padding = window_sizes(function, "padding", padding, count)
    check(all(each > 0 for each in stride), f"strides should be greater than zero, but got stride: {list(stride)}")
    check(
        x.ndim in (count + 1, count + 2),
        f"Input to max_unpooling{count}d should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with"
        f" {x.ndim}"
        " dimensions.",
    )
    size = _unpooled_size(function, x, kernel, stride, padding, output_size)
    if count > 1:
        return ops.max_unpool(x, indices, size=size)
    return shape.squeeze_axis(
        ops.max_unpool(
            shape.unsqueeze_axes(x, axes=(x.ndim,)), shape.unsqueeze_axes(indices, axes=(x.ndim,)), size=(*size, 1)
        ),
        axis=x.ndim,
    )


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The partial inverse of `max_pool1d`: each value at its index, zeros elsewhere.

    Several lengths are pooled to the same one, so `output_size` may say which it was.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_unpool1d(torch.tensor([[3., 2.]]), torch.tensor([[1, 2]]), 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The partial inverse of `max_pool2d`: each value at its index, zeros elsewhere; RuntimeError for an index outside.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_unpool2d(torch.tensor([[[3.]]]), torch.tensor([[[1]]]), 2)
    tensor([[[0., 3.],
             [0., 0.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The partial inverse of `max_pool3d`: each value at its index, zeros elsewhere.

    >>> import pellucid as torch
    >>> torch.nn.functional.max_unpool3d(torch.ones(1, 1, 1, 1), torch.tensor([[[[7]]]]), 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 1.])
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
