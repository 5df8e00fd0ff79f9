"""What functions mean on masked tensors: element by element, as reductions over what counts, or as another shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pellucid
from pellucid.engine.core.graph import by_name
from pellucid.masked import _ops
from pellucid.masked.maskedtensor.core import MaskedTensor

# Of one tensor, element by element: the mask stays.
_UNARY = frozenset(
    """abs absolute acos acosh angle arccos arcsin arctan asin asinh atan atanh bitwise_not ceil clamp clamp_max
    clamp_min clip clone conj conj_physical contiguous cos cosh deg2rad detach digamma double erf erfc erfinv exp exp2
    expm1 fix float floor frac half bfloat16 i0 isinf isnan isneginf isposinf isfinite lgamma log log10 log1p log2
    logical_not logit long int nan_to_num neg negative ones_like positive pow rad2deg rand_like reciprocal round rsqrt
    sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh to trunc zeros_like empty_like full_like cpu type_as
    __invert__ __rpow__ __rsub__ rsub alias float_power""".split()
)
# Of two, element by element: masks must agree.
_BINARY = frozenset(
    """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
    floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge gt lt
    maximum minimum fmax fmin not_equal __pow__ __eq__ __floordiv__ __lshift__ __rshift__ __and__ __or__ __xor__ pow
    __rtruediv__ __rfloordiv__ __rmod__ __rdiv__ greater less greater_equal less_equal""".split()
)
# The same selection of data and mask.
_SHAPE = frozenset(
    """__getitem__ broadcast_to chunk diagonal expand flatten flip index_select movedim moveaxis narrow permute ravel
    repeat reshape roll select split split_with_sizes squeeze swapaxes swapdims t tile transpose unflatten unfold
    unsqueeze view view_as expand_as reshape_as adjoint""".split()
)
_JOINS = frozenset(("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack"))
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _ops.sum, "mean": _ops.mean, "prod": _ops.prod, "amax": _ops.amax, "amin": _ops.amin,
    "argmax": _ops.argmax, "argmin": _ops.argmin, "var": _ops.var, "std": _ops.std, "norm": _ops.norm,
    "logsumexp": _ops.logsumexp,
}  # fmt: skip
# About the object: its facts, its gradient, its one number.
_FACTS = frozenset(
    """__get__ __len__ __bool__ __float__ __int__ __complex__ __index__ backward dim numel size stride item is_complex
    is_floating_point is_signed is_contiguous is_same_size register_hook retain_grad requires_grad_ element_size
    storage_offset data_ptr register_post_accumulate_grad_hook get_device __delete__ is_conj is_neg is_inference
    is_nonzero result_type __dir__ __reduce_ex__""".split()
)
_WRITTEN = frozenset(
    """abs_ acos_ asin_ atan_ ceil_ clamp_ cos_ exp_ floor_ log_ neg_ round_ rsqrt_ sigmoid_ sin_ sqrt_ tan_ tanh_
    trunc_ add_ sub_ mul_ div_ pow_ square_ fill_ zero_ copy_ detach_ remainder_ floor_divide_""".split()
)


def masked_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function on arguments of which some are masked; NotImplemented for one that has no meaning for masks."""
    name = _name(function)
    if name in _FACTS:
        with pellucid._C.DisableTorchFunctionSubclass():
            return function(*args, **kwargs)
    if name in _BY_NAME:
        return _BY_NAME[name](name, *args, **kwargs)
    for names, meaning in _BY_KIND:
        if name in names:
            return meaning(function, args, kwargs)
    return NotImplemented


def _name(function: Any) -> str:
    if isinstance(getattr(function, "__self__", None), property):
        return "__get__"
    return str(function.__name__)


def _plain(value: Any) -> Any:
    if isinstance(value, MaskedTensor):
        return by_name["alias"](value)
    if isinstance(value, tuple | list):
        return type(value)([_plain(each) for each in value])
    return value


def _wrapped(result: Any, mask: Any, sources: tuple[Any, ...] = ()) -> Any:
    if any(result is each for each in sources):
        result = by_name["alias"](result)
    return MaskedTensor._of(result, mask)


def _common_mask(values: Any) -> Any:
    """The mask of all masked tensors among the values; ValueError where they differ."""
    masks = [each.get_mask() for each in values if isinstance(each, MaskedTensor)]
    mask = masks[0]
    for other in masks[1:]:
        if other is not mask and not pellucid.equal(other, mask):
            raise ValueError(
                "Input masks must match. If you need support for this, please open an issue on Github. Bring both to"
                " one mask first, for example with masked_tensor(x.get_data(), x.get_mask() & y.get_mask())"
            )
    return mask


