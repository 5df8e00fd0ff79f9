"""Making sparse tensors, and moving between layouts: coalescing, dense to sparse and back, masks, compressed forms.

The parts are tensors; their arithmetic is NumPy on the arrays of these, since no gradient flows through positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import from_array, shallow
from pellucid.engine.core.errors import check
from pellucid.engine.core.plan import quietly
from pellucid.engine.core.sparse import BSC, BSR, COO, CSC, CSR, SparseMeta, sparse_tensor
from pellucid.engine.core.sparse_op import sparse_op
from pellucid.engine.ops import indexing
from pellucid.engine.ops.shape import permute, reshape_to

Ints = tuple[int, ...]


def strides_of(sizes: Ints) -> np.ndarray:
    """Row-major steps of the sparse dimensions, to number positions."""
    return np.append(np.cumprod(np.asarray(sizes[:0:-1], np.int64))[::-1], 1).astype(np.int64)[: len(sizes)]


def numbered(index: np.ndarray, sizes: Ints) -> np.ndarray:
    """Each column of a matrix of indices as one number, row-major."""
    if not len(sizes):
        return np.zeros(index.shape[1], np.int64)
    return strides_of(sizes) @ index.astype(np.int64, copy=False)


def summed_segments(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of runs of rows, a run from each start to the next; starts must increase strictly."""
    if not len(starts):
        return np.zeros((0, *values.shape[1:]), values.dtype)
    if values.dtype == np.bool_:
        return np.logical_or.reduceat(values, starts, axis=0)
    if len(starts) == len(values):
        return values.copy()
    wide = values.astype(np.float32) if values.dtype in _NARROW else values
    return np.add.reduceat(wide, starts, axis=0).astype(values.dtype, copy=False)


_NARROW = frozenset(kind.numpy for kind in dtypes.HALF)


