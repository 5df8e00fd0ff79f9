"""What is known of a tensor without its data: `Size`, the interned `Meta`, and PyTorch's arithmetic of strides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pellucid.engine.core.device import CPU, META
from pellucid.engine.core.device import device as device_type
from pellucid.engine.core.dtypes import dtype as dtype_type


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple that prints as `torch.Size([2, 3])` and stays a Size when sliced or added."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        made = tuple.__new__(cls, sizes)
        for position, size in enumerate(made):
            if size.__class__ is not int:
                return tuple.__new__(cls, [_as_index(each, position) for position, each in enumerate(made)])
        return made

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def numel(self) -> int:
        """The number of elements of a tensor of this size; 1 for `Size([])`."""
        count = 1
        for size in self:
            count *= size
        return count

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if index.__class__ is slice else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, count: Any) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def _as_index(value: Any, position: int) -> int:
    try:
        return value.__index__()
    except (AttributeError, TypeError, RuntimeError):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{type(value).__name__}')"
        ) from None


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a size of 0 counts as 1."""
    strides = [1] * len(shape)
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= shape[axis] or 1
    return tuple(strides)


class Meta:
    """Shape, strides (in elements), dtype and device of a tensor. Interned: the same facts are the same object."""

    __slots__ = (
        "byte_strides", "device", "dtype", "has_overlap", "is_contiguous", "is_dense", "ndim", "numel", "shape",
        "strides",
    )  # fmt: skip

    shape: Size
    strides: tuple[int, ...]
    dtype: dtype_type
    device: device_type
    ndim: int
    numel: int
    byte_strides: tuple[int, ...]
    is_contiguous: bool
    has_overlap: bool  # two elements certainly share memory: a stride of 0 along a size above 1
    is_dense: bool  # the elements fill a block of memory in some order of the axes
    is_sparse = False  # sparse.SparseMeta's is True
    is_sample = False  # batching.SampleMeta's is True
    layout = "strided"

    @staticmethod
    def of(
        shape: Sequence[int], kind: dtype_type, where: device_type = CPU, strides: tuple[int, ...] | None = None
    ) -> Meta:
        """The meta with these facts; contiguous unless `strides` are given."""
        key = (tuple(shape), strides, kind, where)
        found = _INTERNED.get(key)
        return found if found is not None else _make(key)

    def like(self, shape: Sequence[int] | None = None, dtype: dtype_type | None = None) -> Meta:
        """A contiguous meta on the same device with some facts replaced."""
        return Meta.of(self.shape if shape is None else shape, dtype or self.dtype, self.device)

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize

    @property
    def is_meta(self) -> bool:
        return self.device is META

    def __repr__(self) -> str:
        return f"Meta({tuple(self.shape)}, {self.dtype}, {self.device}, strides={self.strides})"


_INTERNED: dict[Any, Meta] = {}
_LIMIT = 50_000


def _make(key: tuple[Any, ...]) -> Meta:
    shape, strides, kind, where = key
    plain = contiguous_strides(shape)
    if strides is not None and strides == plain:  # the same facts written in full
        meta = Meta.of(shape, kind, where)
    else:
        meta = Meta()
        meta.shape = Size(shape)
        meta.strides = plain if strides is None else strides
        meta.dtype, meta.device, meta.ndim, meta.numel = kind, where, len(shape), Size(shape).numel()
        meta.byte_strides = tuple([each * kind.itemsize for each in meta.strides])
        meta.is_contiguous = strides is None or _is_contiguous(meta.shape, meta.strides, meta.numel)
        meta.has_overlap = not meta.is_contiguous and _has_overlap(meta)
        meta.is_dense = meta.is_contiguous or is_dense(meta.shape, meta.strides)
    if len(_INTERNED) >= _LIMIT:  # identity is only ever a shortcut, so forgetting is safe
        _INTERNED.clear()
    _INTERNED[key] = meta
    return meta


