"""Views: other shapes, strides and offsets over the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, contiguous_strides
from pellucid.engine.core.op import view

Ints = tuple[int, ...]
Layout = tuple[Ints, Ints, int]


@view
def expand(x: Meta, *, size: Ints) -> Layout:
    """Sizes of 1 repeated (stride 0) to `size`, new axes in front; -1 keeps a size."""
    missing = len(size) - x.ndim
    check(
        missing >= 0,
        f"expand(torch.{_kind(x)}{{{list(x.shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be greater or"
        f" equal to the number of dimensions in the tensor ({x.ndim})",
    )
    shape, strides = list(size), [0] * len(size)
    for axis in range(len(size)):
        known = x.shape[axis - missing] if axis >= missing else 1
        if size[axis] == -1:
            check(axis >= missing, f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {axis}")
            shape[axis] = known
        check(
            known == shape[axis] or known == 1,
            f"The expanded size of the tensor ({shape[axis]}) must match the existing size ({known}) at non-singleton dimension {axis}."
            f"  Target sizes: {list(size)}.  Tensor sizes: {list(x.shape)}",
        )
        if axis >= missing:
            strides[axis] = x.strides[axis - missing] if known == shape[axis] else 0
        else:
            strides[axis] = 0 if shape[axis] != 1 else _leading_stride(x)
    return tuple(shape), tuple(strides), 0


def _leading_stride(x: Meta) -> int:
    return x.shape[0] * x.strides[0] if x.ndim else 1


def _kind(x: Meta) -> str:
    from pellucid.engine.core.promotion import title

    return f"{title(x.dtype)}Tensor"


@expand.vjp("x")
def expand_dx(dy: Any) -> Any:
    return dy  # the engine sums it to the input's shape


def view_strides(shape: Sequence[int], strides: Sequence[int], size: Sequence[int]) -> Ints | None:
    """Strides that show a layout with another shape; None where no strides do."""
    numel = 1
    for each in shape:
        numel *= each
    if numel == 0:
        return tuple(strides) if tuple(shape) == tuple(size) else contiguous_strides(size)
    result = [1] * len(size)
    axis = len(size) - 1
    base = strides[-1] if shape else 1
    block = seen = 1
    for d in range(len(shape) - 1, -1, -1):
        block *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != block * base):
            while axis >= 0 and (seen < block or size[axis] == 1):
                result[axis] = seen * base
                seen *= size[axis]
                axis -= 1
            if seen != block:
                return None
            if d > 0:
                base = strides[d - 1]
                block = seen = 1
    if not shape:
        return contiguous_strides(size)
    return tuple(result) if axis == -1 else None


@view(name="view", grad_name="ViewBackward0")
def reshape_view(x: Meta, *, size: Ints) -> Layout:
    """The same elements in row-major order under another shape, without a copy."""
    strides = view_strides(x.shape, x.strides, size)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous"
            f" subspaces). Use .reshape(...) instead. (shape {list(x.shape)}, strides {list(x.strides)}, asked for {list(size)})"
        )
    return size, strides, 0


@reshape_view.vjp("x")
def reshape_view_dx(dy: Any, x_meta: Meta) -> Any:
    return reshape_to(dy, tuple(x_meta.shape))


def reshape_to(x: Any, size: Ints) -> Any:
    """A view of that shape where there is one, else a copy."""
    from pellucid.engine.ops.memory import clone

    meta: Meta = x._meta
    if view_strides(meta.shape, meta.strides, size) is None:
        x = clone(x, strides=contiguous_strides(meta.shape))
    return reshape_view(x, size=size)


@view
def permute(x: Meta, *, dims: Ints) -> Layout:
    """The axes in another order."""
    return tuple([x.shape[d] for d in dims]), tuple([x.strides[d] for d in dims]), 0


@permute.vjp("x")
def permute_dx(dy: Any, dims: Ints) -> Any:
    return permute(dy, dims=tuple(sorted(range(len(dims)), key=lambda axis: dims[axis])))


@view(name="transpose")
def transpose(x: Meta, *, dim0: int, dim1: int) -> Layout:
    """Two axes swapped."""
    order = list(range(x.ndim))
    if x.ndim:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return tuple([x.shape[d] for d in order]), tuple([x.strides[d] for d in order]), 0


@transpose.vjp("x")
def transpose_dx(dy: Any, dim0: int, dim1: int) -> Any:
    return transpose(dy, dim0=dim0, dim1=dim1)


@view(name="unsqueeze_axes", grad_name="UnsqueezeBackward0")
def unsqueeze_axes(x: Meta, *, axes: Ints) -> Layout:
    """Sizes of 1 inserted so that they stand at `axes` (ascending) of the result."""
    shape, strides = list(x.shape), list(x.strides)
    for axis in axes:
        strides.insert(axis, shape[axis] * strides[axis] if axis < len(shape) else 1)
        shape.insert(axis, 1)
    return tuple(shape), tuple(strides), 0


@unsqueeze_axes.vjp("x")
def unsqueeze_axes_dx(dy: Any, axes: Ints) -> Any:
    return squeeze_axes(dy, axes=axes)


@view(name="squeeze_axes", grad_name="SqueezeBackward1")
def squeeze_axes(x: Meta, *, axes: Ints) -> Layout:
    """The axes in `axes` dropped where their size is 1."""
    kept = [d for d in range(x.ndim) if d not in axes or x.shape[d] != 1]
    return tuple([x.shape[d] for d in kept]), tuple([x.strides[d] for d in kept]), 0


@squeeze_axes.vjp("x")
def squeeze_axes_dx(dy: Any, x_meta: Meta) -> Any:
    return reshape_to(dy, tuple(x_meta.shape))


@view
def select(x: Meta, *, dim: int, index: int) -> Layout:
    """One index along an axis, which disappears."""
    shape = (*x.shape[:dim], *x.shape[dim + 1 :])
    return tuple(shape), (*x.strides[:dim], *x.strides[dim + 1 :]), index * x.strides[dim]


@view(name="slice")
def slice_(x: Meta, *, dim: int, start: int, end: int, step: int) -> Layout:
    """Indices start, start+step, … below end along an axis; 0 <= start <= end <= size."""
    length = max(0, -(-(end - start) // step))
    shape = (*x.shape[:dim], length, *x.shape[dim + 1 :])
    return tuple(shape), (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :]), start * x.strides[dim]


@select.vjp("x")
def select_dx(dy: Any, x_meta: Meta, dim: int, index: int) -> Any:
    return slice_scatter_zero(unsqueeze_axes(dy, axes=(dim,)), x_meta=x_meta, dim=dim, start=index, end=index + 1, step=1)


@slice_.vjp("x")
def slice_dx(dy: Any, x_meta: Meta, dim: int, start: int, end: int, step: int) -> Any:
    return slice_scatter_zero(dy, x_meta=x_meta, dim=dim, start=start, end=end, step=step)


def slice_scatter_zero(part: Any, *, x_meta: Meta, dim: int, start: int, end: int, step: int) -> Any:
    """Zeros of the shape of `x_meta` with `part` at a slice."""
    from pellucid.engine.ops.joining import embed_slice

    return embed_slice(part, size=tuple(x_meta.shape), dim=dim, start=start, end=end, step=step)