def parts_of(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices and values of a COO tensor as arrays."""
    return x._array.index._array, x._array.values._array


def coo_of(index: np.ndarray, values: np.ndarray, meta: SparseMeta, is_coalesced: bool = False) -> Any:
    """A COO tensor over arrays, which become its own."""
    return sparse_tensor(
        meta, from_array(index), None, from_array(np.ascontiguousarray(values)), is_coalesced or index.shape[1] < 2
    )


def coo_meta(size: Ints, kind: dtypes.dtype, sparse_dim: int) -> SparseMeta:
    """The meta of a COO tensor."""
    return SparseMeta.of_layout(size, kind, COO, sparse_dim, len(size) - sparse_dim)


# -- from parts, to parts -----------------------------------------------------------------------------------------


@sparse_op("SparseCooTensorWithDimsAndTensorsBackward0")
def coo(index: Any, values: Any, *, size: Ints, is_coalesced: bool = False) -> Any:
    """A COO tensor over tensors of indices and values."""
    meta = coo_meta(size, values._meta.dtype, index._meta.shape[0])
    return sparse_tensor(meta, shallow(index), None, shallow(values), is_coalesced or index._meta.shape[1] < 2)


@coo.vjp("values")
def coo_dvalues(dy: Any, index: Any, size: Ints) -> Any:
    return entries_at(dy, index)


@sparse_op("SparseCompressedTensorBackward0")
def compressed(index: Any, plain: Any, values: Any, *, size: Ints, layout: str, dense_dim: int = 0) -> Any:
    """A compressed tensor over tensors of beginnings, positions and values."""
    sparse_dim = 2
    meta = SparseMeta.of_layout(size, values._meta.dtype, layout, sparse_dim, dense_dim)
    return sparse_tensor(meta, shallow(index), shallow(plain), shallow(values))


@compressed.vjp("values")
def compressed_dvalues(dy: Any, index: Any, plain: Any, layout: str) -> Any:
    if dy._meta.is_sparse and dy._meta.layout == layout:
        return values_of(dy)
    check(layout in (CSR, CSC), f"the gradient of the values of a {layout} tensor needs a gradient of that layout")
    where = from_array(expanded(index._array, plain._array, layout))
    return entries_at(dy, where)


@sparse_op("ValuesBackward0")
def values_of(x: Any) -> Any:
    """The stored values, over the same memory."""
    return shallow(x._array.values)


@values_of.vjp("x")
def values_of_dx(dy: Any, x: Any) -> Any:
    return with_values(x, dy)


def with_values(x: Any, values: Any) -> Any:
    """A sparse tensor with the positions of `x` and other values (of another dtype perhaps)."""
    parts, meta = x._array, x._meta
    if meta.layout == COO:
        return coo(copied(parts.index), values, size=tuple(meta.shape), is_coalesced=parts.is_coalesced)
    return compressed(
        copied(parts.index), copied(parts.plain), values, size=tuple(meta.shape), layout=meta.layout,
        dense_dim=meta.dense_dim,
    )  # fmt: skip


def copied(tensor: Any) -> Any:
    """A copy of a tensor of indices."""
    return from_array(tensor._array.copy())


def entries_at(x: Any, index: Any) -> Any:
    """The elements of `x`, dense or sparse, at the columns of `index`; 0 where a sparse one has none."""
    if not x._meta.is_sparse:
        return indexing.index(x, *[from_array(row) for row in np.ascontiguousarray(index._array, np.int64)])
    if x._meta.layout != COO:
        x = to_coo(x)
    return looked_up(x if x._array.is_coalesced else coalesce(x), index)


@sparse_op("IndexSelectBackward0")
def looked_up(x: Any, index: Any) -> Any:
    """Entries of a coalesced tensor at given positions."""
    own, values = parts_of(x)
    sizes = tuple(x._meta.shape[: x._meta.sparse_dim])
    where, found = positions(numbered(own, sizes), numbered(index._array, sizes))
    result = np.zeros((len(where), *values.shape[1:]), values.dtype)
    result[found] = values[where[found]]
    return from_array(result)


@looked_up.vjp("x")
def looked_up_dx(dy: Any, x: Any, index: Any) -> Any:
    return coo(index, dy, size=tuple(x._meta.shape))


def positions(sorted_keys: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each key is among the sorted ones, and whether it is there at all."""
    if not len(sorted_keys):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
    where = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return where, sorted_keys[where] == keys


# -- coalescing, dense and back -----------------------------------------------------------------------------------


@sparse_op("CoalesceBackward0")
def coalesce(x: Any) -> Any:
    """Indices in row-major order, each once, values of equal ones added up."""
    index, values = parts_of(x)
    if x._array.is_coalesced or index.shape[1] < 2:
        return sparse_tensor(x._meta, shallow(x._array.index), None, shallow(x._array.values), True)
    keys = numbered(index, tuple(x._meta.shape[: x._meta.sparse_dim]))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    return coo_of(
        np.ascontiguousarray(index[:, order[starts]]), quietly(summed_segments, values[order], starts), x._meta, True
    )


@coalesce.vjp("x")
def coalesce_dx(dy: Any) -> Any:
    return dy


@sparse_op("ToDenseBackward0")
def to_dense(x: Any, *, masked_grad: bool = True) -> Any:
    """Every element, 0 where none is stored."""
    meta = x._meta
    result = np.zeros(meta.shape, meta.dtype.numpy)
    if meta.layout != COO:
        _fill_from_compressed(result, x)
        return from_array(result)
    index, values = parts_of(x)
    if not x._array.is_coalesced and index.shape[1] > 1:
        index, values = parts_of(coalesce(x))
    result[tuple(index)] = values if meta.sparse_dim or not len(values) else values[0]
    return from_array(result)


@to_dense.vjp("x")
def to_dense_dx(dy: Any, x: Any, masked_grad: bool = True) -> Any:
    return sparse_mask(dy, x if x._meta.layout != COO else coalesce(x)) if masked_grad else to_coo(dy)


@sparse_op("SparseMaskBackward0")
def sparse_mask(x: Any, mask: Any) -> Any:
    """The elements of `x`, dense or sparse, where `mask` has entries."""
    if mask._meta.layout in (BSR, BSC):
        return with_values(mask, _blocks_at(x, mask))
    if mask._meta.layout != COO:
        where = from_array(expanded(mask._array.index._array, mask._array.plain._array, mask._meta.layout))
        return with_values(mask, entries_at(x, where))
    return with_values(mask, entries_at(x, mask._array.index))


def _blocks_at(x: Any, mask: Any) -> Any:
    """The blocks of a matrix where a blocked mask has some."""
    dense = to_dense(x) if x._meta.is_sparse else x
    parts = mask._array
    height, width = parts.values._meta.shape[1:3]
    rows, columns = (size // step for size, step in zip(dense._meta.shape, (height, width), strict=False))
    rest = tuple(dense._meta.shape[2:])
    blocks = permute(
        reshape_to(dense, (rows, height, columns, width, *rest)), dims=(0, 2, 1, 3, *range(4, 4 + len(rest)))
    )
    where = expanded(parts.index._array, parts.plain._array, mask._meta.layout)
    return indexing.index(blocks, *[from_array(row) for row in np.ascontiguousarray(where)])


@sparse_mask.vjp("x")
def sparse_mask_dx(dy: Any, x: Any, mask: Any) -> Any:
    if x._meta.is_sparse:
        return sparse_mask(dy, mask)
    return to_dense(sparse_mask(dy, mask) if not dy._meta.is_sparse else dy)


@sparse_op("ToSparseBackward0")
def to_coo(x: Any, *, sparse_dim: int | None = None) -> Any:
    """The COO tensor with these elements; of a dense one those other than 0 (rows of them with fewer `sparse_dim`)."""
    meta = x._meta
    if meta.is_sparse:
        return shallow(x) if meta.layout == COO else _decompressed(x)
    array = x._array
    dims = meta.ndim if sparse_dim is None else sparse_dim
    if not dims:
        return coo_of(np.zeros((0, int(array.size > 0)), np.int64), array[None].copy(), coo_meta(
            tuple(meta.shape), meta.dtype, 0), True)  # fmt: skip
    filled = array != 0 if dims == meta.ndim else (array != 0).any(tuple(range(dims, meta.ndim)))
    index = np.stack(np.nonzero(filled)).astype(np.int64)
    return coo_of(index, array[tuple(index)], coo_meta(tuple(meta.shape), meta.dtype, dims), True)


@to_coo.vjp("x")
def to_coo_dx(dy: Any, x: Any) -> Any:
    if x._meta.is_sparse:
        return dy
    return to_dense(dy) if dy._meta.is_sparse else dy


# -- compressed layouts -------------------------------------------------------------------------------------------


def runs(beginnings: np.ndarray) -> np.ndarray:
    """The row of each entry, from where rows begin."""
    return np.repeat(np.arange(len(beginnings) - 1), np.diff(beginnings))


def beginnings(rows: np.ndarray, count: int, kind: Any = np.int64) -> np.ndarray:
    """Where each row begins among sorted entries; the inverse of `runs`."""
    return np.searchsorted(rows, np.arange(count + 1)).astype(kind)


def expanded(index: np.ndarray, plain: np.ndarray, layout: str) -> np.ndarray:
    """The COO indices of compressed ones: of elements, or of blocks."""
    check(index.ndim == 1, f"batches of {layout} tensors are only made and densified: call .to_dense() first")
    first = runs(index).astype(np.int64)
    second = plain.astype(np.int64)
    return np.stack([first, second] if layout in (CSR, BSR) else [second, first])


def _fill_from_compressed(result: np.ndarray, x: Any) -> None:
    meta, parts = x._meta, x._array
    index, plain, values = parts.index._array, parts.plain._array, parts.values._array
    batch = index.ndim - 1
    for lead in np.ndindex(index.shape[:-1]):
        target, own = result[lead], values[lead]
        where = expanded(index[lead], plain[lead], meta.layout)
        if meta.layout in (CSR, CSC):
            target[tuple(where)] = own
            continue
        height, width = values.shape[batch + 1 : batch + 3]
        rows, columns = target.shape[0] // height, target.shape[1] // width
        rest = target.shape[2:]
        blocks = np.zeros((rows, columns, height, width, *rest), result.dtype)
        blocks[tuple(where)] = own
        target[...] = blocks.swapaxes(1, 2).reshape(target.shape)


def _decompressed(x: Any) -> Any:
    meta, parts = x._meta, x._array
    where = expanded(parts.index._array, parts.plain._array, meta.layout)
    values = parts.values._array
    target = coo_meta(tuple(meta.shape), meta.dtype, 2)
    if meta.layout in (BSR, BSC):
        height, width = values.shape[1:3]
        inner = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij")).reshape(2, 1, -1)
        where = (where * np.array([[height], [width]]))[:, :, None] + inner
        where, values = where.reshape(2, -1), values.reshape(-1, *values.shape[3:])
    return coo_of(where, values.copy(), target, meta.layout == CSR)  # the others keep their own order


@sparse_op("ToSparseCsrBackward0")
def to_compressed(x: Any, *, layout: str, blocksize: Ints | None = None) -> Any:
    """A coalesced COO matrix in a compressed layout."""
    meta = x._meta
    index, values = parts_of(x)
    shape = meta.shape[:2]
    if layout in (BSR, BSC):
        assert blocksize is not None
        return _blocked(x, layout, blocksize)
    rows, columns = index if layout == CSR else index[::-1]
    if layout == CSC:
        order = np.argsort(rows, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
    begins = beginnings(rows, shape[0] if layout == CSR else shape[1])
    return compressed(
        from_array(begins), from_array(np.array(columns)), from_array(np.array(values)), size=tuple(meta.shape),
        layout=layout, dense_dim=meta.dense_dim,
    )  # fmt: skip


@to_compressed.vjp("x")
def to_compressed_dx(dy: Any) -> Any:
    return to_coo(dy)


def _blocked(x: Any, layout: str, blocksize: Ints) -> Any:
    index, values = parts_of(x)
    shape = tuple(x._meta.shape)
    step = np.array(blocksize)[:, None]
    blocks, inner = index // step, index % step
    counts = (shape[0] // blocksize[0], shape[1] // blocksize[1])
    if layout == BSC:
        blocks, counts = blocks[::-1], counts[::-1]
    keys, place = np.unique(numbered(blocks, counts), return_inverse=True)
    held = np.zeros((len(keys), *blocksize, *values.shape[1:]), values.dtype)
    held[place, inner[0], inner[1]] = values
    return compressed(
        from_array(beginnings(keys // max(counts[1], 1), counts[0])), from_array(keys % max(counts[1], 1)),
        from_array(held), size=shape, layout=layout, dense_dim=x._meta.dense_dim,
    )  # fmt: skip
