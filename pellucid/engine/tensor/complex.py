"""Complex numbers: conjugates, angles, and making them from parts. `real` and `imag` are views in shape.py."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import arithmetic
from pellucid.engine.ops import complex as ops
from pellucid.engine.tensor.arguments import deliver, in_place, need_tensor, unary

angle = unary(
    ops.angle,
    "angle",
    "Angles of complex numbers in (-pi, pi].",
    "torch.angle(torch.tensor([1j, -1.0]))\n    tensor([1.5708, 3.1416])",
)


def conj(input: Any) -> Any:
    """The complex conjugate, computed at once; a real tensor itself.

    >>> import pellucid as torch
    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return arithmetic.conj(input) if need_tensor(input, "conj")._meta.dtype.is_complex else input


def conj_physical(input: Any, *, out: Any = None) -> Any:
    """The complex conjugate in memory of its own; a real tensor itself.

    >>> import pellucid as torch
    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    kind = need_tensor(input, "conj_physical")._meta.dtype
    if out is None and not kind.is_complex:
        return input
    if isinstance(out, InPlace) and kind is dtypes.bool_:
        return deliver(input, out)
    return ops.conj_physical(input, out=out)


def _check_parts(a: Any, b: Any, function: str) -> None:
    first, second = a._meta.dtype, b._meta.dtype
    check(
        all(kind in (dtypes.float16, dtypes.float32, dtypes.float64) for kind in (first, second)),
        f"Expected both inputs to be Half, Float or Double tensors but got {title(first)} and {title(second)}",
    )
    check(
        first is second,
        f"Expected object of scalar type {title(first)} but got scalar type {title(second)} for second argument",
    )
    if first is dtypes.float16:
        raise NotImplementedError(
            f"\"{function}_cpu\" not implemented for 'Half': there is no complex32; convert to float32 first"
        )


def complex(real: Any, imag: Any, *, out: Any = None) -> Any:
    """Complex numbers from their real and imaginary parts, both float32 or both float64.

    >>> import pellucid as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts(need_tensor(real, "complex", "real"), need_tensor(imag, "complex", "imag", 2), "complex")
    return ops.complex_(real, imag, out=_complex_out(out, real))


def polar(abs: Any, angle: Any, *, out: Any = None) -> Any:
    """Complex numbers from their absolute values and angles, both float32 or both float64.

    >>> import pellucid as torch
    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts(need_tensor(abs, "polar", "abs"), need_tensor(angle, "polar", "angle", 2), "polar")
    return ops.polar(abs, angle, out=_complex_out(out, abs))


def _complex_out(out: Any, part: Any) -> Any:
    if out is not None:
        wanted, given = part._meta.dtype.to_complex(), out._meta.dtype
        check(
            given is wanted,
            f"Expected object of scalar type {title(wanted)} but got scalar type {title(given)} for argument 'out'",
        )
    return out


class ComplexMethods:
    """Rows of `Tensor`."""

    angle = angle
    conj = conj
    conj_physical = conj_physical
    conj_physical_ = in_place(conj_physical)
