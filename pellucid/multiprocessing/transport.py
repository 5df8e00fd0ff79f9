"""Messages between a loader and its workers: pickles over a socket, with the big buffers in shared segments.

Tensors and NumPy arrays leave the pickle as out-of-band buffers (pickle protocol 5), which are laid into a segment; the
receiver maps it, so its tensors and arrays lie in the sender's pages and nothing is copied on that side. A message on
the socket itself stays small: a sender does not have to wait until somebody reads.
"""

from __future__ import annotations

import array
import io
import os
import pickle
import socket
import struct
import threading
from collections import deque
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from pellucid import Tensor, dtype
from pellucid.multiprocessing import reductions, segments
from pellucid.multiprocessing.arenas import Arena, Borrower, Lender
from pellucid.multiprocessing.shared_tensors import (
    has_descriptor,
    packed_bytes,
    shared_descriptor,
    storage_size,
    tensor_from_descriptor,
    tensor_over,
)
from pellucid.nn import Parameter

_INLINE = 4096  # bytes of pickle that travel on the socket itself
_MOST_DESCRIPTORS = 250  # the kernel's SCM_MAX_FD is 253
_HEADER = struct.Struct("<QI")


class Packet:
    """An encoded message: the bytes for the socket, and the descriptors that go along."""

    __slots__ = ("arena", "body", "descriptors")

    def __init__(self, body: bytes, descriptors: list[int], arena: Arena) -> None:
        self.body = body
        self.descriptors = descriptors
        self.arena = arena

    def close(self, *, is_sent: bool = False) -> None:
        """Give up this process's side of the segments."""
        self.arena.close(is_sent=is_sent)


class _MessagePickler(ForkingPickler):
    """Pickles with tensors as out-of-band buffers; those shared on purpose go into `descriptors`, if it is a list."""

    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], descriptors: list[int] | None) -> None:
        super().__init__(file, 5, True, buffers.append)
        self._descriptors = descriptors

    def reducer_override(self, value: Any) -> Any:
        if (type(value) is not Tensor and type(value) is not Parameter) or not reductions.is_plain(value):
            return NotImplemented
        reductions.check_leaf(value)
        dress = (value.requires_grad, type(value) is Parameter)
        if self._descriptors is not None and has_descriptor(value):
            self._descriptors.append(shared_descriptor(value))
            size = storage_size(value)
            place = (value.storage_offset(), tuple(value.shape), tuple(value.stride()))
            return _rebuild_shared, (len(self._descriptors) - 1, size, value.dtype, *place, *dress)
        memory, strides = packed_bytes(value)
        return _rebuild, (pickle.PickleBuffer(memory.data), value.dtype, tuple(value.shape), strides, *dress)


def _rebuild(
    buffer: Any, kind: dtype, shape: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool, is_parameter: bool
) -> Tensor:
    memory = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    return reductions.dressed(tensor_over(memory, kind, shape, strides), requires_grad, is_parameter)


def _rebuild_shared(
    number: int,
    nbytes: int,
    kind: dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    is_parameter: bool,
) -> Tensor:
    tensor = tensor_from_descriptor(os.dup(_arriving.descriptors[number]), nbytes, kind, offset, shape, strides)
    return reductions.dressed(tensor, requires_grad, is_parameter)


class _Arriving(threading.local):
    """Descriptors of the message that this thread is decoding, for the tensors in it that stay shared."""

    descriptors: Sequence[int] = ()


_arriving = _Arriving()


def encode(
    message: Any, arena: Arena | None = None, *, keeps_sharing: bool = False, forgotten: Sequence[int] = ()
) -> Packet:
    """Pickle a message; what its buffers need is taken from `arena`, where some of them may lie already.

    With `keeps_sharing` a tensor that was moved to shared memory before stays the same memory for the receiver.
    `forgotten` are segments that the receiver may forget (`Lender.forgotten`).
    """
    arena = Arena() if arena is None else arena
    file = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    shared: list[int] = []
    _MessagePickler(file, buffers, shared if keeps_sharing else None).dump(message)
    places = [arena.place(np.frombuffer(buffer.raw(), np.uint8)) for buffer in buffers]
    pickled = file.getvalue()
    is_long = len(pickled) > _INLINE
    text = arena.place(np.frombuffer(pickled, np.uint8)) if is_long else pickled
    descriptors = arena.descriptors()
    if len(descriptors) + len(shared) > _MOST_DESCRIPTORS:
        raise RuntimeError(
            f"a message needs {len(descriptors)} segments and {len(shared)} shared tensors, and can carry "
            f"{_MOST_DESCRIPTORS} of both: stack the shared tensors into fewer ones"
        )
    return Packet(pickle.dumps((text, places, arena.contents(), list(forgotten)), 5), descriptors + shared, arena)


