"""Inverses, linear systems, determinants, and the triangular factors behind them. Orthogonal and spectral factors are
in decompositions.py.

Gradients: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; I. Murray, "Differentiation of the Cholesky decomposition", 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.meta import Meta, broadcast_shapes
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import add, conjugate, div, mul, neg, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.joining import cat
from pellucid.engine.ops.selection import tril, triu
from pellucid.engine.ops.shape import diagonal, slice_

_BLOCK = 32  # columns that one step of a blocked loop takes


def _stack(a: np.ndarray) -> np.ndarray:
    """A batch of matrices with one batch axis."""
    return a.reshape((int(np.prod(a.shape[:-2])), *a.shape[-2:]))


def _last(x: Any, axis: int, start: int, end: int) -> Any:
    """Rows (-2) or columns (-1) start..end of matrices."""
    return slice_(x, dim=x._meta.ndim + axis, start=start, end=end, step=1)


# -- LU
# --------------------------------------------------------------------------------------------------------------------


def packed_lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LU with partial pivoting, in blocks of columns: both factors in one matrix, LAPACK's pivots (from 1), the first
    zero pivot.
    """
    work = _stack(a).copy()
    count, m, n = work.shape
    k, batch = min(m, n), np.arange(count)
    pivots = np.zeros((count, k), np.int32)
    for start in range(0, k, _BLOCK):
        stop = min(start + _BLOCK, k)
        for j in range(start, stop):
            column = work[:, j:, j]
            found = j + np.argmax(np.abs(column.real) + np.abs(column.imag), 1) if count else np.zeros(0, np.int64)
            pivots[:, j] = found + 1
            swapped = work[batch, found].copy()
            work[batch, found] = work[:, j]
            work[:, j] = swapped
            pivot = work[:, j, j, None]
            work[:, j + 1 :, j] = np.where(pivot == 0, work[:, j + 1 :, j], work[:, j + 1 :, j] / pivot)
            work[:, j + 1 :, j + 1 : stop] -= work[:, j + 1 :, j, None] * work[:, j, None, j + 1 : stop]
        if stop < n:
            for j in range(start, stop):
                work[:, j + 1 : stop, stop:] -= work[:, j + 1 : stop, j, None] * work[:, j, None, stop:]
            work[:, stop:, stop:] -= work[:, stop:, start:stop] @ work[:, start:stop, stop:]
    zero = np.diagonal(work, axis1=1, axis2=2) == 0
    info = np.where(zero.any(1), np.argmax(zero, 1) + 1, 0).astype(np.int32) if k else np.zeros(count, np.int32)
    lead = a.shape[:-2]
    return work.reshape(a.shape), pivots.reshape((*lead, k)), info.reshape(lead)


