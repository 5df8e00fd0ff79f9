"""Neural networks: `Module` and the layers made of it, `Parameter`, `functional`, `init`, `utils`: PyTorch's names."""

from __future__ import annotations

import importlib
from typing import Any

from pellucid.nn import functional, init, modules, parameter, utils
from pellucid.nn.modules import *  # noqa: F403
from pellucid.nn.modules import __all__ as _layers
from pellucid.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *_layers, "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs", "functional",
    "init", "modules", "parameter", "utils",
]  # fmt: skip

# Parts that most programs do not need; they load when they are first asked for.
_LATE = {
    "attention": "attention", "parallel": "parallel", "DataParallel": "parallel", "grad": "grad",
    "common_types": "common_types", "qat": "qat", "quantized": "quantized", "quantizable": "quantizable",
    "intrinsic": "intrinsic",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a late part on first use; AttributeError for what there is not."""
    if name in _LATE:
        try:
            part = importlib.import_module(f"pellucid.nn.{_LATE[name]}")
        except ModuleNotFoundError as error:
            if error.name != f"pellucid.nn.{_LATE[name]}":
                raise
        else:
            return part if name == _LATE[name] else getattr(part, name)
    raise AttributeError(f"module 'pellucid.nn' has no attribute '{name}': Pellucid does not have torch.nn.{name}")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The device, dtype and memory_format out of a layer's keyword arguments; TypeError for others, or one given twice.

    >>> import pellucid as torch
    >>> torch.nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in simple & kwargs.keys():
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found
