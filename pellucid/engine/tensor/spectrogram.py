"""Short-time Fourier transforms. Window functions are in windows.py."""

from __future__ import annotations

import warnings
from typing import Any

from pellucid.engine.core.batching import whole as whole_batch
from pellucid.engine.core.errors import check, user_level
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.joining import fold_windows
from pellucid.engine.ops.padding import border_pad, constant_pad
from pellucid.engine.ops.shape import unfold, view_as_real
from pellucid.engine.tensor.arguments import as_bool, as_int, need_tensor
from pellucid.engine.tensor.fourier import fft, ifft, irfft, rfft


def _placed(window: Any, like: Any, n_fft: int, win_length: int) -> Any:
    """The window (ones when None) of `win_length`, with zeros around it up to `n_fft`."""
    if window is None:
        kind = like._meta.dtype.to_real()
        window = like.new_ones((win_length,), dtype=kind)
    left = (n_fft - win_length) // 2
    return constant_pad(window, pad=((left, n_fft - win_length - left),), value=0) if win_length < n_fft else window


def _need_window(window: Any, what: str) -> None:
    if window is None:
        warnings.warn(
            f"A window was not provided. A rectangular window will be applied.{what} To suppress this warning "
            "and use a rectangular"
            " window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
            UserWarning,
            stacklevel=user_level(),
        )


