"""Checkpointed functions give the same gradients and random numbers, recompute as in PyTorch, and fail as it does."""

from __future__ import annotations

import contextlib
import gc
import importlib
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
LIBRARIES = [pellucid, torch]
REENTRANT = pytest.mark.parametrize("use_reentrant", [False, True])


def module(library: Any) -> Any:
    return importlib.import_module(library.__name__ + ".utils.checkpoint")


def leaf(library: Any, *values: float) -> Any:
    return library.tensor(list(values) or [1.0, 2.0, 3.0], dtype=library.float64, requires_grad=True)


def array(tensor: Any) -> Any:
    return np.asarray(tensor.detach()).round(5).tolist()


def gradients(library: Any, function: Callable[..., Any], **options: Any) -> Any:
    """Output, gradients of two inputs, and how often the function ran."""
    calls: list[int] = []

    def counted(x: Any, y: Any) -> Any:
        calls.append(1)
        return function(x, y)

    x, y = leaf(library), leaf(library, 0.5, 1.5, 2.5)
    out = module(library).checkpoint(counted, x, y, **options)
    out.sum().backward()
    return array(out), array(x.grad), array(y.grad), len(calls)


@REENTRANT
def test_gradients_are_those_of_the_function_itself(use_reentrant: bool) -> None:
    ours, theirs = [
        gradients(lib, lambda x, y: ((x * y).exp() * x).sin(), use_reentrant=use_reentrant) for lib in LIBRARIES
    ]
    assert ours == theirs
    assert ours[-1] == 2


