"""Matrix products. Decompositions are in decompositions.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.plan import number_as
from pellucid.engine.core.promotion import promote_types, title
from pellucid.engine.ops.arithmetic import conjugate, mul
from pellucid.engine.ops.shape import expand, matrix_transpose, transpose, unsqueeze_axes


def _c_name(meta: Meta) -> str:
    names = {
        "Float": "float",
        "Double": "double",
        "Half": "c10::Half",
        "BFloat16": "c10::BFloat16",
        "Long": "long int",
        "Int": "int",
        "Short": "short int",
        "Char": "signed char",
        "Byte": "unsigned char",
        "Bool": "bool",
        "ComplexFloat": "c10::complex<float>",
        "ComplexDouble": "c10::complex<double>",
    }
    return names.get(title(meta.dtype), title(meta.dtype))


def check_same_dtype(a: Meta, b: Meta, complaint: str) -> None:
    """RuntimeError in PyTorch's words when two operands of a contraction differ in dtype."""
    if a.dtype is not b.dtype:
        target = promote_types(a.dtype, b.dtype)
        raise RuntimeError(f"{complaint} (convert one of them, for example with .to({target}))")


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Matrix product; NumPy multiplies bools as truth values, and integers exactly."""
    return np.matmul(a, b)


@op
def mm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of two matrices; a sum over nothing is 0."""
    return _product(a, b)


@mm.meta
def mm_meta(a: Meta, b: Meta) -> Meta:
    check(
        a.ndim == 2, f"self must be a matrix (got {a.ndim}-D: mm takes (n, k) and (k, m); use torch.matmul for batches)"
    )
    check(
        b.ndim == 2, f"mat2 must be a matrix (got {b.ndim}-D: mm takes (n, k) and (k, m); use torch.matmul for batches)"
    )
    check(
        a.shape[1] == b.shape[0],
        f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})",
    )
    check_same_dtype(a, b, f"expected m1 and m2 to have the same dtype, but got: {_c_name(a)} != {_c_name(b)}")
    _refuse_bool("addmm_impl_cpu_", a)
    return Meta.of((a.shape[0], b.shape[1]), a.dtype, a.device)


def _refuse_bool(name: str, a: Meta) -> None:
    check(a.dtype.name != "bool", f"\"{name}\" not implemented for 'Bool'", NotImplementedError)


@mm.vjp("a")
def mm_da(dy: Any, b: Any) -> Any:
    return mm(dy, matrix_transpose(conjugate(b)))


@mm.vjp("b")
def mm_db(dy: Any, a: Any, b_meta: Meta) -> Any:
    return _second_gradient(dy, a, b_meta)


def _second_gradient(dy: Any, a: Any, b_meta: Meta) -> Any:
    """The gradient of the second factor, laid out as the factor is: a transposed weight needs no copy afterwards."""
    if b_meta.strides[0] == 1 and b_meta.strides[1] >= b_meta.shape[0] > 1:
        return matrix_transpose(mm(matrix_transpose(dy), conjugate(a)))
    return mm(matrix_transpose(conjugate(a)), dy)


@op
def addmm(x: np.ndarray, a: np.ndarray, b: np.ndarray, *, beta: float, alpha: float) -> np.ndarray:
    """beta * x + alpha * (a @ b); with beta = 0, x is not read."""
    return _plus_product(x, _product(a, b), beta, alpha)


def _plus_product(x: np.ndarray, product: np.ndarray, beta: float, alpha: float) -> np.ndarray:
    if alpha != 1:
        product = product * number_as(alpha, product.dtype)
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * number_as(beta, x.dtype))


@addmm.meta
def addmm_meta(x: Meta, a: Meta, b: Meta, *, beta: float, alpha: float) -> Meta:
    check(a.ndim == 2, f"mat1 must be a matrix, got {a.ndim}-D tensor")
    check(b.ndim == 2, f"mat2 must be a matrix, got {b.ndim}-D tensor")
    check(
        a.shape[1] == b.shape[0],
        f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})",
    )
    check_same_dtype(a, b, f"mat1 and mat2 must have the same dtype, but got {title(a.dtype)} and {title(b.dtype)}")
    check(x.dtype is a.dtype, f"self and mat2 must have the same dtype, but got {title(x.dtype)} and {title(b.dtype)}")
    _refuse_bool("addmm_impl_cpu_", a)
    shape = (a.shape[0], b.shape[1])
    _check_expands(x, shape)
    return Meta.of(shape, a.dtype, a.device)


def _check_expands(x: Meta, shape: tuple[int, ...]) -> None:
    fits = x.ndim <= len(shape) and all(n in (1, m) for n, m in zip(reversed(x.shape), reversed(shape), strict=False))
    if not fits:
        axis = next(
            (i for i, (n, m) in enumerate(zip(reversed(x.shape), reversed(shape), strict=False)) if n not in (1, m)), 0
        )
        raise RuntimeError(
            f"The expanded size of the tensor ({shape[-1 - axis]}) must match the existing size "
            f"({x.shape[-1 - axis]}) at non-singleton"
            f" dimension {len(shape) - 1 - axis}.  Target sizes: {list(shape)}.  Tensor sizes: {list(x.shape)}"
        )


