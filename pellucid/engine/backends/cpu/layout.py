"""How operands of one shape lie in memory: axes merged where all operands allow it, sorted as the result is."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid.engine.core.meta import Meta


@dataclass(frozen=True)
class Layout:
    """Sizes of the merged axes, outermost first, and per operand (the result first) a stride in elements per axis."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def inner(self) -> int:
        """Elements along the innermost axis."""
        return self.sizes[-1] if self.sizes else 1

    @property
    def rows(self) -> int:
        """Turns of all axes but the innermost."""
        count = 1
        for size in self.sizes[:-1]:
            count *= size
        return count

    @property
    def kinds(self) -> str:
        """Per operand: `c` adjacent elements along the innermost axis, `s` one element for all, `x` anything else."""
        if not self.sizes:
            return "s" * len(self.strides)
        return "".join(["c" if each[-1] == 1 else "s" if each[-1] == 0 else "x" for each in self.strides])

    def extents(self) -> list[int]:
        """For a kernel: the inner size, then each outer size, then every operand's strides."""
        return [self.inner, *self.sizes[:-1], *[stride for each in self.strides for stride in each]]


def layout(result: Meta, operands: list[Meta]) -> Layout:
    """The merged axes of a broadcast over `operands` into `result`."""
    strides = [list(result.strides), *[_broadcast(each, result) for each in operands]]
    order = sorted(range(result.ndim), key=lambda axis: -result.strides[axis])
    axes: list[tuple[int, list[int]]] = []
    for axis in order:
        size = result.shape[axis]
        if size == 1:
            continue
        own = [each[axis] for each in strides]
        if axes and all(outer == inner * size for outer, inner in zip(axes[-1][1], own, strict=True)):
            axes[-1] = (axes[-1][0] * size, own)
        else:
            axes.append((size, own))
    sizes = tuple([size for size, _ in axes])
    return Layout(sizes, tuple([tuple([own[i] for _, own in axes]) for i in range(len(strides))]))


def _broadcast(meta: Meta, result: Meta) -> list[int]:
    missing = result.ndim - meta.ndim
    return [0] * missing + [0 if size == 1 else stride for size, stride in zip(meta.shape, meta.strides, strict=True)]
