"""`torch._foreach_*`: one function over lists of tensors. They are loops; that each call is short is the backends'
business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.errors import check
from pellucid.engine.tensor import arithmetic, comparison, conversion, exponential, norms, reduction
from pellucid.engine.tensor.arguments import is_number


def _tensors(name: str, self: Any) -> Sequence[Any]:
    if not isinstance(self, tuple | list) or not all(isinstance(each, TensorData) for each in self):
        raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(self).__name__}")
    check(len(self) > 0, "Tensor list must have at least one tensor.")
    return self


def _spread(self: Sequence[Any], value: Any, what: str = "other") -> Sequence[Any]:
    """One value per tensor: `value` itself where it is a list."""
    if not isinstance(value, tuple | list):
        return [value] * len(self)
    kind = "scalar" if value and is_number(value[0]) else "tensor"
    if kind == "scalar":
        check(
            len(value) == len(self),
            f"Tensor list must have same number of elements as scalar list, got {len(self)} and {len(value)}",
        )
    else:
        check(
            len(value) == len(self),
            f"Tensor lists must have the same number of tensors, got {len(self)} and {len(value)}",
        )
    return value


def _titled(function: Any, name: str, plain: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{plain}` of every tensor of a list."
    return function


def _unary(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(self: Any) -> tuple[Any, ...]:
        return tuple([plain(each) for each in _tensors(name, self)])

    return _titled(function, name, plain.__name__)


def _unary_in_place(name: str, plain: str) -> Callable[..., Any]:
    def function(self: Any) -> Any:
        for each in _tensors(name, self):
            getattr(each, plain)()
        return self

    return _titled(function, name, plain)


def _binary(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(self: Any, other: Any, **options: Any) -> tuple[Any, ...]:
        pairs = zip(_tensors(name, self), _spread(self, other), strict=True)
        return tuple([plain(each, value, **options) for each, value in pairs])

    return _titled(function, name, plain.__name__)


def _binary_in_place(name: str, plain: str) -> Callable[..., Any]:
    def function(self: Any, other: Any, **options: Any) -> Any:
        for each, value in zip(_tensors(name, self), _spread(self, other), strict=True):
            getattr(each, plain)(value, **options)
        return self

    return _titled(function, name, plain)


def _factors(self: Sequence[Any], value: Any) -> Sequence[Any]:
    if isinstance(value, TensorData) and value._meta.ndim:
        check(
            value._meta.numel == len(self),
            f"Expected length of scalars to match input of length {len(self)} but got {value._meta.numel} instead.",
        )
        value = value.tolist()
    return _spread(self, value)


def _ternary(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def function(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> tuple[Any, ...]:
        rows = zip(
            _tensors(name, self), _spread(self, tensor1), _spread(self, tensor2), _factors(self, value), strict=True
        )
        return tuple([plain(each, a, b, value=factor) for each, a, b, factor in rows])

    return _titled(function, name, plain.__name__)


def _ternary_in_place(name: str, plain: str) -> Callable[..., Any]:
    def function(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
        for each, a, b, factor in zip(
            _tensors(name, self), _spread(self, tensor1), _spread(self, tensor2), _factors(self, value), strict=True
        ):
            getattr(each, plain)(a, b, value=factor)
        return self

    return _titled(function, name, plain)


def _foreach_lerp(self: Any, tensors1: Any, weight: Any) -> tuple[Any, ...]:
    """`lerp` of every tensor of a list."""
    rows = zip(_tensors("_foreach_lerp", self), _spread(self, tensors1), _spread(self, weight), strict=True)
    return tuple([arithmetic.lerp(each, end, share) for each, end, share in rows])


def _foreach_lerp_(self: Any, tensors1: Any, weight: Any) -> Any:
    """`lerp_` of every tensor of a list."""
    for each, end, share in zip(
        _tensors("_foreach_lerp_", self), _spread(self, tensors1), _spread(self, weight), strict=True
    ):
        each.lerp_(end, share)
    return self


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:
    """The vector norm of every tensor of a list."""
    return tuple([norms.vector_norm(each, ord, dtype=dtype) for each in _tensors("_foreach_norm", self)])


def _foreach_pow(self: Any, exponent: Any) -> tuple[Any, ...]:
    """`pow` of every tensor of a list, or of a number with every tensor of a list as the exponent."""
    if is_number(self):
        return tuple([exponential.pow(self, each) for each in _tensors("_foreach_pow", exponent)])
    return tuple(
        [
            exponential.pow(each, value)
            for each, value in zip(_tensors("_foreach_pow", self), _spread(self, exponent), strict=True)
        ]
    )


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy every tensor of one list into that of another."""
    for each, source in zip(_tensors("_foreach_copy_", self), _spread(self, src), strict=True):
        each.copy_(source)
    return self