def _elementwise(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mask = _common_mask([*args, *kwargs.values()])
    given = tuple([_plain(each) for each in args])
    result = function(*given, **{name: _plain(value) for name, value in kwargs.items()})
    if result.shape != mask.shape:
        raise ValueError(f"the result has shape {tuple(result.shape)}, but the mask has {tuple(mask.shape)}: expand it")
    return _wrapped(result, mask, given)


def _written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = args[0]
    if not isinstance(target, MaskedTensor):
        raise TypeError(f"{function.__name__} of a plain tensor takes no MaskedTensor: use .to_tensor(value)")
    _common_mask(args)
    with pellucid._C.DisableTorchFunctionSubclass():
        function(target, *[_plain(each) for each in args[1:]], **kwargs)
    return target


def _reduced(name: str, input: Any, dim: Any = None, *rest: Any, **settings: Any) -> Any:
    if name in ("var", "std") and rest:
        settings["unbiased"] = rest[0]
        rest = rest[1:]
    if name == "norm":
        order, dim = dim, settings.pop("dim", rest[0] if rest else None)
        settings["ord"] = settings.pop("p", 2.0 if order is None else order)
        rest = rest[1:]
    if isinstance(dim, bool) and name in ("var", "std"):
        dim, settings["unbiased"] = None, dim
    if rest:
        settings["keepdim"] = rest[0]
    data, mask = _plain(input), input.get_mask()
    result = _REDUCTIONS[name](data, dim=dim, mask=mask, **settings)
    return _wrapped(result, _ops.output_mask(data, dim, settings.get("keepdim", False), mask))


def _truth(name: str, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    data, mask = _plain(input), input.get_mask()
    kept = data.masked_fill(~mask, name == "all")
    result = getattr(kept, name)() if dim is None else getattr(kept, name)(dim, keepdim)
    return _wrapped(result, _ops.output_mask(data, dim, keepdim, mask))


def _normalised(name: str, input: Any, dim: Any, *rest: Any, **settings: Any) -> Any:
    dtype = settings.get("dtype", rest[-1] if rest and not isinstance(rest[-1], int) else None)
    mask = input.get_mask()
    return _wrapped(getattr(_ops, name)(_plain(input), dim, dtype=dtype, mask=mask), mask)


def _chosen(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    condition, a, b = args
    if not (isinstance(a, MaskedTensor) and isinstance(b, MaskedTensor)):
        return NotImplemented
    chosen = _plain(condition)
    return _wrapped(function(chosen, _plain(a), _plain(b)), function(chosen, a.get_mask(), b.get_mask()))


def _joined(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = args[0]
    masks = [
        each.get_mask() if isinstance(each, MaskedTensor) else pellucid.ones(each.shape, dtype=pellucid.bool)
        for each in tensors
    ]
    return _wrapped(function(_plain(tensors), *args[1:], **kwargs), function(masks, *args[1:], **kwargs))


def _unchanged(name: str, input: Any, *rest: Any, **settings: Any) -> Any:
    return input


def _refused(name: str, input: Any, *rest: Any, **settings: Any) -> Any:
    raise RuntimeError(f".{name}() is not supported for tensor subclasses, got MaskedTensor: use .to_tensor(value)")


def _reshaped(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    source, rest = args[0], tuple([_plain(each) for each in args[1:]])
    data, mask = _plain(source), source.get_mask()
    found, masks = function(data, *rest, **kwargs), function(mask, *rest, **kwargs)
    if isinstance(found, tuple | list):
        return tuple([_wrapped(part, each) for part, each in zip(found, masks, strict=True)])
    return _wrapped(found, masks, (data,))


_BY_NAME: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(_REDUCTIONS, _reduced), "all": _truth, "any": _truth, "softmax": _normalised,
    "log_softmax": _normalised, "softmin": _normalised, "to_dense": _unchanged, "to_sparse": _unchanged,
    "to_sparse_coo": _unchanged, "numpy": _refused, "tolist": _refused, "__array__": _refused,
}  # fmt: skip
_BY_KIND: list[tuple[frozenset[str], Callable[..., Any]]] = [
    (_JOINS, _joined), (frozenset(("where",)), _chosen), (_SHAPE, _reshaped), (_WRITTEN, _written),
    (_UNARY | _BINARY, _elementwise),
]  # fmt: skip
