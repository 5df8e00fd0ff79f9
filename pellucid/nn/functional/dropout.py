"""Dropout and its variants (Srivastava et al., 2014)."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.tensor.arguments import as_bool, need_tensor


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Any, p: float, shape: Any) -> Any:
    with pellucid.no_grad():
        noise = input.detach().new_empty(shape) if shape is not None else pellucid.empty_like(input.detach())
        return noise.bernoulli_(1 - p)


def drop(input: Any, p: float, training: bool, inplace: bool) -> Any:
    """dropout with the error class of PyTorch's `torch.dropout`."""
    check(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
    return _drop(input, p, training, inplace, None)


def _drop(input: Any, p: float, training: bool, inplace: bool, shape: Any) -> Any:
    if p == 0 or not as_bool(training, "dropout", "train", 3) or input.numel() == 0:
        return input
    if p == 1:
        noise = pellucid.zeros((), dtype=input.dtype, device=input.device)
        return input.mul_(noise) if inplace else input * noise
    check(
        input.is_floating_point() or input.is_complex(),
        f"result type Float can't be cast to the desired output type {title(input.dtype)}",
    )
    noise = _noise(input, p, shape).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training each element is 0 with probability p, the others are scaled by 1 / (1 - p).

    >>> import pellucid as torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    need_tensor(input, "dropout")
    _check(p)
    return _drop(input, p, training, inplace, None)


def _per_channel(input: Any) -> tuple[int, ...]:
    check(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def feature_dropout(input: Any, p: float, training: bool, inplace: bool = False) -> Any:
    """dropout of whole channels (dimension 1)."""
    _check(p)
    as_bool(training, "feature_dropout", "train", 3)
    return _drop(input, p, training, inplace, _per_channel(input) if p and training and input.numel() else None)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """dropout of whole channels of (N, C, L) or (C, L).

    >>> import pellucid as torch
    >>> torch.nn.functional.dropout1d(torch.ones(1, 1, 2), training=False)
    tensor([[[1., 1.]]])
    """
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise"
            " dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. "
            "2D or 3D inputs)."
        )
    if input.dim() == 2:
        return feature_dropout(input.unsqueeze(0), p, training, inplace).squeeze(0)
    return feature_dropout(input, p, training, inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """dropout of whole channels of (N, C, H, W).

    >>> import pellucid as torch
    >>> torch.nn.functional.dropout2d(torch.ones(1, 1, 1, 2), training=False)
    tensor([[[[1., 1.]]]])
    """
    _check(p)
    return feature_dropout(input, p, training, inplace)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """dropout of whole channels of (N, C, D, H, W).

    >>> import pellucid as torch
    >>> torch.nn.functional.dropout3d(torch.ones(1, 1, 1, 1, 2), training=False)
    tensor([[[[[1., 1.]]]]])
    """
    _check(p)
    return feature_dropout(input, p, training, inplace)


def _alpha(input: Any, p: float, training: bool, inplace: bool, shape: Any) -> Any:
    _check(p)
    if p == 0 or not as_bool(training, "dropout", "train", 3) or input.numel() == 0:
        return input
    if p == 1:
        zero = pellucid.zeros((), dtype=input.dtype)
        return input.mul_(zero) if inplace else input * zero
    alpha = 1.7580993408473766
    a = 1.0 / ((alpha * alpha * p + 1) * (1 - p)) ** 0.5
    noise = _noise(input, p, shape)
    with pellucid.no_grad():
        shift = (noise - 1).mul_(alpha * a).add_(alpha * a * p)
        noise = noise.mul_(a)
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


def drop_channels(input: Any, p: float, training: bool, inplace: bool = False) -> Any:
    """feature_dropout with the error class of PyTorch's `torch.feature_dropout`."""
    check(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
    return feature_dropout(input, p, training, inplace)


def drop_to_negative(input: Any, p: float, training: bool, inplace: bool, by_channel: bool) -> Any:
    """alpha_dropout with the error class of PyTorch's `torch.alpha_dropout`."""
    check(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
    return _alpha(
        input, p, training, inplace, _per_channel(input) if by_channel and p and training and input.numel() else None
    )


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """dropout that keeps the mean and deviation of selu activations (Klambauer et al., 2017).

    >>> import pellucid as torch
    >>> torch.nn.functional.alpha_dropout(torch.ones(2))
    tensor([1., 1.])
    """
    need_tensor(input, "alpha_dropout")
    return _alpha(input, p, training, inplace, None)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """alpha_dropout of whole channels.

    >>> import pellucid as torch
    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 2))
    tensor([[1., 1.]])
    """
    need_tensor(input, "feature_alpha_dropout")
    as_bool(training, "feature_alpha_dropout", "train", 3)
    return _alpha(input, p, training, inplace, _per_channel(input) if p and training and input.numel() else None)
