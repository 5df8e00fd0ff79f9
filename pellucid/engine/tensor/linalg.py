"""Matrix products: matmul and the functions it is made of."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import broadcast_shapes
from pellucid.engine.core.promotion import promote_types, title
from pellucid.engine.ops import linalg as ops
from pellucid.engine.ops import shape
from pellucid.engine.tensor.arguments import as_number, deliver, fitting, in_place, need_tensor, presented
from pellucid.engine.tensor.overrides import infix_with


def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Product of two matrices.

    >>> import pellucid as torch
    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    return ops.mm(need_tensor(input, "mm"), need_tensor(mat2, "mm", "mat2", 2), out=out)


def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Products of the matrices of two batches.

    >>> import pellucid as torch
    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).shape
    torch.Size([2, 1, 1])
    """
    return ops.bmm(need_tensor(input, "bmm"), need_tensor(mat2, "bmm", "mat2", 2), out=out)


def _factor(value: Any, input: Any) -> Any:
    return fitting(value.item() if isinstance(value, TensorData) else value, input._meta.dtype)


def _combined(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; the factors of integers lose their fractions, as in PyTorch."""
    beta, alpha = _factor(beta, input), _factor(alpha, product)
    if input._meta.dtype.category <= 1 and product._meta.dtype.category <= 1:
        beta, alpha = int(beta), int(alpha)
    scaled = product if alpha == 1 else product * alpha
    return scaled if beta == 0 else (input if beta == 1 else input * beta) + scaled


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`.

    >>> import pellucid as torch
    >>> torch.addmm(torch.ones(1), torch.ones(1, 2), torch.ones(2, 1))
    tensor([[3.]])
    """
    need_tensor(mat1, "addmm", "mat1", 2)
    need_tensor(mat2, "addmm", "mat2", 3)
    beta = as_number(beta, "addmm", "beta")
    alpha = as_number(alpha, "addmm", "alpha")
    need_tensor(input, "addmm")
    return ops.addmm(input, mat1, mat2, beta=_factor(beta, input), alpha=_factor(alpha, input), out=out)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (batch1 @ batch2)` over batches of matrices.

    >>> import pellucid as torch
    >>> torch.baddbmm(torch.ones(1), torch.ones(1, 1, 2), torch.ones(1, 2, 1))
    tensor([[[3.]]])
    """
    need_tensor(batch1, "baddbmm", "batch1", 2)
    need_tensor(batch2, "baddbmm", "batch2", 3)
    beta = as_number(beta, "baddbmm", "beta")
    alpha = as_number(alpha, "baddbmm", "alpha")
    need_tensor(input, "baddbmm")
    return ops.baddbmm(input, batch1, batch2, beta=_factor(beta, input), alpha=_factor(alpha, input), out=out)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (sum over the batch of batch1 @ batch2)`.

    >>> import pellucid as torch
    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
    tensor([[6.]])
    """
    need_tensor(input, "addbmm")
    need_tensor(batch1, "addbmm", "batch1", 2)
    need_tensor(batch2, "addbmm", "batch2", 3)
    beta = as_number(beta, "addbmm", "beta")
    alpha = as_number(alpha, "addbmm", "alpha")
    product = ops.bmm(batch1, batch2).sum(0, dtype=batch1._meta.dtype)
    return deliver(presented(_combined(input, product, beta, alpha), "AddbmmBackward0"), out)


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """Product of a matrix and a vector.

    >>> import pellucid as torch
    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    return ops.mv(need_tensor(input, "mv"), need_tensor(vec, "mv", "vec", 2), out=out)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat @ vec)`.

    >>> import pellucid as torch
    >>> torch.addmv(torch.ones(2), torch.ones(2, 3), torch.ones(3))
    tensor([4., 4.])
    """
    need_tensor(mat, "addmv", "mat", 2)
    need_tensor(vec, "addmv", "vec", 3)
    beta = as_number(beta, "addmv", "beta")
    alpha = as_number(alpha, "addmv", "alpha")
    result = _combined(need_tensor(input, "addmv"), ops.mv(mat, vec), beta, alpha)
    return deliver(presented(result, "AddmvBackward0"), out)


def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """Sum of the products of two vectors' elements.

    >>> import pellucid as torch
    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    return ops.dot(need_tensor(input, "dot"), need_tensor(tensor, "dot", "tensor", 2), out=out)


def vdot(input: Any, other: Any, *, out: Any = None) -> Any:
    """Like `dot`, with the first vector conjugated.

    >>> import pellucid as torch
    >>> torch.vdot(torch.tensor([1j]), torch.tensor([1j]))
    tensor(1.+0.j)
    """
    need_tensor(input, "vdot")
    need_tensor(other, "vdot", "other", 2)
    from pellucid.engine.ops.arithmetic import conjugate

    return deliver(presented(ops.dot(conjugate(input), other), "VdotBackward0"), out)


def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """All products of an element of one vector with one of the other.

    >>> import pellucid as torch
    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    need_tensor(input, "outer")
    need_tensor(vec2, "outer", "vec2", 2)
    check(input._meta.ndim == 1, f"outer: Expected 1-D argument self, but got {input._meta.ndim}-D")
    check(vec2._meta.ndim == 1, f"outer: Expected 1-D argument vec2, but got {vec2._meta.ndim}-D")
    return deliver(input.unsqueeze(1) * vec2.unsqueeze(0), out)


ger = outer


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`.

    >>> import pellucid as torch
    >>> torch.addr(torch.ones(1, 1), torch.tensor([2.0]), torch.tensor([3.0]))
    tensor([[7.]])
    """
    need_tensor(vec1, "addr", "vec1", 2)
    need_tensor(vec2, "addr", "vec2", 3)
    beta = as_number(beta, "addr", "beta")
    alpha = as_number(alpha, "addr", "alpha")
    product = outer(vec1, vec2)
    kind = promote_types(need_tensor(input, "addr")._meta.dtype, product._meta.dtype)
    for name, each in (("beta", beta), ("alpha", alpha)):
        check(
            not isinstance(each, bool) or kind.category == 0,
            f"Boolean {name} only supported for Boolean results. Here {name} is {each} and the result {title(kind)}",
        )
        check(
            not isinstance(each, float) or kind.category >= 2,
            f"For integral input tensors, argument {name} must not be a floating point number. It is {each}",
        )
    if kind.category == 0:
        scaled = product & bool(alpha)
        result = scaled if not beta else input | scaled
    else:
        result = _combined(input, product, beta, alpha)
    return deliver(presented(result, "AddrBackward0"), out)


def _fold(a: Any, b: Any) -> Any:
    """A stack of matrices (or more) times one matrix, as one product of matrices."""
    lead = tuple(a._meta.shape[:-1])
    rows = 1
    for size in lead:
        rows *= size
    product = ops.mm(shape.reshape_to(a, (rows, a._meta.shape[-1])), b)
    return shape.unsafe_view(product, size=(*lead, b._meta.shape[-1]))


def _batched(a: Any, b: Any) -> Any:
    lead = broadcast_shapes(a._meta.shape[:-2], b._meta.shape[:-2])
    n, k = a._meta.shape[-2:]
    k2, m = b._meta.shape[-2:]
    count = 1
    for size in lead:
        count *= size
    left = shape.reshape_to(shape.expand(a, size=(*lead, n, k)), (count, n, k))
    right = shape.reshape_to(shape.expand(b, size=(*lead, k2, m)), (count, k2, m))
    return shape.unsafe_view(ops.bmm(left, right), size=(*lead, n, m))


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product over the last two dimensions, the others broadcast; a vector is a row on the left, a column on the
    right.

    >>> import pellucid as torch
    >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3)).shape
    torch.Size([5, 2])
    """
    need_tensor(input, "matmul")
    need_tensor(other, "matmul", "other", 2)
    return deliver(_matmul(input, other), out)


