"""Programs as data: a list of calls on numbered tensors, which run in either framework and print as Python.

What generates programs, and what compares their outcomes, lives elsewhere.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import EllipsisType, ModuleType
from typing import Any

import numpy as np

OPERATORS: dict[str, tuple[str, Callable[..., Any]]] = {
    "+": ("{} + {}", operator.add),
    "-": ("{} - {}", operator.sub),
    "*": ("{} * {}", operator.mul),
    "/": ("{} / {}", operator.truediv),
    "//": ("{} // {}", operator.floordiv),
    "%": ("{} % {}", operator.mod),
    "**": ("{} ** {}", operator.pow),
    "&": ("{} & {}", operator.and_),
    "|": ("{} | {}", operator.or_),
    "^": ("{} ^ {}", operator.xor),
    "<<": ("{} << {}", operator.lshift),
    ">>": ("{} >> {}", operator.rshift),
    "==": ("{} == {}", operator.eq),
    "!=": ("{} != {}", operator.ne),
    "<": ("{} < {}", operator.lt),
    "<=": ("{} <= {}", operator.le),
    ">": ("{} > {}", operator.gt),
    ">=": ("{} >= {}", operator.ge),
    "neg": ("-{}", operator.neg),
    "invert": ("~{}", operator.invert),
    "iadd": ("operator.iadd({}, {})", operator.iadd),
    "isub": ("operator.isub({}, {})", operator.isub),
    "imul": ("operator.imul({}, {})", operator.imul),
    "itruediv": ("operator.itruediv({}, {})", operator.itruediv),
    "ifloordiv": ("operator.ifloordiv({}, {})", operator.ifloordiv),
    "imod": ("operator.imod({}, {})", operator.imod),
    "ipow": ("operator.ipow({}, {})", operator.ipow),
    "iand": ("operator.iand({}, {})", operator.iand),
    "ior": ("operator.ior({}, {})", operator.ior),
    "ixor": ("operator.ixor({}, {})", operator.ixor),
    "getitem": ("{}[{}]", operator.getitem),
    "setitem": ("{}[{}] = {}", operator.setitem),
    "attribute": ("{}.{}", getattr),
}


@dataclass(frozen=True)
class Ref:
    """The tensor that an earlier step made."""

    index: int


@dataclass(frozen=True)
class DType:
    """A dtype by name, or any other attribute of the framework that is a constant."""

    name: str


@dataclass(frozen=True, eq=False)
class Data:
    """A fresh tensor with these values."""

    values: np.ndarray
    dtype: str
    requires_grad: bool = False

    def build(self, framework: ModuleType) -> Any:
        if not self.values.size:
            tensor = framework.zeros(self.values.shape, dtype=getattr(framework, self.dtype))
            return tensor.requires_grad_() if self.requires_grad else tensor
        tensor = framework.from_numpy(np.ascontiguousarray(self.values).reshape(self.values.shape)).clone()
        if self.dtype != str(self.values.dtype):
            tensor = tensor.to(getattr(framework, self.dtype))
        return tensor.requires_grad_() if self.requires_grad else tensor


@dataclass(frozen=True, eq=False)
class Array:
    """A NumPy array, given as such."""

    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Step:
    """One call; `targets` are the numbers that its result, or each of its results, gets."""

    call: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    targets: tuple[int, ...] = ()
    no_grad: bool = False


@dataclass
class Execution:
    """What running a program left: the live tensors, and for each step None or its exception."""

    tensors: dict[int, Any] = field(default_factory=dict)
    errors: list[BaseException | None] = field(default_factory=list)


class MissingTensor(Exception):
    """The step refers to a tensor that was never made; it is skipped."""


def resolve(value: Any, framework: ModuleType, tensors: dict[int, Any]) -> Any:
    """The value that the framework gets for a value in a program."""
    if isinstance(value, Ref):
        if value.index not in tensors:
            raise MissingTensor
        return tensors[value.index]
    if isinstance(value, Data):
        return value.build(framework)
    if isinstance(value, DType):
        return find(framework, value.name)
    if isinstance(value, Array):
        return value.values.copy()
    if isinstance(value, slice):
        return slice(*(resolve(part, framework, tensors) for part in (value.start, value.stop, value.step)))
    if isinstance(value, (tuple, list)):
        return type(value)(resolve(item, framework, tensors) for item in value)
    return value


def find(framework: ModuleType, path: str) -> Any:
    """The attribute at a dotted path under the framework."""
    result: Any = framework
    for name in path.split("."):
        result = getattr(result, name)
    return result


def execute(step: Step, framework: ModuleType, tensors: dict[int, Any]) -> BaseException | None:
    """Runs one step and binds its results; a step whose operands are missing does nothing."""
    try:
        args = resolve(step.args, framework, tensors)
        kwargs = {name: resolve(value, framework, tensors) for name, value in step.kwargs.items()}
    except MissingTensor:
        return None
    try:
        with framework.no_grad() if step.no_grad else contextlib.nullcontext():
            if step.call == "data":
                result = args[0]
            elif step.call in OPERATORS:
                result = OPERATORS[step.call][1](*args)
            elif step.call.startswith("."):
                result = getattr(args[0], step.call[1:])(*args[1:], **kwargs)
            else:
                result = find(framework, step.call)(*args, **kwargs)
    except Exception as error:
        return error
    if len(step.targets) == 1 and not isinstance(result, (tuple, list)):
        tensors[step.targets[0]] = result
    elif step.targets:
        tensors.update(zip(step.targets, result, strict=False))
    return None


def run(steps: Iterable[Step], framework: ModuleType) -> Execution:
    """Runs all steps, also those after one that raised."""
    execution = Execution()
    for step in steps:
        execution.errors.append(execute(step, framework, execution.tensors))
    return execution


def text_of(value: Any) -> str:
    """A value of a program as Python source."""
    if isinstance(value, Ref):
        return f"t{value.index}"
    if isinstance(value, DType):
        return f"torch.{value.name}"
    if isinstance(value, Data):
        suffix = ", requires_grad=True" if value.requires_grad else ""
        if value.values.size:
            return f"torch.tensor({value.values.tolist()}, dtype=torch.{value.dtype}{suffix})"
        return f"torch.zeros({value.values.shape}, dtype=torch.{value.dtype}{suffix})"
    if isinstance(value, Array):
        return f"np.array({value.values.tolist()}, dtype=np.{value.values.dtype}).reshape({value.values.shape})"
    if isinstance(value, EllipsisType):
        return "..."
    if isinstance(value, slice):
        return f"slice({text_of(value.start)}, {text_of(value.stop)}, {text_of(value.step)})"
    if isinstance(value, (tuple, list)):
        inside = ", ".join(text_of(item) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float('{value}')"
    return repr(value)


def call_text(step: Step) -> str:
    """The call without its targets and its grad mode."""
    args = [text_of(arg) for arg in step.args]
    kwargs = [f"{name}={text_of(value)}" for name, value in step.kwargs.items()]
    if step.call == "data":
        return args[0]
    if step.call == "attribute":
        return f"{args[0]}.{step.args[1]}"
    if step.call in OPERATORS:
        return OPERATORS[step.call][0].format(*args)
    if step.call.startswith("."):
        return f"{args[0]}{step.call}({', '.join(args[1:] + kwargs)})"
    return f"torch.{step.call}({', '.join(args + kwargs)})"


def program_text(steps: Iterable[Step]) -> str:
    """The program as Python lines."""
    lines = []
    for step in steps:
        targets = "".join(f"t{index}, " for index in step.targets)
        if len(step.targets) == 1:
            targets = targets[:-2]
        assignment = f"{targets.rstrip()} = " if targets else ""
        lines.append(("with torch.no_grad(): " if step.no_grad else "") + assignment + call_text(step))
    return "\n".join(lines)
