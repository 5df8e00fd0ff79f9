"""How a `Function` behaves inside vmap and forward mode: its own `vmap` and `jvp` static methods, or a generated rule.

The innermost mode that concerns an argument takes the call and gives it to those outside, with itself out of the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid.engine.core.batching import VmapLevel, batched, move, repeated, to_front
from pellucid.engine.core.modes import state
from pellucid.engine.core.tangents import DualLevel

DETAILS = "See the documentation of Function, or docs/func.md."


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the vmap: the number of samples, and what `randomness` it was given.

    >>> from pellucid.autograd.function_transforms import VmapInfo
    >>> VmapInfo(3, "error").batch_size
    3
    """

    batch_size: int
    randomness: str


@contextmanager
def below(position: int) -> Iterator[None]:
    """The modes outside the one at `position` of the stack alone."""
    held = state.stack[position:]
    del state.stack[position:]
    try:
        yield
    finally:
        state.stack[position:] = held


def applied(function: Any, args: tuple[Any, ...], record: Callable[..., Any]) -> Any:
    """Run a Function through the modes that concern its arguments, from the innermost; the result and its ctx.

    `record(function, args, compute)` runs it at one level: forward (or `compute`, which stands for it), and its node.
    """
    tensors = [each for each in args if isinstance(each, Tensor)]
    for position in range(len(state.stack) - 1, -1, -1):
        mode = state.stack[position]
        if isinstance(mode, DualLevel) and any(mode.tangent(each) is not None for each in tensors):
            return _with_tangents(function, args, record, mode, position)
        if isinstance(mode, VmapLevel) and any(mode.owns(each) for each in tensors):
            return _over_samples(function, args, record, mode, position)
    return record(function, args, None)


def _with_tangents(
    function: Any, args: tuple[Any, ...], record: Callable[..., Any], level: DualLevel, position: int
) -> Any:
    with below(position):
        result, context = applied(function, args, record)
        tangents = [level.tangent(each) for each in args]
        if context.materialize_grads:
            tangents = [
                pellucid.zeros_like(each) if tangent is None and _is_floating(each) else tangent
                for each, tangent in zip(args, tangents, strict=True)
            ]
        context._forward = True
        try:
            found = function.jvp(context, *tangents)
        finally:
            context._forward = False
    outputs = result if isinstance(result, tuple) else (result,)
    turned = found if isinstance(found, tuple) else (found,)
    if len(outputs) != len(turned):
        raise RuntimeError(
            f"{function.__name__}.jvp returned {len(turned)} tangents for {len(outputs)} outputs of forward"
        )
    for output, tangent in zip(outputs, turned, strict=True):
        if tangent is not None and isinstance(output, Tensor):
            if tangent.shape != output.shape:
                raise RuntimeError(
                    f"{function.__name__}.jvp returned a tangent of shape {list(tangent.shape)} for an output of shape "
                    f"{list(output.shape)}"
                )
            level.attach(output, tangent)
    return result, context


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _over_samples(
    function: Any, args: tuple[Any, ...], record: Callable[..., Any], level: VmapLevel, position: int
) -> Any:
    pairs = [level.physical(each) if isinstance(each, Tensor) else (each, None) for each in args]
    values, axes = tuple([value for value, _ in pairs]), tuple([axis for _, axis in pairs])

    def compute() -> Any:
        """The outputs as tensors of this level."""
        with below(position):
            if all(axis is None for axis in axes):
                found, dims = applied(function, values, record)[0], None
            else:
                found, dims = _by_rule(function, values, axes, record, level)
        return _wrapped(found, dims, level)

    lifted = tuple([level.lift(each) for each in args])
    return record(function, lifted, compute)


def _by_rule(
    function: Any, values: tuple[Any, ...], axes: tuple[Any, ...], record: Callable[..., Any], level: VmapLevel
) -> tuple[Any, Any]:
    """The physical outputs and their axes, by the Function's own rule or a generated one."""
    base = pellucid.autograd.Function
    own = function.vmap is not base.vmap
    name = function.__name__
    if own and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {DETAILS}"
        )
    if own:
        found = function.vmap(VmapInfo(level.size, level.randomness), axes, *values)
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(f"{name}.vmap must return the outputs and their out_dims, a tuple of two")
        return found
    if not function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
            f"staticmethod or set generate_vmap_rule=True. {DETAILS}"
        )
    if function.setup_context is base.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {DETAILS}"
        )
    return applied(generated(function, axes, level), values, record)[0], 0


def _wrapped(found: Any, dims: Any, level: VmapLevel) -> Any:
    if not isinstance(found, tuple):
        return _one_wrapped(found, dims[0] if isinstance(dims, tuple) else dims, level)
    each_dim = dims if isinstance(dims, tuple | list) else (dims,) * len(found)
    return tuple([_one_wrapped(each, dim, level) for each, dim in zip(found, each_dim, strict=True)])


