"""Softmax and the normalising layers: forward passes that also return their statistics, backward passes made of
operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.engine.core.dtypes import HALF, float32
from pellucid.engine.core.dtypes import dtype as dtype_type
from pellucid.engine.core.errors import check
from pellucid.engine.core.meta import Meta
from pellucid.engine.core.modes import is_differentiated
from pellucid.engine.core.op import op
from pellucid.engine.core.promotion import title
from pellucid.engine.ops.arithmetic import add, conjugate, mul, sub
from pellucid.engine.ops.comparison import eq, where
from pellucid.engine.ops.exponential import exp, rsqrt
from pellucid.engine.ops.memory import cast
from pellucid.engine.ops.reduce import Dims, lifted, mean, reduced_shape, total, var
from pellucid.engine.ops.shape import reshape_to

Ints = tuple[int, ...]


def _shifted(x: np.ndarray, dim: Dims) -> tuple[np.ndarray, np.ndarray]:
    """exp(x - max) and the max, taken as 0 where it is infinite (an empty or fully masked row)."""
    top = np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, np.where(np.isnan(top), top, 0))
    return np.exp(x - top), top


@op(grad_name="SoftmaxBackward0")
def softmax(x: np.ndarray, *, dim: int, dtype: dtype_type) -> np.ndarray:
    """exp(x) over its sum along an axis."""
    x = x.astype(dtype.numpy if dtype not in HALF else np.float32, copy=False)
    if not x.ndim:
        return np.where(np.isfinite(x), 1, np.nan).astype(x.dtype)
    top = np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    powers = np.exp(x - top)
    return powers / np.sum(powers, axis=dim, keepdims=True)


@op(grad_name="SafeSoftmaxBackward0")
def safe_softmax(x: np.ndarray, *, dim: int, dtype: dtype_type) -> np.ndarray:
    """softmax in which a row of nothing but -inf gives zeros, and no gradient."""
    powers, _ = _shifted(x, (dim,))
    summed = np.sum(powers, axis=dim, keepdims=True)
    return powers / np.where(summed == 0, 1, summed)


@op(grad_name="LogSoftmaxBackward0")
def log_softmax(x: np.ndarray, *, dim: int, dtype: dtype_type) -> np.ndarray:
    """The logarithm of softmax, without overflow."""
    x = x.astype(dtype.numpy if dtype not in HALF else np.float32, copy=False)
    if not x.ndim:
        return np.where(np.isfinite(x), 0, np.nan).astype(x.dtype)
    shifted = x - np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))


def _softmax_meta(name: str) -> Any:
    def rule(x: Meta, *, dim: int, dtype: dtype_type) -> Meta:
        check(
            dtype.category == 2,
            f"\"{name}_lastdim_kernel_impl\" not implemented for '{title(dtype)}' (pass dtype=torch.float32, or "
            "convert the input)",
            NotImplementedError,
        )
        return Meta.of(x.shape, dtype, x.device)

    return rule


softmax.meta(_softmax_meta("softmax"))
safe_softmax.meta(_softmax_meta("softmax"))
log_softmax.meta(_softmax_meta("log_softmax"))


def _axis(meta: Meta, dim: int) -> Dims:
    return (dim,) if meta.ndim else ()


@safe_softmax.vjp("x")
@softmax.vjp("x")
def softmax_dx(dy: Any, y: Any, x_meta: Meta, dim: int) -> Any:
    weighted = mul(dy, y)
    return sub(weighted, mul(y, total(weighted, _axis(x_meta, dim))))


@log_softmax.vjp("x")
def log_softmax_dx(dy: Any, y: Any, x_meta: Meta, dim: int) -> Any:
    return sub(dy, mul(exp(y), total(dy, _axis(x_meta, dim))))


@op(grad_name="LogsumexpBackward0")
def logsumexp(x: np.ndarray, *, dim: Dims, keepdim: bool) -> np.ndarray:
    """log of the sum of exp(x), without overflow; of nothing (or only -inf), -inf."""
    if x.dtype.kind == "c":
        top = np.max(x.real, axis=dim, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0)
        powers = np.exp(x - top)
    else:
        powers, top = _shifted(x, dim)
    summed = np.log(np.sum(powers, axis=dim, keepdims=True)) + top
    return summed if keepdim else summed.reshape(reduced_shape(x.shape, dim, False))


@logsumexp.meta
def logsumexp_meta(x: Meta, *, dim: Dims, keepdim: bool) -> Meta:
    return Meta.of(reduced_shape(x.shape, dim, keepdim), x.dtype, x.device)


@logsumexp.vjp("x")
def logsumexp_dx(dy: Any, x: Any, y: Any, x_meta: Meta, dim: Dims, keepdim: bool) -> Any:
    """Each element's share; 0 where all are -inf, 1 for an infinite element (PyTorch: NaN)."""
    whole = lifted(y, x_meta, dim, keepdim)
    if x_meta.dtype.is_complex:
        return mul(lifted(dy, x_meta, dim, keepdim), conjugate(exp(sub(x, whole))))
    share = where(eq(x, whole), where(eq(x, float("-inf")), 0, 1), exp(sub(x, whole)))
    return mul(lifted(dy, x_meta, dim, keepdim), share)