def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Fourier transforms of overlapping windowed frames: (batch, frequencies, frames). Real input needs
    `return_complex=True`.

    >>> import pellucid as torch
    >>> torch.stft(torch.ones(10), 4, window=torch.hann_window(4), return_complex=True).shape
    torch.Size([3, 11])
    """
    meta = need_tensor(input, "stft")._meta
    n_fft, hop_length, win_length = _lengths("stft", n_fft, hop_length, win_length)
    as_bool(normalized, "stft", "normalized", 7)
    if center and pad_mode not in _PAD_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {pad_mode}; stft pads by one of {_PAD_MODES}")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    check(not (center and align_to_window is not None), "stft align_to_window should only be set when center = false")
    _need_window(
        window, "which is known to cause spectral leakage. Other windows such as torch.hann_window are recommended."
    )
    is_complex = meta.dtype.is_complex or (window is not None and window._meta.dtype.is_complex)
    if return_complex is None:
        check(
            is_complex,
            "stft requires the return_complex parameter be given for real inputs, and will further require "
            "that return_complex=True in a"
            " future PyTorch release.",
        )
        return_complex = True
    check(
        meta.dtype.category >= 2 and meta.ndim in (1, 2),
        f"stft(torch.{title(meta.dtype)}Tensor{list(meta.shape)}, n_fft={n_fft}, hop_length={hop}, "
        f"win_length={length}) : expected a"
        f" {'1D or 2D tensor' if meta.ndim not in (1, 2) else 'tensor of floating point or complex values'}",
    )
    x = input.unsqueeze(0) if meta.ndim == 1 else input
    if center:
        x = _padded(x, n_fft // 2, pad_mode)
    elif align_to_window and length < n_fft:
        left = (n_fft - length) // 2
        x = constant_pad(x, pad=((0, 0), (left, n_fft - length - left)), value=0)
    _check_frames(x, n_fft, hop, length, window)
    one = not is_complex if onesided is None else bool(onesided)
    check(not (one and is_complex), "Cannot have onesided output if window or input is complex")
    frames = unfold(x, dim=1, size=n_fft, step=hop)
    if window is not None or length < n_fft:
        frames = frames * _placed(window, x, n_fft, length)
    found = (rfft if one else fft)(frames, norm="ortho" if normalized else None).transpose(1, 2)
    found = found.squeeze(0) if meta.ndim == 1 else found
    return found if return_complex else view_as_real(found.contiguous())


_PAD_MODES = ("constant", "reflect", "replicate", "circular")


def _lengths(function: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int | None, int | None]:
    hop = None if hop_length is None else as_int(hop_length, function, "hop_length", 3)
    return (
        as_int(n_fft, function, "n_fft"),
        hop,
        None if win_length is None else as_int(win_length, function, "win_length", 4),
    )


def _padded(x: Any, amount: int, mode: str) -> Any:
    if mode == "constant":
        return constant_pad(x, pad=((0, 0), (amount, amount)), value=0)
    return border_pad(x.unsqueeze(0), pad=((amount, amount),), mode=mode).squeeze(0)


def _check_frames(x: Any, n_fft: int, hop: int, length: int, window: Any) -> None:
    size = x._meta.shape[1]
    said = (
        f"stft(torch.{title(x._meta.dtype)}Tensor[{size}], n_fft={n_fft}, hop_length={hop}, win_length={length}) : "
        "expected"
    )
    check(0 < n_fft <= size, f"{said} 0 < n_fft < {size}, but got n_fft={n_fft}")
    check(hop > 0, f"{said} hop_length > 0, but got hop_length={hop}")
    check(0 < length <= n_fft, f"{said} 0 < win_length <= n_fft, but got win_length={length}")
    check(
        window is None or tuple(window._meta.shape) == (length,),
        f"{said} a 1D window tensor of size equal to win_length={length}, but got window with size"
        f" {list(window._meta.shape) if window is not None else []}",
    )


def _check_inverse(said: str, x: Any, n_fft: int, hop: int, length: int, window: Any, one: bool) -> None:
    meta = x._meta
    check(meta.numel != 0, f"{said} input tensor cannot be empty.")
    check(meta.ndim in (2, 3), f"{said} expected a tensor with 3 or 4 dimensions, but got {meta.ndim + 1}")
    check(
        meta.shape[-2] == (n_fft // 2 + 1 if one else n_fft),
        f"{said} expected the frequency dimension (3rd to the last) of the input tensor to match "
        f"n_fft{' / 2 + 1' if one else ''} when"
        f" onesided={one}, but got {meta.shape[-2]}",
    )
    check(0 < hop <= length, f"{said} expected 0 < hop_length <= win_length")
    check(0 < length <= n_fft, f"{said} expected 0 < win_length <= n_fft")
    check(
        window is None or tuple(window._meta.shape) == (length,),
        f"{said} Invalid window shape. window has to be 1D and length of `win_length`",
    )


def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """The signal whose `stft` this is: overlapping frames added, and divided by the sum of squared windows (D. Griffin,
    J. Lim, 1984).

    >>> import pellucid as torch
    >>> window = torch.hann_window(4)
    >>> torch.istft(torch.stft(torch.ones(8), 4, window=window, return_complex=True), 4, window=window).shape
    torch.Size([8])
    """
    as_bool(center, "istft", "center", 6)
    as_bool(normalized, "istft", "normalized", 7)
    as_bool(return_complex, "istft", "return_complex", 10)
    meta = need_tensor(input, "istft")._meta
    n_fft, hop_length, win_length = _lengths("istft", n_fft, hop_length, win_length)
    check(
        length is None or as_int(length, "istft", "length", 9) > 0,
        f"min(): Expected reduction dim to be specified for input.numel() == 0: istft() cannot give length={length}; "
        "it must be positive, or None for all that the frames cover.",
    )
    check(
        meta.dtype.is_complex,
        "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
    )
    check(
        meta.ndim >= 2,
        f"Dimension out of range (expected to be in range of [-{meta.ndim + 1}, {meta.ndim}], but got -3)",
        IndexError,
    )
    hop = n_fft // 4 if hop_length is None else hop_length
    wide = n_fft if win_length is None else win_length
    _need_window(window, "Please provide the same window used by stft to make the inversion lossless.")
    said = (
        f"istft(CPU{title(meta.dtype)}Type{list(meta.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={wide},"
        f" center={int(center)}, normalized={int(normalized)}, onesided={onesided}, length={length}, "
        f"return_complex={int(return_complex)})"
    )
    one = onesided if onesided is not None else meta.shape[-2] != n_fft
    _check_inverse(said + " :", input, n_fft, hop, wide, window, bool(one))
    x = (input.unsqueeze(0) if meta.ndim == 2 else input).transpose(1, 2)
    if return_complex:
        check(not one, "Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else None
    if return_complex:
        frames = ifft(x, norm=norm)
    else:
        check(
            window is None or not window._meta.dtype.is_complex,
            "Complex windows are incompatible with return_complex=False",
        )
        frames = irfft(x if one else x[..., : n_fft // 2 + 1], n=n_fft, norm=norm)
    placed = _placed(window, input, n_fft, wide)
    signal = _overlapped(frames * placed, placed, n_fft, hop, center, length, said)
    return signal.squeeze(0) if meta.ndim == 2 else signal


def _overlapped(frames: Any, window: Any, n_fft: int, hop: int, center: bool, length: int | None, said: str) -> Any:
    batch, count = frames._meta.shape[:2]
    whole = n_fft + hop * (count - 1)
    total = fold_windows(frames, size=(batch, whole), dim=1, step=hop)
    squares = (window * window).expand(1, count, n_fft)
    envelope = fold_windows(squares, size=(1, whole), dim=1, step=hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    total, envelope = total[:, start : min(end, whole)], envelope[:, start : min(end, whole)]
    check(
        envelope.is_meta
        or envelope._meta.numel == 0
        or bool((whole_batch(envelope).detach().abs().min() > 1e-11).item()),
        f"{said} window overlap add min: 1",
    )
    signal = total / envelope
    if end > whole:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in "
            "the tail. Please check your"
            " center and hop_length settings.",
            UserWarning,
            stacklevel=user_level(),
        )
        signal = constant_pad(signal, pad=((0, 0), (0, end - whole)), value=0)
    return signal


class SpectrogramMethods:
    """Rows of `Tensor`."""

    stft = stft
    istft = istft
