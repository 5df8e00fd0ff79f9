"""Sequences of different lengths in one batch: padded to the longest, or packed without padding, step by step.

A packed sequence holds the first step of every sequence, longest first, then the second step of those that have one,
and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.engine.tensor.arguments import as_bool, need_str, need_tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence_(NamedTuple):
    """The four parts of a packed sequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The steps of a batch of sequences without padding: `data`, and `batch_sizes`, how many sequences have a step of
    each number.

    Made by `pack_padded_sequence` and `pack_sequence`. `batch_sizes` is always on the CPU; `sorted_indices` is how the
    batch was
    ordered, `unsorted_indices` how to undo it.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data: Tensor, indices: Any) -> PackedSequence:
        """The same sequence with other data, and the indices as the function `indices` makes them."""
        known = (None if each is None else indices(each) for each in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *known)

    def pin_memory(self) -> PackedSequence:
        """The same sequence in page-locked memory."""
        return self._with_data(self.data.pin_memory(), lambda indices: indices.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence with `data` moved or cast as `Tensor.to` does; the indices are moved, never cast."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._with_data(data, lambda indices: indices.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence on a CUDA device."""
        return self._with_data(self.data.cuda(*args, **kwargs), lambda indices: indices.cuda(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence on the CPU."""
        return self._with_data(self.data.cpu(*args, **kwargs), lambda indices: indices.cpu())

    def double(self) -> PackedSequence:
        """The sequence with float64 data."""
        return self.to(dtype=pellucid.float64)

    def float(self) -> PackedSequence:
        """The sequence with float32 data."""
        return self.to(dtype=pellucid.float32)

    def half(self) -> PackedSequence:
        """The sequence with float16 data."""
        return self.to(dtype=pellucid.float16)

    def long(self) -> PackedSequence:
        """The sequence with int64 data."""
        return self.to(dtype=pellucid.int64)

    def int(self) -> PackedSequence:
        """The sequence with int32 data."""
        return self.to(dtype=pellucid.int32)

    def short(self) -> PackedSequence:
        """The sequence with int16 data."""
        return self.to(dtype=pellucid.int16)

    def char(self) -> PackedSequence:
        """The sequence with int8 data."""
        return self.to(dtype=pellucid.int8)

    def byte(self) -> PackedSequence:
        """The sequence with uint8 data."""
        return self.to(dtype=pellucid.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`; None for None.

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = pellucid.arange(0, permutation.numel(), device=permutation.device, dtype=permutation.dtype)
    return pellucid.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch (T, N, …), or (N, T, …) with `batch_first`, of which sequence n has `lengths[n]` steps.

    With `enforce_sorted` the lengths must be decreasing; otherwise the batch is sorted, and the order is kept for the
    way back.

    >>> import pellucid as torch
    >>> padded = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    need_tensor(input, "pack_padded_sequence")
    as_bool(batch_first, "pack_padded_sequence", "batch_first", 3)
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu":
            raise RuntimeError(
                f"'lengths' argument should be a 1D CPU int64 tensor, but got 1D {lengths.device} {lengths.dtype} "
                f"tensor"
            )
        lengths = lengths.to(dtype=pellucid.int64)
    else:
        lengths = pellucid.as_tensor(lengths, dtype=pellucid.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = pellucid.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    sizes = _checked_lengths(input, lengths, batch_first)
    steps = input.transpose(0, 1) if batch_first else input
    batch_sizes = [sum(length > step for length in sizes) for step in range(sizes[0])]
    data = pellucid.cat([steps[first:last, :size].flatten(0, 1) for first, last, size in _runs(batch_sizes)])
    return PackedSequence(data, pellucid.tensor(batch_sizes, dtype=pellucid.int64), sorted_indices, None)


def _checked_lengths(input: Tensor, lengths: Tensor, batch_first: bool) -> list[int]:
    """The lengths as numbers; RuntimeError unless there is one per sequence, all positive, decreasing, none too
    long.
    """
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    batch, longest = (input.size(0), input.size(1)) if batch_first else (input.size(1), input.size(0))
    if lengths.dim() != 1 or lengths.size(0) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size(0)} (batch_size={batch})"
        )
    sizes = lengths.tolist()
    if any(first < second for first, second in zip(sizes, sizes[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
            "you do not need ONNX exportability."
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if sizes[0] > longest:
        raise RuntimeError(
            f"Expected sequence length to be no larger than {longest}, the padded length, but the longest length is "
            f"{sizes[0]}"
        )
    return sizes


def _runs(batch_sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """(first step, end, size) for each stretch of steps with the same number of sequences."""
    runs: list[tuple[int, int, int]] = []
    for step, size in enumerate(batch_sizes):
        if runs and runs[-1][2] == size:
            runs[-1] = (runs[-1][0], step + 1, size)
        else:
            runs.append((step, step + 1, size))
    return runs


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: the padded batch, of `total_length` steps if given, and the lengths.

    >>> import pellucid as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    batch = sizes[0]
    parts, position = [], 0
    for first, last, size in _runs(sizes):
        taken = data[position : position + (last - first) * size].unflatten(0, (last - first, size))
        position += (last - first) * size
        if size < batch:
            filler = data.new_full((last - first, batch - size, *data.shape[1:]), padding_value)
            taken = pellucid.cat([taken, filler], dim=1)
        parts.append(taken)
    if total_length is not None and total_length > steps:
        parts.append(data.new_full((total_length - steps, batch, *data.shape[1:]), padding_value))
    padded = pellucid.cat(parts, dim=0)
    lengths = pellucid.tensor([sum(size > n for size in sizes) for n in range(batch)], dtype=pellucid.int64)
    padded = padded.transpose(0, 1) if batch_first else padded
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """One tensor (T, N, …), or (N, T, …) with `batch_first`, of N sequences (L_n, …) padded to the longest length T.

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    as_bool(batch_first, "pad_sequence", "batch_first", 2)
    need_str(padding_side, "pad_sequence", "padding_side", 4)
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    given = tuple(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(each.size(0) for each in given)
    padded = []
    for each in given:
        filler = given[0].new_full((longest - each.size(0), *each.shape[1:]), padding_value)
        padded.append(pellucid.cat([each, filler] if padding_side == "right" else [filler, each]))
    return pellucid.stack(padded, dim=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each cut to its length.

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    need_tensor(padded_sequences, "unpad_sequence", "padded_sequences")
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length].clone() for row, length in zip(rows, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L_n, …), longest first unless `enforce_sorted=False`.

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = pellucid.as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed, in their order.

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.unpack_sequence(torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
