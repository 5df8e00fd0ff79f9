"""What an entry of the catalogue is, and how its samples are made.

Samples are data (`Spec`) from which each framework builds its own tensors, so both get the same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATING = ("float32", "float64", "bfloat16", "float16")
DTYPES = (*FLOATING, "int64", "uint8", "bool", "complex64")
STORED_AS = {"bfloat16": "float32"}


@dataclass(frozen=True, eq=False)
class Spec:
    """A tensor to build: its values, its dtype, and whether gradients are asked for."""

    values: np.ndarray
    dtype: str
    differentiable: bool


@dataclass(frozen=True)
class Name:
    """An attribute of the framework, such as a dtype, by its dotted name."""

    path: str


@dataclass(frozen=True, eq=False)
class Sample:
    """Arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


class Make:
    """Makes the tensors of samples in the dtype that is being tested; the numbers depend on the entry alone."""

    def __init__(self, entry: str, dtype: str) -> None:
        self.dtype = dtype
        self.random = np.random.default_rng(zlib.crc32(f"{entry} {dtype}".encode()))

    @property
    def is_floating(self) -> bool:
        return self.dtype in FLOATING or self.dtype.startswith("complex")

    def spec(self, values: np.ndarray, dtype: str | None = None, differentiable: bool = True) -> Spec:
        dtype = dtype or self.dtype
        can = dtype in FLOATING or dtype.startswith("complex")
        with np.errstate(all="ignore"):
            stored = np.asarray(values).astype(STORED_AS.get(dtype, dtype))
        return Spec(stored, dtype, differentiable and can)

    def __call__(
        self, *shape: int, low: float = -2, high: float = 2, dtype: str | None = None, grad: bool = True
    ) -> Spec:
        """Random numbers between the bounds; whole ones for integer dtypes."""
        dtype = dtype or self.dtype
        if dtype == "bool":
            return self.spec(self.random.random(shape) < 0.5, dtype)
        if dtype in FLOATING:
            return self.spec(self.random.uniform(low, high, shape), dtype, grad)
        if dtype.startswith("complex"):
            parts = self.random.uniform(low, high, (2, *shape))
            return self.spec(parts[0] + 1j * parts[1], dtype, grad)
        bounds = [int(np.ceil(low)), int(np.ceil(high))]
        if dtype.startswith("u"):
            bounds = sorted(abs(bound) for bound in bounds) if bounds[1] < 0 else [max(bounds[0], 0), bounds[1]]
        return self.spec(self.random.integers(bounds[0], bounds[1] + 1, shape), dtype)

    def positive(self, *shape: int, dtype: str | None = None) -> Spec:
        return self(*shape, low=0.2, high=3, dtype=dtype)

    def unit(self, *shape: int) -> Spec:
        """Strictly inside (0, 1)."""
        return self(*shape, low=0.05, high=0.95)

    def values(self, values: Any, dtype: str | None = None) -> Spec:
        return self.spec(np.asarray(values), dtype)

    def distinct(self, *shape: int) -> Spec:
        """Numbers without ties, in random order."""
        count = int(np.prod(shape))
        return self.spec((self.random.permutation(count) - count // 2).reshape(shape) / (2 if self.is_floating else 1))

    def ties(self, *shape: int) -> Spec:
        return self.spec(self.random.integers(0, 3, shape))

    def index(self, *shape: int, size: int, dtype: str = "int64") -> Spec:
        return self.spec(self.random.integers(0, size, shape), dtype)

    def permutation(self, size: int) -> Spec:
        return self.spec(self.random.permutation(size), "int64")

    def mask(self, *shape: int) -> Spec:
        return self.spec(self.random.random(shape) < 0.5, "bool")

    def invertible(self, *shape: int) -> Spec:
        """Square matrices far from singular."""
        matrix = self.random.uniform(-1, 1, shape) + 2.5 * np.eye(shape[-1])
        return self.spec(matrix)

    def positive_definite(self, *shape: int) -> Spec:
        matrix = self.random.uniform(-1, 1, shape)
        return self.spec(matrix @ np.swapaxes(matrix, -1, -2) + 0.5 * np.eye(shape[-1]))

    def triangular(self, *shape: int) -> Spec:
        return self.spec(np.tril(self.random.uniform(0.5, 1.5, shape)))


Samples = Callable[[Make], Sequence[Sample]]


@dataclass(frozen=True)
class Case:
    """One public function.

    `through` maps the result, given the framework, to what is unique (a singular vector's sign is not). `random` seeds
    before each call. `nonfinite` also runs with NaN and infinities planted. `meta` also runs without data. Where the
    values are arbitrary (`empty`), `values=False` compares shapes and dtypes only. `edges=False` leaves out
    the gradient at NaN and infinities, where PyTorch's is an accident of its formula. `symmetric`: only the symmetric
    part of the gradient means something, since the input is symmetric. `strided=False`: PyTorch itself misreads an
    input that is not contiguous.
    """

    name: str
    samples: Samples
    errors: Samples = field(default=lambda make: ())
    through: Callable[[Any, Any], Any] | None = None
    tolerance: float = 1.0
    dtypes: tuple[str, ...] = DTYPES
    gradients: bool = True
    random: bool = False
    nonfinite: bool = True
    meta: bool = True
    values: bool = True
    forms: bool = True
    edges: bool = True
    symmetric: bool = False
    strided: bool = True
    note: str = ""

    @property
    def label(self) -> str:
        return f"{self.name} {self.note}" if self.note else self.name


@dataclass(frozen=True)
class Layer:
    """One class of `nn`: constructor arguments, and samples of its forward pass."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: Samples
    tolerance: float = 1.0
    both_modes: bool = True

    @property
    def label(self) -> str:
        settings = [repr(arg) for arg in self.args] + [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"{self.name}({', '.join(settings)})"


def layer(name: str, *args: Any, inputs: Samples, **kwargs: Any) -> Layer:
    return Layer(name, args, kwargs, inputs)


def pairs(names: str, samples: Samples, **options: Any) -> list[Case]:
    """Entries of several names with the same samples."""
    return [Case(name, samples, **options) for name in names.split()]
