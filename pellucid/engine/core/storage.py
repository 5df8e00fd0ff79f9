"""The bytes that views share, and the version counter that in-place operators advance."""

from __future__ import annotations

import numpy as np


class Version:
    """A count of writes; a storage has one, and `tensor.data` starts another."""

    __slots__ = ("count", "writer")

    def __init__(self) -> None:
        self.count = 0
        self.writer: tuple[str, str] | None = None  # the operator that wrote last, and the user's line


class Storage:
    """Bytes of a tensor and of its views. `owner` is the array that was allocated; `buffer` its bytes."""

    __slots__ = ("__weakref__", "_buffer", "count", "owner", "resizable", "shared", "writer")

    def __init__(self, owner: np.ndarray) -> None:
        self.owner = owner
        self.count = 0
        self._buffer: np.ndarray | None = None
        self.writer: tuple[str, str] | None = None
        self.shared: object = None

    @property
    def buffer(self) -> np.ndarray:
        """All bytes as a one-dimensional uint8 array in address order."""
        if self._buffer is None:
            self._buffer = _as_bytes(self.owner)
        return self._buffer

    @property
    def nbytes(self) -> int:
        return self.owner.nbytes

    @property
    def address(self) -> int:
        return self.buffer.__array_interface__["data"][0]

    def resize(self, nbytes: int) -> None:
        """Hold `nbytes` bytes, keeping the first ones; arrays made before keep the old buffer."""
        fresh = np.zeros(nbytes, np.uint8)
        kept = min(nbytes, self.nbytes)
        fresh[:kept] = self.buffer[:kept]
        self.owner = self._buffer = fresh


def _as_bytes(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.uint8 and array.ndim == 1:
        return array
    if not array.flags.c_contiguous:  # dense in another order of axes
        order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis] if array.shape[axis] > 1 else 0)
        array = array.transpose(order)
    return array.reshape(-1).view(np.uint8)
