"""The functions of `torch.fft`. Window functions and short-time transforms are in spectrogram.py."""

from __future__ import annotations

import math
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.device import usable
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import fourier as ops
from pellucid.engine.ops import ranges
from pellucid.engine.ops.arithmetic import conjugate
from pellucid.engine.ops.joining import embed_slice
from pellucid.engine.ops.shape import slice_
from pellucid.engine.tensor.arguments import as_int, as_ints, deliver, need_tensor
from pellucid.engine.tensor.creation import check_layout
from pellucid.engine.tensor.joining import roll
from pellucid.engine.tensor.layout import layout as layout_type

_PRECISE = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def _ready(input: Any, function: str, to_complex: bool = False) -> Any:
    """The operand as floating-point data that a transform takes."""
    kind = need_tensor(input, f"fft_{function}")._meta.dtype
    if kind.category < 2:
        kind = dtypes.get_default_dtype()
    check(
        kind in _PRECISE,
        f"Unsupported dtype {title(kind)} (fft.{function}): convert the tensor first, for example with .float()",
    )
    if to_complex:
        kind = kind.to_complex()
    return input if input._meta.dtype is kind else input.to(kind)


def _scale(norm: str | None, count: int, forward: bool) -> float:
    check(norm in (None, "backward", "ortho", "forward"), f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / math.sqrt(count) if count else 1.0
    divided = norm == "forward" if forward else norm in (None, "backward")
    return 1 / count if divided and count else 1.0


def _resized(x: Any, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """The operand cut, or filled up with zeros, to `sizes` along `dims`."""
    for axis, size in zip(dims, sizes, strict=True):
        have = x._meta.shape[axis]
        if size < have:
            x = slice_(x, dim=axis, start=0, end=size, step=1)
        elif size > have:
            whole = (*x._meta.shape[:axis], size, *x._meta.shape[axis + 1 :])
            x = embed_slice(x, size=whole, dim=axis, start=0, end=have, step=1)
    return x


def _line(x: Any, n: int | None, dim: Any, function: str) -> tuple[tuple[int, ...], int]:
    axis = as_int(dim, f"fft_{function}", "dim", 3)
    check(x._meta.ndim > 0, f"Dimension specified as {axis} but tensor has no dimensions", IndexError)
    axis = wrap_dim(axis, x._meta.ndim)
    return (axis,), x._meta.shape[axis] if n is None else as_int(n, f"fft_{function}", "n")


def _need_points(*sizes: int) -> None:
    for size in sizes:
        check(size >= 1, f"Invalid number of data points ({size}) specified")


def _planes(x: Any, s: Any, dim: Any, function: str) -> tuple[tuple[int, ...], list[int]]:
    """The axes of an n-dimensional transform and the sizes along them."""
    meta = x._meta
    sizes = None if s is None else list(as_ints(s, f"fft_{function}", "s"))
    if dim is None:
        if sizes is None:
            dims = tuple(range(meta.ndim))
        else:
            check(
                len(sizes) <= meta.ndim,
                f"Got shape with {len(sizes)} values but input tensor only has {meta.ndim} dimensions.",
            )
            dims = tuple(range(meta.ndim - len(sizes), meta.ndim))
    else:
        dims = tuple([_axis(d, meta.ndim) for d in as_ints(dim, f"fft_{function}", "dim", 3)])
        check(len(set(dims)) == len(dims), "FFT dims must be unique")
        check(sizes is None or len(sizes) == len(dims), "When given, dim and shape arguments must have the same length")
    if sizes is None:
        return dims, [meta.shape[axis] for axis in dims]
    return dims, [meta.shape[axis] if size == -1 else size for axis, size in zip(dims, sizes, strict=True)]


def _axis(d: int, ndim: int) -> int:
    check(ndim > 0, f"Dimension specified as {d} but tensor has no dimensions", IndexError)
    return wrap_dim(d, ndim)


def _transform(x: Any, dims: tuple[int, ...], sizes: list[int], norm: str | None, forward: bool) -> Any:
    _need_points(*sizes)
    x = _resized(x, dims, tuple(sizes))
    scale = _scale(norm, math.prod(sizes), forward)
    if x._meta.dtype.is_complex:
        return ops.fft_c2c(x, dims=dims, forward=forward, scale=scale)
    if not dims:
        return x.to(x._meta.dtype.to_complex())
    full = ops.fft_r2c(x, dims=dims, onesided=False, scale=scale)
    return full if forward else conjugate(full)


def _half(x: Any, dims: tuple[int, ...], sizes: list[int], norm: str | None, forward: bool, function: str) -> Any:
    check(bool(dims), f"{function} must transform at least one axis")
    _need_points(*sizes)
    x = _resized(x, dims, tuple(sizes))
    return ops.fft_r2c(x, dims=dims, onesided=True, scale=_scale(norm, math.prod(sizes), forward))


def _real(x: Any, dims: tuple[int, ...], sizes: list[int], norm: str | None, forward: bool, function: str) -> Any:
    check(bool(dims), f"{function} must transform at least one axis")
    _need_points(*sizes)
    last = sizes[-1]
    x = _resized(x, dims, (*sizes[:-1], last // 2 + 1))
    return ops.fft_c2r(x, dims=dims, last=last, scale=_scale(norm, math.prod(sizes), forward))


def _need_real(input: Any, function: str, text: str) -> None:
    kind = need_tensor(input, f"fft_{function}")._meta.dtype
    check(not kind.is_complex, text.format(name=function, kind=title(kind)))


_LINE = "{name} expects a real input tensor, but got {kind}"
_PLANES = "{name} expects a real-valued input tensor, but got {kind}"


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """Fourier transform along a dimension, cut or filled with zeros to `n`; "ortho" divides by √n, "forward" by n.

    >>> import pellucid as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    x = _ready(input, "fft")
    dims, size = _line(x, n, dim, "fft")
    return deliver(_transform(x, dims, [size], norm, True), out)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """Inverse of `fft`.

    >>> import pellucid as torch
    >>> torch.fft.ifft(torch.tensor([2.0, 0.0])).real
    tensor([1., 1.])
    """
    x = _ready(input, "ifft")
    dims, size = _line(x, n, dim, "ifft")
    return deliver(_transform(x, dims, [size], norm, False), out)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """Fourier transform of real data: the first n // 2 + 1 values, from which the rest follows.

    >>> import pellucid as torch
    >>> torch.fft.rfft(torch.ones(4)).shape
    torch.Size([3])
    """
    _need_real(input, "rfft", _LINE)
    x = _ready(input, "rfft")
    dims, size = _line(x, n, dim, "rfft")
    return deliver(_half(x, dims, [size], norm, True, "rfft"), out)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """Inverse of `rfft`: real data of size `n` (an even size unless given).

    >>> import pellucid as torch
    >>> torch.fft.irfft(torch.fft.rfft(torch.ones(4)))
    tensor([1., 1., 1., 1.])
    """
    x = _ready(input, "irfft", True)
    dims, size = _line(x, n, dim, "irfft")
    return deliver(_real(x, dims, [2 * (size - 1) if n is None else size], norm, False, "irfft"), out)


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """Fourier transform, which is real, of half of a Hermitian signal.

    >>> import pellucid as torch
    >>> torch.fft.hfft(torch.tensor([1.0, 0.0]))
    tensor([1., 1.])
    """
    x = _ready(input, "hfft", True)
    dims, size = _line(x, n, dim, "hfft")
    return deliver(_real(conjugate(x), dims, [2 * (size - 1) if n is None else size], norm, True, "hfft"), out)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """Inverse of `hfft`: half of a Hermitian signal.

    >>> import pellucid as torch
    >>> torch.fft.ihfft(torch.ones(4)).shape
    torch.Size([3])
    """
    _need_real(input, "ihfft", _LINE)
    x = _ready(input, "ihfft")
    dims, size = _line(x, n, dim, "ihfft")
    return deliver(conjugate(_half(x, dims, [size], norm, False, "ihfft")), out)


def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """Fourier transform along several dimensions (all unless `dim` or `s` says otherwise), cut or filled to sizes `s`.

    >>> import pellucid as torch
    >>> torch.fft.fftn(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    x = _ready(input, "fftn")
    dims, sizes = _planes(x, s, dim, "fftn")
    return deliver(_transform(x, dims, sizes, norm, True), out)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """Inverse of `fftn`.

    >>> import pellucid as torch
    >>> torch.fft.ifftn(torch.fft.fftn(torch.ones(2, 2))).real
    tensor([[1., 1.],
            [1., 1.]])
    """
    x = _ready(input, "ifftn")
    dims, sizes = _planes(x, s, dim, "ifftn")
    return deliver(_transform(x, dims, sizes, norm, False), out)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """Fourier transform of real data along several dimensions, the last of which is halved.

    >>> import pellucid as torch
    >>> torch.fft.rfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    _need_real(input, "rfftn", _PLANES)
    x = _ready(input, "rfftn")
    dims, sizes = _planes(x, s, dim, "rfftn")
    return deliver(_half(x, dims, sizes, norm, True, "rfftn"), out)


def _doubled(x: Any, s: Any, dims: tuple[int, ...], sizes: list[int], function: str) -> list[int]:
    """The sizes of a real result: the last is given, or twice its half."""
    check(bool(dims), f"{function} must transform at least one axis")
    if s is None or as_ints(s, function, "s")[-1] == -1:
        return [*sizes[:-1], 2 * (x._meta.shape[dims[-1]] - 1)]
    return sizes


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """Inverse of `rfftn`: real data.

    >>> import pellucid as torch
    >>> torch.fft.irfftn(torch.fft.rfftn(torch.ones(2, 2)))
    tensor([[1., 1.],
            [1., 1.]])
    """
    x = _ready(input, "irfftn", True)
    dims, sizes = _planes(x, s, dim, "irfftn")
    return deliver(_real(x, dims, _doubled(x, s, dims, sizes, "irfftn"), norm, False, "irfftn"), out)


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """Fourier transform, which is real, along several dimensions of half of a Hermitian signal.

    >>> import pellucid as torch
    >>> torch.fft.hfftn(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    x = _ready(input, "hfftn", True)
    dims, sizes = _planes(x, s, dim, "hfftn")
    return deliver(_real(conjugate(x), dims, _doubled(x, s, dims, sizes, "hfftn"), norm, True, "hfftn"), out)


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """Inverse of `hfftn`: half of a Hermitian signal.

    >>> import pellucid as torch
    >>> torch.fft.ihfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    _need_real(input, "ihfftn", "Only supports floating-point dtypes, but found: {kind}")
    x = _ready(input, "ihfftn")
    dims, sizes = _planes(x, s, dim, "ihfftn")
    return deliver(conjugate(_half(x, dims, sizes, norm, False, "ihfftn")), out)


def _in_two(of_n: Any, name: str, summary: str) -> Any:
    def function(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
        return of_n(input, s, dim, norm, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary} along the last two dimensions.\n\n    >>> import pellucid as torch\n"
        f"    >>> torch.fft.{name}(torch.ones(3, 2, 2)).shape\n    torch.Size([3, 2, 2])\n    "
    )
    return function


fft2 = _in_two(fftn, "fft2", "Fourier transform")
ifft2 = _in_two(ifftn, "ifft2", "Inverse Fourier transform")
rfft2 = _in_two(rfftn, "rfft2", "Fourier transform of real data")
irfft2 = _in_two(irfftn, "irfft2", "Inverse Fourier transform to real data")
hfft2 = _in_two(hfftn, "hfft2", "Fourier transform of half of a Hermitian signal")
ihfft2 = _in_two(ihfftn, "ihfft2", "Inverse of hfft2")


def _frequencies(name: str, n: Any, count: int, start: int, d: float, out: Any, options: tuple[Any, ...]) -> Any:
    dtype, layout, device, requires_grad = options
    check_layout(layout)
    kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
    check(kind.category >= 2, f"{name} requires a floating point or complex dtype")
    made = ranges.arange(start=start, step=1, count=count, dtype=kind, device=usable(device))
    if name == "fftfreq":
        made = roll(made, start, 0) if n else made
    made = deliver(made * (1.0 / (n * d)) if n else made, out)
    return made.requires_grad_() if requires_grad else made


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The frequencies of the values of `fft` for samples `d` apart: from 0 up, then the negative ones.

    >>> import pellucid as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    size = as_int(n, "fft_fftfreq", "n", 1)
    return _frequencies("fftfreq", size, size, -(size // 2), d, out, (dtype, layout, device, requires_grad))


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The frequencies of the values of `rfft` for samples `d` apart.

    >>> import pellucid as torch
    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    size = as_int(n, "fft_rfftfreq", "n", 1)
    return _frequencies("rfftfreq", size, size // 2 + 1, 0, d, out, (dtype, layout, device, requires_grad))


def _all_dims(input: Any, dim: Any) -> tuple[int, ...]:
    ndim = need_tensor(input, "fft_fftshift")._meta.ndim
    return (
        tuple(range(ndim)) if dim is None else tuple([wrap_dim(d, ndim) for d in as_ints(dim, "fft_fftshift", "dim")])
    )


def fftshift(input: Any, dim: Any = None) -> Any:
    """The frequencies of `fft` in ascending order: 0 in the middle.

    >>> import pellucid as torch
    >>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    dims = _all_dims(input, dim)
    return roll(input, tuple([input._meta.shape[d] // 2 for d in dims]), dims) if dims else input.clone()


def ifftshift(input: Any, dim: Any = None) -> Any:
    """Inverse of `fftshift`.

    >>> import pellucid as torch
    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    dims = _all_dims(input, dim)
    return roll(input, tuple([(input._meta.shape[d] + 1) // 2 for d in dims]), dims) if dims else input.clone()
