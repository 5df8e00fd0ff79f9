"""Picking and placing elements: gather, scatter, index_select, masks, triangles and diagonals."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import CPU
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import indexing, joining, memory, shape
from pellucid.engine.ops import selection as ops
from pellucid.engine.tensor.arguments import (
    as_bool,
    as_dim,
    as_int,
    as_number,
    deliver,
    fitting,
    in_place,
    need_apart,
    need_operand,
    need_str,
    need_tensor,
    presented,
)
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def _axis(input: Any, dim: Any, function: str) -> int:
    return as_dim(dim, need_tensor(input, function)._meta.ndim, function)


def _value_tensor(value: Any, like: Any) -> Any:
    if isinstance(value, TensorData):
        return value
    return memory.full(size=(), value=value, dtype=like._meta.dtype, device=like._meta.device if like.is_meta else CPU)


def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False, out: Any = None) -> Any:
    """Elements along a dimension at the positions that `index` holds; the result has the shape of `index`.

    >>> import pellucid as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    as_bool(sparse_grad, "gather", "sparse_grad")
    where, axis = need_tensor(index, "gather", "index", 3), _axis(input, dim, "gather")
    if sparse_grad:
        return ops.gather(input, where, dim=axis, sparse_grad=True, out=out)
    return ops.gather(input, where, dim=axis, out=out)


def take_along_dim(input: Any, indices: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """Like `gather`, with input and indices broadcast against each other; without `dim`, in the flattened tensor.

    >>> import pellucid as torch
    >>> torch.take_along_dim(torch.tensor([[3, 1]]), torch.tensor([[1]]), 1)
    tensor([[1]])
    """
    need_tensor(input, "take_along_dim")
    need_tensor(indices, "take_along_dim", "indices", 2)
    check(
        indices._meta.dtype is dtypes.int64,
        f"torch.take_along_dim(): dtype of indices should be Long but got {title(indices.dtype)}",
    )
    size = (
        input._meta.numel
        if dim is None
        else input._meta.shape[_axis(input, dim, "take_along_dim")]
        if input._meta.ndim
        else 1
    )
    indices = indices.where(indices >= 0, indices + size)
    if dim is None:
        return deliver(ops.gather(input.reshape(-1), indices.reshape(-1), dim=0), out)
    check(
        input._meta.ndim == indices._meta.ndim,
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
        f"{input._meta.ndim} dimensions for input, and {indices._meta.ndim} dimensions for indices",
    )
    axis = _axis(input, dim, "take_along_dim")
    from pellucid.engine.core.meta import broadcast_shapes

    a, b = list(input._meta.shape), list(indices._meta.shape)
    a_axis, b_axis = a[axis], b[axis]
    a[axis] = b[axis] = 1
    common = list(broadcast_shapes(a, b))
    left = (*common[:axis], a_axis, *common[axis + 1 :])
    right = (*common[:axis], b_axis, *common[axis + 1 :])
    return deliver(ops.gather(input.expand(left), indices.expand(right), dim=axis), out)


def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Any = None
) -> Any:
    """A copy with `src` (a tensor or number) written at the positions that `index` holds along a dimension, or added or
    multiplied in.

    >>> import pellucid as torch
    >>> torch.scatter(torch.zeros(1, 3), 1, torch.tensor([[2]]), 5.0)
    tensor([[0., 0., 5.]])
    """
    need_tensor(input, "scatter")
    given = need_operand(src if src is not None else value, "scatter", "src", 4)
    source = _value_tensor(given, input)
    if reduce is not None:
        need_str(reduce, "scatter", "reduce")
    check(reduce in (None, "add", "multiply"), "reduce argument must be either add or multiply.")
    result = ops.scatter(
        input,
        source,
        need_tensor(index, "scatter", "index", 3),
        dim=_axis(input, dim, "scatter"),
        reduce=reduce,
        out=out,
    )
    return result if isinstance(given, TensorData) or reduce else presented(result, "ScatterBackward1")


