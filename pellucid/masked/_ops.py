"""Reductions, running sums and softmax over the elements that a mask keeps: the others count as the identity.

`mask` is True where an element takes part; it broadcasts to the input. Where nothing takes part the result is the
identity of the reduction (0 for a sum, -inf for a maximum) or NaN (for a mean), and what it means is up to the caller.
"""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core.dtypes import dtype as dtype_type

DimOrDims = int | tuple[int, ...] | list[int] | None


def _is_masked(input: Any) -> bool:
    return bool(getattr(input, "_is_masked_tensor", False))


def _parts(input: Any, mask: Any) -> tuple[Any, Any]:
    """The data and mask of a MaskedTensor; else the two as they are."""
    if not _is_masked(input):
        return input, mask
    if mask is not None and not pellucid.equal(input.get_mask(), mask):
        raise ValueError(
            "If you are passing a mask to an op with a MaskedTensor input, it must be the mask of that tensor: leave"
            " mask= away"
        )
    return input.get_data(), input.get_mask()


def _canonical_dim(dim: DimOrDims, ndim: int) -> tuple[int, ...]:
    """Dimensions counted from the front; all of them for None. RuntimeError for one that is named twice."""
    if dim is None:
        return tuple(range(ndim))
    rank = max(ndim, 1)
    found: list[int] = []
    for each in (dim,) if isinstance(dim, int) else dim:
        if not -rank <= each < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {each})"
            )
        if each in found:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
        found.append(each)
    counted = tuple([each % rank for each in found])
    for each in counted:
        if counted.count(each) > 1:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
    return counted


def _input_mask(input: Any, mask: Any) -> Any:
    """The mask as a bool tensor of the input's shape; all True for None."""
    if mask is None:
        return pellucid.ones(input.shape, dtype=pellucid.bool, device=input.device)
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.expand(input.shape).to(pellucid.bool)


_NOTHING = {"sum": 0, "cumsum": 0, "mean": 0, "prod": 1, "cumprod": 1, "norm": 0}
_LEAST = ("amax", "argmax", "logaddexp", "logsumexp", "softmax", "log_softmax")


def _identity(name: str, kind: dtype_type) -> Any:
    """The number that changes nothing in a reduction over elements of this dtype."""
    if name in _NOTHING:
        return _NOTHING[name]
    is_least = name in _LEAST
    if kind.is_floating_point or kind.is_complex:
        return -math.inf if is_least else math.inf
    if kind is pellucid.bool:
        raise NotImplementedError(f"identity of {name} on {kind} input: convert it first, for example with .float()")
    info = pellucid.iinfo(kind)
    return info.min if is_least else info.max


def _kept(name: str, input: Any, mask: Any, identity: Any = None) -> Any:
    """The input with the identity of the reduction where the mask is False."""
    if mask is None:
        return input
    fill = _identity(name, input.dtype) if identity is None else identity
    kept = _input_mask(input, mask)
    return pellucid.where(kept, input, pellucid.tensor(fill, dtype=input.dtype, device=input.device))


def _widened(input: Any, dtype: Any) -> Any:
    """The dtype that whole numbers add up and multiply in."""
    if dtype is not None:
        return dtype
    return pellucid.int64 if not input.dtype.is_floating_point and not input.dtype.is_complex else input.dtype


