"""Random programs of views, in-place writes, detaching and grad modes, ending in a backward pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .builder import Builder, dtype_of, is_expanded, overlaps_itself, shares_memory
from .program import DType, Ref, Step

MOST_ELEMENTS = 400
BINARY_WRITES = (
    ".add_", ".sub_", ".mul_", ".div_", ".copy_", "iadd", "imul", ".maximum", ".addcmul_", ".masked_fill_", ".lerp_",
    ".where",
)  # fmt: skip
ARITHMETIC = (
    "+", "-", "*", "*", "/", ".sin", ".exp", ".sum", ".mean", ".pow", "cat", "stack", ".relu", ".sigmoid", ".cumsum",
    "matmul", ".where", ".abs",
)  # fmt: skip


class Views(Builder):
    """Builds one program: a few bases, then steps on tensors drawn from all that exist."""

    def build(self) -> list[Step]:
        self.live: list[int] = []
        for _ in range(self.random.choice((1, 1, 2))):
            self.add_base()
        for _ in range(self.random.randint(3, 12)):
            kind = self.random.choices((self.view, self.in_place, self.arithmetic, self.grad_state), (9, 7, 3, 1))[0]
            index = self.random.choice(self.live[-5:] if self.chance(0.7) else self.live)
            self.keep(kind(index))
        self.finish()
        return self.steps

    def keep(self, indices: list[int]) -> None:
        """Later steps may use these, unless they are too large or no tensors."""
        for index in indices:
            tensor = self.outcome.tensors.get(index)
            if torch.is_tensor(tensor) and tensor.numel() <= MOST_ELEMENTS and tensor.dim() <= 6:
                self.live.append(index)

    def finish(self) -> None:
        """Backward from up to three tensors; sometimes a second time."""
        candidates = [i for i in self.live if self.tensor(i).requires_grad and self.tensor(i).is_floating_point()]
        if candidates:
            chosen = self.random.sample(candidates, min(len(candidates), self.random.randint(1, 3)))
            self.backward(chosen)

    def add_base(self) -> None:
        rank = self.random.choices((0, 1, 2, 3, 4), (0.5, 3, 6, 4, 1))[0]
        shape = [self.random.choice((1, 2, 2, 2, 3, 3, 4) + ((0,) if self.chance(0.1) else ())) for _ in range(rank)]
        dtype = self.random.choices(("float32", "float64", "int64"), (8, 3, 1))[0]
        requires_grad = dtype != "int64" and self.chance(0.65)
        (index,) = self.emit("data", self.data(shape, dtype, requires_grad))
        self.live.append(index)
        if requires_grad and self.chance(0.8):
            self.keep(self.emit(self.random.choice((".clone", ".sin", ".neg")), Ref(index)))

    def axis(self, index: int, extra: int = 0) -> int:
        rank = self.tensor(index).dim() + extra
        if (self.chance(0.03) and not is_invalid(self.tensor(index))) or rank == 0:
            return self.random.randint(-rank - 1, rank)
        return self.random.randrange(-rank, rank)

    def size(self, index: int, axis: int) -> int:
        shape = self.tensor(index).shape
        return shape[axis] if -len(shape) <= axis < len(shape) else 1

    # Views.

    def view(self, index: int) -> list[int]:
        kinds: list[Callable[[int], list[int]]] = [
            self.reshaped, self.permuted, self.squeezed, self.expanded, self.narrowed, self.diagonal, self.unfolded,
            self.strided, self.parts, self.indexed, self.plain, self.reinterpreted,
        ]  # fmt: skip
        return self.random.choices(kinds, (5, 4, 3, 2, 3, 1.5, 1, 1.5, 3, 4, 3, 0.5))[0](index)

    def factors(self, numel: int) -> list[int]:
        """A shape of that many elements, sometimes with -1 or one too many."""
        shape = []
        while numel > 1 and len(shape) < 4:
            divisors = [d for d in range(2, numel + 1) if numel % d == 0]
            shape.append(self.random.choice(divisors))
            numel //= shape[-1]
        if numel != 1 or not shape:
            shape.append(numel)
        self.random.shuffle(shape)
        if self.chance(0.2):
            shape.insert(self.random.randint(0, len(shape)), 1)
        if self.chance(0.25):
            shape[self.random.randrange(len(shape))] = -1
        if self.chance(0.03):
            shape[0] += 1
        return shape

    def reshaped(self, index: int) -> list[int]:
        numel = self.tensor(index).numel()
        call = self.random.choice((".view", ".view", ".reshape", ".flatten", ".ravel", ".unflatten", "reshape"))
        if call == ".flatten":
            axes = sorted((self.axis(index), self.axis(index))) if self.chance(0.6) else []
            return self.emit(call, Ref(index), *axes)
        if call == ".ravel":
            return self.emit(call, Ref(index))
        if call == ".unflatten":
            if not self.tensor(index).dim():
                return []
            axis = self.axis(index)
            return self.emit(call, Ref(index), axis, tuple(self.factors(self.size(index, axis))))
        shape = self.factors(numel)
        if call == "reshape" or self.chance(0.4):
            return self.emit(call, Ref(index), tuple(shape))
        return self.emit(call, Ref(index), *shape)

    def permuted(self, index: int) -> list[int]:
        rank = self.tensor(index).dim()
        call = self.random.choice((".transpose", ".t", ".permute", ".movedim", ".swapaxes", "T", "mT", ".adjoint"))
        if call in ("T", "mT"):
            return self.emit("attribute", Ref(index), call) if rank == 2 or self.chance(0.1) else []
        if call == ".t":
            return self.emit(call, Ref(index)) if rank <= 2 or self.chance(0.1) else []
        if call == ".adjoint":
            return self.emit(call, Ref(index)) if rank >= 2 else []
        if call == ".permute":
            order = self.random.sample(range(rank), rank)
            if self.chance(0.04):
                order.append(0)
            return self.emit(call, Ref(index), *order)
        if call == ".movedim" and self.chance(0.4) and rank >= 2:
            source, target = self.random.sample(range(rank), 2), self.random.sample(range(rank), 2)
            return self.emit(call, Ref(index), tuple(source), tuple(target))
        return self.emit(call, Ref(index), self.axis(index), self.axis(index))

    def squeezed(self, index: int) -> list[int]:
        call = self.random.choice((".squeeze", ".unsqueeze", ".unsqueeze", ".squeeze"))
        if call == ".unsqueeze":
            return self.emit(call, Ref(index), self.axis(index, extra=1))
        form = self.random.random()
        if form < 0.4:
            return self.emit(call, Ref(index))
        if form < 0.55 and self.tensor(index).dim() >= 2:
            return self.emit(call, Ref(index), tuple(self.random.sample(range(self.tensor(index).dim()), 2)))
        return self.emit(call, Ref(index), self.axis(index))

    def expanded(self, index: int) -> list[int]:
        shape = [self.random.randint(1, 3) if size == 1 else size for size in self.tensor(index).shape]
        if self.chance(0.3):
            shape = [-1 if self.chance(0.3) else size for size in shape]
        if self.chance(0.4):
            shape = [self.random.randint(1, 2)] + shape
        if self.chance(0.04):
            shape.append(2)
        if self.chance(0.2):
            return self.emit(".broadcast_to", Ref(index), tuple(shape))
        return self.emit(".expand", Ref(index), *shape)

    def narrowed(self, index: int) -> list[int]:
        axis = self.axis(index)
        size = self.size(index, axis)
        if self.chance(0.4):
            value = self.random.randrange(-size, size) if size and self.chance(0.97) else size
            return self.emit(".select", Ref(index), axis, value)
        start = self.random.randint(-size, size)
        length = self.random.randint(0, size - start % size if size else 0) + self.chance(0.03)
        return self.emit(".narrow", Ref(index), axis, start, length)

    def diagonal(self, index: int) -> list[int]:
        offset = self.random.randint(-2, 2)
        if self.chance(0.5):
            return self.emit(".diagonal", Ref(index), offset) if self.tensor(index).dim() >= 2 else []
        return self.emit(".diagonal", Ref(index), offset, self.axis(index), self.axis(index))

    def unfolded(self, index: int) -> list[int]:
        axis = self.axis(index)
        size = self.random.randint(1, self.size(index, axis) + 1)
        return self.emit(".unfold", Ref(index), axis, size, self.random.choice((1, 1, 2, 3)))

    def strided(self, index: int) -> list[int]:
        """A view of any places of the storage; a few of them outside."""
        tensor = self.tensor(index)
        elements = tensor.untyped_storage().nbytes() // tensor.element_size()
        shape = [self.random.randint(1, 3) for _ in range(self.random.randint(0, 3))]
        stride = [self.random.choice((0, 1, 1, 2, 3)) for _ in shape]
        reach = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
        offset = self.random.randint(0, max(0, elements - reach - 1)) + (elements if self.chance(0.05) else 0)
        if reach + offset >= elements and not self.chance(0.1):
            return []
        if self.chance(0.3):
            return self.emit(".as_strided", Ref(index), tuple(shape), tuple(stride))
        return self.emit(".as_strided", Ref(index), tuple(shape), tuple(stride), offset)

    def parts(self, index: int) -> list[int]:
        axis = self.axis(index)
        size = self.size(index, axis)
        call = self.random.choice((".chunk", ".split", ".split", ".unbind", ".tensor_split"))
        if call == ".unbind":
            return self.emit(call, Ref(index), axis, results=max(size, 1)) if size <= 4 else []
        if call == ".split" and self.chance(0.4):
            cut = self.random.randint(0, size)
            return self.emit(call, Ref(index), [cut, size - cut + self.chance(0.04)], axis, results=2)
        number = self.random.randint(1, max(1, size))
        return self.emit(call, Ref(index), number, axis, results=max(size, number, 1))

    def indexed(self, index: int) -> list[int]:
        return self.emit("getitem", Ref(index), self.simple_index(index))

    def simple_index(self, index: int) -> tuple[Any, ...]:
        parts: list[Any] = []
        for size in self.tensor(index).shape:
            form = self.random.random()
            if form < 0.3 and size:
                parts.append(self.random.randrange(-size, size))
            elif form < 0.8:
                bounds = sorted(self.random.sample(range(-1, size + 2), 2))
                parts.append(slice(max(bounds[0], 0), bounds[1], self.random.choice((None, None, 2))))
            else:
                parts.append(slice(None))
            if self.chance(0.2):
                break
        if self.chance(0.15):
            parts.insert(self.random.randint(0, len(parts)), None)
        return tuple(parts) if parts else (...,)

    def plain(self, index: int) -> list[int]:
        call = self.random.choice((".detach", ".detach", ".contiguous", ".clone", ".view_as", "attribute", ".alias"))
        if call == ".alias":
            return self.emit(".view", Ref(index), DType(dtype_of(self.tensor(index))))
        if call == "attribute":
            return self.emit(call, Ref(index), self.random.choice(("data", "T", "mT", "real")))
        if call == ".view_as":
            return self.emit(call, Ref(index), Ref(self.random.choice(self.live)))
        return self.emit(call, Ref(index), no_grad=self.chance(0.2))

    def reinterpreted(self, index: int) -> list[int]:
        """The bytes as another dtype; only of integers, since bytes of floats differ where values hardly do."""
        if self.tensor(index).dtype != torch.int64:
            return []
        return self.emit(".view", Ref(index), DType(self.random.choice(("int32", "int64", "uint8", "int16"))))

    # Writes.

    def in_place(self, index: int) -> list[int]:
        tensor = self.tensor(index)
        if overlaps_itself(tensor) or (is_expanded(tensor) and (tensor.requires_grad or not self.chance(0.3))):
            return []
        no_grad = self.chance(0.85) if is_leaf_with_grad(tensor) else self.chance(0.08)
        kinds: list[Callable[[int, bool], list[int]]] = [
            self.unary_write, self.binary_write, self.assignment, self.metadata_write, self.indexed_write,
        ]  # fmt: skip
        return self.random.choices(kinds, (4, 6, 5, 1.5, 1.5))[0](index, no_grad)

    def unary_write(self, index: int, no_grad: bool) -> list[int]:
        call, *args = self.random.choice((
            (".zero_",), (".fill_", 2.5), (".neg_",), (".sin_",), (".tanh_",), (".sigmoid_",), (".relu_",), (".abs_",),
            (".clamp_", -1, 1), (".clamp_min_", 0), (".add_", 1), (".mul_", 2), (".sub_", 0.5), (".div_", 2),
            (".square_",), (".mul_", 0.5), (".floor_",), (".sign_",), (".exp_",), (".pow_", 2), ("relu_",),
        ))  # fmt: skip
        if call in (".exp_", ".pow_", ".square_") and self.largest(index) > 20:
            return []
        return self.emit(call, Ref(index), *args, no_grad=no_grad)

    def largest(self, index: int) -> float:
        tensor = self.tensor(index)
        return float(tensor.detach().abs().max()) if tensor.numel() else 0.0

    def partner(self, index: int, shape: tuple[int, ...]) -> Any:
        """Another operand: fresh numbers of a shape that broadcasts, or a live tensor of fitting shape."""
        fitting = [i for i in self.live if tuple(self.tensor(i).shape) == shape and self.may_pair(index, i)]
        if fitting and self.chance(0.5):
            return Ref(self.random.choice(fitting))
        size = [1 if self.chance(0.2) else n for n in shape][self.random.choice((0, 0, 0, 1)) :]
        if self.chance(0.04):
            size = [*size, 3]
        dtype = (
            dtype_of(self.tensor(index)) if self.chance(0.85) else self.random.choice(("float32", "int64", "float64"))
        )
        return self.data(size, dtype)

    def may_pair(self, target: int, source: int) -> bool:
        """Whether reading one while writing the other has one meaning: the same places in the same order, or none."""
        a, b = self.tensor(target), self.tensor(source)
        if is_expanded(a):
            return False
        if not shares_memory(a, b):
            return True
        return a.data_ptr() == b.data_ptr() and a.stride() == b.stride() and a.shape == b.shape

    def binary_write(self, index: int, no_grad: bool) -> list[int]:
        shape = tuple(self.tensor(index).shape)
        call = self.random.choice(BINARY_WRITES)
        other = self.partner(index, shape)
        if call in (".mul_", "imul", ".addcmul_") and self.largest(index) > 1e4:
            return []
        unsuited = (
            is_expanded(self.tensor(index)) if call == ".masked_fill_" else not self.tensor(index).is_floating_point()
        )
        if call in (".masked_fill_", ".lerp_") and unsuited:
            return []
        if call == ".div_":
            return self.emit(call, Ref(index), self.random.choice((2, 0.5, self.data((), "float32"))), no_grad=no_grad)
        if call == ".masked_fill_":
            return self.emit(call, Ref(index), self.data(shape, "bool"), self.random.choice((0, 1.5)), no_grad=no_grad)
        if call == ".addcmul_":
            return self.emit(call, Ref(index), other, self.data(shape), value=0.5, no_grad=no_grad)
        if call == ".lerp_":
            return self.emit(call, Ref(index), other, 0.25, no_grad=no_grad)
        if call == ".where":
            return self.emit(call, Ref(index), self.data(shape, "bool"), other, no_grad=no_grad)
        return self.emit(call, Ref(index), other, no_grad=no_grad)

    def assignment(self, index: int, no_grad: bool) -> list[int]:
        where = self.simple_index(index)
        if self.chance(0.4):
            self.emit("setitem", Ref(index), where, self.random.choice((0, 1.5, -2)), results=0, no_grad=no_grad)
            return []
        views = self.emit("getitem", Ref(index), where)
        if views:
            value = self.partner(views[0], tuple(self.tensor(views[0]).shape))
            self.emit("setitem", Ref(index), where, value, results=0, no_grad=no_grad)
        return views if self.chance(0.5) else []

    def indexed_write(self, index: int, no_grad: bool) -> list[int]:
        tensor = self.tensor(index)
        if tensor.dim() == 0 or is_expanded(tensor) or not tensor.numel():
            return []
        axis = self.axis(index)
        size = self.size(index, axis)
        places = self.data((self.random.randint(1, 3),), "int64")
        places.values[...] = self.numbers.permutation(max(size, 3))[: places.values.size] % max(size, 1)
        shape = list(tensor.shape)
        shape[axis % tensor.dim()] = places.values.size
        source = self.data(shape, dtype_of(tensor))
        call = self.random.choice((".index_fill_", ".index_add_", ".cumsum_", ".index_copy_"))
        if call == ".index_fill_":
            return self.emit(call, Ref(index), axis, places, 3, no_grad=no_grad)
        if call == ".cumsum_":
            return self.emit(call, Ref(index), axis, no_grad=no_grad) if self.largest(index) < 1e4 else []
        if call == ".index_copy_" and len(set(places.values.tolist())) < places.values.size:
            return []
        return self.emit(call, Ref(index), axis, places, source, no_grad=no_grad)

    def metadata_write(self, index: int, no_grad: bool) -> list[int]:
        """Changes the tensor that is held, not its memory."""
        call = self.random.choice((".t_", ".squeeze_", ".unsqueeze_", ".transpose_", ".detach_", ".as_strided_"))
        unsettled = call == ".detach_" and not self.tensor(index)._is_view() or is_leaf_with_grad(self.tensor(index))
        if unsettled and self.is_seen_elsewhere(index):
            return []
        if call == ".as_strided_":
            tensor = self.tensor(index)
            shape = tuple(reversed(tensor.shape))
            return self.emit(call, Ref(index), shape, tuple(reversed(tensor.stride())), no_grad=no_grad)
        if call in (".squeeze_", ".detach_") or (call == ".t_" and self.tensor(index).dim() <= 2):
            return self.emit(call, Ref(index), no_grad=no_grad)
        if call == ".unsqueeze_":
            return self.emit(call, Ref(index), self.axis(index, extra=1), no_grad=no_grad)
        return self.emit(".transpose_", Ref(index), self.axis(index), self.axis(index), no_grad=no_grad)

    # What makes new tensors.

    def arithmetic(self, index: int) -> list[int]:
        shape = tuple(self.tensor(index).shape)
        no_grad = self.chance(0.08)
        call = self.random.choice(ARITHMETIC)
        if call in ("+", "-", "*", "/"):
            other = self.partner(index, shape) if self.chance(0.7) else self.random.choice((2, 0.5, True))
            return (
                self.emit(call, Ref(index), other, no_grad=no_grad) if call != "/" else self.emit(call, Ref(index), 2)
            )
        if call in ("cat", "stack"):
            return self.emit(call, [Ref(index), self.partner(index, shape)], self.axis(index), no_grad=no_grad)
        if call == "matmul":
            return self.product(index)
        if call in (".exp", ".pow", "*") and self.largest(index) > 20:
            return []
        if call in (".sum", ".mean", ".cumsum"):
            args = (self.axis(index),) if call == ".cumsum" or self.chance(0.6) else ()
            return self.emit(call, Ref(index), *args, no_grad=no_grad)
        if call == ".pow":
            return self.emit(call, Ref(index), self.random.choice((2, 3)), no_grad=no_grad)
        if call == ".where":
            return self.emit("where", self.data(shape, "bool"), Ref(index), self.partner(index, shape), no_grad=no_grad)
        return self.emit(call, Ref(index), no_grad=no_grad)

    def product(self, index: int) -> list[int]:
        tensor = self.tensor(index)
        if tensor.dim() < 2 or self.largest(index) > 1e4 or math.prod(tensor.shape) == 0:
            return []
        other = self.data(
            (tensor.shape[-1], 2), dtype_of(tensor), requires_grad=tensor.is_floating_point() and self.chance(0.3)
        )
        return self.emit("matmul", Ref(index), other)

    def is_seen_elsewhere(self, index: int) -> bool:
        """Whether another step made a view of the tensor, or a result that may have saved it.

        What `detach_` and `requires_grad_` then mean for those is an accident of PyTorch's implementation.
        """
        tensor = self.tensor(index)
        names = {Ref(i) for i, other in self.outcome.tensors.items() if other is tensor}
        return any(arg in names for step in self.steps for arg in step.args if isinstance(arg, Ref) and step.targets)

    def grad_state(self, index: int) -> list[int]:
        if self.is_seen_elsewhere(index) or self.tensor(index)._is_view():
            return []
        call = self.random.choice((".requires_grad_", ".requires_grad_", ".retain_grad", ".detach_"))
        if call == ".requires_grad_":
            self.emit(call, Ref(index), self.chance(0.8))
        elif call == ".retain_grad":
            self.emit(call, Ref(index), results=0)
        else:
            self.emit(call, Ref(index))
        return []


def is_invalid(tensor: torch.Tensor) -> bool:
    """Whether the tensor is a view that a write made unusable."""
    try:
        return tensor.grad_fn is None and False
    except RuntimeError:
        return True


def is_leaf_with_grad(tensor: torch.Tensor) -> bool:
    """False also for a view that a write made invalid."""
    try:
        return tensor.requires_grad and tensor.is_leaf
    except RuntimeError:
        return False


def generate(seed: str) -> Views:
    """The program of a seed, with its outcome in PyTorch."""
    builder = Views(seed)
    builder.build()
    return builder
