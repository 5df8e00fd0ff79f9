"""The note on an exception that leaves a module: which layer raised it, with what inputs, called from which line.

Each module that the exception passes on its way out puts its child's name in front of the path, so the success path
costs nothing
but a `try`. There is one note per exception, rewritten at each level.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from pellucid import Tensor

if TYPE_CHECKING:
    from .module import Module

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_MAX_REPR = 200


class _Origin:
    """What is known so far of where an exception came from."""

    __slots__ = ("details", "outermost", "path", "position")

    def __init__(self, module: Module, details: str, position: int) -> None:
        self.outermost = module
        self.path = ""
        self.details = details
        self.position = position

    def text(self) -> str:
        owner = type(self.outermost).__name__
        where = f"In layer {self.path} of {owner}" if self.path else f"In {owner}"
        return f"{where}: {self.details}"


def add_layer_note(error: Exception, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Say on `error` that it is leaving `module`; nothing that goes wrong here may hide the error itself."""
    try:
        origin = getattr(error, "_layer_origin", None)
        if origin is None:
            notes = getattr(error, "__notes__", ())
            origin = _Origin(module, _details(error, module, args, kwargs), len(notes))
            error._layer_origin = origin  # type: ignore[attr-defined]
            error.add_note(origin.text())
        elif module is not origin.outermost:
            name = _name_inside(module, origin.outermost)
            if name is None:
                return
            origin.path = f"{name}.{origin.path}" if origin.path else name
            origin.outermost = module
            error.__notes__[origin.position] = origin.text()
    except Exception:
        return


def _name_inside(module: Module, wanted: Module) -> str | None:
    """The dotted name of `wanted` in `module`, or None when the module reached it from elsewhere."""
    for name, child in module._modules.items():
        if child is wanted:
            return name
    for name, each in module.named_modules():
        if each is wanted:
            return name
    return None


def _details(error: Exception, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    inputs = ", ".join([*map(_describe, args), *(f"{name}={_describe(value)}" for name, value in kwargs.items())])
    return f"{_header(module)}\n  called with ({inputs})\n  at {_user_line(error)}"


def _header(module: Module) -> str:
    """The layer's repr without its children, which would fill the screen."""
    extra = module.extra_repr()
    if "\n" in extra or len(extra) > _MAX_REPR:
        extra = "..."
    return f"{module._get_name()}({extra})"


def _describe(value: Any, depth: int = 0) -> str:
    """A tensor as `float32[1, 8]` (and its device when not the CPU), containers by their items, the rest by its
    repr.
    """
    if isinstance(value, Tensor):
        device = "" if value.device.type == "cpu" else f" on {value.device}"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{device}"
    if isinstance(value, (list, tuple)) and depth < 2:
        items = ", ".join(_describe(item, depth + 1) for item in value[:4])
        return f"{type(value).__name__}({items}{', ...' if len(value) > 4 else ''})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)[:60]
    return type(value).__name__


def _user_line(error: Exception) -> str:
    """The innermost line outside the package: inside forward when the layer is the user's own, else where it was
    called.
    """
    found = None
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    if found is not None:
        return found
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown line>"


__all__ = ["add_layer_note"]
