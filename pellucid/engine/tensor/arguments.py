"""What public functions share: checking arguments in PyTorch's words, and writing results in place or into `out=`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.dispatch import InPlace, check_apart, run_out
from pellucid.engine.core.dtypes import dtype
from pellucid.engine.core.errors import check, wrap_dim, wrap_dims
from pellucid.engine.core.graph import OpNode, check_in_place, node_type, requires_grad
from pellucid.engine.core.meta import Size
from pellucid.engine.core.op import by_name
from pellucid.engine.core.promotion import can_cast, title
from pellucid.engine.tensor.overrides import first_notice

Number = bool | int | float | complex
_NUMBERS = (bool, int, float, complex, np.generic)


def is_tensor(obj: object) -> bool:
    """Whether `obj` is a tensor.

    >>> import pellucid as torch
    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, TensorData)


def is_number(value: object) -> bool:
    """Whether `value` is a Python or NumPy number."""
    return isinstance(value, _NUMBERS)


def need_tensor(value: Any, function: str, argument: str = "input", position: int = 1) -> Any:
    """`value` if it is a tensor; else a TypeError in PyTorch's words."""
    if not isinstance(value, TensorData):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
            + first_notice(value, function)
        )
    return value


def need_tensors(given: Any, function: str) -> list[Any]:
    """The tensors of `f(a, b)` and of `f([a, b])` alike; a TypeError in PyTorch's words where one is none."""
    several = list(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else list(given)
    for position, each in enumerate(several):
        if not isinstance(each, TensorData):
            raise TypeError(
                f"{function}(): expected Tensor as element {position} in argument 0, but got {type(each).__name__}"
            )
    return several


def need_operand(value: Any, function: str, argument: str = "other", position: int = 2) -> Any:
    """`value` if it is a tensor or a number; else a TypeError in PyTorch's words."""
    if not isinstance(value, TensorData) and not isinstance(value, _NUMBERS):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
            + first_notice(value, function)
        )
    return value


def _not(value: Any, function: str, argument: str, position: int, wanted: str) -> TypeError:
    """The TypeError of PyTorch's argument parser; an argument without a position is passed by name."""
    place = f" (position {position})" if position else ""
    return TypeError(f"{function}(): argument '{argument}'{place} must be {wanted}, not {type(value).__name__}")


def _is_int(value: Any) -> bool:
    if isinstance(value, TensorData):
        return value._meta.numel == 1 and value._meta.dtype.category == 1
    return not isinstance(value, bool | float | str) and hasattr(value, "__index__")


def as_int(value: Any, function: str, argument: str, position: int = 2) -> int:
    """An integer argument: an int, a NumPy integer, or an integer tensor of one element; else a TypeError in
    PyTorch's words.
    """
    if value.__class__ is int:
        return value
    if not _is_int(value):
        raise _not(value, function, argument, position, "int")
    return value.__index__()


def as_ints(value: Any, function: str, argument: str, position: int = 2, only_several: bool = False) -> tuple[int, ...]:
    """A tuple of ints from a sequence of ints, or from one int unless `only_several`."""
    if not isinstance(value, list | tuple):
        if not _is_int(value) or only_several:
            raise _not(value, function, argument, position, "tuple of ints")
        return (as_int(value, function, argument, position),)
    if all([each.__class__ is int for each in value]):
        return tuple(value)
    bad = next((i for i, each in enumerate(value) if not _is_int(each) and not (i and each.__class__ is bool)), None)
    if bad is not None:
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be tuple of ints, but found "
            f"element of type {type(value[bad]).__name__} at pos {bad}"
        )
    return tuple([each.__index__() for each in value])


def as_size(args: Sequence[Any], function: str, argument: str = "size") -> tuple[int, ...]:
    """The ints of `f(2, 3)` and of `f((2, 3))` alike."""
    if len(args) == 1 and isinstance(args[0], list | tuple):
        args = args[0]
    if args.__class__ is Size:
        return tuple(args)
    return as_ints(tuple(args), function, argument)


def as_dims(dim: Any, ndim: int, function: str) -> tuple[int, ...]:
    """The axes that `dim` (None, an int, or several) names, counted from the front; None and () mean all."""
    if dim is None:
        return tuple(range(ndim))
    dims = wrap_dims(as_ints(dim, function, "dim"), ndim)
    if not dims and not isinstance(dim, int):
        return tuple(range(ndim))
    return dims if ndim else ()


def as_dim(dim: Any, ndim: int, function: str, position: int = 2) -> int:
    """One axis, counted from the front."""
    return wrap_dim(as_int(dim, function, "dim", position), ndim)


def fitting(value: Any, kind: dtype, halves: bool = False) -> Any:
    """A number that is to become `kind`; RuntimeError where `kind` cannot hold it (unsigned types also take -max to
    -1).

    `halves`: also where a finite number is too large for float16 or bfloat16, which filling turns into infinity.
    """
    number = value.item() if isinstance(value, np.generic) else value  # NumPy warns of what float16 cannot hold
    if isinstance(number, complex):
        if kind.is_complex or kind.category == 0:
            return value
        check(number.imag == 0, f"value cannot be converted to type {kind} without overflow: it is complex")
        number = number.real
    if kind.category == 1:
        high = int(np.iinfo(kind.numpy).max)
        low = min(int(np.iinfo(kind.numpy).min), -high)
        check(low <= number <= high, f"value cannot be converted to type {kind} without overflow: {value}")
    elif kind.category == 2 and (kind.itemsize >= 4 or halves and kind.itemsize == 2):
        largest = float(ml_dtypes.finfo(kind.numpy).max)
        check(
            not largest < abs(number) < float("inf"),
            f"value cannot be converted to type {kind} without overflow: {value}",
        )
    return value


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place method of a public function: `add_ = in_place(add)`."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, out=InPlace(self), **kwargs)
        except Exception:
            check_in_place(
                self, function.__name__, any(isinstance(each, TensorData) and requires_grad(each) for each in args)
            )
            raise

    method.__name__ = function.__name__ + "_"
    method.__qualname__ = method.__name__
    method.__doc__ = f"In-place version of `{function.__name__}`."
    return method