def _statistics(x: np.ndarray, dim: Ints, eps: float) -> tuple[np.ndarray, np.ndarray]:
    centre = np.mean(x, axis=dim, keepdims=True)
    spread = np.mean(np.square(x - centre), axis=dim, keepdims=True)
    return centre, 1 / np.sqrt(spread + np.asarray(eps, x.dtype))


def _normalise(x: np.ndarray, centre: np.ndarray, scale: np.ndarray, weight: Any, bias: Any) -> np.ndarray:
    y = (x - centre) * scale
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y


def _normalised_gradient(dy: Any, x: Any, centre: Any, scale: Any, dim: Ints) -> Any:
    """The gradient through (x - mean) / std for statistics taken over `dim`; dy is that of the normalised values."""
    if is_differentiated():  # for a second gradient the statistics are functions of x too
        centre, scale = _differentiable_statistics(x, centre, scale, dim)
    hat = mul(sub(x, centre), scale)
    kind = dy._meta.dtype
    level = mean(dy, dim=dim, keepdim=True, dtype=kind)
    tilt = mean(mul(dy, hat), dim=dim, keepdim=True, dtype=kind)
    return mul(scale, sub(sub(dy, level), mul(hat, tilt)))


def _differentiable_statistics(x: Any, centre: Any, scale: Any, dim: Ints) -> tuple[Any, Any]:
    again = mean(x, dim=dim, keepdim=True, dtype=x._meta.dtype)
    spread = var(x, dim=dim, correction=0, keepdim=True)
    eps = sub(_inverse_square(scale.detach()), spread.detach())
    return again, rsqrt(add(spread, eps))


def _inverse_square(scale: Any) -> Any:
    from pellucid.engine.ops.arithmetic import reciprocal

    return reciprocal(mul(scale, scale))


def _hat(x: Any, centre: Any, scale: Any, dim: Ints | None) -> Any:
    if is_differentiated() and dim is not None:
        centre, scale = _differentiable_statistics(x, centre, scale, dim)
    return mul(sub(x, centre), scale)


def _wide(x: Any) -> Any:
    """Half types are normalised in float32."""
    return cast(x, dtype=float32) if x._meta.dtype in HALF else x


