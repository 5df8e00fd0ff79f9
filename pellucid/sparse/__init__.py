"""`torch.sparse`: products, sums and softmax of sparse tensors, and the switch of the checks of their indices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from pellucid.engine.tensor.sparse import log_softmax as log_softmax
from pellucid.engine.tensor.sparse import sampled_addmm as sampled_addmm
from pellucid.engine.tensor.sparse import softmax as softmax
from pellucid.engine.tensor.sparse import sparse_addmm as addmm
from pellucid.engine.tensor.sparse import sparse_mm as mm
from pellucid.engine.tensor.sparse import sparse_sum as sum
from pellucid.engine.tensor.sparse import spdiags as spdiags
from pellucid.engine.tensor.sparse_creation import invariants
from pellucid.sparse.checking import as_sparse_gradcheck as as_sparse_gradcheck
from pellucid.sparse.types import BFloat16Tensor as BFloat16Tensor
from pellucid.sparse.types import ByteTensor as ByteTensor
from pellucid.sparse.types import CharTensor as CharTensor
from pellucid.sparse.types import DoubleTensor as DoubleTensor
from pellucid.sparse.types import FloatTensor as FloatTensor
from pellucid.sparse.types import HalfTensor as HalfTensor
from pellucid.sparse.types import IntTensor as IntTensor
from pellucid.sparse.types import LongTensor as LongTensor
from pellucid.sparse.types import ShortTensor as ShortTensor

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
    "spdiags", "sum",
]  # fmt: skip


class check_sparse_tensor_invariants:  # noqa: N801 - PyTorch's name
    """Whether constructors of sparse tensors check their indices; a context manager and a decorator too.

    >>> import pellucid as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether the checks are on."""
        return invariants.enabled

    @staticmethod
    def enable() -> None:
        """Switch the checks on."""
        invariants.enabled = True

    @staticmethod
    def disable() -> None:
        """Switch the checks off, as they are at first."""
        invariants.enabled = False

    def __enter__(self) -> None:
        self._before.append(invariants.enabled)
        invariants.enabled = self.state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        invariants.enabled = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
