"""The history of a tensor after a write into one of its views."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.graph import Node, by_name, detached, gradient_edge, zeros
from pellucid.engine.core.modes import state


class CopySlices(Node):
    """The history of a base after a write into one of its views: the view's part goes through the writer's node."""

    __slots__ = ("base_meta", "function", "offset", "view_meta")

    def __init__(self, base: Any, view: Any, function: Node) -> None:
        super().__init__((gradient_edge(base), *function.edges[1:]), (base._meta,))
        self.base_meta = base._meta
        self.view_meta = view._meta
        self.offset = view._offset - base._offset
        self.function: Any = function

    def release(self) -> None:
        if self.function is not None:
            self.function.release()

    def apply(self, gradients: list[Any]) -> list[Any]:
        gradient = gradients[0]
        if gradient is None:
            return [None] * len(self.edges)
        part = {
            "size": tuple(self.view_meta.shape),
            "stride": self.view_meta.strides,
            "storage_offset": self.offset,
        }
        layout = {"base_size": tuple(self.base_meta.shape), "base_stride": self.base_meta.strides}
        slice_gradient = by_name["strided_part"](gradient, **layout, **part)
        found = self._through(slice_gradient)
        results = list(found)
        if self.edges[0] is not None:
            inner = found[0] if found[0] is not None else zeros(self.view_meta)
            results[0] = by_name["strided_replace"](gradient, inner, **layout, **part)
        return [gradient if edge is not None else None for gradient, edge in zip(results, self.edges, strict=True)]

    def _through(self, gradient: Any) -> list[Any]:
        """The writer's rules. What they read of its result is, for gradients of gradients, the written view."""
        saved = [each for each in _saved_outputs(self.function) if state.grad_enabled and each.unpack is None]
        try:
            for each in saved:
                each.edge = self._view_edge(each.tensor)
            return self.function.apply([gradient])
        finally:
            for each in saved:
                each.edge = None  # it leads back to here: kept, it would be a cycle

    def _view_edge(self, view: Any) -> tuple[Node, int]:
        sizes, strides = tuple(self.base_meta.shape), self.base_meta.strides
        state.grad_enabled = False
        try:
            base = by_name["as_strided"](view, size=sizes, stride=strides, storage_offset=-self.offset)
        finally:
            state.grad_enabled = True
        base = detached(base)
        base._grad_fn, base._output_nr, base._needs_grad = self, 0, True
        part = by_name["as_strided"](
            base, size=tuple(self.view_meta.shape), stride=self.view_meta.strides, storage_offset=self.offset
        )
        return part._grad_fn, 0


def _saved_outputs(node: Any) -> list[Any]:
    saved = getattr(node, "saved", None)
    return [each for key, each in saved.items() if key[0] == "output"] if isinstance(saved, dict) else []
