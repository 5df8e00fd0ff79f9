"""Start a function in several processes and wait for them: `spawn`, `start_processes` and their errors."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_GRACE = 30.0  # seconds between asking the other processes to end and killing them


class ProcessException(Exception):
    """A process failed: its number and its pid."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised in a process; the message holds that process's traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], number: int, args: tuple[Any, ...], error_file: str, parent: int) -> None:
    threading.Thread(target=_interrupt_when_orphaned, args=(parent,), daemon=True).start()
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too and reports it
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


def _interrupt_when_orphaned(parent: int) -> None:
    while os.getppid() == parent or _is_forkserver_child(parent):
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)


def _is_forkserver_child(parent: int) -> bool:
    process = multiprocessing.parent_process()
    return process is not None and process.pid == parent and process.is_alive()


class ProcessContext:
    """The processes that `start_processes` started.

    >>> from pellucid.multiprocessing import ProcessContext
    >>> ProcessContext([], []).join()
    True
    """

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids, in order."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for a process to end: True when all have, an exception when one failed (the others are then ended).

        `grace_period` is how many seconds the others get before SIGTERM, and again before SIGKILL.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout=timeout):
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                failed = number
                break
        if failed is None:
            return len(self.sentinels) == 0
        self._end_all(grace_period)
        raise self._error_of(failed)

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_within(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._join_within(_GRACE if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _join_within(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _error_of(self, number: int) -> ProcessException:
        process = self.processes[number]
        pid, code = process.pid, process.exitcode
        with contextlib.suppress(FileNotFoundError):
            with open(self.error_files[number], "rb") as file:
                text = pickle.load(file)
            os.unlink(self.error_files[number])
            message = f"\n\n-- Process {number} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, number, pid)
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            return ProcessExitedException(
                f"process {number} terminated with signal {name}", number, pid, code, signal_name=name
            )
        return ProcessExitedException(f"process {number} terminated with exit code {code}", number, pid, code)


class SpawnContext(ProcessContext):
    """The old name of `ProcessContext`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(number, *args)` in `nprocs` processes; with `join` wait for all of them, else return their context.

    >>> from pellucid.multiprocessing import start_processes
    >>> start_processes(divmod, args=(3,), nprocs=2, start_method="fork")
    """
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for number in range(nprocs):
        error_file = os.path.join(tempfile.gettempdir(), f"pellucid-error-{os.getpid()}-{time.monotonic_ns()}-{number}")
        process = context.Process(  # type: ignore[attr-defined]
            target=_run, args=(fn, number, args, error_file, os.getpid()), daemon=daemon
        )
        process.start()
        processes.append(process)
        error_files.append(error_file)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` in fresh interpreters: `fn` must be importable, and the script guarded by `__main__`.

    >>> from pellucid.multiprocessing import spawn
    >>> spawn(print, nprocs=0)
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t pellucid.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
