"""The history of a tensor after a write into one of its views."""

from __future__ import annotations

from typing import Any

from pellucid.engine.core.graph import Node, by_name, detached, gradient_edge, zeros
from pellucid.engine.core.modes import state


class CopySlices(Node):
    """The history of a base after a write into one of its views: the view's part goes through the writer's node."""

    __slots__ = ("base_meta", "function", "offset", "view_meta", "wide_base", "wide_view")

    def __init__(self, base: Any, view: Any, function: Node) -> None:
        super().__init__((gradient_edge(base), *function.edges[1:]), (base._meta,))
        self.base_meta = base._meta
        self.view_meta = view._meta
        self.function: Any = function
        self.wide_base = base._meta.dtype.is_complex and not view._meta.dtype.is_complex
        self.wide_view = view._meta.dtype.is_complex and not base._meta.dtype.is_complex
        self.offset = view._offset * (1 + self.wide_view) - base._offset * (1 + self.wide_base)

    def release(self) -> None:
        if self.function is not None:
            self.function.release()

    def apply(self, gradients: list[Any]) -> list[Any]:
        gradient = gradients[0]
        if gradient is None:
            return [None] * len(self.edges)
        if self.wide_base:
            gradient = by_name["view_as_real"](gradient)
        part = dict(zip(("size", "stride"), _layout(self.view_meta, self.wide_view), strict=True))
        part["storage_offset"] = self.offset
        layout = dict(zip(("base_size", "base_stride"), _layout(self.base_meta, self.wide_base), strict=True))
        slice_gradient = by_name["strided_part"](gradient, **layout, **part)
        found = self._through(by_name["view_as_complex"](slice_gradient) if self.wide_view else slice_gradient)
        results = list(found)
        if self.edges[0] is not None:
            inner = found[0] if found[0] is not None else zeros(self.view_meta)
            inner = by_name["view_as_real"](inner) if self.wide_view else inner
            whole = by_name["strided_replace"](gradient, inner, **layout, **part)
            results[0] = by_name["view_as_complex"](whole) if self.wide_base else whole
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
        """Where the gradient of the written view goes: to this node, through a view of what it made."""
        state.grad_enabled = False
        try:
            base = detached(_from_other_layout(view, self.wide_view, self.base_meta, self.wide_base, -self.offset))
        finally:
            state.grad_enabled = True
        base._grad_fn, base._output_nr, base._needs_grad = self, 0, True
        return _from_other_layout(base, self.wide_base, self.view_meta, self.wide_view, self.offset)._grad_fn, 0


def seen_again(base: Any, view: Any) -> Any:
    """A view of the base that is like `view`, which also may have real numbers where the base has complex ones, or the
    other way.
    """
    wide_base = base._meta.dtype.is_complex and not view._meta.dtype.is_complex
    wide_view = view._meta.dtype.is_complex and not base._meta.dtype.is_complex
    offset = view._offset * (1 + wide_view) - base._offset * (1 + wide_base)
    return _from_other_layout(base, wide_base, view._meta, wide_view, offset)


def _from_other_layout(source: Any, wide_source: bool, meta: Any, wide: bool, offset: int) -> Any:
    """The view with the layout `meta` of the source; the offset counts real numbers where one of them is `wide`."""
    source = by_name["view_as_real"](source) if wide_source else source
    sizes, strides = _layout(meta, wide)
    found = by_name["as_strided"](source, size=sizes, stride=strides, storage_offset=offset)
    return by_name["view_as_complex"](found) if wide else found


def _layout(meta: Any, as_real: bool) -> tuple[Any, Any]:
    """Sizes and strides; `as_real`: those of the pairs of real numbers that complex ones are."""
    sizes, strides = tuple(meta.shape), meta.strides
    return ((*sizes, 2), (*[2 * each for each in strides], 1)) if as_real else (sizes, strides)


def _saved_outputs(node: Any) -> list[Any]:
    saved = getattr(node, "saved", None)
    return [each for key, each in saved.items() if key[0] == "output"] if isinstance(saved, dict) else []
