"""`torch.fft`: discrete Fourier transforms, the frequencies of their results, and shifts of their zero to the middle.

Checking arguments in PyTorch's words and resizing is done here; the transforms are ops/fourier.py's.
"""

from __future__ import annotations

import math
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.device import usable
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check, wrap_dim
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import fourier as ops
from pellucid.engine.ops.arithmetic import conj
from pellucid.engine.ops.memory import cast
from pellucid.engine.ops.padding import constant_pad
from pellucid.engine.tensor.arguments import as_bool, as_int, as_ints, deliver, need_tensor
from pellucid.engine.tensor.joining import roll
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import refuse_pinning, strided

Ints = tuple[int, ...]


def _promoted(input: Any, complex_needed: bool = False) -> Any:
    kind = input._meta.dtype
    wanted = kind if kind.category >= 2 else dtypes.get_default_dtype()
    supported = wanted.is_complex or wanted in (dtypes.float32, dtypes.float64)
    check(supported, f"Unsupported dtype {title(wanted)}: convert to float32 or float64 first")
    if complex_needed:
        wanted = wanted.to_complex()
    return input if wanted is kind else cast(input, dtype=wanted)


def _scale(norm: Any, count: int, forward: bool, function: str) -> float:
    """The factor that `norm` puts on a transform of `count` numbers in all."""
    if norm is not None and not isinstance(norm, str):
        raise TypeError(f"{function}(): argument 'norm' must be str, not {type(norm).__name__}")
    known = norm in (None, "backward", "ortho", "forward")
    check(known, f'Invalid normalization mode: "{norm}"; use "backward", "ortho" or "forward"')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") == forward else 1.0


def _resized(x: Any, dims: Ints, sizes: Ints) -> Any:
    """`x` with these sizes along these axes: cut off, or with zeros at the end."""
    shape = x._meta.shape
    pad = [(0, 0)] * len(shape)
    for axis, size in zip(dims, sizes, strict=True):
        pad[axis] = (0, size - shape[axis])
    return x if not any(after for _, after in pad) else constant_pad(x, pad=tuple(pad), value=0)


def _points(size: int) -> int:
    check(size >= 1, f"Invalid number of data points ({size}) specified: a transform needs at least one")
    return size


def _check_out(out: Any, function: str, complex_wanted: bool) -> None:
    if out is not None:
        kind = need_tensor(out, function, "out")._meta.dtype
        words = "complex" if complex_wanted else "floating point"
        fits = kind.is_complex if complex_wanted else kind.is_floating_point
        check(fits, f"{function} expects a {words} output tensor, but got {title(kind)}")


def _along(input: Any, n: Any, dim: Any, function: str) -> tuple[int, int | None]:
    need_tensor(input, f"fft_{function}")
    axis = wrap_dim(as_int(dim, f"fft_{function}", "dim", 3), input._meta.ndim, scalar_as=0)
    return axis, None if n is None else as_int(n, f"fft_{function}", "n")


def _complex_1d(input: Any, n: Any, dim: Any, norm: Any, out: Any, function: str, forward: bool) -> Any:
    axis, size = _along(input, n, dim, function)
    _check_out(out, function, True)
    x = _promoted(input)
    size = _points(x._meta.shape[axis] if size is None else size)
    scale = _scale(norm, size, forward, f"fft_{function}")
    x = _resized(x, (axis,), (size,))
    if x._meta.dtype.is_complex:
        return deliver(ops.complex_transform(x, axes=(axis,), scale=scale, forward=forward), out)
    half_way = ops.real_transform(x, axes=(axis,), scale=scale, onesided=False)
    return deliver(half_way if forward else conj(half_way), out)


def _real_1d(input: Any, n: Any, dim: Any, norm: Any, out: Any, function: str, forward: bool) -> Any:
    axis, size = _along(input, n, dim, function)
    kind = input._meta.dtype
    check(not kind.is_complex, f"{function} expects a real input tensor, but got {title(kind)}")
    _check_out(out, function, True)
    x = _promoted(input)
    size = _points(x._meta.shape[axis] if size is None else size)
    scale = _scale(norm, size, forward, f"fft_{function}")
    half = ops.real_transform(_resized(x, (axis,), (size,)), axes=(axis,), scale=scale, onesided=True)
    return deliver(half if forward else conj(half), out)


