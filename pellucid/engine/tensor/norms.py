"""Norms of vectors and matrices, and distances that are norms."""

from __future__ import annotations

import math
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.dtypes import as_dtype
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.ops import norms as ops
from pellucid.engine.tensor.arguments import (
    as_bool,
    as_dims,
    as_int,
    as_ints,
    as_number,
    deliver,
    need_tensor,
    presented,
)
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def vector_norm(
    x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None
) -> Any:
    """The ord-norm of all elements, or along dimensions; at 0 its gradient is 0.

    >>> import pellucid as torch
    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    meta = need_tensor(x, "linalg_vector_norm", "self")._meta
    ord = float(ord.item() if isinstance(ord, TensorData) else ord)
    dims = None if dim is None else as_dims(dim, meta.ndim, "linalg_vector_norm")
    source = x if dtype is None else x.to(as_dtype(dtype))
    return ops.vector_norm(source, ord=ord, dim=dims, keepdim=as_bool(keepdim, "vector_norm", "keepdim", 4), out=out)


def matrix_norm(
    A: Any,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype_type | None = None,
    out: Any = None,
) -> Any:
    """A norm of matrices: "fro", "nuc", 1 and inf (largest column and row sums), 2 (largest singular value), or their
    negatives.

    >>> import pellucid as torch
    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 4.0]]))
    tensor(5.)
    """
    meta = need_tensor(A, "linalg_matrix_norm", "self")._meta
    check(meta.ndim >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    pair = as_ints(dim, "linalg_matrix_norm", "dim")
    check(len(pair) == 2, f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(pair)}")
    rows, columns = [wrap_dim(d, meta.ndim) for d in pair]
    check(rows != columns, f"linalg.matrix_norm: dims must be different. Got ({pair[0]}, {pair[1]})")
    source = A if dtype is None else A.to(as_dtype(dtype))
    if ord == "fro":
        return ops.vector_norm(
            source, ord=2.0, dim=(rows, columns), keepdim=as_bool(keepdim, "matrix_norm", "keepdim", 4), out=out
        )
    if ord == "nuc" or abs(_known_order(ord)) == 2:
        return deliver(_of_singular_values(source, ord, rows, columns, keepdim), out)
    inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = ops.vector_norm(source, ord=1.0, dim=(inner,), keepdim=True)
    extreme = _extreme(sums, outer, ord > 0)
    return deliver(extreme if keepdim else extreme.squeeze((rows, columns)), out)


def _extreme(x: Any, axis: int, largest: bool) -> Any:
    """The largest (0 of nothing) or smallest value along a dimension, which stays."""
    if largest:
        return x.amax((axis,), True) if x._meta.shape[axis] else x.sum((axis,), True)
    return x.amin((axis,), True)


def _known_order(ord: Any) -> float:
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    check(abs(ord) in (1, 2, math.inf), f"linalg.matrix_norm: Order {ord} not supported.")
    return float(ord)


def _of_singular_values(A: Any, ord: Any, rows: int, columns: int, keepdim: bool) -> Any:
    from pellucid.engine.tensor.decompositions import svdvals

    values = svdvals(A.movedim((rows, columns), (-2, -1)))
    result = values.sum(-1) if ord == "nuc" else _extreme(values, values._meta.ndim - 1, ord > 0).squeeze(-1)
    if keepdim:
        for axis in sorted((rows, columns)):
            result = result.unsqueeze(axis)
    return result


def linalg_norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None
) -> Any:
    """A vector norm (of all elements when neither `ord` nor `dim` is given) or, over two dimensions, a matrix norm.

    >>> import pellucid as torch
    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    ndim = need_tensor(A, "linalg_norm", "self")._meta.ndim
    if dim is not None:
        count = len(as_ints(dim, "linalg_norm", "dim"))
        check(count in (1, 2), f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}")
        if ord is not None and count == 2:
            return matrix_norm(A, ord, dim, keepdim, dtype=dtype, out=out)
    elif ord is not None:
        check(
            ndim in (1, 2), f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D."
        )
        if ndim == 2:
            return matrix_norm(A, ord, (-2, -1), keepdim, dtype=dtype, out=out)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: dtype_type | None = None
) -> Any:
    """The p-norm of all elements, or along dimensions; "fro" is 2, "nuc" the sum of singular values.

    >>> import pellucid as torch
    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    as_bool(keepdim, "norm", "keepdim", 4)
    need_tensor(input, "norm")
    if p == "nuc":
        if dim is None:
            check(
                input._meta.ndim == 2,
                f"linalg.matrix_norm: nuclear norm needs a matrix, got {input._meta.ndim}-D tensor",
            )
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    check(not isinstance(p, str) or p == "fro", f"only valid string values are 'fro' and 'nuc', found {p}")
    return vector_norm(input, 2 if p in ("fro", None) else p, dim if dim != () else None, keepdim, dtype=dtype, out=out)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The p-norm of input - other.

    >>> import pellucid as torch
    >>> torch.dist(torch.zeros(2), torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    p = as_number(p, "dist", "p", 3)
    need_tensor(input, "dist"), need_tensor(other, "dist", "other", 2)
    return presented(norm(input - other, p), "DistBackward0")


def renorm(input: Any, p: float, dim: int, maxnorm: float, *, out: Any = None) -> Any:
    """Slices along a dimension shrunk to a p-norm of at most `maxnorm`.

    >>> import pellucid as torch
    >>> torch.renorm(torch.tensor([[3.0, 4.0]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000]])
    """
    need_tensor(input, "renorm")
    p = as_number(p, "renorm", "p", 2)
    dim = as_int(dim, "renorm", "dim", 3)
    maxnorm = as_number(maxnorm, "renorm", "maxnorm", 4)
    ndim = input._meta.ndim
    check(p > 0, "renorm: non-positive norm not supported")
    check(ndim > 1, f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    check(maxnorm >= 0, f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = wrap_dim(dim, ndim)
    norms = vector_norm(input, p, tuple([d for d in range(ndim) if d != axis]), True)
    factor = (norms > maxnorm).to(norms.dtype)
    scale = factor * (maxnorm / (norms + 1e-7)) + (1 - factor)
    return deliver(presented(input * scale, "RenormBackward0"), out)


class NormMethods:
    """Rows of `Tensor`."""

    norm = norm
    dist = dist
    renorm = takes_numpy_names(renorm)

    def renorm_(self: Any, p: float, dim: int, maxnorm: float) -> Any:
        """Shrink slices along a dimension to a p-norm of at most `maxnorm`."""
        return self.copy_(renorm(self, p, dim, maxnorm))
