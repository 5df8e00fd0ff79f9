"""Products that sum over chosen dimensions: tensordot, inner, kron, chains of matrices, cross products, distances."""

from __future__ import annotations

import math
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.core.meta import broadcast_shapes
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import contraction as ops
from pellucid.engine.ops.arithmetic import conjugate
from pellucid.engine.ops.linalg import mm
from pellucid.engine.ops.shape import permute, reshape_to, unsafe_view
from pellucid.engine.tensor.arguments import as_float, as_int, as_ints, deliver, need_tensor, need_tensors
from pellucid.engine.tensor.linalg import vdot
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def _contracted(a: Any, b: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(dims, TensorData):
        dims = dims.tolist() if dims._meta.numel > 1 else int(dims.item())
    if isinstance(dims, int):
        check(dims >= 0, f"tensordot expects dims >= 0, but got dims={dims}")
        check(
            dims <= min(a._meta.ndim, b._meta.ndim),
            f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}",
        )
        return tuple(range(-dims, 0)), tuple(range(dims))
    first, second = dims
    return as_ints(first, "tensordot", "dims"), as_ints(second, "tensordot", "dims")


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Product summed over the last `dims` dimensions of `a` and the first of `b`, or over a pair of lists of
    dimensions.

    >>> import pellucid as torch
    >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    torch.Size([2, 5])
    """
    need_tensor(a, "tensordot", "a")
    need_tensor(b, "tensordot", "b", 2)
    first, second = _contracted(a, b, dims)
    check(len(first) == len(second), "both dimension lists should have same length")
    check(
        a._meta.dtype is b._meta.dtype,
        f"both inputs should have same dtype, but got {title(a._meta.dtype)} and {title(b._meta.dtype)}",
    )
    left = [wrap_dim(d, a._meta.ndim) for d in first]
    right = [wrap_dim(d, b._meta.ndim) for d in second]
    inner = 1
    for position, (i, j) in enumerate(zip(left, right, strict=True)):
        m, n = a._meta.shape[i], b._meta.shape[j]
        if m != n:
            check(
                1 in (m, n),
                f"contracted dimensions need to match, but first has size {m} in dim {first[position]} and "
                f"second has size {n} in dim"
                f" {second[position]}",
            )
            kind = a._meta.dtype
            a, b = (a.sum(i, keepdim=True, dtype=kind), b) if n == 1 else (a, b.sum(j, keepdim=True, dtype=kind))
        inner *= a._meta.shape[i]
    return deliver(_as_matrices(a, b, left, right, inner), out)


def _as_matrices(a: Any, b: Any, left: list[int], right: list[int], inner: int) -> Any:
    rows = [d for d in range(a._meta.ndim) if d not in left]
    columns = [d for d in range(b._meta.ndim) if d not in right]
    row_sizes = tuple([a._meta.shape[d] for d in rows])
    column_sizes = tuple([b._meta.shape[d] for d in columns])
    first = reshape_to(permute(a, dims=(*rows, *left)), (math.prod(row_sizes), inner))
    second = reshape_to(permute(b, dims=(*right, *columns)), (inner, math.prod(column_sizes)))
    return reshape_to(mm(first, second), (*row_sizes, *column_sizes))


def inner(input: Any, other: Any, *, out: Any = None) -> Any:
    """Sums of products along the last dimension of both; a number multiplies.

    >>> import pellucid as torch
    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    a, b = need_tensor(input, "inner")._meta, need_tensor(other, "inner", "other", 2)._meta
    if not a.ndim or not b.ndim:
        return deliver(input * other, out)
    check(
        a.shape[-1] == b.shape[-1],
        f"inner() the last dimension must match on both input tensors but got shapes {list(a.shape)} and "
        f"{list(b.shape)}",
    )
    if a.ndim == 1 and b.ndim == 1:
        return deliver(input.dot(other), out)
    return tensordot(input, other, ([-1], [-1]), out=out)