def _foreach_zero_(self: Any) -> Any:
    """Set every tensor of a list to 0."""
    for each in _tensors("_foreach_zero_", self):
        each.zero_()
    return self


_foreach_add = _binary("_foreach_add", arithmetic.add)
_foreach_add_ = _binary_in_place("_foreach_add_", "add_")
_foreach_sub = _binary("_foreach_sub", arithmetic.sub)
_foreach_sub_ = _binary_in_place("_foreach_sub_", "sub_")
_foreach_mul = _binary("_foreach_mul", arithmetic.mul)
_foreach_mul_ = _binary_in_place("_foreach_mul_", "mul_")
_foreach_div = _binary("_foreach_div", arithmetic.div)
_foreach_div_ = _binary_in_place("_foreach_div_", "div_")
_foreach_maximum = _binary("_foreach_maximum", comparison.clamp_min)
_foreach_maximum_ = _binary_in_place("_foreach_maximum_", "clamp_min_")
_foreach_minimum = _binary("_foreach_minimum", comparison.clamp_max)
_foreach_minimum_ = _binary_in_place("_foreach_minimum_", "clamp_max_")
_foreach_clamp_min = _binary("_foreach_clamp_min", comparison.clamp_min)
_foreach_clamp_min_ = _binary_in_place("_foreach_clamp_min_", "clamp_min_")
_foreach_clamp_max = _binary("_foreach_clamp_max", comparison.clamp_max)
_foreach_clamp_max_ = _binary_in_place("_foreach_clamp_max_", "clamp_max_")
_foreach_pow_ = _binary_in_place("_foreach_pow_", "pow_")
_foreach_addcmul = _ternary("_foreach_addcmul", arithmetic.addcmul)
_foreach_addcmul_ = _ternary_in_place("_foreach_addcmul_", "addcmul_")
_foreach_addcdiv = _ternary("_foreach_addcdiv", arithmetic.addcdiv)
_foreach_addcdiv_ = _ternary_in_place("_foreach_addcdiv_", "addcdiv_")
_foreach_neg = _unary("_foreach_neg", arithmetic.neg)
_foreach_neg_ = _unary_in_place("_foreach_neg_", "neg_")
_foreach_abs = _unary("_foreach_abs", exponential.abs)
_foreach_abs_ = _unary_in_place("_foreach_abs_", "abs_")
_foreach_sqrt = _unary("_foreach_sqrt", exponential.sqrt)
_foreach_sqrt_ = _unary_in_place("_foreach_sqrt_", "sqrt_")
_foreach_rsqrt = _unary("_foreach_rsqrt", exponential.rsqrt)
_foreach_rsqrt_ = _unary_in_place("_foreach_rsqrt_", "rsqrt_")
_foreach_exp = _unary("_foreach_exp", exponential.exp)
_foreach_exp_ = _unary_in_place("_foreach_exp_", "exp_")
_foreach_log = _unary("_foreach_log", exponential.log)
_foreach_log_ = _unary_in_place("_foreach_log_", "log_")
_foreach_reciprocal = _unary("_foreach_reciprocal", arithmetic.reciprocal)
_foreach_reciprocal_ = _unary_in_place("_foreach_reciprocal_", "reciprocal_")
_foreach_sign = _unary("_foreach_sign", exponential.sign)
_foreach_sign_ = _unary_in_place("_foreach_sign_", "sign_")
_foreach_sigmoid = _unary("_foreach_sigmoid", exponential.sigmoid)
_foreach_sigmoid_ = _unary_in_place("_foreach_sigmoid_", "sigmoid_")
_foreach_tanh = _unary("_foreach_tanh", exponential.tanh)
_foreach_tanh_ = _unary_in_place("_foreach_tanh_", "tanh_")
_foreach_max = _unary("_foreach_max", reduction.max)
_foreach_clone = _unary("_foreach_clone", conversion.clone)
