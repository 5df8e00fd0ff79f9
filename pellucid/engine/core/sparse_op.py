"""`SparseOp`: an operator between sparse and dense tensors, whose body is made of other operators. It needs no plan,
since what it costs to decide is nothing against the work on indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.data import TensorData
from pellucid.engine.core.graph import SavedTensor, gradient_edge, requires_grad
from pellucid.engine.core.modes import state
from pellucid.engine.core.node import Node


class SparseOp:
    """A body over tensors, and a gradient rule per operand. Rules name what they need: operands, settings, `dy`."""

    __slots__ = ("body", "grad_name", "name", "operands", "rules")

    def __init__(self, body: Callable[..., Any], grad_name: str) -> None:
        code = body.__code__
        self.body = body
        self.name = body.__name__
        self.grad_name = grad_name
        self.operands = code.co_varnames[: code.co_argcount]
        self.rules: dict[str, Callable[..., Any]] = {}

    def vjp(self, operand: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the gradient rule of this operand."""
        if operand not in self.operands:
            raise TypeError(f"operator {self.name} has no operand '{operand}', only {self.operands}")

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            self.rules[operand] = rule
            return rule

        return register

    def __call__(self, *operands: Any, node: str | None = None, **settings: Any) -> Any:
        """Run on tensors; `node` names the graph node where it stands for another of PyTorch's functions."""
        before = state.grad_enabled
        recorded = before and not state.inference
        needs = [recorded and isinstance(each, TensorData) and requires_grad(each) for each in operands]
        state.grad_enabled = False
        try:
            out = self.body(*operands, **settings)
        finally:
            state.grad_enabled = before
        if any(needs) and out._meta.dtype.category >= 2:
            made = node_type(node or self.grad_name)(self, operands, settings, needs, out._meta)
            out._grad_fn, out._output_nr, out._needs_grad = made, 0, True
        return out


class SparseNode(Node):
    """The node of a sparse operator's call."""

    __slots__ = ("held", "needs", "op", "settings")

    def __init__(self, op: SparseOp, operands: tuple[Any, ...], settings: dict[str, Any], needs: list[bool],
                 meta: Any) -> None:  # fmt: skip
        edges = [  # an operand without a rule, such as a mask, only says where
            gradient_edge(each) if needed and name in op.rules else None
            for name, each, needed in zip(op.operands, operands, needs, strict=False)
        ]
        super().__init__(tuple(edges), (meta,))
        self.op = op
        self.settings = settings
        self.needs = dict(zip(op.operands, needs, strict=False))
        named = {name for rule in self._rules().values() for name in _parameters(rule)}
        self.held: dict[str, Any] | None = {
            name: SavedTensor(each) if isinstance(each, TensorData) else each
            for name, each in zip(op.operands, operands, strict=False)
            if name in named
        }

    def _rules(self) -> dict[str, Callable[..., Any]]:
        return {name: rule for name, rule in self.op.rules.items() if self.needs.get(name)}

    def release(self) -> None:
        if self.held:
            self.held = None

    def apply(self, gradients: list[Any]) -> list[Any]:
        if self.held is None:
            raise RuntimeError(
                f"Trying to backward through the graph a second time: {self.name()} has let go of its saved tensors."
                " Specify retain_graph=True if you need to backward through the graph a second time."
            )
        known = {name: each.get(self) if isinstance(each, SavedTensor) else each for name, each in self.held.items()}
        known |= {**(self.op.body.__kwdefaults__ or {}), **self.settings, "dy": gradients[0]}
        results: list[Any] = []
        for name, edge in zip(self.op.operands, self.edges, strict=False):
            rule = self.op.rules.get(name)
            if edge is None or rule is None:
                results.append(None)
            else:
                results.append(rule(**{each: known[each] for each in _parameters(rule)}))
        return results


def _parameters(rule: Callable[..., Any]) -> tuple[str, ...]:
    return rule.__code__.co_varnames[: rule.__code__.co_argcount]


_types: dict[str, type[SparseNode]] = {}


def node_type(name: str) -> type[SparseNode]:
    """The class of sparse operators' nodes called `name`."""
    found = _types.get(name)
    if found is None:
        found = _types[name] = type(name, (SparseNode,), {"__slots__": ()})
    return found


def sparse_op(grad_name: str) -> Callable[[Callable[..., Any]], SparseOp]:
    """An operator over sparse tensors, with the name of its graph node."""

    def make(body: Callable[..., Any]) -> SparseOp:
        return SparseOp(body, grad_name)

    return make
