"""When results are the same: structure, shape, dtype, values within the dtype's tolerance; and the number compared."""

from __future__ import annotations

import builtins
from types import ModuleType
from typing import Any

import numpy as np

from .running import Outcome, tensors_of

TOLERANCES = {  # relative, absolute
    "float64": (1e-7, 1e-8),
    "complex128": (1e-7, 1e-8),
    "float32": (1e-5, 1e-5),
    "complex64": (1e-5, 1e-5),
    "float16": (4e-3, 4e-3),
    "bfloat16": (2e-2, 2e-2),
}


class Mismatch(AssertionError):
    """The tested framework gives something else than PyTorch."""


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).split(".")[-1]


def array_of(tensor: Any, framework: ModuleType) -> np.ndarray:
    plain = tensor.detach()
    if dtype_name(plain) == "bfloat16" or "float8" in dtype_name(plain):
        plain = plain.to(framework.float32)
    try:
        return plain.numpy()
    except RuntimeError:  # lazily conjugated, negated or zero
        return plain.numpy(force=True)


def error_class(error: BaseException | None) -> str | None:
    """The name of the built-in class that the exception is, or derives from most closely."""
    if error is None:
        return None
    return next(cls.__name__ for cls in type(error).__mro__ if getattr(builtins, cls.__name__, None) is cls)


class Comparer:
    """Compares results of the reference with results of the tested framework, and counts."""

    def __init__(self, reference: ModuleType, tested: ModuleType) -> None:
        self.reference, self.tested = reference, tested
        self.count = 0
        self.failures: list[str] = []

    def outcomes(self, expected: Outcome, actual: Outcome, where: str, tolerance: float = 1.0) -> bool:
        """Records a failure if they differ; whether both have a result, and the same."""
        self.count += 1
        want, got = error_class(expected.error), error_class(actual.error)
        if got == "NotImplementedError" and "not implemented for" in str(actual.error):
            if want == "RuntimeError" or want is None and self.is_empty(expected.result):
                return False  # both refuse the dtype; or there was nothing to compute, so PyTorch missed no kernel
        if want != got:
            said = actual.error if actual.error is not None else expected.error
            self.failures.append(f"{where}: {got or 'a result'} instead of {want or 'a result'} ({said!r:.300})")
            return False
        if want is not None:
            return False
        return self.results(expected.result, actual.result, where, tolerance)

    def is_empty(self, result: Any) -> bool:
        made = list(tensors_of(result, self.reference))
        return bool(made) and not any(tensor.numel() for tensor in made)

    def results(self, expected: Any, actual: Any, where: str, tolerance: float = 1.0) -> bool:
        try:
            self.structure(expected, actual, tolerance)
        except Mismatch as mismatch:
            self.failures.append(f"{where}: {mismatch}")
            return False
        except Exception as error:
            self.failures.append(f"{where}: comparing raised {error!r:.300}")
            return False
        return True

    def structure(self, expected: Any, actual: Any, tolerance: float) -> None:
        if self.reference.is_tensor(expected):
            self.tensors(expected, actual, tolerance)
        elif isinstance(expected, (tuple, list)):
            if not isinstance(actual, (tuple, list)) or len(actual) != len(expected):
                raise Mismatch(f"{type(expected).__name__} of {len(expected)} expected, got {actual!r:.200}")
            for name in structured_names(expected):
                if not hasattr(actual, name):
                    raise Mismatch(f"the result has no field {name}")
            for one, other in zip(expected, actual, strict=True):
                self.structure(one, other, tolerance)
        elif isinstance(expected, dict):
            if list(expected) != list(actual):
                raise Mismatch(f"keys {list(actual)}, PyTorch's {list(expected)}")
            for key in expected:
                self.structure(expected[key], actual[key], tolerance)
        else:
            self.plain(expected, actual, tolerance)

    def plain(self, expected: Any, actual: Any, tolerance: float) -> None:
        self.count += 1
        if isinstance(expected, float):
            same = isinstance(actual, float) and np.allclose(actual, expected, 1e-5 * tolerance, 1e-6, equal_nan=True)
        else:
            same = type(expected).__name__ == type(actual).__name__ and plain_text(expected) == plain_text(actual)
        if not same:
            raise Mismatch(f"{actual!r:.200}, PyTorch's {expected!r:.200}")

    def tensors(self, expected: Any, actual: Any, tolerance: float) -> None:
        self.count += 1
        if not self.tested.is_tensor(actual):
            raise Mismatch(f"tensor expected, got {actual!r:.200}")
        if tuple(expected.shape) != tuple(actual.shape):
            raise Mismatch(f"shape {tuple(actual.shape)}, PyTorch's {tuple(expected.shape)}")
        if dtype_name(expected) != dtype_name(actual):
            raise Mismatch(f"dtype {dtype_name(actual)}, PyTorch's {dtype_name(expected)}")
        if actual.device.type != expected.device.type:
            raise Mismatch(f"device {actual.device}, PyTorch's {expected.device}")
        if expected.device.type == "cpu":
            self.arrays(
                array_of(expected, self.reference), array_of(actual, self.tested), dtype_name(expected), tolerance
            )

    def arrays(self, want: np.ndarray, got: np.ndarray, dtype: str, tolerance: float) -> None:
        relative, absolute = TOLERANCES.get(dtype, (0.0, 0.0))
        with np.errstate(all="ignore"):
            same = np.array_equal(want, got) or bool(
                np.allclose(got, want, rtol=relative * tolerance, atol=absolute * tolerance, equal_nan=True)
            )
        if not same:
            raise Mismatch(f"values {got.tolist()!r:.300}, PyTorch's {want.tolist()!r:.300}")

    def aliasing(self, expected: Any, actual: Any, inputs: Any, actual_inputs: Any, where: str) -> None:
        """Whether each result shares its storage with each input as PyTorch's does."""
        want = sharing(expected, inputs, self.reference)
        got = sharing(actual, actual_inputs, self.tested)
        self.count += 1
        if want != got:
            self.failures.append(f"{where}: results share memory with inputs {sorted(got)}, PyTorch's {sorted(want)}")


def plain_text(value: Any) -> str:
    return str(value).replace("pellucid.", "torch.")


def structured_names(value: Any) -> list[str]:
    """The fields of PyTorch's named results."""
    if hasattr(value, "_fields"):
        return list(value._fields)
    if hasattr(type(value), "n_fields"):
        return [name for name in dir(type(value)) if not name.startswith("_") and name not in NOT_FIELDS]
    return []


NOT_FIELDS = ("count", "index", "n_fields", "n_sequence_fields", "n_unnamed_fields")


def sharing(results: Any, inputs: Any, framework: ModuleType) -> set[tuple[int, int]]:
    """Pairs of a result and an input with the same storage."""
    inputs = [(number, tensor) for number, tensor in enumerate(tensors_of(inputs, framework)) if tensor.numel()]
    return {
        (number, other)
        for number, tensor in enumerate(tensors_of(results, framework))
        for other, tensor_in in inputs
        if tensor.numel() and storage_address(tensor) == storage_address(tensor_in)
    }


def storage_address(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr()
