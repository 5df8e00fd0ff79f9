"""vmap and forward mode over the catalogue's samples: a sample's call under vmap against a loop, its tangent against
PyTorch's.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

import pellucid
from tests.catalogue.running import attempt, find
from tests.catalogue.table import Case, Make, Name, Sample, Spec

COPIES = 3


def varied(spec: Spec, number: int) -> np.ndarray:
    """Values like those of the sample, of the same kind: scaled floats, permuted integers."""
    if np.issubdtype(spec.values.dtype, np.inexact):
        return np.asarray(spec.values * (1 - 0.04 * number), dtype=spec.values.dtype)
    return np.roll(spec.values.reshape(-1), number).reshape(spec.values.shape)


@dataclass
class Call:
    """The tensors of a sample in order, and how to call a function with others in their places."""

    function: Any
    sample: Sample
    specs: list[Spec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._collect([*self.sample.args, *self.sample.kwargs.values()])

    def _collect(self, value: Any) -> None:
        if isinstance(value, Spec):
            self.specs.append(value)
        elif isinstance(value, tuple | list):
            for each in value:
                self._collect(each)

    def run(self, framework: ModuleType, case: Case, tensors: Any) -> Any:
        left = iter(tensors)

        def value(given: Any) -> Any:
            if isinstance(given, Spec):
                return next(left)
            if isinstance(given, Name):
                return find(framework, given.path)
            if isinstance(given, tuple | list):
                return type(given)([value(each) for each in given])
            return given

        args = [value(each) for each in self.sample.args]
        kwargs = {name: value(each) for name, each in self.sample.kwargs.items()}
        found = find(framework, case.name)(*args, **kwargs)
        return found if case.through is None else case.through(framework, found)


def leaves_of(value: Any, framework: ModuleType) -> list[Any]:
    """The tensors in a result."""
    if framework.is_tensor(value):
        return [value]
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in leaves_of(each, framework)]
    return []


def array(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().clone().resolve_conj()  # PyTorch's lazy zeros and conjugates have no array
    if tensor.is_meta:
        return np.zeros(tuple(tensor.shape))
    return np.asarray((tensor if tensor.is_complex() else tensor.double()).numpy())


def same(ours: Any, theirs: Any, tolerance: float) -> bool:
    a, b = array(ours), array(theirs)
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def same_where_finite(ours: Any, theirs: Any, tolerance: float) -> bool:
    """At poles the order of operations decides between infinity and NaN."""
    a, b = array(ours), array(theirs)
    finite = np.isfinite(a) & np.isfinite(b)
    return a.shape == b.shape and np.allclose(a[finite], b[finite], rtol=tolerance, atol=tolerance)


def samples(case: Case, dtype: str, most: int) -> list[Sample]:
    return list(case.samples(Make(case.name, dtype)))[:most]


def vmap_differences(case: Case, reference: ModuleType, dtype: str, most: int) -> list[str]:
    """What is wrong with vmap over this entry of the catalogue."""
    found = []
    for number, sample in enumerate(samples(case, dtype, most)):
        call = Call(None, sample)
        if not call.specs:
            continue
        for dims in ("all", "first"):
            wrong = _vmap_difference(call, case, reference, dims)
            if wrong:
                found.append(f"{case.label} sample {number} ({dims}): {wrong}")
    return found


def _stacks(call: Call, framework: ModuleType, dims: str) -> tuple[list[Any], tuple[Any, ...]]:
    tensors, places = [], []
    for position, spec in enumerate(call.specs):
        hidden = dims == "all" or position == 0
        axis = 0 if dims == "all" else spec.values.ndim
        values = np.stack([varied(spec, i) for i in range(COPIES)], axis) if hidden else spec.values
        tensor = framework.from_numpy(np.ascontiguousarray(values).reshape(values.shape).copy())
        tensors.append(tensor.to(getattr(framework, spec.dtype)))
        places.append(axis if hidden else None)
    return tensors, tuple(places)


def _vmap_difference(call: Call, case: Case, reference: ModuleType, dims: str) -> str:
    def function(framework: ModuleType) -> Any:
        return lambda *tensors: tuple(leaves_of(call.run(framework, case, tensors), framework))

    tensors, places = _stacks(call, pellucid, dims)
    rows = [
        [x if axis is None else x.select(axis, i) for x, axis in zip(tensors, places, strict=True)]
        for i in range(COPIES)
    ]
    looped = [attempt(function(pellucid), *row) for row in rows]
    if any(each.error is not None or not each.result for each in looped):
        return ""
    if any(len({tuple(x.shape) for x in column}) > 1 for column in zip(*[each.result for each in looped], strict=True)):
        return ""
    mapped = attempt(pellucid.vmap(function(pellucid), in_dims=places), *tensors)
    if mapped.error is not None:
        theirs, their_places = _stacks(call, reference, dims)
        if attempt(reference.vmap(function(reference), in_dims=their_places), *theirs).error is not None:
            return ""
        return f"{type(mapped.error).__name__}: {str(mapped.error)[:160]}"
    for position, (ours, *expected) in enumerate(zip(mapped.result, *[each.result for each in looped], strict=True)):
        wanted = pellucid.stack(expected)
        if ours.dtype is not wanted.dtype:
            return f"output {position} has dtype {ours.dtype} instead of {wanted.dtype}"
        if not same(ours, wanted, 2e-5):
            return f"output {position} differs: shapes {tuple(ours.shape)} and {tuple(wanted.shape)}"
    return ""


def tangent_differences(case: Case, reference: ModuleType, dtype: str, most: int) -> list[str]:
    """What is wrong with forward mode over this entry of the catalogue."""
    found = []
    for number, sample in enumerate(samples(case, dtype, most)):
        call = Call(None, sample)
        if any(spec.differentiable for spec in call.specs):
            wrong = _tangent_difference(call, case, reference)
            if wrong:
                found.append(f"{case.label} sample {number}: {wrong}")
    return found


def _tangent_difference(call: Call, case: Case, reference: ModuleType) -> str:
    outcomes = []
    random = np.random.default_rng(3)
    directions = [random.standard_normal(spec.values.shape) for spec in call.specs]
    if case.symmetric:
        directions = [each + np.swapaxes(each, -1, -2) if each.ndim > 1 else each for each in directions]
    for framework in (reference, pellucid):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.append(attempt(_pushed, framework, call, case, directions))
    theirs, ours = outcomes
    if theirs.error is not None:
        return ""
    if ours.error is not None:
        return f"{type(ours.error).__name__}: {str(ours.error)[:160]}"
    for position, (mine, wanted) in enumerate(zip(ours.result, theirs.result, strict=True)):
        if not same(mine, wanted, 3e-4 if any(spec.dtype == "complex64" for spec in call.specs) else 1e-6):
            return f"tangent {position} differs: {array(mine).ravel()[:4]} instead of {array(wanted).ravel()[:4]}"
    return ""


def _pushed(framework: ModuleType, call: Call, case: Case, directions: list[np.ndarray]) -> list[Any]:
    """The tangents of the floating results; in PyTorch by two reverse passes where it has no forward mode."""
    tensors = [framework.from_numpy(np.array(spec.values)).to(getattr(framework, spec.dtype)) for spec in call.specs]
    moving = [i for i, spec in enumerate(call.specs) if spec.differentiable]
    tangents = tuple([framework.from_numpy(np.array(directions[i])).to(tensors[i].dtype) for i in moving])

    def function(*moved: Any) -> Any:
        given = list(tensors)
        for i, tensor in zip(moving, moved, strict=True):
            given[i] = tensor
        found = leaves_of(call.run(framework, case, given), framework)
        return tuple([each for each in found if each.is_floating_point() or each.is_complex()])

    primals = tuple([tensors[i] for i in moving])
    try:
        return list(framework.func.jvp(function, primals, tangents)[1])
    except (NotImplementedError, RuntimeError):
        if framework is pellucid:
            raise
        return list(framework.autograd.functional.jvp(function, primals, tangents)[1])


def gradient_differences(case: Case, dtype: str, most: int) -> list[str]:
    """What is wrong with gradients inside vmap, with gradients of vmap, and with tangents of gradients, which are
    compared with loops and with second reverse passes.
    """
    found = []
    for number, sample in enumerate(samples(case, dtype, most)):
        call = Call(None, sample)
        if not any(spec.differentiable for spec in call.specs):
            continue
        outcome = attempt(_gradient_difference, call, case)
        if outcome.error is not None:
            found.append(f"{case.label} sample {number}: {type(outcome.error).__name__}: {str(outcome.error)[:160]}")
        elif outcome.result:
            found.append(f"{case.label} sample {number}: {outcome.result}")
    return found


def _gradient_difference(call: Call, case: Case) -> str:
    tensors, _ = _stacks(call, pellucid, "all")
    moving = [i for i, spec in enumerate(call.specs) if spec.differentiable]

    def gradients(*given: Any) -> tuple[Any, ...]:
        """Of the sum of squares of the floating results, with respect to the floating operands."""

        def value(*moved: Any) -> Any:
            operands = list(given)
            for i, tensor in zip(moving, moved, strict=True):
                operands[i] = tensor
            results = [x for x in leaves_of(call.run(pellucid, case, operands), pellucid) if x.dtype.is_floating_point]
            return sum([(x * x).sum() for x in results], pellucid.zeros((), dtype=pellucid.float64))

        return pellucid.func.grad(value, argnums=tuple(range(len(moving))))(*[given[i] for i in moving])

    rows = [[x[i] for x in tensors] for i in range(COPIES)]
    looped = [attempt(gradients, *row) for row in rows]
    if any(each.error is not None for each in looped):
        return ""
    expected = [pellucid.stack(column) for column in zip(*[each.result for each in looped], strict=True)]
    mapped = attempt(pellucid.vmap(gradients), *tensors)
    if mapped.error is not None:
        return f"inside vmap: {type(mapped.error).__name__}: {str(mapped.error)[:160]}"
    for position, (ours, theirs) in enumerate(zip(mapped.result, expected, strict=True)):
        if not same(ours, theirs, 1e-7):
            return f"gradient {position} inside vmap differs"
    return _tangent_of_gradient(gradients, rows[0], moving, case.symmetric or "eig" in case.name)


def _tangent_of_gradient(gradients: Any, row: list[Any], moving: list[int], symmetric: bool) -> str:
    """Forward over reverse mode against reverse over reverse mode."""
    random = np.random.default_rng(5)
    primals = tuple([row[i] for i in moving])
    values = [random.standard_normal(tuple(x.shape)) for x in primals]
    if symmetric:
        values = [each + np.swapaxes(each, -1, -2) if each.ndim > 1 else each for each in values]
    directions = tuple([pellucid.from_numpy(each) for each in values])

    def function(*moved: Any) -> tuple[Any, ...]:
        given = list(row)
        for i, tensor in zip(moving, moved, strict=True):
            given[i] = tensor
        return gradients(*given)

    twice = attempt(lambda: pellucid.func.vjp(function, *primals)[1](directions))
    if twice.error is not None:
        return ""
    pushed = attempt(pellucid.func.jvp, function, primals, directions)
    if pushed.error is not None:
        return f"tangent of gradient: {type(pushed.error).__name__}: {str(pushed.error)[:160]}"
    for position, (ours, theirs) in enumerate(zip(pushed.result[1], twice.result, strict=True)):
        if symmetric and ours.dim() > 1:  # the other half of a symmetric matrix's gradient means nothing
            ours, theirs = ours + ours.mT, theirs + theirs.mT
        if not same_where_finite(ours, theirs, 1e-6):
            return f"tangent of gradient {position} differs from the second reverse pass"
    return ""
