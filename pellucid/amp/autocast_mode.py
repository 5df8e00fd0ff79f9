"""Autocast's names and switches. Mixed precision is not there: what would switch it on raises, what asks or switches
off works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core import dtypes
from pellucid.engine.core.device import device

_ADVICE = "Pellucid has no autocast: convert the model and its inputs yourself, for example with .to(torch.bfloat16)"


class _Settings:
    """What was set for programs that set it on any machine."""

    dtypes: dict[str, Any] = {"cpu": dtypes.bfloat16, "cuda": dtypes.float16}  # noqa: RUF012 - one object, on purpose
    cache_enabled = True


class autocast:  # noqa: N801 - PyTorch's name
    """Mixed precision in a `with` block or function; only with `enabled=False`, which changes nothing.

    >>> import pellucid as torch
    >>> with torch.autocast("cpu", enabled=False):
    ...     torch.ones(1).dtype
    torch.float32
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if enabled:
            raise NotImplementedError(f"autocast('{device_type}') cannot be enabled. {_ADVICE}; or pass enabled=False.")
        self.device = device(device_type).type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = False

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast can be enabled for this type of device: no.

    >>> import pellucid as torch
    >>> torch.amp.is_autocast_available("cpu")
    False
    """
    device(device_type)
    return False


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on: no.

    >>> import pellucid as torch
    >>> torch.is_autocast_enabled("cpu")
    False
    """
    device(device_type)
    return False


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU: no.

    >>> import pellucid as torch
    >>> torch.is_autocast_cpu_enabled()
    False
    """
    return False


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast off; switching it on raises NotImplementedError.

    >>> import pellucid as torch
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if device_type if enabled is None else enabled:
        raise NotImplementedError(f"autocast cannot be enabled. {_ADVICE}.")


def get_autocast_dtype(device_type: str) -> Any:
    """The type that autocast would compute in.

    >>> import pellucid as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _Settings.dtypes.get(device(device_type).type, dtypes.float16)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """The type that `get_autocast_dtype` gives for this type of device from now on.

    >>> import pellucid as torch
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _Settings.dtypes[device(device_type).type] = dtype


def get_autocast_cpu_dtype() -> Any:
    """The type that autocast would compute in on a CPU.

    >>> import pellucid as torch
    >>> torch.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """The type that autocast would compute in on a GPU.

    >>> import pellucid as torch
    >>> torch.get_autocast_gpu_dtype()
    torch.float16
    """
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled() -> bool:
    """Whether autocast would keep converted weights.

    >>> import pellucid as torch
    >>> torch.is_autocast_cache_enabled()
    True
    """
    return _Settings.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """What `is_autocast_cache_enabled` answers from now on.

    >>> import pellucid as torch
    >>> torch.set_autocast_cache_enabled(True)
    """
    _Settings.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget converted weights; there are none.

    >>> import pellucid as torch
    >>> torch.clear_autocast_cache()
    """
