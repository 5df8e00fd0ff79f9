"""The iterator that reads with workers: which worker gets which task, and in which order the batches come out.

How tasks reach a worker is the crew's business: `processes.py` or `threads.py`.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pellucid.utils.data._utils import pin_memory
from pellucid.utils.data._utils.iteration import Position, _BaseDataLoaderIter, job_of
from pellucid.utils.data._utils.processes import ProcessCrew
from pellucid.utils.data._utils.threads import ThreadCrew
from pellucid.utils.data._utils.worker import (
    END,
    ERROR,
    ITERABLE,
    RESUME_MESSAGE,
    RESUMED,
    TASK_MESSAGE,
    Reply,
    Start,
)

if TYPE_CHECKING:
    from pellucid.utils.data.dataloader import DataLoader

_SECONDS_BEFORE_WORRY = 300.0


@dataclass(slots=True)
class _Task:
    """A batch under way: who makes it, and the reply where that came before its turn."""

    worker: int
    reply: Reply | None = None


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Reads ahead with workers: task i goes to the workers in turn, and replies come out in the order of the tasks."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.prefetch_factor is None or loader.prefetch_factor < 1:
            raise AssertionError("prefetch_factor must be at least 1 with num_workers > 0")
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._has_warned = loader.shard is not None or loader.worker_init_fn is not None or loader.num_workers == 1
        position = self._position
        starts = [
            Start(worker, self._base_seed, position.per_worker[worker], position.worker_states[worker])
            for worker in range(self._num_workers)
        ]
        if loader.worker_type == "thread":
            self._crew: ProcessCrew | ThreadCrew = ThreadCrew(job_of(loader), starts)
        else:
            self._crew = ProcessCrew(job_of(loader), starts, loader.multiprocessing_context)
        # Runs when the iterator is dropped, at the latest when the program ends.
        self._finalizer = weakref.finalize(self, _close_crew, self._crew, os.getpid())
        self._begin()

    @property
    def _workers(self) -> list[Any]:
        return self._crew.processes

    def _begin(self) -> None:
        """Start handing out tasks."""
        position = self._position
        self._tasks: dict[int, _Task] = {}
        self._send_idx = self._rcvd_idx = position.done
        self._is_active = [True] * self._num_workers
        self._load = [0] * self._num_workers
        workers = range(self._num_workers)
        self._turns = itertools.cycle([*workers[position.next_worker :], *workers[: position.next_worker]])
        self._crew.indices.clear()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _reset(self, loader: DataLoader[Any]) -> None:
        """Begin another epoch with the same workers, whose generators go on from where they are."""
        resumed = loader._take_resumed()
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._num_yielded = 0
        self._ahead.clear()
        base_seed = self._position.base_seed
        if resumed is None:
            self._position = Position.at_start(loader)
            self._position.base_seed = base_seed
            self._position.draws_seed = False
            self._begin_sampler(draws_seed=False)
        else:
            self._take_up(loader, resumed)
        loader._position = self._position
        for worker in range(self._num_workers):
            where = self._position.per_worker[worker], self._position.worker_states[worker]
            self._crew.give(worker, (RESUME_MESSAGE, *where))
        waiting = self._num_workers
        while waiting:
            waiting -= self._next_reply()[1].kind == RESUMED
        self._begin()

    def _try_put_index(self) -> None:
        """Give the next task to the worker whose turn it is, skipping the ones that have ended."""
        try:
            while self._send_idx in self._position.beyond:  # handed out before the interruption
                self._next_index()
                self._send_idx += 1
            index = self._next_index()
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker = next(self._turns)
            if self._is_active[worker] and (self._in_order or self._has_room(worker)):
                break
        else:
            return
        self._crew.indices[self._send_idx] = index
        self._tasks[self._send_idx] = _Task(worker)
        self._load[worker] += 1
        self._crew.give(worker, (TASK_MESSAGE, self._send_idx, index))
        self._send_idx += 1

    def _has_room(self, worker: int) -> bool:
        return self._load[worker] < self._prefetch_factor * self._num_workers // sum(self._is_active)

    def _next_data(self) -> Any:
        while True:
            self._drop_tasks_of_ended_workers()
            task = self._tasks[self._rcvd_idx]
            if task.reply is not None:
                return self._hand_out(self._rcvd_idx, task.worker, task.reply)
            worker, reply = self._next_reply()
            if reply.kind == END:
                self._is_active[worker] = False
                if not self._persistent_workers:
                    self._crew.finish(worker)
                self._try_put_index()
            elif reply.number == self._rcvd_idx or not self._in_order:
                return self._hand_out(reply.number, worker, reply)
            else:
                self._tasks[reply.number].reply = reply

    def _drop_tasks_of_ended_workers(self) -> None:
        """Go to the first task that is still to come; StopIteration when there is none."""
        while self._rcvd_idx < self._send_idx:
            task = self._tasks.get(self._rcvd_idx)
            if task is not None:
                if task.reply is not None or self._is_active[task.worker]:
                    return
                del self._tasks[self._rcvd_idx], self._crew.indices[self._rcvd_idx]
            self._rcvd_idx += 1
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _hand_out(self, number: int, worker: int, reply: Reply) -> Any:
        del self._tasks[number], self._crew.indices[number]
        if number == self._rcvd_idx:
            self._rcvd_idx += 1
        self._load[worker] -= 1
        position = self._position
        if self._dataset_kind == ITERABLE:
            position.per_worker[worker] += 1
            position.done = min(position.done, 0)
        else:
            position.count(number, worker, reply.random_state)
        position.next_worker = self._worker_of_next_task(worker)
        self._try_put_index()
        if reply.kind == ERROR:
            reply.value.reraise()
        if self._dataset_kind == ITERABLE and not reply.asked_for_info:
            self._warn_of_repetition()
        return pin_memory.pin_memory(reply.value) if self._pin_memory else reply.value

    def _worker_of_next_task(self, worker: int) -> int:
        task = self._tasks.get(self._rcvd_idx)
        return (worker + 1) % self._num_workers if task is None else task.worker

    def _next_reply(self) -> tuple[int, Reply]:
        began = time.monotonic()
        has_worried = False
        while True:
            found = self._crew.take(self._timeout if self._timeout > 0 else _SECONDS_BEFORE_WORRY)
            if found is not None:
                return found
            if self._timeout > 0:
                raise RuntimeError(
                    f"DataLoader timed out after {self._timeout} seconds. {self._describe_waiting()}\n"
                    "Raise timeout if the samples are that slow. A worker that hangs in a lock was often forked while "
                    "another thread held that lock: pass multiprocessing_context='spawn' (or 'forkserver')."
                )
            if not has_worried:
                has_worried = True
                seconds = time.monotonic() - began
                warnings.warn(
                    f"DataLoader has waited {seconds:.0f} seconds for a batch. {self._describe_waiting()}", stacklevel=4
                )

    def _describe_waiting(self) -> str:
        """What the worker does that everyone waits for, and its Python stack."""
        task = self._tasks.get(self._rcvd_idx)
        worker = 0 if task is None else task.worker
        process = self._crew.processes[worker]
        pid = f" (pid {process.pid})" if hasattr(process, "pid") else ""
        stack = self._crew.stack(worker)
        where = f" Its Python stack:\n{stack}" if stack else " It gives no stack: it is inside native code."
        return f"Worker {worker} of {self._num_workers}{pid} is {self._crew.describe(worker)}.{where}"

    def _warn_of_repetition(self) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn(
            f"{type(self._dataset).__name__} is an IterableDataset that does not ask for get_worker_info(), so each of "
            f"the {self._num_workers} workers yields all of it and every item comes {self._num_workers} times. Pass "
            "shard='auto' to the DataLoader to get each item once, or split the stream in __iter__.",
            stacklevel=4,
        )

    def _shutdown_workers(self) -> None:
        """End the workers now."""
        self._finalizer()

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None:
            finalizer()


def _close_crew(crew: ProcessCrew | ThreadCrew, owner: int) -> None:
    if os.getpid() == owner:
        crew.close()
