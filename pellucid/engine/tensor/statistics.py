"""Quantiles, covariances, differences and integrals along a dimension."""

from __future__ import annotations

import builtins
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.batching import whole
from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check, wrap_dims
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.comparison import isnan
from pellucid.engine.ops.scan import logcumsumexp as logcumsumexp_op
from pellucid.engine.ops.selection import gather
from pellucid.engine.tensor.arguments import (
    as_bool,
    as_dim,
    as_int,
    as_ints,
    deliver,
    is_number,
    need_tensor,
    presented,
)
from pellucid.engine.tensor.joining import cat
from pellucid.engine.tensor.numpy_names import takes_numpy_names


def _levels(q: Any, input: Any, name: str) -> Any:
    """The levels of a quantile as a vector of the input's dtype."""
    kind = input._meta.dtype
    check(input._meta.numel > 0, f"{name}() input tensor must be non-empty")
    check(kind in (dtypes.float32, dtypes.float64), f"{name}() input tensor must be either float or double dtype")
    if not isinstance(q, TensorData):
        check(0 <= q <= 1, f"{name}() q must be in the range [0, 1] but got {q:g}")
        return input.new_full((1,), float(q))
    check(q._meta.ndim <= 1, f"{name}() q must be a scalar or 1D tensor")
    check(q._meta.dtype is kind, f"{name}() q tensor must be same dtype as the input tensor")
    if q._meta.numel and not q.is_meta:
        levels: Any = whole(q)
        check(bool(((levels >= 0) & (levels <= 1)).all()), f"{name}() q values must be in the range [0, 1]")
    return q.reshape(-1)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool, out: Any
) -> Any:
    need_tensor(input, name)
    check(
        interpolation in _INTERPOLATIONS,
        f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}",
    )
    levels = _levels(q, input, name)
    ndim = input._meta.ndim
    axis = None if dim is None else as_dim(dim, ndim, name, 3)
    lines = input.reshape(-1) if axis is None or not ndim else input.movedim(axis, -1)
    ordered = lines.sort(-1)[0]
    last = ordered._meta.shape[-1] - 1
    if skip_nan:
        ranks = levels * ((~isnan(ordered.detach())).sum(-1, keepdim=True) - 1)
        ranks = ranks.masked_fill(ranks < 0, 0)
    else:
        ranks = (levels * last).expand(*ordered._meta.shape[:-1], levels._meta.shape[0])
        ranks = ranks.masked_fill(isnan(ordered.detach()).any(-1, keepdim=True), last)
    result = _at_ranks(ordered, ranks, interpolation)
    if isinstance(q, TensorData) and q._meta.ndim:
        result = result.movedim(-1, 0)
    else:
        result = presented(result.squeeze(-1), "SqueezeBackward4")
    if keepdim and ndim:
        lead = result._meta.ndim - (0 if axis is None else ndim - 1)
        for place in range(ndim) if axis is None else (axis,):
            result = result.unsqueeze(lead + place)
    return deliver(result, out)


def _at_ranks(ordered: Any, ranks: Any, interpolation: str) -> Any:
    axis = ordered._meta.ndim - 1
    if interpolation == "lower":
        return gather(ordered, ranks.floor().to(dtypes.int64), dim=axis)
    if interpolation == "higher":
        return gather(ordered, ranks.ceil().to(dtypes.int64), dim=axis)
    if interpolation == "nearest":
        return gather(ordered, ranks.round().to(dtypes.int64), dim=axis)
    low = ranks.detach().floor()
    below = gather(ordered, low.to(dtypes.int64), dim=axis)
    above = gather(ordered, ranks.detach().ceil().to(dtypes.int64), dim=axis)
    weights = (ranks - low) if interpolation == "linear" else low.new_full(tuple(low.shape), 0.5)
    return below.lerp(above, weights)


def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None
) -> Any:
    """The q-quantiles (0 to 1) of all elements or along a dimension, between neighbours by `interpolation`; NaN where
    there is a NaN.

    >>> import pellucid as torch
    >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    as_bool(keepdim, "quantile", "keepdim", 4)
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False, out)


def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None
) -> Any:
    """The q-quantiles of the elements that are not NaN.

    >>> import pellucid as torch
    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    as_bool(keepdim, "nanquantile", "keepdim", 4)
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True, out)


