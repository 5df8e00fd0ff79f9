"""Inverses, linear systems, determinants, LU and Cholesky factors."""

from __future__ import annotations

import warnings
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import whole
from pellucid.engine.core.device import META
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import solvers as ops
from pellucid.engine.ops.decompositions import LinAlgError
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import as_bool, deliver, need_tensor


def need_matrices(A: Any, name: str, argument: str = "A") -> Any:
    """The meta of a floating-point (batch of) matrices; RuntimeError in PyTorch's words otherwise."""
    meta = need_tensor(A, name.replace(".", "_"), argument)._meta
    check(meta.ndim >= 2, f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    need_floating(meta, name)
    return meta


def need_floating(meta: Any, name: str) -> None:
    """RuntimeError in PyTorch's words unless the dtype is one that LAPACK computes in."""
    kind = meta.dtype
    check(kind.category >= 2, f"{name}: Expected a floating point or complex tensor as input. Got {title(kind)}")
    if kind not in _PRECISE:
        if name in _KERNELS:
            raise NotImplementedError(
                f"\"{_KERNELS[name]}\" not implemented for '{title(kind)}' ({name}): convert it to float32 first"
            )
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {title(kind)}")


_KERNELS = {  # what PyTorch names where it refuses half precision
    "linalg.det": "lu_cpu", "linalg.solve": "lu_cpu", "torch.lu_factor": "lu_cpu", "linalg.lu": "lu_cpu",
    "linalg.cholesky": "cholesky_cpu", "linalg.svd": "linalg_svd_cpu", "linalg.cond": "linalg_svd_cpu",
    "linalg.qr": "geqrf_cpu", "linalg.eigh": "linalg_eigh_cpu", "linalg.eig": "linalg_eig_out_cpu",
    "linalg.eigvals": "linalg_eig_out_cpu",
}  # fmt: skip
_PRECISE = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def need_square(A: Any, name: str, argument: str = "A") -> Any:
    """Like `need_matrices`, of as many rows as columns."""
    meta = need_tensor(A, name.replace(".", "_"), argument)._meta
    check(meta.ndim >= 2, f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    n, m = meta.shape[-2:]
    check(n == m, f"{name}: {argument} must be batches of square matrices, but they are {n} by {m} matrices")
    need_floating(meta, name)
    return meta


def same_dtype(A: Any, B: Any, name: str) -> None:
    """RuntimeError in PyTorch's words unless both have one dtype."""
    check(
        A._meta.dtype is B._meta.dtype,
        f"{name}: Expected A and B to have the same dtype, but found A of type {title(A._meta.dtype)} and B of type"
        f" {title(B._meta.dtype)} instead",
    )


def raise_for(info: Any, name: str, text: str) -> None:
    """LinAlgError for the first matrix of a batch whose info is not 0."""
    if info._meta.device is META or not info._meta.numel:
        return
    codes = whole(info).reshape(-1).tolist()
    bad = next((i for i, code in enumerate(codes) if code), None)
    if bad is not None:
        where = f"(Batch element {bad}): " if info._meta.ndim else ""
        raise LinAlgError(f"{name}: {where}{text.format(code=codes[bad])}")


_SINGULAR = (
    "The diagonal element {code} is zero, the inversion could not be completed because the input matrix is singular."
)


def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> Any:
    """The inverse, and per matrix the number of its first zero pivot (0 when it is invertible).

    >>> import pellucid as torch
    >>> torch.linalg.inv_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    as_bool(check_errors, "inv_ex", "check_errors")
    need_square(A, "linalg.inv")
    found = ops.inv(A, out=out)
    if check_errors:
        raise_for(found[1], "linalg.inv", _SINGULAR)
    return return_types.linalg_inv_ex(found)


def inv(A: Any, *, out: Any = None) -> Any:
    """The inverse of square matrices; LinAlgError where there is none.

    >>> import pellucid as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    need_square(A, "linalg.inv")
    inverse, info = ops.inv(A)
    raise_for(info, "linalg.inv", _SINGULAR)
    return deliver(inverse, out)


def inverse(input: Any, *, out: Any = None) -> Any:
    """Another name of `linalg.inv`.

    >>> import pellucid as torch
    >>> torch.inverse(torch.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return inv(input, out=out)


def _solve(A: Any, B: Any, left: bool, name: str) -> tuple[Any, Any]:
    a = need_square(A, name)
    need_tensor(B, name.replace(".", "_"), "B", 2)
    same_dtype(A, B, name)
    b = B._meta
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))
    right = B.unsqueeze(-1) if vector else B
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this "
            "case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    rows = right._meta.shape[-2 if left else -1]
    check(
        rows == a.shape[-1],
        f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
        f" ({a.shape[-2]}x{a.shape[-1]} and {right._meta.shape[-2]}x{right._meta.shape[-1]})",
    )
    if left:
        result, info = ops.solve(A, right)
    else:
        result, info = ops.solve(A.mT, right.mT)
        result = result.mT
    return (result.squeeze(-1) if vector else result), info


def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """X with A X = B (X A = B with `left=False`); B holds columns or is a vector. LinAlgError where A is singular.

    >>> import pellucid as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    as_bool(left, "solve", "left")
    result, info = _solve(A, B, bool(left), "linalg.solve")
    raise_for(info, "torch.linalg.solve", "The solver failed because the input matrix is singular.")
    return deliver(result, out)


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """Like `linalg.solve`, with a code per matrix (0 when it is invertible) in place of an error.

    >>> import pellucid as torch
    >>> torch.linalg.solve_ex(torch.eye(2), torch.ones(2)).info
    tensor(0, dtype=torch.int32)
    """
    as_bool(check_errors, "solve_ex", "check_errors")
    found = _solve(A, B, as_bool(left, "solve_ex", "left"), "linalg.solve")
    if check_errors:
        raise_for(found[1], "torch.linalg.solve", "The solver failed because the input matrix is singular.")
    return return_types.linalg_solve_ex(deliver(found, out))


def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Any:
    """X with A X = B (X A = B with `left=False`), of which one triangle of A is read; a zero on its diagonal gives
    infinities.

    >>> import pellucid as torch
    >>> torch.linalg.solve_triangular(torch.tensor([[2.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    a = need_square(A, name)
    check(
        need_tensor(B, "linalg_solve_triangular", "B", 2)._meta.ndim >= 2,
        f"{name}: The input tensor B must have at least 2 dimensions.",
    )
    same_dtype(A, B, name)
    b = B._meta
    check(
        b.shape[-2 if left else -1] == a.shape[-1],
        f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
        f" ({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})",
    )
    return ops.solve_triangular(
        A,
        B,
        upper=as_bool(upper, "solve_triangular", "upper"),
        left=as_bool(left, "solve_triangular", "left"),
        unitriangular=as_bool(unitriangular, "solve_triangular", "unitriangular"),
        out=out,
    )


def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """Deprecated: the solution of A X = input for triangular A, and A. Use linalg.solve_triangular.

    >>> import pellucid as torch
    >>> torch.triangular_solve(torch.ones(1, 1), torch.tensor([[2.0]])).solution
    tensor([[0.5000]])
    """
    need_tensor(A, "triangular_solve", "A", 2)
    check(
        need_tensor(input, "triangular_solve")._meta.ndim >= 2,
        f"torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {input._meta.ndim} "
        "dimensions instead",
    )
    check(
        A._meta.ndim >= 2,
        f"torch.triangular_solve: Expected A to have at least 2 dimensions, but it has {A._meta.ndim} "
        "dimensions instead",
    )
    check(
        A._meta.shape[-1] == A._meta.shape[-2],
        f"A must be batches of square matrices, but they are {A._meta.shape[-2]} by {A._meta.shape[-1]} matrices",
    )
    check(
        input._meta.dtype is A._meta.dtype,
        "triangular_solve: Expected b and A to have the same dtype, but found b of type "
        f"{title(input._meta.dtype)} and A of type {title(A._meta.dtype)} instead",
    )
    source = A.mT if transpose else A
    found = ops.solve_triangular(
        source,
        input,
        upper=as_bool(upper, "triangular_solve", "upper", 3) != as_bool(transpose, "triangular_solve", "transpose", 4),
        left=True,
        unitriangular=as_bool(unitriangular, "triangular_solve", "unitriangular", 5),
    )
    lead = tuple(found._meta.shape[:-2])
    return return_types.triangular_solve(deliver((found, A.expand(*lead, *A._meta.shape[-2:]).clone()), out))


def det(A: Any, *, out: Any = None) -> Any:
    """The determinant of square matrices; its gradient is right where they are singular too.

    >>> import pellucid as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor(6.)
    """
    need_square(A, "linalg.det")
    return ops.det(A, out=out)


def slogdet(A: Any, *, out: Any = None) -> Any:
    """Sign and logarithm of the size of the determinant.

    >>> import pellucid as torch
    >>> torch.linalg.slogdet(torch.eye(2)).logabsdet
    tensor(0.)
    """
    need_square(A, "linalg.slogdet")
    return return_types.linalg_slogdet(ops.slogdet(A, out=out))


def torch_slogdet(input: Any, *, out: Any = None) -> Any:
    """Another name of `linalg.slogdet`.

    >>> import pellucid as torch
    >>> torch.slogdet(torch.eye(2)).sign
    tensor(1.)
    """
    need_square(input, "linalg.slogdet")
    return return_types.slogdet(ops.slogdet(input, out=out))


torch_slogdet.__name__ = torch_slogdet.__qualname__ = "slogdet"


def logdet(input: Any) -> Any:
    """Logarithm of the determinant: NaN where it is negative, -inf where it is 0.

    >>> import pellucid as torch
    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    need_square(input, "logdet")
    sign, size = ops.slogdet(input)
    if input._meta.dtype.is_complex:
        return sign.log() + size
    return size.masked_fill(sign == -1, float("nan"))


_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite"
    " (the leading minor of order {code} is not positive-definite)."
)


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """The Cholesky factor, and per matrix the order of the first minor that is not positive-definite (0 for none).

    >>> import pellucid as torch
    >>> torch.linalg.cholesky_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    as_bool(check_errors, "cholesky_ex", "check_errors")
    need_square(A, "linalg.cholesky")
    found = ops.cholesky(A, upper=as_bool(upper, "cholesky_ex", "upper"), out=out)
    if check_errors:
        raise_for(found[1], "linalg.cholesky", _NOT_POSITIVE)
    return return_types.linalg_cholesky_ex(found)


def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Any:
    """The lower triangle L with L Lᴴ = A (U with Uᴴ U = A for `upper`); LinAlgError unless A is positive-definite.

    >>> import pellucid as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
    need_square(A, "linalg.cholesky")
    factor, info = ops.cholesky(A, upper=as_bool(upper, "cholesky", "upper"))
    raise_for(info, "linalg.cholesky", _NOT_POSITIVE)
    return deliver(factor, out)


def torch_cholesky(input: Any, upper: bool = False, *, out: Any = None) -> Any:
    """Deprecated: use linalg.cholesky.

    >>> import pellucid as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    warnings.warn(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future "
        "PyTorch release.",
        UserWarning,
        stacklevel=user_level(),
    )
    need_square(input, "cholesky")
    factor, info = ops.cholesky(input, upper=bool(upper))
    raise_for(info, "cholesky", _NOT_POSITIVE)
    return deliver(factor, out)


torch_cholesky.__name__ = torch_cholesky.__qualname__ = "cholesky"


def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """X with A X = B, given the Cholesky factor L (upper: U) of A.

    >>> import pellucid as torch
    >>> torch.cholesky_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]]))
    tensor([[1.]])
    """
    b, a = need_tensor(B, "cholesky_solve")._meta, need_tensor(L, "cholesky_solve", "input2", 2)._meta
    check(b.ndim >= 2, f"b should have at least 2 dimensions, but has {b.ndim} dimensions instead")
    check(a.ndim >= 2, f"u should have at least 2 dimensions, but has {a.ndim} dimensions instead")
    check(
        a.shape[-1] == a.shape[-2],
        f"A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices",
    )
    check(
        a.shape[-1] == b.shape[-2],
        f"Incompatible matrix sizes for cholesky_solve: each A matrix is {a.shape[-1]} by {a.shape[-1]} but "
        "each b matrix is"
        f" {b.shape[-2]} by {b.shape[-1]}",
    )
    return deliver(ops.cholesky_solve(B, L, upper=as_bool(upper, "cholesky_solve", "upper", 3)), out)


def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """The inverse of the matrix whose Cholesky factor is L (upper: U).

    >>> import pellucid as torch
    >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    meta = need_tensor(L, "cholesky_inverse")._meta
    check(meta.ndim >= 2, "cholesky_inverse: The input tensor A must have at least 2 dimensions.")
    n, m = meta.shape[-2:]
    check(n == m, f"cholesky_inverse: A must be batches of square matrices, but they are {n} by {m} matrices")
    return deliver(ops.cholesky_inverse(L, upper=as_bool(upper, "cholesky_inverse", "upper", 2)), out)


