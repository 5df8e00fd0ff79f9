"""Which products of matrices run on the kernel of matmul.py: those large enough that packing pays; small ones are
OpenBLAS's, through the operators' bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.engine.backends.cpu.matmul import MatmulPlan, Steps
from pellucid.engine.backends.cpu.registry import kernel
from pellucid.engine.core.data import allocate
from pellucid.engine.core.dtypes import HALF, float32, float64
from pellucid.engine.core.meta import Meta

_ENOUGH = 16_000  # multiplications below which a call of NumPy's is over sooner
_NARROW = 8
_PACKED_SOON = 100_000  # elements
Convert = Callable[[np.ndarray], np.ndarray]


def taken(metas: list[Meta], result: Meta) -> bool:
    """Whether the kernel multiplies these matrices."""
    if result.dtype not in (float32, float64, *HALF) or any(meta.dtype is not result.dtype for meta in metas):
        return False
    (m, k), n = metas[0].shape[-2:], metas[1].shape[-1]
    if n < _NARROW or m < 2 or (m < _NARROW and k * n > _PACKED_SOON):
        return False  # packing an operand would take longer than multiplying with it
    return result.numel * k >= _ENOUGH and result.is_contiguous


def _matrix(meta: Meta) -> tuple[Steps, Convert | None]:
    """The element steps (batch, row, column) in which an operand is read, and what prepares it."""
    rows, columns = meta.shape[-2:]
    if meta.dtype in HALF:
        return (rows * columns, columns, 1), _widened
    *batch, row, column = meta.strides
    if 1 in (row, column, rows, columns):
        return (batch[0] if batch else 0, row, column), None
    return (rows * columns, columns, 1), np.ascontiguousarray


def _widened(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.float32)


def _added(x: Meta, result: Meta) -> tuple[tuple[int, int], Convert | None]:
    """The element steps (batch, row) of what is added, and what prepares it."""
    shape = tuple(result.shape)
    kind = np.float64 if result.dtype is float64 else np.float32
    missing = len(shape) - x.ndim
    sizes, steps = (*[1] * missing, *x.shape), (*[0] * missing, *x.strides)
    if result.dtype not in HALF and sizes[-1] == shape[-1] and steps[-1] == 1:
        batch, row = [0 if n == 1 else step for n, step in zip(((1, *sizes)[-3:-1]), ((0, *steps)[-3:-1]), strict=True)]
        return (batch, row), None

    def prepare(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.broadcast_to(x, shape), dtype=kind)

    return (shape[-2] * shape[-1], shape[-1]), prepare


@kernel("mm", "bmm")
def product(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """A product of matrices, or of two batches of them."""
    return _planned(metas[0], metas[1], None, results[0], 1, 1)


@kernel("addmm", "baddbmm")
def added_product(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
    """beta * x + alpha * product: a linear layer is one, with its bias as x."""
    x = metas[0] if settings["beta"] != 0 else None
    if isinstance(settings["alpha"], complex) or isinstance(settings["beta"], complex):
        return None
    return _planned(metas[1], metas[2], x, results[0], settings["beta"], settings["alpha"], 1)


def _planned(a: Meta, b: Meta, x: Meta | None, result: Meta, beta: float, alpha: float, first: int = 0) -> Any:
    """`first`: the position of the left matrix among the operands."""
    if not taken([a, b, *([] if x is None else [x])], result):
        return None
    left, convert_a = _matrix(a)
    right, convert_b = _matrix(b)
    steps, convert_x = (None, None) if x is None else _added(x, result)
    batch = a.shape[0] if a.ndim == 3 else 1
    sizes = (batch, a.shape[-2], a.shape[-1], b.shape[-1])
    run = MatmulPlan(sizes, 8 if result.dtype is float64 else 4, left, right, steps, beta, alpha).run
    half, shape = result.dtype in HALF, tuple(result.shape)

    def multiply(arrays: list[Any], settings: dict[str, Any]) -> np.ndarray:
        a, b = arrays[first], arrays[first + 1]
        a = a if convert_a is None else convert_a(a)
        b = b if convert_b is None else convert_b(b)
        added = None
        if steps is not None:
            added = arrays[0] if convert_x is None else convert_x(arrays[0])
        out = np.empty(shape, np.float32) if half else allocate(result)
        found = run(out, a, b, added)
        return found.astype(result.dtype.numpy) if half else found

    return multiply
