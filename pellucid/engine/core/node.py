"""What every node of the backward graph has: edges, hooks, the user's line that made it. Operators' nodes are
graph.py's.
"""

from __future__ import annotations

import itertools
import sys
import traceback
import weakref
from typing import Any

from pellucid.engine.core.errors import PACKAGE
from pellucid.engine.core.meta import Meta

sequence_numbers = itertools.count()


class Anomaly:
    """Anomaly detection: `enabled` keeps each node's forward traceback, `check_nan` stops at a gradient with a NaN."""

    enabled = False
    check_nan = True


anomaly = Anomaly()


_is_ours: dict[str, bool] = {}  # by file name


def here(depth: int = 2) -> tuple[Any, int] | None:
    """Code and line number of the innermost frame outside the package, of those `depth` or more calls up."""
    frame: Any = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        ours = _is_ours.get(code.co_filename)
        if ours is None:
            ours = _is_ours[code.co_filename] = code.co_filename.startswith(PACKAGE)
        if not ours:
            return code, frame.f_lineno
        frame = frame.f_back
    return None


def line_text(where: tuple[Any, int] | None) -> str:
    """`file:line` of what `here` found."""
    return f"{where[0].co_filename}:{where[1]}" if where is not None else "an unknown line"


_HAND_WRITTEN = frozenset(("AccumulateGrad", "CopySlices", "CopyBackwards"))


class Node:
    """A step of the backward pass: takes the gradients of its forward outputs, gives those of its inputs (`edges`)."""

    __slots__ = ("__dict__", "__weakref__", "edges", "line", "output_metas", "sequence")

    edges: tuple[tuple[Node, int] | None, ...]
    output_metas: tuple[Meta, ...]
    # Few nodes have these, so they are no slots: nothing is stored while they are None.
    pre_hooks: dict[int, Any] | None = None
    post_hooks: dict[int, Any] | None = None
    tensor_hooks: dict[int, dict[int, Any]] | None = None
    retained: dict[int, Any] | None = None
    trace: list[str] | None = None
    runs_on_nothing = False  # whether `apply` is called even where no gradient arrived at all

    def __init__(self, edges: tuple[Any, ...], output_metas: tuple[Meta, ...]) -> None:
        self.edges = edges
        self.output_metas = output_metas
        self.sequence = next(sequence_numbers)
        self.line = here()
        if anomaly.enabled:
            self.trace = traceback.format_stack(sys._getframe(1))

    def apply(self, gradients: list[Any]) -> Any:
        """The gradients of the inputs, one per edge, None where there is none."""
        raise NotImplementedError

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs, of which a single one comes alone; hooks are not called."""
        results = tuple(self.apply(list(gradients)))
        return results[0] if len(results) == 1 else results

    def release(self) -> None:
        """Let go of saved tensors."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def name(self) -> str:
        """The node's name, such as `MulBackward0`; PyTorch's hand-written nodes have their namespace in front."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _HAND_WRITTEN else name

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that receive this node's gradients, with the number of the output that each gradient is of."""
        return tuple([(None, 0) if edge is None else edge for edge in self.edges])

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user's notes on this node."""
        return self.__dict__.setdefault("_metadata", {})

    def _sequence_nr(self) -> int:
        return self.sequence

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node has run; what it returns replaces the grad_inputs."""
        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook: Any) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node runs; what it returns replaces them."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle(self.pre_hooks, hook)


class RemovableHandle:
    """Removes a hook: `handle.remove()`, or leaving a `with` block."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any], hook: Any = None) -> None:
        self.id = next(RemovableHandle._ids)
        self._hooks = weakref.ref(hooks) if type(hooks) is not dict else (lambda: hooks)
        if hook is not None:
            hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class AccumulateGrad(Node):
    """Adds the gradient that arrives to a leaf's `.grad`."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.edges = ()
        self.output_metas = (variable._meta,)
        self.variable = variable
        self.sequence = 1 << 62  # leaves are served first
        self.line = None

    def apply(self, gradients: list[Any]) -> Any:
        raise AssertionError("the engine accumulates into leaves itself")
