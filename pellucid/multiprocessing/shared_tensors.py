"""Tensors over shared memory: the one place that joins segments (`segments.py`) and the insides of a tensor."""

from __future__ import annotations

import math
import os
import weakref
from typing import TYPE_CHECKING

import numpy as np

from pellucid.engine.core.data import from_storage, view_of
from pellucid.engine.core.storage import Storage
from pellucid.multiprocessing.arenas import Arena
from pellucid.multiprocessing.segments import Mapping, create_segment, map_segment, mapping_of

if TYPE_CHECKING:
    from pellucid import Tensor, dtype

# Storages of this process by the inode of their segment: a segment that comes in twice is one storage.
_storages: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()


def tensor_over(memory: np.ndarray, kind: dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """A tensor whose elements are these bytes, without a copy."""
    storage = Storage(memory)
    storage.shared = mapping_of(memory)
    return from_storage(storage, kind, 0, shape, strides)


class Batch:
    """The arena of the batch that this process is putting together for another one, if it is a loader's worker."""

    arena: Arena | None = None


def is_worker() -> bool:
    """Whether this process is putting together a batch for another one."""
    return Batch.arena is not None


def empty_in_batch(kind: dtype, shape: tuple[int, ...]) -> Tensor | None:
    """An uninitialised tensor where the batch will be sent from, so that collating writes it there; else None."""
    if Batch.arena is None:
        return None
    strides, count = [1] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = count
        count *= max(shape[axis], 1)
    size = kind.itemsize * math.prod(shape)
    return tensor_over(Batch.arena.allocate(size), kind, shape, tuple(strides))


def packed_bytes(tensor: Tensor) -> tuple[np.ndarray, tuple[int, ...]]:
    """The bytes a tensor reads, and the strides to read them with; a contiguous copy where gaps lie between."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    count = tensor.numel()
    extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) if count else 0
    if extent > count:
        return packed_bytes(tensor.detach().contiguous())
    item = tensor.element_size()
    start = tensor._offset * item
    return tensor._storage.buffer[start : start + extent * item], strides


def is_shared(tensor: Tensor) -> bool:
    """Whether the tensor lies in memory that other processes can map.

    >>> import pellucid as torch
    >>> from pellucid.multiprocessing.shared_tensors import is_shared
    >>> is_shared(torch.ones(2))
    False
    """
    return tensor._storage.shared is not None


def share_memory_(tensor: Tensor) -> Tensor:
    """Move the tensor's storage to shared memory and return the tensor; nothing happens where it is there already.

    Processes that get the tensor afterwards see each other's writes. Views that were made before keep the old memory.

    >>> import pellucid as torch
    >>> from pellucid.multiprocessing.shared_tensors import is_shared, share_memory_
    >>> is_shared(share_memory_(torch.ones(2)))
    True
    """
    if not is_shared(tensor):
        _move(tensor)
    return tensor


def shared_descriptor(tensor: Tensor) -> int:
    """Descriptor of the segment that the tensor lies in, moving the tensor there first where need be."""
    mapping = tensor._storage.shared
    if not isinstance(mapping, Mapping) or mapping.descriptor is None:
        mapping = _move(tensor)
    assert mapping.descriptor is not None
    return mapping.descriptor


def storage_size(tensor: Tensor) -> int:
    """Bytes of the whole storage that the tensor views."""
    return tensor._storage.nbytes


def has_descriptor(tensor: Tensor) -> bool:
    """Whether the tensor was shared on purpose, so that a receiver must see the same memory and not a copy of it."""
    mapping = tensor._storage.shared
    return isinstance(mapping, Mapping) and mapping.descriptor is not None


def _move(tensor: Tensor) -> Mapping:
    storage = tensor._storage
    size = max(storage.nbytes, 1)
    descriptor = create_segment(size, "a tensor")
    memory = map_segment(descriptor, size, keep=True)[: storage.nbytes]
    memory[:] = storage.buffer
    storage.owner = storage._buffer = memory
    mapping = storage.shared = mapping_of(memory)
    tensor._array = view_of(storage, tensor._meta, tensor._offset)
    _storages[_identity(descriptor)] = storage
    assert mapping is not None
    return mapping


def tensor_from_descriptor(
    descriptor: int,
    nbytes: int,
    kind: dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Tensor:
    """A tensor over a segment of another process; takes over the descriptor."""
    identity = _identity(descriptor)
    storage = _storages.get(identity)
    if storage is None:
        memory = map_segment(descriptor, max(nbytes, 1), keep=True)[:nbytes]
        storage = Storage(memory)
        storage.shared = mapping_of(memory)
        _storages[identity] = storage
    else:
        os.close(descriptor)
    return from_storage(storage, kind, offset, shape, strides)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
