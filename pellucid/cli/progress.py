"""A progress bar on the terminal: tqdm's where it is installed, else a plain one."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Protocol

WIDTH = 30


class Bar(Protocol):
    """What both bars can do."""

    def update(self, steps: int = 1) -> object: ...
    def set_description(self, text: str) -> object: ...
    def write(self, line: str) -> object: ...
    def close(self) -> object: ...


class PlainBar:
    """One line on standard error that is drawn over; silent where that is not a terminal."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.description = ""
        self.started = self.drawn = time.monotonic()
        self.is_shown = sys.stderr.isatty()

    def update(self, steps: int = 1) -> None:
        self.done += steps
        if time.monotonic() - self.drawn > 0.1 or self.done >= self.total:
            self._draw()

    def set_description(self, text: str) -> None:
        self.description = text

    def write(self, line: str) -> None:
        """Print a line above the bar."""
        self._erase()
        print(line, flush=True)
        self._draw()

    def close(self) -> None:
        self._erase()

    def _draw(self) -> None:
        if not self.is_shown:
            return
        self.drawn = time.monotonic()
        filled = WIDTH * self.done // max(self.total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        seconds = self.drawn - self.started
        sys.stderr.write(f"\r{self.description} [{bar}] {self.done}/{self.total}  {seconds:.0f} s")
        sys.stderr.flush()

    def _erase(self) -> None:
        if self.is_shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Progress:
    """A bar over `total` steps, as a context manager."""

    def __init__(self, total: int, done: int = 0) -> None:
        self.bar: Bar
        if find_spec("tqdm"):
            from tqdm import tqdm

            self.bar = tqdm(total=total, leave=False, disable=None)
        else:
            self.bar = PlainBar(total)
        self.bar.update(done)

    def __enter__(self) -> Bar:
        return self.bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.bar.close()
