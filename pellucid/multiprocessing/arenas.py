"""Room for the bytes of messages, used again and again: the pages of a segment cost more than what is copied into them.

A sender lays a message into an `Arena`. The segments of a `Lender` come back when the receiver's last array over them
is gone: its `Borrower` notices and the numbers travel back with the next message. Both sides keep their mapping, so
from the second use on neither a descriptor is sent nor a page is set up.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections import deque
from collections.abc import Callable

import numpy as np

from pellucid.multiprocessing.segments import PAGE, Mapping, Use, create_segment, map_segment, mapping_of, padded

_MOST_LENT = 64  # a receiver that keeps more batches than this keeps them for good
_MOST_FREE = 4
_MOST_WASTE = 4  # a segment is not used for less than this fraction of it


class Segment:
    """A segment of the sender: `number` names it to the receiver (None: it is sent once and forgotten)."""

    __slots__ = ("_forks", "_use", "descriptor", "mapping", "nbytes", "number")

    def __init__(self, nbytes: int, number: int | None, purpose: str) -> None:
        self.nbytes = nbytes
        self.number = number
        self.descriptor: int | None = create_segment(nbytes, purpose)
        try:
            mapping = mapping_of(map_segment(self.descriptor, nbytes))
        except BaseException:
            self.close()
            raise
        assert mapping is not None
        self.mapping: Mapping = mapping
        self._use: weakref.ref[Use] | None = None
        self._forks = 0

    def memory(self) -> np.ndarray:
        """The bytes, for one more use."""
        use = Use(self.mapping)
        self._use = weakref.ref(use)
        self._forks = Forks.count
        return np.asarray(use)

    @property
    def is_free(self) -> bool:
        """Whether nothing on this side reads what was sent last: a dataset may keep its batch, or a child have it."""
        return (self._use is None or self._use() is None) and self._forks == Forks.count

    def close(self) -> None:
        """Give up the descriptor."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class Lender:
    """The sender's segments that a receiver gives back."""

    def __init__(self) -> None:
        self._lent: dict[int, Segment] = {}
        self._free: dict[int, Segment] = {}
        self._forgotten: list[int] = []
        self._count = 0

    def take(self, nbytes: int, purpose: str) -> Segment:
        """A segment of at least this size: the smallest that is free and suits, else a new one."""
        fits = [
            segment
            for segment in self._free.values()
            if nbytes <= segment.nbytes <= nbytes * _MOST_WASTE and segment.is_free
        ]
        if fits:
            best = min(fits, key=lambda segment: segment.nbytes)
            assert best.number is not None
            return self._free.pop(best.number)
        if len(self._lent) >= _MOST_LENT:
            return Segment(nbytes, None, purpose)
        self._count += 1
        return Segment(nbytes, self._count, purpose)

    def lend(self, segments: list[Segment], is_sent: bool) -> None:
        """These segments were sent; or not, and then the receiver does not know the new ones."""
        for segment in segments:
            if segment.number is not None:
                if is_sent:
                    self._lent[segment.number] = segment
                elif segment.descriptor is None:
                    self._free[segment.number] = segment
            segment.close()

    def take_back(self, returned: list[tuple[int, bool]]) -> None:
        """The receiver is done with these; those it will not recognise again (False) are dropped here too."""
        for number, is_kept in returned:
            segment = self._lent.pop(number)
            if is_kept:
                self._free[number] = segment
        while len(self._free) > _MOST_FREE:
            oldest = next(iter(self._free))
            del self._free[oldest]
            self._forgotten.append(oldest)

    def forgotten(self) -> list[int]:
        """Numbers that the receiver may forget, each told once: only the sender knows that they are not under way."""
        found, self._forgotten = self._forgotten, []
        return found


class Forks:
    """How often this process has forked: memory that a child may see must not be written again by others."""

    count = 0

    @classmethod
    def increase(cls) -> None:
        """One more."""
        cls.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=Forks.increase)