def try_to_pickle(value: Any) -> None:
    """Raise what `encode` would raise for this value; its big buffers are not copied."""
    _MessagePickler(io.BytesIO(), [], None).dump(value)


def decode(body: bytes, descriptors: Sequence[int], borrower: Borrower, *, is_private: bool = False) -> Any:
    """The message of a packet; `is_private` lets this process write to its tensors without anybody noticing."""
    try:
        text, places, contents, forgotten = pickle.loads(body)
        borrower.forget(forgotten)
        left = list(descriptors)
        memories = []
        for number, size, has_descriptor_along in contents:
            descriptor = left.pop(0) if has_descriptor_along else None
            if number is None:
                assert descriptor is not None
                memories.append(segments.map_segment(descriptor, size, is_private=is_private))
            else:
                memories.append(borrower.borrow(number, descriptor, size))
        buffers = [memories[number][start : start + length] for number, start, length in places]
        if not isinstance(text, bytes):
            number, start, length = text
            text = memories[number][start : start + length]
        _arriving.descriptors = left
        return pickle.loads(text, buffers=buffers)
    finally:
        _arriving.descriptors = ()
        for descriptor in descriptors:
            os.close(descriptor)


class Channel:
    """One end of a socket that carries packets; `post` never blocks, so two ends cannot wait for each other."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._backlog: deque[Packet] = deque()
        self._incoming = bytearray()
        self._descriptors: list[int] = []
        self.lender = Lender()
        self.borrower = Borrower()

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """A channel for this process, and the socket that becomes the other process's end."""
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(mine), other

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_backlog(self) -> bool:
        """Whether packets wait until the other end reads."""
        return bool(self._backlog)

    def send(self, packet: Packet) -> None:
        """Send and wait until the socket took it; the packet stays open and can go to others too."""
        _send_all(self._socket, packet, 0)

    def post(self, packet: Packet) -> None:
        """Send and close the packet, or keep for `flush` what the socket does not take at once."""
        self._backlog.append(packet)
        self.flush()

    def flush(self) -> None:
        """Send of the backlog what the socket takes; a dead other end shows when it is read from."""
        while self._backlog:
            try:
                _send_all(self._socket, self._backlog[0], socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                pass
            self._backlog.popleft().close(is_sent=True)

    def receive(self, *, is_private: bool = False) -> Any:
        """The next message; EOFError when the other end is gone. An interrupt leaves it whole for the next call."""
        while len(self._incoming) < _HEADER.size:
            self._read(_HEADER.size)
        length, count = _HEADER.unpack_from(self._incoming)
        while len(self._incoming) < _HEADER.size + length:
            self._read(_HEADER.size + length)
        body = bytes(self._incoming[_HEADER.size :])
        self._incoming.clear()
        descriptors, self._descriptors = self._descriptors, []
        if len(descriptors) != count:
            for descriptor in descriptors:
                os.close(descriptor)
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit "
                f"using `ulimit -n` in the shell (this process has {segments.open_descriptors()} open)"
            )
        return decode(body, descriptors, self.borrower, is_private=is_private)

    def _read(self, until: int) -> None:
        room = socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS) if not self._incoming else 0
        try:
            data, ancillary, _, _ = self._socket.recvmsg(until - len(self._incoming), room)
        except ConnectionResetError:
            data, ancillary = b"", []
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
                self._descriptors.extend(numbers)
        if not data:
            raise EOFError("the other process has closed its end")
        self._incoming += data

    def close(self) -> None:
        """Close this end; the other one reads the end of the stream."""
        while self._backlog:
            self._backlog.popleft().close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []
        self._socket.close()


def _send_all(end: socket.socket, packet: Packet, flags: int) -> None:
    data = memoryview(_HEADER.pack(len(packet.body), len(packet.descriptors)) + packet.body)
    rights = array.array("i", packet.descriptors)
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if packet.descriptors else []
    flags |= getattr(socket, "MSG_NOSIGNAL", 0)
    sent = end.sendmsg([data], ancillary, flags)
    if sent < len(data):  # the rest must follow now: another packet's bytes may not come in between
        end.sendall(data[sent:])
