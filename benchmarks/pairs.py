"""Timing two things fairly: alternately in one process, so that a busy machine slows both, compared pair by pair."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Action = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Seconds of each pair of runs; `ratio` below 1 means that ours is faster."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Median over the pairs of our time to theirs."""
        return statistics.median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        return [our / their for our, their in zip(self.ours, self.theirs, strict=True)]

    def cells(self) -> list[str]:
        """Our median, their median, the ratio and the range that holds the middle half of the ratios."""
        low, _, high = statistics.quantiles(self.ratios, n=4) if len(self.ours) > 1 else [self.ratio] * 3
        return [
            duration(statistics.median(self.ours)),
            duration(statistics.median(self.theirs)),
            f"{self.ratio:.2f}",
            f"{low:.2f} to {high:.2f}",
        ]


def compare(ours: Action, theirs: Action, pairs: int = 15, at_least: float = 0.02) -> Comparison:
    """Time both `pairs` times, in alternating order, each time repeating for at least `at_least` seconds."""
    repeats = [repeats_for(ours, at_least), repeats_for(theirs, at_least)]
    seconds: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            seconds[side].append(time_once((ours, theirs)[side], repeats[side]))
    return Comparison(*seconds)


def repeats_for(action: Action, at_least: float) -> int:
    """How often to run so that the clock sees `at_least` seconds; the first, cold run is not counted."""
    action()
    return max(1, round(at_least / max(time_once(action, 1), 1e-7)))


def time_once(action: Action, repeats: int) -> float:
    """Mean seconds of `repeats` runs."""
    started = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - started) / repeats


def duration(seconds: float) -> str:
    """Seconds in a unit that needs no exponent."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
