"""SVD, QR, eigenvalues, pseudo-inverse, least squares, rank and condition, matrix exponential."""

from __future__ import annotations

import math
import warnings
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import whole as whole_batch
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check, user_level, wrap_dim
from pellucid.engine.core.promotion import title
from pellucid.engine.core.typeinfo import finfo
from pellucid.engine.ops import decompositions as ops
from pellucid.engine.ops.memory import full
from pellucid.engine.ops.shape import reshape_to
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import as_bool, as_float, as_int, as_ints, deliver, need_str, need_tensor
from pellucid.engine.tensor.norms import matrix_norm
from pellucid.engine.tensor.ranges import eye
from pellucid.engine.tensor.solvers import inv, need_floating, need_matrices, need_square, solve


def _epsilon(kind: dtypes.dtype) -> float:
    return float(finfo(kind).eps)


def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """U, S and Vh with U diag(S) Vh = A; S descends. LinAlgError where A is not finite.

    >>> import pellucid as torch
    >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    need_matrices(A, "linalg.svd")
    _no_driver(driver)
    return return_types.linalg_svd(ops.svd(A, full_matrices=as_bool(full_matrices, "svd", "full_matrices", 2), out=out))


def _no_driver(driver: str | None) -> None:
    check(
        driver is None,
        "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
    )


def svdvals(A: Any, *, driver: str | None = None, out: Any = None) -> Any:
    """Singular values, descending.

    >>> import pellucid as torch
    >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    need_matrices(A, "linalg.svd")
    _no_driver(driver)
    return ops.svdvals(A, out=out)


def torch_svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """Singular values and vectors as (U, S, V). Prefer linalg.svd, which returns Vh.

    >>> import pellucid as torch
    >>> torch.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    meta = need_tensor(input, "svd")._meta
    check(meta.ndim >= 2, "svd: input should have at least 2 dimensions")
    need_floating(meta, "linalg.svd")
    if compute_uv:
        U, S, Vh = ops.svd(input, full_matrices=not as_bool(some, "svd", "some", 2))
        return return_types.svd(deliver((U, S, Vh.mH), out))
    lead, (m, n) = tuple(meta.shape[:-2]), meta.shape[-2:]
    zeros = (input.new_zeros((*lead, m, m)), input.new_zeros((*lead, n, n)))
    return return_types.svd(deliver((zeros[0], ops.svdvals(input), zeros[1]), out))


torch_svd.__name__ = torch_svd.__qualname__ = "svd"


def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> Any:
    """Q with orthonormal columns and an upper triangle R with Q R = A; mode "complete" makes Q square, "r" leaves it
    out.

    >>> import pellucid as torch
    >>> torch.linalg.qr(torch.eye(2)).R.shape
    torch.Size([2, 2])
    """
    need_str(mode, "qr", "mode", 2)
    need_matrices(A, "linalg.qr")
    check(
        mode in ("reduced", "complete", "r"),
        f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'",
    )
    return return_types.linalg_qr(ops.qr(A, mode=mode, out=out))


def torch_qr(input: Any, some: bool = True, *, out: Any = None) -> Any:
    """Deprecated: use linalg.qr.

    >>> import pellucid as torch
    >>> torch.linalg.qr(torch.eye(2)).Q.shape
    torch.Size([2, 2])
    """
    warnings.warn(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.",
        UserWarning,
        stacklevel=user_level(),
    )
    return return_types.qr(tuple(qr(input, "reduced" if as_bool(some, "qr", "some", 2) else "complete", out=out)))


torch_qr.__name__ = torch_qr.__qualname__ = "qr"


def geqrf(input: Any, *, out: Any = None) -> Any:
    """QR as LAPACK keeps it: R above, Householder vectors below the diagonal of `a`, and their factors `tau`.

    >>> import pellucid as torch
    >>> torch.geqrf(torch.eye(3, 2)).tau.shape
    torch.Size([2])
    """
    check(need_tensor(input, "geqrf")._meta.ndim >= 2, "torch.geqrf: input must have at least 2 dimensions.")
    return return_types.geqrf(ops.geqrf(input, out=out))


def _uplo(UPLO: str) -> str:  # noqa: N803
    check(UPLO.upper() in ("L", "U"), f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:  # noqa: N803
    """Eigenvalues (ascending) and eigenvectors of a Hermitian matrix, of which the lower ("U": upper) triangle is read.

    >>> import pellucid as torch
    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    need_square(A, "linalg.eigh")
    return return_types.linalg_eigh(ops.eigh(A, UPLO=_uplo(UPLO), out=out))


