"""What operators are computed with: the kernels that a call runs, printed, and the switch to the NumPy references."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from pellucid.engine.core import kernels as _core

__all__ = ["show", "use"]


def use(name: str) -> AbstractContextManager[None]:
    """Compute with "cpu" kernels or with the "numpy" references inside a `with` block, in all threads.

    With the references `pdb` steps into every operator. `PELLUCID_KERNELS=numpy` does the same for a whole process.

    >>> import pellucid as torch
    >>> with torch.kernels.use("numpy"):
    ...     print(torch.ones(2) + 1)
    tensor([2., 2.])
    """
    if name not in _core.NAMES:
        raise ValueError(f"kernels.use() takes 'cpu' or 'numpy', not {name!r}")
    return _core.using(name)


def show(function: Callable[..., Any], *args: Any, what: str = "expression", **kwargs: Any) -> str:
    """What computes `function(*args, **kwargs)`: for each kernel its name, what it is made for, and its code.

    `what`: "expression" (the scalar expression and the layout), "llvm" (the loops in LLVM's representation as we write
    them), "optimised" (after LLVM's passes) or "assembly". The call is run. Operators without a kernel are not listed:
    they run their NumPy bodies.

    >>> import pellucid as torch
    >>> print(torch.kernels.show(torch.relu, torch.ones(4)))  # doctest: +ELLIPSIS
    pointwise...
    """
    backend = _core.of_cpu()
    if backend is None:
        return "no compiled kernels: NumPy references run (PELLUCID_KERNELS=numpy, or llvmlite is not installed)"
    with _core.using("cpu"):
        return backend.shown(lambda: function(*args, **kwargs), what)
