"""Matrix products and decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import conjugate
from pellucid.engine.ops.shape import transpose


@op
def mm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of two matrices; a sum over nothing is 0."""
    return np.matmul(a, b)


@mm.meta
def mm_meta(a: Meta, b: Meta) -> Meta:
    check(a.ndim == 2, f"self must be a matrix (got {a.ndim}-D: mm takes (n, k) and (k, m); use torch.matmul for batches)")
    check(b.ndim == 2, f"mat2 must be a matrix (got {b.ndim}-D: mm takes (n, k) and (k, m); use torch.matmul for batches)")
    check(
        a.shape[1] == b.shape[0],
        f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})",
    )
    check_same_dtype("mat1", a, "mat2", b)
    return Meta.of((a.shape[0], b.shape[1]), a.dtype, a.device)


def check_same_dtype(first: str, a: Meta, second: str, b: Meta) -> None:
    """RuntimeError in PyTorch's words when two operands of a contraction differ in dtype."""
    check(
        a.dtype is b.dtype,
        f"expected {first} and {second} to have the same dtype, but got: {_c_name(a)} != {_c_name(b)}"
        f" (convert one of them, for example with .to({a.dtype}))",
    )


def _c_name(meta: Meta) -> str:
    return {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long long", "Int": "int"}.get(
        title(meta.dtype), title(meta.dtype)
    )


@mm.vjp("a")
def mm_da(dy: Any, b: Any) -> Any:
    return mm(dy, transpose(conjugate(b), dim0=0, dim1=1))


@mm.vjp("b")
def mm_db(dy: Any, a: Any) -> Any:
    return mm(transpose(conjugate(a), dim0=0, dim1=1), dy)
