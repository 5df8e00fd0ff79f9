"""Questions to sparse tensors, conversions between layouts, functions of `torch` and `torch.sparse` on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes, graph
from pellucid.engine.core.data import from_array, shallow
from pellucid.engine.core.dispatch import wrote
from pellucid.engine.core.errors import check
from pellucid.engine.core.modes import state
from pellucid.engine.core.sparse import BSC, BSR, COO, CSC, CSR, TITLES
from pellucid.engine.ops import arithmetic, sparse_arithmetic, sparse_products, sparse_shape
from pellucid.engine.ops import sparse_layout as ops
from pellucid.engine.ops.memory import cast
from pellucid.engine.tensor.arguments import as_dim, as_dims, as_int, as_ints, deliver, need_tensor
from pellucid.engine.tensor.joining import stack
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.linalg import addmm, mm


def _expected(x: Any, name: str, kind: str, layouts: tuple[str, ...]) -> Any:
    found = need_tensor(x, name)._meta.layout
    check(found in layouts, f"{name} expected {kind} tensor layout but got {TITLES[found]}")
    return x


def _need_coo(x: Any, name: str) -> Any:
    return _expected(x, name, "sparse coordinate", (COO,))


# -- questions -----------------------------------------------------------------------------------------------------


def is_coalesced(self: Any) -> bool:
    """Whether every position of a COO tensor is stored once, in order."""
    return bool(_need_coo(self, "is_coalesced")._array.is_coalesced)


def coalesce(self: Any) -> Any:
    """The COO tensor with equal positions added up and in order; itself where that is so already."""
    return self if _need_coo(self, "coalesce")._array.is_coalesced else ops.coalesce(self)


def indices(self: Any) -> Any:
    """The positions of a coalesced COO tensor, a (sparse_dim, nnz) matrix over the same memory."""
    check(
        _need_coo(self, "indices")._array.is_coalesced,
        "Cannot get indices on an uncoalesced tensor, please call .coalesce() first",
    )
    return shallow(self._array.index)


def values(self: Any) -> Any:
    """The stored values, over the same memory, with a gradient; of a COO tensor only when coalesced."""
    meta = need_tensor(self, "values")._meta
    check(meta.is_sparse, "values expected sparse tensor layout but got Strided")
    check(
        meta.layout != COO or self._array.is_coalesced,
        "Cannot get values on an uncoalesced tensor, please call .coalesce() first",
    )
    return ops.values_of(self)


def raw_indices(self: Any) -> Any:
    """The positions as they are stored, coalesced or not."""
    return shallow(_need_coo(self, "_indices")._array.index)


def raw_values(self: Any) -> Any:
    """The values as they are stored, coalesced or not, without a gradient."""
    return shallow(_need_coo(self, "_values")._array.values)


def stored(self: Any) -> int:
    """How many entries are stored: of blocks, blocks."""
    meta = need_tensor(self, "_nnz")._meta
    if not meta.is_sparse:
        raise NotImplementedError("Could not run 'aten::_nnz' with arguments from the 'CPU' backend: a strided tensor"
                                  " stores all its elements; ask .numel(), or count_nonzero()")  # fmt: skip
    source = self._array.index if meta.layout == COO else self._array.plain
    return int(source._meta.shape[-1])


def _compressed_index(self: Any, name: str, kind: str, layouts: tuple[str, ...], part: str) -> Any:
    return shallow(getattr(_expected(self, name, f"sparse {kind} compressed", layouts)._array, part))


def crow_indices(self: Any) -> Any:
    """Where each row begins, of a row-compressed tensor."""
    return _compressed_index(self, "crow_indices", "row", (CSR, BSR), "index")


def col_indices(self: Any) -> Any:
    """The column of each entry, of a row-compressed tensor."""
    return _compressed_index(self, "col_indices", "row", (CSR, BSR), "plain")


def ccol_indices(self: Any) -> Any:
    """Where each column begins, of a column-compressed tensor."""
    return _compressed_index(self, "ccol_indices", "column", (CSC, BSC), "index")


def row_indices(self: Any) -> Any:
    """The row of each entry, of a column-compressed tensor."""
    return _compressed_index(self, "row_indices", "column", (CSC, BSC), "plain")


def sparse_dim(self: Any) -> int:
    """How many leading dimensions are sparse; 0 for a strided tensor."""
    meta = self._meta
    return meta.sparse_dim if meta.is_sparse else 0


def dense_dim(self: Any) -> int:
    """How many trailing dimensions every entry is dense in; all of a strided tensor's."""
    meta = self._meta
    return meta.dense_dim if meta.is_sparse else meta.ndim