def sum(
    input: Any, dim: DimOrDims = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Sum of the elements that the mask keeps; 0 where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    input, mask = _parts(input, mask)
    kind = _widened(input, dtype)
    if input.is_sparse and mask is None:
        dims = _canonical_dim(dim, input.dim())
        return pellucid.sparse.sum(input, dims if len(dims) < input.dim() else None, dtype=kind)
    kept = _kept("sum", input, mask)
    return pellucid.sum(kept, _canonical_dim(dim, input.dim()), bool(keepdim)).to(kind)


def prod(
    input: Any, dim: DimOrDims = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Product of the elements that the mask keeps; 1 where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.prod(torch.tensor([3.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(12.)
    """
    input, mask = _parts(input, mask)
    result = _kept("prod", input, mask).to(_widened(input, dtype))
    for each in sorted(_canonical_dim(dim, input.dim()), reverse=True):
        result = result.prod(dim=each, keepdim=bool(keepdim))
    return result


def cumsum(input: Any, dim: int, *, dtype: dtype_type | None = None, mask: Any = None) -> Tensor:
    """Running sums in which masked-out elements count as 0.

    >>> import pellucid as torch
    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    input, mask = _parts(input, mask)
    kept = _kept("cumsum", input, mask)
    return pellucid.cumsum(kept, _canonical_dim(dim, input.dim())[0], dtype=dtype or input.dtype)


def cumprod(input: Any, dim: int, *, dtype: dtype_type | None = None, mask: Any = None) -> Tensor:
    """Running products in which masked-out elements count as 1.

    >>> import pellucid as torch
    >>> torch.masked.cumprod(torch.tensor([3.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    input, mask = _parts(input, mask)
    kept = _kept("cumprod", input, mask)
    return pellucid.cumprod(kept, _canonical_dim(dim, input.dim())[0], dtype=dtype or input.dtype)


def amax(
    input: Any, dim: DimOrDims = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Maximum of the elements that the mask keeps; the least number of the dtype where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.amax(torch.tensor([1.0, 5.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    return _extreme("amax", input, dim, keepdim, dtype, mask)


def amin(
    input: Any, dim: DimOrDims = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Minimum of the elements that the mask keeps; the greatest number of the dtype where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.amin(torch.tensor([3.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(3.)
    """
    return _extreme("amin", input, dim, keepdim, dtype, mask)


def _extreme(name: str, input: Any, dim: DimOrDims, keepdim: Any, dtype: Any, mask: Any) -> Tensor:
    input, mask = _parts(input, mask)
    reduce = pellucid.amax if name == "amax" else pellucid.amin
    kept = _kept(name, input, mask)
    return reduce(kept, _canonical_dim(dim, input.dim()), bool(keepdim)).to(dtype or input.dtype)


def argmax(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Position of the maximum among the elements that the mask keeps, in the input's dtype unless another is given.

    >>> import pellucid as torch
    >>> torch.masked.argmax(torch.tensor([1, 5, 4]), mask=torch.tensor([True, False, True]))
    tensor(2)
    """
    return _position("argmax", input, dim, keepdim, dtype, mask)


def argmin(
    input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Position of the minimum among the elements that the mask keeps, in the input's dtype unless another is given.

    >>> import pellucid as torch
    >>> torch.masked.argmin(torch.tensor([3, 2, 4]), mask=torch.tensor([True, False, True]))
    tensor(0)
    """
    return _position("argmin", input, dim, keepdim, dtype, mask)


def _position(name: str, input: Any, dim: Any, keepdim: Any, dtype: Any, mask: Any) -> Tensor:
    input, mask = _parts(input, mask)
    find = pellucid.argmax if name == "argmax" else pellucid.argmin
    return find(_kept(name, input, mask), dim, bool(keepdim)).to(dtype or input.dtype)


def mean(
    input: Any, dim: DimOrDims = None, *, keepdim: bool | None = False, dtype: dtype_type | None = None,
    mask: Any = None,
) -> Tensor:  # fmt: skip
    """Mean of the elements that the mask keeps; NaN where it keeps none. Whole numbers need a floating `dtype`.

    >>> import pellucid as torch
    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(2.5000)
    """
    input, mask = _parts(input, mask)
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        given = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {given} dtype must be either a floating point or complex dtype."
            f" Got: {kind}"
        )
    if mask is None:
        return pellucid.mean(input, _canonical_dim(dim, input.dim()), bool(keepdim), dtype=kind)
    total = sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask)
    return total / _count(input, dim, keepdim, mask)


def _count(input: Any, dim: DimOrDims, keepdim: Any, mask: Any) -> Any:
    """How many elements take part."""
    ones = pellucid.ones(input.shape, dtype=pellucid.int64, device=input.device)
    return sum(ones, dim, keepdim=keepdim, mask=mask)


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: dtype_type | None = None, mask: Any = None
) -> Tensor:
    """The lower median along a dimension of the elements that the mask keeps; NaN where it keeps none.

    ValueError where it keeps none and the dtype has no NaN.

    >>> import pellucid as torch
    >>> torch.masked.median(torch.tensor([9.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(4.)
    """
    input, mask = _parts(input, mask)
    is_float = input.dtype.is_floating_point
    source = input if is_float else input.to(pellucid.get_default_dtype())
    axis = _canonical_dim(dim, input.dim())[0]
    result = pellucid.nanmedian(_kept("median", source, mask, math.nan), axis, keepdim).values
    if is_float:
        return result
    if pellucid.isnan(result).any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point: convert with .float()"
        )
    return result.to(dtype or input.dtype)


def logsumexp(
    input: Any, dim: DimOrDims = None, *, keepdim: bool = False, dtype: dtype_type | None = None, mask: Any = None
) -> Tensor:
    """Logarithm of the sum of the exponentials of the elements that the mask keeps; -inf where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.logsumexp(torch.tensor([0.0, 9.0, 0.0]), mask=torch.tensor([True, False, True]))
    tensor(0.6931)
    """
    input, mask = _parts(input, mask)
    kept = _kept("logsumexp", input, mask)
    return pellucid.logsumexp(kept, _canonical_dim(dim, input.dim()), bool(keepdim)).to(dtype or input.dtype)


def logaddexp(
    input: Any, other: Any, *, dtype: dtype_type | None = None, input_mask: Any = None, other_mask: Any = None
) -> Tensor:
    """log(exp(input) + exp(other)), in which masked-out elements count as -inf.

    >>> import pellucid as torch
    >>> torch.masked.logaddexp(torch.tensor([0.0]), torch.tensor([5.0]), other_mask=torch.tensor([False]))
    tensor([0.])
    """
    input, input_mask = _parts(input, input_mask)
    other, other_mask = _parts(other, other_mask)
    a, b = _kept("logaddexp", input, input_mask), _kept("logaddexp", other, other_mask)
    return pellucid.logaddexp(a, b).to(dtype or input.dtype)


def norm(
    input: Any, ord: float | None = 2.0, dim: DimOrDims = None, *, keepdim: bool | None = False,
    dtype: dtype_type | None = None, mask: Any = None,
) -> Tensor:  # fmt: skip
    """Vector norm of the elements that the mask keeps.

    >>> import pellucid as torch
    >>> torch.masked.norm(torch.tensor([3.0, 9.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    input, mask = _parts(input, mask)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got"
            f" {input.dtype}: convert it first, for example with .float()"
        )
    order = 2.0 if ord is None else ord
    kept = _kept("norm", input, mask, math.inf if order == -math.inf else 0)
    return pellucid.linalg.vector_norm(
        kept, order, _canonical_dim(dim, input.dim()), bool(keepdim), dtype=dtype or input.dtype
    )


def _spread(
    input: Any, dim: DimOrDims, unbiased: bool | None, correction: float | None, keepdim: Any, dtype: Any, mask: Any,
) -> Tensor:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    input, mask = _parts(input, mask)
    less: float = int(unbiased) if unbiased is not None else 1 if correction is None else correction
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        kind = pellucid.float32
    count = _count(input, dim, True, mask)
    centre = pellucid.divide(sum(input, dim, keepdim=True, dtype=kind, mask=mask), count)
    centred = pellucid.subtract(input.to(kind), centre)
    squares = centred * centred.conj()
    if squares.is_complex():
        squares = squares.real
    total = sum(squares, dim, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    return pellucid.divide(total, pellucid.clamp(count - less, min=0)).to(kind)


def var(
    input: Any, dim: DimOrDims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool | None = False, dtype: dtype_type | None = None, mask: Any = None,
) -> Tensor:  # fmt: skip
    """Variance of the elements that the mask keeps, divided by their count less `correction` (1 unless given).

    >>> import pellucid as torch
    >>> torch.masked.var(torch.tensor([1.0, 9.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(
    input: Any, dim: DimOrDims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool | None = False, dtype: dtype_type | None = None, mask: Any = None,
) -> Tensor:  # fmt: skip
    """Standard deviation of the elements that the mask keeps: the root of `var`.

    >>> import pellucid as torch
    >>> torch.masked.std(torch.tensor([1.0, 9.0, 5.0]), unbiased=False, mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    return pellucid.sqrt(_spread(input, dim, unbiased, correction, keepdim, dtype, mask))


def softmax(input: Any, dim: int, *, dtype: dtype_type | None = None, mask: Any = None) -> Tensor:
    """Softmax over the elements that the mask keeps; 0 for the others, NaN where it keeps none.

    >>> import pellucid as torch
    >>> torch.masked.softmax(torch.tensor([0.0, 9.0, 0.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    input, mask = _parts(input, mask)
    axis = _canonical_dim(dim, input.dim())[0]
    return pellucid.nn.functional.softmax(_kept("softmax", input, mask), axis, dtype=dtype or input.dtype)


def log_softmax(input: Any, dim: int, *, dtype: dtype_type | None = None, mask: Any = None) -> Tensor:
    """The logarithm of `softmax`; -inf for elements that take no part.

    >>> import pellucid as torch
    >>> torch.masked.log_softmax(torch.tensor([0.0, 9.0, 0.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    input, mask = _parts(input, mask)
    axis = _canonical_dim(dim, input.dim())[0]
    return pellucid.nn.functional.log_softmax(_kept("log_softmax", input, mask), axis, dtype=dtype or input.dtype)


def softmin(input: Any, dim: int, *, dtype: dtype_type | None = None, mask: Any = None) -> Tensor:
    """Softmax of the negated elements that the mask keeps.

    >>> import pellucid as torch
    >>> torch.masked.softmin(torch.tensor([0.0, -9.0, 0.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    input, mask = _parts(input, mask)
    axis = _canonical_dim(dim, input.dim())[0]
    return pellucid.nn.functional.softmin(_kept("softmin", input, mask), axis, dtype=dtype or input.dtype)


def normalize(
    input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: dtype_type | None = None, mask: Any = None
) -> Tensor:
    """The elements that the mask keeps divided by their norm along a dimension; 0 for the others.

    >>> import pellucid as torch
    >>> torch.masked.normalize(torch.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    input, mask = _parts(input, mask)
    length = norm(input, ord, _canonical_dim(dim, input.dim())[0], keepdim=True, dtype=dtype, mask=mask)
    least = pellucid.tensor(eps, dtype=length.dtype, device=length.device)
    return pellucid.divide(_kept("sum", input, mask), pellucid.maximum(length, least))


def output_mask(input: Any, dim: DimOrDims, keepdim: bool, mask: Any) -> Any:
    """Where a reduction along `dim` has something to reduce."""
    kept = _input_mask(input, mask)
    for each in sorted(_canonical_dim(dim, input.dim()), reverse=True):
        kept = kept.any(dim=each, keepdim=bool(keepdim))
    return kept
