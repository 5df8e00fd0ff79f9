"""The switch of deterministic mode. Kernels that could give different results for equal inputs have to ask it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pellucid.engine.core.errors import user_level


class Determinism:
    """Whether results must be the same in every run; one for the process."""

    def __init__(self) -> None:
        self.enabled = False
        self.warn_only = False
        self.fill_uninitialized_memory = True

    def refuse(self, name: str) -> None:
        """What an operator without a deterministic implementation calls: an error in this mode, or a warning."""
        if not self.enabled:
            return
        message = f"{name} does not have a deterministic implementation, but you set"
        if not self.warn_only:
            raise RuntimeError(
                f"{message} 'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this "
                "operation,"
                " or you can use the 'warn_only=True' option, if that's acceptable for your application."
            )
        warnings.warn(f"{message} 'torch.use_deterministic_algorithms(True, warn_only=True)'.", stacklevel=user_level())

    def fill(self, array: np.ndarray) -> np.ndarray:
        """In this mode, write NaN (True, or the greatest integer) into an array that was just allocated."""
        if self.enabled and self.fill_uninitialized_memory:
            array.fill(_unset(array.dtype))
        return array


def _unset(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.array(np.nan).astype(dtype)[()]


determinism = Determinism()