def _checked_weights(name: str, weights: Any, observations: int, integral: bool) -> Any:
    kind = weights._meta.dtype
    check(
        weights._meta.ndim <= 1,
        f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights._meta.ndim} dimensions",
    )
    fits = kind.category <= 1 and kind is not dtypes.bool_ if integral else kind.category == 2
    wanted = "integral dtype" if integral else "floating point dtype"
    check(fits, f"cov(): expected {name} to have {wanted} but got {name} with {title(kind)} dtype")
    check(
        weights._meta.numel == observations,
        f"cov(): expected {name} to have the same numel as there are observations in the input but got "
        f"{weights._meta.numel} != {observations}",
    )
    check(observations == 0 or weights.is_meta or float(weights.min()) >= 0, f"cov(): {name} cannot be negative")
    return weights


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariances of variables (rows) over observations (columns), which may count several times or be weighted.

    >>> import pellucid as torch
    >>> torch.cov(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    correction = as_int(correction, "cov", "correction", 0)
    if fweights is not None:
        need_tensor(fweights, "cov", "fweights")
    meta = need_tensor(input, "cov")._meta
    check(
        meta.ndim <= 2,
        f"cov(): expected input to have two or fewer dimensions but got an input with {meta.ndim} dimensions",
    )
    check(meta.dtype is not dtypes.bool_, "cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if meta.ndim < 2 else input
    observations = rows._meta.shape[1]
    weights = None
    if fweights is not None:
        weights = _checked_weights("fweights", fweights, observations, True)
    if aweights is not None:
        checked = _checked_weights("aweights", aweights, observations, False)
        weights = checked if weights is None else weights * checked
    if weights is None:
        average, weight_sum = rows.sum(1) / observations, observations
    else:
        weight_sum = weights.sum()
        check(weights.is_meta or float(weight_sum) != 0, "cov(): weights sum to zero, can't be normalized")
        average = (rows * weights).sum(1) / weight_sum
    scale = _scale(correction, observations, weights, weight_sum, aweights)
    centred = rows - average.unsqueeze(1)
    right = (centred if weights is None else centred * weights).t()
    product = centred @ (right.conj() if meta.dtype.is_complex else right).to(centred.dtype)
    return (product / scale).squeeze()


def _scale(correction: int, observations: int, weights: Any, weight_sum: Any, aweights: Any) -> Any:
    if weights is None:
        return builtins.max(observations - correction, 0)
    if correction == 0:
        return weight_sum
    if aweights is None:
        scale = weight_sum - correction
    else:
        scale = weight_sum - correction * (weights * aweights).sum() / weight_sum
    return scale.clamp(min=0)


def corrcoef(input: Any) -> Any:
    """Pearson's correlation of variables (rows) over observations (columns), within [-1, 1].

    >>> import pellucid as torch
    >>> torch.corrcoef(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    ndim = need_tensor(input, "corrcoef")._meta.ndim
    check(
        ndim <= 2, f"corrcoef(): expected input to have two or fewer dimensions but got an input with {ndim} dimensions"
    )
    c = cov(input)
    if not c._meta.ndim:
        return c / c
    spread = c.diagonal().real.sqrt() if c._meta.dtype.is_complex else c.diagonal().sqrt()
    c = c / spread.reshape(-1, 1) / spread.reshape(1, -1)
    if c._meta.dtype.is_complex:
        from pellucid.engine.tensor.joining import stack
        from pellucid.engine.tensor.shape import view_as_complex

        return view_as_complex(stack([c.real.clip(-1, 1), c.imag.clip(-1, 1)], -1))
    return c.clip(-1, 1)


def logcumsumexp(input: Any, dim: int, *, out: Any = None) -> Any:
    """Logarithms of the running sums of exponentials along a dimension, without overflow.

    >>> import pellucid as torch
    >>> torch.logcumsumexp(torch.zeros(3), 0)
    tensor([0.0000, 0.6931, 1.0986])
    """
    return logcumsumexp_op(
        input, dim=as_dim(dim, need_tensor(input, "logcumsumexp")._meta.ndim, "logcumsumexp"), out=out
    )


def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, *, out: Any = None) -> Any:
    """Differences of neighbours along a dimension, `n` times over.

    >>> import pellucid as torch
    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if prepend is not None:
        need_tensor(prepend, "diff", "prepend", 4)
    if append is not None:
        need_tensor(append, "diff", "append", 5)
    ndim = need_tensor(input, "diff")._meta.ndim
    check(ndim > 0, "diff expects input to be at least one-dimensional")
    order = as_int(n, "diff", "n")
    axis = as_dim(dim, ndim, "diff", 3)
    check(order >= 0, f"order must be non-negative but got {order}")
    if order == 0:
        return deliver(input.clone(), out)
    parts = [each for each in (prepend, input, append) if each is not None]
    for each in parts:
        check(each._meta.ndim == ndim, "diff expects prepend or append to be the same dimension as input")
    x = cat(parts, axis) if len(parts) > 1 else input
    for _ in range(builtins.min(order, x._meta.shape[axis])):
        length = x._meta.shape[axis]
        later, earlier = x.narrow(axis, 1, length - 1), x.narrow(axis, 0, length - 1)
        x = later ^ earlier if x._meta.dtype is dtypes.bool_ else later - earlier
    return deliver(x, out)


def _steps(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[int, Any]:
    """The axis, and the widths of its intervals: a number, or a tensor that broadcasts to the averages of
    neighbours.
    """
    ndim = need_tensor(y, name, "y")._meta.ndim
    axis = as_dim(dim, ndim, name, 3)
    check(y._meta.dtype is not dtypes.bool_, f"{name}: received a bool input for `y`, but bool is not supported")
    if x is None:
        if not is_number(dx):
            raise TypeError(
                f"{name}() received an invalid combination of arguments: dx must be a number, not {type(dx).__name__}"
            )
        return axis, dx
    check(x._meta.dtype is not dtypes.bool_, f"{name}: received a bool input for `x`, but bool is not supported")
    if x._meta.ndim == 1:
        check(x._meta.shape[0] == y._meta.shape[axis], f"{name}: There must be one `x` value for each sample point")
        x = x.reshape(tuple([-1 if d == axis else 1 for d in range(ndim)]))
    elif x._meta.ndim < ndim:
        x = x.reshape((1,) * (ndim - x._meta.ndim) + tuple(x._meta.shape))
    place = axis + x._meta.ndim - ndim
    return axis, x.narrow(place, 1, x._meta.shape[place] - 1) - x.narrow(place, 0, x._meta.shape[place] - 1)


def _areas(y: Any, axis: int, widths: Any) -> Any:
    length = y._meta.shape[axis]
    pairs = y.narrow(axis, 0, length - 1) + y.narrow(axis, 1, length - 1)
    return pairs * widths


def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Integral along a dimension by the trapezoidal rule, at sample points `x` or `dx` apart.

    >>> import pellucid as torch
    >>> torch.trapezoid(torch.tensor([1.0, 3.0, 5.0]))
    tensor(6.)
    """
    axis, widths = _steps("trapezoid", y, x, dx, dim)
    if y._meta.shape[axis] == 0:
        return y.new_zeros(tuple([size for d, size in enumerate(y._meta.shape) if d != axis]))
    if x is None:
        length = y._meta.shape[axis]
        inner = y.sum(axis) - (y.select(axis, 0) + y.select(axis, length - 1)) * 0.5
        return presented(inner * widths, "MulBackward1")
    return presented(_areas(y, axis, widths).sum(axis) / 2.0, "DivBackward1")


def trapz(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Another name of `trapezoid`.

    >>> import pellucid as torch
    >>> torch.trapz(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Running integral along a dimension by the trapezoidal rule: one value per interval.

    >>> import pellucid as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 3.0, 5.0]))
    tensor([2., 6.])
    """
    axis, widths = _steps("cumulative_trapezoid", y, x, dx, dim)
    if y._meta.shape[axis] == 0:
        return y.new_zeros(tuple(y._meta.shape))
    return _areas(y, axis, widths).cumsum(axis) / 2.0


def _spacings(input: Any, spacing: Any, dims: tuple[int, ...], given: bool) -> list[Any]:
    """For each dimension, the distance of neighbours (a number) or their coordinates (a vector)."""
    if not isinstance(spacing, tuple | list):
        return [1 if spacing is None else spacing] * len(dims)
    kind = "list of length equal to 'self.dim() = " if not given else "list of length equal to the number of dims = "
    reason = ", since dim argument was not given," if not given else ""
    check(
        len(spacing) == len(dims),
        f"torch.gradient expected spacing to be unspecified, a scalar, or a {kind}{len(dims)}'{reason} but got "
        f"a list of length {len(spacing)}",
    )
    return list(spacing)


def _slope(x: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """Differences of neighbours over their distances: weighed from both sides inside, of order `edge_order` at the
    ends.
    """
    size = x._meta.shape[axis]

    def part(start: int, length: int) -> Any:
        return x.narrow(axis, start, length)

    if isinstance(spacing, TensorData):
        steps = (spacing.narrow(0, 1, size - 1) - spacing.narrow(0, 0, size - 1)).reshape(
            tuple([-1 if d == axis else 1 for d in range(x._meta.ndim)])
        )
    else:
        steps = x.new_full(
            tuple([size - 1 if d == axis else 1 for d in range(x._meta.ndim)]), spacing, dtype=_floating(x)
        )
    before, after = steps.narrow(axis, 0, size - 2), steps.narrow(axis, 1, size - 2)
    slopes = (part(1, size - 1) - part(0, size - 1)) / steps
    left, right = slopes.narrow(axis, 0, size - 2), slopes.narrow(axis, 1, size - 2)
    if isinstance(spacing, TensorData):
        inside = (left * after + right * before) / (before + after)
    else:  # equal distances: the value in the middle has no part in it
        inside = (part(2, size - 2) - part(0, size - 2)) / (before + after)
    first, last = slopes.narrow(axis, 0, 1), slopes.narrow(axis, size - 2, 1)
    if edge_order == 2:
        first = first + (first - slopes.narrow(axis, 1, 1)) * before.narrow(axis, 0, 1) / (before + after).narrow(
            axis, 0, 1
        )
        share = after.narrow(axis, size - 3, 1) / (before + after).narrow(axis, size - 3, 1)
        last = last + (last - slopes.narrow(axis, size - 3, 1)) * share
    return cat([first, inside, last], axis)


def _floating(x: Any) -> dtypes.dtype:
    return x._meta.dtype if x._meta.dtype.category >= 2 else dtypes.get_default_dtype()


def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """Estimates of the partial derivatives of sampled values, one tensor per dimension; from both neighbours, or one at
    the ends.

    >>> import pellucid as torch
    >>> torch.gradient(torch.tensor([0.0, 1.0, 4.0, 9.0]))
    (tensor([1., 2., 4., 5.]),)
    """
    meta = need_tensor(input, "gradient")._meta
    check(meta.dtype is not dtypes.uint8, "torch.gradient does not support uint8 input.")
    check(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = tuple(range(meta.ndim)) if dim is None else wrap_dims(as_ints(dim, "gradient", "dim"), meta.ndim)
    spacings = _spacings(input, spacing, dims, dim is not None)
    for axis in dims:
        check(meta.shape[axis] > edge_order, "torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple([_slope(input, axis, each, edge_order) for axis, each in zip(dims, spacings, strict=True)])


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - PyTorch's name
    """Powers N-1, …, 1, 0 of a vector's elements as columns (0, 1, … with `increasing`).

    >>> import pellucid as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    as_bool(increasing, "vander", "increasing", 3)
    check(need_tensor(x, "vander", "x")._meta.ndim == 1, "x must be a one-dimensional tensor.")
    columns = x._meta.shape[0] if N is None else as_int(N, "vander", "N")
    check(columns >= 0, "N must be non-negative.")
    powers = _powers(x, columns)
    return powers if increasing else powers.flip(-1)


def _powers(x: Any, count: int) -> Any:
    kind = dtypes.int64 if x._meta.dtype.category <= 1 else x._meta.dtype
    shape = tuple(x._meta.shape)
    one = x.new_ones((*shape, builtins.min(count, 1)), dtype=kind)
    if count <= 1:
        return one
    repeated = x.to(kind).unsqueeze(-1).expand(*shape, count - 1)
    return cat([one, repeated.cumprod(-1)], -1)


def linalg_vander(x: Any, *, N: int | None = None) -> Any:  # noqa: N803 - PyTorch's name
    """Powers 0, 1, …, N-1 of each element along a new last dimension.

    >>> import pellucid as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    meta = need_tensor(x, "linalg_vander", "x")._meta
    check(
        meta.dtype is not dtypes.bool_,
        "linalg.vander supports floating point, complex, and integer tensors, but got Bool",
    )
    count = (meta.shape[-1] if meta.ndim else 1) if N is None else as_int(N, "linalg_vander", "N")
    check(N is None or count > 1, "N must be greater than 1.")
    return _powers(x if meta.ndim else x.unsqueeze(0), count)


class StatisticsMethods:
    """Rows of `Tensor`."""

    quantile = takes_numpy_names(quantile)
    nanquantile = takes_numpy_names(nanquantile)
    cov = cov
    corrcoef = corrcoef
    logcumsumexp = takes_numpy_names(logcumsumexp)
    diff = takes_numpy_names(diff)
