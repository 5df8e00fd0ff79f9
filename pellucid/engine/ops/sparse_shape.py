"""Forms for sparse operands of what moves, selects, joins and reduces dimensions, and softmax over stored entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes, sparse
from pellucid.engine.core.data import from_array
from pellucid.engine.core.errors import check
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.plan import quietly
from pellucid.engine.core.promotion import title
from pellucid.engine.core.sparse import COO, CSC, CSR, SparseMeta
from pellucid.engine.core.sparse_op import sparse_op
from pellucid.engine.ops.shape import reshape_to
from pellucid.engine.ops.sparse_arithmetic import is_sparse, named
from pellucid.engine.ops.sparse_layout import (
    coalesce,
    compressed,
    coo,
    copied,
    numbered,
    parts_of,
    sparse_mask,
    to_coo,
    to_dense,
    values_of,
    with_values,
)

Ints = tuple[int, ...]
_TURNED = {CSR: CSC, CSC: CSR, sparse.BSR: sparse.BSC, sparse.BSC: sparse.BSR}


def need_coo(x: Any, name: str) -> Any:
    """`x` if it is a COO tensor; else the error of an operator that has no form for its layout."""
    if x._meta.layout != COO:
        raise sparse.not_for_sparse(name, x._meta)
    return x


# -- dimensions ----------------------------------------------------------------------------------------------------


def permuted(x: Any, *, dims: Ints) -> Any:
    """The dimensions in another order; sparse ones stay before dense ones."""
    meta = x._meta
    size = tuple([meta.shape[axis] for axis in dims])
    if meta.layout != COO:
        return _turned(x, dims, size)
    sparse_dims, dense_dims = dims[: meta.sparse_dim], dims[meta.sparse_dim :]
    check(
        all(axis < meta.sparse_dim for axis in sparse_dims),
        f"transpose(sparse): cannot exchange sparse dimensions ({meta.sparse_dim}) and dense ones of shape"
        f" {list(meta.shape)}; call .to_dense() first",
    )
    values = values_of(x)
    if dense_dims != tuple(range(meta.sparse_dim, meta.ndim)):
        values = by_name["permute"](values, dims=(0, *[axis - meta.sparse_dim + 1 for axis in dense_dims]))
    index = from_array(np.ascontiguousarray(x._array.index._array[list(sparse_dims)]))
    is_same = sparse_dims == tuple(range(meta.sparse_dim))
    return coo(index, values, size=size, is_coalesced=x._array.is_coalesced and is_same, node="PermuteBackward0")


def _turned(x: Any, dims: Ints, size: Ints) -> Any:
    meta = x._meta
    if dims == tuple(range(meta.ndim)):
        return with_values(x, values_of(x))
    check(dims == (1, 0), f"permute: {meta.layout} tensors can only exchange their two dimensions")
    values = values_of(x)
    if meta.layout in (sparse.BSR, sparse.BSC):
        values = by_name["transpose"](values, dim0=1, dim1=2)
    return compressed(
        copied(x._array.index), copied(x._array.plain), values, size=size, layout=_TURNED[meta.layout],
        node="TransposeBackward0",
    )  # fmt: skip


def transposed(x: Any, *, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    dims = list(range(x._meta.ndim))
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return named(permuted(x, dims=tuple(dims)), "TransposeBackward0")


def matrix_transposed(x: Any) -> Any:
    """The transpose of a matrix, or the vector itself."""
    turned = transposed(x, dim0=0, dim1=1) if x._meta.ndim == 2 else with_values(x, values_of(x))
    return named(turned, "TBackward0")


def unsqueezed(x: Any, *, axes: Ints) -> Any:
    """New dimensions of size 1, sparse ones in front of or between sparse ones, else dense ones."""
    need_coo(x, "unsqueeze")
    for axis in axes:
        meta = x._meta
        size = (*meta.shape[:axis], 1, *meta.shape[axis:])
        values, index = values_of(x), x._array.index._array
        if axis <= meta.sparse_dim:
            index = np.insert(index, axis, 0, axis=0)
        else:
            values = by_name["unsqueeze_axes"](values, axes=(axis - meta.sparse_dim + 1,))
        x = coo(from_array(index), values, size=size, is_coalesced=x._array.is_coalesced, node="UnsqueezeBackward0")
    return x


def squeezed(x: Any, axes: Ints) -> Any:
    """Without the given dimensions of size 1, in so far as these are sparse ones."""
    meta = need_coo(x, "squeeze")._meta
    gone = [axis for axis in axes if meta.shape[axis] == 1]
    check(
        all(axis < meta.sparse_dim for axis in gone) and len(gone) < meta.sparse_dim or not gone,
        f"squeeze: only some of the sparse dimensions of a sparse tensor of shape {list(meta.shape)} can go",
    )
    index = from_array(np.delete(x._array.index._array, gone, axis=0))
    size = tuple([n for axis, n in enumerate(meta.shape) if axis not in gone])
    return coo(index, values_of(x), size=size, is_coalesced=x._array.is_coalesced, node="SqueezeBackward1")


def selected(x: Any, *, dim: int, index: int) -> Any:
    """The part at one position: dense where no sparse dimension is left."""
    meta = x._meta
    if meta.layout != COO:
        x, meta = to_coo(x), to_coo(x.detach())._meta
    if dim >= meta.sparse_dim:
        values = by_name["select"](values_of(x), dim=dim - meta.sparse_dim + 1, index=index)
        size = (*meta.shape[:dim], *meta.shape[dim + 1 :])
        return coo(
            copied(x._array.index), values, size=size, is_coalesced=x._array.is_coalesced, node="SelectBackward0"
        )
    own = x._array.index._array
    found = np.flatnonzero(own[dim] == index)
    values = by_name["index_select"](values_of(x), from_array(found), dim=0)
    size = (*meta.shape[:dim], *meta.shape[dim + 1 :])
    if meta.sparse_dim == 1:
        return by_name["sum"](values, dim=(0,), keepdim=False, dtype=values._meta.dtype)
    left = from_array(np.ascontiguousarray(np.delete(own[:, found], dim, axis=0)))
    return coo(left, values, size=size, is_coalesced=x._array.is_coalesced, node="SelectBackward0")


def unbound(x: Any, *, dim: int) -> tuple[Any, ...]:
    """The parts at all positions of a dimension."""
    return tuple([selected(x, dim=dim, index=i) for i in range(x._meta.shape[dim])])


def narrowed(x: Any, dim: int, start: int, end: int) -> Any:
    """The part between two positions: `narrow_copy`."""
    meta = need_coo(x, "narrow_copy")._meta
    size = (*meta.shape[:dim], end - start, *meta.shape[dim + 1 :])
    own = x._array.index._array
    if dim >= meta.sparse_dim:
        values = by_name["slice"](values_of(x), dim=dim - meta.sparse_dim + 1, start=start, end=end, step=1)
        return coo(copied(x._array.index), values, size=size, is_coalesced=x._array.is_coalesced)
    found = np.flatnonzero((own[dim] >= start) & (own[dim] < end))
    left = own[:, found].copy()
    left[dim] -= start
    values = by_name["index_select"](values_of(x), from_array(found), dim=0)
    return coo(from_array(left), values, size=size, is_coalesced=x._array.is_coalesced)


def sliced(x: Any, *, dim: int, start: int, end: int, step: int) -> Any:
    """`x[..., start:end]`: a copy, since a sparse tensor has no views; steps of 1 only."""
    if step != 1:
        raise sparse.not_for_sparse("slice", x._meta)
    return named(narrowed(x, dim, start, end), "SliceBackward0")


def expanded_to(x: Any, *, size: Ints) -> Any:
    """The tensor itself: a sparse one does not become larger by broadcasting."""
    if tuple(size) != tuple(x._meta.shape):
        raise RuntimeError(
            f"expand is unsupported for Sparse tensors: from {list(x._meta.shape)} to {list(size)}; call .to_dense()"
            " first"
        )
    return named(with_values(x, values_of(x)), "ExpandBackward0")


def _reshaped(x: Any, **settings: Any) -> Any:
    raise RuntimeError("reshape is not implemented for sparse tensors: call .to_dense() first")


def index_selected(x: Any, index: Any, *, dim: int) -> Any:
    """The parts at several positions, in their order and as often as they are named."""
    meta = need_coo(x, "index_select")._meta
    wanted = index._array.astype(np.int64).reshape(-1)
    check(
        not wanted.size or 0 <= wanted.min() and wanted.max() < meta.shape[dim],
        f"index_select(): index contains a position that is out of range for tensor of size {list(meta.shape)} at"
        f" dimension {dim}",
    )
    size = (*meta.shape[:dim], len(wanted), *meta.shape[dim + 1 :])
    own = x._array.index._array
    if dim >= meta.sparse_dim:
        values = by_name["index_select"](values_of(x), index, dim=dim - meta.sparse_dim + 1)
        return coo(copied(x._array.index), values, size=size, is_coalesced=x._array.is_coalesced)
    order = np.argsort(own[dim], kind="stable")
    along = own[dim][order]
    first, last = np.searchsorted(along, wanted), np.searchsorted(along, wanted, side="right")
    counts = last - first
    place = np.repeat(np.arange(len(wanted)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = order[np.repeat(first, counts) + within]
    left = own[:, entry].copy()
    left[dim] = place
    values = by_name["index_select"](values_of(x), from_array(entry), dim=0)
    return coo(
        from_array(left), values, size=size,
        is_coalesced=x._array.is_coalesced and dim == 0, node="IndexSelectBackward0",
    )  # fmt: skip


def joined(*tensors: Any, dim: int) -> Any:
    """`cat` of COO tensors."""
    check(
        all(is_sparse(each) and each._meta.layout == COO for each in tensors),
        "Concatenating sparse tensors, but a dense tensor was found: use .to_sparse() or .to_dense() so that all agree",
    )
    first = tensors[0]._meta
    check(
        all(each._meta.sparse_dim == first.sparse_dim for each in tensors),
        "All tensors must have the same sparse dimensions to be concatenated",
    )
    for each in tensors:
        rest = [n for axis, n in enumerate(each._meta.shape) if axis != dim]
        check(
            rest == [n for axis, n in enumerate(first.shape) if axis != dim],
            f"All tensors must have the same shape apart from dimension {dim} to be concatenated:"
            f" {list(each._meta.shape)} and {list(first.shape)}",
        )
    size = (*first.shape[:dim], sum(each._meta.shape[dim] for each in tensors), *first.shape[dim + 1 :])
    parts = [values_of(each) for each in tensors]
    if dim >= first.sparse_dim:
        return _joined_dense(tensors, parts, dim, size)
    offset, indices = 0, []
    for each in tensors:
        moved = each._array.index._array.copy()
        moved[dim] += offset
        offset += each._meta.shape[dim]
        indices.append(moved)
    is_coalesced = dim == 0 and all(each._array.is_coalesced for each in tensors)
    values = by_name["cat"](*parts, dim=0)
    return coo(
        from_array(np.concatenate(indices, 1)), values, size=size, is_coalesced=is_coalesced, node="CatBackward0"
    )


def _joined_dense(tensors: tuple[Any, ...], parts: list[Any], dim: int, size: Ints) -> Any:
    """Along a dense dimension: every entry is padded with 0 on both sides."""
    axis, first = dim - tensors[0]._meta.sparse_dim + 1, tensors[0]._meta
    wide, offset = [], 0
    for each, part in zip(tensors, parts, strict=True):
        length = each._meta.shape[dim]
        whole = (part._meta.shape[0], *size[first.sparse_dim :])
        wide.append(by_name["embed_slice"](part, size=whole, dim=axis, start=offset, end=offset + length, step=1))
        offset += length
    index = np.concatenate([each._array.index._array for each in tensors], 1)
    return coo(from_array(index), by_name["cat"](*wide, dim=0), size=size, node="CatBackward0")


def stacked(*tensors: Any, dim: int) -> Any:
    """`stack` of COO tensors."""
    check(
        all(is_sparse(each) and each._meta.layout == COO for each in tensors),
        "Concatenating sparse tensors, but a dense tensor was found: use .to_sparse() or .to_dense() so that all agree",
    )
    return joined(*[unsqueezed(each, axes=(dim,)) for each in tensors], dim=dim)


# -- reductions ----------------------------------------------------------------------------------------------------


def summed(x: Any, *, dim: Ints | None, keepdim: bool, dtype: Any) -> Any:
    """`sum`: of everything a dense number, along dimensions sparse where a sparse one is left."""
    meta = x._meta
    if dim is None or len(dim) == meta.ndim:
        return _summed_up(x, None if dim is None else dim, keepdim, dtype)
    if meta.layout != COO:
        return by_name["sum"](to_dense(x), dim=dim, keepdim=keepdim, dtype=dtype)
    found = sum_along(x, dim=dim)
    if found._meta.dtype is not dtype:
        found = by_name["cast"](found, dtype=dtype)
    if keepdim:
        found = by_name["unsqueeze_axes"](found, axes=tuple(sorted(dim)))
    return found


def _summed_up(x: Any, dim: Ints | None, keepdim: bool, dtype: Any) -> Any:
    values = values_of(coalesce(x) if x._meta.layout == COO else x)
    found = by_name["sum"](values, dim=None, keepdim=False, dtype=dtype)
    return by_name["unsqueeze_axes"](found, axes=tuple(range(x._meta.ndim))) if keepdim else found


def sum_along(x: Any, *, dim: Ints) -> Any:
    """Sums along dimensions of a COO tensor: along dense ones of the values, along sparse ones by merging entries."""
    meta = x._meta
    dense = tuple([axis - meta.sparse_dim + 1 for axis in dim if axis >= meta.sparse_dim])
    gone = [axis for axis in dim if axis < meta.sparse_dim]
    values = values_of(x)
    if meta.dtype is dtypes.bool_:
        values = by_name["cast"](values, dtype=dtypes.int64)
    if dense:
        values = by_name["sum"](values, dim=dense, keepdim=False, dtype=values._meta.dtype)
    size = tuple([n for axis, n in enumerate(meta.shape) if axis not in dim])
    if len(gone) == meta.sparse_dim:
        return by_name["sum"](values, dim=(0,), keepdim=False, dtype=values._meta.dtype)
    index = np.ascontiguousarray(np.delete(x._array.index._array, gone, axis=0))
    made = coo(from_array(index), values, size=size, is_coalesced=x._array.is_coalesced and not gone)
    return named(coalesce(made), "SparseSumBackward0")


def any_form(x: Any, *, dim: Ints | None, keepdim: bool) -> Any:
    """Whether a stored value is not 0, over all of it."""
    if dim is not None:
        raise sparse.not_for_sparse("any.dim", x._meta)
    return by_name["any"](coalesce(x)._array.values if x._meta.layout == COO else x._array.values, dim=None,
                          keepdim=False)  # fmt: skip


def norm_form(x: Any, *, ord: float, dim: Ints | None, keepdim: bool) -> Any:
    """The vector norm of everything; 0 does not count in it where the order is positive."""
    if dim is not None and len(dim) != x._meta.ndim or keepdim or ord <= 0:
        raise sparse.not_for_sparse("linalg_vector_norm", x._meta)
    values = values_of(coalesce(x) if x._meta.layout == COO else x)
    return by_name["vector_norm"](values, ord=ord, dim=None, keepdim=False)


@sparse_op("SparseSoftmaxBackward0")
def softmax_entries(x: Any, *, dim: int, logarithm: bool) -> Any:
    """Softmax over the stored entries along a sparse dimension: what is not stored counts as -inf."""
    index, values = parts_of(x)
    groups = _groups(index, x._meta, dim)
    order = np.argsort(groups, kind="stable")
    values = values[order]
    if not len(order):
        return with_values(x, from_array(values))
    starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) != 0])
    member = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(order)]))
    shifted = values - np.maximum.reduceat(values, starts, axis=0)[member]
    exponentials = np.exp(shifted)
    totals = np.add.reduceat(exponentials, starts, axis=0)[member]
    result = np.empty_like(values)
    result[order] = quietly(_finished, shifted, exponentials, totals, logarithm)
    return with_values(x, from_array(result))


def _finished(shifted: np.ndarray, exponentials: np.ndarray, totals: np.ndarray, logarithm: bool) -> np.ndarray:
    return shifted - np.log(totals) if logarithm else exponentials / totals


def _groups(index: np.ndarray, meta: SparseMeta, dim: int) -> np.ndarray:
    sizes = tuple([n for axis, n in enumerate(meta.shape[: meta.sparse_dim]) if axis != dim])
    return numbered(np.delete(index, dim, axis=0), sizes)


@softmax_entries.vjp("x")
def softmax_entries_dx(dy: Any, x: Any, dim: int, logarithm: bool) -> Any:
    y = softmax_entries(x, dim=dim, logarithm=logarithm)
    gradient = dy if not is_sparse(dy) else coalesce(dy)
    incoming = values_of(sparse_mask(gradient, x))
    share = by_name["exp"](values_of(y)) if logarithm else values_of(y)
    groups = from_array(_groups(x._array.index._array, x._meta, dim))
    weighted = incoming if logarithm else incoming * share
    _, place = np.unique(groups._array, return_inverse=True)
    rows = int(place.max(initial=-1)) + 1
    base = from_array(np.zeros((rows, *weighted._meta.shape[1:]), weighted._meta.dtype.numpy))
    totals = by_name["index_add"](base, weighted, from_array(place), dim=0, alpha=1)
    spread = by_name["index_select"](totals, from_array(place), dim=0)
    return with_values(x, incoming - share * spread if logarithm else share * (incoming - spread))


def softmax(x: Any, dim: int, dtype: Any, logarithm: bool) -> Any:
    """`torch.sparse.softmax` and `log_softmax`."""
    check(is_sparse(x) and x._meta.layout == COO, "sparse softmax: expected a COO tensor; use torch.softmax")
    x = coalesce(x)
    if dtype is not None and dtype is not x._meta.dtype:
        x = by_name["cast"](x, dtype=dtype)
    check(
        x._meta.dtype in (dtypes.float32, dtypes.float64),
        f"\"{'log_softmax' if logarithm else 'softmax'}\" not implemented for '{title(x._meta.dtype)}': convert with"
        " .float()",
        NotImplementedError,
    )
    node = "SparseLogSoftmaxBackward0" if logarithm else "SparseSoftmaxBackward0"
    if dim >= x._meta.sparse_dim:
        op = by_name["log_softmax" if logarithm else "softmax"]
        return named(with_values(x, op(values_of(x), dim=dim - x._meta.sparse_dim + 1, dtype=x._meta.dtype)), node)
    return softmax_entries(x, dim=dim, logarithm=logarithm, node=node)


sparse.forms.update(
    {
        "permute": permuted, "transpose": transposed, "t": matrix_transposed, "unsqueeze_axes": unsqueezed,
        "squeeze_axis": lambda x, *, axis: squeezed(x, (axis,)),
        "squeeze_axes": lambda x, *, axes: squeezed(x, axes),
        "squeeze_all": lambda x: squeezed(x, tuple(range(x._meta.ndim))),
        "slice": sliced, "expand": expanded_to, "reshape_alias": _reshaped, "select": selected, "unbind": unbound,
        "index_select": index_selected, "cat": joined, "stack": stacked,
        "sum": summed, "any": any_form, "vector_norm": norm_form,
    }
)  # fmt: skip


def gathered_entries(dy: Any, index: Any, x_meta: Any, dim: int) -> Any:
    """The gradient of `gather(sparse_grad=True)`: an entry per element that was read."""
    positions = index._array
    where = np.indices(positions.shape).reshape(positions.ndim, positions.size)
    if positions.ndim:
        where[dim] = positions.reshape(-1)
    made = coo(from_array(where.astype(np.int64)), reshape_to(dy, (positions.size,)), size=tuple(x_meta.shape))
    made._array.is_coalesced = positions.size < 2
    return made