def kron(input: Any, other: Any, *, out: Any = None) -> Any:
    """Kronecker product: every element of `input` times all of `other`, block by block.

    >>> import pellucid as torch
    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2, 3]))
    tensor([ 1,  2,  3, 10, 20, 30])
    """
    need_tensor(input, "kron")
    need_tensor(other, "kron", "other", 2)
    ndim = max(input._meta.ndim, other._meta.ndim)
    a_shape = (1,) * (ndim - input._meta.ndim) + tuple(input._meta.shape)
    b_shape = (1,) * (ndim - other._meta.ndim) + tuple(other._meta.shape)
    left = reshape_to(input, tuple([size for pair in zip(a_shape, (1,) * ndim, strict=True) for size in pair]))
    right = reshape_to(other, tuple([size for pair in zip((1,) * ndim, b_shape, strict=True) for size in pair]))
    size = tuple([m * n for m, n in zip(a_shape, b_shape, strict=True)])
    return deliver(unsafe_view((left * right).contiguous(), size=size), out)


def _best_split(sizes: list[int]) -> list[list[int]]:
    """For every stretch of matrices, after which one to split it for the fewest multiplications (Cormen et al., section
    15.2).
    """
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(options)
            split[i][j] = i + options.index(cost[i][j])
    return split


def _product_of(matrices: list[Any], split: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return matrices[i]
    k = split[i][j]
    return mm(_product_of(matrices, split, i, k), _product_of(matrices, split, k + 1, j))


def multi_dot(tensors: Any, *, out: Any = None) -> Any:
    """Product of two or more matrices in the order that takes the fewest multiplications; the ends may be vectors.

    >>> import pellucid as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    if isinstance(tensors, TensorData):
        raise TypeError("linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    matrices = need_tensors((list(tensors),), "linalg_multi_dot")
    n = len(matrices)
    check(n >= 2, f"multi_dot(): expected at least 2 tensors but got {n}")
    row = matrices[0]._meta.ndim == 1
    column = matrices[-1]._meta.ndim == 1
    for position in (0, n - 1):
        ndim = matrices[position]._meta.ndim
        which = "first" if position == 0 else "last"
        check(ndim in (1, 2), f"multi_dot(): the {which} tensor must be 1D or 2D but got {ndim}D")
    matrices[0] = matrices[0].unsqueeze(0) if row else matrices[0]
    matrices[-1] = matrices[-1].unsqueeze(-1) if column else matrices[-1]
    for position, each in enumerate(matrices):
        check(each._meta.ndim == 2, f"multi_dot(): tensor {position} must be 2D but got {each._meta.ndim}D")
        check(
            each._meta.dtype is matrices[0]._meta.dtype,
            "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
            f"{title(matrices[0]._meta.dtype)} and tensor {position} {title(each._meta.dtype)}",
        )
        if position:
            last = matrices[position - 1]._meta.shape
            check(
                last[1] == each._meta.shape[0],
                f"multi_dot(): tensors {position - 1} and {position} with shapes {list(last)} and "
                f"{list(each._meta.shape)} cannot be"
                " multiplied",
            )
    sizes = [each._meta.shape[0] for each in matrices] + [matrices[-1]._meta.shape[1]]
    product = _product_of(matrices, _best_split(sizes), 0, n - 1)
    product = product.squeeze(0) if row else product
    return deliver(product.squeeze(-1) if column else product, out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Product of matrices; deprecated name of `linalg.multi_dot`.

    >>> import pellucid as torch
    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    several = need_tensors(matrices, "chain_matmul")
    check(len(several) > 0, "chain_matmul(): Expected one or more matrices")
    for position, each in enumerate(several):
        check(
            each._meta.ndim == 2,
            f"Tensor {each._meta.ndim}D is not a matrix: chain_matmul takes 2D tensors, and number {position} is not",
        )
    return deliver(several[0].clone(), out) if len(several) == 1 else multi_dot(several, out=out)


def linalg_cross(input: Any, other: Any, *, dim: int = -1, out: Any = None) -> Any:
    """Vector product of 3-vectors along a dimension; the others broadcast.

    >>> import pellucid as torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    a, b = need_tensor(input, "linalg_cross", "self")._meta, need_tensor(other, "linalg_cross", "other", 2)._meta
    check(a.ndim == b.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, a.ndim)
    check(
        a.ndim and a.shape[axis] == 3 and b.shape[axis] == 3,
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[axis] if a.ndim else 1} and "
        f"{b.shape[axis] if b.ndim else 1}",
    )
    broadcast_shapes(a.shape, b.shape)
    return ops.cross(input, other, dim=axis - a.ndim, out=out)


