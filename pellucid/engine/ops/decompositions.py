"""Orthogonal and spectral factors of matrices: QR, SVD, eigenvalues, pseudo-inverse, matrix exponential.

Gradients: M. Giles (2008, see solvers.py); Z. Wan and S. Zhang, "Automatic differentiation for complex valued SVD",
2019; S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010; C. Boeddeker et al.,
"On the computation of complex-valued gradients with application to statistically optimum beamforming", 2017; G. Golub
and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core import dtypes
from pellucid.engine.core.meta import Meta, broadcast_shapes
from pellucid.engine.core.op import op
from pellucid.engine.ops.arithmetic import absorb, add, conjugate, mul, reciprocal, sub
from pellucid.engine.ops.joining import cat
from pellucid.engine.ops.memory import cast
from pellucid.engine.ops.selection import triu
from pellucid.engine.ops.shape import slice_
from pellucid.engine.ops.solvers import diagonal_of, solve, solve_triangular


class LinAlgError(RuntimeError):
    """A matrix for which the function has no result: singular, not positive-definite, or not convergent."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # what PyTorch's programs see in a traceback


def _first(x: Any, axis: int, count: int) -> Any:
    return slice_(x, dim=x._meta.ndim + axis, start=0, end=count, step=1)


# -- singular values
# -------------------------------------------------------------------------------------------------------


def _failed(name: str, A: np.ndarray) -> LinAlgError:
    if not np.isfinite(A).all():
        return LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    return LinAlgError(
        f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated singular values."
    )


