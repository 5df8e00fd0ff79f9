"""sum, mean, var, max and their kin, and running sums along a dimension."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.dispatch import InPlace
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.promotion import title
from pellucid.engine.ops import reduce as ops
from pellucid.engine.ops import scan
from pellucid.engine.tensor import return_types
from pellucid.engine.tensor.arguments import (
    as_bool,
    as_dim,
    as_dims,
    as_int,
    as_ints,
    as_number,
    deliver,
    in_place,
    need_tensor,
    presented,
)
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def _dims(dim: Any, ndim: int, function: str) -> tuple[int, ...] | None:
    """None for all dimensions (so the node gets PyTorch's name for a full reduction), else the tuple."""
    if dim is None:
        return None
    if isinstance(dim, tuple | list) and not dim:
        return tuple(range(ndim))
    return as_dims(dim, ndim, function)


def _sum_type(kind: dtype_type) -> dtype_type:
    return dtypes.int64 if kind.category <= 1 else kind


def _out_type(dtype: dtype_type | None, out: Any) -> dtype_type | None:
    given = dtypes.as_dtype(dtype)
    return given if given is not None or out is None or not isinstance(out, TensorData) else out._meta.dtype


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None) -> Any:
    """Sum of all elements, or along dimensions; integers add up as int64.

    >>> import pellucid as torch
    >>> torch.sum(torch.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """
    meta = need_tensor(input, "sum")._meta
    kind = _out_type(dtype, out) or _sum_type(meta.dtype)
    return ops.sum_(
        input, dim=_dims(dim, meta.ndim, "sum"), keepdim=as_bool(keepdim, "sum", "keepdim", 3), dtype=kind, out=out
    )


def nansum(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None
) -> Any:
    """Sum in which a NaN counts as 0.

    >>> import pellucid as torch
    >>> torch.nansum(torch.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    need_tensor(input, "nansum")
    as_bool(keepdim, "nansum", "keepdim", 3)
    check(not input._meta.dtype.is_complex, "nansum does not support complex inputs")
    if input._meta.dtype.category < 2:
        return sum(input, dim, keepdim, dtype=dtype, out=out)
    return deliver(
        presented(sum(ops.where(ops.isnan(input), 0, input), dim, keepdim, dtype=dtype), "NansumBackward0"), out
    )


def mean(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None
) -> Any:
    """Arithmetic mean of all elements, or along dimensions; not of integers, unless `dtype` names a floating type.

    >>> import pellucid as torch
    >>> torch.mean(torch.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    meta = need_tensor(input, "mean")._meta
    kind = _out_type(dtype, out) or meta.dtype
    if kind.category < 2:
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or complex dtype. "
            f"Got: {title(kind)}."
            " Convert the tensor first, for example with .float()."
        )
    return ops.mean(
        input, dim=_dims(dim, meta.ndim, "mean"), keepdim=as_bool(keepdim, "mean", "keepdim", 3), dtype=kind, out=out
    )


