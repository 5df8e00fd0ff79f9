"""How exact matrix products of float32 must be. PyTorch's switch; products here are always computed in float32
itself.
"""

from __future__ import annotations

import warnings


class _Precision:
    matmul = "highest"


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was given: "highest", "high" or "medium".

    >>> import pellucid as torch
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _Precision.matmul


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 matrix products to be less exact; a permission of which nothing here makes use.

    >>> import pellucid as torch
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision "
            "call has no effect.",
            stacklevel=2,
        )
        return
    _Precision.matmul = precision