@op(outputs=("LU", "pivots", "info"), grad_name="LinalgLuFactorExBackward0")
def lu_factor(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P L U = A with both triangles in one matrix, the rows swapped (from 1), and the first zero pivot (0 for none)."""
    return packed_lu(A)


@lu_factor.meta
def lu_factor_meta(A: Meta) -> tuple[Meta, Meta, Meta]:
    lead, k = A.shape[:-2], min(A.shape[-2:])
    return A.like(), Meta.of((*lead, k), dtypes.int32, A.device), Meta.of(lead, dtypes.int32, A.device)


def permutation(pivots: np.ndarray, m: int) -> np.ndarray:
    """The order of rows that a sequence of swaps (from 1) leaves."""
    flat = pivots.reshape((int(np.prod(pivots.shape[:-1])), pivots.shape[-1]))
    order = np.tile(np.arange(m), (len(flat), 1))
    batch = np.arange(len(flat))
    for j in range(flat.shape[1]):
        other = flat[:, j] - 1
        order[batch, j], order[batch, other] = order[batch, other], order[batch, j]
    return order.reshape((*pivots.shape[:-1], m))


@op(outputs=("P", "L", "U"), grad_name="LuUnpackBackward0")
def lu_unpack(LU: np.ndarray, pivots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The permutation and the two triangles of a packed LU."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    lower = np.tril(LU[..., :k], -1) + np.eye(m, k, dtype=LU.dtype)
    order = permutation(pivots, m)
    return np.eye(m, dtype=LU.dtype)[order].swapaxes(-1, -2), lower, np.triu(LU[..., :k, :])


@lu_unpack.meta
def lu_unpack_meta(LU: Meta, pivots: Meta) -> tuple[Meta, Meta, Meta]:
    lead, (m, n) = LU.shape[:-2], LU.shape[-2:]
    k = min(m, n)
    return LU.like((*lead, m, m)), LU.like((*lead, m, k)), LU.like((*lead, k, n))


@lu_unpack.vjp("LU")
def lu_unpack_dlu(dL: Any, dU: Any, LU_meta: Meta) -> Any:
    m, n = LU_meta.shape[-2:]
    below, above = tril(dL, diagonal=-1), triu(dU, diagonal=0)
    axis = LU_meta.ndim - 1
    if m < n:
        square = add(below, _last(above, -1, 0, m))
        return cat(square, _last(above, -1, m, n), dim=axis)
    if m > n:
        return cat(add(_last(below, -2, 0, n), above), _last(below, -2, n, m), dim=axis - 1)
    return add(below, above)


@op(outputs=("P", "L", "U"), grad_name="LinalgLuBackward0")
def lu(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P L U = A: a permutation, a lower triangle with ones on its diagonal, an upper triangle."""
    packed, pivots, _ = packed_lu(A)
    return lu_unpack.body(packed, pivots)


@lu.meta
def lu_meta(A: Meta) -> tuple[Meta, Meta, Meta]:
    return lu_unpack_meta(A, A)


@lu.vjp("A")
def lu_da(dL: Any, dU: Any, P: Any, L: Any, U: Any) -> Any:
    """From dA = P (dL U + L dU): the two triangles of L⁻¹ Pᵀ dA U⁻¹ belong to one factor each."""
    m, n = L._meta.shape[-2], U._meta.shape[-1]
    k = min(m, n)
    top, left = _last(L, -2, 0, k), _last(U, -1, 0, k)
    d_top, d_left = _last(dL, -2, 0, k), _last(dU, -1, 0, k)
    beside = below = None
    if m < n:
        right = _last(U, -1, k, n)
        beside = solve_triangular(top.mH, _last(dU, -1, k, n), upper=True, left=True, unitriangular=True)
        d_top = sub(d_top, beside @ right.mH)
    if m > n:
        below = solve_triangular(left.mH, _last(dL, -2, k, m), upper=False, left=False, unitriangular=False)
        d_left = sub(d_left, _last(L, -2, k, m).mH @ below)
    inner = add(tril(top.mH @ d_top, diagonal=-1), triu(d_left @ left.mH, diagonal=0))
    inner = solve_triangular(top.mH, inner, upper=True, left=True, unitriangular=True)
    inner = solve_triangular(left.mH, inner, upper=False, left=False, unitriangular=False)
    axis = inner._meta.ndim - 1
    if beside is not None:
        inner = cat(inner, beside, dim=axis)
    if below is not None:
        inner = cat(inner, below, dim=axis - 1)
    return P @ inner


@lu_factor.vjp("A")
def lu_factor_da(dLU: Any, LU: Any, pivots: Any, A_meta: Meta) -> Any:
    P, L, U = lu_unpack(LU, pivots)
    k = min(A_meta.shape[-2:])
    return lu_da(tril(_last(dLU, -1, 0, k), diagonal=-1), triu(_last(dLU, -2, 0, k), diagonal=0), P, L, U)


# -- triangular systems
# ----------------------------------------------------------------------------------------------------


@op(grad_name="LinalgSolveTriangularBackward0")
def solve_triangular(A: np.ndarray, B: np.ndarray, *, upper: bool, left: bool, unitriangular: bool) -> np.ndarray:
    """X with A X = B (X A = B unless `left`), where only one triangle of A is read: substitution in blocks of rows."""
    if not left:
        return solve_triangular.body(
            A.swapaxes(-1, -2), B.swapaxes(-1, -2), upper=not upper, left=True, unitriangular=unitriangular
        ).swapaxes(-1, -2)
    n = A.shape[-1]
    x = np.broadcast_to(B, (*np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:])).copy()
    starts = range(0, n, _BLOCK)
    for start in reversed(starts) if upper else starts:
        stop = min(start + _BLOCK, n)
        rows = range(stop - 1, start - 1, -1) if upper else range(start, stop)
        for i in rows:
            known = slice(i + 1, stop) if upper else slice(start, i)
            x[..., i, :] -= (A[..., i, None, known] @ x[..., known, :])[..., 0, :]
            if not unitriangular:
                x[..., i, :] /= A[..., i, i, None]
        rest = slice(0, start) if upper else slice(stop, n)
        x[..., rest, :] -= A[..., rest, start:stop] @ x[..., start:stop, :]
    return x