# -- conversions ---------------------------------------------------------------------------------------------------


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The strided tensor with all elements; itself if it is one. With `masked_grad` (the default) its gradient keeps
    only the stored positions.
    """
    kind = dtypes.as_dtype(dtype)
    if self._meta.is_sparse:
        dense = ops.to_dense(self, masked_grad=masked_grad is not False)
    else:
        check(masked_grad is None, "masked_grad is not supported for strided tensors")
        dense = self
    return dense if kind is None or kind is self._meta.dtype else cast(dense, dtype=kind)


def to_sparse(self: Any, *args: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None,
              sparse_dim: Any = None) -> Any:  # fmt: skip
    """The tensor in a sparse layout, COO unless another is named; with `sparse_dim` below the rank, whole rows of it
    are entries.
    """
    if args:
        check(len(args) == 1 and sparse_dim is None, "to_sparse() takes one positional argument, sparse_dim")
        sparse_dim = args[0]
    name = COO if layout is None else layout._name if isinstance(layout, layout_type) else str(layout)
    check(name in TITLES and name != "strided", f"to_sparse: layout {layout} is none of the sparse ones")
    if sparse_dim is not None or name == COO:
        check(name == COO, "to_sparse: sparse_dim goes with layout torch.sparse_coo only")
        return _to_coo(self, sparse_dim, blocksize, dense_dim)
    return to_layout(self, name, blocksize, dense_dim)


def _to_coo(self: Any, wanted: Any, blocksize: Any, dense: Any) -> Any:
    meta = self._meta
    start = TITLES[meta.layout]
    check(
        blocksize is None,
        f"dense_to_sparse: conversion from {start} to Sparse with blocksize argument given is not supported",
    )
    if dense is not None:
        wanted = meta.ndim - as_int(dense, "to_sparse", "dense_dim")
    if meta.is_sparse:
        check(
            wanted is None or wanted == meta.sparse_dim,
            f"to_sparse: conversion from {start} to Sparse with sparse_dim argument !=self.sparse_dim() is not"
            " supported: call .to_dense() first",
        )
        return self if meta.layout == COO else ops.to_coo(self)
    if wanted is not None:
        wanted = as_int(wanted, "to_sparse", "sparse_dim", 1)
        check(wanted > 0 or not meta.ndim, "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
        check(
            0 <= wanted <= meta.ndim,
            f"dense_to_sparse: sparse_dim argument must be in [0,{meta.ndim}] range, but {wanted} is given",
        )
    return ops.to_coo(self, sparse_dim=wanted, node="ToSparseBackward1" if wanted is None else "ToSparseBackward0")


_NODES = {CSR: "ToSparseCsrBackward0", CSC: "ToSparseCscBackward0", BSR: "ToSparseBsrBackward0",
          BSC: "ToSparseBscBackward0"}  # fmt: skip


def to_layout(self: Any, name: str, blocksize: Any = None, dense: Any = None) -> Any:
    """The matrix in a compressed layout; itself if it is in it."""
    meta = self._meta
    is_blocked = name in (BSR, BSC)
    if is_blocked:
        blocksize = self._array.values._meta.shape[1:3] if blocksize is None and meta.layout == name else blocksize
        check(blocksize is not None, f"to_sparse: conversion to {TITLES[name]} requires a blocksize, such as (2, 2)")
        blocksize = as_ints(blocksize, "to_sparse", "blocksize")
        check(
            len(blocksize) == 2 and all(size > 0 for size in blocksize),
            f"to_sparse: blocksize needs two positive numbers, but got {list(blocksize)}",
        )
        check(
            all(size % block == 0 for size, block in zip(meta.shape, blocksize, strict=False)),
            f"tensor sparse size ({list(meta.shape[:2])}) must be divisible by given blocksize ({list(blocksize)})",
        )
    else:
        check(blocksize is None, f"to_sparse: conversion to {TITLES[name]} takes no blocksize")
    if meta.layout == name and (not is_blocked or self._array.values._meta.shape[1:3] == blocksize):
        return self
    rest = meta.dense_dim if meta.is_sparse else 0 if dense is None else as_int(dense, "to_sparse", "dense_dim")
    if meta.layout == "strided" and meta.ndim - rest > 2:
        return _batch_to_layout(self, name, blocksize, rest)
    check(
        meta.ndim - rest == 2,
        f"to_sparse: only matrices have layout torch.{name} here (with trailing dense dimensions as dense_dim), not"
        f" shape {list(meta.shape)}: convert the matrices of a batch one by one",
    )
    entries = ops.to_coo(self, sparse_dim=2) if meta.layout == "strided" else self
    entries = ops.coalesce(entries if entries._meta.layout == COO else ops.to_coo(entries))
    return ops.to_compressed(entries, layout=name, blocksize=blocksize, node=_NODES[name])


def _batch_to_layout(self: Any, name: str, blocksize: Any, rest: int) -> Any:
    """A batch of matrices, of which each must have equally many entries."""
    lead = tuple(self._meta.shape[: self._meta.ndim - rest - 2])
    rows = self.reshape(-1, *self._meta.shape[len(lead) :])
    made = [to_layout(rows[i], name, blocksize, rest) for i in range(rows._meta.shape[0])]
    check(bool(made), "to_sparse: expected a batch of at least one matrix")
    check(
        len({stored(each) for each in made}) == 1,
        "Expect the same number of specified elements per batch: pad with explicit zeros, or convert one by one",
    )
    parts = [
        stack([getattr(each._array, part) if part != "values" else ops.values_of(each) for each in made])
        for part in ("index", "plain", "values")
    ]
    index, plain, held = [part.reshape(*lead, *part._meta.shape[1:]) for part in parts]
    size = tuple(self._meta.shape)
    return ops.compressed(index, plain, held, size=size, layout=name, dense_dim=rest, node=_NODES[name])


def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements where the sparse `mask` has entries, in its layout and with its positions."""
    meta = need_tensor(mask, "sparse_mask", "mask", 2)._meta
    if not meta.is_sparse:
        raise NotImplementedError(
            "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend: the mask must be sparse; make it"
            " with .to_sparse(), or use torch.where"
        )
    check(
        self._meta.shape == meta.shape,
        f"sparse_mask(): operands have incompatible sizes; self has size {list(self._meta.shape)} but mask has size"
        f" {list(meta.shape)}",
    )
    return ops.sparse_mask(self, mask)


