"""`torch.signal.windows`: tapering weights for pieces of a signal.

All take the length `M`, `sym` (True: symmetric, for filters; False: one period of a periodic window, for spectra), and
the options of a factory; float32 and float64 only. Formulas: Harris 1978, "On the use of windows for harmonic analysis
with the discrete Fourier transform", Proc. IEEE 66.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pellucid
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.tensor.layout import layout as layout_type

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


class _Grid:
    """Where a window is evaluated: its length and the options of the tensor."""

    def __init__(self, name: str, length: int, sym: bool, dtype: Any, layout: Any, device: Any, grad: bool) -> None:
        kind = pellucid.get_default_dtype() if dtype is None else dtype
        if length < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={length}")
        if layout is not pellucid.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if kind not in (pellucid.float32, pellucid.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
        self.length = length
        self.period = length - 1 if sym else length  # steps from one end to where the window repeats
        self.place = {"dtype": kind, "device": device}
        self.options = {**self.place, "requires_grad": grad}

    def of_one(self) -> Any:
        """The window of length 0 or 1, None of others: for formulas that divide by their length."""
        return None if self.length > 1 else pellucid.ones(self.length, **self.options)

    def spaced(self, start: float, step: float) -> Any:
        """`length` numbers from `start`, `step` apart."""
        return pellucid.linspace(start, start + (self.length - 1) * step, self.length, **self.options)

    def scaled(self, start: float, factor: float) -> Any:
        """The numbers from `start`, 1 apart, times a factor."""
        end = start + (self.length - 1)
        return pellucid.linspace(start * factor, end * factor, self.length, **self.options)

    def centre(self) -> float:
        """The middle; of a periodic window, that of one element more."""
        return max(self.period, self.length - 1, 0) / 2.0 if self.length > 1 else 0.0


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype_type | None = None,  # noqa: N803
    layout: layout_type = pellucid.strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """exp(-|n - center| / tau); the centre is the middle unless a periodic window names another.

    >>> import pellucid as torch
    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    grid = _Grid("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return grid.of_one()
    middle = grid.centre() if center is None else center
    return pellucid.exp(-pellucid.abs(grid.scaled(-middle, 1 / tau)))


def cosine(
    M: int, *, sym: bool = True, dtype: dtype_type | None = None, layout: layout_type = pellucid.strided,  # noqa: N803
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Half a wave: sin(pi (n + 1/2) / M).

    >>> import pellucid as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    grid = _Grid("cosine", M, sym, dtype, layout, device, requires_grad)
    if M == 0:
        return grid.of_one()
    return pellucid.sin(grid.scaled(0.5, math.pi / (M if sym or M == 1 else M + 1)))


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype_type | None = None,  # noqa: N803
    layout: layout_type = pellucid.strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The bell curve exp(-((n - middle) / std)**2 / 2).

    >>> import pellucid as torch
    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    grid = _Grid("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return grid.of_one()
    return pellucid.exp(-(grid.scaled(-grid.centre(), 1 / (std * math.sqrt(2))) ** 2))


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype_type | None = None,  # noqa: N803
    layout: layout_type = pellucid.strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """I0(beta * sqrt(1 - x**2)) / I0(beta), x from -1 to 1: close to the most energy in the main lobe (Kaiser 1974).

    >>> import pellucid as torch
    >>> torch.signal.windows.kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    grid = _Grid("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return grid.of_one()
    # In the window's own type from the start, so that rounding never leaves a negative number under the root.
    rounded = pellucid.tensor(beta, **grid.place)
    step = 2.0 * rounded / grid.period
    end = pellucid.minimum(rounded, -rounded + (M - 1) * step)
    k = pellucid.linspace(-rounded, end, M, **grid.options)
    return pellucid.i0(pellucid.sqrt(rounded * rounded - pellucid.pow(k, 2))) / pellucid.i0(rounded)


def hamming(
    M: int, *, sym: bool = True, dtype: dtype_type | None = None, layout: layout_type = pellucid.strided,  # noqa: N803
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """0.54 - 0.46 cos(2 pi n / (M - 1)).

    >>> import pellucid as torch
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: dtype_type | None = None, layout: layout_type = pellucid.strided,  # noqa: N803
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """1/2 - 1/2 cos(2 pi n / (M - 1)).

    >>> import pellucid as torch
    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int, *, sym: bool = True, dtype: dtype_type | None = None, layout: layout_type = pellucid.strided,  # noqa: N803
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The sum of three cosines with coefficients 0.42, 0.5 and 0.08.

    >>> import pellucid as torch
    >>> torch.signal.windows.blackman(3).round(decimals=4).abs()
    tensor([0., 1., 0.])
    """
    parts = [0.42, 0.5, 0.08]
    return general_cosine(M, a=parts, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: dtype_type | None = None, layout: layout_type = pellucid.strided,  # noqa: N803
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The triangle 1 - |2 n / (M - 1) - 1|, 0 at both ends.

    >>> import pellucid as torch
    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    grid = _Grid("bartlett", M, sym, dtype, layout, device, requires_grad)
    if M < 2:
        return grid.of_one()
    return 1 - pellucid.abs(grid.spaced(-1, 2 / grid.period))


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: dtype_type | None = None,  # noqa: N803
    layout: layout_type = pellucid.strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The sum over i of (-1)**i a[i] cos(2 pi i n / (M - 1)).

    >>> import pellucid as torch
    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    grid = _Grid("general_cosine", M, sym, dtype, layout, device, requires_grad)
    if M < 2:
        return grid.of_one()
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    k = grid.spaced(0, 2 * math.pi / grid.period)
    signed = pellucid.tensor([(-1) ** i * weight for i, weight in enumerate(a)], **grid.options)
    i = pellucid.arange(signed.shape[0], **grid.options)
    return (signed.unsqueeze(-1) * pellucid.cos(i.unsqueeze(-1) * k)).sum(0)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype_type | None = None,  # noqa: N803
    layout: layout_type = pellucid.strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    >>> import pellucid as torch
    >>> torch.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    parts = [alpha, 1.0 - alpha]
    return general_cosine(M, a=parts, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: dtype_type | None = None, layout: layout_type = pellucid.strided,  # noqa: N803
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Nuttall's sum of four cosines with side lobes below -98 dB (Nuttall 1981).

    >>> import pellucid as torch
    >>> torch.signal.windows.nuttall(3).round(decimals=4)
    tensor([4.0000e-04, 1.0000e+00, 4.0000e-04])
    """
    parts = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=parts, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)