class Borrower:
    """The receiver's mappings of segments that it gives back."""

    def __init__(self) -> None:
        self._mappings: dict[int, Mapping] = {}
        self._ended: deque[tuple[int, int]] = deque()
        self._owner = os.getpid()

    def borrow(self, number: int, descriptor: int | None, nbytes: int) -> np.ndarray:
        """The bytes of a segment, which is new where a descriptor came along."""
        if descriptor is not None:
            mapping = mapping_of(map_segment(descriptor, nbytes))
            assert mapping is not None
            self._mappings[number] = mapping
        on_end = functools.partial(_note_end, self._ended, self._owner, number, Forks.count)
        return np.asarray(Use(self._mappings[number], on_end))

    def forget(self, numbers: list[int]) -> None:
        """The sender will not use these again."""
        for number in numbers:
            del self._mappings[number]

    def returned(self) -> list[tuple[int, bool]]:
        """(number, whether it may be used again) of the segments that nothing here reads any more, each told once."""
        found = []
        while self._ended:
            number, forks = self._ended.popleft()
            if forks != Forks.count:
                del self._mappings[number]
            found.append((number, forks == Forks.count))
        return found


def _note_end(
    ended: deque[tuple[int, int]], owner: int, number: int, forks: int, getpid: Callable[[], int] = os.getpid
) -> None:
    if getpid() == owner:  # found when it was defined, as arrays may go when modules are gone already
        ended.append((number, forks))


class Arena:
    """Room for one message: slices of segments that grow as asked.

    `hint` is the size to begin with, usually what the message before needed: then one segment serves the whole message.
    """

    def __init__(self, hint: int = 0, purpose: str = "", lender: Lender | None = None) -> None:
        self._hint = hint
        self._purpose = purpose
        self._lender = lender
        self._segments: list[Segment] = []
        self._memories: list[np.ndarray] = []
        self._used: list[int] = []

    @property
    def nbytes(self) -> int:
        """Bytes in use, padding included."""
        return sum(self._used)

    def allocate(self, nbytes: int) -> np.ndarray:
        """A fresh slice, aligned to 64 bytes; its content is arbitrary."""
        if not self._segments or self._used[-1] + nbytes > self._segments[-1].nbytes:
            size = padded(max(nbytes, self._hint, 1), PAGE)
            self._hint = 0
            segment = (
                Segment(size, None, self._purpose) if self._lender is None else self._lender.take(size, self._purpose)
            )
            self._segments.append(segment)
            self._memories.append(segment.memory())
            self._used.append(0)
        start = self._used[-1]
        self._used[-1] = padded(start + nbytes)
        return self._memories[-1][start : start + nbytes]

    def place(self, data: np.ndarray) -> tuple[int, int, int]:
        """(segment, offset, length) of these bytes, which are copied in unless they lie in the arena already."""
        address = data.ctypes.data
        for number, segment in enumerate(self._segments):
            offset = address - segment.mapping.address
            if 0 <= offset and offset + data.nbytes <= segment.nbytes:
                return number, offset, data.nbytes
        target = self.allocate(data.nbytes)
        target[:] = data
        number = len(self._segments) - 1
        return number, target.ctypes.data - self._segments[number].mapping.address, data.nbytes

    def contents(self) -> list[tuple[int | None, int, bool]]:
        """(number, size, whether its descriptor goes along) of each segment; one sent only once is cut to its use."""
        found: list[tuple[int | None, int, bool]] = []
        for segment, used in zip(self._segments, self._used, strict=True):
            if segment.number is None:
                size = padded(max(used, 1), PAGE)
                if size < segment.nbytes:
                    os.ftruncate(segment.descriptor, size)  # type: ignore[arg-type]
                found.append((None, size, True))
            else:
                found.append((segment.number, segment.nbytes, segment.descriptor is not None))
        return found

    def descriptors(self) -> list[int]:
        """The descriptors that go along."""
        return [segment.descriptor for segment in self._segments if segment.descriptor is not None]

    def close(self, *, is_sent: bool = False) -> None:
        """The message was sent, or will not be: arrays that are still in use keep their memory."""
        if self._lender is not None:
            self._lender.lend(self._segments, is_sent)
        for segment in self._segments:
            segment.close()
        self._segments, self._memories, self._used = [], [], []
