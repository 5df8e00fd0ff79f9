"""Functions that make masked tensors."""

from __future__ import annotations

from typing import Any

from pellucid.masked.maskedtensor.core import MaskedTensor, checked

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A leaf with a copy of `data` and of the bool tensor `mask`, True where an element counts.

    >>> import pellucid as torch
    >>> torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])).sum().item()
    1.0
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """`data` with a mask, in its gradient history: gradients go to `data`.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.masked.as_masked_tensor(x, torch.tensor([True, False])).sum().backward(); x.grad
    tensor([1., 0.])
    """
    checked(data, mask)
    return MaskedTensor._of(data.to_dense() if data.is_sparse else data.clone(), mask)
