"""Batches in page-locked memory, from where an accelerator copies faster."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.utils.data._utils.collate import _rebuild_mapping, _rebuild_sequence


def is_accelerator_available() -> bool:
    """Whether there is a device to pin memory for."""
    # A package without its cuda part has no accelerator either.
    return importlib.util.find_spec("pellucid.cuda") is not None and bool(pellucid.cuda.is_available())


def pin_memory(data: Any, device: str | None = None) -> Any:
    """Every tensor in the data, and every object with a `pin_memory` method, pinned.

    >>> from pellucid.utils.data._utils.pin_memory import pin_memory
    >>> pin_memory(["a", b"b"])
    ['a', b'b']
    """
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple):
        items = [pin_memory(item, device) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    if isinstance(data, Sequence):
        return _rebuild_sequence(data, [pin_memory(item, device) for item in data])
    return data