def _needs_pivot(pivot: bool, name: str) -> None:
    check(pivot, f"linalg.{name}: LU without pivoting is not implemented on the CPU")


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """LU factors in one matrix, the rows swapped (from 1), and the first zero pivot per matrix (0 for none).

    >>> import pellucid as torch
    >>> torch.linalg.lu_factor_ex(torch.eye(2)).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    as_bool(check_errors, "lu_factor_ex", "check_errors")
    as_bool(pivot, "lu_factor_ex", "pivot")
    need_matrices(A, "torch.lu_factor")
    _needs_pivot(pivot, "lu_factor")
    found = ops.lu_factor(A, out=out)
    if check_errors:
        raise_for(
            found[2],
            "torch.linalg.lu_factor_ex",
            "U[{code},{code}] is zero and using it on lu_solve would result in a division by zero.",
        )
    return return_types.linalg_lu_factor_ex(found)


def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """LU factors in one matrix and the rows swapped (from 1), for `linalg.lu_solve`.

    >>> import pellucid as torch
    >>> torch.linalg.lu_factor(torch.eye(2)).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    as_bool(pivot, "lu_factor", "pivot")
    need_matrices(A, "torch.lu_factor")
    _needs_pivot(pivot, "lu_factor")
    return return_types.linalg_lu_factor(deliver(ops.lu_factor(A)[:2], out))