def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give a COO tensor another size; what is stored may not fall out of it."""
    _need_coo(self, "sparse_resize_")
    graph.check_in_place(self, "sparse_resize", False)
    shape, meta = as_ints(size, "sparse_resize_", "size"), self._meta
    check(
        sparse_dim + dense_dim == len(shape),
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim},"
        f" dense_dim = {dense_dim}",
    )
    if stored(self):
        check(
            (sparse_dim, dense_dim) == (meta.sparse_dim, meta.dense_dim),
            "changing the number of sparse or dense dimensions on a non-empty sparse tensor is not supported:"
            " make an empty one with torch.sparse_coo_tensor(size), or call to_dense() and to_sparse() again",
        )
        for kind, part in (("sparse", slice(None, sparse_dim)), ("dense", slice(sparse_dim, None))):
            check(
                all(new >= old for new, old in zip(shape[part], meta.shape[part], strict=True)),
                f"shrinking the size of {kind} dimensions (from {list(meta.shape[part])} to {list(shape[part])}) on a"
                " non-empty sparse tensor is not supported. Use torch.sparse_coo_tensor(size) for an empty one",
            )
    kept = self._array
    old = kept.values._array
    grown = np.zeros((stored(self), *shape[sparse_dim:]), old.dtype)
    if old.shape[0]:
        grown[tuple(slice(0, n) for n in old.shape)] = old
    kept.values = from_array(grown)
    if kept.index._meta.shape[0] != sparse_dim:
        kept.index = from_array(np.zeros((sparse_dim, 0), np.int64))
    self._meta = ops.coo_meta(shape, meta.dtype, sparse_dim)
    wrote(self, "sparse_resize")
    return self


def sparse_resize_and_clear_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give a COO tensor another size and take all entries away."""
    _need_coo(self, "sparse_resize_and_clear_")
    shape = as_ints(size, "sparse_resize_and_clear_", "size")
    made = sparse_arithmetic.empty_coo(shape, self._meta.dtype, sparse_dim)
    check(sparse_dim + dense_dim == len(shape), "sparse_resize_and_clear_: sparse_dim + dense_dim must be len(size)")
    self._array.become(made._array)
    self._meta = made._meta
    wrote(self, "sparse_resize_and_clear")
    return self


