"""Sparse layouts as core sees them: their meta, the parts that stand in place of an array, and the table of operators
that have a form for them. What the forms do is engine/ops/sparse*.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid.engine.core.data import wrap
from pellucid.engine.core.device import CPU
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.meta import Meta, Size

COO, CSR, CSC, BSR, BSC = "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"
TITLES = {
    "strided": "Strided", COO: "Sparse", CSR: "SparseCsr", CSC: "SparseCsc", BSR: "SparseBsr", BSC: "SparseBsc",
}  # fmt: skip


class SparseMeta(Meta):
    """The meta of a sparse tensor: without strides, with a layout. Interned like every meta; how many elements are
    stored is the data's business.
    """

    __slots__ = ("dense_dim", "layout", "sparse_dim")

    layout: str
    sparse_dim: int
    dense_dim: int
    is_sparse = True

    @staticmethod
    def of_layout(shape: Sequence[int], kind: dtype_type, layout: str, sparse_dim: int, dense_dim: int) -> SparseMeta:
        """The meta with these facts, in main memory."""
        key = (tuple(shape), kind, layout, sparse_dim, dense_dim)
        found = _INTERNED.get(key)
        if found is None:
            found = _INTERNED[key] = _make(key)
        return found

    def resized(self, shape: Sequence[int]) -> SparseMeta:
        """The same with another shape."""
        return SparseMeta.of_layout(shape, self.dtype, self.layout, self.sparse_dim, self.dense_dim)

    def retyped(self, kind: dtype_type) -> SparseMeta:
        """The same with another dtype."""
        return SparseMeta.of_layout(self.shape, kind, self.layout, self.sparse_dim, self.dense_dim)

    def __repr__(self) -> str:
        return f"SparseMeta({tuple(self.shape)}, {self.dtype}, {self.layout})"


_INTERNED: dict[Any, SparseMeta] = {}


def _make(key: tuple[Any, ...]) -> SparseMeta:
    shape, kind, layout, sparse_dim, dense_dim = key
    meta = SparseMeta()
    meta.shape = Size(shape)
    meta.ndim, meta.numel = len(shape), meta.shape.numel()
    meta.dtype, meta.device, meta.layout = kind, CPU, layout
    meta.sparse_dim, meta.dense_dim = sparse_dim, dense_dim
    meta.strides = (0,) * len(shape)
    meta.byte_strides = ()
    meta.is_contiguous = meta.has_overlap = meta.is_dense = False
    return meta


class Parts:
    """What a sparse tensor has in place of an array: tensors of indices and of values.

    COO: `index` is the (sparse_dim, nnz) matrix, `plain` is None. Compressed: `index` holds where each row (or column)
    begins in `plain`, the positions along the other dimension.
    """

    __slots__ = ("index", "is_coalesced", "plain", "values")

    def __init__(self, index: Any, plain: Any, values: Any, is_coalesced: bool) -> None:
        self.index = index
        self.plain = plain
        self.values = values
        self.is_coalesced = is_coalesced

    @property
    def nbytes(self) -> int:
        plain = 0 if self.plain is None else self.plain._meta.nbytes
        return int(self.index._meta.nbytes + plain + self.values._meta.nbytes)

    def copy(self) -> Parts:
        """Other parts with the same tensors."""
        return Parts(self.index, self.plain, self.values, self.is_coalesced)

    def become(self, other: Parts) -> None:
        """Hold what `other` holds: the write of an in-place operator, seen by all tensors over these parts."""
        self.index, self.plain, self.values = other.index, other.plain, other.values
        self.is_coalesced = other.is_coalesced


def sparse_tensor(meta: SparseMeta, index: Any, plain: Any, values: Any, is_coalesced: bool = False) -> Any:
    """A sparse tensor over tensors of indices and values, which become its own."""
    return wrap(Parts(index, plain, values, is_coalesced), meta)


Form = Callable[..., Any]
forms: dict[str, Form] = {}  # by operator: what it does when an operand is sparse
in_place_forms: dict[str, Form] = {}  # by operator: the same, written into the first operand


def form_of(op: Any, metas: tuple[Any, ...]) -> Form:
    """The operator's form for sparse operands; NotImplementedError where it has none."""
    found = forms.get(op.name)
    if found is None:
        raise not_for_sparse(op.name, next(meta for meta in metas if isinstance(meta, SparseMeta)))
    return found


def not_for_sparse(name: str, meta: Any) -> NotImplementedError:
    """The error of an operator that takes no tensors of that layout, with the remedy."""
    backend = "SparseCPU" if meta.layout == COO else "SparseCsrCPU"
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend: {name} takes no tensors with layout"
        f" torch.{meta.layout} (this one has shape {list(meta.shape)}). Call .to_dense() on it first; docs/sparse.md"
        " lists what works on sparse tensors."
    )
