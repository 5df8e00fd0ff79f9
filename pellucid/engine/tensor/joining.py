"""Putting tensors together and setting copies side by side: cat, stack, repeat, flip, roll."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import whole
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check, user_level, wrap_dim, wrap_dims
from pellucid.engine.ops import joining as ops
from pellucid.engine.ops import selection, shape
from pellucid.engine.tensor.arguments import (
    as_dim,
    as_int,
    as_ints,
    as_size,
    need_str,
    need_tensor,
    need_tensors,
    presented,
)
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def _list(tensors: Any, function: str) -> list[Any]:
    if not isinstance(tensors, list | tuple):
        raise TypeError(
            f"{function}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for position, each in enumerate(tensors):
        if not isinstance(each, TensorData):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got {type(each).__name__} "
                f"({function}() joins tensors only)"
            )
    return list(tensors)


def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Tensors one after another along a dimension; the other sizes must agree.

    >>> import pellucid as torch
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    dim = as_int(dim, "cat", "dim", 2)
    parts = _list(tensors, "cat")
    check(parts, "torch.cat(): expected a non-empty list of Tensors", ValueError)
    for position, each in enumerate(parts):
        check(
            each._meta.ndim,
            f"zero-dimensional tensor (at position {position}) cannot be concatenated; use stack for those",
        )
    ranked = next((each for each in parts if each._meta.shape != (0,)), None)
    if ranked is None:  # vectors without elements go with any dimension
        ranked, dim = parts[0], 0
    return ops.cat(*parts, dim=wrap_dim(dim, ranked._meta.ndim), out=out)


concat = cat
concatenate = cat


def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Tensors of equal shape along a new dimension.

    >>> import pellucid as torch
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    dim = as_int(dim, "stack", "dim", 2)
    parts = _list(tensors, "stack")
    check(parts, "stack expects a non-empty TensorList")
    first = parts[0]._meta
    axis = wrap_dim(dim, first.ndim + 1)
    for position, each in enumerate(parts):
        check(
            each._meta.shape == first.shape,
            f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
            f"{list(each._meta.shape)} at entry"
            f" {position}",
        )
    return ops.stack(*parts, dim=axis, out=out)


def _raised(tensors: Any, function: str, raise_to: Any) -> list[Any]:
    parts = _list(tensors, function)
    check(parts, f"{function} expects a non-empty TensorList")
    return [raise_to(each) for each in parts]


def hstack(tensors: Any, *, out: Any = None) -> Any:
    """Tensors side by side: along the second dimension, vectors along the first.

    >>> import pellucid as torch
    >>> torch.hstack([torch.tensor([1]), torch.tensor([2])])
    tensor([1, 2])
    """
    parts = _raised(tensors, "hstack", atleast_1d)
    return cat(parts, 0 if parts[0]._meta.ndim == 1 else 1, out=out)


def vstack(tensors: Any, *, out: Any = None) -> Any:
    """Tensors on top of each other; vectors become rows.

    >>> import pellucid as torch
    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat(_raised(tensors, "vstack", atleast_2d), 0, out=out)


row_stack = vstack


def dstack(tensors: Any, *, out: Any = None) -> Any:
    """Tensors behind each other, along the third dimension.

    >>> import pellucid as torch
    >>> torch.dstack([torch.tensor([1]), torch.tensor([2])])
    tensor([[[1, 2]]])
    """
    return cat(_raised(tensors, "dstack", atleast_3d), 2, out=out)


def column_stack(tensors: Any, *, out: Any = None) -> Any:
    """Vectors as the columns of a matrix, matrices side by side.

    >>> import pellucid as torch
    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    parts = _raised(
        tensors, "column_stack", lambda each: each.reshape(each._meta.numel, 1) if each._meta.ndim <= 1 else each
    )
    return hstack(parts, out=out)


def _at_least(tensors: tuple[Any, ...], raise_to: Any) -> Any:
    raised = tuple([raise_to(each) for each in need_tensors(tensors, "atleast")])
    return raised[0] if len(tensors) == 1 and isinstance(tensors[0], TensorData) else raised


def atleast_1d(*tensors: Any) -> Any:
    """Zero-dim tensors as vectors of one element.

    >>> import pellucid as torch
    >>> torch.atleast_1d(torch.tensor(1))
    tensor([1])
    """
    return _at_least(tensors, lambda x: x if x._meta.ndim else x.reshape(1))


def atleast_2d(*tensors: Any) -> Any:
    """Vectors as matrices of one row.

    >>> import pellucid as torch
    >>> torch.atleast_2d(torch.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _at_least(
        tensors, lambda x: x if x._meta.ndim >= 2 else x.reshape(1, 1) if not x._meta.ndim else x.unsqueeze(0)
    )


def atleast_3d(*tensors: Any) -> Any:
    """Vectors and matrices with dimensions of size 1 added.

    >>> import pellucid as torch
    >>> torch.atleast_3d(torch.tensor([1, 2])).shape
    torch.Size([1, 2, 1])
    """

    def raise_to(x: Any) -> Any:
        if x._meta.ndim >= 3:
            return x
        return (
            x.reshape(1, 1, 1)
            if not x._meta.ndim
            else x.unsqueeze(0).unsqueeze(-1)
            if x._meta.ndim == 1
            else x.unsqueeze(-1)
        )

    return _at_least(tensors, raise_to)


def repeat(self: Any, *repeats: Any) -> Any:
    """The tensor set beside itself a number of times along each dimension."""
    return selection.repeat(self, counts=as_size(repeats, "repeat", "repeats"))


def tile(input: Any, *dims: Any) -> Any:
    """Like `repeat`; missing counts in front are 1.

    >>> import pellucid as torch
    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    need_tensor(input, "tile")
    counts = as_size(dims, "tile", "dims")
    return selection.repeat(input, counts=(*(1,) * (input._meta.ndim - len(counts)), *counts))


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each element repeated, next to itself; a tensor of counts alone gives the positions.

    >>> import pellucid as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return selection.repeated_positions(need_tensor(input, "repeat_interleave"))
    need_tensor(input, "repeat_interleave")
    if not isinstance(repeats, TensorData):
        repeats = as_int(repeats, "repeat_interleave", "repeats")
    if dim is None:
        input, dim = input.flatten(), 0
    axis = as_dim(dim, input._meta.ndim, "repeat_interleave", 3)
    size = input._meta.shape[axis] if input._meta.ndim else 1
    if not isinstance(repeats, TensorData):
        check(repeats >= 0, "Repeats must be non-negative")
        wide = shape.unsqueeze_axes(input, axes=(axis + 1,))
        target = (*wide._meta.shape[: axis + 1], repeats, *wide._meta.shape[axis + 2 :])
        return shape.expand(wide, size=target).clone(memory_format=_contiguous()).flatten(axis, axis + 1)
    check(repeats._meta.dtype in (dtypes.int64, dtypes.int32), "repeats has to be Long or Int tensor")
    check(
        repeats._meta.numel in (1, size),
        f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats._meta.numel} "
        f"and input.size({axis}) = {size}",
    )
    counts: Any = repeats.expand(size) if repeats._meta.numel == 1 else repeats
    check(bool((whole(counts) >= 0).all()), "repeats can not be negative")
    positions = selection.repeated_positions(counts)
    check(output_size is None or positions._meta.numel == output_size, "allocated size does not match required size")
    return selection.index_select(input, positions, dim=axis)


def _contiguous() -> Any:
    from pellucid.engine.tensor.layout import contiguous_format

    return contiguous_format


def flip(input: Any, *axes: Any, dims: Any = None) -> Any:
    """The elements in reverse order along the given dimensions.

    >>> import pellucid as torch
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    named = axes if dims is None else (dims,)
    if not named:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    return selection.flip(input, dims=wrap_dims(as_size(named, "flip", "dims"), need_tensor(input, "flip")._meta.ndim))


def fliplr(input: Any) -> Any:
    """The columns in reverse order.

    >>> import pellucid as torch
    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    need_tensor(input, "fliplr")
    check(input._meta.ndim >= 2, "Input must be >= 2-d.")
    return selection.flip(input, dims=(1,))


def flipud(input: Any) -> Any:
    """The rows in reverse order.

    >>> import pellucid as torch
    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    need_tensor(input, "flipud")
    check(input._meta.ndim >= 1, "Input must be >= 1-d.")
    return selection.flip(input, dims=(0,))


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along dimensions, those that leave at one end coming in at the other; flattened when none is
    named.

    >>> import pellucid as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    need_tensor(input, "roll")
    moves = as_ints(shifts, "roll", "shifts")
    axes = () if dims is None else as_ints(dims, "roll", "dims", 3)
    check(moves, "`shifts` required")
    if not axes:
        check(len(moves) == 1, f"shifts and dimensions must align. shifts: {len(moves)}, dims:0")
        return presented(roll(input.reshape(-1), moves, 0).reshape(input._meta.shape), "RollBackward0")
    check(len(moves) == len(axes), f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    return selection.roll(input, shifts=moves, dims=tuple([wrap_dim(d, input._meta.ndim, scalar_as=0) for d in axes]))


def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turned by 90 degrees k times in the plane of two dimensions, from the first towards the second.

    >>> import pellucid as torch
    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    need_tensor(input, "rot90")
    k = as_int(k, "rot90", "k", 2)
    dims = as_ints(dims, "rot90", "dims", 3)
    check(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    check(input._meta.ndim >= 2, f"expected total dims >= 2, but got total dims = {input._meta.ndim}")
    a, b = [wrap_dim(d, input._meta.ndim) for d in dims]
    check(a != b, f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    turn = k % 4
    if turn == 0:
        return presented(input.clone(), "Rot90Backward0")
    if turn == 2:
        return presented(selection.flip(input, dims=(a, b)), "Rot90Backward0")
    turned = (
        selection.flip(input, dims=(b,)).transpose(a, b)
        if turn == 1
        else selection.flip(input.transpose(a, b), dims=(b,))
    )
    return presented(turned, "Rot90Backward0")


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Coordinate grids of vectors, with rows first ("ij", the default) or columns first ("xy").

    >>> import pellucid as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3]), indexing="ij")[0]
    tensor([[1],
            [2]])
    """
    if indexing is not None:
        need_str(indexing, "meshgrid", "indexing")
    import warnings

    vectors = need_tensors(tensors, "meshgrid")
    check(vectors, "meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
            stacklevel=user_level(),
        )
    check(
        indexing in (None, "ij", "xy"),
        f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}',
    )
    for each in vectors:
        check(each._meta.ndim <= 1, f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {each!r}")
        check(each._meta.dtype is vectors[0]._meta.dtype, "torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(vectors) >= 2
    if swap:
        vectors[0], vectors[1] = vectors[1], vectors[0]
    sizes = tuple([each._meta.numel for each in vectors])
    grids = [
        each.reshape(tuple([-1 if i == axis else 1 for i in range(len(vectors))])).expand(sizes)
        for axis, each in enumerate(vectors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def block_diag(*tensors: Any) -> Any:
    """Matrices along the diagonal of a larger one, zeros elsewhere.

    >>> import pellucid as torch
    >>> torch.block_diag(torch.ones(1, 1), torch.ones(1, 2))
    tensor([[1., 0., 0.],
            [0., 1., 1.]])
    """
    parts = [atleast_2d(each) for each in need_tensors(tensors, "block_diag")]
    for each in parts:
        check(
            each._meta.ndim == 2,
            f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input has {each._meta.ndim} dimensions",
        )
    width = sum([each._meta.shape[1] for each in parts])
    rows, before = [], 0
    for each in parts:
        height, own = each._meta.shape
        rows.append(ops.embed_slice(each, size=(height, width), dim=1, start=before, end=before + own, step=1))
        before += own
    return presented(cat(rows, 0), "BlockDiagBackward0")


class JoiningMethods:
    """Rows of `Tensor`."""

    repeat = repeat
    tile = tile
    repeat_interleave = takes_numpy_names(repeat_interleave)
    flip = flip
    fliplr = fliplr
    flipud = flipud
    roll = roll
    rot90 = rot90
