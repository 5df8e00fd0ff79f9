"""Building a sample's tensors in a framework, and calling a function there."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from .table import Name, Sample, Spec

GAPS = (
    "not implemented",
    "not supported",
    "unsupported",
    "not yet implemented",
    "does not support bool",
    "supports floating point, complex, and integer tensors",
    "does not support complex",
    "returned an invalid gradient",  # of a source that is larger than its index
    "could not run",
    "internal assert",
    "does not support automatic differentiation",
    "is not differentiable with respect to",
    "expected isfloatingtype(grad",
)


@dataclass
class Outcome:
    """A result or the exception in its place."""

    result: Any = None
    error: BaseException | None = None

    @property
    def is_gap(self) -> bool:
        """Whether PyTorch only lacks a kernel for this dtype."""
        return self.error is not None and any(mark in str(self.error).lower() for mark in GAPS)


def find(framework: ModuleType, path: str) -> Any:
    """The attribute at a dotted path."""
    return functools.reduce(getattr, path.split("."), framework)


@dataclass(frozen=True)
class Builder:
    """How the tensors of a sample are laid out: `contiguous`, or `strided` (every second element of a larger one)."""

    framework: ModuleType
    layout: str = "contiguous"
    gradients: bool = False
    device: str = "cpu"
    plant: bool = False

    def tensor(self, spec: Spec) -> Any:
        values = planted(spec) if self.plant else spec.values
        if not values.size:
            tensor = self.framework.zeros(values.shape, dtype=getattr(self.framework, spec.dtype))
        elif self.layout == "strided" and values.ndim:
            wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
            wide[..., ::2] = values
            tensor = self.cast(self.framework.from_numpy(wide), spec)[..., ::2]
        else:
            tensor = self.cast(self.framework.from_numpy(np.array(values, order="C")).clone(), spec)
        if self.device != "cpu":
            tensor = tensor.to(self.device)
        return tensor.detach().requires_grad_() if self.gradients and spec.differentiable else tensor

    def cast(self, tensor: Any, spec: Spec) -> Any:
        return tensor if str(spec.values.dtype) == spec.dtype else tensor.to(getattr(self.framework, spec.dtype))

    def value(self, value: Any) -> Any:
        if isinstance(value, Spec):
            return self.tensor(value)
        if isinstance(value, Name):
            return find(self.framework, value.path)
        if isinstance(value, (tuple, list)):
            return type(value)(self.value(item) for item in value)
        return value

    def sample(self, sample: Sample) -> tuple[list[Any], dict[str, Any]]:
        args = [self.value(arg) for arg in sample.args]
        return args, {name: self.value(value) for name, value in sample.kwargs.items()}


def planted(spec: Spec) -> np.ndarray:
    """The values with a NaN, both infinities, both zeros and one spread over them, as many as there is room for."""
    values = spec.values.copy()
    if spec.differentiable and not np.iscomplexobj(values):
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], values.dtype)[: values.size]
        values.reshape(-1)[np.linspace(0, values.size - 1, len(special)).astype(int)] = special
    return values


def specs_of(value: Any) -> Iterator[Spec]:
    """All tensors to build, in the order of `tensors_of` the built ones."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, Sample):
        yield from specs_of([*value.args, *value.kwargs.values()])
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from specs_of(item)


def tensors_of(value: Any, framework: ModuleType) -> Iterator[Any]:
    """All tensors in a structure of tuples, lists and dictionaries."""
    if framework.is_tensor(value):
        yield value
    elif isinstance(value, dict):
        yield from tensors_of(list(value.values()), framework)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_of(item, framework)


def attempt(function: Any, *args: Any, **kwargs: Any) -> Outcome:
    """The call's result, or its exception."""
    try:
        return Outcome(function(*args, **kwargs))
    except Exception as error:
        return Outcome(error=error)
