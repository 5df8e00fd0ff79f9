"""Running many cases of one generator, and reporting what differs.

`PELLUCID_FUZZ_SCALE=0.1` runs a tenth of the cases. `PELLUCID_FUZZ_SEED=views:123` runs that case alone.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from types import ModuleType

import torch

from .builder import Builder
from .comparison import Comparison
from .program import program_text, run

CHUNK = 500
LAYOUTS = {"promotion": "strides", "composites": "values"}
SCALE = float(os.environ.get("PELLUCID_FUZZ_SCALE", "1"))
ONLY = os.environ.get("PELLUCID_FUZZ_SEED", "")
EXAMPLES = int(os.environ.get("PELLUCID_FUZZ_EXAMPLES", "12"))


def chunks(name: str, cases: int) -> list[range]:
    """The case numbers, in pieces that a test takes each."""
    if ONLY:
        wanted, _, number = ONLY.partition(":")
        return [range(int(number), int(number) + 1)] if wanted == name else []
    cases = max(1, int(cases * SCALE))
    return [range(start, min(start + CHUNK, cases)) for start in range(0, cases, CHUNK)]


def failures(name: str, generate: Callable[[str], Builder], cases: range, tested: ModuleType) -> str:
    """A report of the cases that differ, one shrunk example for each kind of difference; empty when none does.

    A program counts only if PyTorch gives the same when nobody looks at its tensors in between: some of its checks
    depend on whether somebody asked a view for its `grad_fn` before.
    """
    comparison = Comparison(torch, tested, LAYOUTS.get(name, "exact"))
    oracle = Comparison(torch, torch)
    unsettled = 0
    examples: dict[str, str] = {}
    counts: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in cases:
            builder = generate(f"{name}:{number}")
            expected = run(builder.steps, torch)
            if oracle.of_executions(builder.steps, builder.outcome, expected) is not None:
                unsettled += 1
            elif comparison.of_executions(builder.steps, expected, run(builder.steps, tested)) is not None:
                steps, difference = comparison.shrunk(builder.steps)
                counts[difference.kind] = counts.get(difference.kind, 0) + 1
                if difference.kind not in examples and len(examples) < EXAMPLES:
                    examples[difference.kind] = f"# {name}:{number}\n{program_text(steps)}\n{difference.detail}"
    assert unsettled <= len(cases) // 100, f"{unsettled} programs have no settled meaning in PyTorch"
    if not counts:
        return ""
    lines = [f"{sum(counts.values())} of {len(cases)} programs differ from PyTorch"]
    lines += [f"{count:5} x {kind}" for kind, count in sorted(counts.items(), key=lambda item: -item[1])]
    return "\n".join(lines) + "\n\n" + "\n\n".join(examples.values())
