"""What runs in a worker: the loop of a worker process, and `get_worker_info` for whoever runs in one."""

from __future__ import annotations

import faulthandler
import gc
import os
import select
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pellucid
from pellucid import Generator
from pellucid.multiprocessing import segments, transport
from pellucid.multiprocessing.arenas import Arena
from pellucid.multiprocessing.segments import Fallback
from pellucid.multiprocessing.shared_tensors import Batch
from pellucid.utils.data._utils import fetch
from pellucid.utils.data._utils.failures import ExceptionWrapper, find_unpicklable, unpicklable_error
from pellucid.utils.data._utils.randomness import WorkerRandomness, numpy_seed

MAP, ITERABLE = 0, 1  # kinds of dataset

# Slots of the small array that parent and worker share, one row per worker.
CLOSING, TASK, POSITION, SLOTS = 0, 1, 2, 8

STACK_SIGNAL = int(signal.SIGRTMIN) + 6 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2  # asks for the Python stack
PREPARING, IDLE = -2, -1  # what stands in TASK while there is none
_GRACE_OF_ORPHAN = 1.0  # seconds that a worker has to end by itself when its parent is gone


@dataclass(frozen=True, slots=True)
class _RNG:
    """Generators of one thread worker, which shares the global ones with every other thread."""

    random_generator: Any
    torch_generator: Generator
    numpy_generator: Any = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Facts about the worker that runs this code.

    `id` counts from 0, `seed` is what its generators were seeded with, `dataset` its copy of the dataset (the dataset
    itself in a thread); `rng` holds a thread worker's own generators.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: _RNG | None = None
    worker_method: str | None = "multiprocessing"


class _Current(threading.local):
    """Whether this thread is a worker, and whether what it runs asked for that."""

    info: WorkerInfo | None = None
    was_asked: bool = False


current = _Current()
_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker its id, the number of workers, its seed and its dataset; None in the main process.

    >>> from pellucid.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    current.was_asked = True
    return current.info or _worker_info


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """PyTorch's name of `numpy_seed`."""
    return numpy_seed(base_seed, worker_id)


@dataclass
class Job:
    """What every worker of a loader gets: what to read, and how."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    init_fn: Callable[[int], None] | None
    batch_size: int | None
    num_workers: int
    shard: str | None

    def fetcher(self, worker_id: int) -> fetch._BaseDatasetFetcher:
        """The fetcher for one worker, at the beginning of an epoch."""
        how = (self.dataset, self.auto_collation, self.collate_fn, self.drop_last)
        if self.kind == MAP:
            return fetch._MapDatasetFetcher(*how)
        if self.shard is None or self.num_workers == 1:
            return fetch._IterableDatasetFetcher(*how)
        return fetch._ShardedDatasetFetcher(
            *how, worker=worker_id, workers=self.num_workers, splits_itself=lambda: current.was_asked
        )


@dataclass
class Start:
    """Where one worker starts: its number, the epoch's seed, and how far an interrupted epoch had come."""

    worker_id: int
    base_seed: int
    skip: int = 0
    random_state: bytes | None = None


# From the parent: (TASK_MESSAGE, number, index) or (RESUME_MESSAGE, skip, random_state), each with the segments that it
# gives back. From a worker: a Reply.
TASK_MESSAGE, RESUME_MESSAGE = "task", "resume"
DATA, ERROR, END, RESUMED, EXIT = "data", "error", "end", "resumed", "exit"


@dataclass(slots=True)
class Reply:
    """A worker's answer: the kind, the task's number, what came of it, and what the parent should know besides."""

    kind: str
    number: int
    value: Any = None
    random_state: Any = None
    asked_for_info: bool = True
    notices: list[str] = field(default_factory=list)


class _LoaderClosed(BaseException):
    """The loader does not want the rest of the batch; a BaseException so that a dataset's `except` lets it pass."""