def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:  # noqa: N803
    """Eigenvalues (ascending) of a Hermitian matrix.

    >>> import pellucid as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    need_str(UPLO, "eigvalsh", "UPLO", 2)
    need_square(A, "linalg.eigh")
    return ops.eigvalsh(A, UPLO=_uplo(UPLO), out=out)


def eig(A: Any, *, out: Any = None) -> Any:
    """Complex eigenvalues, in no order, and eigenvectors of length 1 of a square matrix.

    >>> import pellucid as torch
    >>> torch.linalg.eig(torch.tensor([[2.0]])).eigenvalues
    tensor([2.+0.j])
    """
    need_square(A, "linalg.eig")
    return return_types.linalg_eig(ops.eig(A, out=out))


def eigvals(A: Any, *, out: Any = None) -> Any:
    """Complex eigenvalues of a square matrix, in no order.

    >>> import pellucid as torch
    >>> torch.linalg.eigvals(torch.tensor([[2.0]]))
    tensor([2.+0.j])
    """
    need_square(A, "linalg.eigvals")
    return ops.eigvals(A, out=out)


def _tolerances(A: Any, atol: Any, rtol: Any, name: str) -> tuple[Any, Any]:
    """Absolute and relative tolerance as tensors; rtol is max(m, n) * eps unless atol is given."""
    meta = A._meta
    real = meta.dtype.to_real()

    def tensor_of(value: Any) -> Any:
        if isinstance(value, TensorData):
            check(
                not value._meta.dtype.is_complex,
                f"{name}: tensors of complex type are not supported as tolerances. Got {title(value._meta.dtype)}",
            )
            return value.to(real)
        return full(size=(), value=float(value), dtype=real, device=meta.device)

    default = max(meta.shape[-2:]) * _epsilon(real)
    if atol is None:
        return tensor_of(0.0), tensor_of(default if rtol is None else rtol)
    if rtol is not None:
        return tensor_of(atol), tensor_of(rtol)
    absolute = tensor_of(atol)
    return absolute, default * (absolute <= 0).to(real)


def pinv(
    A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Any:
    """Moore-Penrose inverse; singular values of at most max(atol, rtol * largest) count as 0. Its gradient takes the
    rank as fixed.

    >>> import pellucid as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    (need_square if hermitian else need_matrices)(A, "linalg.pinv")
    absolute, relative = _tolerances(A, atol, rcond if rtol is None else rtol, "torch.linalg.pinv")
    return deliver(ops.pinv(A, absolute, relative, hermitian=as_bool(hermitian, "pinv", "hermitian", 3)), out)


def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """Another name of `linalg.pinv`.

    >>> import pellucid as torch
    >>> torch.pinverse(torch.tensor([[2.0]]))
    tensor([[0.5000]])
    """
    rcond = as_float(rcond, "pinverse", "rcond", 2)
    return pinv(input, rcond)


def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Any:
    """How many singular values (sizes of eigenvalues for `hermitian`) exceed max(atol, rtol * largest).

    >>> import pellucid as torch
    >>> torch.linalg.matrix_rank(torch.eye(3))
    tensor(3)
    """
    meta = (need_square if hermitian else need_matrices)(A, "linalg.matrix_rank")
    if tol is not None:
        atol, rtol = tol, 0.0
    absolute, relative = _tolerances(A, atol, rtol, "torch.linalg.matrix_rank")
    if 0 in meta.shape[-2:]:
        return deliver(A.new_zeros(tuple(meta.shape[:-2]), dtype=dtypes.int64), out)
    values = ops.eigvalsh(A.detach(), UPLO="L").abs() if hermitian else ops.svdvals(A.detach())
    limit = absolute.maximum(relative * values.amax(-1))
    return deliver((values > limit.unsqueeze(-1)).sum(-1), out)


