"""What went wrong in a worker, told in the main process: exceptions, deaths, things that cannot be pickled."""

from __future__ import annotations

import contextlib
import functools
import signal
import sys
import traceback
import types
from typing import Any

from pellucid import Tensor
from pellucid.multiprocessing.segments import describe_room, describe_size
from pellucid.multiprocessing.transport import try_to_pickle

_DEEPEST = 12


class KeyErrorMessage(str):
    """A text that KeyError shows as it is, where it would show the repr of a plain str."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, which `reraise` raises again as the same class in another process.

    `detail` is a sentence on what was being done, such as the sample's index.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background", detail: str = "") -> None:
        exc_info = sys.exc_info() if exc_info is None else exc_info
        kind, error = exc_info[:2]
        self.exc_type: type[BaseException] = _nameable(kind)
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where
        self.detail = detail
        self.attributes = {name: value for name, value in vars(error).items() if _is_picklable(value)}
        self.errno = getattr(error, "errno", None) if isinstance(error, OSError) else None

    def reraise(self) -> None:
        """Raise the exception here, with the other side's traceback in its message."""
        raise self.exception()

    def exception(self) -> BaseException:
        """The exception to raise: the original class, its attributes, and a message with all that is known."""
        detail = f" {self.detail}" if self.detail else ""
        message = f"Caught {self.exc_type.__name__} {self.where}.{detail}\nOriginal {self.exc_msg}"
        error = _construct(self.exc_type, message)
        with contextlib.suppress(AttributeError):
            vars(error).update(self.attributes)
        if isinstance(error, OSError) and isinstance(self.errno, int):
            error.errno = self.errno
        return error


def _construct(kind: type[BaseException], message: str) -> BaseException:
    """An exception of this class that shows this message, whatever its constructor asks for."""
    text = KeyErrorMessage(message) if issubclass(kind, KeyError) else message
    with contextlib.suppress(Exception):
        error = kind(text)
        if message in str(error):
            return error

    def show(self: BaseException) -> str:
        return message

    shown: Any = type(kind.__name__, (kind,), {"__str__": show, "__module__": kind.__module__})
    error = shown.__new__(shown)
    error.args = (text,)
    return error


def _nameable(kind: type[BaseException]) -> type[BaseException]:
    """The class, or the nearest of its bases that another process can find by name."""
    return next(base for base in kind.__mro__ if _is_picklable(base))


def _is_picklable(value: Any) -> bool:
    try:
        try_to_pickle(value)
    except Exception:
        return False
    return True


def describe_death(exit_code: int | None, pid: int | None, worker: str, task: str, stack: str, kills: int) -> str:
    """Why a worker process is gone, what it was doing, and what to do about it."""
    lines = []
    if exit_code is not None and exit_code < 0:
        number = -exit_code
        name = signal.Signals(number).name if number in {item.value for item in signal.Signals} else str(number)
        lines.append(
            f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(number)} ({name}). "
            f"{worker} was {task}."
        )
        lines.append(_cause_of_signal(number, kills))
    else:
        code = "an unknown exit code" if exit_code is None else f"exit code {exit_code}"
        lines.append(f"DataLoader worker (pid {pid}) ended by itself with {code}. {worker} was {task}.")
        if exit_code:
            lines.append(
                "The dataset (or a library that it uses) called os._exit or exit(), or the worker could not start: the "
                "worker's own output says more. With spawn or forkserver the script needs "
                "`if __name__ == '__main__':` around what it runs."
            )
    if stack.strip():
        lines.append(f"The worker's Python stack at that moment:\n{stack.rstrip()}")
    lines.append(f"DataLoader worker (pid(s) {pid}) exited unexpectedly")
    return "\n".join(lines)


