"""What distributions share: broadcasting of parameters, probabilities and logits, attributes that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

import pellucid
from pellucid import Tensor

euler_constant = 0.57721566490153286060

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the type of the tensors.

    >>> import pellucid as torch
    >>> [tuple(each.shape) for each in torch.distributions.utils.broadcast_all(torch.zeros(2, 1), torch.zeros(3), 1.0)]
    [(2, 3), (2, 3), (2, 3)]
    """
    if not all(isinstance(each, Tensor | Number) for each in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    tensors = [each for each in values if isinstance(each, Tensor)]
    if tensors:
        options: dict[str, Any] = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    else:
        options = {"dtype": pellucid.get_default_dtype()}
    made = [each if isinstance(each, Tensor) else pellucid.tensor(each, **options) for each in values]
    return tuple(pellucid.broadcast_tensors(*made))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return pellucid.normal(pellucid.zeros(shape, dtype=dtype, device=device), pellucid.ones(shape, dtype=dtype))


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: sigmoid of log odds, or softmax over the last dimension.

    >>> import pellucid as torch
    >>> torch.distributions.utils.logits_to_probs(torch.zeros(1), is_binary=True)
    tensor([0.5000])
    """
    return pellucid.sigmoid(logits) if is_binary else pellucid.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept from 0 and 1 by the spacing of numbers at 1.

    >>> import pellucid as torch
    >>> bool((torch.distributions.utils.clamp_probs(torch.zeros(1)) > 0).item())
    True
    """
    eps = pellucid.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of probabilities, or their logarithms.

    >>> import pellucid as torch
    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    return pellucid.log(clamped) - pellucid.log1p(-clamped) if is_binary else pellucid.log(clamped)


class lazy_property:  # noqa: N801 - PyTorch's name
    """An attribute that is computed, with gradients, when it is first read, and then kept.

    >>> from pellucid.distributions.utils import lazy_property
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self):
    ...         return 3
    >>> Circle().area
    3
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _LazyPropertyAndProperty(self.wrapped)
        with pellucid.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyPropertyAndProperty(lazy_property, property):
    """What the class attribute of a lazy property is: documentation tools read it as a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices on and below a diagonal, row by row.

    >>> import pellucid as torch
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    steps = pellucid.arange(n)
    return mat[..., steps < steps.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with these elements on and below a diagonal, row by row, and zeros above.

    >>> import pellucid as torch
    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > pellucid.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular "
            "part of a square D x D matrix."
        )
    side = round(n)
    steps = pellucid.arange(side)
    mask = steps < steps.view(-1, 1) + (diag + 1)
    made = pellucid.zeros((*vec.shape[:-1], side, side), dtype=vec.dtype, device=vec.device)
    made[..., mask] = vec
    return made
