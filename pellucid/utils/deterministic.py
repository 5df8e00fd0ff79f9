"""Deterministic mode: the same results in every run. The switch is engine/core/determinism.py; seeds are
reproducibility.py's.
"""

from __future__ import annotations

import sys
import types

from pellucid.engine.core.determinism import determinism

_MODES = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Demand that equal inputs give equal results: operators that cannot promise that raise RuntimeError (or only
    warn).

    Uninitialised memory (`empty`) is filled with NaN or the greatest integer meanwhile. Seeds are another matter:
    `pellucid.utils.reproducibility.seed_everything`.

    >>> import pellucid as torch
    >>> torch.use_deterministic_algorithms(True); torch.empty(2)
    tensor([nan, nan])
    >>> torch.use_deterministic_algorithms(False)
    """
    determinism.enabled = bool(mode)
    determinism.warn_only = bool(mode) and bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic mode is on.

    >>> import pellucid as torch
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return determinism.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether deterministic mode is on and only warns.

    >>> import pellucid as torch
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return determinism.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Deterministic mode by one word or number: "default" or 0 (off), "warn" or 1, "error" or 2.

    >>> import pellucid as torch
    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _MODES[debug_mode]
    if debug_mode not in _MODES.values():
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0 when deterministic mode is off, 1 when it warns, 2 when it raises.

    >>> import pellucid as torch
    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not determinism.enabled else 1 if determinism.warn_only else 2


class _Module(types.ModuleType):
    """Lets programs assign `torch.utils.deterministic.fill_uninitialized_memory`, as in PyTorch."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether deterministic mode fills uninitialised memory."""
        return determinism.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        determinism.fill_uninitialized_memory = bool(mode)


sys.modules[__name__].__class__ = _Module
