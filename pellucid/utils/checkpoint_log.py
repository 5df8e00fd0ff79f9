"""The operators that a checkpointed function ran, with the user's lines, for the errors of `checkpoint(debug=True)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.errors import user_line
from pellucid.engine.core.modes import state


class OperatorLog:
    """A mode that notes each operator while it is active; entering it again starts anew."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> OperatorLog:
        self.lines = []
        state.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        state.stack.remove(self)

    def intercept(
        self, op: Any, operands: tuple[Any, ...], settings: dict[str, Any], proceed: Callable[..., Any]
    ) -> Any:
        """Note the call and run it."""
        shapes = ", ".join([str(list(each.shape)) if hasattr(each, "shape") else repr(each) for each in operands])
        self.lines.append(f"{op.name}({shapes}) at {user_line()}")
        return proceed(op, operands, settings)

    def text(self) -> str:
        """One operator per line, numbered."""
        return "\n".join([f"{number}. {line}" for number, line in enumerate(self.lines, 1)]) or "(none)"
