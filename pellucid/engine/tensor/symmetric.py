"""`linalg.ldl_factor`, `ldl_factor_ex` and `ldl_solve`: systems with symmetric matrices that need not be definite."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import symmetric as ops
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import as_bool, deliver, need_tensor
from pellucid.engine.tensor.solvers import need_floating


def _square(A: Any, name: str, argument: str = "A") -> Any:
    meta = need_tensor(A, name.replace(".", "_"), argument)._meta
    check(meta.ndim >= 2, f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    check(
        meta.shape[-2] == meta.shape[-1],
        f"{name}: {argument} must be batches of square matrices, but they are {meta.shape[-2]} by {meta.shape[-1]}"
        " matrices",
    )
    need_floating(meta, name)
    return meta


def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """Factors L D L' of symmetric (or `hermitian`) matrices in one matrix, LAPACK's pivots, and per matrix the first
    block of D that is zero (0 for none). Only the lower triangle is read.

    >>> import pellucid as torch
    >>> torch.linalg.ldl_factor_ex(torch.tensor([[4.0, 2.0], [2.0, 3.0]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 2.0000]])
    """
    name = "torch.linalg.ldl_factor_ex"
    as_bool(hermitian, "ldl_factor_ex", "hermitian")
    as_bool(check_errors, "ldl_factor_ex", "check_errors")
    _square(A, name)
    found = ops.ldl_factor(A, hermitian=bool(hermitian))
    if check_errors:
        _raise_for(found[2], name)
    return return_types.linalg_ldl_factor_ex(deliver(found, out))


def _raise_for(info: Any, name: str) -> None:
    bad = int(info.max()) if info.numel() else 0
    check(
        not bad,
        f"{name}: the block {bad} of D is zero, so ldl_solve would divide by zero: the matrix is singular",
    )


def ldl_factor(A: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """Factors L D L' of symmetric (or `hermitian`) matrices, for `linalg.ldl_solve`; RuntimeError for a singular one.

    >>> import pellucid as torch
    >>> torch.linalg.ldl_factor(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).pivots
    tensor([-2, -2], dtype=torch.int32)
    """
    as_bool(hermitian, "ldl_factor", "hermitian")
    _square(A, "torch.linalg.ldl_factor_ex")
    found = ops.ldl_factor(A, hermitian=bool(hermitian))
    _raise_for(found[2], "torch.linalg.ldl_factor")
    return return_types.linalg_ldl_factor(deliver(found[:2], out))


def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """The X with A X = B, from the factors of A that `ldl_factor` gave.

    >>> import pellucid as torch
    >>> factors = torch.linalg.ldl_factor(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> torch.linalg.ldl_solve(*factors, torch.tensor([[2.0], [3.0]]))
    tensor([[3.],
            [2.]])
    """
    name = "torch.linalg.ldl_solve"
    as_bool(hermitian, "ldl_solve", "hermitian")
    meta, given = _square(LD, name, "LD"), need_tensor(B, "linalg_ldl_solve", "B", 3)._meta
    if given.ndim < 2:
        raise IndexError(f"Dimension out of range ({name}: B must hold matrices, but it has {given.ndim} dimensions)")
    check(
        meta.shape[-1] == given.shape[-2],
        f"Incompatible matrix sizes for {name}: each A matrix is {meta.shape[-1]} by {meta.shape[-1]} but each b matrix"
        f" is {given.shape[-2]} by {given.shape[-1]}",
    )
    where = need_tensor(pivots, "linalg_ldl_solve", "pivots", 2)._meta
    check(
        where.shape == meta.shape[:-1],
        f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape"
        f" {list(where.shape)} instead",
    )
    check(where.dtype.category == 1, f"{name}: Expected pivots to be integers. Got {title(where.dtype)}")
    check(
        given.dtype is meta.dtype,
        f"Expected b and A to have the same dtype, but found b of type {title(given.dtype)} and A of type"
        f" {title(meta.dtype)} instead ({name}): convert one of them",
    )
    return ops.ldl_solve(LD, pivots, B, hermitian=bool(hermitian), out=out)
