"""Checks whose failure is the user's message, and the line of the user's program that is running."""

from __future__ import annotations

import os
import sys
from types import FrameType

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def check(condition: object, message: str, kind: type[Exception] = RuntimeError) -> None:
    """Raise `kind(message)` unless `condition` holds."""
    if not condition:
        raise kind(message)


def user_frame() -> FrameType | None:
    """The innermost frame whose code is outside the package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def user_line() -> str:
    """`file:line` of the user's code that led here."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown line>"


def user_level() -> int:
    """The `stacklevel` that makes a warning name the user's line, however many of our frames lie between."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def type_name(value: object) -> str:
    """How PyTorch's argument errors call the type of `value`."""
    return type(value).__name__


def wrap_dim(dim: int, ndim: int, *, scalar_as: int = 1) -> int:
    """`dim` counted from the front; a zero-dim tensor has the dims -1 and 0. IndexError when out of range."""
    size = ndim if ndim > 0 else scalar_as
    if not -size <= dim < size:
        if size <= 0:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim + size if dim < 0 else dim


def wrap_dims(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Each of `dims` counted from the front; RuntimeError when one appears twice."""
    wrapped = tuple([wrap_dim(d, ndim) for d in dims])
    for position, dim in enumerate(wrapped):
        if dim in wrapped[:position]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return wrapped