def scatter_add(input: Any, dim: int, index: Any, src: Any, *, out: Any = None) -> Any:
    """A copy to which `src` is added at the positions that `index` holds along a dimension.

    >>> import pellucid as torch
    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2., 0.])
    """
    need_tensor(src, "scatter_add", "src", 4)
    return ops.scatter(
        input,
        src,
        need_tensor(index, "scatter_add", "index", 3),
        dim=_axis(input, dim, "scatter_add"),
        reduce="add",
        out=out,
    )


def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True, out: Any = None
) -> Any:
    """A copy in which all that falls on a position is combined: "sum", "prod", "mean", "amax" or "amin".

    >>> import pellucid as torch
    >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 0]), torch.tensor([1.0, 4.0]), "amax")
    tensor([4., 0.])
    """
    need_tensor(index, "scatter_reduce", "index", 3)
    need_tensor(src, "scatter_reduce", "src", 4)
    need_str(reduce, "scatter_reduce", "reduce", 5)
    axis = _axis(input, dim, "scatter_reduce")
    return ops.scatter_reduce(
        input,
        src,
        index,
        dim=axis,
        reduce=reduce,
        include_self=as_bool(include_self, "scatter_reduce", "include_self"),
        out=out,
    )


def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True, out: Any = None
) -> Any:
    """A copy whose slices along a dimension are combined with those of `source`: "prod", "mean", "amax" or "amin".

    >>> import pellucid as torch
    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    need_tensor(index, "index_reduce", "index", 3)
    need_tensor(source, "index_reduce", "source", 4)
    need_str(reduce, "index_reduce", "reduce", 5)
    axis = _axis(input, dim, "index_reduce")
    check(
        reduce in ("prod", "mean", "amax", "amin"),
        f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
    )
    check(
        index._meta.ndim <= 1,
        f"index_reduce_(): Index is supposed to be a vector, but got dim: {index._meta.ndim} with type: "
        f"{title(index.dtype)}",
    )
    rows = source._meta.shape[axis] if source._meta.ndim else 1
    check(
        rows == index._meta.numel,
        f"index_reduce_(): Number of indices ({index._meta.numel}) should be equal to source.size(dim) ({rows})",
    )
    places = index.reshape(tuple([-1 if d == axis else 1 for d in range(source._meta.ndim)])).expand(
        tuple(source._meta.shape)
    )
    try:
        result = ops.scatter_reduce(
            input,
            source,
            places,
            dim=axis,
            reduce=reduce,
            include_self=as_bool(include_self, "index_reduce", "include_self"),
        )
    except RuntimeError as error:
        if "out of bounds" not in str(error):
            raise
        raise IndexError(f"index out of range in self: {error}") from None
    return deliver(presented(result, "IndexReduceBackward0"), out)


def index_select(input: Any, dim: int, index: Any, *, out: Any = None) -> Any:
    """Whole slices along a dimension, in the order of a vector of positions.

    >>> import pellucid as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1]))
    tensor([[2],
            [4]])
    """
    return ops.index_select(
        input, need_tensor(index, "index_select", "index", 3), dim=_axis(input, dim, "index_select"), out=out
    )


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """A copy to whose slices along a dimension those of `alpha * source` are added.

    >>> import pellucid as torch
    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.ones(2))
    tensor([2., 0., 0.])
    """
    need_tensor(index, "index_add", "index", 3)
    need_tensor(source, "index_add", "source", 4)
    alpha = as_number(alpha, "index_add", "alpha")
    axis = _axis(input, dim, "index_add")
    return ops.index_add(input, source, index, dim=axis, alpha=fitting(alpha, input._meta.dtype), out=out)


def index_copy(input: Any, dim: int, index: Any, source: Any, *, out: Any = None) -> Any:
    """A copy whose slices along a dimension are replaced by those of `source`.

    >>> import pellucid as torch
    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2]), torch.ones(1))
    tensor([0., 0., 1.])
    """
    need_tensor(index, "index_copy", "index", 3)
    need_tensor(source, "index_copy", "source", 4)
    return ops.index_copy(input, source, index, dim=_axis(input, dim, "index_copy"), out=out)


def index_fill(input: Any, dim: int, index: Any, value: Any, *, out: Any = None) -> Any:
    """A copy whose slices along a dimension hold `value`.

    >>> import pellucid as torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([1]), 5)
    tensor([0., 5., 0.])
    """
    axis = _axis(input, dim, "index_fill")
    node = "IndexFillBackward1" if isinstance(value, TensorData) else "IndexFillBackward0"
    filler = _value_tensor(value, input)
    return ops.index_fill(input, filler, need_tensor(index, "index_fill", "index", 3), dim=axis, node=node, out=out)


def masked_fill(input: Any, mask: Any, value: Any, *, out: Any = None) -> Any:
    """`value` where the mask holds, the input elsewhere.

    >>> import pellucid as torch
    >>> torch.masked_fill(torch.tensor([1.0, 2.0]), torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    need_tensor(mask, "masked_fill", "mask", 2), need_operand(value, "masked_fill", "value", 3)
    return ops.masked_fill(need_tensor(input, "masked_fill"), mask, value, out=out)


def masked_select(input: Any, mask: Any, *, out: Any = None) -> Any:
    """The elements where the mask holds, as a vector.

    >>> import pellucid as torch
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    need_tensor(input, "masked_select")
    check(
        need_tensor(mask, "masked_select", "mask", 2)._meta.dtype is dtypes.bool_,
        "masked_select: expected BoolTensor for mask",
    )
    need_apart("masked_select", out, input, mask)
    from pellucid.engine.tensor.shape import broadcast_tensors

    wide, wide_mask = broadcast_tensors(input, mask)
    if not wide._meta.ndim:
        wide, wide_mask = wide.reshape(1), wide_mask.reshape(1)
    places = shape.unbind(indexing.nonzero(wide_mask), dim=1)
    return deliver(presented(indexing.index(wide, *places), "MaskedSelectBackward0"), out)


def masked_scatter(input: Any, mask: Any, source: Any, *, out: Any = None) -> Any:
    """A copy in which the elements where the mask holds are taken from `source`, in order.

    >>> import pellucid as torch
    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([7.0, 8.0]))
    tensor([7., 0., 8.])
    """
    need_tensor(input, "masked_scatter")
    need_tensor(mask, "masked_scatter", "mask", 2)
    need_tensor(source, "masked_scatter", "source", 3)
    check(
        input._meta.dtype is source._meta.dtype,
        f"masked_scatter: expected self and source to have same dtypes but got {title(input.dtype)} and "
        f"{title(source.dtype)}",
    )
    check(
        mask._meta.dtype is dtypes.bool_,
        f"masked_scatter_ only supports boolean masks, but got mask with dtype {title(mask.dtype)}",
    )
    from pellucid.engine.tensor.shape import broadcast_tensors

    wide, wide_mask = broadcast_tensors(input, mask)
    scalar = not wide._meta.ndim
    if scalar:
        wide, wide_mask = wide.reshape(1), wide_mask.reshape(1)
    if wide.is_meta:
        return deliver(wide.reshape(()) if scalar else wide.clone(), out)
    places = shape.unbind(indexing.nonzero(wide_mask), dim=1)
    count = places[0]._meta.numel
    check(
        source._meta.numel >= count,
        "masked_scatter: expected the source to have at least as many elements as the mask has ones: Number of "
        "elements of source < number of ones in mask",
    )
    result = indexing.index_put(wide, source.reshape(-1)[:count], *places, accumulate=False)
    return deliver(presented(result.reshape(()) if scalar else result, "MaskedScatterBackward0"), out)


def take(input: Any, index: Any, *, out: Any = None) -> Any:
    """Elements of the flattened tensor at the positions that `index` holds.

    >>> import pellucid as torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    need_tensor(input, "take"), need_tensor(index, "take", "index", 2)
    check(index._meta.dtype is dtypes.int64, f"take(): Expected a long tensor for index, but got {title(index.dtype)}")
    need_apart("take", out, input, index)
    try:
        return deliver(presented(indexing.index(input.reshape(-1), index), "TakeBackward0"), out)
    except IndexError as error:
        raise IndexError(
            f"out of range: tried to access index on a tensor of {input._meta.numel} elements. ({error})"
        ) from None


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy in which elements of the flattened tensor at the positions of `index` are replaced, or added to.

    >>> import pellucid as torch
    >>> torch.put(torch.zeros(3), torch.tensor([1]), torch.tensor([5.0]))
    tensor([0., 5., 0.])
    """
    need_tensor(index, "put_", "index", 2), need_tensor(source, "put_", "source", 3)
    check(
        index._meta.numel == source._meta.numel,
        "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
        f"{source._meta.numel}, index.numel() = {index._meta.numel}",
        IndexError,
    )
    flat = indexing.index_put(
        input.reshape(-1), source.reshape(-1), index.reshape(-1), accumulate=as_bool(accumulate, "put", "accumulate", 4)
    )
    return flat.reshape(input._meta.shape)


def tril(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """The matrix with zeros above a diagonal.

    >>> import pellucid as torch
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return ops.tril(need_tensor(input, "tril"), diagonal=as_int(diagonal, "tril", "diagonal"), out=out)