@op(outputs=("U", "S", "Vh"), grad_name="LinalgSvdBackward0")
def svd(A: np.ndarray, *, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U diag(S) Vh = A with S descending; the signs of pairs of singular vectors are LAPACK's choice."""
    try:
        return np.linalg.svd(A, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        raise _failed("linalg.svd", A) from None


@svd.meta
def svd_meta(A: Meta, *, full_matrices: bool) -> tuple[Meta, Meta, Meta]:
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    k = min(m, n)
    left, right = (m, n) if full_matrices else (k, k)
    return A.like((*lead, m, left)), A.like((*lead, k), A.dtype.to_real()), A.like((*lead, right, n))


@svd.vjp("A")
def svd_da(dU: Any, dS: Any, dVh: Any, U: Any, S: Any, Vh: Any, A_meta: Meta) -> Any:
    """Equal singular values divide by 0, but only what a loss asks of their vectors."""
    m, n = A_meta.shape[-2:]
    k = min(m, n)
    U, dU, Vh, dVh = _first(U, -1, k), _first(dU, -1, k), _first(Vh, -2, k), _first(dVh, -2, k)
    V, dV = Vh.mH, dVh.mH
    turn_left, turn_right = U.mH @ dU, Vh @ dV
    skew_left, skew_right = sub(turn_left, turn_left.mH), sub(turn_right, turn_right.mH)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    gap = add(sub(mul(row, row), mul(column, column)), _identity(S, k))
    inner = absorb(add(mul(skew_left, row), mul(column, skew_right)), reciprocal(gap))
    inner = add(inner, _embedded(dS))
    if A_meta.dtype.is_complex:
        inner = add(inner, _embedded(absorb(diagonal_of(skew_left), reciprocal(mul(S, 2)))))
    result = U @ inner @ Vh
    if m > k:
        outside = sub(dU, U @ turn_left)
        result = add(result, absorb(outside, reciprocal(row)) @ Vh)
    if n > k:
        outside = sub(dV, V @ turn_right).mH
        result = add(result, U @ absorb(outside, reciprocal(column)))
    return result


def _identity(like: Any, n: int) -> Any:
    from pellucid.engine.ops.ranges import eye

    return eye(n=n, m=n, dtype=like._meta.dtype, device=like._meta.device)


def _embedded(values: Any) -> Any:
    """Vectors as the diagonals of square matrices."""
    return values.diag_embed()


@op(grad_name="LinalgSvdBackward0")
def svdvals(A: np.ndarray) -> np.ndarray:
    """Singular values, descending."""
    try:
        return np.linalg.svd(A, compute_uv=False)
    except np.linalg.LinAlgError:
        raise _failed("linalg.svd", A) from None


@svdvals.meta
def svdvals_meta(A: Meta) -> Meta:
    return A.like((*A.shape[:-2], min(A.shape[-2:])), A.dtype.to_real())


@svdvals.vjp("A")
def svdvals_da(dy: Any, A: Any) -> Any:
    U, _, Vh = svd(A, full_matrices=False)
    return mul(U, dy.unsqueeze(-2)) @ Vh


# -- QR
# --------------------------------------------------------------------------------------------------------------------


@op(outputs=("Q", "R"), grad_name="LinalgQrBackward0")
def qr(A: np.ndarray, *, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Q R = A with orthonormal columns of Q and an upper triangle R; mode "r" leaves Q empty."""
    if mode == "r":
        return np.zeros(0, A.dtype), np.linalg.qr(A, "r")
    q, r = np.linalg.qr(A, mode)
    return q, r


@qr.meta
def qr_meta(A: Meta, *, mode: str) -> tuple[Meta, Meta]:
    lead, (m, n) = A.shape[:-2], A.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    return A.like((0,) if mode == "r" else (*lead, m, k)), A.like((*lead, k, n))


@qr.vjp("A")
def qr_da(dQ: Any, dR: Any, Q: Any, R: Any, A: Any, A_meta: Meta, mode: str) -> Any:
    m, n = A_meta.shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced')."
        )
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols. Please use "
            "mode='reduced'."
        )
    if m >= n:
        return _qr_tall(dQ, dR, Q, R)
    left, right = _first(R, -1, m), slice_(dR, dim=A_meta.ndim - 1, start=m, end=n, step=1)
    rest = slice_(A, dim=A_meta.ndim - 1, start=m, end=n, step=1)
    first = _qr_tall(add(dQ, rest @ right.mH), _first(dR, -1, m), Q, left)
    return cat(first, Q @ right, dim=A_meta.ndim - 1)


def _qr_tall(dQ: Any, dR: Any, Q: Any, R: Any) -> Any:
    inner = triu(sub(dR @ R.mH, Q.mH @ dQ), diagonal=0)
    both = sub(
        add(inner, inner.mH), _embedded(diagonal_of(inner).real if inner._meta.dtype.is_complex else diagonal_of(inner))
    )
    return solve_triangular(R.mH, add(Q @ both, dQ), upper=False, left=False, unitriangular=False)


@op(outputs=("a", "tau"))
def geqrf(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """QR as LAPACK keeps it: R above, Householder vectors below the diagonal, and their factors."""
    packed, tau = np.linalg.qr(A, "raw")
    return packed.swapaxes(-1, -2), tau


@geqrf.meta
def geqrf_meta(A: Meta) -> tuple[Meta, Meta]:
    return A.like(), A.like((*A.shape[:-2], min(A.shape[-2:])))


# -- eigenvalues
# -----------------------------------------------------------------------------------------------------------


@op(outputs=("eigenvalues", "eigenvectors"), grad_name="LinalgEighBackward0")
def eigh(A: np.ndarray, *, UPLO: str) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and eigenvectors of a Hermitian matrix, of which one triangle is read."""
    return np.linalg.eigh(A, UPLO)


@eigh.meta
def eigh_meta(A: Meta, *, UPLO: str) -> tuple[Meta, Meta]:
    return A.like(A.shape[:-1], A.dtype.to_real()), A.like()


@eigh.vjp("A")
def eigh_da(deigenvalues: Any, deigenvectors: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    n = eigenvectors._meta.shape[-1]
    gap = add(sub(eigenvalues.unsqueeze(-2), eigenvalues.unsqueeze(-1)), _identity(eigenvalues, n))
    turn = eigenvectors.mH @ deigenvectors
    turn = sub(turn, _embedded(diagonal_of(turn)))
    inner = add(absorb(turn, reciprocal(gap)), _embedded(deigenvalues))
    return eigenvectors @ inner @ eigenvectors.mH


@op(grad_name="LinalgEighBackward0")
def eigvalsh(A: np.ndarray, *, UPLO: str) -> np.ndarray:
    """Eigenvalues of a Hermitian matrix, ascending."""
    return np.linalg.eigvalsh(A, UPLO)


@eigvalsh.meta
def eigvalsh_meta(A: Meta, *, UPLO: str) -> Meta:
    return A.like(A.shape[:-1], A.dtype.to_real())


@eigvalsh.vjp("A")
def eigvalsh_da(dy: Any, A: Any, UPLO: str) -> Any:
    vectors = eigh(A, UPLO=UPLO)[1]
    return mul(vectors, dy.unsqueeze(-2)) @ vectors.mH


def _complex(A: Meta) -> Any:
    return A.dtype if A.dtype.is_complex else A.dtype.to_complex()


@op(outputs=("eigenvalues", "eigenvectors"), grad_name="LinalgEigBackward0")
def eig(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, in no order, and eigenvectors of length 1 of a square matrix: always complex."""
    if not np.isfinite(A).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return np.linalg.eig(A)


@eig.meta
def eig_meta(A: Meta) -> tuple[Meta, Meta]:
    return A.like(A.shape[:-1], _complex(A)), A.like(None, _complex(A))


@eig.vjp("A")
def eig_da(deigenvalues: Any, deigenvectors: Any, eigenvalues: Any, eigenvectors: Any, A_meta: Meta) -> Any:
    n = A_meta.shape[-1]
    gap = conjugate(sub(eigenvalues.unsqueeze(-2), eigenvalues.unsqueeze(-1)))
    turn = eigenvectors.mH @ deigenvectors
    length = cast(diagonal_of(turn).real, dtype=turn._meta.dtype)
    turn = sub(turn, mul(eigenvectors.mH @ eigenvectors, length.unsqueeze(-2)))
    turn = sub(turn, _embedded(diagonal_of(turn)))
    inner = add(absorb(turn, reciprocal(add(gap, _identity(eigenvalues, n)))), _embedded(deigenvalues))
    found = solve(eigenvectors.mH, inner @ eigenvectors.mH)[0]
    return found if A_meta.dtype.is_complex else found.real


@op(grad_name="LinalgEigBackward0")
def eigvals(A: np.ndarray) -> np.ndarray:
    """Eigenvalues of a square matrix, in no order: always complex."""
    if not np.isfinite(A).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return np.linalg.eigvals(A)


@eigvals.meta
def eigvals_meta(A: Meta) -> Meta:
    return A.like(A.shape[:-1], _complex(A))


@eigvals.vjp("A")
def eigvals_da(dy: Any, A: Any, A_meta: Meta) -> Any:
    vectors = eig(A)[1]  # in the order of eigvals: the same LAPACK routine finds both
    found = solve(vectors.mH, mul(dy.unsqueeze(-1), vectors.mH))[0]
    return found if A_meta.dtype.is_complex else found.real


# -- pseudo-inverse and least squares
# --------------------------------------------------------------------------------------


@op(grad_name="LinalgPinvBackward0")
def pinv(A: np.ndarray, atol: np.ndarray, rtol: np.ndarray, *, hermitian: bool) -> np.ndarray:
    """The Moore-Penrose inverse; singular values of at most max(atol, rtol * largest) count as 0."""
    if not A.size:
        return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, left = np.linalg.eigh(A)
        right = np.conj(left.swapaxes(-1, -2))
    else:
        left, values, right = np.linalg.svd(A, full_matrices=False)
    size = np.abs(values)
    limit = np.maximum(atol[..., None], rtol[..., None] * size.max(-1, keepdims=True))
    scale = np.where(size > limit, 1 / np.where(values == 0, 1, values), 0).astype(values.dtype)
    return np.conj(right.swapaxes(-1, -2)) * scale[..., None, :] @ np.conj(left.swapaxes(-1, -2))


@pinv.meta
def pinv_meta(A: Meta, atol: Meta, rtol: Meta, *, hermitian: bool) -> Meta:
    return A.like((*A.shape[:-2], A.shape[-1], A.shape[-2]))


@pinv.vjp("A")
def pinv_da(dy: Any, A: Any, y: Any) -> Any:
    return pinv_pull(dy, A, y)


def pinv_pull(dy: Any, A: Any, y: Any) -> Any:
    """The gradient of A where `y` is its pseudo-inverse and `dy` that one's gradient, for a rank that does not
    change.
    """
    yh, dyh = y.mH, dy.mH
    left, right = dyh @ y @ yh, yh @ y @ dyh
    outer = sub(left, A @ (y @ left))
    return add(sub(outer, yh @ dy @ yh), sub(right, (right @ y) @ A))


@op(outputs=("solution", "residuals", "rank", "singular_values"), grad_name="LinalgLstsqBackward0")
def lstsq(A: np.ndarray, B: np.ndarray, *, rcond: float, driver: str) -> tuple[np.ndarray, ...]:
    """X of least |A X - B| (the shortest of several), |A X - B|² of each column, the rank, and the singular values."""
    m, n = A.shape[-2:]
    left, values, right = np.linalg.svd(A, full_matrices=False)
    largest = values.max(-1, keepdims=True) if values.shape[-1] else values
    kept = values > rcond * largest
    rank = kept.sum(-1).astype(np.int64)
    if driver == "gels":  # takes full rank for granted
        kept = values > 0
    scale = np.where(kept, 1 / np.where(values == 0, 1, values), 0).astype(values.dtype)
    coordinates = np.conj(left.swapaxes(-1, -2)) @ B * scale[..., None]
    solution = np.conj(right.swapaxes(-1, -2)) @ coordinates
    residuals = np.sum(np.abs(A @ solution - B) ** 2, -2)
    return solution, residuals, rank, values


@lstsq.meta
def lstsq_meta(A: Meta, B: Meta, *, rcond: float, driver: str) -> tuple[Meta, ...]:
    lead = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    n, k, real = A.shape[-1], B.shape[-1], A.dtype.to_real()
    return (
        A.like((*lead, n, k)),
        A.like((*lead, k), real),
        Meta.of(A.shape[:-2], dtypes.int64, A.device),
        A.like((*A.shape[:-2], min(A.shape[-2:])), real),
    )


@lstsq.vjp("A", "B")
def lstsq_dab(dsolution: Any, dresiduals: Any, A: Any, B: Any, solution: Any, rcond: float) -> Any:
    """Residuals depend on X only in second order, since X makes them least."""
    zero = _zero(A._meta)
    y = pinv(A, zero, add(zero, rcond), hermitian=False)
    excess = mul(sub(A @ solution, B), mul(dresiduals, 2).unsqueeze(-2))
    return add(pinv_pull(dsolution @ B.mH, A, y), excess @ solution.mH), sub(y.mH @ dsolution, excess)


def _zero(meta: Meta) -> Any:
    from pellucid.engine.core.graph import zeros

    return zeros(meta.like((), meta.dtype.to_real()))


# -- matrix exponential
# ----------------------------------------------------------------------------------------------------

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@op(grad_name="LinalgMatrixExpBackward0")
def matrix_exp(A: np.ndarray) -> np.ndarray:
    """The matrix exponential: a Padé approximant of degree 13 with scaling and squaring (N. Higham, 2005), in double
    precision.
    """
    wide = A.astype(np.complex128 if A.dtype.kind == "c" else np.float64)
    if not A.size:
        return wide
    norm = np.abs(wide).sum(-2).max(-1)
    usable = np.where(np.isfinite(norm) & (norm > 0), norm, 1)
    squarings = np.maximum(np.ceil(np.log2(usable / 5.371920351148152)), 0).astype(int)
    scaled = wide / (2.0**squarings)[..., None, None]
    b, identity = _PADE, np.eye(A.shape[-1])
    a2 = scaled @ scaled
    a4 = a2 @ a2
    a6 = a2 @ a4
    u = scaled @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * identity)
    v = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * identity
    result = np.linalg.solve(v - u, v + u)
    for step in range(int(squarings.max())):
        result = np.where((squarings > step)[..., None, None], result @ result, result)
    return result


@matrix_exp.meta
def matrix_exp_meta(A: Meta) -> Meta:
    return A.like()


@matrix_exp.vjp("A")
def matrix_exp_da(dy: Any, A: Any, A_meta: Meta) -> Any:
    """The upper right block of exp [[Aᴴ, dy], [0, Aᴴ]] (R. Mathias, "A chain rule for matrix functions", 1996)."""
    n, axis = A_meta.shape[-1], A_meta.ndim - 1
    adjoint = A.mH
    top = cat(adjoint, dy, dim=axis)
    bottom = cat(mul(adjoint, 0), adjoint, dim=axis)
    whole = matrix_exp(cat(top, bottom, dim=axis - 1))
    return slice_(_first(whole, -2, n), dim=axis, start=n, end=2 * n, step=1)