def _is_contiguous(shape: Size, strides: tuple[int, ...], numel: int) -> bool:
    if numel == 0:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill a block of memory in some order of the axes, without overlap."""
    if len(shape) == 1:
        return shape[0] < 2 or strides[0] == 1
    order = sorted(range(len(shape)), key=lambda axis: strides[axis] if shape[axis] >= 2 else 1 << 62)
    step = 1
    for axis in order:
        if shape[axis] < 2:
            return True
        if strides[axis] != step:
            return False
        step *= shape[axis]
    return True


def _has_overlap(meta: Meta) -> bool:
    return meta.numel > 0 and any(
        size > 1 and stride == 0 for size, stride in zip(meta.shape, meta.strides, strict=True)
    )


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to; RuntimeError in PyTorch's words where two sizes do not fit."""
    result: list[int] = list(shapes[0]) if shapes else []
    for shape in shapes[1:]:
        longer, shorter = (result, shape) if len(result) >= len(shape) else (list(shape), result)
        offset = len(longer) - len(shorter)
        for axis, size in enumerate(shorter):
            other = longer[axis + offset]
            if size == other or size == 1:
                continue
            if other != 1:
                a, b = (other, size) if longer is result else (size, other)
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton "
                    f"dimension {axis + offset}"
                    f" (shapes {list(result)} and {list(shape)}): sizes must be equal or 1, counted from the "
                    "last dimension."
                )
            longer[axis + offset] = size
        result = list(longer)
    return tuple(result)


def pointwise_strides(shape: tuple[int, ...], operands: Sequence[Meta], alike: bool = True) -> tuple[int, ...] | None:
    """Strides of a pointwise result: the axes in the operands' order of memory; None when that is row-major.

    `alike` is False where another operand is a number, which counts as a tensor of another shape.
    """
    if alike and all(each.shape == shape for each in operands):
        if all(each.is_contiguous for each in operands):
            return None
        first = operands[0]
        if first.is_dense and all(each.strides == first.strides for each in operands):
            return first.strides
    order = axis_order(shape, [_broadcast_strides(each, shape) for each in operands])
    if order == list(range(len(shape) - 1, -1, -1)):
        return None
    strides, step = [0] * len(shape), 1
    for axis in order:  # unlike elsewhere, a size of 0 counts as 0
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _broadcast_strides(meta: Meta, shape: tuple[int, ...]) -> list[int]:
    missing = len(shape) - meta.ndim
    known = [
        0 if size == 1 and shape[axis + missing] != 1 else stride
        for axis, (size, stride) in enumerate(zip(meta.shape, meta.strides, strict=True))
    ]
    return [0] * missing + known


def axis_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """Axes from the fastest-moving to the slowest, as all operands agree; insertion sort, since the comparison is not
    transitive.
    """
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        right = i
        for left in range(i - 1, -1, -1):
            verdict = _compare_axes(shape, strides, order[left], order[right])
            if verdict > 0:
                order[left], order[right] = order[right], order[left]
                right = left
            elif verdict < 0:
                break
    return order


def _compare_axes(shape: Sequence[int], strides: Sequence[Sequence[int]], a: int, b: int) -> int:
    for each in strides:
        if each[a] == 0 or each[b] == 0:
            continue
        if each[a] != each[b]:
            return -1 if each[a] < each[b] else 1
        if shape[a] > shape[b]:
            return 1
    return 0


def strides_in_order(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Dense strides in which `order` lists the axes from the fastest-moving to the slowest."""
    strides = [0] * len(shape)
    step = 1
    for axis in order:
        strides[axis] = step
        step *= shape[axis] or 1
    return tuple(strides)


def preserved_strides(meta: Meta) -> tuple[int, ...] | None:
    """Strides of `empty_like`: the same when dense, else dense in the same order of axes; None when row-major."""
    if meta.is_dense:
        return meta.strides
    return strides_in_order(meta.shape, axis_order(meta.shape, [meta.strides]))


def channels_last_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a batch of images (or volumes) whose channels are the fastest-moving axis."""
    order = [1, *range(len(shape) - 1, 1, -1), 0]
    return strides_in_order(shape, order)