def nanmean(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None
) -> Any:
    """Mean of the elements that are not NaN.

    >>> import pellucid as torch
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    need_tensor(input, "nanmean")
    as_bool(keepdim, "nanmean", "keepdim", 3)
    check(
        input._meta.dtype.category >= 2,
        f"nanmean(): expected input to have floating point or complex dtype but got {title(input.dtype)}",
    )
    known = ops.eq(input, input).detach()
    return deliver(nansum(input, dim, keepdim, dtype=dtype) / sum(known, dim, keepdim), out)


def prod(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype_type | None = None, out: Any = None
) -> Any:
    """Product of all elements, or along one dimension; integers multiply as int64.

    >>> import pellucid as torch
    >>> torch.prod(torch.tensor([2.0, 3.0]))
    tensor(6.)
    """
    if dim is not None:
        dim = as_int(dim, "prod", "dim", 2)
    meta = need_tensor(input, "prod")._meta
    kind = _out_type(dtype, out) or _sum_type(meta.dtype)
    dims = None if dim is None else (as_dim(dim, meta.ndim, "prod"),) if meta.ndim else (as_dim(dim, 0, "prod"),)[:0]
    return ops.prod(input, dim=dims, keepdim=as_bool(keepdim, "prod", "keepdim", 3), dtype=kind, out=out)


_UNSET: Any = object()


def _correction(unbiased: Any, correction: Any) -> float:
    if correction is not _UNSET and correction is not None:
        return as_number(correction, "var", "correction")
    return 1 if unbiased is None or unbiased else 0


def _variance_arguments(input: Any, dim: Any, unbiased: Any, name: str) -> tuple[tuple[int, ...] | None, Any]:
    if isinstance(dim, bool):  # var(input, unbiased)
        dim, unbiased = None, dim
    if unbiased is not None:
        as_bool(unbiased, name, "unbiased", 3)
    return _dims(dim, input._meta.ndim, name), unbiased


def var(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = _UNSET,
    out: Any = None,
) -> Any:
    """Variance; the denominator is n - correction (1 unless given; 0 for `unbiased=False`).

    >>> import pellucid as torch
    >>> torch.var(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    dims, unbiased = _variance_arguments(need_tensor(input, "var"), dim, unbiased, "var")
    return ops.var(
        input,
        dim=dims,
        correction=_correction(unbiased, correction),
        keepdim=as_bool(keepdim, "var", "keepdim", 4),
        out=out,
    )


def std(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = _UNSET,
    out: Any = None,
) -> Any:
    """Standard deviation: the square root of `var`. Its gradient where it is 0 is 0.

    >>> import pellucid as torch
    >>> torch.std(torch.tensor([1.0, 5.0]))
    tensor(2.8284)
    """
    dims, unbiased = _variance_arguments(need_tensor(input, "std"), dim, unbiased, "std")
    return ops.std(
        input,
        dim=dims,
        correction=_correction(unbiased, correction),
        keepdim=as_bool(keepdim, "std", "keepdim", 4),
        out=out,
    )


def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = _UNSET
) -> tuple[Any, Any]:
    """Variance and mean.

    >>> import pellucid as torch
    >>> torch.var_mean(torch.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    dims, unbiased = _variance_arguments(need_tensor(input, "var_mean"), dim, unbiased, "var_mean")
    spread = ops.var(
        input,
        dim=dims,
        correction=_correction(unbiased, correction),
        keepdim=as_bool(keepdim, "var_mean", "keepdim", 4),
    )
    middle = ops.mean(input, dim=dims, keepdim=keepdim, dtype=input._meta.dtype)
    return presented(spread, "VarMeanBackward0"), presented(middle, "VarMeanBackward0")


def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = _UNSET
) -> tuple[Any, Any]:
    """Standard deviation and mean.

    >>> import pellucid as torch
    >>> torch.std_mean(torch.tensor([1.0, 3.0]))
    (tensor(1.4142), tensor(2.))
    """
    dims, unbiased = _variance_arguments(need_tensor(input, "std_mean"), dim, unbiased, "std_mean")
    spread = ops.std(
        input,
        dim=dims,
        correction=_correction(unbiased, correction),
        keepdim=as_bool(keepdim, "std_mean", "keepdim", 4),
    )
    middle = ops.mean(input, dim=dims, keepdim=keepdim, dtype=input._meta.dtype)
    return presented(spread, "StdMeanBackward0"), presented(middle, "StdMeanBackward0")


def _need_dim(input: Any, dim: Any, name: str) -> None:
    given = isinstance(dim, int) or dim is not None and len(as_ints(dim, name, "dim")) > 0
    check(
        need_tensor(input, name)._meta.numel or given,
        f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
        "with the 'dim' argument.",
    )


def amax(input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Any:
    """Largest value of all elements or along dimensions; ties share the gradient.

    >>> import pellucid as torch
    >>> torch.amax(torch.tensor([[1, 5], [3, 2]]), dim=1)
    tensor([5, 3])
    """
    _need_dim(input, dim, "amax")
    return ops.amax(
        input, dim=as_dims(dim, input._meta.ndim, "amax"), keepdim=as_bool(keepdim, "amax", "keepdim", 3), out=out
    )


def amin(input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Any:
    """Smallest value of all elements or along dimensions; ties share the gradient.

    >>> import pellucid as torch
    >>> torch.amin(torch.tensor([[1, 5], [3, 2]]), dim=1)
    tensor([1, 2])
    """
    _need_dim(input, dim, "amin")
    return ops.amin(
        input, dim=as_dims(dim, input._meta.ndim, "amin"), keepdim=as_bool(keepdim, "amin", "keepdim", 3), out=out
    )


def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
    """Smallest and largest value, as (min, max).

    >>> import pellucid as torch
    >>> torch.aminmax(torch.tensor([1, 5, 3])).max
    tensor(5)
    """
    need_tensor(input, "aminmax")
    dims = None if dim is None else ((as_dim(dim, input._meta.ndim, "aminmax"),) if input._meta.ndim else ())
    for target in out if isinstance(out, tuple | list) else ():
        check(
            need_tensor(target, "aminmax", "out")._meta.dtype is input._meta.dtype,
            f"Expected out tensor to have dtype {input._meta.dtype}, but got {target._meta.dtype} instead (aminmax)",
        )
    low = ops.amin(input, dim=dims, keepdim=as_bool(keepdim, "aminmax", "keepdim"))
    high = presented(ops.amax(input, dim=dims, keepdim=keepdim), "AminmaxBackward0")
    return deliver(return_types.aminmax((presented(low, "AminmaxBackward0"), high)), out)


def _extreme(name: str, input: Any, dim: Any, keepdim: bool, other: Any, out: Any) -> Any:
    need_tensor(input, name)
    if isinstance(dim, TensorData):
        other, dim = dim, None
    if other is not None:
        from pellucid.engine.ops import comparison

        return (comparison.maximum if name == "max" else comparison.minimum)(input, other, out=out)
    if dim is None:
        return (ops.max_all if name == "max" else ops.min_all)(input, out=out)
    if not hasattr(dim, "__index__") or isinstance(dim, bool):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (dim={type(dim).__name__}, ), but "
            "expected an int or a Tensor"
        )
    axis = as_dim(dim, input._meta.ndim, name)
    found = (ops.max_dim if name == "max" else ops.min_dim)(input, dim=axis, keepdim=bool(keepdim), out=out)
    return (return_types.max if name == "max" else return_types.min)(found)


def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """Largest element of all; with `dim`, (values, indices) along it; with another tensor, the larger of each pair.

    >>> import pellucid as torch
    >>> torch.max(torch.tensor([[1, 5], [3, 2]]), 1).indices
    tensor([1, 0])
    """
    as_bool(keepdim, "max", "keepdim", 3)
    return _extreme("max", input, dim, keepdim, other, out)


def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """Smallest element of all; with `dim`, (values, indices) along it; with another tensor, the smaller of each pair.

    >>> import pellucid as torch
    >>> torch.min(torch.tensor([3, 1, 2]))
    tensor(1)
    """
    as_bool(keepdim, "min", "keepdim", 3)
    return _extreme("min", input, dim, keepdim, other, out)


def argmax(input: Any, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Where the largest element is (the first of equals): in the flattened tensor, or along a dimension.

    >>> import pellucid as torch
    >>> torch.argmax(torch.tensor([1, 5, 3]))
    tensor(1)
    """
    need_tensor(input, "argmax")
    axis = None if dim is None else as_dim(dim, input._meta.ndim, "argmax")
    return ops.argmax(input, dim=axis, keepdim=as_bool(keepdim, "argmax", "keepdim", 3), out=out)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Where the smallest element is (the first of equals): in the flattened tensor, or along a dimension.

    >>> import pellucid as torch
    >>> torch.argmin(torch.tensor([4, 1, 3]))
    tensor(1)
    """
    need_tensor(input, "argmin")
    axis = None if dim is None else as_dim(dim, input._meta.ndim, "argmin")
    return ops.argmin(input, dim=axis, keepdim=as_bool(keepdim, "argmin", "keepdim", 3), out=out)


def all(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Whether every element is true (not 0).

    >>> import pellucid as torch
    >>> torch.all(torch.tensor([True, False]))
    tensor(False)
    """
    return ops.all_(
        input,
        dim=_dims(dim, need_tensor(input, "all")._meta.ndim, "all"),
        keepdim=as_bool(keepdim, "all", "keepdim", 3),
        out=out,
    )


