"""The standard library's `multiprocessing`, with tensors that travel through shared memory.

Everything `multiprocessing` offers is here under the same name. A tensor that is put into a queue or a pipe, or passed
to a process, moves to shared memory and the receiver sees the same bytes. `segments.py` makes the memory,
`shared_tensors.py` the tensors over it, `reductions.py` tells pickle, `transport.py` serves the data loader.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403 - the contract of this module: all names of the standard one

from pellucid.multiprocessing.reductions import init_reductions
from pellucid.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
    *multiprocessing.__all__,
]

_STRATEGIES = ("file_descriptor", "file_system")
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how tensors are shared: "file_descriptor", or "file_system" as an equal.

    PyTorch's second strategy exists because its first one keeps a file open per tensor and meets `ulimit -n`. Here the
    batches of a loader keep no file open and nothing has a name in /dev/shm, so both names mean the same.

    >>> import pellucid.multiprocessing as mp
    >>> mp.set_sharing_strategy("file_system")
    >>> mp.get_sharing_strategy()
    'file_system'
    >>> mp.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {set(_STRATEGIES)}")
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """The chosen strategy's name.

    >>> import pellucid.multiprocessing as mp
    >>> mp.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes.

    >>> import pellucid.multiprocessing as mp
    >>> sorted(mp.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


init_reductions()
