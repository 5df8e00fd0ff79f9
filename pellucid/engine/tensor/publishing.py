"""Which raw functions a public namespace exports in the form that asks for `__torch_function__`.

A namespace of PyTorch's (`torch`, `torch.nn.functional`, `torch.linalg`, …) imports raw functions by name and ends with
`publish(globals())`, so that `torch.add` is the public form of `engine.tensor.arithmetic.add`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from pellucid.engine.core.data import Classes
from pellucid.engine.tensor.overrides import overridable, visible_to_modes

_PLACES = ("pellucid.engine.tensor.", "pellucid.nn.functional", "pellucid.nn.init")

# About types and settings, and not about any tensor's data: these never ask.
_NEVER_ASK = frozenset(
    (
        "calculate_gain", "from_dlpack", "from_numpy", "is_storage", "is_tensor", "set_default_dtype",
        "set_default_tensor_type", "to_dlpack", "typename",
    )
)  # fmt: skip

# What they are given may be anything, and stays what it is.
_ANY_DATA = frozenset(("as_tensor", "asarray", "frombuffer", "tensor"))

# Raw functions that two namespaces export as two objects, because PyTorch's do.
_TWICE = frozenset(("max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d"))
_APART = ("pellucid.linalg", "pellucid.fft", "pellucid.special", "pellucid.nn.init")

_published: dict[tuple[Any, ...], Callable[..., Any]] = {}


def publish(namespace: dict[str, Any]) -> None:
    """Put the public form in place of each raw function that a namespace exports."""
    module = namespace["__name__"]
    for name, value in namespace.items():
        namespace[name] = published(value, name, module)


def published(function: Any, name: str, module: str) -> Any:
    """The public form of a raw function as `name` of `module`: one object, also where `torch.conv2d` is
    `torch.nn.functional.conv2d`. Anything else is returned as it is.
    """
    if function.__class__ is not FunctionType or not function.__module__.startswith(_PLACES):
        return function
    if name.startswith("_") and not name.startswith("_foreach_") or name in _NEVER_ASK:
        return function
    apart = module if module in _APART or name in _TWICE else None
    key = (function, name, apart)
    made = _published.get(key)
    if made is None:
        wrap = visible_to_modes if name in _ANY_DATA else overridable
        made = _published[key] = wrap(function, name, module)
    return made


def published_method(name: str) -> Callable[..., Any]:
    """A tensor's method as a function of the `torch` namespace: `torch.exp_(x)` is `x.exp_()`."""
    found: Any = getattr(Classes.tensor.__bases__[-1], name)
    return published(found, name, "pellucid")