def resize_as_sparse_(self: Any, the_template: Any) -> Any:
    """Give a COO tensor the size and dimensions of another one."""
    meta = _need_coo(the_template, "resize_as_sparse_")._meta
    if meta.shape == self._meta.shape and meta.sparse_dim == self._meta.sparse_dim:
        return self
    return sparse_resize_(self, tuple(meta.shape), meta.sparse_dim, meta.dense_dim)


def coalesced_(self: Any, coalesced: bool) -> Any:
    """Say that a COO tensor is, or is not, coalesced; nothing is checked."""
    _need_coo(self, "_coalesced_")._array.is_coalesced = bool(coalesced)
    return self


# -- products ------------------------------------------------------------------------------------------------------


def sparse_mm(mat1: Any, mat2: Any) -> Any:
    """Product of two matrices of which one or both are sparse; the gradient of a sparse one has its positions.

    >>> import pellucid as torch
    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    return sparse_products.sparse_mm(need_tensor(mat1, "mm"), need_tensor(mat2, "mm", "mat2", 2))


def sparse_addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """`beta * mat + alpha * (mat1 @ mat2)` with a sparse `mat1`, whose gradient has its positions.

    >>> import pellucid as torch
    >>> torch.sparse.addmm(torch.ones(1, 1), torch.tensor([[2.0]]).to_sparse(), torch.tensor([[3.0]]))
    tensor([[7.]])
    """
    return sparse_products.addmm_form(mat, mat1, mat2, beta=beta, alpha=alpha, masked=True)


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0, out: Any = None) -> Any:
    """`alpha * (mat1 @ mat2)` at the positions of the CSR matrix `input` only, plus `beta * input`.

    >>> import pellucid as torch
    >>> mask = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(mask, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    _expected(input, "sampled_addmm", "sparse CSR", (CSR,))
    return deliver(sparse_products.sampled_addmm(input, mat1, mat2, beta, alpha), out)


def smm(input: Any, mat: Any) -> Any:
    """Product of a sparse and a dense matrix, as a sparse matrix."""
    check(need_tensor(input, "smm")._meta.is_sparse, "smm: the first matrix must be sparse")
    return ops.to_coo(sparse_products.sparse_mm(input, mat))


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)` of sparse `input` and `mat1` and dense `mat2`, as a sparse matrix."""
    check(
        input._meta.is_sparse and mat1._meta.is_sparse and not mat2._meta.is_sparse,
        "sspaddmm: Argument #1 and #2 must be sparse and #3 dense",
    )
    product = sparse_products.rows_product(mat1, mat2)
    spread = ops.to_coo(ops.to_dense(product))
    return arithmetic.add(arithmetic.mul(input, beta), arithmetic.mul(spread, alpha))


def hspmm(mat1: Any, mat2: Any) -> Any:
    """Product of a sparse and a dense matrix as a hybrid tensor, whose entries are the rows that are not 0."""
    check(need_tensor(mat1, "hspmm")._meta.is_sparse, "hspmm: Argument #2: expected a sparse matrix")
    check(not (state.grad_enabled and (graph.requires_grad(mat1) or graph.requires_grad(mat2))),
          "derivative for aten::hspmm is not implemented: use torch.sparse.mm")  # fmt: skip
    return sparse_products.rows_product(mat1, mat2)


# -- reductions, softmax, diagonals --------------------------------------------------------------------------------


def sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """Sum of a COO tensor: of everything a dense number, along dimensions sparse where a sparse one is left.

    >>> import pellucid as torch
    >>> torch.sparse.sum(torch.eye(3).to_sparse())
    tensor(3.)
    """
    meta = need_tensor(input, "sum")._meta
    check(meta.is_sparse, "coalesce expected sparse coordinate tensor layout but got Strided: use torch.sum")
    kind = dtypes.as_dtype(dtype)
    if kind is not None and kind is not meta.dtype:
        input = cast(input, dtype=kind)
    if dim is None or dim == ():
        found = values(coalesce(input) if meta.layout == COO else input)
        return found.sum(dtype=kind)
    dims = as_dims(dim, meta.ndim, "sum")
    return sparse_shape.sum_along(_need_coo(input, "sum"), dim=dims)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax along a dimension of a COO tensor over what is stored: all else counts as -inf and stays unstored.

    >>> import pellucid as torch
    >>> torch.sparse.softmax(torch.tensor([[0.0, 3.0], [2.0, 2.0]]).to_sparse(), 1).to_dense()
    tensor([[0.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    axis = as_dim(dim, need_tensor(input, "softmax")._meta.ndim, "softmax")
    return sparse_shape.softmax(input, axis, dtypes.as_dtype(dtype), logarithm=False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax` over what is stored.

    >>> import pellucid as torch
    >>> torch.sparse.log_softmax(torch.tensor([[2.0, 2.0]]).to_sparse(), 1).to_dense()
    tensor([[-0.6931, -0.6931]])
    """
    axis = as_dim(dim, need_tensor(input, "log_softmax")._meta.ndim, "log_softmax")
    return sparse_shape.softmax(input, axis, dtypes.as_dtype(dtype), logarithm=True)


def spdiags(diagonals: Any, offsets: Any, shape: tuple[int, int], layout: Any = None) -> Any:
    """The matrix with the rows of `diagonals` as diagonals: element j of a row goes to column j.

    >>> import pellucid as torch
    >>> torch.sparse.spdiags(torch.tensor([1.0, 2.0]), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 2.],
            [0., 0.]])
    """
    rows = diagonals.unsqueeze(0) if diagonals._meta.ndim == 1 else diagonals
    placed = offsets.unsqueeze(0) if offsets._meta.ndim == 0 else offsets
    check(rows._meta.ndim == 2, "Diagonals must be vector or matrix")
    check(len(shape) == 2, "Output shape must be 2d")
    check(placed._meta.ndim == 1, "Offsets must be scalar or vector")
    check(placed._meta.dtype is dtypes.int64, "Offset Tensor must have dtype Long but got " + str(placed.dtype))
    steps = placed._array
    check(len(np.unique(steps)) == len(steps), "Offset tensor contains duplicate values")
    check(
        len(steps) == rows._meta.shape[0],
        f"Number of diagonals ({rows._meta.shape[0]}) does not match the number of offsets ({len(steps)})",
    )
    columns = [_columns(int(step), rows._meta.shape[1], shape) for step in steps]
    which = np.repeat(np.arange(len(steps)), [len(each) for each in columns])
    across = np.concatenate([*columns, np.zeros(0, np.int64)]).astype(np.int64)
    picked = rows[from_array(which), from_array(across)]
    index = from_array(np.stack([across - steps[which], across]))
    made = ops.coo(index, picked, size=tuple(shape))
    if layout is None or layout._name == COO:
        return made
    check(layout._name in (CSR, CSC), "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported")
    return to_layout(made, layout._name)


def _columns(step: int, length: int, shape: tuple[int, int]) -> np.ndarray:
    return np.arange(max(0, step), max(min(length, shape[1], shape[0] + step), max(0, step)))


# -- nothing stored ------------------------------------------------------------------------------------------------


def without_entries(shape: tuple[int, ...], kind: Any, layout: Any, requires_grad: bool) -> Any:
    """A tensor of zeros in a sparse layout: nothing is stored."""
    made = sparse_arithmetic.empty_coo(shape, kind or dtypes.get_default_dtype(), len(shape))
    if layout._name != COO:
        check(layout._name in (CSR, CSC), f"zeros and empty make no {layout} tensors; use torch.sparse_bsr_tensor")
        made = to_layout(made, layout._name)
    return made.requires_grad_() if requires_grad else made


def _matrix_product(name: str, product: Any) -> Any:
    """One of the names that sparse products had before `mm` and `addmm` took sparse operands."""

    def function(*args: Any, **settings: Any) -> Any:
        return product(*args, **settings)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`torch.{product.__name__}` by an older name."
    return function


dsmm, hsmm, spmm = (_matrix_product(name, mm) for name in ("dsmm", "hsmm", "spmm"))
saddmm = _matrix_product("saddmm", addmm)