@REENTRANT
@pytest.mark.parametrize("preserve", [True, False])
def test_dropout_masks_are_the_same_the_second_time(use_reentrant: bool, preserve: bool) -> None:
    results = []
    for lib in LIBRARIES:
        lib.manual_seed(5)
        x = lib.ones(40, requires_grad=True)
        out = module(lib).checkpoint(
            lambda t, lib=lib: lib.nn.functional.dropout(t * 2, 0.5) * t,
            x,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
        lib.manual_seed(6)
        state = np.asarray(lib.get_rng_state())
        out.sum().backward()
        results.append((array(out), array(x.grad)))
        if preserve:
            assert (np.asarray(lib.get_rng_state()) == state).all()
            assert [g == 0 for g in array(x.grad)] == [v == 0 for v in array(out)]
    assert results[0] == results[1]


@pytest.mark.parametrize("early_stop", [True, False])
def test_early_stop_leaves_out_the_end(early_stop: bool) -> None:
    seen = []
    for lib in LIBRARIES:
        ends: list[int] = []

        def function(x: Any, ends: list[int] = ends) -> Any:
            y = x.exp() * x
            ends.append(1)
            return y + 1

        x = leaf(lib)
        module(lib).checkpoint(function, x, use_reentrant=False, early_stop=early_stop).sum().backward()
        with module(lib).set_checkpoint_early_stop(not early_stop):
            module(lib).checkpoint(function, x, use_reentrant=False, early_stop=early_stop).sum().backward()
        seen.append((len(ends), array(x.grad)))
    assert seen[0] == seen[1]


def test_gradients_twice_with_a_retained_graph_and_for_some_inputs() -> None:
    for lib in LIBRARIES:
        x, y = leaf(lib), leaf(lib)
        out = module(lib).checkpoint(lambda a, b: (a * b).exp() * a, x, y, use_reentrant=False).sum()
        first = lib.autograd.grad(out, (x, y), retain_graph=True)
        second = lib.autograd.grad(out, x)
        plain = lib.autograd.grad(((x * y).exp() * x).sum(), (x, y))
        assert [array(each) for each in first] == [array(each) for each in plain]
        assert array(second[0]) == array(plain[0])


def test_second_gradients() -> None:
    for lib in LIBRARIES:
        x = leaf(lib)
        out = module(lib).checkpoint(lambda t: t * t * t, x, use_reentrant=False).sum()
        (first,) = lib.autograd.grad(out, x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        assert array(second) == [6.0, 12.0, 18.0]


def test_a_checkpoint_in_a_checkpoint() -> None:
    counts = []
    for lib in LIBRARIES:
        calls: list[str] = []
        checkpoint = module(lib).checkpoint

        def inner(t: Any, calls: list[str] = calls) -> Any:
            calls.append("inner")
            return t.exp() * t

        def outer(t: Any, calls: list[str] = calls, checkpoint: Any = checkpoint) -> Any:
            calls.append("outer")
            return checkpoint(inner, t * 2, use_reentrant=False) * checkpoint(inner, t, use_reentrant=False)

        x = leaf(lib, 0.1, 0.2)
        checkpoint(outer, x, use_reentrant=False).sum().backward()
        plain = leaf(lib, 0.1, 0.2)
        (((plain * 2).exp() * plain * 2) * (plain.exp() * plain)).sum().backward()
        assert array(x.grad) == array(plain.grad)
        counts.append(calls.count("outer"))
    assert counts[0] == counts[1] == 2


def test_a_gradient_inside_the_function() -> None:
    for lib in LIBRARIES:

        def function(t: Any, lib: Any = lib) -> Any:
            (slope,) = lib.autograd.grad((t**3).sum(), t, create_graph=True)
            return slope * t

        x = leaf(lib)
        module(lib).checkpoint(function, x, use_reentrant=False).sum().backward()
        assert array(x.grad) == [9.0, 36.0, 81.0]


def test_only_the_inputs_are_kept() -> None:
    kept: list[Any] = []

    def function(t: Any) -> Any:
        middle = t.exp()
        kept.append(weakref.ref(middle))
        return middle.sin().exp()

    x = leaf(pellucid)
    out = module(pellucid).checkpoint(function, x, use_reentrant=False)
    gc.collect()
    assert kept[0]() is None
    out.sum().backward()
    gc.collect()
    assert kept[1]() is None


def test_several_outputs_keywords_and_structures() -> None:
    results = []
    for lib in LIBRARIES:
        x = leaf(lib)
        found = module(lib).checkpoint(
            lambda pair, *, scale: {"a": pair[0] * scale, "b": [pair[1].exp()]},
            (x, x * 2),
            scale=3,
            use_reentrant=False,
        )
        (found["a"] + found["b"][0]).sum().backward()
        first, second = module(lib).checkpoint(lambda t, k: (t * k, t + k), x, 2, use_reentrant=True)
        (first * second).sum().backward()
        results.append(array(x.grad))
    assert results[0] == results[1]


def changing(library: Any, change: Callable[[int, Any], Any], **options: Any) -> tuple[str, str]:
    """The error of a function that does `change(run, x)` in its first and second run."""
    runs: list[int] = []

    def function(x: Any) -> Any:
        runs.append(1)
        return change(len(runs), x)

    try:
        module(library).checkpoint(function, leaf(library), use_reentrant=False, **options).sum().backward()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


CHANGES: dict[str, Callable[[int, Any], Any]] = {
    "other shape": lambda run, x: (x[:2] if run == 2 else x).exp().sin().sum() * x,
    "other dtype": lambda run, x: (x.float() if run == 2 else x).exp().sin().sum() * x,
    "fewer": lambda run, x: x.exp() if run == 2 else x.exp().sin(),
    "more": lambda run, x: x.exp().sin() if run == 2 else x.exp(),
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("name", CHANGES)
def test_a_different_recomputation_is_an_error(name: str, early_stop: bool) -> None:
    ours, theirs = [changing(lib, CHANGES[name], early_stop=early_stop) for lib in LIBRARIES]
    assert ours[0] == theirs[0]
    assert ours[1].split("\n")[0] == theirs[1].split("\n")[0]


def test_metadata_of_different_tensors_is_shown() -> None:
    kind, text = changing(pellucid, CHANGES["other shape"])
    assert kind == "CheckpointError"
    assert "tensor at position 0:\nsaved metadata: {'shape': torch.Size([3])" in text
    assert "recomputed metadata: {'shape': torch.Size([2])" in text


def test_debug_lists_the_operators_of_both_runs() -> None:
    _, text = changing(pellucid, CHANGES["fewer"], debug=True, early_stop=False)
    first, second = text.split("Operators executed during recomputation:")
    assert "exp([3]) at" in first and "sin([3]) at" in first
    assert "exp([3]) at" in second and "sin([3]) at" not in second
    assert "test_checkpoint.py" in first


def test_differences_are_let_through_without_the_check() -> None:
    for lib in LIBRARIES:
        kind, _ = changing(
            lib, lambda run, x: x.exp() * (2 if run == 1 else 3), determinism_check="none", early_stop=False
        )
        assert kind == ""


def test_contexts_around_both_runs() -> None:
    logs = []
    for lib in LIBRARIES:
        log: list[str] = []

        @contextlib.contextmanager
        def note(name: str, log: list[str] = log) -> Any:
            log.append(name)
            yield

        def contexts(note: Any = note) -> Any:
            return note("forward"), note("recomputation")

        x = leaf(lib)
        out = module(lib).checkpoint(lambda t: t.exp(), x, use_reentrant=False, context_fn=contexts)
        log.append("between")
        out.sum().backward()
        logs.append(log)
    assert logs[0] == logs[1] == ["forward", "between", "recomputation"]


def test_a_written_input_is_found() -> None:
    for lib in LIBRARIES:
        x = leaf(lib) * 1
        out = module(lib).checkpoint(lambda t: t.exp() * t, x, use_reentrant=False)
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


MISUSES: dict[str, Callable[[Any], Any]] = {
    "keywords": lambda lib: module(lib).checkpoint(lambda t: t, leaf(lib), use_reentrant=True, other=1),
    "context": lambda lib: module(lib).checkpoint(lambda t: t, leaf(lib), use_reentrant=True, context_fn=lambda: 1),
    "debug": lambda lib: module(lib).checkpoint(lambda t: t, leaf(lib), use_reentrant=True, debug=True),
    "grad": lambda lib: lib.autograd.grad(
        (lambda x: (module(lib).checkpoint(lambda t: t.exp(), x, use_reentrant=True).sum(), x))(leaf(lib))[0],
        leaf(lib),
        allow_unused=True,
    ),
    "constant": lambda lib: (
        module(lib).checkpoint(lambda t: t.detach(), leaf(lib), use_reentrant=True).sum().backward()
    ),
    "sequential keywords": lambda lib: module(lib).checkpoint_sequential([lib.exp], 1, leaf(lib), True, other=1),
    "no tuple": lambda lib: module(lib).detach_variable([1]),
}


def outcome(call: Callable[[], Any]) -> tuple[str, str]:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_torchs_error(name: str) -> None:
    ours, theirs = [outcome(lambda lib=lib: MISUSES[name](lib)) for lib in LIBRARIES]
    assert ours == theirs


def test_reentrant_needs_a_plain_backward() -> None:
    for lib in LIBRARIES:
        x = leaf(lib)
        out = module(lib).checkpoint(lambda t: t.exp(), x, use_reentrant=True).sum()
        with pytest.raises(RuntimeError, match="incompatible with .grad\\(\\) or passing an `inputs` parameter"):
            lib.autograd.grad(out, x)


def test_warnings() -> None:
    for lib in LIBRARIES:
        with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
            module(lib).checkpoint(lambda t: t.exp(), leaf(lib))
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
            module(lib).checkpoint(lambda t: t.exp(), lib.ones(2), use_reentrant=True)


def test_without_gradients_nothing_is_kept() -> None:
    for lib in LIBRARIES:
        with lib.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert array(module(lib).checkpoint(lambda t: t * 2, leaf(lib), use_reentrant=False)) == [2.0, 4.0, 6.0]


@REENTRANT
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequential(use_reentrant: bool, segments: int) -> None:
    results = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        layers = lib.nn.Sequential(*[lib.nn.Linear(3, 3) for _ in range(4)], lib.nn.Tanh())
        x = lib.ones(2, 3, requires_grad=True)
        out = module(lib).checkpoint_sequential(layers, segments, x, use_reentrant=use_reentrant)
        out.sum().backward()
        results.append((array(out), array(x.grad), [array(each.grad) for each in layers.parameters()]))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=2e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=2e-5)
    for ours, theirs in zip(results[0][2], results[1][2], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
