"""When two executions of one program are the same: errors by class, tensors by everything a user can ask of them."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from .program import Execution, Step, program_text, run

TOLERANCES = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-10,
    "complex128": 1e-10,
}


INDEXED_WRITES = ("setitem", ".index_put_", ".index_add_", ".index_copy_", ".index_fill_")


@dataclass(frozen=True)
class Difference:
    """`kind` groups differences of one cause; `detail` says what was found in this program."""

    kind: str
    detail: str


def error_class(error: BaseException | None) -> str | None:
    """The name of the built-in class that the exception is, or derives from most closely."""
    if error is None:
        return None
    return next(cls.__name__ for cls in type(error).__mro__ if getattr(builtins, cls.__name__, None) is cls)


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).split(".")[-1]


def values_of(tensor: Any, framework: ModuleType) -> np.ndarray:
    """The values as a NumPy array; the narrow floats, which NumPy has not, as float32."""
    plain = tensor.detach()
    if dtype_name(plain) == "bfloat16" or dtype_name(plain).startswith("float8"):
        plain = plain.to(framework.float32)
    try:
        return plain.numpy()
    except RuntimeError:  # lazily conjugated, negated or zero
        return plain.numpy(force=True)


def layout_of(tensor: Any) -> dict[str, Any]:
    """All that a tensor says of itself besides its values; a view that a write made invalid says an error."""
    try:
        is_leaf: Any = tensor.is_leaf
        grad_fn: Any = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
    except RuntimeError as error:
        is_leaf = grad_fn = type(error).__name__
    return {
        "shape": tuple(tensor.shape),
        "dtype": dtype_name(tensor),
        "requires_grad": tensor.requires_grad,
        "is_leaf": is_leaf,
        "stride": tuple(tensor.stride()),
        "storage_offset": tensor.storage_offset(),
        "version": tensor._version,
        "grad_fn": grad_fn,
    }


def aliases(tensors: dict[int, Any]) -> dict[int, int]:
    """For each tensor that has bytes, the first tensor of the program with the same storage."""
    first: dict[int, int] = {}
    result = {}
    for index, tensor in sorted(tensors.items()):
        if tensor.numel():
            result[index] = first.setdefault(storage_address(tensor), index)
    return result


def storage_address(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr()


def values_differ(expected: np.ndarray, actual: np.ndarray, dtype: str, least: float) -> bool:
    """`least` is the tolerance of the program's least precise dtype, whose errors its other tensors inherit."""
    if expected.shape != actual.shape:
        return True
    if dtype not in TOLERANCES:
        return not np.array_equal(expected, actual)
    tolerance = max(TOLERANCES[dtype], least)
    if np.array_equal(expected, actual):
        return False
    return not np.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