def _squeezed(product: Any, axis: int, node: str) -> Any:
    return presented(shape.squeeze_axis(product, axis=axis), node)


def _matmul(a: Any, b: Any) -> Any:
    left, right = a._meta.ndim, b._meta.ndim
    if left == 2 and right == 2:
        return ops.mm(a, b)
    check(
        left and right,
        f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D",
    )
    if left == 1 and right == 1:
        return ops.dot(a, b)
    if left == 2 and right == 1:
        return ops.mv(a, b)
    if left == 1 and right == 2:
        return _squeezed(ops.mm(shape.unsqueeze_axes(a, axes=(0,)), b), 0, "SqueezeBackward4")
    if right == 1:
        return _squeezed(_fold(a, shape.unsqueeze_axes(b, axes=(1,))), left - 1, "UnsafeViewBackward0")
    if left == 1:
        return _squeezed(_batched(shape.unsqueeze_axes(a, axes=(0,)), b), right - 2, "UnsafeViewBackward0")
    if right == 2:
        return _fold(a, b)
    return _batched(a, b)


class MatrixProductMethods:
    """Rows of `Tensor`."""

    mm = mm
    bmm = bmm
    addmm = addmm
    addmm_ = in_place(addmm)
    baddbmm = baddbmm
    baddbmm_ = in_place(baddbmm)
    addbmm = addbmm
    addbmm_ = in_place(addbmm)
    mv = mv
    addmv = addmv
    addmv_ = in_place(addmv)
    dot = dot
    vdot = vdot
    outer = outer
    ger = outer
    addr = addr
    addr_ = in_place(addr)
    matmul = matmul

    def __matmul__(self: Any, other: Any) -> Any:
        return matmul(self, other) if isinstance(other, TensorData) else infix_with(self, other, "__matmul__")

    def __rmatmul__(self: Any, other: Any) -> Any:
        return matmul(other, self) if isinstance(other, TensorData) else infix_with(self, other, "__rmatmul__")