def cross(input: Any, other: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """Vector product of 3-vectors along `dim`, or along the first dimension of size 3.

    >>> import pellucid as torch
    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    if dim is not None:
        dim = as_int(dim, "cross", "dim", 3)
    if dim is None:
        shape = need_tensor(input, "cross")._meta.shape
        check(3 in shape, "no dimension of size 3 in input")
        dim = shape.index(3)
    return linalg_cross(input, other, dim=dim, out=out)


def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Any:
    """Sums of conj(x) * y along a dimension; the others broadcast.

    >>> import pellucid as torch
    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    dim = as_int(dim, "vecdot", "dim", 0)
    for each in (x, y):
        kind = need_tensor(each, "linalg_vecdot", "x")._meta.dtype
        check(
            kind.category >= 2,
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {title(kind)}",
        )
    check(
        x._meta.dtype is y._meta.dtype,
        f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {title(x._meta.dtype)} "
        "and y of type"
        f" {title(y._meta.dtype)} instead",
    )
    if x._meta.ndim == 1 and y._meta.ndim == 1:
        return vdot(x, y, out=out)
    return deliver((conjugate(x) * y).sum(dim), out)


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The p-norm distance between every row of `x1` and every row of `x2`; its gradient between equal rows is 0.

    >>> import pellucid as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    p = as_float(p, "cdist", "p", 3)
    check(compute_mode in _MODES, f"{compute_mode} is not a valid value for compute_mode", ValueError)
    for name, each in (("X1", x1), ("X2", x2)):
        meta = need_tensor(each, "cdist", name.lower())._meta
        check(meta.dtype.category == 2, f"cdist only supports floating-point dtypes, {name} got: {title(meta.dtype)}")
        check(meta.ndim >= 2, f"cdist only supports at least 2D tensors, {name} got: {meta.ndim}D")
    a, b = x1._meta, x2._meta
    check(
        a.shape[-1] == b.shape[-1],
        f"X1 and X2 must have the same number of columns. X1: {a.shape[-1]} X2: {b.shape[-1]}",
    )
    check(p >= 0, "cdist only supports non-negative p values")
    check(
        a.dtype is b.dtype, f"expected X1 and X2 to have the same dtype, but got {title(a.dtype)} and {title(b.dtype)}"
    )
    large = a.shape[-2] > 25 or b.shape[-2] > 25
    by_products = p == 2 and (compute_mode == _MODES[1] or (compute_mode == _MODES[0] and large))
    return ops.cdist(x1, x2, p=float(p), by_products=by_products)


def trace(input: Any) -> Any:
    """Sum of a matrix's diagonal.

    >>> import pellucid as torch
    >>> torch.trace(torch.eye(3))
    tensor(3.)
    """
    return ops.trace(need_tensor(input, "trace"))


def matrix_power(A: Any, n: int, *, out: Any = None) -> Any:
    """The n-th power of square matrices by repeated squaring; of the inverse for negative n.

    >>> import pellucid as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    meta = need_tensor(A, "linalg_matrix_power", "self")._meta
    exponent = as_int(n, "linalg_matrix_power", "n")
    check(meta.ndim >= 2, "linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    check(
        meta.shape[-1] == meta.shape[-2],
        f"linalg.matrix_power: A must be batches of square matrices, but they are {meta.shape[-2]} by "
        f"{meta.shape[-1]} matrices",
    )
    if exponent < 0:
        from pellucid.engine.tensor.solvers import inv

        return matrix_power(inv(A), -exponent, out=out)
    if exponent == 0:
        from pellucid.engine.tensor.ranges import eye

        identity = eye(meta.shape[-1], dtype=meta.dtype, device=meta.device)
        return deliver(A.clone().copy_(identity), out)
    result, square = None, A
    while True:
        if exponent & 1:
            result = square if result is None else result @ square
        exponent >>= 1
        if not exponent:
            return deliver(result.clone() if result is A else result, out)
        square = square @ square


class ContractionMethods:
    """Rows of `Tensor`."""

    inner = inner
    kron = kron
    cross = takes_numpy_names(cross)
    trace = trace
    matrix_power = matrix_power