class Comparison:
    """Compares executions in a reference framework with executions in the one under test."""

    def __init__(self, reference: ModuleType, tested: ModuleType, layout: str = "exact") -> None:
        """What counts besides values, shapes and dtypes: everything (`exact`); not versions, and strides along sizes
        above 1 only (`strides`); nothing (`values`), and values are sums of many terms.
        """
        self.exact_layout, self.only_values = layout == "exact", layout == "values"
        self.reference, self.tested = reference, tested
        self.least = 0.0

    def of_program(self, steps: list[Step]) -> Difference | None:
        return self.of_executions(steps, run(steps, self.reference), run(steps, self.tested))

    def of_executions(self, steps: list[Step], expected: Execution, actual: Execution) -> Difference | None:
        for number, step in enumerate(steps):
            want, got = error_class(expected.errors[number]), error_class(actual.errors[number])
            if self.is_gap(step, number, expected, actual):
                continue
            if want != got:
                said = f"PyTorch: {expected.errors[number]!r:.300}\nhere:    {actual.errors[number]!r:.600}"
                text = f"step {number}: `{program_text([step])}`"
                return Difference(f"{step.call}: error {want} -> {got}", f"{text}\n{said}")
        backward_failed = any(
            error is not None and "backward" in step.call for step, error in zip(steps, expected.errors, strict=True)
        )
        if any(
            error_class(error) == "IndexError" and step.call in INDEXED_WRITES
            for step, error in zip(steps, expected.errors, strict=True)
        ):
            return None  # PyTorch stops where it meets the wrong index, with the places before it written
        garbage = {
            step.kwargs["out"].index
            for step, error in zip(steps, expected.errors, strict=True)
            if error is not None and "out" in step.kwargs
        }
        dtypes = {dtype_name(tensor) for tensor in expected.tensors.values() if self.reference.is_tensor(tensor)}
        self.least = max((TOLERANCES.get(dtype, 0.0) for dtype in dtypes), default=0.0)
        self.least = max(self.least, 1e-7 if self.only_values else 0.0)
        for index, tensor in expected.tensors.items():
            if index in garbage or index not in actual.tensors:
                continue
            try:
                difference = self.of_results(index, tensor, actual.tensors[index], with_grad=not backward_failed)
            except Exception as error:
                difference = Difference("asking raises", f"{error!r:.500}")
            if difference is not None:
                maker = next((step.call for step in steps if index in step.targets), "")
                return Difference(f"{maker}: {difference.kind}", f"t{index}: {difference.detail}")
        try:
            return self.of_aliasing(
                {i: t for i, t in expected.tensors.items() if i not in garbage and i in actual.tensors}, actual.tensors
            )
        except Exception as error:
            return Difference("asking for aliasing raises", f"{error!r:.500}")

    def of_aliasing(self, expected: dict[int, Any], actual: dict[int, Any]) -> Difference | None:
        is_tensor = self.reference.is_tensor
        tensors = {index: tensor for index, tensor in expected.items() if is_tensor(tensor)}
        want, got = aliases(tensors), aliases({index: actual[index] for index in tensors})
        if want == got or self.only_values:
            return None
        changed = {f"t{i}": (want.get(i), got.get(i)) for i in tensors if want.get(i) != got.get(i)}
        return Difference("aliasing", f"first tensor with the same storage, PyTorch's and ours: {changed}")

    def of_results(self, index: int, expected: Any, actual: Any, with_grad: bool) -> Difference | None:
        if (
            self.only_values
            and expected is None
            and self.tested.is_tensor(actual)
            and not values_of(actual, self.tested).any()
        ):
            return None  # no gradient, and a gradient of zeros
        if not self.reference.is_tensor(expected):
            same = str(expected) == str(actual).replace(self.tested.__name__ + ".", "torch.")
            return None if same else Difference("result", f"PyTorch: {expected!r}\nhere:    {actual!r}")
        if not self.tested.is_tensor(actual):
            return Difference("type", f"a tensor in PyTorch, here {actual!r}")
        want, got = layout_of(expected), layout_of(actual)
        for name, value in want.items():
            if got[name] != value and not self.is_idle(name, value, got[name], expected):
                return Difference(name, f"{name} is {got[name]}, PyTorch's {value}\nPyTorch: {want}\nhere:    {got}")
        difference = self.of_values(expected, actual)
        if difference is not None or not with_grad or not (want["is_leaf"] is True or expected.retains_grad):
            return difference
        return self.of_gradients(expected.grad, actual.grad)

    def is_gap(self, step: Step, number: int, expected: Execution, actual: Execution) -> bool:
        """Whether one framework lacks a kernel; for composite functions also whether PyTorch kept for the gradient a
        tensor that was written since, and we another one.
        """
        error, ours = expected.errors[number], actual.errors[number]
        if "not implemented for" in str(ours):  # both refuse; or PyTorch had nothing to compute, and missed no kernel
            return error_class(error) == "RuntimeError" or self.is_idle_step(step, expected)
        return self.only_values and ours is None and "modified by an inplace operation" in str(error)

    def is_idle_step(self, step: Step, expected: Execution) -> bool:
        made = [expected.tensors.get(index) for index in step.targets]
        return bool(made) and all(self.reference.is_tensor(tensor) and not tensor.numel() for tensor in made)

    def is_idle(self, name: str, want: Any, got: Any, tensor: Any) -> bool:
        """Whether two answers mean the same: strides of what has no elements, and what `exact_layout` leaves out."""
        if name == "stride" and not tensor.numel():
            return True
        if self.only_values:
            return name not in ("shape", "dtype")
        if self.exact_layout or name not in ("stride", "version"):
            return False
        return name == "version" or all(a == b or size < 2 for a, b, size in zip(want, got, tensor.shape, strict=True))

    def of_values(self, expected: Any, actual: Any) -> Difference | None:
        want, got = values_of(expected, self.reference), values_of(actual, self.tested)
        if (
            self.only_values and want.shape == got.shape and np.isnan(want).any()
        ):  # docs/differences.md: 0 times infinity
            got = np.where(np.isnan(want), want, got)
        if values_differ(want, got, dtype_name(expected), self.least):
            return Difference("values", f"PyTorch: {want.tolist()!r:.600}\nhere:    {got.tolist()!r:.600}")
        return None

    def of_gradients(self, expected: Any, actual: Any) -> Difference | None:
        if expected is None or actual is None:
            return None if expected is actual else Difference("grad", f"PyTorch: {expected}\nhere:    {actual}")
        want = (tuple(expected.shape), dtype_name(expected), expected.requires_grad)
        got = (tuple(actual.shape), dtype_name(actual), actual.requires_grad)
        if want != got:
            return Difference("grad layout", f"PyTorch: {want}\nhere:    {got}")
        difference = self.of_values(expected, actual)
        return difference and Difference("grad values", difference.detail)

    def shrunk(self, steps: list[Step]) -> tuple[list[Step], Difference]:
        """The program without every step whose removal leaves a difference."""
        difference = self.of_program(steps)
        assert difference is not None
        position = len(steps)
        while position:
            position -= 1
            fewer = steps[:position] + steps[position + 1 :]
            remaining = self.of_program(fewer)
            if remaining is not None:
                steps, difference = fewer, remaining
        return steps, difference