class Worker:
    """A worker process's loop over the tasks it is given."""

    def __init__(self, channel: transport.Channel, start: Start, progress: np.ndarray) -> None:
        self._channel = channel
        self._start = start
        self._progress = progress
        self._job: Job | None = None
        self._fetcher: fetch._BaseDatasetFetcher | None = None
        self._randomness: WorkerRandomness | None = None
        self._failure: ExceptionWrapper | None = None
        self._notices: list[str] = []
        self._has_ended = False
        self._size_of_batch = 0

    def run(self, job: Job | None) -> None:
        """Prepare, then answer tasks until the parent closes its end."""
        Fallback.report = self._notices.append
        try:
            self._job = self._channel.receive(is_private=True) if job is None else job
            self._prepare(self._job)
        except EOFError:
            return
        except Exception:
            self._failure = self._wrapped("It was preparing to load.")
        self._progress[TASK] = IDLE
        while True:
            try:
                message, returned = self._channel.receive()
                self._channel.lender.take_back(returned)
                if message[0] == RESUME_MESSAGE:
                    self._resume(*message[1:])
                else:
                    self._answer(message[1], message[2])
            except (EOFError, BrokenPipeError, ConnectionResetError, _LoaderClosed):
                return

    def _prepare(self, job: Job) -> None:
        global _worker_info
        start = self._start
        pellucid.set_num_threads(1)
        self._randomness = WorkerRandomness(start.base_seed, start.worker_id, [job.dataset, job.collate_fn])
        self._randomness.seed()
        seed = start.base_seed + start.worker_id
        _worker_info = WorkerInfo(start.worker_id, job.num_workers, seed, job.dataset)
        current.was_asked = False
        if job.init_fn is not None:
            job.init_fn(start.worker_id)
        self._begin_epoch(start.skip)
        if start.random_state is not None:
            self._randomness.restore(start.random_state)

    def _begin_epoch(self, skip: int) -> None:
        assert self._job is not None
        self._has_ended = False
        self._fetcher = self._job.fetcher(self._start.worker_id)
        self._fetcher.report = self._report
        if isinstance(self._fetcher, fetch._IterableDatasetFetcher):
            try:
                self._fetcher.skip(skip, self._job.batch_size)
            except StopIteration:
                self._fetcher.ended = True

    def _resume(self, skip: int, random_state: bytes | None) -> None:
        try:
            if self._failure is None and self._randomness is not None:
                self._begin_epoch(skip)
                if random_state is not None:
                    self._randomness.restore(random_state)
        except Exception:
            self._failure = self._wrapped("It was beginning an epoch.")
        self._send(Reply(RESUMED, -1))

    def _report(self, position: int) -> None:
        row = self._progress
        if row[CLOSING]:
            raise _LoaderClosed
        row[POSITION] = position

    def _answer(self, number: int, index: Any) -> None:
        if self._has_ended:
            return
        self._progress[POSITION] = 0
        self._progress[TASK] = number
        if self._failure is not None:
            self._send(Reply(ERROR, number, self._failure))
            return
        assert self._fetcher is not None
        Batch.arena = Arena(self._size_of_batch, "a batch", self._channel.lender)
        try:
            reply = Reply(DATA, number, self._fetcher.fetch(index))
        except StopIteration:
            if self._fetcher.__class__ is fetch._MapDatasetFetcher:
                reply = Reply(ERROR, number, self._wrapped(self.describe(index)))
            else:
                self._has_ended = True
                reply = Reply(END, number)
        except Exception:
            reply = Reply(ERROR, number, self._wrapped(self.describe(index)))
        except SystemExit as exit_:
            text = traceback.format_exc()
            self._send(Reply(EXIT, number, (exit_.code, self.describe(index), text)))
            raise
        self._send(reply, index)
        self._progress[TASK] = IDLE

    def _send(self, reply: Reply, index: Any = None) -> None:
        reply.notices, reply.asked_for_info = list(self._notices), current.was_asked
        self._notices.clear()
        if reply.kind == DATA and self._randomness is not None and self._fetcher.__class__ is fetch._MapDatasetFetcher:
            reply.random_state = np.frombuffer(self._randomness.state(), np.uint8)
        arena, Batch.arena = Batch.arena, None
        forgotten = self._channel.lender.forgotten()
        try:
            packet = transport.encode(reply, arena, forgotten=forgotten)
        except Exception as error:
            if arena is not None:
                arena.close()
            failure = self._wrapped_unsendable(error, reply.value, index)
            packet = transport.encode(Reply(ERROR, reply.number, failure), forgotten=forgotten)
        self._size_of_batch = packet.arena.nbytes
        self._channel.send(packet)
        packet.close(is_sent=True)

    def _wrapped(self, detail: str) -> ExceptionWrapper:
        return ExceptionWrapper(where=f"in DataLoader worker process {self._start.worker_id}", detail=detail)

    def _wrapped_unsendable(self, error: Exception, value: Any, index: Any) -> ExceptionWrapper:
        if find_unpicklable(value, "batch") is None:
            return self._wrapped(self.describe(index))
        try:
            raise unpicklable_error(error, {"batch": value}, "a batch cannot be sent to the main process") from error
        except Exception:
            return self._wrapped(self.describe(index))

    def describe(self, index: Any) -> str:
        """What the worker is doing, as a sentence."""
        assert self._job is not None
        number, position = int(self._progress[TASK]), int(self._progress[POSITION])
        return f"It was {describe_task(self._job.kind, self._job.auto_collation, number, position, index)}."