@solve_triangular.meta
def solve_triangular_meta(A: Meta, B: Meta, *, upper: bool, left: bool, unitriangular: bool) -> Meta:
    return B.like((*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]))


@solve_triangular.vjp("A", "B")
def solve_triangular_dab(dy: Any, A: Any, y: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    dB = solve_triangular(A.mH, dy, upper=not upper, left=left, unitriangular=unitriangular)
    full = neg(dB @ y.mH if left else y.mH @ dB)
    offset = 1 if unitriangular else 0
    return (triu(full, diagonal=offset) if upper else tril(full, diagonal=-offset)), dB


# -- inverse and general systems
# -------------------------------------------------------------------------------------------


@op(outputs=("inverse", "info"), grad_name="LinalgInvExBackward0")
def inv(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse, and the first zero pivot (0 for none); a singular matrix gives NaN."""
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        return np.linalg.inv(A), info
    except np.linalg.LinAlgError:
        info = packed_lu(A)[2]
        regular = np.where((info == 0)[..., None, None], A, np.eye(A.shape[-1], dtype=A.dtype))
        return np.where((info == 0)[..., None, None], np.linalg.inv(regular), np.nan), info


@inv.meta
def inv_meta(A: Meta) -> tuple[Meta, Meta]:
    return A.like(), Meta.of(A.shape[:-2], dtypes.int32, A.device)


@inv.vjp("A")
def inv_da(dinverse: Any, inverse: Any) -> Any:
    adjoint = inverse.mH
    return neg(adjoint @ dinverse @ adjoint)


@op(outputs=("result", "info"), grad_name="LinalgSolveExBackward0")
def solve(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X with A X = B, and the first zero pivot (0 for none); a singular matrix gives NaN."""
    try:
        return np.linalg.solve(A, B), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = packed_lu(A)[2]
        good = (info == 0)[..., None, None]
        return np.where(good, np.linalg.solve(np.where(good, A, np.eye(A.shape[-1], dtype=A.dtype)), B), np.nan), info


@solve.meta
def solve_meta(A: Meta, B: Meta) -> tuple[Meta, Meta]:
    lead = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    return B.like((*lead, *B.shape[-2:])), Meta.of(A.shape[:-2], dtypes.int32, A.device)


@solve.vjp("A", "B")
def solve_dab(dresult: Any, A: Any, result: Any) -> Any:
    dB = solve(A.mH, dresult)[0]
    return neg(dB @ result.mH), dB


# -- determinants
# ----------------------------------------------------------------------------------------------------------


@op(grad_name="LinalgDetBackward0")
def det(A: np.ndarray) -> np.ndarray:
    """The determinant; of an empty matrix, 1."""
    return np.linalg.det(A)


@det.meta
def det_meta(A: Meta) -> Meta:
    return A.like(A.shape[:-2])


@op
def cofactors(A: np.ndarray) -> np.ndarray:
    """det(A) times the inverse's transpose, by singular values, so that it is right where A is singular."""
    u, s, vh = np.linalg.svd(A)
    ones = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    scale = np.linalg.det(u) * np.linalg.det(vh)
    return np.conj(u * (before * after)[..., None, :] @ vh) * scale[..., None, None]


@cofactors.meta
def cofactors_meta(A: Meta) -> Meta:
    return A.like()


@cofactors.vjp("A")
def cofactors_da(dy: Any, A: Any, y: Any) -> Any:
    """Through det(A) A⁻ᵀ, which needs an invertible A."""
    inverse = inv(A)[0]
    spread = (dy.conj() * y).sum((-2, -1)).unsqueeze(-1).unsqueeze(-1)
    return conjugate(sub(mul(spread, inverse.mT), y @ dy.mH @ inverse.mT))


@det.vjp("A")
def det_da(dy: Any, A: Any) -> Any:
    return mul(dy.unsqueeze(-1).unsqueeze(-1), conjugate(cofactors(A)))


@op(outputs=("sign", "logabsdet"), grad_name="LinalgSlogdetBackward0")
def slogdet(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The determinant's sign (a number of size 1) and the logarithm of its size; 0 and -inf of a singular matrix."""
    return np.linalg.slogdet(A)


@slogdet.meta
def slogdet_meta(A: Meta) -> tuple[Meta, Meta]:
    return A.like(A.shape[:-2]), A.like(A.shape[:-2], A.dtype.to_real())


@slogdet.vjp("A")
def slogdet_da(dsign: Any, dlogabsdet: Any, A: Any, sign: Any, A_meta: Meta) -> Any:
    slope = dlogabsdet
    if A_meta.dtype.is_complex:
        turn = conjugate(dsign) * sign
        slope = sub(dlogabsdet, mul(turn.imag, 1j))
    return mul(slope.unsqueeze(-1).unsqueeze(-1), inv(A)[0].mH)


# -- Cholesky
# --------------------------------------------------------------------------------------------------------------


@op(outputs=("L", "info"), grad_name="LinalgCholeskyExBackward0")
def cholesky(A: np.ndarray, *, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    """The triangular factor of a Hermitian positive-definite matrix, and the order of the first minor that is not (0
    for none).
    """
    source = np.conj(A.swapaxes(-1, -2)) if upper else A
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        factor = np.linalg.cholesky(source)
    except np.linalg.LinAlgError:
        factor, info = _cholesky_by_columns(source)
    return (np.conj(factor.swapaxes(-1, -2)) if upper else factor), info


def _cholesky_by_columns(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    work = _stack(np.tril(a)).copy()
    info = np.zeros(len(work), np.int32)
    for j in range(work.shape[-1]):
        rest = np.sum(np.abs(work[:, j, :j]) ** 2, -1)
        size = work[:, j, j].real - rest
        info = np.where((info == 0) & ~(size > 0), j + 1, info)
        going = info == 0
        root = np.where(going, np.sqrt(size), 1)
        below = (work[:, j + 1 :, j] - (work[:, j + 1 :, :j] @ np.conj(work[:, j, :j, None]))[..., 0]) / root[:, None]
        work[:, j, j] = np.where(going, root, work[:, j, j])
        work[:, j + 1 :, j] = np.where(going[:, None], below, work[:, j + 1 :, j])
    return work.reshape(a.shape), info.astype(np.int32).reshape(a.shape[:-2])


@cholesky.meta
def cholesky_meta(A: Meta, *, upper: bool) -> tuple[Meta, Meta]:
    return A.like(), Meta.of(A.shape[:-2], dtypes.int32, A.device)


@cholesky.vjp("A")
def cholesky_da(dL: Any, L: Any, upper: bool) -> Any:
    if upper:
        dL, L = dL.mH, L.mH
    inner = L.mH @ dL
    half = mul(add(tril(inner, diagonal=0), tril(inner, diagonal=-1).mH), 0.5)
    half = solve_triangular(L.mH, half, upper=True, left=True, unitriangular=False)
    return solve_triangular(L, half, upper=False, left=False, unitriangular=False)


@op
def cholesky_solve(B: np.ndarray, L: np.ndarray, *, upper: bool) -> np.ndarray:
    """X with A X = B, given the triangular factor of A."""
    adjoint = np.conj(L.swapaxes(-1, -2))
    lower, raised = (adjoint, L) if upper else (L, adjoint)
    first = solve_triangular.body(lower, B, upper=False, left=True, unitriangular=False)
    return solve_triangular.body(raised, first, upper=True, left=True, unitriangular=False)


@cholesky_solve.meta
def cholesky_solve_meta(B: Meta, L: Meta, *, upper: bool) -> Meta:
    return B.like((*broadcast_shapes(B.shape[:-2], L.shape[:-2]), *B.shape[-2:]))


@cholesky_solve.vjp("B", "L")
def cholesky_solve_dbl(dy: Any, L: Any, y: Any, upper: bool) -> Any:
    dB = cholesky_solve(dy, L, upper=upper)
    both = dB @ y.mH
    both = add(both, both.mH)
    return dB, neg(L @ both if upper else both @ L)


@op
def cholesky_inverse(L: np.ndarray, *, upper: bool) -> np.ndarray:
    """The inverse of the matrix whose triangular factor is given."""
    identity = np.broadcast_to(np.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return cholesky_solve.body(identity, L, upper=upper)


@cholesky_inverse.meta
def cholesky_inverse_meta(L: Meta, *, upper: bool) -> Meta:
    return L.like()


@cholesky_inverse.vjp("L")
def cholesky_inverse_dl(dy: Any, L: Any, y: Any, upper: bool) -> Any:
    both = y @ add(dy, dy.mH) @ y
    return neg(L @ both if upper else both @ L)


def safe_reciprocal(x: Any) -> Any:
    """1/x, and 0 for 0."""
    return where(eq(x, 0), 0, div(1, where(eq(x, 0), 1, x)))


def diagonal_of(x: Any) -> Any:
    """The diagonals of matrices, as a view."""
    return diagonal(x, offset=0, dim1=x._meta.ndim - 2, dim2=x._meta.ndim - 1)