def cond(A: Any, p: Any = None, *, out: Any = None) -> Any:
    """Condition number: norm of A times norm of its inverse (ratio of extreme singular values by default); infinite
    where singular.

    >>> import pellucid as torch
    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    meta = need_matrices(A, "linalg.cond")
    if p is None or p in (2, -2):
        values = ops.svdvals(A)
        if 0 in meta.shape[-2:]:
            return deliver(A.new_zeros(tuple(meta.shape[:-2]), dtype=meta.dtype.to_real()), out)
        first, last = values.select(-1, 0), values.select(-1, values._meta.shape[-1] - 1)
        return deliver(last / first if p == -2 else first / last, out)
    n, m = meta.shape[-2:]
    check(n == m, f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {n} by {m} matrices")
    if not meta.numel:
        return deliver(A.new_zeros(tuple(meta.shape[:-2]), dtype=meta.dtype.to_real()), out)
    from pellucid.engine.ops.solvers import inv as inverse_op

    inverse, info = inverse_op(A)
    singular = info != 0
    inverse = inverse.masked_fill(singular.unsqueeze(-1).unsqueeze(-1), 0.0)
    result = matrix_norm(A, p) * matrix_norm(inverse, p)
    return deliver(result.masked_fill(singular, math.inf), out)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None, out: Any = None) -> Any:
    """X that makes |A X - B| least, with residuals (of full-rank systems of more rows than columns), rank and singular
    values.

    >>> import pellucid as torch
    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    if rcond is not None:
        rcond = as_float(rcond, "lstsq", "rcond", 3)
    name = "torch.linalg.lstsq"
    a, b = need_tensor(A, "linalg_lstsq")._meta, need_tensor(B, "linalg_lstsq", "B", 2)._meta
    check(a.ndim >= 2, f"{name}: input must have at least 2 dimensions.")
    check(b.ndim >= 1, f"{name}: other must have at least 1 dimension.")
    check(
        a.ndim - b.ndim in (0, 1) or a.ndim < b.ndim,
        f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1",
    )
    check(
        a.dtype is b.dtype,
        f"{name}: Expected input and other to have the same dtype, but got input's dtype {title(a.dtype)} and "
        f"other's dtype {title(b.dtype)}",
    )
    check(
        driver is None or driver in _DRIVERS,
        f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)",
    )
    chosen = driver or "gelsy"
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))
    right = B.unsqueeze(-1) if vector else B
    check(
        a.shape[-2] == right._meta.shape[-2],
        f"{name}: input.size(-2) should match other.size({'-1' if vector else '-2'})",
    )
    need_floating(a, "linalg.lstsq")
    cut = _epsilon(a.dtype.to_real()) * max(a.shape[-2:]) if rcond is None else float(rcond)
    solution, residuals, rank, values = ops.lstsq(A, right, rcond=cut, driver=chosen)
    m, n = a.shape[-2:]
    whole = (
        m > n
        and (rank._meta.numel == 0 or a.device.type == "meta" or bool((whole_batch(rank) == n).all()))
        and chosen != "gelsy"
    )
    empty = A.new_empty((0,), dtype=a.dtype.to_real())
    parts = (
        solution.squeeze(-1) if vector else solution,
        residuals if whole else residuals.reshape(-1)[:0],
        rank if chosen != "gels" else A.new_empty((0,), dtype=dtypes.int64),
        values if chosen in ("gelsd", "gelss") else empty,
    )
    return return_types.linalg_lstsq(deliver(parts, out))


