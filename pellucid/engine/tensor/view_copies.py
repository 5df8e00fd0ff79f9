"""Copies of what views show (`view_copy`, `expand_copy`, …), parts that share no memory, and rules of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, Size, contiguous_strides
from pellucid.engine.ops.memory import clone
from pellucid.engine.ops.shape import alias
from pellucid.engine.tensor import shape, splitting
from pellucid.engine.tensor.arguments import as_bool, as_int, as_ints, as_size, deliver, need_tensor
from pellucid.engine.tensor.indexing import nonzero
from pellucid.engine.tensor.joining import cat
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.numpy_names import takes_numpy_names
from pellucid.engine.tensor.ranges import empty_strided


def _copied(view: Any) -> Any:
    if view._meta.is_sparse:  # never a view
        return view
    return clone(view, strides=contiguous_strides(tuple(view._meta.shape)))


def _copy_of(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function that returns a copy of what `function` shows: a row of a table."""

    def copied(input: Any, *args: Any, out: Any = None, **options: Any) -> Any:
        found = function(need_tensor(input, name), *args, **options)
        if isinstance(found, tuple):
            return deliver(tuple([_copied(each) for each in found]), out)
        return deliver(_copied(found), out)

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"Like `{function.__name__}`, as a copy that shares no memory with the input."
    return copied


def _alias(input: Any) -> Any:
    return alias(input)


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return input[(slice(None),) * (dim % max(input._meta.ndim, 1)) + (slice(start, end, step),)]


_alias.__name__, _slice.__name__ = "alias", "slice"

alias_copy = _copy_of(_alias, "alias_copy")
detach_copy = _copy_of(_alias, "detach_copy")
as_strided_copy = _copy_of(shape.as_strided, "as_strided_copy")
diagonal_copy = _copy_of(shape.diagonal, "diagonal_copy")
expand_copy = _copy_of(shape.expand, "expand_copy")
narrow_copy = _copy_of(shape.narrow, "narrow_copy")
permute_copy = _copy_of(shape.permute, "permute_copy")
select_copy = _copy_of(shape.select, "select_copy")
slice_copy = _copy_of(_slice, "slice_copy")
split_copy = _copy_of(splitting.split, "split_copy")
split_with_sizes_copy = _copy_of(splitting.split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copy_of(shape.squeeze, "squeeze_copy")
t_copy = _copy_of(shape.t, "t_copy")
transpose_copy = _copy_of(shape.transpose, "transpose_copy")
unbind_copy = _copy_of(splitting.unbind, "unbind_copy")
unfold_copy = _copy_of(shape.unfold, "unfold_copy")
unsqueeze_copy = _copy_of(shape.unsqueeze, "unsqueeze_copy")
view_as_complex_copy = _copy_of(shape.view_as_complex, "view_as_complex_copy")
view_as_real_copy = _copy_of(shape.view_as_real, "view_as_real_copy")
view_copy = _copy_of(shape.view, "view_copy")


def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Like `chunk`, with parts that share no memory, so that writing into one concerns no other.

    >>> import pellucid as torch
    >>> torch.unsafe_chunk(torch.tensor([1, 2]), 2)
    (tensor([1]), tensor([2]))
    """
    return tuple([_copied(each) for each in splitting.chunk(input, chunks, dim)])


def unsafe_split(tensor: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Like `split`, with parts that share no memory, so that writing into one concerns no other.

    >>> import pellucid as torch
    >>> torch.unsafe_split(torch.tensor([1, 2]), 1)
    (tensor([1]), tensor([2]))
    """
    return tuple([_copied(each) for each in splitting.split(tensor, split_size, dim)])


def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Like `split_with_sizes`, with parts that share no memory.

    >>> import pellucid as torch
    >>> torch.unsafe_split_with_sizes(torch.tensor([1, 2]), [1, 1])
    (tensor([1]), tensor([2]))
    """
    return tuple([_copied(each) for each in splitting.split_with_sizes(input, split_sizes, dim)])


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to.

    >>> import pellucid as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for index, given in enumerate(shapes):
        sizes = as_ints(given, "broadcast_shapes", "shapes")
        result = [1] * (len(sizes) - len(result)) + result
        for axis in range(-1, -len(sizes) - 1, -1):
            size = sizes[axis]
            if size < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            check(
                size in (1, result[axis]) or result[axis] == 1,
                f"Attempting to broadcast a dimension of length {size} at {axis}! Mismatching argument at "
                f"index {index} had {sizes};"
                f" but expected shape should be broadcastable to {result}",
            )
            if size != 1:
                result[axis] = size
    return Size(result)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """An uninitialised tensor whose dimensions lie in memory in the given order, the slowest first.

    >>> import pellucid as torch
    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    as_bool(pin_memory, "empty_permuted", "pin_memory")
    as_bool(requires_grad, "empty_permuted", "requires_grad")
    sizes, order = as_size((size,), "empty_permuted"), as_ints(physical_layout, "empty_permuted", "physical_layout")
    check(
        len(sizes) == len(order),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) ="
        f" {len(sizes)} is not equal to len(physical_layout) = {len(order)}",
    )
    for axis in order:
        check(
            0 <= axis < len(sizes),
            f"Dimension out of range (expected to be between 0 and {len(sizes) - 1}, but got {axis})",
        )
    check(len(set(order)) == len(order), "Duplicate dim not allowed")
    strides, step = [0] * len(sizes), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return empty_strided(
        sizes,
        tuple(strides),
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
    )


def fill(input: Any, value: Any) -> Any:
    """A tensor like `input` with `value`, a number or a zero-dim tensor, in every element.

    >>> import pellucid as torch
    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    return need_tensor(input, "fill").clone().fill_(value)


def nonzero_static(input: Any, *, size: int, fill_value: int = -1, out: Any = None) -> Any:
    """Positions of the first `size` elements that are not 0, filled up with `fill_value`: data does not decide the
    shape.

    >>> import pellucid as torch
    >>> torch.nonzero_static(torch.tensor([0, 3]), size=2)
    tensor([[ 1],
            [-1]])
    """
    rows = as_int(size, "nonzero_static", "size")
    check(rows >= 0, "nonzero_static: 'size' must be an non-negative integer")
    found = nonzero(need_tensor(input, "nonzero_static"))
    meta: Meta = found._meta
    if meta.shape[0] >= rows:
        return deliver(found.narrow(0, 0, rows).clone(), out)
    rest = found.new_full((rows - meta.shape[0], meta.shape[1]), fill_value)
    return deliver(cat([found, rest], 0), out)


class ViewCopyMethods:
    """Rows of `Tensor`."""

    unsafe_chunk = takes_numpy_names(unsafe_chunk)
    unsafe_split = takes_numpy_names(unsafe_split)
    unsafe_split_with_sizes = takes_numpy_names(unsafe_split_with_sizes)
    narrow_copy = narrow_copy
    nonzero_static = nonzero_static