def _times(dy: Any, factor: float) -> Any:
    return dy if factor == 1 else mul(dy, conjugate(factor))


@addmm.vjp("x")
def addmm_dx(dy: Any, beta: float) -> Any:
    return _times(dy, beta)


@addmm.vjp("a")
def addmm_da(dy: Any, b: Any, alpha: float) -> Any:
    return _times(mm(dy, matrix_transpose(conjugate(b))), alpha)


@addmm.vjp("b")
def addmm_db(dy: Any, a: Any, b_meta: Meta, alpha: float) -> Any:
    return _times(_second_gradient(dy, a, b_meta), alpha)


@op
def bmm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of the matrices of two batches, pair by pair."""
    return _product(a, b)


@bmm.meta
def bmm_meta(a: Meta, b: Meta) -> Meta:
    check(a.ndim == 3, "batch1 must be a 3D tensor")
    check(b.ndim == 3, "batch2 must be a 3D tensor")
    check(
        a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1],
        f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got:"
        f" [{b.shape[0]}, {b.shape[1]}]. (batch1 {list(a.shape)}, batch2 {list(b.shape)})",
    )
    check_same_dtype(a, b, f"expected scalar type {title(a.dtype)} but found {title(b.dtype)}")
    _refuse_bool("bmm", a)
    return Meta.of((a.shape[0], a.shape[1], b.shape[2]), a.dtype, a.device)


@bmm.vjp("a")
def bmm_da(dy: Any, b: Any) -> Any:
    return bmm(dy, transpose(conjugate(b), dim0=1, dim1=2))


@bmm.vjp("b")
def bmm_db(dy: Any, a: Any) -> Any:
    return bmm(transpose(conjugate(a), dim0=1, dim1=2), dy)


@op
def baddbmm(x: np.ndarray, a: np.ndarray, b: np.ndarray, *, beta: float, alpha: float) -> np.ndarray:
    """beta * x + alpha * (a @ b) over batches of matrices; with beta = 0, x is not read."""
    return _plus_product(x, _product(a, b), beta, alpha)


@baddbmm.meta
def baddbmm_meta(x: Meta, a: Meta, b: Meta, *, beta: float, alpha: float) -> Meta:
    result = bmm_meta(a, b)
    check(
        x.dtype is a.dtype,
        f"Input dtypes must be the same, got: input {title(x.dtype)}, batch1: {title(a.dtype)}, batch2: "
        f"{title(b.dtype)}",
    )
    _check_expands(x, result.shape)
    return result


@baddbmm.vjp("x")
def baddbmm_dx(dy: Any, beta: float) -> Any:
    return _times(dy, beta)


@baddbmm.vjp("a")
def baddbmm_da(dy: Any, b: Any, alpha: float) -> Any:
    return _times(bmm(dy, transpose(conjugate(b), dim0=1, dim1=2)), alpha)


@baddbmm.vjp("b")
def baddbmm_db(dy: Any, a: Any, alpha: float) -> Any:
    return _times(bmm(transpose(conjugate(a), dim0=1, dim1=2), dy), alpha)


@op
def mv(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of a matrix and a vector."""
    return np.matmul(a, b)


@mv.meta
def mv_meta(a: Meta, b: Meta) -> Meta:
    check(a.ndim == 2 and b.ndim == 1, f"vector + matrix @ vector expected, got {b.ndim}, {a.ndim}, {b.ndim}")
    check(
        a.shape[1] == b.shape[0],
        f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})",
    )
    kinds = f"{title(b.dtype)}, {title(a.dtype)}, and {title(b.dtype)}"
    check_same_dtype(a, b, f"addmv input tensors must have the same dtype, but got {kinds}")
    return Meta.of((a.shape[0],), a.dtype, a.device)


@mv.vjp("a")
def mv_da(dy: Any, b: Any) -> Any:
    return mul(unsqueeze_axes(dy, axes=(1,)), unsqueeze_axes(conjugate(b), axes=(0,)))


@mv.vjp("b")
def mv_db(dy: Any, a: Any) -> Any:
    return mv(matrix_transpose(conjugate(a)), dy)


@op
def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sum of the products of two vectors' elements."""
    return np.dot(a, b)


@dot.meta
def dot_meta(a: Meta, b: Meta) -> Meta:
    check(a.ndim == 1 and b.ndim == 1, f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    check(
        a.dtype is b.dtype,
        f"dot : expected both vectors to have same dtype, but found {title(a.dtype)} and {title(b.dtype)}",
    )
    check(
        a.shape == b.shape,
        f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same "
        "number of elements, but got"
        f" {a.shape[0]} and {b.shape[0]} elements respectively",
    )
    _refuse_bool("dot", a)
    return Meta.of((), a.dtype, a.device)


@dot.vjp("a")
def dot_da(dy: Any, b: Any) -> Any:
    return mul(expand(dy, size=tuple(b._meta.shape)), conjugate(b))


@dot.vjp("b")
def dot_db(dy: Any, a: Any) -> Any:
    return mul(expand(dy, size=tuple(a._meta.shape)), conjugate(a))
