"""Functions that make sparse tensors from indices and values, and the checks of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.device import META, usable
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.core.sparse import BSC, BSR, CSC, CSR, TITLES
from pellucid.engine.ops import sparse_arithmetic, sparse_products  # noqa: F401 - registers the forms
from pellucid.engine.ops.memory import cast
from pellucid.engine.ops.sparse_arithmetic import empty_coo
from pellucid.engine.ops.sparse_layout import compressed, coo
from pellucid.engine.tensor.arguments import as_ints
from pellucid.engine.tensor.creation import tensor as make_tensor
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr


class Invariants:
    """Whether constructors check positions where `check_invariants` is left open."""

    enabled = False

    def wanted(self, given: bool | None) -> bool:
        """What `check_invariants=given` means."""
        return self.enabled if given is None else bool(given)


invariants = Invariants()


def _refuse_meta(device: Any) -> None:
    if device is not None and usable(device) is META:
        raise NotImplementedError("sparse tensors have no form on the meta device; make them on the CPU")


def _as_tensor(data: Any, dtype: Any = None) -> Any:
    if isinstance(data, TensorData):
        return data if dtype is None or data._meta.dtype is dtype else cast(data, dtype=dtype)
    return make_tensor(data, dtype=dtype)


def _finished(tensor: Any, requires_grad: bool) -> Any:
    if requires_grad:
        check(
            tensor._meta.dtype.category >= 2,
            "Only Tensors of floating point and complex dtype can require gradients (this sparse one is"
            f" {tensor.dtype})",
        )
        tensor = tensor.detach().requires_grad_()
    return tensor


def sparse_coo_tensor(
    indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:  # fmt: skip
    """A tensor that stores the `values` at the columns of `indices` (sparse_dim x nnz); all else is 0, and values at
    equal positions add up. With a size alone, one without entries.

    >>> import pellucid as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    _refuse_meta(device)
    kind = dtypes.as_dtype(dtype)
    if values is None:
        check(size is None, "sparse_coo_tensor(): indices and size were given without values")
        shape = as_ints(indices, "sparse_coo_tensor", "size")
        return _finished(empty_coo(shape, kind or dtypes.get_default_dtype(), len(shape)), requires_grad)
    values = _as_tensor(values, kind)
    index = _as_tensor(indices)
    if index._meta.dtype is not dtypes.int64:
        index = cast(index, dtype=dtypes.int64)
    check(index._meta.ndim == 2, f"indices must be sparse_dim x nnz, but got: {list(index._meta.shape)}")
    if not values._meta.ndim:
        values = values.expand(1)
    shape = _inferred(index, values) if size is None else as_ints(size, "sparse_coo_tensor", "size")
    _check_coo(index, values, shape)
    if invariants.wanted(check_invariants):
        _check_coo_positions(index._array, shape, bool(is_coalesced))
    nnz = index._meta.shape[1]
    made = coo(index, values, size=shape, is_coalesced=(nnz < 2 if is_coalesced is None else bool(is_coalesced)))
    return _finished(made, requires_grad)


def _inferred(index: Any, values: Any) -> tuple[int, ...]:
    array = index._array
    check(
        array.shape[0] == 0 or array.shape[1] == 0 or int(array.min()) >= 0,
        f"found negative index {int(array.min(initial=0))} for dim {int(np.argmin(array.min(1, initial=0)))}",
    )
    sparse = (array.max(1) + 1).tolist() if array.shape[1] else [0] * array.shape[0]
    return (*sparse, *values._meta.shape[1:])


def _check_coo(index: Any, values: Any, shape: tuple[int, ...]) -> None:
    sparse_dim, nnz = index._meta.shape
    dense_dim = values._meta.ndim - 1
    check(
        len(shape) == sparse_dim + dense_dim,
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim},"
        f" dense_dim = {dense_dim}",
    )
    check(
        nnz == values._meta.shape[0],
        f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values:"
        f" {values._meta.shape[0]}",
    )
    expected = [nnz, *shape[sparse_dim:]]
    check(
        list(values._meta.shape) == expected,
        f"values has incorrect size, expected {expected}, got {list(values._meta.shape)}",
    )


def _check_coo_positions(index: np.ndarray, shape: tuple[int, ...], is_coalesced: bool) -> None:
    for dim, row in enumerate(index if index.shape[1] else ()):
        low, high = int(row.min()), int(row.max())
        check(low >= 0, f"found negative index {low} for dim {dim}")
        check(
            high < shape[dim],
            f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {high}",
        )
    if is_coalesced and index.shape[1] > 1:
        keys = np.ravel_multi_index(tuple(index), shape[: len(index)]) if len(index) else np.zeros(index.shape[1])
        check(
            bool(np.all(keys[1:] > keys[:-1])),
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor",
        )


