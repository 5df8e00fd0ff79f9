"""`Op`: all that is known of an operator in one object, and the decorators that fill it. Running it is
dispatch.py's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.core.dispatch import InPlace, run, run_in_place, run_out
from pellucid.engine.core.graph import by_name


class Rule:
    """A gradient rule: which inputs it differentiates, and where each of its parameters comes from."""

    __slots__ = ("function", "fused", "inputs", "open", "parameters")

    def __init__(self, op: Op, inputs: tuple[str, ...], function: Callable[..., Any]) -> None:
        self.function = function
        self.fused: dict[Any, Any] = {}  # by metas: the compiled rule, or None where it stays operators
        self.inputs = tuple([op.operand_index(name) for name in inputs])
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.parameters = tuple([(name, *op.source_of(name, function.__name__)) for name in names])
        self.open = bool(code.co_flags & 0x08)  # takes **settings


class Op:
    """An operator: its NumPy meaning, its shape and type rule, its gradient rules. Calling it runs it."""

    __slots__ = (
        "accepts", "body", "defaults", "doc", "dynamic", "fresh", "grad_name", "half", "kernels", "kind", "meta_rule",
        "name", "numbers", "onnx_rule", "operands", "outputs", "plans",
        "promote", "result", "rules", "setting_names", "variadic", "zero_gradient",
    )  # fmt: skip

    def __init__(self, body: Callable[..., Any], kind: str, **traits: Any) -> None:
        code = body.__code__
        self.body = body
        self.kind = kind  # "pointwise", "general", "view" or "views"
        self.name: str = traits.get("name") or body.__name__
        self.doc = body.__doc__
        positional = code.co_varnames[: code.co_argcount]
        named = code.co_argcount + code.co_kwonlyargcount
        self.variadic = bool(code.co_flags & 0x04)  # the last operand's name then stands for all that follow
        if self.variadic:
            positional = (*positional, code.co_varnames[named])
        self.operands: tuple[str, ...] = ("x",) if kind in ("view", "views") else positional
        self.setting_names = code.co_varnames[code.co_argcount : named]
        self.defaults: dict[str, Any] = body.__kwdefaults__ or {}
        self.outputs: tuple[str, ...] = traits.get("outputs") or ("y",)
        self.result: Any = traits.get("result", "promoted")
        self.promote: tuple[str, ...] | None = traits.get("promote")
        self.accepts: str | None = traits.get("accepts")
        self.half: str = traits.get("half", "upcast")
        self.numbers: str = traits.get("numbers", "exact")
        self.grad_name: Any = traits.get("grad_name") or _node_name(self.name)
        self.dynamic: bool = traits.get("dynamic", False)  # the result's shape depends on the data
        self.fresh: bool = traits.get("fresh", False)  # a view of memory that nobody else sees, so no view to the user
        self.zero_gradient: bool = traits.get("zero_gradient", False)
        self.meta_rule: Callable[..., Any] | None = None
        self.onnx_rule: Callable[..., Any] | None = None
        self.rules: list[Rule] = []
        self.kernels: list[Any] = []
        self.plans: dict[Any, Any] = {}
        clash = {"y", "dy"} & set(self.operands)
        if clash:
            raise TypeError(
                f"operator {self.name}: {sorted(clash)} belong to gradient rules and cannot name an operand"
            )
        by_name[self.name] = self

    def __call__(self, *operands: Any, out: Any = None, **settings: Any) -> Any:
        """Run on tensors and numbers; `out` writes into existing tensors (`InPlace(t)` with a gradient history)."""
        if out is None:
            return run(self, operands, settings)
        if out.__class__ is InPlace:
            return run_in_place(self, out.target, operands, settings)
        return run_out(self, out, operands, settings)

    def __repr__(self) -> str:
        return f"<operator {self.name}({', '.join(self.operands)})>"

    def meta(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register the rule that validates and tells shape and dtype without data."""
        self.meta_rule = rule
        return rule

    def vjp(self, *inputs: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the gradient rule of these inputs."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.rules.append(Rule(self, inputs, function))
            return function

        return register

    def onnx(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register the ONNX operator and attributes that this one becomes."""
        self.onnx_rule = rule
        return rule

    def operand_index(self, name: str) -> int:
        """The position of operand `name`."""
        if name not in self.operands:
            raise TypeError(f"operator {self.name} has no operand '{name}', only {self.operands}")
        return self.operands.index(name)

    def source_of(self, name: str, rule: str) -> tuple[str, Any]:
        """Where a gradient rule's parameter comes from: (kind, index or name). TypeError for a name that means
        nothing.
        """
        if name == "needs":
            return "needs", None
        several = "s" if self.variadic and name.removesuffix("_meta") == self.operands[-1] else ""
        if name in self.operands:
            return "input" + several, self.operands.index(name)
        if name.endswith("_meta") and name[:-5] in self.operands:
            return "meta" + several, self.operands.index(name[:-5])
        if name in self.outputs:
            return "output", self.outputs.index(name)
        if name == "dy" and self.kind == "views":
            return "cotangents", None
        if name[0] == "d" and name[1:] in self.outputs:
            return "cotangent", self.outputs.index(name[1:])
        if name in self.setting_names:
            return "setting", name
        raise TypeError(
            f"gradient rule {rule} of operator {self.name} names '{name}', which is no operand, output or setting"
        )


def _node_name(name: str) -> str:
    return "".join([part[:1].upper() + part[1:] for part in name.split("_")]) + "Backward0"


def pointwise(body: Callable[..., Any] | None = None, **traits: Any) -> Any:
    """An operator given by one scalar body; shapes broadcast and types promote by themselves.

    Traits: `result` ("promoted", "float": integers become the default float, "bool", "real": the real type of a complex
    one, or a function of the common dtype), `grad_name` (the node's name, or a function of the settings that gives it),
    `promote` (the operands that decide the common type; others pass as they are), `accepts` ("integral",
    "real", "floating", "number": what the common type must be), `half`, `numbers` ("rounded": a number among half-type
    tensors is first rounded to their type, as PyTorch does for some operators), `zero_gradient` (float results
    that no gradient goes through).
    """
    if body is None:
        return lambda function: Op(function, "pointwise", **traits)
    return Op(body, "pointwise", **traits)


def op(body: Callable[..., Any] | None = None, **traits: Any) -> Any:
    """An operator given by a NumPy body and a meta rule. Traits: `outputs` (their names), `half` ("keep": bodies see
    bfloat16), `dynamic` (shapes depend on the data: the meta tells dtypes only, and there is no gradient)."""
    if body is None:
        return lambda function: Op(function, "general", **traits)
    return Op(body, "general", **traits)


def view(body: Callable[..., Any] | None = None, **traits: Any) -> Any:
    """An operator whose result shares its operand `x`'s memory: (meta, **settings) -> (shape, strides, offset in
    elements).
    """
    if body is None:
        return lambda function: Op(function, "view", **traits)
    return Op(body, "view", **traits)


def views(body: Callable[..., Any] | None = None, **traits: Any) -> Any:
    """Like `view` with several results: the rule returns a list of (shape, strides, offset)."""
    if body is None:
        return lambda function: Op(function, "views", **traits)
    return Op(body, "views", **traits)


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function made of other operators that core has to find by name."""
    by_name[function.__name__] = function
    return function
