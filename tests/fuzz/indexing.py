"""Random indexing expressions: every kind of index, reading and writing, right and wrong, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .builder import COMPLEX, FLOATS, INTEGERS, Builder, dtype_of, is_expanded, overlaps_itself
from .program import Array, Data, Ref, Step, resolve, text_of

SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5)


class Indexing(Builder):
    """Builds one program: a tensor, an index into it, and what is done there."""

    def build(self) -> list[Step]:
        base = self.base_tensor()
        action = self.random.choices((self.read, self.write, self.put, self.update), (9, 8, 3, 2))[0]
        results = action(base)
        live = [i for i in {base, *results} if i in self.outcome.tensors and self.wants_gradient(i)]
        if live and self.chance(0.8):
            self.backward(live)
        return self.steps

    def wants_gradient(self, index: int) -> bool:
        tensor = self.tensor(index)
        return torch.is_tensor(tensor) and tensor.requires_grad

    def base_tensor(self) -> int:
        rank = self.random.choices((0, 1, 2, 3, 4), (1, 4, 6, 5, 2))[0]
        shape = [self.random.choice(SIZES if self.chance(0.3) else SIZES[1:]) for _ in range(rank)]
        dtype = self.random.choices(
            ("float32", "float64", "int64", "bool", "complex64", "bfloat16", "uint8", "int32", "float16"),
            (10, 2, 3, 2, 1, 1, 1, 1, 1),
        )[0]
        requires_grad = dtype in FLOATS + COMPLEX and self.chance(0.5)
        (index,) = self.emit("data", self.data(shape, dtype, requires_grad))
        if requires_grad and self.chance(0.8):
            (index,) = self.emit(".clone", Ref(index))
        return self.relaid(index)

    def relaid(self, index: int) -> int:
        """The same tensor, or a view of it with other strides."""
        tensor = self.tensor(index)
        if tensor.dim() < 1 or self.chance(0.5):
            return index
        axis = self.random.randrange(tensor.dim())
        choice = self.random.choice(("transpose", "step", "expand", "drop"))
        if choice == "transpose":
            return (self.emit(".transpose", Ref(index), axis, self.random.randrange(tensor.dim())) or [index])[0]
        if choice == "expand":
            return (self.emit(".expand", Ref(index), self.random.randint(1, 3), *tensor.shape) or [index])[0]
        part = slice(None, None, 2) if choice == "step" else slice(1, None)
        return (self.emit("getitem", Ref(index), (slice(None),) * axis + (part,)) or [index])[0]

    # The kinds of index. Each returns an index for axes of the given sizes, and how many axes it takes.

    def integer(self, sizes: list[int]) -> tuple[Any, int]:
        size = sizes[0]
        value = self.random.randrange(-size, size) if size and self.chance(0.95) else self.random.choice((-7, 6, size))
        form = self.random.random()
        if form < 0.15:
            return Data(np.asarray(value, np.int64), self.random.choice(("int64", "int32", "uint8", "int16"))), 1
        return (np.int64(value) if form < 0.25 else value), 1

    def slice_index(self, sizes: list[int]) -> tuple[Any, int]:
        def bound() -> Any:
            if self.chance(0.35):
                return None
            value = self.random.randint(-sizes[0] - 2, sizes[0] + 2)
            return Data(np.asarray(value), "int64") if self.chance(0.03) else value

        step = self.random.choices((None, 1, 2, 3, 0, -1), (8, 3, 4, 2, 0.2, 0.2))[0]
        return slice(bound(), bound(), step), 1

    def new_axis(self, sizes: list[int]) -> tuple[Any, int]:
        return None, 0

    def python_bool(self, sizes: list[int]) -> tuple[Any, int]:
        value = self.chance(0.6)
        return (Data(np.asarray(value), "bool") if self.chance(0.4) else value), 0

    def mask(self, sizes: list[int]) -> tuple[Any, int]:
        taken = min(len(sizes), self.random.choices((1, 2, 3), (6, 3, 1))[0])
        shape = list(sizes[:taken])
        if self.chance(0.06):
            shape[self.random.randrange(taken)] += 1
        values = self.numbers.random(shape) < self.random.choice((0.5, 0.5, 0.0, 1.0))
        form = self.random.random()
        if form < 0.08 and taken == 1:
            return Array(values), taken
        if form < 0.14 and taken == 1:
            return values.tolist(), taken
        return Data(values, "uint8" if form > 0.95 else "bool"), taken

    def index_array(self, sizes: list[int]) -> tuple[Any, int]:
        shape = self.random.choice(((1,), (2,), (2,), (3,), (2, 2), (1, 2), (2, 1), (0,), ()))
        size = sizes[0]
        values = self.numbers.integers(-size, max(size, 1 - size), shape)
        if values.size and self.chance(0.04):
            values = np.where(values == values.max(), size + 1, values)
        form = self.random.random()
        if form < 0.12:
            return Array(np.asarray(values)), 1
        if form < 0.3 and values.ndim:
            return values.tolist(), 1
        dtype = self.random.choices(("int64", "int32", "int16", "int8", "float32"), (12, 3, 1, 1, 0.5))[0]
        return Data(np.asarray(values).astype(dtype), dtype), 1

    def index_for(self, shape: tuple[int, ...], writing: bool = False) -> Any:
        """An index for a tensor of that shape. PyTorch writes with masks of uint8 only sometimes; no program does."""
        index = self.any_index_for(shape)
        while writing and "uint8" in text_of(index):
            index = self.any_index_for(shape)
        return index

    def any_index_for(self, shape: tuple[int, ...]) -> Any:
        kinds: list[Callable[[list[int]], tuple[Any, int]]] = [
            self.integer, self.slice_index, self.new_axis, self.python_bool, self.mask, self.index_array,
        ]  # fmt: skip
        weights = self.random.choice(((4, 6, 1, 0.3, 1, 3), (3, 5, 2, 0, 0, 0), (1, 2, 0.5, 0.3, 1, 6)))
        sizes, parts = list(shape), []
        while sizes:
            kind = self.random.choices(kinds, weights)[0]
            part, taken = kind(sizes)
            parts.append(part)
            sizes = sizes[taken:]
            if self.chance(0.25):
                break
        if self.chance(0.2):
            parts.insert(self.random.randint(0, len(parts)), ...)
        if self.chance(0.03):
            parts.append(self.random.choice((0, slice(None), ..., 1.5)))
        if len(parts) == 1 and self.chance(0.6):
            return parts[0]
        return tuple(parts)

    # What is done with the index.

    def read(self, base: int) -> list[int]:
        results = self.emit("getitem", Ref(base), self.index_for(tuple(self.tensor(base).shape)))
        if results and self.chance(0.35):
            results += self.emit("getitem", Ref(results[0]), self.index_for(tuple(self.tensor(results[0]).shape)))
        if results and self.chance(0.3) and self.may_write(results[-1]):
            self.emit(".mul_", Ref(results[-1]), self.random.choice((2, 0, True)))
        return results

    def may_write(self, index: int) -> bool:
        return not overlaps_itself(self.tensor(index))

    def write(self, base: int) -> list[int]:
        base = self.writable(base)
        index = self.index_for(tuple(self.tensor(base).shape), writing=True)
        no_grad = self.tensor(base).requires_grad and self.tensor(base).is_leaf and self.chance(0.7)
        self.emit("setitem", Ref(base), index, self.value_for(base, index), results=0, no_grad=no_grad)
        return []

    def writable(self, base: int) -> int:
        """A copy of an expanded tensor: PyTorch deprecates writing to one by index, and has no gradient for it."""
        return self.emit(".clone", Ref(base))[0] if is_expanded(self.tensor(base)) else base

    def selected(self, base: int, index: Any) -> torch.Tensor | None:
        """The places that an index selects, as flat positions."""
        tensor = self.tensor(base)
        try:
            return torch.arange(tensor.numel()).reshape(tensor.shape)[resolve(index, torch, {})]
        except Exception:
            return None

    def value_for(self, base: int, index: Any) -> Any:
        dtype = dtype_of(self.tensor(base))
        places = self.selected(base, index)
        repeated = places is not None and places.unique().numel() < places.numel()
        if places is None or repeated or self.chance(0.35):
            return self.scalar_value(dtype)
        shape = list(places.shape)
        for axis in range(len(shape)):
            if self.chance(0.15):
                shape[axis] = 1
        form = self.random.random()
        if form < 0.15:
            shape = shape[self.random.randint(0, len(shape)) :]
        elif form < 0.25:
            shape = [1] * self.random.randint(1, 2) + shape
        elif form < 0.32:
            shape = shape + [2]
        if self.chance(0.3):
            dtype = self.random.choice(FLOATS + INTEGERS + ("bool",))
        values = self.data(
            shape, dtype, requires_grad=dtype in FLOATS and not self.tensor(base).is_complex() and self.chance(0.3)
        )
        if values.requires_grad:
            return Ref(self.emit("data", values)[0])
        return Array(values.values) if self.chance(0.02) else values

    def scalar_value(self, dtype: str) -> Any:
        if self.chance(0.25):
            return self.data((), self.random.choice((dtype, "float32", "int64")))
        choices = [3, True, 2.5, np.float64(1.5), -1] + ([1 + 2j] if self.chance(0.3) else [])
        return self.random.choice(choices)

    def put(self, base: int) -> list[int]:
        base = self.writable(base)
        tensor = self.tensor(base)
        count = self.random.randint(1, max(1, tensor.dim()))
        sizes, indices = list(tensor.shape), []
        while len(indices) < count:
            if not sizes:
                return []
            part, taken = (self.mask if self.chance(0.15) else self.index_array)(sizes)
            if isinstance(part, Data) and part.dtype != "uint8" or self.chance(0.05):
                indices.append(part)
                sizes = sizes[taken:]
        accumulate = self.chance(0.6)
        selector = tuple(indices)
        places = self.selected(base, selector) if indices else None
        if accumulate and places is not None and self.chance(0.8):
            shape = list(places.shape)[self.random.randint(0, 1) :]
            value: Any = self.data(shape, dtype_of(tensor) if self.chance(0.9) else "float64")
        else:
            value = self.data((), dtype_of(tensor))
        call = self.random.choice((".index_put_", ".index_put", "index_put"))
        results = self.emit(call, Ref(base), selector, value, accumulate=accumulate)
        return results

    def update(self, base: int) -> list[int]:
        """x[index] += value, as Python carries it out."""
        base = self.writable(base)
        index = self.index_for(tuple(self.tensor(base).shape), writing=True)
        part = self.emit("getitem", Ref(base), index)
        if not part or not self.may_write(part[0]):
            return part
        value = self.random.choice((1, 2.5, True, self.data((), "float32")))
        self.emit(self.random.choice(("iadd", "imul", "isub")), Ref(part[0]), value)
        places = self.selected(base, index)
        if places is None or places.unique().numel() == places.numel():
            self.emit("setitem", Ref(base), index, Ref(part[0]), results=0)
        return part


def generate(seed: str) -> Indexing:
    """The program of a seed, with its outcome in PyTorch."""
    builder = Indexing(seed)
    builder.build()
    return builder
