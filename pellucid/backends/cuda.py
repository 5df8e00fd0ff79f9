"""`torch.backends.cuda`: there is no CUDA backend; the flags hold what was set."""

from __future__ import annotations

from typing import Any


class _Matmul:
    """The flags of matrix products on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


class _Attention:
    flash = math = mem_efficient = cudnn = True


matmul = _Matmul()
_attention: Any = _Attention()


def is_built() -> bool:
    """Whether there is a CUDA backend: no.

    >>> import pellucid as torch
    >>> torch.backends.cuda.is_built()
    False
    """
    return False


def flash_sdp_enabled() -> bool:
    """Whether flash attention may be chosen on a GPU."""
    return bool(_attention.flash)


def enable_flash_sdp(enabled: bool) -> None:
    """Whether flash attention may be chosen on a GPU."""
    _attention.flash = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether plain attention may be chosen on a GPU."""
    return bool(_attention.math)


def enable_math_sdp(enabled: bool) -> None:
    """Whether plain attention may be chosen on a GPU."""
    _attention.math = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention may be chosen on a GPU."""
    return bool(_attention.mem_efficient)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Whether memory-efficient attention may be chosen on a GPU."""
    _attention.mem_efficient = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention may be chosen on a GPU."""
    return bool(_attention.cudnn)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Whether cuDNN's attention may be chosen on a GPU."""
    _attention.cudnn = bool(enabled)


def is_flash_attention_available() -> bool:
    """Whether flash attention on a GPU is there: no."""
    return False