def triu(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """The matrix with zeros below a diagonal.

    >>> import pellucid as torch
    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return ops.triu(need_tensor(input, "triu"), diagonal=as_int(diagonal, "triu", "diagonal"), out=out)


def diag(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.

    >>> import pellucid as torch
    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    diagonal = as_int(diagonal, "diag", "diagonal", 2)
    ndim = need_tensor(input, "diag")._meta.ndim
    check(ndim in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 2:
        return deliver(shape.diagonal(input, offset=int(diagonal), dim1=0, dim2=1).clone(), out)
    return deliver(diag_embed(input, diagonal), out)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last dimension as the diagonal of matrices in two new dimensions.

    >>> import pellucid as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    offset = as_int(offset, "diag_embed", "offset", 2)
    dim1 = as_int(dim1, "diag_embed", "dim1", 3)
    dim2 = as_int(dim2, "diag_embed", "dim2", 4)
    ndim = need_tensor(input, "diag_embed")._meta.ndim + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    check(a != b, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = input._meta.shape[-1] + abs(offset)
    rest = list(input._meta.shape[:-1])
    sizes: list[int] = []
    for axis in range(ndim):
        sizes.append(side if axis in (a, b) else rest.pop(0))
    return joining.embed_diagonal(input, size=tuple(sizes), offset=int(offset), dim1=a, dim2=b)


def diagflat(input: Any, offset: int = 0) -> Any:
    """All elements as the diagonal of a matrix.

    >>> import pellucid as torch
    >>> torch.diagflat(torch.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    need_tensor(input, "diagflat")
    offset = as_int(offset, "diagflat", "offset", 2)
    return diag(input.reshape(-1), offset)


def _replaced(input: Any, view: Any, src: Any, function: str) -> Any:
    check(
        src._meta.shape == view._meta.shape,
        f"expected src to have a size equal to the slice of self. src size = {list(src._meta.shape)}, slice "
        f"size = {list(view._meta.shape)}"
        f" ({function})",
    )
    from pellucid.engine.ops.strided import strided_replace

    result = strided_replace(
        input,
        src.to(input.dtype),
        base_size=tuple(input._meta.shape),
        base_stride=input._meta.strides,
        size=tuple(view._meta.shape),
        stride=view._meta.strides,
        storage_offset=view._offset - input._offset,
    )
    return presented(result, "".join(part.title() for part in function.split("_")) + "Backward0")


def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """A copy with `src` at one index of a dimension.

    >>> import pellucid as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 0)
    tensor([[1., 1.],
            [0., 0.]])
    """
    need_tensor(input, "select_scatter")
    need_tensor(src, "select_scatter", "src", 2)
    return _replaced(input, input.detach().select(dim, index), src, "select_scatter")


def slice_scatter(
    input: Any,
    src: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Any = None,
) -> Any:
    """A copy with `src` at a slice of a dimension.

    >>> import pellucid as torch
    >>> torch.slice_scatter(torch.zeros(3), torch.ones(1), 0, 1, 2)
    tensor([0., 1., 0.])
    """
    need_tensor(src, "slice_scatter", "src", 2)
    if start is not None:
        start = as_int(start, "slice_scatter", "start", 4)
    if end is not None:
        end = as_int(end, "slice_scatter", "end", 5)
    step = as_int(step, "slice_scatter", "step", 6)
    axis = _axis(input, dim, "slice_scatter")
    first, last, gap = slice(start, end, step).indices(input._meta.shape[axis])
    view = shape.slice_(input.detach(), dim=axis, start=first, end=max(first, last), step=gap)
    return deliver(_replaced(input, view, src, "slice_scatter"), out)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy with `src` on a diagonal.

    >>> import pellucid as torch
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    need_tensor(input, "diagonal_scatter")
    need_tensor(src, "diagonal_scatter", "src", 2)
    return _replaced(input, input.detach().diagonal(offset, dim1, dim2), src, "diagonal_scatter")


def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A copy with `src` where a strided view would look.

    >>> import pellucid as torch
    >>> torch.as_strided_scatter(torch.zeros(3), torch.ones(1), (1,), (1,), 1)
    tensor([0., 1., 0.])
    """
    need_tensor(input, "as_strided_scatter")
    need_tensor(src, "as_strided_scatter", "src", 2)
    return _replaced(input, input.detach().as_strided(size, stride, storage_offset), src, "as_strided_scatter")


def argwhere(input: Any) -> Any:
    """Positions of the elements that are not 0, a row each.

    >>> import pellucid as torch
    >>> torch.argwhere(torch.tensor([0, 3]))
    tensor([[1]])
    """
    need_tensor(input, "argwhere")
    return indexing.nonzero(input)


class SelectionMethods:
    """Rows of `Tensor`."""

    gather = takes_numpy_names(gather)
    take_along_dim = takes_numpy_names(take_along_dim)
    scatter = takes_numpy_names(scatter)
    scatter_ = takes_numpy_names(in_place(scatter))
    scatter_add = takes_numpy_names(scatter_add)
    scatter_add_ = takes_numpy_names(in_place(scatter_add))
    scatter_reduce = takes_numpy_names(scatter_reduce)
    scatter_reduce_ = takes_numpy_names(in_place(scatter_reduce))
    index_reduce = takes_numpy_names(index_reduce)
    index_reduce_ = takes_numpy_names(in_place(index_reduce))
    index_select = takes_numpy_names(index_select)
    index_add = takes_numpy_names(index_add)
    index_add_ = takes_numpy_names(in_place(index_add))
    index_copy = takes_numpy_names(index_copy)
    index_copy_ = takes_numpy_names(in_place(index_copy))
    index_fill = takes_numpy_names(index_fill)
    index_fill_ = takes_numpy_names(in_place(index_fill))
    masked_fill = masked_fill
    masked_fill_ = in_place(masked_fill)
    masked_select = masked_select
    masked_scatter = masked_scatter
    masked_scatter_ = in_place(masked_scatter)
    take = take
    put = put
    tril = tril
    tril_ = in_place(tril)
    triu = triu
    triu_ = in_place(triu)
    diag = diag
    diag_embed = diag_embed
    diagflat = diagflat
    select_scatter = takes_numpy_names(select_scatter)
    slice_scatter = takes_numpy_names(slice_scatter)
    diagonal_scatter = diagonal_scatter
    as_strided_scatter = as_strided_scatter
    argwhere = argwhere

    def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
        """Replace (or add to) elements of the flattened tensor at the positions of `index`."""
        return self.copy_(put(self, index, source, accumulate))

    def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
        """Write a number on the main diagonal."""
        check(self._meta.ndim >= 2, "dimensions must larger than 1")
        fill_value = as_number(fill_value, "fill_diagonal_", "fill_value")
        sizes = self._meta.shape
        check(len(sizes) == 2 or len(set(sizes)) == 1, "all dimensions of input must be of equal length")
        length = min(sizes)
        self.as_strided((length,), (sum(self._meta.strides),), self._offset).fill_(fill_value)
        if as_bool(wrap, "fill_diagonal_", "wrap", 3) and len(sizes) == 2 and sizes[0] > sizes[1] + 1:
            count = -(-self._meta.numel // (sizes[1] + 1)) - length
            start = self._offset + self._meta.strides[0] * (sizes[1] + 1)
            self.as_strided((count,), (sum(self._meta.strides),), start).fill_(fill_value)
        return self