def matrix_exp(A: Any) -> Any:
    """The matrix exponential of square matrices.

    >>> import pellucid as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    meta = need_tensor(A, "linalg_matrix_exp", "self")._meta
    check(meta.ndim >= 2, "linalg.matrix_exp: The input tensor A must have at least 2 dimensions.")
    check(
        meta.shape[-1] == meta.shape[-2],
        f"linalg.matrix_exp: A must be batches of square matrices, but they are {meta.shape[-2]} by "
        f"{meta.shape[-1]} matrices",
    )
    check(
        meta.dtype.category >= 2,
        f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {title(meta.dtype)}",
    )
    return ops.matrix_exp(A)


def _reflectors(input: Any, tau: Any, name: str) -> tuple[Any, int]:
    a, t = need_tensor(input, name)._meta, need_tensor(tau, name, "tau", 2)._meta
    check(a.ndim >= 2, f"{name}: input must have at least 2 dimensions.")
    check(a.shape[-2] >= a.shape[-1], f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    check(a.shape[-1] >= t.shape[-1], f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check(
        t.dtype is a.dtype,
        f"torch.linalg.householder_product: tau dtype {title(t.dtype)} does not match input dtype {title(a.dtype)}",
    )
    vectors = input.tril(-1) + eye(a.shape[-2], a.shape[-1], dtype=a.dtype, device=a.device)
    return vectors, t.shape[-1]


def householder_product(A: Any, tau: Any, *, out: Any = None) -> Any:
    """The first columns of the product of Householder reflections, as `geqrf` leaves them.

    >>> import pellucid as torch
    >>> torch.linalg.householder_product(torch.eye(2), torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    vectors, count = _reflectors(A, tau, "torch.linalg.householder_product")
    meta = A._meta
    check(
        tuple(tau._meta.shape[:-1]) == tuple(meta.shape[:-2]),
        "torch.linalg.householder_product: Expected batch dimensions of tau to be equal to input.shape[:-2], "
        f"but got {list(tau._meta.shape[:-1])}",
    )
    start = eye(meta.shape[-2], meta.shape[-1], dtype=meta.dtype, device=meta.device).expand(tuple(meta.shape))
    return deliver(_reflect(vectors, tau, start, reversed(range(count)), False), out)


def _reflect(vectors: Any, tau: Any, x: Any, order: Any, adjoint: bool) -> Any:
    """Reflections I - tau v vᴴ applied to `x`, one after another."""
    factors = tau.conj() if adjoint and tau._meta.dtype.is_complex else tau
    for i in order:
        v = vectors[..., :, i : i + 1]
        x = x - (v * factors[..., i, None, None]) @ (v.mH @ x)
    return x.clone() if not vectors._meta.shape[-1] else x


def orgqr(input: Any, tau: Any, *, out: Any = None) -> Any:
    """Another name of `linalg.householder_product`.

    >>> import pellucid as torch
    >>> torch.orgqr(torch.eye(1), torch.zeros(1))
    tensor([[1.]])
    """
    return householder_product(input, tau, out=out)


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False, *, out: Any = None) -> Any:
    """The full product Q of Householder reflections (its adjoint with `transpose`) times `other`, or `other` times it.

    >>> import pellucid as torch
    >>> torch.ormqr(torch.eye(2), torch.zeros(2), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    a, b = need_tensor(input, "ormqr")._meta, need_tensor(other, "ormqr", "other", 3)._meta
    check(a.ndim >= 2, "torch.ormqr: input must have at least 2 dimensions.")
    check(b.ndim >= 2, "torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    check(
        b.shape[side] == a.shape[-2],
        f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]",
    )
    check(
        tau._meta.shape[-1] <= a.shape[-1], "torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]"
    )
    check(
        a.dtype is b.dtype,
        f"torch.ormqr: Expected input and other to have the same dtype, but input has dtype {title(a.dtype)} "
        f"and other has dtype {title(b.dtype)}",
    )
    vectors = input.tril(-1) + eye(a.shape[-2], a.shape[-1], dtype=a.dtype, device=a.device)
    count = tau._meta.shape[-1]
    adjoint = as_bool(transpose, "ormqr", "transpose", 5) == as_bool(left, "ormqr", "left", 4)
    order = range(count) if adjoint else reversed(range(count))
    x = _reflect(vectors, tau, other if left else other.mH, order, adjoint)
    return deliver(x if left else x.mH, out)


def tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse of a tensor as a map from its last dimensions to its first `ind` ones.

    >>> import pellucid as torch
    >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
    torch.Size([4, 2, 2])
    """
    shape = tuple(need_tensor(A, "linalg_tensorinv", "self")._meta.shape)
    split = as_int(ind, "linalg_tensorinv", "ind")
    check(split > 0, "Expected a strictly positive integer for 'ind'")
    rows, columns = math.prod(shape[:split]), math.prod(shape[split:])
    check(
        rows == columns,
        "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
        f"{columns} != {rows}",
    )
    return deliver(reshape_to(inv(reshape_to(A, (rows, columns))), (*shape[split:], *shape[:split])), out)


