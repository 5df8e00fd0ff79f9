"""Small programs, one per topic of PyTorch's documentation, show the same in both frameworks."""

from __future__ import annotations

import inspect

import pytest

import pellucid

torch = pytest.importorskip("torch")

from . import autograd_rules, checkpoints, loading, module_hooks, module_state, tensors  # noqa: E402 (needs torch)
from .running import PHRASE, UNSPOKEN, run  # noqa: E402

TOPICS = (tensors, autograd_rules, module_hooks, module_state, checkpoints, loading)
PROGRAMS = [
    pytest.param(function, id=f"{topic.__name__.rpartition('.')[2]}.{name}")
    for topic in TOPICS
    for name, function in vars(topic).items()
    if inspect.isfunction(function) and function.__module__ == topic.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_shows_the_same(program) -> None:
    expected, actual = run(program, torch), run(program, pellucid)
    for number, (want, got) in enumerate(zip(expected.lines, actual.lines, strict=False)):
        assert got == want, f"line {number}; messages: {expected.messages[-2:]} and {actual.messages[-2:]}"
    assert len(expected.lines) == len(actual.lines)
    for want, got in zip(expected.messages, actual.messages, strict=True):
        unspoken = any(phrase in want for phrase in UNSPOKEN)
        phrases = (want, want.partition("(): ")[2] or want)
        assert unspoken or any(each[:PHRASE].lower() in got.lower() for each in phrases), (
            f"PyTorch: {want}\nhere:    {got}"
        )
