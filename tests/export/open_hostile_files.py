"""Opens every hostile file, in a process of its own, and prints what happened as one line of JSON per case."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import tracemalloc

sys.path.insert(0, os.path.dirname(__file__))

import hostile

import pellucid
import pellucid.serialization

SECONDS = 20


class TookTooLongError(BaseException):
    pass


def out_of_time(*_: object) -> None:
    raise TookTooLongError


def attempt(path: str) -> tuple[str, str]:
    """The class and message of the error, or `loaded` and what was loaded."""
    try:
        loaded = pellucid.serialization.load(path)
    except Exception as error:
        return type(error).__name__, str(error)
    except TookTooLongError:
        return "TookTooLong", ""
    return "loaded", repr(loaded)[:500]


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    signal.signal(signal.SIGALRM, out_of_time)
    importlib.import_module("pellucid.nn.parameter")  # its memory is not a file's
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        for position, case in enumerate(hostile.cases()):
            path = os.path.join(folder, f"case{case.ending}")
            with open(path, "wb") as file:
                file.write(case.content)
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            started = time.perf_counter()
            signal.alarm(SECONDS)
            kind, message = attempt(path)
            signal.alarm(0)
            seconds, peak = time.perf_counter() - started, tracemalloc.get_traced_memory()[1] - before
            canary = os.path.exists(hostile.CANARY)
            print(json.dumps([position, kind, message, seconds, peak, canary]), flush=True)


if __name__ == "__main__":
    main()