def _hermitian_1d(input: Any, n: Any, dim: Any, norm: Any, out: Any, function: str, forward: bool) -> Any:
    axis, size = _along(input, n, dim, function)
    _check_out(out, function, False)
    x = _promoted(input, complex_needed=True)
    size = _points(2 * (x._meta.shape[axis] - 1) if size is None else size)
    scale = _scale(norm, size, forward, f"fft_{function}")
    x = _resized(x, (axis,), (size // 2 + 1,))
    return deliver(ops.hermitian_transform(conj(x) if forward else x, axes=(axis,), scale=scale, size=size), out)


def _axes(input: Any, s: Any, dim: Any, function: str, last: bool = False) -> tuple[Ints, list[int]]:
    """The axes to transform and their lengths; with `last`, the last one's default is that of a Hermitian signal."""
    shape = input._meta.shape
    dims: Ints | None = None
    if dim is not None:
        dims = tuple([wrap_dim(each, len(shape), scalar_as=0) for each in as_ints(dim, f"fft_{function}", "dim", 3)])
        check(len(set(dims)) == len(dims), "FFT dims must be unique")
    if s is None:
        dims = tuple(range(len(shape))) if dims is None else dims
        sizes = [-1] * len(dims)
    else:
        sizes = list(as_ints(s, f"fft_{function}", "s"))
        check(dims is None or len(sizes) == len(dims), "When given, dim and shape arguments must have the same length")
        check(
            len(sizes) <= len(shape),
            f"Got shape with {len(sizes)} values but input tensor only has {len(shape)} dimensions.",
        )
        dims = tuple(range(len(shape) - len(sizes), len(shape))) if dims is None else dims
    for place, axis in enumerate(dims):
        if sizes[place] == -1:
            sizes[place] = 2 * (shape[axis] - 1) if last and place == len(dims) - 1 else shape[axis]
        _points(sizes[place])
    return dims, sizes


def _complex_nd(input: Any, s: Any, dim: Any, norm: Any, out: Any, function: str, forward: bool) -> Any:
    dims, sizes = _axes(need_tensor(input, f"fft_{function}"), s, dim, function)
    _check_out(out, "fftn", True)
    scale = _scale(norm, math.prod(sizes), forward, f"fft_{function}")
    x = _resized(_promoted(input, complex_needed=True), dims, tuple(sizes))
    return deliver(ops.complex_transform(x, axes=dims, scale=scale, forward=forward), out)


def _real_nd(input: Any, s: Any, dim: Any, norm: Any, out: Any, function: str, forward: bool) -> Any:
    family = "rfftn" if forward else "ihfftn"
    kind = need_tensor(input, f"fft_{function}")._meta.dtype
    if forward:
        check(not kind.is_complex, f"rfftn expects a real-valued input tensor, but got {title(kind)}")
    dims, sizes = _axes(input, s, dim, function)
    check(dims, f"{family} must transform at least one axis")
    check(not kind.is_complex, f"Only supports floating-point dtypes, but found: {title(kind)}")
    _check_out(out, family, True)
    scale = _scale(norm, math.prod(sizes), forward, f"fft_{function}")
    x = _resized(_promoted(input), dims, tuple(sizes))
    if forward:
        return deliver(ops.real_transform(x, axes=dims, scale=scale, onesided=True), out)
    half = conj(ops.real_transform(x, axes=dims[-1:], scale=scale, onesided=True))
    if len(dims) > 1:
        half = ops.complex_transform(half, axes=dims[:-1], scale=1.0, forward=False)
    return deliver(half, out)


def _hermitian_nd(input: Any, s: Any, dim: Any, norm: Any, out: Any, function: str, forward: bool) -> Any:
    family = "hfftn" if forward else "irfftn"
    need_tensor(input, f"fft_{function}")
    dims, sizes = _axes(input, s, dim, function, last=True)
    check(dims, f"{family} must transform at least one axis")
    _check_out(out, family, False)
    x = _promoted(input, complex_needed=True)
    scale = _scale(norm, math.prod(sizes), forward, f"fft_{function}")
    x = _resized(x, dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    return deliver(ops.hermitian_transform(conj(x) if forward else x, axes=dims, scale=scale, size=sizes[-1]), out)


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform X[k] = Σ x[m]·exp(-2πi·km/n) along a dimension, cut or zero-padded to `n` first.

    `norm` divides by n ("forward"), by √n ("ortho") or not at all ("backward"); the default is "backward".

    >>> import pellucid as torch
    >>> torch.fft.fft(torch.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j])
    """
    return _complex_1d(input, n, dim, norm, out, "fft", True)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `fft`: x[m] = 1/n · Σ X[k]·exp(2πi·km/n) along a dimension.

    `norm` divides by n ("backward"), by √n ("ortho") or not at all ("forward"); the default is "backward".

    >>> import pellucid as torch
    >>> torch.fft.ifft(torch.tensor([3.0, -1.0])).real
    tensor([1., 2.])
    """
    return _complex_1d(input, n, dim, norm, out, "ifft", False)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """`fft` of real numbers without the half that mirrors the rest: n//2 + 1 frequencies.

    `norm` divides by n ("forward"), by √n ("ortho") or not at all ("backward"); the default is "backward".

    >>> import pellucid as torch
    >>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0])).real
    tensor([10., -2., -2.])
    """
    return _real_1d(input, n, dim, norm, out, "rfft", True)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `rfft`: `n` real numbers, 2·(size - 1) unless given; an odd length has to be given.

    `norm` divides by n ("backward"), by √n ("ortho") or not at all ("forward"); the default is "backward".

    >>> import pellucid as torch
    >>> torch.fft.irfft(torch.tensor([3.0, -1.0]))
    tensor([1., 2.])
    """
    return _hermitian_1d(input, n, dim, norm, out, "irfft", False)


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """`fft` of a Hermitian signal given by its first half: `n` real numbers, 2·(size - 1) unless given.

    `norm` divides by n ("forward"), by √n ("ortho") or not at all ("backward"); the default is "backward".

    >>> import pellucid as torch
    >>> torch.fft.hfft(torch.tensor([3.0, -1.0]))
    tensor([2., 4.])
    """
    return _hermitian_1d(input, n, dim, norm, out, "hfft", True)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `hfft`: the first n//2 + 1 numbers of a Hermitian signal.

    `norm` divides by n ("backward"), by √n ("ortho") or not at all ("forward"); the default is "backward".

    >>> import pellucid as torch
    >>> torch.fft.ihfft(torch.tensor([2.0, 4.0])).real
    tensor([ 3., -1.])
    """
    return _real_1d(input, n, dim, norm, out, "ihfft", False)


def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform over the last two dimensions, or those of `dim`, each cut or zero-padded to its
    size in `s` first.

    >>> import pellucid as torch
    >>> torch.fft.fft2(torch.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    _check_pair(dim, "fft2")
    return _complex_nd(input, s, dim, norm, out, "fft2", True)


def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `fft2`, over the last two dimensions, or those of `dim`.

    >>> import pellucid as torch
    >>> torch.fft.ifft2(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    _check_pair(dim, "ifft2")
    return _complex_nd(input, s, dim, norm, out, "ifft2", False)


def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`fft2` of real numbers over the last two dimensions, or those of `dim`; of the last one only the first n//2 +
    1 frequencies.

    >>> import pellucid as torch
    >>> torch.fft.rfft2(torch.ones(2, 4)).real
    tensor([[8., 0., 0.],
            [0., 0., 0.]])
    """
    _check_pair(dim, "rfft2")
    return _real_nd(input, s, dim, norm, out, "rfft2", True)


def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `rfft2`, over the last two dimensions, or those of `dim`; the last size is 2·(size - 1) unless
    `s` gives it.

    >>> import pellucid as torch
    >>> torch.fft.irfft2(torch.ones(2, 2))
    tensor([[1., 0.],
            [0., 0.]])
    """
    _check_pair(dim, "irfft2")
    return _hermitian_nd(input, s, dim, norm, out, "irfft2", False)


def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`fft2` of a signal that is Hermitian over the last two dimensions, or those of `dim` and given by the first
    half of the last one: real numbers.

    >>> import pellucid as torch
    >>> torch.fft.hfft2(torch.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    _check_pair(dim, "hfft2")
    return _hermitian_nd(input, s, dim, norm, out, "hfft2", True)


def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `hfft2`, over the last two dimensions, or those of `dim`: the first half of a Hermitian signal.

    >>> import pellucid as torch
    >>> torch.fft.ihfft2(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    _check_pair(dim, "ihfft2")
    return _real_nd(input, s, dim, norm, out, "ihfft2", False)


def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The discrete Fourier transform over all dimensions or those that `dim` or `s` select, each cut or zero-padded
    to its size in `s` first.

    >>> import pellucid as torch
    >>> torch.fft.fftn(torch.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _complex_nd(input, s, dim, norm, out, "fftn", True)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `fftn`, over all dimensions or those that `dim` or `s` select.

    >>> import pellucid as torch
    >>> torch.fft.ifftn(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _complex_nd(input, s, dim, norm, out, "ifftn", False)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """`fftn` of real numbers over all dimensions or those that `dim` or `s` select; of the last one only the first
    n//2 + 1 frequencies.

    >>> import pellucid as torch
    >>> torch.fft.rfftn(torch.ones(2, 4)).real
    tensor([[8., 0., 0.],
            [0., 0., 0.]])
    """
    return _real_nd(input, s, dim, norm, out, "rfftn", True)


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `rfftn`, over all dimensions or those that `dim` or `s` select; the last size is 2·(size - 1)
    unless `s` gives it.

    >>> import pellucid as torch
    >>> torch.fft.irfftn(torch.ones(2, 2))
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _hermitian_nd(input, s, dim, norm, out, "irfftn", False)


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """`fftn` of a signal that is Hermitian over all dimensions or those that `dim` or `s` select and given by the
    first half of the last one: real numbers.

    >>> import pellucid as torch
    >>> torch.fft.hfftn(torch.ones(2, 2))
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _hermitian_nd(input, s, dim, norm, out, "hfftn", True)


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `hfftn`, over all dimensions or those that `dim` or `s` select: the first half of a Hermitian
    signal.

    >>> import pellucid as torch
    >>> torch.fft.ihfftn(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _real_nd(input, s, dim, norm, out, "ihfftn", False)


def _check_pair(dim: Any, function: str) -> None:
    if dim is None:
        raise TypeError(
            f"fft_{function}(): argument 'dim' must be tuple of ints, not NoneType; {function[:-1]}n transforms all"
        )


def _frequencies(
    function: str,
    n: Any,
    d: float,
    out: Any,
    dtype: dtype_type | None,
    layout: layout_type | None,
    device: Any,
    requires_grad: bool,
) -> Any:
    points = as_int(n, f"fft_{function}", "n", 1)
    kind = dtype or (out._meta.dtype if out is not None else dtypes.get_default_dtype())
    check(kind.category >= 2, f"{function} requires a floating point or complex dtype")
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{function} makes strided tensors only, not {layout}; leave layout= away")
    if kind.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{title(kind)}': frequencies are real")
    if function == "fftfreq":
        count, negative = points, points // 2
    else:
        count, negative = int(points / 2) + 1, 0
    check(count >= 0, f"Trying to create tensor with negative dimension {count}: [{count}]")
    scale = 1 / (points * d) if points * d else math.inf
    where = usable(device) if out is None else out._meta.device
    made = ops.frequencies(count=count, negative=negative, scale=scale, dtype=kind, device=where, out=out)
    return made.requires_grad_() if requires_grad else made


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """The frequencies of the results of `fft`: 0, 1, …, -2, -1 over n·d, where `d` is the time between two samples.

    >>> import pellucid as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    as_bool(pin_memory, "fftfreq", "pin_memory")
    as_bool(requires_grad, "fftfreq", "requires_grad")
    refuse_pinning(pin_memory, device)
    return _frequencies("fftfreq", n, d, out, dtype, layout, device, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """The frequencies of the results of `rfft`: 0, 1, …, n//2 over n·d, where `d` is the time between two samples.

    >>> import pellucid as torch
    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    as_bool(pin_memory, "rfftfreq", "pin_memory")
    as_bool(requires_grad, "rfftfreq", "requires_grad")
    refuse_pinning(pin_memory, device)
    return _frequencies("rfftfreq", n, d, out, dtype, layout, device, requires_grad)


def fftshift(input: Any, dim: Any = None) -> Any:
    """Frequencies in rising order: frequency 0 moves from the front to the middle of each dimension.

    >>> import pellucid as torch
    >>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    shape = need_tensor(input, "fft_fftshift")._meta.shape
    dims = tuple(range(len(shape))) if dim is None else as_ints(dim, "fft_fftshift", "dim")
    sizes = [shape[wrap_dim(axis, len(shape))] for axis in dims]
    return roll(input, [size // 2 for size in sizes], dims)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`: frequency 0 moves from the middle to the front of each dimension.

    >>> import pellucid as torch
    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    shape = need_tensor(input, "fft_ifftshift")._meta.shape
    dims = tuple(range(len(shape))) if dim is None else as_ints(dim, "fft_ifftshift", "dim")
    sizes = [shape[wrap_dim(axis, len(shape))] for axis in dims]
    return roll(input, [(size + 1) // 2 for size in sizes], dims)


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
