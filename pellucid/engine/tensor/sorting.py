"""sort, topk, median, unique and searching in sorted sequences."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.errors import check
from pellucid.engine.ops import sorting as ops
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import as_bool, as_dim, as_int, deliver, need_tensor, presented
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def _axis(input: Any, dim: Any, function: str) -> int:
    return as_dim(dim, need_tensor(input, function)._meta.ndim, function)


def sort(input: Any, dim: int = -1, descending: bool = False, stable: Any = None, *, out: Any = None) -> Any:
    """The elements in order along a dimension, and where they were. A NaN is the largest. Equal elements keep their
    order, also with `stable=False`, which only allows another.

    >>> import pellucid as torch
    >>> torch.sort(torch.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    if stable is not None:
        as_bool(stable, "sort", "stable", 4)
    found = ops.sort(
        input, dim=_axis(input, dim, "sort"), descending=as_bool(descending, "sort", "descending", 3), out=out
    )
    if stable is not None:  # PyTorch's graph node says whether it was given
        presented(found[0], "SortBackward1")
    return return_types.sort(found)


def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None) -> Any:
    """Where the elements in order along a dimension were; equal ones keep their order, as in `sort`.

    >>> import pellucid as torch
    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    need_tensor(input, "argsort")
    as_bool(stable, "argsort", "stable", 4)
    return deliver(
        ops.sort(
            input.detach(), dim=_axis(input, dim, "argsort"), descending=as_bool(descending, "argsort", "descending", 3)
        )[1],
        out,
    )


def msort(input: Any, *, out: Any = None) -> Any:
    """Sorted along the first dimension.

    >>> import pellucid as torch
    >>> torch.msort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    return deliver(ops.sort(input, dim=_axis(input, 0, "msort"), descending=False)[0], out)


def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The k largest (smallest) elements along a dimension, and where they were; in order, also with `sorted=False`,
    which only allows another.

    >>> import pellucid as torch
    >>> torch.topk(torch.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    as_bool(sorted, "topk", "sorted", 5)
    axis = _axis(input, dim, "topk")
    return return_types.topk(
        ops.topk(input, k=as_int(k, "topk", "k"), dim=axis, largest=as_bool(largest, "topk", "largest", 4), out=out)
    )


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The k-th smallest element along a dimension (counting from 1), and where it was.

    >>> import pellucid as torch
    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    axis = _axis(input, dim, "kthvalue")
    return return_types.kthvalue(
        ops.kthvalue(
            input, k=as_int(k, "kthvalue", "k"), dim=axis, keepdim=as_bool(keepdim, "kthvalue", "keepdim", 4), out=out
        )
    )


def _median(input: Any, dim: Any, keepdim: bool, ignore_nan: bool, name: str, out: Any) -> Any:
    if dim is None:
        if out is not None:
            raise TypeError(
                f'{name}() missing 1 required positional arguments: "dim" (out= takes the values and indices along one)'
            )
        flat = need_tensor(input, name).reshape(-1)
        if not flat._meta.numel:
            check(input._meta.dtype.category >= 2, f"{name}() operation does not have an identity for empty input")
            return input.new_full((), float("nan"))
        middle = ops.median(flat, dim=0, keepdim=False, ignore_nan=ignore_nan)[0]
        return presented(middle, f"{name.title()}Backward0")
    found = ops.median(input, dim=_axis(input, dim, name), keepdim=bool(keepdim), ignore_nan=ignore_nan, out=out)
    if out is None and ignore_nan:
        presented(found[0], "NanmedianBackward1")
    return (return_types.nanmedian if ignore_nan else return_types.median)(found)


def median(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The middle element (the lower of two) of all; with `dim`, along it, and where it was.

    >>> import pellucid as torch
    >>> torch.median(torch.tensor([4, 1, 3, 2]))
    tensor(2)
    """
    as_bool(keepdim, "median", "keepdim", 3)
    return _median(input, dim, keepdim, False, "median", out)


def nanmedian(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median of the elements that are not NaN.

    >>> import pellucid as torch
    >>> torch.nanmedian(torch.tensor([1.0, float("nan"), 3.0]))
    tensor(1.)
    """
    as_bool(keepdim, "nanmedian", "keepdim", 3)
    return _median(input, dim, keepdim, True, "nanmedian", out)


def mode(input: Any, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The commonest element along a dimension (the smallest of equals), and where it was last found.

    >>> import pellucid as torch
    >>> torch.mode(torch.tensor([1, 2, 2])).values
    tensor(2)
    """
    return return_types.mode(
        ops.mode(input, dim=_axis(input, dim, "mode"), keepdim=as_bool(keepdim, "mode", "keepdim", 3), out=out)
    )


def _parts(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    parts = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return parts[0] if len(parts) == 1 else parts


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements in ascending order (of slices with `dim`), which of them each is, and how often they
    occur.

    >>> import pellucid as torch
    >>> torch.unique(torch.tensor([3, 1, 1]))
    tensor([1, 3])
    """
    as_bool(sorted, "unique", "sorted", 2)
    as_bool(return_inverse, "unique", "return_inverse", 3)
    as_bool(return_counts, "unique", "return_counts", 4)
    axis = None if dim is None else _axis(input, dim, "unique")
    return _parts(ops.unique(need_tensor(input, "unique"), dim=axis), return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements without those that equal the one before.

    >>> import pellucid as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    as_bool(return_inverse, "unique_consecutive", "return_inverse", 2)
    as_bool(return_counts, "unique_consecutive", "return_counts", 3)
    axis = None if dim is None else _axis(input, dim, "unique_consecutive")
    return _parts(
        ops.unique_consecutive(need_tensor(input, "unique_consecutive"), dim=axis), return_inverse, return_counts
    )


class SortingMethods:
    """Rows of `Tensor`."""

    sort = takes_numpy_names(sort)
    argsort = takes_numpy_names(argsort)
    msort = msort
    topk = takes_numpy_names(topk)
    kthvalue = takes_numpy_names(kthvalue)
    median = takes_numpy_names(median)
    nanmedian = takes_numpy_names(nanmedian)
    mode = takes_numpy_names(mode)
    unique = unique
    unique_consecutive = unique_consecutive
