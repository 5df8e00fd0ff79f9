"""Wrong calls: samples of the catalogue with one argument spoilt, called as functions, methods, in place and layers.

What counts is whether PyTorch refuses the call, and with which class. Which calls a test makes lives elsewhere.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from tests.catalogue.running import Builder, Outcome, attempt, find, tensors_of
from tests.catalogue.table import Make, Name, Sample, Spec

from .comparison import dtype_name, error_class

GAPS = ("not implemented for", "not supported", "unsupported", "Could not run", "INTERNAL ASSERT", "not implemented")


def _spec(*shape: int, dtype: str = "float32") -> Spec:
    values = np.ones(shape, np.int64 if dtype == "int64" else np.float32)
    return Spec(values.astype(bool) if dtype == "bool" else values, dtype, False)


@dataclass(frozen=True)
class Array:
    """A NumPy array, given as such."""

    shape: tuple[int, ...]


SPOILT: dict[str, Any] = {
    "None": None,
    "string": "x",
    "float": 1.5,
    "bool": True,
    "complex": 3j,
    "-1": -1,
    "-7": -7,
    "9": 9,
    "[]": [],
    "()": (),
    "[1, 2]": [1, 2],
    "(1.5, 2.5)": (1.5, 2.5),
    "['x']": ["x"],
    "(None,)": (None,),
    "(-3, -3)": (-3, -3),
    "dict": {},
    "dtype": Name("float64"),
    "array": Array((2, 3)),
    "0-dim": _spec(),
    "1-dim": _spec(3),
    "2-dim": _spec(2, 3),
    "4-dim": _spec(2, 1, 3, 2),
    "empty": _spec(0),
    "int64 tensor": _spec(2, 3, dtype="int64"),
    "bool tensor": _spec(2, 3, dtype="bool"),
    "float64 tensor": _spec(2, 3, dtype="float64"),
    "list of tensors": [_spec(2), _spec(2)],
    "list of none and tensor": [None, _spec(2)],
}


# What ends PyTorch's process, or may take all memory: nobody makes these calls.
FATAL = frozenset((("range", "out is int64 tensor"), ("Tensor.range", "out is int64 tensor")))


@dataclass(frozen=True)
class BadCall:
    """One call: where it goes (`function`, `method`, `layer`), and what is wrong with it."""

    form: str
    name: str
    wrong: str
    sample: Sample

    @property
    def label(self) -> str:
        return f"{self.form} {self.name}: {self.wrong}"


class _Values(Builder):
    """Builds the arrays too."""

    def value(self, value: Any) -> Any:
        if isinstance(value, Array):
            return np.ones(value.shape, np.float32)
        if isinstance(value, dict):
            return {name: self.value(each) for name, each in value.items()}
        return super().value(value)


def reshaped(spec: Spec) -> Iterator[tuple[str, Spec]]:
    """The same tensor with something about it changed."""
    values = spec.values
    yield "an axis more", Spec(values[None], spec.dtype, spec.differentiable)
    if values.ndim:
        yield "an axis less", Spec(values[0] if len(values) else values.reshape(-1), spec.dtype, spec.differentiable)
        yield "longer", Spec(np.concatenate([values, values], -1)[..., : values.shape[-1] + 1], spec.dtype, False)
        yield "longer in front", Spec(np.concatenate([values, values], 0)[: len(values) + 1], spec.dtype, False)
        yield "nothing in front", Spec(values[:0], spec.dtype, False)
    for dtype in ("int64", "bool", "float64", "complex64", "bfloat16"):
        if dtype != spec.dtype:
            stored = "float32" if dtype == "bfloat16" else dtype
            real = values.real if np.iscomplexobj(values) else values
            with np.errstate(all="ignore"):
                yield f"as {dtype}", Spec(np.asarray(real).astype(stored), dtype, False)


def spoilt(value: Any) -> Iterator[tuple[str, Any]]:
    """Every wrong thing that stands in for an argument."""
    yield from SPOILT.items()
    if isinstance(value, Spec):
        yield from reshaped(value)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (Spec, Name)):
        yield "one more", (*value, value[-1])
        yield "one less", tuple(value[:-1])
        yield "negative", tuple(-each if isinstance(each, int) else each for each in value)
        yield "huge", tuple(77 if isinstance(each, int) else each for each in value)


def spoilt_samples(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """Samples with one thing wrong."""
    args, kwargs = sample.args, sample.kwargs
    for place, value in enumerate(args):
        for wrong, other in spoilt(value):
            yield f"argument {place} is {wrong}", Sample((*args[:place], other, *args[place + 1 :]), kwargs)
    for name, value in kwargs.items():
        for wrong, other in spoilt(value):
            yield f"{name} is {wrong}", Sample(args, {**kwargs, name: other})
    yield "unknown keyword", Sample(args, {**kwargs, "bogus": 1})
    if args:
        yield "one argument less", Sample(args[:-1], kwargs)
    for wrong in ("None", "string", "2-dim", "9", "array"):
        yield f"one argument more: {wrong}", Sample((*args, SPOILT[wrong]), kwargs)
    for wrong in ("string", "2-dim", "int64 tensor", "bool tensor", "list of tensors", "[]", "9"):
        yield f"out is {wrong}", Sample(args, {**kwargs, "out": SPOILT[wrong]})
    for name, wrong in (("dim", "string"), ("dim", "9"), ("dtype", "string"), ("dtype", "9"), ("device", "string")):
        if name not in kwargs:
            yield f"{name} is {wrong}", Sample(args, {**kwargs, name: SPOILT[wrong]})


def target(framework: ModuleType, call: BadCall) -> Any:
    if call.form == "method":
        return getattr(framework.Tensor, call.name.rpartition(".")[2])
    return find(framework, call.name)


def perform(framework: ModuleType, call: BadCall) -> Outcome:
    """Makes the call; a layer is only constructed."""
    args, kwargs = _Values(framework).sample(call.sample)
    framework.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attempt(target(framework, call), *args, **kwargs)


def good_calls(cases: list[Any], layers: list[Any], reference: ModuleType, tested: ModuleType) -> Iterator[BadCall]:
    """Calls of the catalogue that work in both frameworks; distinct samples of an entry that differ in their form."""
    for case in cases:
        dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
        for form, name in (("function", case.name), ("method", "Tensor." + case.name.rpartition(".")[2])):
            seen = set()
            for sample in case.samples(Make(case.label, dtype)):
                call = BadCall(form, name, "", sample)
                shape = (len(sample.args), *sample.kwargs, *(type(each) for each in sample.args))
                if shape in seen or not _works(call, reference) or not _works(call, tested):
                    continue
                seen.add(shape)
                yield call
    for layer in layers:
        call = BadCall("layer", layer.name, "", Sample(layer.args, layer.kwargs))
        if _works(call, reference) and _works(call, tested):
            yield call


def _works(call: BadCall, framework: ModuleType) -> bool:
    if call.form == "method":
        first = call.sample.args[0] if call.sample.args else None
        owner = getattr(framework.Tensor, call.name.rpartition(".")[2], None)
        if not isinstance(first, Spec) or not callable(owner):
            return False
    return perform(framework, call).error is None


def bad_calls(good: Iterator[BadCall], seed: int, share: float) -> Iterator[BadCall]:
    """A share of all spoilt versions of the good calls."""
    chosen = random.Random(seed)
    for call in good:
        for wrong, sample in spoilt_samples(call.sample):
            if chosen.random() < share and (call.name, wrong) not in FATAL:
                yield BadCall(call.form, call.name, wrong, sample)


def verdict(outcome: Outcome) -> str:
    """`ok`, or the class of the error."""
    return error_class(outcome.error) or "ok"


def difference(call: BadCall, reference: ModuleType, tested: ModuleType) -> tuple[str, str, str] | None:
    """PyTorch's verdict, ours, and what was said; None where they agree."""
    expected = perform(reference, call)
    actual = perform(tested, call)
    want, got = verdict(expected), verdict(actual)
    if expected.error is not None and any(mark in str(expected.error) for mark in GAPS):
        return (
            None if got in ("ok", "RuntimeError", "NotImplementedError", want) else (want, got, _said(expected, actual))
        )
    if want != got:
        return want, got, _said(expected, actual)
    if want != "ok":
        return None
    layouts = [
        [(dtype_name(t), tuple(t.shape)) for t in tensors_of(outcome.result, framework)]
        for outcome, framework in ((expected, reference), (actual, tested))
    ]
    return None if layouts[0] == layouts[1] else ("ok", "another result", f"{layouts[0]} | {layouts[1]}")


def _said(expected: Outcome, actual: Outcome) -> str:
    return f"{str(expected.error)[:200]!r} | {str(actual.error)[:200]!r}"
