"""Kernels for processors, written by LLVM from Python. Read in this order: expression (what a body says), lower and
vector_math (the instructions for it), layout and pointwise (loops), reduction and its kin, gemm (contractions), jit
(from LLVM to a callable), pool (threads), cache (object code on disk).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.engine.backends.cpu import jit, memory, pointwise, pool, registry, rules
from pellucid.engine.core.meta import Meta


class Backend:
    """What core asks of this package."""

    @staticmethod
    def kernel_for(op: Any, metas: tuple[Any, ...], results: tuple[Meta, ...], settings: dict[str, Any]) -> Any:
        """The kernel of a general operator, or None."""
        return registry.kernel_for(op, metas, results, settings)

    @staticmethod
    def pointwise_kernel(
        op: Any,
        metas: tuple[Any, ...],
        casts: list[Any],
        meta: Meta,
        settings: dict[str, Any],
        reference: Callable[..., Any],
    ) -> Any:
        """The kernels of a pointwise operator for a new result and into a given array, or None."""
        return pointwise.maker(op, metas, casts, meta, settings, reference)

    @staticmethod
    def fused_rule(rule: Any, arguments: dict[str, Any]) -> Any:
        """A gradient rule as one loop, or None where it stays operators."""
        return rules.fused(rule, arguments)

    @staticmethod
    def update(rule: Any, items: list[Any], settings: dict[str, Any]) -> list[Any]:
        """Apply an optimizer's rule to what compiled loops can update; the items that are left."""
        from pellucid.engine.backends.cpu.updates import update

        return update(rule, items, settings)

    @staticmethod
    def normals(units: Any, **constants: Any) -> Any:
        """Standard normals from float32 uniforms in blocks of sixteen; None on processors without fused arithmetic."""
        from pellucid.engine.backends.cpu import normals

        return normals.normals(units, normals.Constants(**constants)) if normals.available() else None

    @staticmethod
    def set_threads(count: int) -> None:
        """Let kernels use `count` threads."""
        if pool.pool.cache_info().currsize:
            pool.pool().set_threads(count)

    shown = staticmethod(jit.shown)
    empty_cache = staticmethod(memory.give_back)
    memory_statistics = staticmethod(memory.statistics)


def backend() -> type[Backend] | None:
    """This backend, or None where its kernels are switched off or cannot be entered."""
    if not jit.kernels_enabled():
        return None
    memory.keep_freed_memory()
    return Backend
