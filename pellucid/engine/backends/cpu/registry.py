"""Which operators have a kernel of their own here, and in which file; the rest is pointwise or runs its reference."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from pellucid.engine.core.meta import Meta

Kernel = Callable[[list[Any], dict[str, Any]], Any]
Maker = Callable[[Any, tuple[Any, ...], tuple[Meta, ...], dict[str, Any]], Kernel | None]

_makers: dict[str, list[Maker]] = {}
_rule_makers: dict[str, Any] = {}
# The file whose import registers an operator's kernels; files load when the first such operator is planned.
FILES: dict[str, str] = {
    **dict.fromkeys(("softmax", "log_softmax", "softmax_dx", "log_softmax_dx"), "softmax"),
    **dict.fromkeys(
        ("layer_norm", "layer_norm_gradients", "batch_norm", "batch_norm_gradients"), "normalization"
    ),
    **dict.fromkeys(("group_norm", "group_norm_gradients"), "group_normalization"),
    **dict.fromkeys(("max_pool", "pool_scatter", "avg_pool"), "pooling"),
    **dict.fromkeys(("clone", "cast", "copy"), "copies"),
    **dict.fromkeys(("embedding", "embedding_rows"), "tables"),
    **dict.fromkeys(
        ("sum", "mean", "amax", "amin", "max_all", "min_all", "prod", "var", "std", "vector_norm"), "reduction"
    ),
    **dict.fromkeys(("convolution", "convolution_weight"), "convolution_operators"),
    **dict.fromkeys(("attention", "attention_gradients"), "attention_operators"),
    **dict.fromkeys(("lstm_gates", "lstm_gates_slopes", "gru_gates", "gru_gates_slopes"), "recurrent"),
    **dict.fromkeys(("mm", "bmm", "addmm", "baddbmm"), "matmul_operators"),
}  # fmt: skip
_loaded: set[str] = set()


def kernel(*names: str) -> Callable[[Maker], Maker]:
    """Register a maker for these operators: (op, operand metas, result metas, settings) -> a kernel, or None."""

    def register(maker: Maker) -> Maker:
        for name in names:
            _makers.setdefault(name, []).append(maker)
        return maker

    return register


def rule_kernel(*names: str) -> Callable[[Any], Any]:
    """Register a maker for gradient rules by their functions' names: (rule, arguments) -> a function of such arguments
    that gives the rule's gradients, or None where the rule stays operators.
    """

    def register(maker: Any) -> Any:
        for name in names:
            _rule_makers[name] = maker
        return maker

    return register


def rule_kernel_for(rule: Any, arguments: dict[str, Any]) -> Any:
    """The registered kernel of a gradient rule for these arguments, or None."""
    name = rule.function.__name__
    _load(name)
    maker = _rule_makers.get(name)
    return maker(rule, arguments) if maker is not None else None


def _load(name: str) -> None:
    file = FILES.get(name)
    if file is not None and file not in _loaded:
        importlib.import_module(f"pellucid.engine.backends.cpu.{file}")
        _loaded.add(file)


def kernel_for(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Kernel | None:
    """The first registered kernel that takes these operands; None where the reference runs."""
    _load(op.name)
    for maker in _makers.get(op.name, ()):
        found = maker(op, metas, results, settings)
        if found is not None:
            return found
    return None
