"""`torch.cpu`: the processor, asked as if it were an accelerator."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is a processor: yes.

    >>> import pellucid as torch
    >>> torch.cpu.is_available()
    True
    """
    return True


def device_count() -> int:
    """The number of CPU devices: always 1.

    >>> import pellucid as torch
    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """The current device: always "cpu".

    >>> import pellucid as torch
    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU device."""


def synchronize(device: Any = None) -> None:
    """Nothing: operators have finished when they return."""


def empty_cache() -> None:
    """Give memory that was freed and kept for the next tensors back to the system.

    >>> import pellucid as torch
    >>> torch.cpu.empty_cache()
    """
    from pellucid.engine.core import kernels

    kernels.empty_cache()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Bytes that this process's allocator has in use (`allocated_bytes.all.current`), has taken from the system
    (`reserved_bytes.all.current`) and keeps for later (`inactive_split_bytes.all.current`); all its users together.

    >>> import pellucid as torch
    >>> isinstance(torch.cpu.memory_stats(), dict)
    True
    """
    from pellucid.engine.core import kernels

    return kernels.memory_statistics()
