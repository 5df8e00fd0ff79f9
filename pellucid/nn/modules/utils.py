"""Turning one number into one number per dimension, and stripping a prefix from the keys of a state dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a single value `n` times and makes a tuple of anything iterable."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """The items of `t` from last to first, each `n` times: padding per dimension in the order that `F.pad` wants."""
    return tuple(item for item in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """`out_size` with the trailing sizes of `defaults` where it says None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [
        default if size is None else size for size, default in zip(out_size, defaults[-len(out_size) :], strict=True)
    ]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Rename, in place, every key of `state_dict` that starts with `prefix` to what follows it.

    >>> from pellucid.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1}
    >>> consume_prefix_in_state_dict_if_present(state, "module."); state
    {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _type_name(value: Any) -> str:
    """How error messages call the type of `value`: `torch.FloatTensor` for a tensor, `package.Class` for the rest."""
    from pellucid import Tensor

    if isinstance(value, Tensor):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )
