"""Other shapes over the same memory: view, reshape, transpose, split and their kin."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import graph
from pellucid.engine.core.batching import whole
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.dispatch import resize, wrote
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check, wrap_dim, wrap_dims
from pellucid.engine.core.meta import Meta, broadcast_shapes
from pellucid.engine.ops import shape as ops
from pellucid.engine.ops.strided import as_strided as as_strided_op
from pellucid.engine.tensor.arguments import as_bool, as_dim, as_int, as_ints, as_size, need_tensor, need_tensors
from pellucid.engine.tensor.layout import strides_for, warn_of_T
from pellucid.engine.tensor.numpy_names import takes_numpy_names

Ints = tuple[int, ...]


def inferred(size: Ints, meta: Meta) -> Ints:
    """`size` with its -1, if it has one, replaced by what the number of elements leaves; RuntimeError if none fits."""
    known, unknown = 1, -1
    for axis, each in enumerate(size):
        if each == -1:
            check(unknown < 0, "only one dimension can be inferred")
            unknown = axis
        else:
            check(each >= 0, f"invalid shape dimension {each} at index {axis} of shape {list(size)}")
            known *= each
    if unknown < 0:
        check(
            known == meta.numel,
            f"shape '{list(size)}' is invalid for input of size {meta.numel} (which has shape {list(meta.shape)})",
        )
        return size
    if known == 0:
        check(meta.numel == 0, f"shape '{list(size)}' is invalid for input of size {meta.numel}")
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension "
            "size -1 can be any value and"
            " is ambiguous"
        )
    check(
        meta.numel % known == 0,
        f"shape '{list(size)}' is invalid for input of size {meta.numel} (which has shape {list(meta.shape)})",
    )
    return (*size[:unknown], meta.numel // known, *size[unknown + 1 :])


def reshape(input: Any, *shape: Any) -> Any:
    """The elements in row-major order under another shape: a view where strides allow it, else a copy.

    >>> import pellucid as torch
    >>> torch.reshape(torch.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    meta = need_tensor(input, "reshape")._meta
    return ops.reshape_to(input, inferred(as_size(shape, "reshape", "shape"), meta))


def view(self: Any, *size: Any) -> Any:
    """Another shape (or, given a dtype, another reading of the bytes) of the same memory; RuntimeError where that needs
    a copy.
    """
    if len(size) == 1 and isinstance(size[0], dtype_type):
        return _view_as_dtype(self, size[0])
    if not size:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of: (dtype), (size)"
        )
    return ops.reshape_view(self, size=inferred(as_size(size, "view"), self._meta))


def _view_as_dtype(self: Any, kind: dtype_type) -> Any:
    viewed = ops.view_as_dtype(graph.detached(self), kind=kind)
    viewed._base = viewed._origin = None  # PyTorch has no gradient through bytes, and no view to rebase
    return viewed


def view_as(self: Any, other: Any) -> Any:
    """A view with the shape of `other`."""
    need_tensor(other, "view_as", "other", 2)
    return view(self, tuple(other.shape))


def reshape_as(self: Any, other: Any) -> Any:
    """Reshaped to the shape of `other`."""
    need_tensor(other, "reshape_as", "other", 2)
    return reshape(self, tuple(other.shape))


def expand(self: Any, *size: Any, implicit: bool = False) -> Any:
    """Sizes of 1 repeated without a copy; -1 keeps a size."""
    as_bool(implicit, "expand", "implicit")
    if not size:
        raise TypeError('expand() missing 1 required positional arguments: "size"')
    return ops.expand(self, size=as_size(size, "expand"))


def expand_as(self: Any, other: Any) -> Any:
    """Expanded to the shape of `other`."""
    need_tensor(other, "expand_as", "other", 2)
    return ops.expand(self, size=tuple(other.shape))


def broadcast_to(input: Any, size: Any) -> Any:
    """`input` expanded to `size` without a copy.

    >>> import pellucid as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return ops.expand(need_tensor(input, "broadcast_to"), size=as_size((size,), "broadcast_to"))


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape.

    >>> import pellucid as torch
    >>> [t.shape for t in torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    several = need_tensors(tensors, "broadcast_tensors")
    size = broadcast_shapes(*[each._meta.shape for each in several])
    return tuple([ops.expand(each, size=size) for each in several])


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped, as a view.

    >>> import pellucid as torch
    >>> torch.transpose(torch.ones(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    ndim = need_tensor(input, "transpose")._meta.ndim
    return ops.transpose(input, dim0=as_dim(dim0, ndim, "transpose"), dim1=as_dim(dim1, ndim, "transpose", 3))


swapaxes = transpose
swapdims = transpose


def t(input: Any) -> Any:
    """A matrix transposed; a vector or a number as it is.

    >>> import pellucid as torch
    >>> torch.t(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """
    ndim = need_tensor(input, "t")._meta.ndim
    check(ndim <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D; use transpose or mT for more")
    return ops.matrix_transpose(input)


def adjoint(input: Any) -> Any:
    """The last two dimensions swapped and, for complex values, conjugated.

    >>> import pellucid as torch
    >>> torch.adjoint(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """
    need_tensor(input, "adjoint")
    from pellucid.engine.ops.arithmetic import conjugate

    ndim = input._meta.ndim
    check(
        ndim >= 2 or not ndim,
        f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {ndim}-D tensor.",
    )
    if not ndim:
        return input
    return conjugate(transpose(input, -2, -1))


def permute(input: Any, *dims: Any) -> Any:
    """The dimensions in the order `dims`, as a view.

    >>> import pellucid as torch
    >>> torch.permute(torch.ones(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    ndim = need_tensor(input, "permute")._meta.ndim
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    order = as_size(dims, "permute", "dims")
    check(
        len(order) == ndim,
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
        "desired ordering of dimensions"
        f" i.e. input.dim() = {ndim} is not equal to len(dims) = {len(order)}",
    )
    wrapped = tuple([wrap_dim(d, ndim) for d in order])
    check(len(set(wrapped)) == ndim, "permute(): duplicate dims are not allowed.")
    return ops.permute(input, dims=wrapped)


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """The dimensions `source` moved to the places `destination`, the others in their order.

    >>> import pellucid as torch
    >>> torch.movedim(torch.ones(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    ndim = need_tensor(input, "movedim")._meta.ndim
    wanted, places = as_ints(source, "movedim", "source"), as_ints(destination, "movedim", "destination", 3)
    check(
        len(wanted) == len(places),
        f"movedim: Invalid source or destination dims: source ({list(wanted)} dims) should contain the same "
        "number of dims as"
        f" destination ({list(places)} dims)",
    )
    origin, target = [wrap_dim(d, ndim) for d in wanted], [wrap_dim(d, ndim) for d in places]
    check(len(set(origin)) == len(origin), f"movedim: repeated dim in `source` ({list(wanted)})")
    check(len(set(target)) == len(target), f"movedim: repeated dim in `destination` ({list(places)})")
    if not ndim:
        return ops.alias(input)
    order = [-1] * ndim
    for a, b in zip(origin, target, strict=True):
        order[b] = a
    rest = iter([d for d in range(ndim) if d not in origin])
    return ops.permute(input, dims=tuple([next(rest) if d < 0 else d for d in order]))


moveaxis = movedim


def squeeze(input: Any, dim: Any = None) -> Any:
    """Dimensions of size 1 dropped: all of them, or those in `dim`.

    >>> import pellucid as torch
    >>> torch.squeeze(torch.ones(1, 2, 1)).shape
    torch.Size([2])
    """
    ndim = need_tensor(input, "squeeze")._meta.ndim
    if dim is None:
        return ops.squeeze_all(input)
    if isinstance(dim, tuple | list):
        return ops.squeeze_axes(input, axes=wrap_dims(as_ints(dim, "squeeze", "dim"), ndim))
    return ops.squeeze_axis(input, axis=as_dim(dim, ndim, "squeeze"))


def unsqueeze(input: Any, dim: int) -> Any:
    """A dimension of size 1 inserted at `dim`.

    >>> import pellucid as torch
    >>> torch.unsqueeze(torch.ones(2), 1).shape
    torch.Size([2, 1])
    """
    ndim = need_tensor(input, "unsqueeze")._meta.ndim
    return ops.unsqueeze_axes(input, axes=(wrap_dim(as_int(dim, "unsqueeze", "dim"), ndim + 1),))


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` as one.

    >>> import pellucid as torch
    >>> torch.flatten(torch.ones(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    start_dim = as_int(start_dim, "flatten", "start_dim", 2)
    end_dim = as_int(end_dim, "flatten", "end_dim", 3)
    meta = need_tensor(input, "flatten")._meta
    if not meta.ndim:
        return reshape(input, 1)
    start, end = wrap_dim(start_dim, meta.ndim), wrap_dim(end_dim, meta.ndim)
    check(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    merged = 1
    for size in meta.shape[start : end + 1]:
        merged *= size
    return ops.reshape_to(input, (*meta.shape[:start], merged, *meta.shape[end + 1 :]))


def ravel(input: Any) -> Any:
    """All elements as one dimension, in row-major order.

    >>> import pellucid as torch
    >>> torch.ravel(torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    return view(need_tensor(input, "ravel").contiguous(), -1)


def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One dimension as several of the given sizes, one of which may be -1.

    >>> import pellucid as torch
    >>> torch.unflatten(torch.ones(6), 0, (2, -1)).shape
    torch.Size([2, 3])
    """
    meta = need_tensor(input, "unflatten")._meta
    axis = as_dim(dim, meta.ndim, "unflatten")
    parts = as_ints(sizes, "unflatten", "sizes", 3)
    check(parts, "unflatten: sizes must be non-empty")
    known = 1
    for each in parts:
        known *= each if each != -1 else 1
    fits = (
        parts.count(-1) == 1
        and known
        and meta.shape[axis] % known == 0
        or parts.count(-1) == 0
        and known == meta.shape[axis]
    )
    if parts.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    check(
        fits,
        f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {axis} "
        f"({meta.shape[axis]}) in the input tensor",
    )
    full = tuple([meta.shape[axis] // known if each == -1 else each for each in parts])
    return ops.reshape_view(input, size=(*meta.shape[:axis], *full, *meta.shape[axis + 1 :]))


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """`length` indices from `start` along a dimension, as a view.

    >>> import pellucid as torch
    >>> torch.narrow(torch.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    meta = need_tensor(input, "narrow")._meta
    check(meta.ndim > 0, "narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, TensorData):
        check(start._meta.ndim == 0 and start._meta.dtype.category == 1, "start must be an 0-dim integral Tensor.")
    axis, first, count = (
        as_dim(dim, meta.ndim, "narrow"),
        as_int(start, "narrow", "start", 3),
        as_int(length, "narrow", "length", 4),
    )
    size = meta.shape[axis]
    check(count >= 0, "narrow(): length must be non-negative.")
    check(
        -size <= first <= size,
        f"start out of range (expected to be in range of [{-size}, {size}], but got {first})",
        IndexError,
    )
    first = first + size if first < 0 else first
    check(first + count <= size, f"start ({first}) + length ({count}) exceeds dimension size ({size}).")
    return ops.slice_(input, dim=axis, start=first, end=first + count, step=1)


def select(input: Any, dim: int, index: int) -> Any:
    """One index along a dimension, which disappears.

    >>> import pellucid as torch
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    meta = need_tensor(input, "select")._meta
    check(meta.ndim > 0, "select() cannot be applied to a 0-dim tensor.", IndexError)
    axis, place = as_dim(dim, meta.ndim, "select"), as_int(index, "select", "index", 3)
    size = meta.shape[axis]
    check(
        -size <= place < size,
        f"select(): index {place} out of range for tensor of size {list(meta.shape)} at dimension {axis}",
        IndexError,
    )
    return ops.select(input, dim=axis, index=place % size)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two dimensions as a view, along a new last dimension.

    >>> import pellucid as torch
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    meta = need_tensor(input, "diagonal")._meta
    first, second = as_dim(dim1, meta.ndim, "diagonal", 3), as_dim(dim2, meta.ndim, "diagonal", 4)
    return ops.diagonal(input, offset=as_int(offset, "diagonal", "offset"), dim1=first, dim2=second)


def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of `size` along a dimension, one every `step`, as a view with a new last dimension."""
    axis = as_dim(dimension, self._meta.ndim, "unfold")
    return ops.unfold(self, dim=axis, size=as_int(size, "unfold", "size", 3), step=as_int(step, "unfold", "step", 4))


def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A view of the storage with any sizes, strides and offset (in elements); RuntimeError when it would leave the
    storage.

    >>> import pellucid as torch
    >>> torch.as_strided(torch.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    need_tensor(input, "as_strided")
    sizes = as_ints(size, "as_strided", "size", 2, only_several=True)
    strides = as_ints(stride, "as_strided", "stride", 3, only_several=True)
    offset = input._offset if storage_offset is None else as_int(storage_offset, "as_strided", "storage_offset", 4)
    _check_strided(input, sizes, strides, offset)
    return as_strided_op(input, size=sizes, stride=strides, storage_offset=offset - input._offset)


def _check_strided(input: Any, size: Ints, stride: Ints, offset: int) -> None:
    from pellucid.engine.core.data import check_bounds

    check(len(size) == len(stride), f"mismatch in length of strides and shape: {list(size)} and {list(stride)}")
    if not input.is_meta:
        check_bounds(whole(input)._storage, Meta.of(size, input.dtype, input.device, stride), offset)


def view_as_real(input: Any) -> Any:
    """A complex tensor as pairs (real, imaginary) along a new last dimension, sharing memory.

    >>> import pellucid as torch
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    return ops.view_as_real(need_tensor(input, "view_as_real"))


def view_as_complex(input: Any) -> Any:
    """Pairs along the last dimension as complex numbers, sharing memory.

    >>> import pellucid as torch
    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    return ops.view_as_complex(need_tensor(input, "view_as_complex"))


def real(input: Any) -> Any:
    """The real part as a view; a real tensor itself.

    >>> import pellucid as torch
    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    need_tensor(input, "real")
    return select(view_as_real(input), -1, 0) if input._meta.dtype.is_complex else input


def imag(input: Any) -> Any:
    """The imaginary part as a view; RuntimeError for a real tensor.

    >>> import pellucid as torch
    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    check(input._meta.dtype.is_complex, "imag is not implemented for tensors with non-complex dtypes.")
    return select(view_as_real(input), -1, 1)


def become(target: Any, function: Any, *args: Any) -> Any:
    """Give a tensor the layout and history of the view of itself that `function` makes: what `squeeze_` and its kin
    do.
    """
    name = f"{function.__name__}_"
    try:
        viewed = function(target, *args)
    except Exception:
        graph.check_in_place(target, name, recorded=False)  # of two mistakes, PyTorch names this one
        raise
    recorded = viewed._needs_grad
    graph.check_in_place(target, name, recorded)
    if recorded and viewed._grad_fn is not None:
        node = viewed._grad_fn
        node.__class__ = graph.node_type(graph.IN_PLACE_NAMES.get(node.name(), node.name()))
    target._meta, target._array, target._offset = viewed._meta, viewed._array, viewed._offset
    target._storage = viewed._storage  # the same, except that a tensor of vmap stands for another view now
    if viewed.__dict__:
        target.__dict__.update(viewed.__dict__)  # a dual tensor's tangents
    wrote(target, name)
    if recorded:
        target._grad_fn, target._output_nr, target._needs_grad = viewed._grad_fn, viewed._output_nr, True
        target._view_version = target._counter.count
    return target


def resize_(self: Any, *sizes: Any, memory_format: Any = None) -> Any:
    """Another size in the same storage, which grows when it must; not for tensors that require a gradient."""
    check(not graph.requires_grad(self), "cannot resize variables that require grad")
    size = as_size(sizes, "resize_")
    strides = None if memory_format is None else strides_for(Meta.of(size, self.dtype), memory_format)
    resize(self, size, strides)
    wrote(self, "resize")
    return self


class ShapeMethods:
    """Rows of `Tensor`."""

    reshape = reshape
    view = view
    view_as = view_as
    reshape_as = reshape_as
    expand = expand
    expand_as = expand_as
    broadcast_to = broadcast_to
    transpose = transpose
    swapaxes = swapaxes
    swapdims = swapdims
    t = t
    adjoint = adjoint
    permute = permute
    movedim = movedim
    moveaxis = moveaxis
    squeeze = takes_numpy_names(squeeze)
    unsqueeze = takes_numpy_names(unsqueeze)
    flatten = flatten
    ravel = ravel
    unflatten = unflatten
    narrow = takes_numpy_names(narrow)
    select = takes_numpy_names(select)
    diagonal = diagonal
    unfold = unfold
    as_strided = as_strided
    resize_ = resize_

    @property
    def T(self: Any) -> Any:
        """All dimensions reversed."""
        if self._meta.ndim != 2:
            warn_of_T(self._meta.ndim)
        return ops.permute(self, dims=tuple(range(self._meta.ndim - 1, -1, -1)))

    @property
    def mT(self: Any) -> Any:
        """The last two dimensions swapped."""
        ndim = self._meta.ndim
        check(
            ndim >= 2 or not ndim,
            f"tensor.mT is only supported on matrices or batches of matrices. Got {ndim}-D tensor.",
        )
        return transpose(self, -2, -1) if ndim else self

    @property
    def H(self: Any) -> Any:
        """A matrix transposed and conjugated."""
        check(
            self._meta.ndim in (0, 2),
            f"tensor.H is only supported on matrices (2-D tensors). Got {self._meta.ndim}-D tensor.",
        )
        return adjoint(self) if self._meta.ndim else self

    @property
    def mH(self: Any) -> Any:
        """The last two dimensions swapped and conjugated."""
        ndim = self._meta.ndim
        check(
            ndim >= 2 or not ndim,
            f"tensor.mH is only supported on matrices or batches of matrices. Got {ndim}-D tensor.",
        )
        return adjoint(self)

    @property
    def real(self: Any) -> Any:
        """The real part as a view."""
        return real(self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        real(self).copy_(value)

    @property
    def imag(self: Any) -> Any:
        """The imaginary part as a view."""
        return imag(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        imag(self).copy_(value)

    def squeeze_(self: Any, dim: Any = None) -> Any:
        """Drop dimensions of size 1 from this tensor itself."""
        return become(self, squeeze, dim)

    def unsqueeze_(self: Any, dim: int) -> Any:
        """Insert a dimension of size 1 into this tensor itself."""
        return become(self, unsqueeze, dim)

    def t_(self: Any) -> Any:
        """Transpose this matrix itself."""
        return become(self, t)

    def transpose_(self: Any, dim0: int, dim1: int) -> Any:
        """Swap two dimensions of this tensor itself."""
        return become(self, transpose, dim0, dim1)

    swapaxes_ = transpose_
    swapdims_ = transpose_

    def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
        """Give this tensor itself other sizes, strides and offset."""
        return become(self, as_strided, size, stride, storage_offset)

    def resize_as_(self: Any, other: Any, memory_format: Any = None) -> Any:
        """Resize to the shape of `other`."""
        return resize_(self, tuple(other.shape), memory_format=memory_format)
