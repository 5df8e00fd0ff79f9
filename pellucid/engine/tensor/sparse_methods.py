"""The methods of `Tensor` that are about layouts. What they do is sparse.py's, which loads on first use."""

from __future__ import annotations

import importlib
from typing import Any

from pellucid.engine.core.sparse import BSC, BSR, COO, CSC, CSR
from pellucid.engine.tensor.layout import BY_NAME


def functions() -> Any:
    """The module of sparse functions."""
    return importlib.import_module("pellucid.engine.tensor.sparse")


class SparseMethods:
    """Rows of `Tensor`."""

    @property
    def layout(self: Any) -> Any:
        """How its elements are kept."""
        return BY_NAME[self._meta.layout]

    @property
    def is_sparse(self: Any) -> bool:
        """Whether its layout is `torch.sparse_coo`."""
        return self._meta.layout == COO  # type: ignore[no-any-return]

    @property
    def is_sparse_csr(self: Any) -> bool:
        """Whether its layout is `torch.sparse_csr`."""
        return self._meta.layout == CSR  # type: ignore[no-any-return]

    def coalesce(self: Any) -> Any:
        """The COO tensor with equal positions added up and in order."""
        return functions().coalesce(self)

    def is_coalesced(self: Any) -> bool:
        """Whether every position of a COO tensor is stored once, in order."""
        return functions().is_coalesced(self)  # type: ignore[no-any-return]

    def _coalesced_(self: Any, coalesced: bool) -> Any:
        return functions().coalesced_(self, coalesced)

    def indices(self: Any) -> Any:
        """The positions of a coalesced COO tensor."""
        return functions().indices(self)

    def values(self: Any) -> Any:
        """The stored values of a sparse tensor."""
        return functions().values(self)

    def _indices(self: Any) -> Any:
        return functions().raw_indices(self)

    def _values(self: Any) -> Any:
        return functions().raw_values(self)

    def _nnz(self: Any) -> int:
        return functions().stored(self)  # type: ignore[no-any-return]

    def _dimI(self: Any) -> int:  # noqa: N802 - PyTorch's name
        return functions().sparse_dim(self)  # type: ignore[no-any-return]

    def _dimV(self: Any) -> int:  # noqa: N802 - PyTorch's name
        return functions().dense_dim(self)  # type: ignore[no-any-return]

    def crow_indices(self: Any) -> Any:
        """Where each row begins, of a row-compressed tensor."""
        return functions().crow_indices(self)

    def col_indices(self: Any) -> Any:
        """The column of each entry, of a row-compressed tensor."""
        return functions().col_indices(self)

    def ccol_indices(self: Any) -> Any:
        """Where each column begins, of a column-compressed tensor."""
        return functions().ccol_indices(self)

    def row_indices(self: Any) -> Any:
        """The row of each entry, of a column-compressed tensor."""
        return functions().row_indices(self)

    def sparse_dim(self: Any) -> int:
        """How many leading dimensions are sparse."""
        return functions().sparse_dim(self)  # type: ignore[no-any-return]

    def dense_dim(self: Any) -> int:
        """How many trailing dimensions every entry is dense in."""
        return functions().dense_dim(self)  # type: ignore[no-any-return]

    def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """The strided tensor with all elements."""
        if not self._meta.is_sparse and dtype is None and masked_grad is None:
            return self
        return functions().to_dense(self, dtype, masked_grad=masked_grad)

    def to_sparse(self: Any, *args: Any, layout: Any = None, blocksize: Any = None, dense_dim: Any = None,
                  sparse_dim: Any = None) -> Any:  # fmt: skip
        """The tensor in a sparse layout, COO unless another is named."""
        return functions().to_sparse(
            self, *args, layout=layout, blocksize=blocksize, dense_dim=dense_dim, sparse_dim=sparse_dim
        )

    def to_sparse_coo(self: Any) -> Any:
        """The tensor in layout `torch.sparse_coo`."""
        return functions().to_sparse(self)

    def to_sparse_csr(self: Any, dense_dim: Any = None) -> Any:
        """The matrix compressed by rows."""
        return functions().to_layout(self, CSR, None, dense_dim)

    def to_sparse_csc(self: Any, dense_dim: Any = None) -> Any:
        """The matrix compressed by columns."""
        return functions().to_layout(self, CSC, None, dense_dim)

    def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: Any = None) -> Any:
        """The matrix compressed by rows of blocks."""
        return functions().to_layout(self, BSR, blocksize, dense_dim)

    def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: Any = None) -> Any:
        """The matrix compressed by columns of blocks."""
        return functions().to_layout(self, BSC, blocksize, dense_dim)

    def sparse_mask(self: Any, mask: Any) -> Any:
        """The elements where the sparse `mask` has entries."""
        return functions().sparse_mask(self, mask)

    def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        """Give a COO tensor another size."""
        return functions().sparse_resize_(self, size, sparse_dim, dense_dim)

    def sparse_resize_and_clear_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        """Give a COO tensor another size and take all entries away."""
        return functions().sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)

    def resize_as_sparse_(self: Any, the_template: Any) -> Any:
        """Give a COO tensor the size of another one."""
        return functions().resize_as_sparse_(self, the_template)

    def smm(self: Any, mat: Any) -> Any:
        """Product of a sparse and a dense matrix, as a sparse matrix."""
        return functions().smm(self, mat)

    def sspaddmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """`beta * self + alpha * (mat1 @ mat2)`, sparse."""
        return functions().sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)
