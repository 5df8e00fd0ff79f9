"""What the generators share: a program that grows while PyTorch runs it, so that choices can look at real tensors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .program import Data, Execution, Ref, Step, execute, run

FLOATS = ("float32", "float64", "bfloat16", "float16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
COMPLEX = ("complex64", "complex128")
GAPS = (
    "not implemented for", "not supported for", "Could not run", "INTERNAL ASSERT", "derivative for",
    "returned an invalid gradient",
)  # fmt: skip
NUMPY_NAMES = {"bfloat16": "float32"}


class Builder:
    """Steps so far, their outcome in PyTorch, and the random choices."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(self.random.getrandbits(64))
        self.steps: list[Step] = []
        self.outcome = Execution()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def emit(self, call: str, *args: Any, results: int = 1, no_grad: bool = False, **kwargs: Any) -> list[int]:
        """Adds a step; the numbers of its results, none where PyTorch raised.

        A step for which PyTorch merely has no kernel is dropped: that is a gap, not a meaning. So is one that gives
        complex32, which PyTorch hardly computes with.
        """
        start = 1 + max((index for step in self.steps for index in step.targets), default=-1)
        step = Step(call, args, kwargs, tuple(range(start, start + results)), no_grad)
        error = execute(step, torch, self.outcome.tensors)
        made = [self.outcome.tensors.get(index) for index in step.targets]
        if error is not None and is_gap(error) or any(getattr(t, "dtype", None) == torch.complex32 for t in made):
            self.outcome = run(self.steps, torch)  # the step may have written or resized something before it stopped
            return []
        self.steps.append(step)
        self.outcome.errors.append(error)
        return [] if error is not None else [index for index in step.targets if index in self.outcome.tensors]

    def tensor(self, index: int) -> torch.Tensor:
        return self.outcome.tensors[index]

    def values(self, shape: Sequence[int], dtype: str, low: int = -6, high: int = 7) -> np.ndarray:
        """Small numbers that every sum and product of a few keeps exact."""
        integers = np.asarray(self.numbers.integers(low if not dtype.startswith("u") else 0, high, tuple(shape)))
        if dtype == "bool":
            return np.asarray(integers > 0)
        if dtype.startswith("complex"):
            imaginary = self.numbers.integers(low, high, tuple(shape))
            return np.asarray(integers + 1j * imaginary).astype(dtype)
        if "float" in dtype:
            return np.asarray(integers / 2).astype(NUMPY_NAMES.get(dtype, dtype))
        return integers.astype(dtype)

    def data(self, shape: Sequence[int], dtype: str = "float32", requires_grad: bool = False) -> Data:
        return Data(self.values(shape, dtype), dtype, requires_grad)

    def backward(self, indices: list[int]) -> None:
        """Gradients of the given results, each weighted by its own random numbers."""
        weights = [self.data(self.tensor(i).shape, dtype_of(self.tensor(i))) for i in indices]
        self.emit("autograd.backward", [Ref(i) for i in indices], weights, results=0)


def dtype_of(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def is_gap(error: BaseException) -> bool:
    """Whether PyTorch only lacks the kernel for a dtype, or says itself that it met a defect of its own."""
    text = str(error)
    return any(mark in text for mark in GAPS)


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements share memory in a way that PyTorch's own check cannot see.

    What a write to such a tensor leaves depends on the order of the writes, so no program does it.
    """
    if tensor.numel() < 2 or is_expanded(tensor):
        return False
    places = np.zeros(tuple(tensor.shape), np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        places += (np.arange(size) * stride).reshape([-1 if other == axis else 1 for other in range(tensor.dim())])
    return np.unique(places).size < places.size


def is_expanded(tensor: torch.Tensor) -> bool:
    """Whether an axis repeats the same memory."""
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether some byte belongs to both."""
    if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr() or not a.numel() or not b.numel():
        return False
    return np.shares_memory(memory_of(a), memory_of(b))


def memory_of(tensor: torch.Tensor) -> np.ndarray:
    plain = tensor.detach().resolve_conj().resolve_neg()
    return (plain.view(torch.int16) if plain.dtype == torch.bfloat16 else plain).numpy()
