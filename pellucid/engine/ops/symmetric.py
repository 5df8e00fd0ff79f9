"""Factors of symmetric and Hermitian matrices that need not be definite: L D L' with blocks of 1 and 2 on the diagonal
of D, by diagonal pivoting (Bunch and Kaufman 1977, "Some stable methods for calculating inertia and solving symmetric
linear systems"), in LAPACK's compact form. No gradients, as in PyTorch.
"""

from __future__ import annotations

import math

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op

ALPHA = (1 + math.sqrt(17)) / 8


def _size(x: np.ndarray) -> np.ndarray:
    """What LAPACK compares: of a complex number the sum of its parts' sizes."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _pivot(A: np.ndarray, k: int, own: float, hermitian: bool) -> tuple[int, int]:
    """The row to exchange with, and the block's size."""
    below = _size(A[k + 1 :, k])
    best = k + 1 + int(np.argmax(below))
    largest = below[best - k - 1]
    if own >= ALPHA * largest:
        return k, 1
    row = max([0.0, *_size(A[best, k:best]), *_size(A[best + 1 :, best])])
    if own >= ALPHA * largest * (largest / row):
        return k, 1
    other = abs(A[best, best].real) if hermitian else _size(A[best : best + 1, best])[0]
    return (best, 1) if other >= ALPHA * row else (best, 2)


def _exchange(A: np.ndarray, k: int, kk: int, kp: int, hermitian: bool) -> None:
    """Rows and columns kk and kp of the lower triangle change places."""
    A[kp + 1 :, [kk, kp]] = A[kp + 1 :, [kp, kk]]
    column, row = A[kk + 1 : kp, kk].copy(), A[kp, kk + 1 : kp].copy()
    A[kk + 1 : kp, kk], A[kp, kk + 1 : kp] = (row.conj(), column.conj()) if hermitian else (row, column)
    if hermitian:
        A[kp, kk] = np.conj(A[kp, kk])
    A[kk, kk], A[kp, kp] = A[kp, kp], A[kk, kk]
    if kk != k:
        A[kp, k], A[kk, k] = A[kk, k], A[kp, k]


def _eliminate(A: np.ndarray, k: int, step: int, hermitian: bool) -> None:
    """Take a block of 1 or 2 out of what is left."""
    turn = np.conj if hermitian else (lambda x: x)
    rest = A[k + step :, k + step :]
    if step == 1:
        inverse = 1 / (A[k, k].real if hermitian else A[k, k])
        x = A[k + 1 :, k].copy()
        rest -= np.tril(np.outer(x, turn(x)) * inverse)
        A[k + 1 :, k] = x * inverse
    else:
        block = A[k : k + 2, k : k + 2].copy()
        block[0, 1] = turn(block[1, 0])
        x = A[k + 2 :, k : k + 2].copy()
        scaled = np.linalg.solve(block.T, x.T).T
        rest -= np.tril(scaled @ turn(x).T)
        A[k + 2 :, k : k + 2] = scaled
    if hermitian:
        np.fill_diagonal(rest, rest.diagonal().real)


def ldl_of_one(A: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """The compact factors of one matrix, whose upper triangle is not read; LAPACK's pivots; the first zero block."""
    A, n = np.tril(A), len(A)
    hermitian = hermitian and A.dtype.kind == "c"
    pivots, info, k = np.zeros(n, np.int32), 0, 0
    if hermitian:
        np.fill_diagonal(A, A.diagonal().real)
    while k < n:
        own = abs(A[k, k].real) if hermitian else float(_size(A[k : k + 1, k])[0])
        largest = float(_size(A[k + 1 :, k]).max(initial=0))
        if max(own, largest) == 0 or math.isnan(own):
            info, pivots[k] = info or k + 1, k + 1
            k += 1
            continue
        kp, step = _pivot(A, k, own, hermitian) if k < n - 1 else (k, 1)
        kk = k + step - 1
        if kp != kk:
            _exchange(A, k, kk, kp, hermitian)
        pivots[k : k + step] = kp + 1 if step == 1 else -(kp + 1)
        if k + step < n:
            _eliminate(A, k, step, hermitian)
        k += step
    return A, pivots, info


@op(outputs=("LD", "pivots", "info"), grad_name="LinalgLdlFactorExBackward0")
def ldl_factor(A: np.ndarray, *, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The compact factors of a batch of matrices."""
    lead, n = A.shape[:-2], A.shape[-1]
    LD, pivots, info = np.empty_like(A), np.zeros((*lead, n), np.int32), np.zeros(lead, np.int32)
    for place in np.ndindex(lead):
        LD[place], pivots[place], info[place] = ldl_of_one(A[place], hermitian)
    return LD, pivots, info


@ldl_factor.meta
def ldl_factor_meta(A: Meta, *, hermitian: bool) -> tuple[Meta, Meta, Meta]:
    lead = A.shape[:-2]
    return (
        A.like(),
        Meta.of((*lead, A.shape[-1]), dtypes.int32, A.device),
        Meta.of(lead, dtypes.int32, A.device),
    )


def _rows_changed(B: np.ndarray, a: int, b: int) -> None:
    if a != b:
        B[[a, b]] = B[[b, a]]


def _solved(LD: np.ndarray, pivots: np.ndarray, B: np.ndarray, hermitian: bool) -> np.ndarray:
    """LAPACK's sytrs: through the factors downwards, then upwards, with each exchange where it was made."""
    B, n, k = B.copy(), len(LD), 0
    turn = np.conj if hermitian else (lambda x: x)
    blocks: list[tuple[int, int]] = []
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        blocks.append((k, step))
        _rows_changed(B, k + step - 1, abs(int(pivots[k])) - 1)
        below = LD[k + step :, k : k + step]
        B[k + step :] -= below @ B[k : k + step]
        if step == 1:
            B[k] = B[k] / LD[k, k]
        else:
            block = LD[k : k + 2, k : k + 2].copy()
            block[0, 1] = turn(block[1, 0])
            B[k : k + 2] = np.linalg.solve(block, B[k : k + 2])
        k += step
    for k, step in reversed(blocks):
        B[k : k + step] -= turn(LD[k + step :, k : k + step]).T @ B[k + step :]
        _rows_changed(B, k + step - 1, abs(int(pivots[k])) - 1)
    return B


@op(grad_name="LinalgLdlSolveBackward0")
def ldl_solve(LD: np.ndarray, pivots: np.ndarray, B: np.ndarray, *, hermitian: bool) -> np.ndarray:
    """The solutions of the systems whose matrices have these factors."""
    lead = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD = np.broadcast_to(LD, (*lead, *LD.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*lead, pivots.shape[-1]))
    B = np.broadcast_to(B, (*lead, *B.shape[-2:]))
    found = np.empty(B.shape, B.dtype)
    for place in np.ndindex(lead):
        found[place] = _solved(LD[place], pivots[place], B[place], hermitian and LD.dtype.kind == "c")
    return found


@ldl_solve.meta
def ldl_solve_meta(LD: Meta, pivots: Meta, B: Meta, *, hermitian: bool) -> Meta:
    lead = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    return B.like((*lead, *B.shape[-2:]))
