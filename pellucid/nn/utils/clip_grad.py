"""Limits on gradients: by their common norm, or value by value."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

TensorOrTensors = Tensor | Iterable[Tensor]


def _as_list(tensors: TensorOrTensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: list[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _check_foreach(foreach: bool | None, grads: Sequence[Tensor]) -> None:
    """Raises RuntimeError for foreach=True on devices for which PyTorch refuses it too."""
    if not foreach:
        return
    for grad in grads:
        if grad.device.type not in ("cpu", "cuda"):
            raise RuntimeError(
                f"foreach=True was passed, but can't use the foreach API on {grad.device.type} tensors: leave it None"
            )


def get_total_norm(
    tensors: TensorOrTensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all entries of all tensors together, as a 0-dimensional tensor; 0 for no tensors.

    Finite entries have a finite norm as long as the dtype can hold it: where the sum of powers overflows, the entries
    are divided by the largest first. Raises RuntimeError for a norm of NaN or inf if `error_if_nonfinite`.

    >>> import pellucid as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])]).item()
    5.0
    """
    listed = _as_list(tensors)
    norm_type = float(norm_type)
    if not listed:
        return pellucid.tensor(0.0)
    _check_foreach(foreach, listed)
    with pellucid.no_grad():
        total = _norm_of_norms(listed, norm_type)
        if total.isinf() and 0 < norm_type < math.inf:
            total = _rescaled_norm(listed, norm_type, total)
        if error_if_nonfinite and not total.isfinite():
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                f"clipped ({_culprits(listed)}). To disable this error and scale the gradients by the non-finite norm "
                "anyway, set `error_if_nonfinite=False`"
            )
    return total


def _norm_of_norms(tensors: list[Tensor], norm_type: float) -> Tensor:
    """The norm of the tensors' norms, on the device of the first."""
    device = tensors[0].device
    norms = [pellucid.linalg.vector_norm(tensor, norm_type).to(device) for tensor in tensors]
    return pellucid.linalg.vector_norm(pellucid.stack(norms), norm_type)


def _rescaled_norm(tensors: list[Tensor], norm_type: float, overflowed: Tensor) -> Tensor:
    """The norm computed from entries divided by the largest; `overflowed` where that is inf itself.

    Half precision could not hold the norm of its own large entries, so it is returned as float32.
    """
    largest = _norm_of_norms(tensors, math.inf)
    if not largest.isfinite():
        return overflowed
    is_half = largest.dtype in (pellucid.float16, pellucid.bfloat16)
    largest = largest.float() if is_half else largest
    return largest * _norm_of_norms([tensor / largest.to(tensor.device) for tensor in tensors], norm_type)


def _culprits(tensors: list[Tensor]) -> str:
    """Which of the tensors hold NaN or inf, by position and shape."""
    found = [
        f"gradient {index} of shape {tuple(tensor.shape)} holds {'NaN' if tensor.isnan().any() else 'inf'}"
        for index, tensor in enumerate([each.to_dense() for each in tensors])
        if not tensor.isfinite().all()
    ]
    if not found:
        return f"every one of the {len(tensors)} gradients is finite, their norm is too large for {tensors[0].dtype}"
    return "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")


def clip_grads_with_norm_(
    parameters: TensorOrTensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiplies the gradients in place by max_norm / (total_norm + 1e-6) where that is less than 1.

    >>> import pellucid as torch
    >>> weight = torch.zeros(2, requires_grad=True)
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_([weight], max_norm=1.0, total_norm=torch.tensor(10.0))
    >>> [round(value, 4) for value in weight.grad.tolist()]
    [0.3, 0.4]
    """
    grads = _gradients(_as_list(parameters))
    max_norm = float(max_norm)
    if not grads:
        return
    _check_foreach(foreach, grads)
    with pellucid.no_grad():
        # No branch on the value: that would wait for the device that computes it.
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: TensorOrTensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales all gradients in place so that their common norm is at most `max_norm`; returns the norm before.

    Large finite gradients are scaled right even where the sum of their squares overflows. Raises RuntimeError, before
    anything is changed, for a norm of NaN or inf if `error_if_nonfinite`.

    >>> import pellucid as torch
    >>> weight = torch.zeros(2, requires_grad=True)
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0).item()
    5.0
    >>> [round(value, 4) for value in weight.grad.tolist()]
    [0.6, 0.8]
    """
    listed = _as_list(parameters)
    if isinstance(parameters, types.GeneratorType) and not listed:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """The name that `clip_grad_norm_` had before; warns and calls it.

    >>> import pellucid as torch, warnings
    >>> weight = torch.zeros(1, requires_grad=True)
    >>> weight.grad = torch.tensor([2.0])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.nn.utils.clip_grad_norm([weight], max_norm=1.0).item()
    2.0
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: TensorOrTensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps every entry of every gradient to [-clip_value, clip_value] in place.

    >>> import pellucid as torch
    >>> weight = torch.zeros(2, requires_grad=True)
    >>> weight.grad = torch.tensor([3.0, -0.5])
    >>> torch.nn.utils.clip_grad_value_([weight], 1.0)
    >>> weight.grad.tolist()
    [1.0, -0.5]
    """
    grads = _gradients(_as_list(parameters))
    clip_value = float(clip_value)
    _check_foreach(foreach, grads)
    with pellucid.no_grad():
        for grad in grads:
            grad.clamp_(min=-clip_value, max=clip_value)