def _one_wrapped(value: Any, dim: int | None, level: VmapLevel) -> Any:
    if not isinstance(value, Tensor):
        return value
    return batched(value, None if dim is None else dim % value.dim(), level)


def generated(function: Any, axes: tuple[int | None, ...], outer: VmapLevel) -> Any:
    """The Function over a batch, made of the one over samples: each of its static methods under vmap."""
    size, randomness = outer.size, outer.randomness

    class Generated(pellucid.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*values: Any) -> Any:
            with sampling(size, randomness) as level:
                found = function.forward(*_hidden(values, axes, level))
                several = found if isinstance(found, tuple) else (found,)
            shown = tuple([_in_front(each, level) for each in several])
            return shown if isinstance(found, tuple) else shown[0]

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            inner = type(ctx)()
            inner.needs_input_grad = ctx.needs_input_grad
            with sampling(size, randomness) as level:
                ctx.samples = _hidden(inputs, axes, level)
                outputs = output if isinstance(output, tuple) else (output,)
                seen = _hidden(outputs, (0,) * len(outputs), level)
                function.setup_context(inner, tuple(ctx.samples), tuple(seen) if isinstance(output, tuple) else seen[0])
            ctx.inner = inner
            ctx.samples = tuple([tuple(each.shape) if isinstance(each, Tensor) else () for each in ctx.samples])
            ctx.places, kept = _shown_all(inner.to_save, level)
            ctx.forward_places, ctx.forward_kept = _shown_all(inner.saved_for_forward, level)
            ctx.save_for_backward(*kept)
            ctx.set_materialize_grads(inner.materialize_grads)
            ctx.non_differentiable = tuple(
                [each for each, mine in zip(outputs, seen, strict=True) if _is_among(mine, inner.non_differentiable)]
            )

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            with sampling(size, randomness) as level:
                restored = Restored(ctx.inner, _hidden(ctx.saved_tensors, ctx.places, level))
                found = function.backward(restored, *_hidden(gradients, (0,) * len(gradients), level))
                several = found if isinstance(found, tuple) else (found,)
                summed = [
                    each.sum_to_size(shape) if isinstance(each, Tensor) and tuple(each.shape) != shape else each
                    for each, shape in zip(several, ctx.samples, strict=False)
                ]
            return tuple([_gradient(each, axis, level) for each, axis in zip(summed, axes, strict=False)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with sampling(size, randomness) as level:
                kept = _hidden(ctx.forward_kept, ctx.forward_places, level)
                found = function.jvp(Restored(ctx.inner, kept), *_hidden(tangents, axes, level))
                several = found if isinstance(found, tuple) else (found,)
            shown = tuple([_in_front(each, level) for each in several])
            return shown if isinstance(found, tuple) else shown[0]

    Generated.__name__ = Generated.__qualname__ = f"{function.__name__}Generated"
    return Generated


def _is_among(value: Any, others: tuple[Any, ...]) -> bool:
    return any(each is value for each in others)


class Restored:
    """The ctx of one sample's call again, with what it saved as tensors of the vmap that runs now."""

    def __init__(self, inner: Any, saved: list[Any]) -> None:
        self._inner = inner
        self.saved_tensors = tuple(saved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@contextmanager
def sampling(size: int, randomness: str) -> Iterator[VmapLevel]:
    """A vmap of its own for one of the methods."""
    level = VmapLevel(size, randomness)
    state.stack.append(level)
    try:
        yield level
    finally:
        state.stack.remove(level)
        level.close()


def _hidden(values: Any, axes: Any, level: VmapLevel) -> list[Any]:
    return [
        batched(each, axis, level) if isinstance(each, Tensor) and axis is not None else each
        for each, axis in zip(values, axes, strict=True)
    ]


def _shown_all(values: Any, level: VmapLevel) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The axes of the samples and the physical tensors, of what a sample's ctx keeps."""
    pairs = [level.physical(each) if isinstance(each, Tensor) else (each, None) for each in values]
    return tuple([axis for _, axis in pairs]), tuple([value for value, _ in pairs])


def _in_front(value: Any, level: VmapLevel) -> Any:
    if not isinstance(value, Tensor):
        return value
    physical, axis = level.physical(value)
    return repeated(physical, level.size) if axis is None else to_front(physical, axis)


def _gradient(value: Any, axis: int | None, level: VmapLevel) -> Any:
    """The gradient of a physical input: samples at their axis, or added up where the input had none."""
    if value is None:
        return None
    shown = _in_front(value, level)
    return shown.sum(0) if axis is None else move(shown, 0, axis)