@op(outputs=("y", "centre", "scale"), grad_name="NativeLayerNormBackward0")
def layer_norm(
    x: np.ndarray, weight: Any, bias: Any, *, axes: int, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The last `axes` axes of each element centred and scaled to deviation 1, then weight and bias."""
    dim = tuple(range(x.ndim - axes, x.ndim))
    centre, scale = _statistics(x, dim, eps)
    return _normalise(x, centre, scale, weight, bias), centre, scale


def _check_parameters(name: str, x: Meta, *parameters: Any) -> None:
    """Floating inputs only; parameters of the input's dtype, or of float32 beside a half type."""
    check(
        x.dtype.category == 2,
        f"\"{name}\" not implemented for '{title(x.dtype)}': convert the input with .float()",
        NotImplementedError,
    )
    for each in parameters:
        check(
            each is None or each.dtype is x.dtype or (x.dtype in HALF and each.dtype is float32),
            f"mixed dtype (CPU): expect parameter to have scalar type of Float, the input's ({title(x.dtype)}), but got"
            f" {title(each.dtype) if each is not None else ''}",
        )


def _statistics_kind(x: Meta) -> dtype_type:
    return float32 if x.dtype in HALF else x.dtype


@layer_norm.meta
def layer_norm_meta(x: Meta, weight: Any, bias: Any, *, axes: int, eps: float) -> tuple[Meta, Meta, Meta]:
    _check_parameters("LayerNormKernelImpl", x, weight, bias)
    kept = (*x.shape[: x.ndim - axes], *(1,) * axes)
    statistics = Meta.of(kept, _statistics_kind(x), x.device)
    return Meta.of(x.shape, x.dtype, x.device), statistics, statistics


@layer_norm.vjp("x", "weight", "bias")
def layer_norm_gradients(
    dy: Any, x: Any, weight: Any, centre: Any, scale: Any, needs: tuple[bool, ...], axes: int
) -> Any:
    x, given = _wide(x), _wide(dy)
    centre, scale = centre.detach(), scale.detach()
    ndim = x._meta.ndim
    dim = tuple(range(ndim - axes, ndim))
    inner = given if weight is None else mul(given, weight)
    dx = _normalised_gradient(inner, x, centre, scale, dim) if needs[0] else None
    dweight = mul(given, _hat(x, centre, scale, dim)) if needs[1] else None
    return dx, dweight, given if needs[2] else None


@op(outputs=("y", "centre", "scale"), grad_name="NativeGroupNormBackward0")
def group_norm(
    x: np.ndarray, weight: Any, bias: Any, *, groups: int, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The channels of each sample in groups, each group centred and scaled to deviation 1, then weight and bias per
    channel.
    """
    grouped = x.reshape(x.shape[0], groups, x.size // max(x.shape[0] * groups, 1))
    centre, scale = _statistics(grouped, (2,), eps)
    y = ((grouped - centre) * scale).reshape(x.shape)
    shape = (1, -1, *(1,) * (x.ndim - 2))
    if weight is not None:
        y *= weight.reshape(shape)
    if bias is not None:
        y += bias.reshape(shape)
    return y, centre, scale


@group_norm.meta
def group_norm_meta(x: Meta, weight: Any, bias: Any, *, groups: int, eps: float) -> tuple[Meta, Meta, Meta]:
    _check_parameters("GroupNormKernelImpl", x, weight, bias)
    statistics = Meta.of((x.shape[0], groups, 1), _statistics_kind(x), x.device)
    return Meta.of(x.shape, x.dtype, x.device), statistics, statistics


@group_norm.vjp("x", "weight", "bias")
def group_norm_gradients(
    dy: Any, x: Any, weight: Any, centre: Any, scale: Any, x_meta: Meta, needs: tuple[bool, ...], groups: int
) -> Any:
    x, given = _wide(x), _wide(dy)
    centre, scale = centre.detach(), scale.detach()
    per_channel = (1, x_meta.shape[1], *(1,) * (x_meta.ndim - 2))
    inner = given if weight is None else mul(given, reshape_to(weight, per_channel))
    grouped_shape = (x_meta.shape[0], groups, x_meta.numel // (x_meta.shape[0] * groups or 1) if x_meta.numel else 0)
    grouped = reshape_to(x, grouped_shape)
    dx = None
    if needs[0]:
        dx = reshape_to(
            _normalised_gradient(reshape_to(inner, grouped_shape), grouped, centre, scale, (2,)), tuple(x_meta.shape)
        )
    others = tuple([axis for axis in range(x_meta.ndim) if axis != 1])
    dweight = dbias = None
    if needs[1]:
        hat = reshape_to(_hat(grouped, centre, scale, (2,)), tuple(x_meta.shape))
        dweight = total(mul(given, hat), others, keepdim=False)
    if needs[2]:
        dbias = total(given, others, keepdim=False)
    return dx, dweight, dbias


@op(outputs=("y", "centre", "scale"), grad_name="NativeBatchNormBackward0")
def batch_norm(
    x: np.ndarray, weight: Any, bias: Any, running_mean: Any, running_var: Any, *, training: bool, eps: float
) -> Any:
    """Each channel (axis 1) centred and scaled by the batch's statistics, or in evaluation by the given ones."""
    dim = (0, *range(2, x.ndim))
    shape = (1, -1, *(1,) * (x.ndim - 2))
    if training:
        centre, scale = _statistics(x, dim, eps)
    else:
        centre = running_mean.reshape(shape).astype(x.dtype, copy=False)
        scale = 1 / np.sqrt(running_var.reshape(shape).astype(x.dtype, copy=False) + np.asarray(eps, x.dtype))
    y = _normalise(
        x,
        centre,
        scale,
        None if weight is None else weight.reshape(shape),
        None if bias is None else bias.reshape(shape),
    )
    return y, centre.copy(), scale


@batch_norm.meta
def batch_norm_meta(
    x: Meta, weight: Any, bias: Any, running_mean: Any, running_var: Any, *, training: bool, eps: float
) -> Any:
    channels = x.shape[1]
    _check_parameters("batch_norm", x, weight, bias, running_mean, running_var)
    for name, each in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        check(
            each is None or each.numel == channels,
            f"{name} should contain {channels} elements not {getattr(each, 'numel', 0)} (one per channel of the input "
            f"{list(x.shape)})",
        )
    from pellucid.engine.core.meta import preserved_strides

    statistics = Meta.of((1, channels, *(1,) * (x.ndim - 2)), _statistics_kind(x), x.device)
    return Meta.of(x.shape, x.dtype, x.device, preserved_strides(x)), statistics, statistics


@batch_norm.vjp("x", "weight", "bias")
def batch_norm_gradients(
    dy: Any, x: Any, weight: Any, centre: Any, scale: Any, x_meta: Meta, needs: tuple[bool, ...], training: bool
) -> Any:
    x, given = _wide(x), _wide(dy)
    centre, scale = centre.detach(), scale.detach()
    dim = (0, *range(2, x_meta.ndim))
    per_channel = (1, x_meta.shape[1], *(1,) * (x_meta.ndim - 2))
    inner = given if weight is None else mul(given, reshape_to(weight, per_channel))
    dx = None
    if needs[0]:
        dx = _normalised_gradient(inner, x, centre, scale, dim) if training else mul(inner, scale)
    dweight = (
        total(mul(given, _hat(x, centre, scale, dim if training else None)), dim, keepdim=False) if needs[1] else None
    )
    return dx, dweight, total(given, dim, keepdim=False) if needs[2] else None