def _cause_of_signal(number: int, kills: int) -> str:
    if number == signal.SIGKILL:
        if kills > 0:
            cause = f"The kernel's out-of-memory killer ended {kills} process(es) meanwhile: memory is the cause."
        else:
            cause = (
                "The likely cause is memory: by SIGKILL the kernel (or a container) ends a process that needs too much."
            )
        return (
            f"{cause} {describe_memory()}. Use fewer num_workers, a smaller batch_size or prefetch_factor, or "
            "worker_type='thread', whose workers share one copy of the dataset; `dmesg` shows what the kernel did."
        )
    if number == signal.SIGBUS:
        return f"A file or shared memory that is mapped has no room or has become shorter: {describe_room('/dev/shm')}."
    if number in (signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGFPE):
        return (
            "A native library crashed in the worker. Load the same sample with num_workers=0 to find it; if it works "
            "there, the library does not bear a fork: pass multiprocessing_context='spawn' (or 'forkserver')."
        )
    return "Another process sent the signal: a job scheduler, a supervisor, or a time limit."


def describe_memory() -> str:
    """Free and total memory of the machine, and the container's limit where there is one."""
    facts = {}
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as file:
        for line in file:
            name, _, rest = line.partition(":")
            facts[name] = int(rest.split()[0]) * 1024
    parts = []
    if "MemAvailable" in facts:
        parts.append(
            f"{describe_size(facts['MemAvailable'])} of {describe_size(facts['MemTotal'])} of memory are available now"
        )
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            limit = int(file.read())
            if limit < facts.get("MemTotal", 1 << 60):
                parts.append(f"the container's limit is {describe_size(limit)}")
    return ", ".join(parts) or "how much memory is available is unknown"


def out_of_memory_kills() -> int:
    """How many processes of this container the out-of-memory killer has ended so far."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            for line in file:
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    with contextlib.suppress(OSError, ValueError), open("/proc/vmstat") as file:
        for line in file:
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def find_unpicklable(value: Any, path: str) -> tuple[str, Any, Exception] | None:
    """(path, object, error) of the innermost part that cannot be pickled, or None where everything can."""
    return _search(value, path, set(), 0)


def _search(value: Any, path: str, seen: set[int], depth: int) -> tuple[str, Any, Exception] | None:
    if id(value) in seen:
        return None
    seen.add(id(value))
    try:
        try_to_pickle(value)
        return None
    except Exception as error:
        if depth < _DEEPEST:
            for name, part in _parts(value):
                found = _search(part, path + name, seen, depth + 1)
                if found is not None:
                    return found
        return path, value, error


def _parts(value: Any) -> list[tuple[str, Any]]:
    """What pickling the object would pickle, with the text that leads there."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [(f"[{number}]", item) for number, item in enumerate(value)]
    if isinstance(value, functools.partial):
        return [(".func", value.func), (".args", value.args), (".keywords", value.keywords)]
    if isinstance(value, types.MethodType):
        return [(".__self__", value.__self__)]
    if isinstance(value, (types.FunctionType, type, Tensor)):
        return []
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        return []  # it refuses by itself: a file, a lock, a generator
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    parts = []
    for attributes in state if isinstance(state, tuple) else (state,):
        if isinstance(attributes, dict):
            parts += [(f".{name}", item) for name, item in attributes.items()]
    if isinstance(reduced, tuple):
        parts += [("", item) for item in reduced[1]]
    return parts


def unpicklable_error(error: Exception, parts: dict[str, Any], purpose: str) -> Exception:
    """The pickling error, of its own class, with the path to what cannot be pickled and what to do."""
    for name, value in parts.items():
        found = find_unpicklable(value, name)
        if found is not None:
            path, culprit, reason = found
            kind = type(culprit)
            what = getattr(culprit, "__qualname__", None) if isinstance(culprit, types.FunctionType) else None
            message = (
                f"{purpose}: {path} ({what or f'{kind.__module__}.{kind.__qualname__}'}) cannot be pickled: {reason}. "
                "Give it a name at the top level of a module (a lambda or a local function has none), open files and "
                "connections on first use in the worker, or drop them in __getstate__"
            )
            return _construct(_nameable(type(reason)), message)  # type: ignore[return-value]
    return error
