"""`MaskedTensor`: a tensor in which some elements do not count. What each function means on it is in functions.py."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.graph import by_name, grad_fn_of
from pellucid.masked.maskedtensor.printing import masked_text

__all__ = ["MaskedTensor", "is_masked_tensor"]


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a MaskedTensor.

    >>> import pellucid as torch
    >>> torch.masked.is_masked_tensor(torch.ones(1))
    False
    """
    return isinstance(obj, MaskedTensor)


def checked(data: Any, mask: Any) -> None:
    """TypeError or ValueError in PyTorch's words unless data and mask make a masked tensor."""
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, TensorData) or isinstance(value, MaskedTensor):
            raise TypeError(f"{name} must be a Tensor")
    if mask.dtype is not pellucid.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype.is_complex or data.dtype.itemsize == 1 and data.dtype.is_floating_point:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.shape != mask.shape:
        raise ValueError("data.size() must equal mask.size()")


class MaskedTensor(Tensor):
    """A tensor whose elements count only where its mask is True; functions without a meaning for masks raise TypeError.

    >>> import pellucid as torch
    >>> torch.masked.MaskedTensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])) + 1
    MaskedTensor(
      [  2.0000,       --]
    )
    """

    _is_masked_tensor = True

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        checked(data, mask)
        kept = by_name["clone"](data.detach().to_dense())
        made = cls._of(kept, mask.detach().to_dense().clone())
        if requires_grad:
            made.requires_grad_()
        return made

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        pass

    @classmethod
    def _of(cls, plain: Any, mask: Any) -> Any:
        """A fresh plain tensor, with its history, as a masked one."""
        plain.__class__ = cls
        plain.__dict__["_mask"] = mask
        return plain

    def _plain(self) -> Any:
        """The data as a plain tensor, in this tensor's history."""
        return by_name["alias"](self)

    def get_data(self) -> Any:
        """The data, of elements that do not count too."""
        return self._plain()

    def get_mask(self) -> Any:
        """The mask: True where an element counts."""
        return self.__dict__["_mask"]

    def to_tensor(self, value: Any) -> Any:
        """A plain tensor with `value` in place of the elements that do not count."""
        return self._plain().masked_fill(~self.get_mask(), value)

    @property
    def _masked_data(self) -> Any:
        return self._plain().detach()

    @property
    def _masked_mask(self) -> Any:
        return self.get_mask()

    @property
    def grad(self) -> Any:
        """The gradient so far, with the same mask."""
        found = self._grad
        if found is None or isinstance(found, MaskedTensor):
            return found
        return MaskedTensor._of(by_name["alias"](found), self.get_mask())

    @grad.setter
    def grad(self, value: Any) -> None:
        self._grad = value._plain() if isinstance(value, MaskedTensor) else value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # mypy sees no difference either
        return masked_text(self._plain().detach(), self.get_mask())

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if grad_fn_of(self) is not None:
            raise RuntimeError("Only Tensors created explicitly by the user support the deepcopy protocol")
        made = memo[id(self)] = MaskedTensor(self._plain().detach(), self.get_mask(), self._needs_grad)
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from pellucid.masked.maskedtensor.functions import masked_call  # it needs this class

        return masked_call(func, args, kwargs or {})
