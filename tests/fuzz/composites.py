"""Random composite functions: operators of the catalogue, views and in-place writes, then gradients of gradients.

An operator is applied to its catalogue sample plus a small bounded function of a tensor that the program made before,
so that it stays where it is smooth.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from tests.catalogue.running import find
from tests.catalogue.samples import CASES
from tests.catalogue.table import Case, Make, Name, Sample, Spec

from .builder import Builder, dtype_of, is_expanded, overlaps_itself
from .program import Data, DType, Ref, Step

MOST_ELEMENTS = 300
UNSMOOTH = (
    "ctc_loss",
    "gumbel_softmax",
    "lu_factor",
    "lu",
    "svd",
    "eig",
    "qr",
    "cholesky",
    "lstsq",
    "matrix_rank",
    "householder",
)


@functools.cache
def candidates(dtype: str) -> list[Case]:
    """Differentiable functions whose result is determined by their arguments."""
    return [case for case in CASES if _is_smooth(case, dtype)]


def _is_smooth(case: Case, dtype: str) -> bool:
    leaf = case.name.rpartition(".")[2]
    return (
        case.gradients and not case.random and case.values and case.through is None and dtype in case.dtypes
        and not leaf.startswith(UNSMOOTH) and not leaf.endswith("_") and callable(find_or_none(case.name))
        and case.edges is True and not case.symmetric
    )  # fmt: skip


def find_or_none(path: str) -> Any:
    try:
        return find(torch, path)
    except AttributeError:
        return None


@functools.cache
def samples(case: Case, dtype: str) -> tuple[Sample, ...]:
    return tuple(sample for sample in case.samples(Make(case.label, dtype)) if _is_usable(sample))


def _is_usable(sample: Sample) -> bool:
    specs = [each for each in sample.args if isinstance(each, Spec)]
    return any(each.differentiable and each.values.size for each in specs) and all(
        each.values.size <= MOST_ELEMENTS for each in specs
    )


class Composites(Builder):
    """Builds one program: leaves, 3 to 12 operators, gradients, second gradients."""

    def build(self) -> list[Step]:
        self.dtype = "complex128" if self.chance(0.15) else "float64"
        self.leaves: list[int] = []
        self.live: list[int] = []
        for _ in range(self.random.randint(1, 3)):
            shape = [self.random.choice((1, 2, 3, 4)) for _ in range(self.random.randint(0, 3))]
            (index,) = self.emit("data", Data(self.smooth(tuple(shape), self.dtype), self.dtype, True))
            self.leaves.append(index)
            self.live.append(index)
        for _ in range(self.random.randint(3, 12)):
            kind = self.random.choices((self.operator, self.view, self.write, self.arithmetic), (6, 3, 2, 2))[0]
            self.keep(kind(self.random.choice(self.live[-4:])))
        self.finish()
        return self.steps

    def smooth(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """Numbers in general position, away from where anything is not differentiable."""
        values = np.asarray(self.numbers.uniform(-2, 2, shape))
        return values + 1j * self.numbers.uniform(-2, 2, shape) if dtype.startswith("complex") else values

    def keep(self, indices: list[int]) -> None:
        for index in indices:
            tensor = self.outcome.tensors.get(index)
            if torch.is_tensor(tensor) and 0 < tensor.numel() <= MOST_ELEMENTS and self.is_inexact(tensor):
                if bool(torch.isfinite(tensor.detach()).all()) and float(tensor.detach().abs().max()) < 1e4:
                    self.live.append(index)

    def is_inexact(self, tensor: torch.Tensor) -> bool:
        return tensor.dtype in (torch.float64, torch.complex128)

    # Operators of the catalogue.

    def operator(self, index: int) -> list[int]:
        source = self.tensor(index)
        cases = candidates(dtype_of(source))
        if not cases:
            return []
        case = self.random.choice(cases)
        usable = samples(case, dtype_of(source))
        if not usable:
            return []
        sample = self.random.choice(usable)
        places = [i for i, each in enumerate(sample.args) if isinstance(each, Spec) and each.differentiable]
        place = places[0] if case.name.endswith("_norm") else self.random.choice(places)  # not the running statistics
        near = self.nearby(index, sample.args[place])
        if near is None:
            return []
        args = [Ref(near) if i == place else constant(each) for i, each in enumerate(sample.args)]
        kwargs = {name: constant(each) for name, each in sample.kwargs.items()}
        return [made for i in self.called(case.name, args, kwargs) for made in self.in_order(i)]

    def in_order(self, index: int) -> list[int]:
        """The result laid out in order: whether a reshape of it is a view must not depend on a library's layout."""
        if self.tensor(index).is_contiguous():
            return [index]
        return self.emit(".clone", Ref(index), memory_format=DType("contiguous_format"))

    def called(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[int]:
        """A call whose results are counted by making it once."""
        start = len(self.steps)
        probe = self.emit(name, *args, **kwargs)
        if not probe:
            return []
        result = self.outcome.tensors[probe[0]]
        if torch.is_tensor(result):
            return probe
        if not isinstance(result, (tuple, list)) or not all(torch.is_tensor(each) for each in result) or not result:
            del self.steps[start:], self.outcome.errors[start:]
            return []
        del self.steps[start:], self.outcome.errors[start:], self.outcome.tensors[probe[0]]
        return self.emit(name, *args, results=len(result), **kwargs)

    def nearby(self, index: int, spec: Spec) -> int | None:
        """The sample's values, moved a little by an earlier tensor."""
        size = spec.values.size
        if not size:
            return None
        tensor = self.tensor(index)
        large = tensor.is_complex() and float(tensor.detach().abs().max()) > 1
        repeats = -(-size // max(tensor.numel(), 1))
        for call, *args in (
            (".sgn",) if large else (".sin",),
            (".flatten",),
            (".repeat", repeats),
            ("getitem", slice(None, size)),
            (".view", tuple(spec.values.shape)),
            ("*", 0.05),
        ):
            made = self.emit(call, Ref(index), *args)
            if not made:
                return None
            index = made[0]
        near = self.emit("+", Data(spec.values, spec.dtype), Ref(index))
        return near[0] if near else None

    def arithmetic(self, index: int) -> list[int]:
        other = self.random.choice(self.live)
        call = self.random.choice(("*", "+", "-", "/", "matmul"))
        if call == "matmul":
            return self.emit("matmul", Ref(index), Ref(index)) if self.is_square(index) else []
        try:
            torch.broadcast_shapes(self.tensor(index).shape, self.tensor(other).shape)
        except RuntimeError:
            return []
        return self.emit(call, Ref(index), Ref(other))

    def is_square(self, index: int) -> bool:
        shape = self.tensor(index).shape
        return len(shape) >= 2 and shape[-1] == shape[-2]

    # Views and writes.

    def view(self, index: int) -> list[int]:
        tensor = self.tensor(index)
        rank = tensor.dim()
        if not rank:
            return self.emit(".expand", Ref(index), 3)
        axis = self.random.randrange(-rank, rank)
        size = tensor.shape[axis]
        kind = self.random.randrange(9)
        if kind == 0:
            return self.emit(".transpose", Ref(index), axis, self.random.randrange(rank))
        if kind == 1:
            return self.emit(".select", Ref(index), axis, self.random.randrange(size))
        if kind == 2:
            start = self.random.randrange(size)
            return self.emit(".narrow", Ref(index), axis, start, self.random.randint(1, size - start))
        if kind == 3:
            return self.emit(".unsqueeze", Ref(index), axis)
        if kind == 4:
            return self.emit(".unbind", Ref(index), axis, results=size)
        if kind == 5:
            return self.emit("getitem", Ref(index), (..., slice(None, None, 2)))
        if kind == 6 and rank >= 2:
            return self.emit(".diagonal", Ref(index))
        if kind == 7:
            return self.emit(".unfold", Ref(index), axis, min(2, size), 1)
        return self.emit(".flatten", Ref(index))

    def write(self, index: int) -> list[int]:
        tensor = self.tensor(index)
        if index in self.leaves or tensor.is_leaf or is_expanded(tensor) or overlaps_itself(tensor):
            index = self.emit(".clone", Ref(index))[0]
            tensor = self.tensor(index)
        call = self.random.choice(
            (".mul_", ".add_", ".sub_", ".copy_", ".masked_fill_", ".tanh_", ".sigmoid_", ".zero_", "setitem", ".div_")
        )
        shape = tuple(tensor.shape)
        if call in (".tanh_", ".sigmoid_", ".zero_"):
            self.emit(call, Ref(index))
        elif call == ".masked_fill_":
            self.emit(call, Ref(index), Data(self.numbers.random(shape) < 0.5, "bool"), 0.5)
        elif call == "setitem":
            key = (..., slice(None, None, 2)) if shape else ...
            self.emit(call, Ref(index), key, 0.25, results=0)
        else:
            fitting = [i for i in self.live if tuple(self.tensor(i).shape) == shape]
            if fitting and self.chance(0.7):
                self.emit(call, Ref(index), Ref(self.random.choice(fitting)))
            else:
                self.emit(call, Ref(index), Data(self.smooth(shape, self.dtype), self.dtype))
        return [index]

    # Gradients.

    def finish(self) -> None:
        tops = [i for i in dict.fromkeys(self.live) if i not in self.leaves and self.tensor(i).requires_grad]
        if not tops:
            return
        chosen = [tops[-1], *self.random.sample(tops[:-1], min(len(tops) - 1, self.random.randint(0, 2)))]
        first = self.gradients(chosen, create_graph=True)
        again = [i for i in first if torch.is_tensor(self.outcome.tensors.get(i)) and self.tensor(i).requires_grad]
        if again:
            self.gradients(again, create_graph=False)

    def gradients(self, outputs: list[int], create_graph: bool) -> list[int]:
        weights = [
            Data(self.smooth(tuple(self.tensor(i).shape), dtype_of(self.tensor(i))), dtype_of(self.tensor(i)))
            for i in outputs
        ]
        return self.emit(
            "autograd.grad", [Ref(i) for i in outputs], [Ref(i) for i in self.leaves], weights,
            results=len(self.leaves), create_graph=create_graph, allow_unused=True,
        )  # fmt: skip


def constant(value: Any) -> Any:
    """An argument of a catalogue sample as one of a program."""
    if isinstance(value, Spec):
        return Data(value.values, value.dtype)
    if isinstance(value, Name):
        return DType(value.path)
    if isinstance(value, (tuple, list)):
        return type(value)(constant(each) for each in value)
    return value


def generate(seed: str) -> Composites:
    builder = Composites(seed)
    builder.build()
    return builder