def presented(result: Any, node: str) -> Any:
    """`result` with its node named as PyTorch's single node is, for a function that is made of several operators
    here.
    """
    if isinstance(result._grad_fn, OpNode):
        result._grad_fn.__class__ = node_type(node)
    return result


def deliver(result: Any, out: Any) -> Any:
    """A finished result, written into `out` (or in place) when that is asked for: for functions made of several
    operators.
    """
    if out is None:
        return result
    if out.__class__ is InPlace:
        kind = out.target._meta.dtype
        check(
            can_cast(result._meta.dtype, kind),
            f"result type {title(result._meta.dtype)} can't be cast to the desired output type {title(kind)}",
        )
        return by_name["copy"](out.target, result, out=out)
    if isinstance(out, tuple | list) or isinstance(result, tuple):
        _need_targets(out, result, sys._getframe(1).f_code.co_name)
        for target, each in zip(out, result, strict=True):
            deliver(each, target)
        return out
    kind = need_tensor(out, "out", "out")._meta.dtype
    if kind is result._meta.dtype:
        return run_out(by_name["clone"], out, (result,), {})
    check(
        can_cast(result._meta.dtype, kind),
        f"Expected out tensor to have dtype {result._meta.dtype}, but got {kind} instead: result type"
        f" {title(result._meta.dtype)} can't be cast to the desired output type {title(kind)}",
    )
    return run_out(by_name["cast"], out, (result,), {"dtype": kind})


def _need_targets(out: Any, result: Any, function: str) -> None:
    if not isinstance(result, tuple):
        raise TypeError(f"{function}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if not isinstance(out, tuple | list) or len(out) != len(result):
        found = f"not {len(out)} of them" if isinstance(out, tuple | list) else f"not {type(out).__name__}"
        raise TypeError(
            f"{function}(): argument 'out' must be tuple of Tensors, one for each of {len(result)} results, {found}"
        )


def need_apart(function: str, out: Any, *operands: Any) -> None:
    """RuntimeError where `out` shares elements with an operand, for a function that would read what it has written."""
    if isinstance(out, TensorData):
        check_apart(function, out, operands)


def as_bool(value: Any, function: str, argument: str, position: int = 0) -> bool:
    """A bool argument; a TypeError in PyTorch's words for everything else, numbers included. `position` 0: it has
    none, since it is passed by name.
    """
    if value.__class__ is not bool:
        raise _not(value, function, argument, position, "bool")
    return value


def as_float(value: Any, function: str, argument: str, position: int = 0) -> float:
    """A real number as a float: a number of Python's or NumPy's, or a tensor of one element."""
    if value.__class__ is float:
        return value
    if isinstance(value, TensorData) and value._meta.ndim == 0 and not requires_grad(value):
        value = value.item()
    if isinstance(value, complex) or not is_number(value):
        raise _not(value, function, argument, position, "float")
    return float(value)


def as_number(value: Any, function: str, argument: str, position: int = 0) -> Any:
    """A number of any kind, or that of a tensor without axes, as it is; a TypeError for everything else."""
    if isinstance(value, TensorData) and value._meta.ndim == 0:
        return value.item()
    if not is_number(value):
        raise _not(value, function, argument, position, "Number")
    return value


def need_str(value: Any, function: str, argument: str, position: int = 0) -> str:
    """A string argument; a TypeError in PyTorch's words for everything else."""
    if not isinstance(value, str):
        raise _not(value, function, argument, position, "str")
    return value


def unary(op: Any, name: str, summary: str, example: str = "") -> Callable[..., Any]:
    """The public function of a one-operand operator: a row of a table, where a `def` would say nothing more."""

    def function(input: Any, *, out: Any = None) -> Any:
        return op(need_tensor(input, name), out=out)

    return _titled(function, name, summary, example)


def binary(op: Any, name: str, summary: str, example: str = "") -> Callable[..., Any]:
    """The public function of a two-operand operator of which one operand may be a number, but not both."""

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if not isinstance(input, TensorData):
            need_one_tensor(need_operand(input, name, "input", 1), other, name)
        return op(input, need_operand(other, name), out=out)

    return _titled(function, name, summary, example)


def tensor_and_operand(op: Any, name: str, summary: str, example: str = "") -> Callable[..., Any]:
    """The public function of a two-operand operator whose first operand is a tensor, the second a tensor or a
    number.
    """

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        return op(need_tensor(input, name), need_operand(other, name), out=out)

    return _titled(function, name, summary, example)


def need_one_tensor(first: Any, second: Any, function: str) -> None:
    """TypeError in PyTorch's words unless one of the two is a tensor."""
    if not isinstance(first, TensorData) and not isinstance(second, TensorData):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got ({type(first).__name__}, "
            f"{type(second).__name__}),"
            " but expected at least one Tensor"
        )


def binary_of_tensors(op: Any, name: str, summary: str, example: str = "") -> Callable[..., Any]:
    """The public function of a two-operand operator that, in PyTorch, takes no numbers."""

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        return op(need_tensor(input, name), need_tensor(other, name, "other", 2), out=out)

    return _titled(function, name, summary, example)


def _titled(function: Callable[..., Any], name: str, summary: str, example: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary + (f"\n\n    >>> import pellucid as torch\n    >>> {example}\n    " if example else "")
    return function