def any(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Whether some element is true (not 0).

    >>> import pellucid as torch
    >>> torch.any(torch.tensor([True, False]))
    tensor(True)
    """
    return ops.any_(
        input,
        dim=_dims(dim, need_tensor(input, "any")._meta.ndim, "any"),
        keepdim=as_bool(keepdim, "any", "keepdim", 3),
        out=out,
    )


def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not 0.

    >>> import pellucid as torch
    >>> torch.count_nonzero(torch.tensor([0, 3, 4]))
    tensor(2)
    """
    return ops.count_nonzero(input, dim=_dims(dim, need_tensor(input, "count_nonzero")._meta.ndim, "count_nonzero"))


def _check_own_dtype(out: Any, kind: dtype_type | None) -> None:
    own = out.target._meta.dtype if isinstance(out, InPlace) else kind
    check(
        kind is None or kind is own,
        f"Bad in-place call: input tensor dtype {own} and output tensor dtype {kind} should match",
    )


def cumsum(input: Any, dim: int, *, dtype: dtype_type | None = None, out: Any = None) -> Any:
    """Running sums along a dimension; integers add up as int64.

    >>> import pellucid as torch
    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    meta = need_tensor(input, "cumsum")._meta
    dtype = dtypes.as_dtype(dtype)
    _check_own_dtype(out, dtype)
    kind = (
        dtype or (out.target._meta.dtype if hasattr(out, "target") else _out_type(None, out)) or _sum_type(meta.dtype)
    )
    return scan.cumsum(input, dim=as_dim(dim, meta.ndim, "cumsum"), dtype=kind, out=out)


def cumprod(input: Any, dim: int, *, dtype: dtype_type | None = None, out: Any = None) -> Any:
    """Running products along a dimension; integers multiply as int64.

    >>> import pellucid as torch
    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    meta = need_tensor(input, "cumprod")._meta
    dtype = dtypes.as_dtype(dtype)
    _check_own_dtype(out, dtype)
    kind = (
        dtype or (out.target._meta.dtype if hasattr(out, "target") else _out_type(None, out)) or _sum_type(meta.dtype)
    )
    return scan.cumprod(input, dim=as_dim(dim, meta.ndim, "cumprod"), dtype=kind, out=out)


def cummax(input: Any, dim: int, *, out: Any = None) -> Any:
    """The largest element so far along a dimension, and where it was (last) found.

    >>> import pellucid as torch
    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    return return_types.cummax(
        scan.cummax(input, dim=as_dim(dim, need_tensor(input, "cummax")._meta.ndim, "cummax"), out=out)
    )


def cummin(input: Any, dim: int, *, out: Any = None) -> Any:
    """The smallest element so far along a dimension, and where it was (last) found.

    >>> import pellucid as torch
    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return return_types.cummin(
        scan.cummin(input, dim=as_dim(dim, need_tensor(input, "cummin")._meta.ndim, "cummin"), out=out)
    )


def sum_to_size(self: Any, *size: Any) -> Any:
    """Summed down to a shape that broadcasts to its own."""
    wanted = as_ints(size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size, "sum_to_size", "size")
    fits = len(wanted) <= self._meta.ndim and not [
        1 for a, b in zip(reversed(self._meta.shape), reversed(wanted), strict=False) if b not in (1, a)
    ]
    if not wanted:
        return sum(self)
    check(fits, f"size {{{list(wanted)}}} is not expandable to size {{{list(self._meta.shape)}}}.")
    if self._meta.dtype.category < 2 and wanted != tuple(self._meta.shape):  # PyTorch's sum widens integers
        return ops.sum_to(self.long(), shape=wanted)
    return ops.sum_to(self, shape=wanted)


class ReductionMethods:
    """Rows of `Tensor`."""

    sum = takes_numpy_names(sum)
    nansum = takes_numpy_names(nansum)
    mean = takes_numpy_names(mean)
    nanmean = takes_numpy_names(nanmean)
    prod = takes_numpy_names(prod)
    var = takes_numpy_names(var)
    std = takes_numpy_names(std)
    amax = takes_numpy_names(amax)
    amin = takes_numpy_names(amin)
    aminmax = takes_numpy_names(aminmax)
    max = takes_numpy_names(max)
    min = takes_numpy_names(min)
    argmax = takes_numpy_names(argmax)
    argmin = takes_numpy_names(argmin)
    all = takes_numpy_names(all)
    any = takes_numpy_names(any)
    count_nonzero = takes_numpy_names(count_nonzero)
    cumsum = takes_numpy_names(cumsum)
    cumsum_ = takes_numpy_names(in_place(cumsum))
    cumprod = takes_numpy_names(cumprod)
    cumprod_ = takes_numpy_names(in_place(cumprod))
    cummax = takes_numpy_names(cummax)
    cummin = takes_numpy_names(cummin)
    sum_to_size = sum_to_size
