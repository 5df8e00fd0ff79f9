"""Matrix products with sparse operands, on NumPy arrays: rows of the dense factor scaled and summed by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes, sparse
from pellucid.engine.core.data import from_array
from pellucid.engine.core.errors import check
from pellucid.engine.core.graph import by_name
from pellucid.engine.core.plan import quietly
from pellucid.engine.core.promotion import title
from pellucid.engine.core.sparse import COO, CSR
from pellucid.engine.core.sparse_op import sparse_op
from pellucid.engine.ops import arithmetic
from pellucid.engine.ops.linalg import mm
from pellucid.engine.ops.sparse_arithmetic import is_sparse, named
from pellucid.engine.ops.sparse_layout import (
    coalesce,
    coo_meta,
    coo_of,
    parts_of,
    sparse_mask,
    summed_segments,
    to_compressed,
    to_coo,
    to_dense,
)
from pellucid.engine.ops.sparse_shape import transposed

_BLOCK = 1 << 24  # elements of scaled rows that exist at a time


def _check_product(a: Any, b: Any) -> None:
    check(
        a._meta.ndim == 2 and b._meta.ndim == 2,
        f"mm: expected matrices, got {a._meta.ndim}-D and {b._meta.ndim}-D tensors",
    )
    check(
        a._meta.dtype is not dtypes.bool_,
        "\"addmm_sparse_dense\" not implemented for 'Bool': convert with .float()",
        NotImplementedError,
    )
    for each in (a, b):
        if is_sparse(each):
            check(
                each._meta.sparse_dim == 2,
                f"addmm: matrices expected, got {each._meta.sparse_dim}D tensor (sparse dimensions of a tensor of shape"
                f" {list(each._meta.shape)}): call .to_dense() first",
            )
    check(
        a._meta.shape[1] == b._meta.shape[0],
        f"mat1 and mat2 shapes cannot be multiplied ({a._meta.shape[0]}x{a._meta.shape[1]} and"
        f" {b._meta.shape[0]}x{b._meta.shape[1]})",
    )
    check(
        a._meta.dtype is b._meta.dtype,
        f"expected m1 and m2 to have the same dtype, but got: {title(a._meta.dtype)} != {title(b._meta.dtype)}",
    )


def matrix(x: Any) -> Any:
    """A sparse matrix of any layout as a coalesced COO one."""
    return coalesce(x if x._meta.layout == COO else to_coo(x))


def product_array(a: Any, b: np.ndarray) -> np.ndarray:
    """Sparse times dense."""
    index, values = parts_of(matrix(a))
    result = np.zeros((a._meta.shape[0], b.shape[1]), values.dtype)
    rows, columns = index
    if not len(rows) or not b.shape[1]:
        return result
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
    width = max(1, _BLOCK // len(rows))
    for first in range(0, b.shape[1], width):
        part = slice(first, first + width)
        scaled = values[:, None] * b[:, part][columns]
        result[rows[starts], part] = quietly(summed_segments, scaled, starts)
    return result


@sparse_op("MmBackward0")
def sparse_dense(a: Any, b: Any, *, masked: bool = False) -> Any:
    """Sparse matrix times dense matrix; with `masked` the sparse one's gradient has its pattern."""
    return from_array(product_array(a, b._array))


@sparse_dense.vjp("a")
def sparse_dense_da(dy: Any, a: Any, b: Any, masked: bool = False) -> Any:
    gradient = mm(dy, arithmetic.conjugate(_flipped(b)))
    return _like_pattern(gradient, a) if masked else gradient


@sparse_dense.vjp("b")
def sparse_dense_db(dy: Any, a: Any) -> Any:
    turned = arithmetic.conjugate(transposed(matrix(a), dim0=0, dim1=1))
    return mm(turned, dy)


def _flipped(x: Any) -> Any:
    return by_name["t"](x)


@sparse_op("MmBackward0")
def dense_sparse(a: Any, b: Any) -> Any:
    """Dense matrix times sparse matrix."""
    turned = transposed(matrix(b), dim0=0, dim1=1)
    return from_array(np.ascontiguousarray(product_array(turned, a._array.T).T))


@dense_sparse.vjp("a")
def dense_sparse_da(dy: Any, b: Any) -> Any:
    return mm(dy, arithmetic.conjugate(transposed(matrix(b), dim0=0, dim1=1)))


@dense_sparse.vjp("b")
def dense_sparse_db(dy: Any, a: Any) -> Any:
    return mm(arithmetic.conjugate(_flipped(a)), dy)


@sparse_op("MmBackward0")
def sparse_sparse(a: Any, b: Any, *, masked: bool = False) -> Any:
    """Product of two sparse matrices, as a coalesced COO matrix."""
    (left, left_values), (right, right_values) = parts_of(matrix(a)), parts_of(matrix(b))
    size = (a._meta.shape[0], b._meta.shape[1])
    begins = np.searchsorted(right[0], np.arange(b._meta.shape[0] + 1))
    counts = np.diff(begins)[left[1]]
    entry = np.repeat(np.arange(left.shape[1]), counts)  # of `a`, once per entry of the row of `b` that it meets
    within = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = begins[left[1]][entry] + within
    index = np.stack([left[0][entry], right[1][other]]).astype(np.int64)
    values = left_values[entry] * right_values[other]
    return coalesce(coo_of(index, values, coo_meta(size, a._meta.dtype, 2)))


