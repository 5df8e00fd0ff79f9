"""Cutting a tensor into parts along a dimension, as views: split, chunk, unbind."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.errors import check
from pellucid.engine.ops import shape as ops
from pellucid.engine.tensor.arguments import as_dim, as_int, as_ints, need_tensor
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Consecutive parts along a dimension: of one size (the last may be smaller), or of given sizes.

    >>> import pellucid as torch
    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    meta = need_tensor(tensor, "split", "tensor")._meta
    check(meta.ndim > 0, "split expects at least a 1-dimensional tensor")
    axis = as_dim(dim, meta.ndim, "split", 3)
    size = meta.shape[axis]
    if isinstance(split_size_or_sections, list | tuple):
        sizes = as_ints(split_size_or_sections, "split", "split_size")
        check(
            sum(sizes) == size and min(sizes, default=0) >= 0,
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
            f"{axis}), but got"
            f" split_sizes={list(sizes)}",
        )
        return ops.split_with_sizes(tensor, sizes=sizes, dim=axis)
    each = as_int(split_size_or_sections, "split", "split_size")
    check(each >= 0, f"split expects split_size be non-negative, but got split_size={each}")
    check(each or not size, f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    count = max(1, -(-size // each)) if each else 1
    return ops.split(tensor, sizes=tuple([min(each, size - i * each) if each else 0 for i in range(count)]), dim=axis)


def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Consecutive parts of given sizes along a dimension."""
    return split(input, tuple(split_sizes), dim)


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most `chunks` parts of equal size along a dimension; the last may be smaller.

    >>> import pellucid as torch
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    meta = need_tensor(input, "chunk")._meta
    check(meta.ndim > 0, "chunk expects at least a 1-dimensional tensor")
    count = as_int(chunks, "chunk", "chunks")
    check(count > 0, f"chunk expects `chunks` to be greater than 0, got: {count}")
    axis = as_dim(dim, meta.ndim, "chunk", 3)
    size = meta.shape[axis]
    if not size:
        return ops.split_with_sizes(input, sizes=(0,) * count, dim=axis)
    return split(input, -(-size // count), axis)


def tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Any, ...]:
    """Parts along a dimension: a number of nearly equal ones, or cut at the given indices.

    >>> import pellucid as torch
    >>> torch.tensor_split(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    meta = need_tensor(input, "tensor_split")._meta
    check(meta.ndim > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = as_dim(dim, meta.ndim, "tensor_split", 3)
    wanted: Any = next((each for each in (indices_or_sections, indices, sections) if each is not None), None)
    if hasattr(wanted, "_meta"):
        wanted = wanted.tolist()
    size = meta.shape[axis]
    if isinstance(wanted, list | tuple):
        cuts = [slice(*pair).indices(size)[:2] for pair in zip([0, *wanted], [*wanted, None], strict=True)]
    else:
        count = as_int(wanted, "tensor_split", "sections")
        check(count > 0, f"number of sections must be larger than 0, got {count}")
        edges = [i * (size // count) + min(i, size % count) for i in range(count + 1)]
        cuts = list(zip(edges[:-1], edges[1:], strict=True))
    return tuple([ops.slice_(input, dim=axis, start=a, end=max(a, b), step=1) for a, b in cuts])


def _split_along(name: str, input: Any, indices_or_sections: Any, dim: int, least: int) -> tuple[Any, ...]:
    check(
        need_tensor(input, name)._meta.ndim >= least,
        f"torch.{name} requires a tensor with at least {least} dimension, but got {input._meta.ndim} dimensions!",
    )
    if isinstance(indices_or_sections, int):
        size = input._meta.shape[dim]
        check(
            indices_or_sections > 0 and size % indices_or_sections == 0,
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is "
            "not divisible by the"
            f" split_size {indices_or_sections}!",
        )
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Split along the second dimension (the first of a vector).

    >>> import pellucid as torch
    >>> [t.shape for t in torch.hsplit(torch.ones(2, 4), 2)]
    [torch.Size([2, 2]), torch.Size([2, 2])]
    """
    return _split_along("hsplit", input, indices_or_sections, 0 if need_tensor(input, "hsplit").ndim == 1 else 1, 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Split along the first dimension.

    >>> import pellucid as torch
    >>> len(torch.vsplit(torch.ones(4, 2), 2))
    2
    """
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Split along the third dimension.

    >>> import pellucid as torch
    >>> len(torch.dsplit(torch.ones(1, 1, 4), 2))
    2
    """
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Every index along a dimension, as a tuple of views.

    >>> import pellucid as torch
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    meta = need_tensor(input, "unbind")._meta
    check(meta.ndim > 0, "Dimension specified as 0 but tensor has no dimensions", IndexError)
    return ops.unbind(input, dim=as_dim(dim, meta.ndim, "unbind"))


class SplittingMethods:
    """Rows of `Tensor`."""

    split = split
    split_with_sizes = takes_numpy_names(split_with_sizes)
    chunk = takes_numpy_names(chunk)
    tensor_split = takes_numpy_names(tensor_split)
    hsplit = hsplit
    vsplit = vsplit
    dsplit = dsplit
    unbind = takes_numpy_names(unbind)
