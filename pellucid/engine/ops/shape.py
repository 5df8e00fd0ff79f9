"""Views: other shapes, strides and offsets over the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.engine.core.dtypes import dtype
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta, contiguous_strides
from pellucid.engine.core.op import view, views

Ints = tuple[int, ...]
Layout = tuple[Ints, Ints, int]
Retyped = tuple[Ints, Ints, int, dtype]


@view
def expand(x: Meta, *, size: Ints) -> Layout:
    """Sizes of 1 repeated (stride 0) to `size`, new axes in front; -1 keeps a size."""
    missing = len(size) - x.ndim
    check(
        missing >= 0,
        f"expand(torch.{_kind(x)}{{{list(x.shape)}}}, size={list(size)}): the number of sizes provided "
        f"({len(size)}) must be greater or"
        f" equal to the number of dimensions in the tensor ({x.ndim})",
    )
    shape, strides = list(size), [0] * len(size)
    for axis in range(len(size)):
        known = x.shape[axis - missing] if axis >= missing else 1
        if size[axis] == -1:
            check(
                axis >= missing,
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {axis}",
            )
            shape[axis] = known
        check(
            known == shape[axis] or known == 1,
            f"The expanded size of the tensor ({shape[axis]}) must match the existing size ({known}) at "
            f"non-singleton dimension {axis}."
            f"  Target sizes: {list(size)}.  Tensor sizes: {list(x.shape)}",
        )
        if axis >= missing:
            strides[axis] = x.strides[axis - missing] if known == shape[axis] else 0
    for axis in range(missing - 1, -1, -1):  # a new axis of size 1 gets the stride that PyTorch computes for it
        strides[axis] = shape[axis + 1] * strides[axis + 1] if shape[axis] == 1 and x.ndim else 0
    return tuple(shape), tuple(strides), 0


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
    return _reshaped(x, size)


@view(name="reshape_alias", grad_name="ReshapeAliasBackward0")
def reshape_alias(x: Meta, *, size: Ints) -> Layout:
    """What `reshape` makes of a tensor that is not contiguous where strides allow a view."""
    return _reshaped(x, size)


@view(name="unsafe_view", grad_name="UnsafeViewBackward0", fresh=True)
def unsafe_view(x: Meta, *, size: Ints) -> Layout:
    """Like `view`, for a tensor that nobody else will see: a fresh copy."""
    return _reshaped(x, size)


def _reshaped(x: Meta, size: Ints) -> Layout:
    strides = view_strides(x.shape, x.strides, size)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans "
            "across two contiguous"
            f" subspaces). Use .reshape(...) instead. (shape {list(x.shape)}, strides {list(x.strides)}, asked "
            f"for {list(size)})"
        )
    return size, strides, 0


@unsafe_view.vjp("x")
def unsafe_view_dx(dy: Any, x_meta: Meta) -> Any:
    return reshape_to(dy, tuple(x_meta.shape))


@reshape_alias.vjp("x")
def reshape_alias_dx(dy: Any, x_meta: Meta) -> Any:
    return reshape_to(dy, tuple(x_meta.shape))


@reshape_view.vjp("x")
def reshape_view_dx(dy: Any, x_meta: Meta) -> Any:
    return reshape_to(dy, tuple(x_meta.shape))


def reshape_to(x: Any, size: Ints) -> Any:
    """A view of that shape where there is one, else a copy."""
    from pellucid.engine.ops.memory import clone

    meta: Meta = x._meta
    if not meta.is_contiguous and view_strides(meta.shape, meta.strides, size) is None:
        return unsafe_view(clone(x, strides=contiguous_strides(meta.shape)), size=size)
    return reshape_view(x, size=size) if meta.is_contiguous else reshape_alias(x, size=size)


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


@view(name="t", grad_name="TBackward0")
def matrix_transpose(x: Meta) -> Layout:
    """A matrix with its two axes swapped; a vector or a number as it is."""
    return tuple(reversed(x.shape)), tuple(reversed(x.strides)), 0


@matrix_transpose.vjp("x")
def matrix_transpose_dx(dy: Any) -> Any:
    return matrix_transpose(dy)


@view(name="alias")
def alias(x: Meta) -> Layout:
    """The same view again, as another tensor."""
    return tuple(x.shape), x.strides, 0


@alias.vjp("x")
def alias_dx(dy: Any) -> Any:
    return dy


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


def _squeezed(x: Meta, axes: Ints) -> Layout:
    kept = [d for d in range(x.ndim) if d not in axes or x.shape[d] != 1]
    return tuple([x.shape[d] for d in kept]), tuple([x.strides[d] for d in kept]), 0


@view(name="squeeze_all", grad_name="SqueezeBackward0")
def squeeze_all(x: Meta) -> Layout:
    """Every axis of size 1 dropped."""
    return _squeezed(x, tuple(range(x.ndim)))


@view(name="squeeze_axis", grad_name="SqueezeBackward1")
def squeeze_axis(x: Meta, *, axis: int) -> Layout:
    """One axis dropped where its size is 1."""
    return _squeezed(x, (axis,))


@view(name="squeeze_axes", grad_name="SqueezeBackward2")
def squeeze_axes(x: Meta, *, axes: Ints) -> Layout:
    """The axes in `axes` dropped where their size is 1."""
    return _squeezed(x, axes)


@squeeze_all.vjp("x")
def squeeze_all_dx(dy: Any, x_meta: Meta) -> Any:
    return _unsqueezed(dy, tuple([axis for axis, size in enumerate(x_meta.shape) if size == 1]))


@squeeze_axis.vjp("x")
def squeeze_axis_dx(dy: Any, x_meta: Meta, axis: int) -> Any:
    return _unsqueezed(dy, (axis,) if x_meta.ndim and x_meta.shape[axis] == 1 else ())


@squeeze_axes.vjp("x")
def squeeze_axes_dx(dy: Any, x_meta: Meta, axes: Ints) -> Any:
    return _unsqueezed(dy, tuple(sorted([axis for axis in axes if x_meta.ndim and x_meta.shape[axis] == 1])))


def _unsqueezed(x: Any, axes: Ints) -> Any:
    return unsqueeze_axes(x, axes=axes) if axes else x


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
    return _embedded(unsqueeze_axes(dy, axes=(dim,)), x_meta, dim, index, index + 1, 1)


@slice_.vjp("x")
def slice_dx(dy: Any, x_meta: Meta, dim: int, start: int, end: int, step: int) -> Any:
    return _embedded(dy, x_meta, dim, start, end, step)


def _embedded(part: Any, whole: Meta, dim: int, start: int, end: int, step: int) -> Any:
    from pellucid.engine.ops.joining import embed_slice

    return embed_slice(part, size=tuple(whole.shape), dim=dim, start=start, end=end, step=step)


@view
def diagonal(x: Meta, *, offset: int, dim1: int, dim2: int) -> Layout:
    """The elements on a diagonal of two axes, as a new last axis; `offset` counts to the right."""
    check(dim1 != dim2, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length, start = max(min(x.shape[dim1], x.shape[dim2] - offset), 0), offset * x.strides[dim2]
    else:
        length, start = max(min(x.shape[dim1] + offset, x.shape[dim2]), 0), -offset * x.strides[dim1]
    kept = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    strides = (*[x.strides[d] for d in kept], x.strides[dim1] + x.strides[dim2])
    return (*[x.shape[d] for d in kept], length), strides, start if length else 0


@diagonal.vjp("x")
def diagonal_dx(dy: Any, x_meta: Meta, offset: int, dim1: int, dim2: int) -> Any:
    from pellucid.engine.ops.joining import embed_diagonal

    return embed_diagonal(dy, size=tuple(x_meta.shape), offset=offset, dim1=dim1, dim2=dim2)


@view
def unfold(x: Meta, *, dim: int, size: int, step: int) -> Layout:
    """Windows of `size` along an axis, one every `step`; the window is a new last axis."""
    available = x.shape[dim] if x.ndim else 1
    check(size >= 0, f"size is {size} but must be >= 0")
    check(size <= available, f"maximum size for tensor at dimension {dim} is {available} but size is {size}")
    check(step > 0, f"step is {step} but must be > 0")
    if not x.ndim:
        return (size,), (1,), 0
    count = (available - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    return tuple(shape), (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :], x.strides[dim]), 0


@unfold.vjp("x")
def unfold_dx(dy: Any, x_meta: Meta, dim: int, size: int, step: int) -> Any:
    from pellucid.engine.ops.joining import fold_windows

    return fold_windows(dy, size=tuple(x_meta.shape), dim=dim, step=step)


@views(name="split", grad_name="SplitBackward0")
def split(x: Meta, *, sizes: Ints, dim: int) -> list[Layout]:
    """Consecutive parts along an axis."""
    return _parts(x, sizes, dim)


@views(name="split_with_sizes", grad_name="SplitWithSizesBackward0")
def split_with_sizes(x: Meta, *, sizes: Ints, dim: int) -> list[Layout]:
    """Consecutive parts of given sizes along an axis."""
    return _parts(x, sizes, dim)


def _parts(x: Meta, sizes: Ints, dim: int) -> list[Layout]:
    parts: list[Layout] = []
    start = 0
    for each in sizes:
        shape = (*x.shape[:dim], each, *x.shape[dim + 1 :])
        parts.append((tuple(shape), x.strides, start * x.strides[dim]))
        start += each
    return parts


@views(name="unbind", grad_name="UnbindBackward0")
def unbind(x: Meta, *, dim: int) -> list[Layout]:
    """Every index along an axis, which disappears."""
    return [
        ((*x.shape[:dim], *x.shape[dim + 1 :]), (*x.strides[:dim], *x.strides[dim + 1 :]), index * x.strides[dim])
        for index in range(x.shape[dim])
    ]


@split.vjp("x")
def split_dx(dy: Any, x_meta: Meta, sizes: Ints, dim: int) -> Any:
    return _joined(dy, x_meta, sizes, dim)


@split_with_sizes.vjp("x")
def split_with_sizes_dx(dy: Any, x_meta: Meta, sizes: Ints, dim: int) -> Any:
    return _joined(dy, x_meta, sizes, dim)


def _joined(parts: Any, x_meta: Meta, sizes: Ints, dim: int) -> Any:
    from pellucid.engine.core.graph import zeros
    from pellucid.engine.ops.joining import cat

    shapes = [(*x_meta.shape[:dim], each, *x_meta.shape[dim + 1 :]) for each in sizes]
    filled = [zeros(x_meta.like(shape)) if part is None else part for part, shape in zip(parts, shapes, strict=True)]
    return cat(*filled, dim=dim)


@unbind.vjp("x")
def unbind_dx(dy: Any, x_meta: Meta, dim: int) -> Any:
    from pellucid.engine.core.graph import zeros
    from pellucid.engine.ops.joining import cat

    shape = (*x_meta.shape[:dim], *x_meta.shape[dim + 1 :])
    return cat(
        *[unsqueeze_axes(zeros(x_meta.like(shape)) if part is None else part, axes=(dim,)) for part in dy], dim=dim
    )


@view
def view_as_real(x: Meta) -> Retyped:
    """A complex tensor as pairs (real, imaginary) along a new last axis."""
    check(x.dtype.is_complex, "view_as_real is only supported for complex tensors")
    return (*x.shape, 2), (*[2 * each for each in x.strides], 1), 0, x.dtype.to_real()


@view
def view_as_complex(x: Meta) -> Retyped:
    """Pairs along the last axis as complex numbers."""
    check(
        x.dtype.category == 2,
        f"view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: {x.dtype}",
    )
    check(x.ndim > 0 and x.shape[-1] == 2, "Tensor must have a last dimension of size 2")
    check(x.strides[-1] == 1, "Tensor must have a last dimension with stride 1")
    check(
        all(each % 2 == 0 for each in x.strides[:-1]),
        "Tensor must have a stride divisible by 2 for all but last dimension",
    )
    return tuple(x.shape[:-1]), tuple([each // 2 for each in x.strides[:-1]]), 0, x.dtype.to_complex()


@view_as_real.vjp("x")
def view_as_real_dx(dy: Any) -> Any:
    return view_as_complex(_contiguous(dy))


@view_as_complex.vjp("x")
def view_as_complex_dx(dy: Any) -> Any:
    return view_as_real(_contiguous(dy))


def _contiguous(x: Any) -> Any:
    from pellucid.engine.ops.memory import clone

    return x if x._meta.is_contiguous else clone(x, strides=contiguous_strides(x._meta.shape))


@view(name="view_as_dtype", grad_name="ViewBackward1")
def view_as_dtype(x: Meta, *, kind: dtype) -> Retyped:
    """The same bytes read as another dtype; the last axis grows or shrinks with the size of an element."""
    old, new = x.dtype.itemsize, kind.itemsize
    if old == new:
        return tuple(x.shape), x.strides, 0, kind
    check(x.ndim > 0, f"self.dim() cannot be 0 to view {_title(x.dtype)} as {_title(kind)} (different element sizes)")
    check(
        x.strides[-1] == 1,
        f"self.stride(-1) must be 1 to view {_title(x.dtype)} as {_title(kind)} (different element sizes), but "
        f"got {x.strides[-1]}",
    )
    if old > new:
        ratio = old // new
        return (*x.shape[:-1], x.shape[-1] * ratio), (*[each * ratio for each in x.strides[:-1]], 1), 0, kind
    ratio = new // old
    check(
        x.shape[-1] % ratio == 0,
        f"self.size(-1) must be divisible by {ratio} to view {_title(x.dtype)} as {_title(kind)} (different "
        f"element sizes), but got {x.shape[-1]}",
    )
    check(
        all(each % ratio == 0 for each in x.strides[:-1]),
        f"self.stride must be divisible by {ratio} to view {_title(x.dtype)} as {_title(kind)} (different "
        f"element sizes), but got {list(x.strides)}",
    )
    return (*x.shape[:-1], x.shape[-1] // ratio), (*[each // ratio for each in x.strides[:-1]], 1), 0, kind


def _title(kind: dtype) -> str:
    from pellucid.engine.core.promotion import title

    return title(kind)