@sparse_sparse.vjp("a")
def sparse_sparse_da(dy: Any, a: Any, b: Any, masked: bool = False) -> Any:
    gradient = mm(dy, arithmetic.conjugate(transposed(matrix(b), dim0=0, dim1=1)))
    return _like_pattern(gradient, a) if masked else gradient


@sparse_sparse.vjp("b")
def sparse_sparse_db(dy: Any, a: Any, b: Any, masked: bool = False) -> Any:
    gradient = mm(arithmetic.conjugate(transposed(matrix(a), dim0=0, dim1=1)), dy)
    return _like_pattern(gradient, b) if masked else gradient


def _like_pattern(gradient: Any, x: Any) -> Any:
    """A gradient at the positions of a sparse operand, in its layout."""
    return sparse_mask(gradient, coalesce(x) if x._meta.layout == COO else x)


def mm_form(a: Any, b: Any) -> Any:
    """mm with one or two sparse operands."""
    return _product(a, b, "MmBackward0", masked=False)


def _product(a: Any, b: Any, node: str, masked: bool) -> Any:
    _check_product(a, b)
    if not is_sparse(b):
        return sparse_dense(a, b, masked=masked, node=node)
    if not is_sparse(a):
        return dense_sparse(a, b, node=node)
    product = sparse_sparse(a, b, masked=masked, node=node)
    layouts = (a._meta.layout, b._meta.layout)
    return product if COO in layouts else to_compressed(product, layout=CSR)


def sparse_mm(a: Any, b: Any) -> Any:
    """`torch.sparse.mm`: the gradient of a sparse operand has its pattern."""
    if not is_sparse(a) and not is_sparse(b):
        return mm(a, b)
    both = is_sparse(a) and is_sparse(b)
    return _product(a, b, "SparseSparseMatmulBackward0" if both else "SparseAddmmBackward0", masked=True)


def mv_form(a: Any, b: Any) -> Any:
    """mv with a sparse matrix."""
    if is_sparse(b):
        b = to_dense(b)
        if not is_sparse(a):
            return by_name["mv"](a, b)
    check(
        a._meta.ndim == 2 and b._meta.ndim == 1 and a._meta.shape[1] == b._meta.shape[0],
        f"mv: size mismatch, got {list(a._meta.shape)} and {list(b._meta.shape)}",
    )
    column = by_name["unsqueeze_axes"](b, axes=(1,))
    return _renamed(by_name["squeeze_axis"](mm_form(a, column), axis=1), "MvBackward0")


def _renamed(result: Any, node: str) -> Any:
    made = result._grad_fn
    if made is not None:
        from pellucid.engine.core.graph import OpNode
        from pellucid.engine.core.graph import node_type as dense_node_type

        if isinstance(made, OpNode):
            made.__class__ = dense_node_type(node)
    return named(result, node)


def addmm_form(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, masked: bool = False) -> Any:
    """beta * x + alpha * (a @ b) with sparse operands."""
    if not is_sparse(a) and not is_sparse(b):
        raise sparse.not_for_sparse("addmm", x._meta)
    product = _product(a, b, "SparseAddmmBackward0" if masked else "MmBackward0", masked)
    scaled = product if alpha == 1 else arithmetic.mul(product, alpha)
    if beta == 0:
        return scaled
    kept = x if beta == 1 else arithmetic.mul(x, beta)
    if is_sparse(kept) and not is_sparse(scaled):
        kept = to_dense(kept)
    return _renamed(arithmetic.add(kept, scaled), "SparseAddmmBackward0" if masked else "AddmmBackward0")


def bmm_form(a: Any, b: Any) -> Any:
    """Products of a batch of sparse matrices with dense ones."""
    check(is_sparse(a) and not is_sparse(b), "bmm: only a sparse batch times a dense one; call .to_dense()")
    check(
        a._meta.ndim == 3 and b._meta.ndim == 3 and a._meta.shape[0] == b._meta.shape[0],
        f"bmm: expected batches of equally many matrices, got {list(a._meta.shape)} and {list(b._meta.shape)}",
    )
    select = by_name["select"]
    products = [mm_form(select(a, dim=0, index=i), select(b, dim=0, index=i)) for i in range(a._meta.shape[0])]
    return by_name["stack"](*products, dim=0)


def sampled_addmm(x: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """alpha * (a @ b) where `x` has entries, plus beta * x."""
    product = sparse_mask(mm(a, b), x.detach())
    scaled = product if alpha == 1 else arithmetic.mul(product, alpha)
    kept = x if beta == 1 else arithmetic.mul(x, beta)
    return named(arithmetic.add(kept, scaled), "SparseSampledAddmmBackward0")


def rows_product(a: Any, b: Any) -> Any:
    """`hspmm`: sparse times dense, with the rows that have entries as the entries of a hybrid tensor."""
    _check_product(a, b)
    rows = np.unique(parts_of(matrix(a))[0][0])
    values = product_array(a, b._array)[rows]
    size = (a._meta.shape[0], b._meta.shape[1])
    return coo_of(rows[None].astype(np.int64), values, coo_meta(size, a._meta.dtype, 1), True)


sparse.forms.update({"mm": mm_form, "mv": mv_form, "addmm": addmm_form, "bmm": bmm_form})
