"""Window functions: weights that fade a piece of a signal in and out. The formulas are in ops/windows.py.

Names and formulas: F. J. Harris, "On the use of windows for harmonic analysis with the DFT" (1978).
"""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.device import usable
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import windows as ops
from pellucid.engine.tensor.arguments import as_int
from pellucid.engine.tensor.layout import layout as layout_type
from pellucid.engine.tensor.layout import refuse_pinning, strided

Numbers = tuple[float, ...]


def _window(
    name: str,
    window_length: Any,
    periodic: bool,
    parameters: Numbers,
    dtype: dtype_type | None,
    layout: layout_type | None,
    device: Any,
    requires_grad: bool,
) -> Any:
    function = f"{name}_window"
    kind = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
    length = as_int(window_length, function, "window_length", 1)
    check(layout is None or layout is strided, f"{function} is not implemented for sparse types, got: {layout}")
    if kind.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{title(kind)}': {function} makes real windows")
    check(kind.is_floating_point, f"{function} expects floating point dtypes, got: {kind}")
    check(length >= 0, f"{function} requires non-negative window_length, got window_length={length}")
    where = usable(device)
    made = ops.window(
        name=name, length=length, periodic=bool(periodic), parameters=parameters, dtype=kind, device=where
    )
    return made.requires_grad_() if requires_grad else made


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """sin²(πn/N) for n below `window_length`; N is the length, or one less when the window is not `periodic`.

    >>> import pellucid as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    refuse_pinning(pin_memory, device)
    return _window("hann", window_length, periodic, (), dtype, layout, device, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """alpha - beta·cos(2πn/N) for n below `window_length`; N is the length, or one less when it is not `periodic`.

    >>> import pellucid as torch
    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    refuse_pinning(pin_memory, device)
    parameters = (float(alpha), float(beta))
    return _window("hamming", window_length, periodic, parameters, dtype, layout, device, requires_grad)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """0.42 - 0.5·cos(2πn/N) + 0.08·cos(4πn/N); N is the length, or one less when the window is not `periodic`.

    >>> import pellucid as torch
    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    refuse_pinning(pin_memory, device)
    return _window("blackman", window_length, periodic, (), dtype, layout, device, requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """A triangle, 1 - |2n/N - 1|; N is the length, or one less when the window is not `periodic`.

    >>> import pellucid as torch
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    refuse_pinning(pin_memory, device)
    return _window("bartlett", window_length, periodic, (), dtype, layout, device, requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: dtype_type | None = None,
    layout: layout_type | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """I₀(beta·√(1 - (2n/N - 1)²)) / I₀(beta); N is the length, or one less when the window is not `periodic`.

    >>> import pellucid as torch
    >>> torch.kaiser_window(3, False, 8.0)
    tensor([0.0023, 1.0000, 0.0023])
    """
    refuse_pinning(pin_memory, device)
    return _window("kaiser", window_length, periodic, (float(beta),), dtype, layout, device, requires_grad)


__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