_WORDS = {  # names of the two index tensors, what is counted by them
    CSR: ("crow_indices", "col_indices", "nrows", "ncols"), BSR: ("crow_indices", "col_indices", "nrowblocks",
                                                                 "ncolblocks"),
    CSC: ("ccol_indices", "row_indices", "ncols", "nrows"), BSC: ("ccol_indices", "row_indices", "ncolblocks",
                                                                 "nrowblocks"),
}  # fmt: skip


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A matrix (or batch of them) in one of the compressed layouts: where each row or column begins, the positions
    along the other dimension, and the values (blocks of them for the block layouts).

    >>> import pellucid as torch
    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2), layout=torch.sparse_csc).to_dense()
    tensor([[0., 6.],
            [5., 0.]])
    """
    _refuse_meta(device)
    name = layout._name if isinstance(layout, layout_type) else "none"
    check(
        name in _WORDS,
        f"sparse_compressed_tensor expected sparse compressed tensor layout but got {TITLES.get(name, name)}",
    )
    index, plain = _as_tensor(compressed_indices), _as_tensor(plain_indices)
    values = _as_tensor(values, dtypes.as_dtype(dtype))
    words = _WORDS[name]
    check(
        index._meta.dtype is plain._meta.dtype,
        f"{words[0]} and {words[1]} must have the same dtype, bot got {_title(index)} and {_title(plain)},"
        " respectively",
    )
    check(
        index._meta.dtype in (dtypes.int32, dtypes.int64),
        f"{words[0]} and {words[1]} must be an int32 or int64 type, but got {_title(index)}",
    )
    batch = index._meta.ndim - 1
    block = 2 if name in (BSR, BSC) else 0
    dense_dim = values._meta.ndim - batch - 1 - block
    check(batch >= 0 and dense_dim >= 0, f"values must have at least {batch + 1 + block} dimensions for {name}")
    shape = _compressed_size(name, index, plain, values) if size is None else as_ints(size, "sparse_tensor", "size")
    check(
        len(shape) == batch + 2 + dense_dim,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense_dim}) but"
        f" got {len(shape)}",
    )
    if invariants.wanted(check_invariants):
        _check_compressed(name, index._array, plain._array, values, shape)
    return _finished(compressed(index, plain, values, size=shape, layout=name, dense_dim=dense_dim), requires_grad)


def _title(tensor: Any) -> str:
    return title(tensor._meta.dtype)


def _compressed_size(name: str, index: Any, plain: Any, values: Any) -> tuple[int, ...]:
    batch = index._meta.ndim - 1
    block = tuple(values._meta.shape[batch + 1 : batch + 3]) if name in (BSR, BSC) else (1, 1)
    along = index._meta.shape[-1] - 1
    across = int(plain._array.max(initial=-1)) + 1
    counts = (along, across) if name in (CSR, BSR) else (across, along)
    rest = values._meta.shape[batch + 1 + (2 if name in (BSR, BSC) else 0) :]
    return (*index._meta.shape[:-1], counts[0] * block[0], counts[1] * block[1], *rest)


def _check_compressed(name: str, index: np.ndarray, plain: np.ndarray, values: Any, shape: tuple[int, ...]) -> None:
    first, second, along, across = _WORDS[name]
    batch = index.ndim - 1
    block = values._meta.shape[batch + 1 : batch + 3] if name in (BSR, BSC) else (1, 1)
    counts = (shape[batch] // block[0], shape[batch + 1] // block[1])
    rows, columns = counts if name in (CSR, BSR) else counts[::-1]
    what = {"nrows": "rows", "ncols": "columns", "nrowblocks": "row blocks", "ncolblocks": "column blocks"}[along]
    check(
        index.shape[-1] == rows + 1,
        f"{first}.shape[-1] must be equal to the number of {what} + 1 (={rows + 1}), but got {index.shape[-1]}",
    )
    nnz = plain.shape[-1]
    check(bool(np.all(index[..., 0] == 0)), f"`{first}[..., 0] == 0` is not satisfied.")
    check(bool(np.all(index[..., -1] == nnz)), f"`{first}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(index, axis=-1)
    check(
        bool(np.all((steps >= 0) & (steps <= columns))),
        f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {across}` is not satisfied.",
    )
    check(bool(np.all((plain >= 0) & (plain < columns))), f"`0 <= {second} < {across}` is not satisfied.")
    for lead in np.ndindex(index.shape[:-1]):
        rows_of = np.repeat(np.arange(rows), np.diff(index[lead]))
        keys = rows_of * max(columns, 1) + plain[lead]
        check(
            bool(np.all(keys[1:] > keys[:-1])),
            f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {along} are sorted and distinct"
            " along the last dimension values` is not satisfied.",
        )


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A matrix by rows: row i has the values from `crow_indices[i]` to `crow_indices[i + 1]`.

    >>> import pellucid as torch
    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2)).to_dense()
    tensor([[0., 5.],
            [6., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_csr, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A matrix by columns: column j has the values from `ccol_indices[j]` to `ccol_indices[j + 1]`.

    >>> import pellucid as torch
    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2)).to_dense()
    tensor([[0., 6.],
            [5., 0.]])
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_csc, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A matrix by rows of blocks; `values` holds the blocks.

    >>> import pellucid as torch
    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 1., 2.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_bsr, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A matrix by columns of blocks; `values` holds the blocks.

    >>> import pellucid as torch
    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[1.0, 2.0]]], (2, 2)).to_dense()
    tensor([[0., 0.],
            [1., 2.]])
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_bsc, device=device,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip
