"""The worker processes of a loader, seen from the process that owns it: start, give and take work, notice deaths, end.

Each worker has a socket of its own. No lock and no queue is shared between workers, so one that dies holds up no other.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.context
import os
import select
import signal
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid.multiprocessing import segments, transport
from pellucid.multiprocessing.reductions import Descriptor
from pellucid.utils.data._utils.failures import describe_death, out_of_memory_kills, unpicklable_error
from pellucid.utils.data._utils.worker import (
    CLOSING,
    EXIT,
    POSITION,
    PREPARING,
    SLOTS,
    STACK_SIGNAL,
    TASK,
    Job,
    Reply,
    Start,
    describe_task,
    worker_main,
)

MP_STATUS_CHECK_INTERVAL = 1.0  # seconds between looks at whether the workers are alive
_SECONDS_TO_FINISH = 1.5  # for the sample a worker is at when the loader is closed
_SECONDS_TO_TERMINATE = 1.0

_channels: weakref.WeakSet[transport.Channel] = weakref.WeakSet()


def _forget_channels() -> None:
    """A forked child must not hold the parent's ends, or other workers would not notice that the parent is gone."""
    for channel in list(_channels):
        with contextlib.suppress(OSError):
            channel.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_channels)


class ProcessCrew:
    """The worker processes of one iterator."""

    def __init__(self, job: Job, starts: list[Start], context: multiprocessing.context.BaseContext | None) -> None:
        self._job = job
        self._context = _default_context() if context is None else context
        self._owner = os.getpid()
        self._kills = out_of_memory_kills()
        self._poll = select.poll()
        self._ready: deque[tuple[int, Reply]] = deque()
        self._channels: list[transport.Channel] = []
        self._by_descriptor: dict[int, int] = {}
        self._stacks: list[Descriptor] = []
        self._is_closed = False
        self.processes: list[Any] = []
        self.indices: dict[int, Any] = {}  # of the tasks under way, kept by the scheduler: messages name the samples
        size = len(starts) * SLOTS * 8
        self._progress_file = Descriptor(segments.create_segment(size, "the loader's bookkeeping"))
        bytes_of_progress = segments.map_segment(self._progress_file.fileno(), size)
        self._progress = bytes_of_progress.view(np.int64).reshape(len(starts), SLOTS)
        self._progress[:, TASK] = PREPARING
        try:
            self._start(starts)
        except BaseException:
            self.close()
            raise

    def _start(self, starts: list[Start]) -> None:
        is_fork = self._context.get_start_method() == "fork"
        packet = None if is_fork else self._pickled_job()
        try:
            for start in starts:
                self._start_one(start, len(starts), is_fork)
                if packet is not None:
                    # The child may die before it reads: that shows when its channel is read.
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                        self._channels[-1].send(packet)
        finally:
            if packet is not None:
                packet.close()

    def _start_one(self, start: Start, count: int, is_fork: bool) -> None:
        self._stacks.append(Descriptor(_file_for_stack()))
        channel, other = transport.Channel.pair()
        _channels.add(channel)
        self._channels.append(channel)
        job = self._job if is_fork else None
        args = (other, start, self._progress_file, count, self._stacks[-1], job)
        process = self._context.Process(target=worker_main, args=args)  # type: ignore[attr-defined]
        process.daemon = True
        with other, _quiet_start(is_fork):
            process.start()
        self.processes.append(process)
        self._by_descriptor[channel.fileno()] = start.worker_id
        self._poll.register(channel.fileno(), select.POLLIN)

    def _pickled_job(self) -> transport.Packet:
        try:
            return transport.encode(self._job, keeps_sharing=True)
        except Exception as error:
            method = self._context.get_start_method()
            purpose = f"with multiprocessing_context={method!r} the workers get the dataset by pickle"
            parts = {
                "dataset": self._job.dataset,
                "collate_fn": self._job.collate_fn,
                "worker_init_fn": self._job.init_fn,
            }
            raise unpicklable_error(error, parts, purpose) from error

    def give(self, worker: int, message: Any) -> None:
        """Send a worker a task."""
        channel = self._channels[worker]
        channel.post(transport.encode((message, channel.borrower.returned())))

    def finish(self, worker: int) -> None:
        """Let a worker end: there is nothing more for it to do."""
        channel = self._channels[worker]
        if channel.fileno() in self._by_descriptor:
            self._poll.unregister(channel.fileno())
            del self._by_descriptor[channel.fileno()]
            channel.close()

    def take(self, timeout: float) -> tuple[int, Reply] | None:
        """The next reply of any worker, or None after `timeout` seconds; RuntimeError when a worker has died."""
        end = time.monotonic() + timeout
        while not self._ready:
            left = end - time.monotonic()
            if left < 0:
                return None
            self._flush()
            events = self._poll.poll(min(left, MP_STATUS_CHECK_INTERVAL) * 1000)
            for descriptor, event in events:
                if event & ~select.POLLOUT:
                    self._receive(self._by_descriptor[descriptor])
            if not events:
                self._check_alive()
        return self._ready.popleft()

    def _flush(self) -> None:
        for descriptor, worker in self._by_descriptor.items():
            channel = self._channels[worker]
            channel.flush()
            self._poll.modify(descriptor, select.POLLIN | (select.POLLOUT if channel.has_backlog else 0))

    def _receive(self, worker: int) -> None:
        try:
            reply = self._channels[worker].receive()
        except EOFError:
            raise self._death(worker) from None
        if reply.kind == EXIT:
            raise self._exit(worker, reply)
        for notice in reply.notices:
            warnings.warn(f"DataLoader worker {worker}: {notice}", stacklevel=2)
        self._ready.append((worker, reply))

    def _check_alive(self) -> None:
        for worker in list(self._by_descriptor.values()):
            if not self.processes[worker].is_alive():
                raise self._death(worker)

    def _death(self, worker: int) -> RuntimeError:
        process = self.processes[worker]
        process.join(_SECONDS_TO_FINISH)
        stack = os.pread(self._stacks[worker].fileno(), 1 << 16, 0).decode(errors="replace")
        name = f"Worker {worker} of {len(self.processes)}"
        kills = out_of_memory_kills() - self._kills
        text = describe_death(process.exitcode, process.pid, name, self.describe(worker), stack, kills)
        self.close()
        return RuntimeError(text)

    def _exit(self, worker: int, reply: Reply) -> RuntimeError:
        code, detail, text = reply.value
        pid = self.processes[worker].pid
        self.close()
        call = f"sys.exit({'' if code is None else repr(code)})"
        return RuntimeError(
            f"DataLoader worker (pid {pid}) ended by itself: {call} was called in worker {worker} of "
            f"{len(self.processes)}. {detail} Raise an exception instead, which the loader passes on; an iterable "
            f"dataset ends by returning.\nOriginal {text}DataLoader worker (pid(s) {pid}) exited unexpectedly"
        )

    def describe(self, worker: int) -> str:
        """What a worker is doing, in words."""
        number, position = int(self._progress[worker, TASK]), int(self._progress[worker, POSITION])
        index = self.indices.get(number)
        return describe_task(self._job.kind, self._job.auto_collation, number, position, index)

    def stack(self, worker: int) -> str:
        """A worker's Python stack at this moment, or "" where it does not answer."""
        process, file = self.processes[worker], self._stacks[worker].fileno()
        if not process.is_alive():
            return ""
        before = os.fstat(file).st_size
        os.kill(process.pid, STACK_SIGNAL)
        for _ in range(20):
            time.sleep(0.02)
            size = os.fstat(file).st_size
            if size > before:
                time.sleep(0.02)
                return os.pread(file, 1 << 16, before).decode(errors="replace").rstrip()
        return ""

    def close(self) -> None:
        """End the workers: they drop the batch they are at, and those that cannot are terminated, then killed."""
        if self._is_closed or os.getpid() != self._owner:
            return
        self._is_closed = True
        self._progress[:, CLOSING] = 1
        self._ready.clear()
        for channel in self._channels:
            channel.close()
        _join(self.processes, _SECONDS_TO_FINISH)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        _join(self.processes, _SECONDS_TO_TERMINATE)
        for process in self.processes:
            if process.is_alive():
                process.kill()
                process.join()
        for file in (*self._stacks, self._progress_file):
            file.close()


def _join(processes: list[Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))


def _default_context() -> multiprocessing.context.BaseContext:
    """The start method that the program chose; else fork on Linux, where it costs least, also in newer Pythons."""
    if multiprocessing.get_start_method(allow_none=True) is None and sys.platform == "linux":
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context()


def _file_for_stack() -> int:
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):
            return os.memfd_create("pellucid-stack")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@contextlib.contextmanager
def _quiet_start(is_fork: bool) -> Iterator[None]:
    """While a worker is forked: an interrupt waits until the worker can take it."""
    if not is_fork:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with warnings.catch_warnings():
            if threading.active_count() == 1:  # only threads of kernels, which are made anew in the child
                warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork", category=DeprecationWarning)
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