def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B, after moving the dimensions `dims` of A to its end.

    >>> import pellucid as torch
    >>> torch.linalg.tensorsolve(torch.eye(4).reshape(4, 2, 2), torch.ones(4)).shape
    torch.Size([2, 2])
    """
    need_tensor(A, "linalg_tensorsolve", "self")
    need_tensor(B, "linalg_tensorsolve", "other", 2)
    if dims is not None:
        moved = [wrap_dim(d, A._meta.ndim) for d in as_ints(dims, "linalg_tensorsolve", "dims")]
        A = A.movedim(tuple(moved), tuple(range(A._meta.ndim - len(moved), A._meta.ndim)))
    b = B._meta
    rest = tuple(A._meta.shape[b.ndim :])
    rows, columns = b.numel, math.prod(rest)
    check(
        rows == columns,
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
        "prod(self.shape[:other.ndim]), but got"
        f" {columns} != {math.prod(A._meta.shape[: b.ndim])}",
    )
    return deliver(reshape_to(solve(reshape_to(A, (rows, columns)), reshape_to(B, (rows,))), rest), out)


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, as a view.

    >>> import pellucid as torch
    >>> torch.linalg.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    return need_tensor(A, "linalg_diagonal").diagonal(offset, dim1, dim2)


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Any, Any, Any]:  # noqa: N803
    """U, S and V of about the q largest singular values of A - M, found from random products (N. Halko, P. Martinsson,
    J. Tropp, 2011).

    >>> import pellucid as torch
    >>> torch.svd_lowrank(torch.eye(5), q=2)[1].shape
    torch.Size([2])
    """
    m, n = need_tensor(A, "svd_lowrank", "A")._meta.shape[-2:]
    whole = A if M is None else A - M
    wide = m < n
    tall = whole.mH if wide else whole
    count, rounds = 6 if q is None else q, 2 if niter is None else niter
    start = tall.new_empty((tall._meta.shape[-1], count)).normal_()
    basis = ops.qr(tall @ start, mode="reduced")[0]
    for _ in range(rounds):
        basis = ops.qr(tall.mH @ basis, mode="reduced")[0]
        basis = ops.qr(tall @ basis, mode="reduced")[0]
    U, S, Vh = ops.svd(basis.mH @ tall, full_matrices=False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """About the q first principal components: `svd_lowrank` of A, less the means of its columns unless `center` is
    False.

    >>> import pellucid as torch
    >>> torch.pca_lowrank(torch.eye(5), q=2)[1].shape
    torch.Size([2])
    """
    m, n = need_tensor(A, "pca_lowrank", "A")._meta.shape[-2:]
    count = min(6, m, n) if q is None else q
    check(
        0 <= count <= min(m, n),
        f"q(={count}) must be non-negative integer and not greater than min(m, n)={min(m, n)}",
        ValueError,
    )
    check(niter >= 0, f"niter(={niter}) must be non-negative integer", ValueError)
    check(A._meta.dtype.category >= 2, f"input must be a floating point tensor, got {A._meta.dtype}", ValueError)
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, count, niter)


def _removed(name: str, instead: str) -> Any:
    def function(*args: Any, **options: Any) -> Any:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {instead}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed from PyTorch: raises a RuntimeError. {instead}"
    return function


symeig = _removed("symeig", "Use linalg.eigh or linalg.eigvalsh, which read the lower triangle unless told otherwise.")
torch_eig = _removed("eig", "Use linalg.eig, whose results are complex.")
torch_lstsq = _removed(
    "lstsq", "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments come in the other order."
)
torch_solve = _removed(
    "solve", "`torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments come in the other order."
)
torch_matrix_rank = _removed("matrix_rank", "Use linalg.matrix_rank.")


class DecompositionMethods:
    """Rows of `Tensor`."""

    svd = torch_svd
    qr = torch_qr
    geqrf = geqrf
    pinverse = pinverse
    matrix_exp = matrix_exp
    orgqr = orgqr
    ormqr = ormqr
    symeig = symeig
    eig = torch_eig
    lstsq = torch_lstsq
    solve = torch_solve
