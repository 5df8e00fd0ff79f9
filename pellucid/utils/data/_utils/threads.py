"""Worker threads: they share the dataset with the program instead of copying it, and need no shared memory."""

from __future__ import annotations

import queue
import random
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np

import pellucid
from pellucid.utils.data._utils import fetch
from pellucid.utils.data._utils.failures import ExceptionWrapper
from pellucid.utils.data._utils.randomness import numpy_seed
from pellucid.utils.data._utils.worker import (
    _RNG,
    DATA,
    END,
    ERROR,
    IDLE,
    PREPARING,
    RESUME_MESSAGE,
    RESUMED,
    Job,
    Reply,
    Start,
    WorkerInfo,
    _LoaderClosed,
    current,
    describe_task,
)

_SECONDS_TO_FINISH = 1.5


class _ThreadWorker(threading.Thread):
    """One worker thread."""

    def __init__(self, job: Job, start: Start, replies: queue.SimpleQueue[tuple[int, Reply]]) -> None:
        super().__init__(name=f"pellucid-loader-{start.worker_id}", daemon=True)
        self._job = job
        self._start_state = start
        self._replies = replies
        self._fetcher: fetch._BaseDatasetFetcher | None = None
        self._failure: ExceptionWrapper | None = None
        self._has_ended = False
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.is_closing = False
        self.number = PREPARING
        self.position = 0

    def run(self) -> None:
        """Prepare, then answer tasks until None comes."""
        try:
            self._prepare()
        except Exception:
            self._failure = self._wrapped("It was preparing to load.")
        self.number = IDLE
        while (message := self.tasks.get()) is not None and not self.is_closing:
            try:
                if message[0] == RESUME_MESSAGE:
                    self._resume(message[1])
                else:
                    self._answer(message[1], message[2])
            except _LoaderClosed:
                break
        self._fetcher = None
        current.info = None

    def _prepare(self) -> None:
        start, job = self._start_state, self._job
        seed = start.base_seed + start.worker_id
        generators = _RNG(
            random.Random(seed),
            pellucid.Generator().manual_seed(seed),
            np.random.default_rng(numpy_seed(start.base_seed, start.worker_id)),
        )
        current.info = WorkerInfo(start.worker_id, job.num_workers, seed, job.dataset, generators, "thread")
        current.was_asked = False
        if job.init_fn is not None:
            job.init_fn(start.worker_id)
        self._begin_epoch(start.skip)

    def _begin_epoch(self, skip: int) -> None:
        self._has_ended = False
        self._fetcher = self._job.fetcher(self._start_state.worker_id)
        self._fetcher.report = self._report
        if isinstance(self._fetcher, fetch._IterableDatasetFetcher):
            try:
                self._fetcher.skip(skip, self._job.batch_size)
            except StopIteration:
                self._fetcher.ended = True

    def _report(self, position: int) -> None:
        if self.is_closing:
            raise _LoaderClosed
        self.position = position

    def _resume(self, skip: int) -> None:
        try:
            if self._failure is None:
                self._begin_epoch(skip)
        except Exception:
            self._failure = self._wrapped("It was beginning an epoch.")
        self._reply(Reply(RESUMED, -1))

    def _answer(self, number: int, index: Any) -> None:
        if self._has_ended:
            return
        self.number, self.position = number, 0
        if self._failure is not None:
            self._reply(Reply(ERROR, number, self._failure))
            return
        assert self._fetcher is not None
        try:
            reply = Reply(DATA, number, self._fetcher.fetch(index))
        except SystemExit as exit_:
            # As itself it would end the whole program where it is raised again.
            try:
                raise RuntimeError(f"sys.exit({exit_.code!r}) was called in a worker thread") from exit_
            except RuntimeError:
                reply = Reply(ERROR, number, self._wrapped(self._describe(number, index)))
        except Exception as error:
            if isinstance(error, StopIteration) and isinstance(self._fetcher, fetch._IterableDatasetFetcher):
                self._has_ended = True
                reply = Reply(END, number)
            else:
                reply = Reply(ERROR, number, self._wrapped(self._describe(number, index)))
        self._reply(reply)
        self.number = IDLE

    def _describe(self, number: int, index: Any) -> str:
        return f"It was {describe_task(self._job.kind, self._job.auto_collation, number, self.position, index)}."

    def _reply(self, reply: Reply) -> None:
        reply.asked_for_info = current.was_asked
        self._replies.put((self._start_state.worker_id, reply))

    def _wrapped(self, detail: str) -> ExceptionWrapper:
        return ExceptionWrapper(where=f"in DataLoader worker thread {self._start_state.worker_id}", detail=detail)


class ThreadCrew:
    """The worker threads of one iterator; the same calls as `ProcessCrew`."""

    def __init__(self, job: Job, starts: list[Start]) -> None:
        self._job = job
        self._replies: queue.SimpleQueue[tuple[int, Reply]] = queue.SimpleQueue()
        self.processes = [_ThreadWorker(job, start, self._replies) for start in starts]
        self.indices: dict[int, Any] = {}
        for thread in self.processes:
            thread.start()

    def give(self, worker: int, message: Any) -> None:
        """Send a worker a task."""
        self.processes[worker].tasks.put(message)

    def finish(self, worker: int) -> None:
        """Let a worker end."""
        self.processes[worker].tasks.put(None)

    def take(self, timeout: float) -> tuple[int, Reply] | None:
        """The next reply of any worker, or None after `timeout` seconds."""
        try:
            return self._replies.get(timeout=timeout)
        except queue.Empty:
            return None

    def describe(self, worker: int) -> str:
        """What a worker is doing, in words."""
        thread = self.processes[worker]
        index = self.indices.get(thread.number)
        return describe_task(self._job.kind, self._job.auto_collation, thread.number, thread.position, index)

    def stack(self, worker: int) -> str:
        """A worker's Python stack at this moment."""
        frame = sys._current_frames().get(self.processes[worker].ident or 0)
        return "" if frame is None else "".join(traceback.format_stack(frame)).rstrip()

    def close(self) -> None:
        """End the workers; one that is stuck in a sample stays until the process ends, as threads cannot be killed."""
        for thread in self.processes:
            thread.is_closing = True
            thread.tasks.put(None)
        end = time.monotonic() + _SECONDS_TO_FINISH
        for thread in self.processes:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))