def describe_task(kind: int, is_batched: bool, number: int, position: int, index: Any) -> str:
    """What a worker does at a position of a task, in words: "loading sample index 7 (item 3 of batch 1)"."""
    if number == PREPARING:
        return "preparing to load (imports, worker_init_fn, the dataset's __iter__)"
    if number == IDLE:
        return "waiting for work"
    if kind == ITERABLE:
        if position == fetch.COLLATING:
            return f"collating batch {number}"
        return f"drawing item {position} of batch {number}" if is_batched else f"drawing item {number}"
    if not is_batched:
        return f"loading sample index {index!r}"
    if position == fetch.COLLATING:
        return f"collating batch {number} (sample indices {_shortened(index)})"
    if position == fetch.WHOLE_BATCH:
        return f"loading batch {number} by __getitems__ (sample indices {_shortened(index)})"
    try:
        return f"loading sample index {index[position]!r} (item {position} of batch {number})"
    except (IndexError, TypeError, KeyError):
        return f"loading item {position} of batch {number} (sample indices {_shortened(index)})"


def _shortened(indices: Any) -> str:
    text = repr(indices)
    return text if len(text) <= 200 else f"{text[:180]} ... ({len(indices)} in all)"


def worker_main(end: Any, start: Start, progress: Any, num_workers: int, stack: Any, job: Job | None) -> None:
    """The main function of a worker process. `progress` and `stack` are descriptors; `job` comes later under spawn."""
    _set_signals(stack.fileno())
    if job is not None:  # forked: what the parent made is permanent here, and not worth a copy by the collector
        gc.freeze()
    rows = segments.map_segment(progress.fileno(), num_workers * SLOTS * 8).view(np.int64).reshape(num_workers, SLOTS)
    channel = transport.Channel(end)
    is_done = threading.Event()
    threading.Thread(target=_end_with_parent, args=(channel.fileno(), is_done), daemon=True).start()
    try:
        Worker(channel, start, rows[start.worker_id]).run(job)
    except _LoaderClosed:
        pass
    finally:
        is_done.set()


def _set_signals(stack: int) -> None:
    # The parent reports an interrupt for all. A handler, not SIG_IGN: programs that a dataset starts do not inherit it.
    signal.signal(signal.SIGINT, _let_parent_report)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.enable(file=stack, all_threads=False)
    faulthandler.register(STACK_SIGNAL, file=stack, all_threads=False, chain=False)


def _let_parent_report(number: int, frame: Any) -> None:
    """A worker goes on: its parent gets the same interrupt and closes the channel."""


def _end_with_parent(descriptor: int, is_done: threading.Event) -> None:
    """End this process when the parent's end of the channel is closed and the main thread does not notice in time."""
    poll = select.poll()
    poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
    while not poll.poll():
        pass
    if not is_done.wait(_GRACE_OF_ORPHAN):
        os._exit(1)
