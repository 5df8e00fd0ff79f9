"""NumPy's names of arguments, which PyTorch takes too: `axis` for `dim`, `keepdims` for `keepdim`, `x1` and `x2`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

_MEANS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def renamed(function: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The keywords of a call under the function's own names; None where they are already, or where one is given
    twice.
    """
    if _MEANS.keys().isdisjoint(kwargs):
        return None
    names = inspect.signature(function).parameters
    own = {name: _MEANS[name] for name in kwargs if name not in names and _MEANS.get(name) in names}
    if not own or any(each in kwargs for each in own.values()):
        return None
    return {own.get(name, name): value for name, value in kwargs.items()}


def takes_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that also takes NumPy's names; a function does when it is published."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:  # Python's, for a name that is not there
            other = renamed(function, kwargs)
            if other is None:
                raise
        return function(*args, **other)

    return method
