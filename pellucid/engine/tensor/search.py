"""searchsorted, bucketize, isin, bincount, histograms, and index patterns."""

from __future__ import annotations

import math
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import usable
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import promote_types, title
from pellucid.engine.ops import search as ops
from pellucid.engine.ops.selection import gather
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import (
    as_bool,
    as_int,
    as_ints,
    as_number,
    deliver,
    is_number,
    need_operand,
    need_str,
    need_tensor,
    need_tensors,
)
from pellucid.engine.tensor.creation import check_layout
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import refuse_pinning
from pellucid.engine.tensor.ranges import scalar_tensor


def _number_like(value: Any, like: Any) -> Any:
    """A number as a zero-dim tensor beside `like`, in the default type of its category."""
    if isinstance(value, TensorData):
        return value
    kind = dtypes.of_scalar_type(type(value)) if is_number(value) else None
    return scalar_tensor(value, dtype=kind, device=like.device)


def _common(a: Any, b: Any) -> tuple[Any, Any]:
    if a._meta.dtype is b._meta.dtype:
        return a, b
    kind = promote_types(a._meta.dtype, b._meta.dtype)
    return a.to(kind), b.to(kind)


def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    out: Any = None,
    sorter: Any = None,
) -> Any:
    """Where each value would be inserted in an ascending sequence (along the last dimension): before equals, or after
    with `right`.

    >>> import pellucid as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    need_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    need_operand(input, "searchsorted", "input")
    as_bool(out_int32, "searchsorted", "out_int32"), as_bool(right, "searchsorted", "right")
    if side is not None:
        need_str(side, "searchsorted", "side")
    check(side in (None, "left", "right"), f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    check(
        side != "left" or not right,
        f"torch.searchsorted(): side and right can't be set to opposites, got side of {side} while right was True",
    )
    check(
        isinstance(input, TensorData) or sorted_sequence._meta.ndim == 1,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we "
        "got boundaries tensor"
        f" dim({sorted_sequence._meta.ndim}) and input value's dim(0) numel(1)",
    )
    check(
        sorted_sequence._meta.ndim > 0,
        "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension",
    )
    if sorter is not None:
        check(
            sorter._meta.shape == sorted_sequence._meta.shape,
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor"
            f" {list(sorted_sequence._meta.shape)}and got sorter tensor {list(sorter._meta.shape)}",
        )
        check(
            sorter._meta.dtype is dtypes.int64,
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {title(sorter._meta.dtype)}",
        )
        sorted_sequence = gather(sorted_sequence, sorter, dim=sorted_sequence._meta.ndim - 1)
    if out is not None and isinstance(out, TensorData):
        wanted = dtypes.int32 if out_int32 else dtypes.int64
        check(
            out._meta.dtype is wanted,
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
            "depending on whether out_int32 flag is True, but we got output tensor's dtype "
            f"{title(out._meta.dtype)} and out_int32 flag is {as_bool(out_int32, 'searchsorted', 'out_int32')}",
        )
    sequence, values = _common(sorted_sequence, _number_like(input, sorted_sequence))
    return ops.searchsorted(
        sequence.detach(),
        values.detach(),
        right=as_bool(right, "searchsorted", "right") or side == "right",
        int32=out_int32,
        out=out,
    )


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None) -> Any:
    """Which interval between ascending boundaries each value falls in.

    >>> import pellucid as torch
    >>> torch.bucketize(torch.tensor([1.5, 9.0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([1, 3])
    """
    as_bool(out_int32, "bucketize", "out_int32")
    as_bool(right, "bucketize", "right")
    ndim = need_tensor(boundaries, "bucketize", "boundaries", 2)._meta.ndim
    check(ndim == 1, f"boundaries tensor must be 1 dimension, but got dim({ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Any = None
) -> Any:
    """Whether each element is one of `test_elements`. `assume_unique` is a promise that can make it faster; the result
    is the same.

    >>> import pellucid as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    as_bool(assume_unique, "isin", "assume_unique")
    check(
        isinstance(elements, TensorData) or isinstance(test_elements, TensorData),
        "isin(): elements or test_elements must be a Tensor",
        TypeError,
    )
    like = elements if isinstance(elements, TensorData) else test_elements
    a, b = _common(_number_like(elements, like), _number_like(test_elements, like))
    check(not a._meta.dtype.is_complex, f"Unsupported input type encountered for isin(): {title(a._meta.dtype)}")
    return ops.isin(a.detach(), b.detach(), invert=as_bool(invert, "isin", "invert"), out=out)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each of 0, 1, … occurs in a vector of integers, or the sum of the weights there.

    >>> import pellucid as torch
    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if weights is not None:
        need_tensor(weights, "bincount", "weights", 2)
    need_tensor(input, "bincount")
    length = as_int(minlength, "bincount", "minlength", 3)
    if weights is None:
        return ops.bincount(input, minlength=length)
    return ops.bincount_weighted(input, weights.detach(), minlength=length)


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Any:
    """How many elements fall into each of `bins` equal parts of [min, max] (of the data's range when both are equal).

    >>> import pellucid as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    low, high = as_number(min, "histc", "min", 3), as_number(max, "histc", "max", 4)
    count = as_int(bins, "histc", "bins")
    return ops.histc(need_tensor(input, "histc").detach(), bins=count, low=float(low), high=float(high), out=out)


def histogram(
    input: Any,
    bins: Any,
    *,
    range: tuple[float, float] | None = None,
    weight: Any = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """Counts (or sums of weights) between the edges of `bins`, a number of equal parts or the edges themselves.

    >>> import pellucid as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    data = need_tensor(input, "histogram").detach()
    if isinstance(bins, TensorData):
        edges = bins.detach()
    else:
        low, high = (None, None) if range is None else (float(range[0]), float(range[1]))
        edges = ops.bin_edges(data, bins=as_int(bins, "histogram", "bins"), low=low, high=high)
    counts = ops.histogram(
        data, edges, None if weight is None else weight.detach(), density=as_bool(density, "histogram", "density")
    )
    return return_types.histogram(deliver((counts, edges), out))


def histogramdd(
    input: Any,
    bins: Any,
    range: Any = None,
    weight: Any = None,
    density: bool = False,
) -> Any:
    """Counts (or sums of weights) of points, the rows along the last dimension, in a grid: `bins` are the numbers of
    equal parts (or one number for all), or the edges, per dimension.

    >>> import pellucid as torch
    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.1]]), [2, 2]).hist
    tensor([[0., 1.],
            [2., 0.]])
    """
    as_bool(density, "histogramdd", "density", 5)
    meta = need_tensor(input, "histogramdd")._meta
    check(meta.ndim >= 2, f"torch.histogramdd: input tensor should have at least 2 dimensions. It has {meta.ndim}")
    if meta.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{title(meta.dtype)}'")
    size = meta.shape[-1]
    points = input.detach().reshape(-1, size) if size else input.detach().reshape(0, 0)
    edges = _grid_edges(points, [bins] * size if is_number(bins) else list(bins), range)
    if weight is not None:
        check(
            tuple(weight._meta.shape) == tuple(meta.shape[:-1]),
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(meta.shape)} and weight with shape "
            f"{list(weight._meta.shape)}",
        )
        check(
            weight._meta.dtype is meta.dtype,
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({meta.dtype.name}), and weight({weight._meta.dtype.name})",
        )
        weight = weight.detach().reshape(-1)
    counts = _grid_counts(points, edges, weight)
    if density:
        counts = counts / counts.sum()
        for axis, each in enumerate(edges):
            counts = counts / (each[1:] - each[:-1]).reshape([-1] + [1] * (size - axis - 1))
    return return_types.histogramdd((counts, tuple(edges)))


def _grid_edges(points: Any, bins: list[Any], range: Any) -> list[Any]:
    size, kind = points._meta.shape[1], points._meta.dtype
    given = any([isinstance(each, TensorData) for each in bins])
    if given:
        check(
            len(bins) == size,
            f"torch.histogramdd: expected {size} sequences of bin edges for a {size}-dimensional histogram but got "
            f"{len(bins)}",
        )
        for axis, each in enumerate(bins):
            check(
                each._meta.dtype is kind,
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
                f"dtype {kind.name} and bins for dimension {axis} with dtype {each._meta.dtype.name}",
            )
            check(
                each._meta.ndim == 1,
                f"torch.histogramdd: bins tensor should have one dimension, but got {each._meta.ndim} dimensions in "
                f"the bins tensor for dimension {axis}",
            )
        return [each.detach() for each in bins]
    check(
        len(bins) == size,
        "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        f" (bins has {len(bins)}, the input {size})",
    )
    check(
        range is None or len(range) == 2 * size,
        f"torch.histogramdd: for a {size}-dimensional histogram range should have {2 * size} elements, but got "
        f"{0 if range is None else len(range)}",
    )
    edges = []
    for axis, parts in enumerate(bins):
        column = points.select(1, axis)
        if range is not None:
            low, high = float(range[2 * axis]), float(range[2 * axis + 1])
        else:
            low, high = (0.0, 1.0) if not column._meta.numel else (float(column.min()), float(column.max()))
        check(
            math.isfinite(low) and math.isfinite(high),
            f"torch.histogramdd: dimension {axis}'s range [{low}, {high}] is not finite",
        )
        check(
            low <= high,
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {axis}",
        )
        edges.append(ops.bin_edges(column, bins=as_int(parts, "histogramdd", "bins"), low=low, high=high))
    return edges


def _grid_counts(points: Any, edges: list[Any], weight: Any) -> Any:
    """The number (or weight) of the points in each cell; a point on the last edge is in the last cell."""
    shape = [each._meta.numel - 1 for each in edges]
    for axis, bins in enumerate(shape):
        check(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension {axis}")
    cell, inside = points.new_zeros(points._meta.shape[0], dtype=dtypes.int64), None
    for axis, each in enumerate(edges):
        column = points.select(1, axis).contiguous()
        within = (column >= each[0]) & (column <= each[-1])
        inside = within if inside is None else inside & within
        place = (searchsorted(each, column, right=True) - 1).clamp(0, shape[axis] - 1)
        cell = cell * shape[axis] + place
    if inside is not None:
        cell, weight = cell[inside], None if weight is None else weight[inside]
    return bincount(cell, weight, math.prod(shape)).to(points._meta.dtype).reshape(shape)


def _pattern(
    name: str,
    upper: bool,
    row: Any,
    col: Any,
    offset: Any,
    dtype: dtype_type | None,
    device: Any,
    layout: layout_type | None,
) -> Any:
    check_layout(layout)
    rows, columns = as_int(row, name, "row", 1), as_int(col, name, "col")
    check(rows >= 0, f"row must be non-negative, got{rows}")
    check(columns >= 0, f"col must be non-negative, got{columns}")
    kind = dtypes.as_dtype(dtype) or dtypes.int64
    check(kind in (dtypes.int64, dtypes.int32), f"\"{name}\" not implemented for '{title(kind)}'", NotImplementedError)
    return ops.triangle_indices(
        rows=rows,
        columns=columns,
        offset=as_int(offset, name, "offset", 3),
        upper=upper,
        dtype=kind,
        device=usable(device),
    )


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    layout: layout_type | None = None,
    pin_memory: bool = False,
) -> Any:
    """Rows and columns of the elements on and below a diagonal of a matrix, as a 2 × n tensor.

    >>> import pellucid as torch
    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    as_bool(pin_memory, "tril_indices", "pin_memory")
    refuse_pinning(pin_memory, device)
    return _pattern("tril_indices", False, row, col, offset, dtype, device, layout)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    layout: layout_type | None = None,
    pin_memory: bool = False,
) -> Any:
    """Rows and columns of the elements on and above a diagonal of a matrix, as a 2 × n tensor.

    >>> import pellucid as torch
    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    as_bool(pin_memory, "triu_indices", "pin_memory")
    refuse_pinning(pin_memory, device)
    return _pattern("triu_indices", True, row, col, offset, dtype, device, layout)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Every choice of `r` elements of a vector, one per row.

    >>> import pellucid as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    need_tensor(input, "combinations")
    check(input._meta.ndim == 1, f"Expect a 1D vector, but got shape {list(input._meta.shape)}")
    size = as_int(r, "combinations", "r")
    check(size >= 0, f"Expect a non-negative number, but got {size}")
    if size == 0:
        return input.new_empty((0,))
    return input[
        ops.combination_indices(
            input.detach(), r=size, with_replacement=as_bool(with_replacement, "combinations", "with_replacement", 3)
        )
    ]


def cartesian_prod(*tensors: Any) -> Any:
    """Every choice of one element from each of several vectors, one per row.

    >>> import pellucid as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    from pellucid.engine.tensor.joining import meshgrid, stack

    several = need_tensors(tensors, "cartesian_prod")
    for each in several:
        check(each._meta.ndim == 1, f"Expect a 1D vector, but got shape {list(each._meta.shape)}")
    if len(several) == 1:
        return several[0]
    return stack([each.reshape(-1) for each in meshgrid(*several, indexing="ij")], 1)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The coordinates, in an array of that shape, of positions counted in row-major order.

    >>> import pellucid as torch
    >>> torch.unravel_index(torch.tensor([3]), (2, 2))
    (tensor([1]), tensor([1]))
    """
    kind = need_tensor(indices, "unravel_index", "indices")._meta.dtype
    check(kind.category == 1, f"expected 'indices' to be integer dtype, but got {kind}", ValueError)
    sizes = as_ints(shape, "unravel_index", "shape")
    check(all(size >= 0 for size in sizes), f"'shape' cannot have negative values, but got {sizes}", ValueError)
    indices = indices.to(dtypes.int64)
    step, coordinates = 1, []
    for size in reversed(sizes):
        coordinates.append(indices.div(step, rounding_mode="floor").remainder(size))
        step *= size
    return tuple(reversed(coordinates))


class SearchMethods:
    """Rows of `Tensor`."""

    bincount = bincount
    histc = histc
    histogram = histogram
    isin = isin