def lu(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """A permutation P and triangles L and U with P L U = A.

    >>> import pellucid as torch
    >>> torch.linalg.lu(torch.tensor([[0.0, 1.0], [2.0, 0.0]])).U
    tensor([[2., 0.],
            [0., 1.]])
    """
    need_matrices(A, "linalg.lu")
    _needs_pivot(pivot, "lu_factor")
    if out is not None:
        return return_types.linalg_lu(ops.lu(A, out=out))
    P, L, U = ops.lu(A)
    return return_types.linalg_lu((P.detach(), L, U))  # a permutation has no gradient


def torch_lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Deprecated: use linalg.lu_factor or linalg.lu_factor_ex.

    >>> import pellucid as torch
    >>> torch.linalg.lu_factor(torch.eye(1)).LU
    tensor([[1.]])
    """
    warnings.warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
        "removed in a future PyTorch"
        " release.",
        UserWarning,
        stacklevel=user_level(),
    )
    need_matrices(A, "torch.lu_factor")
    _needs_pivot(pivot, "lu_factor")
    found = ops.lu_factor(A)
    if not get_infos:
        raise_for(
            found[2],
            "torch.linalg.lu_factor_ex",
            "U[{code},{code}] is zero and using it on lu_solve would result in a division by zero.",
        )
    return return_types._lu_with_info(deliver(found, out)) if get_infos else deliver(tuple(found[:2]), out)


torch_lu.__name__ = torch_lu.__qualname__ = "lu"


def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:  # noqa: N803
    """The permutation and the two triangles of what `linalg.lu_factor` returns.

    >>> import pellucid as torch
    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.eye(1))).L
    tensor([[1.]])
    """
    as_bool(unpack_data, "lu_unpack", "unpack_data", 3)
    as_bool(unpack_pivots, "lu_unpack", "unpack_pivots", 4)
    check(
        LU_pivots._meta.dtype is dtypes.int32,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this "
        "function is intended to be used"
        " with the output produced by torch.linalg.lu_factor",
    )
    found = list(ops.lu_unpack(LU_data, LU_pivots))
    found[0] = found[0].detach()  # a permutation has no gradient
    if not unpack_pivots:
        found[0] = LU_data.new_empty((0,))
    if not unpack_data:
        found[1], found[2] = LU_data.new_empty((0,)), LU_data.new_empty((0,))
    return return_types.lu_unpack(deliver(tuple(found), out))


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None) -> Any:  # noqa: N803
    """X with A X = B (X A = B with `left=False`; Aᴴ for `adjoint`), given what `linalg.lu_factor(A)` returned.

    >>> import pellucid as torch
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.0]])), torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    as_bool(adjoint, "lu_solve", "adjoint")
    as_bool(left, "lu_solve", "left")
    a = need_square(LU, "torch.linalg.lu_solve", "LU")
    same_dtype(LU, B, "linalg.lu_solve")
    check(pivots._meta.dtype is dtypes.int32, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    b = B._meta
    check(b.ndim >= 2, "linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    check(
        b.shape[-2 if left else -1] == a.shape[-1],
        f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
        f" ({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})",
    )
    if not left:
        return deliver(lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH, out)
    P, L, U = ops.lu_unpack(LU, pivots)
    if not adjoint:
        first = ops.solve_triangular(L, P.mT @ B, upper=False, left=True, unitriangular=True)
        return deliver(ops.solve_triangular(U, first, upper=True, left=True, unitriangular=False), out)
    first = ops.solve_triangular(U.mH, B, upper=False, left=True, unitriangular=False)
    return deliver(P @ ops.solve_triangular(L.mH, first, upper=True, left=True, unitriangular=True), out)


def torch_lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:  # noqa: N803
    """Deprecated: use linalg.lu_solve, which takes its arguments in another order.

    >>> import pellucid as torch
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.0]])), torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    warnings.warn(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch "
        "release.",
        UserWarning,
        stacklevel=user_level(),
    )
    return lu_solve(LU_data, LU_pivots, input, out=out)


torch_lu_solve.__name__ = torch_lu_solve.__qualname__ = "lu_solve"


class SolverMethods:
    """Rows of `Tensor`."""

    inverse = inverse
    det = det
    slogdet = torch_slogdet
    logdet = logdet
    cholesky = torch_cholesky
    cholesky_solve = cholesky_solve
    cholesky_inverse = cholesky_inverse
    triangular_solve = triangular_solve
    lu = torch_lu
    lu_solve = torch_lu_solve
