"""Handles of registered hooks, and the two autograd boundaries that let a module's backward hooks see its gradients.

Registering hooks on modules is in `pellucid/nn/modules/hooks.py`.
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again, as does leaving a `with` block."""

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref: tuple[Any, ...] = tuple(weakref.ref(table) for table in extra)

    def remove(self) -> None:
        """Take the hook out of every table that knows it; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra if table is not None)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a tensor hook as one that saving may silently leave out."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn for each hook of `tensor` that saving would lose and that is not marked as unserializable."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate "
                "the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


class BackwardHookFunction(Function):
    """The identity, whose backward hands the gradients to a `BackwardHook` and goes on with what that returns."""

    @staticmethod
    def forward(ctx: Any, on_backward: Callable[..., Any], fill_zeros: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.on_backward = on_backward
        ctx.set_materialize_grads(fill_zeros)
        outputs = tuple(tensor.view_as(tensor) for tensor in tensors)
        plain = [output for output, tensor in zip(outputs, tensors, strict=True) if not tensor.requires_grad]
        ctx.mark_non_differentiable(*plain)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None, None, *ctx.on_backward(grads))


class BackwardHook:
    """The backward hooks of one call of a module: `setup_input_hook` before its forward, `setup_output_hook` after."""

    def __init__(
        self, module: Any, user_hooks: Sequence[Callable[..., Any]], user_pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: Any) -> Any:
        """`args` with every tensor behind a boundary that runs the user's hooks on the gradients of the inputs."""
        self.n_inputs = len(args)
        args, self.input_tensors_index = self._behind_boundary(self._on_input_grads, True, args)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """`args`, a tensor or a tuple, behind a boundary that runs the pre-hooks and keeps the gradients of the
        outputs.
        """
        outputs = args if isinstance(args, tuple) else (args,)
        self.n_outputs = len(outputs)
        outputs, self.output_tensors_index = self._behind_boundary(self._on_output_grads, False, outputs)
        return outputs if isinstance(args, tuple) else outputs[0]

    def _behind_boundary(
        self, on_backward: Callable[..., Any], fill_zeros: bool, args: Any
    ) -> tuple[Any, list[int] | None]:
        index = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not (pellucid.is_grad_enabled() and any(args[i].requires_grad for i in index)):
            return args, None
        passed = BackwardHookFunction.apply(on_backward, fill_zeros, *(args[i] for i in index))
        values = list(args)
        for i, tensor in zip(index, passed, strict=True):
            values[i] = tensor
        return (tuple(values) if type(args) is tuple else type(args)(*values)), index

    def _on_output_grads(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        assert self.output_tensors_index is not None
        current = _spread(self.output_tensors_index, grads, self.n_outputs)
        for hook in self.user_pre_hooks:
            replaced = hook(self.module, current)
            if replaced is None:
                continue
            replaced = replaced if isinstance(replaced, tuple) else (replaced,)
            if len(replaced) != len(current):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(replaced)}, "
                    f"but expected {len(current)}"
                )
            current = replaced
        self.grad_outputs = current
        if self.input_tensors_index is None:
            self._run_without_input_grads(current)
        return tuple(current[i] for i in self.output_tensors_index)

    def _run_without_input_grads(self, grad_outputs: tuple[Any, ...]) -> None:
        """No input requires grad, so there is no input boundary: the hooks run here, with None for every grad_input."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no "
            "inputs require gradients. See the documentation of Module.register_full_backward_hook for more details.",
            stacklevel=5,
        )
        for hook in self.user_hooks:
            replaced = hook(self.module, (None,) * self.n_inputs, grad_outputs)
            if replaced is not None and not (isinstance(replaced, tuple) and all(each is None for each in replaced)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
        self.grad_outputs = None

    def _on_input_grads(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:
            # The gradient went around the module's outputs, so there is no grad_output to show.
            return grads
        assert self.input_tensors_index is not None
        current = _spread(self.input_tensors_index, grads, self.n_inputs)
        for hook in self.user_hooks:
            replaced = hook(self.module, current, self.grad_outputs)
            if replaced is None:
                continue
            replaced = replaced if isinstance(replaced, tuple) else (replaced,)
            if len(replaced) != len(current):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(replaced)}, but expected "
                    f"{len(current)}"
                )
            current = replaced
        self.grad_outputs = None
        return tuple(current[i] for i in self.input_tensors_index)


def _spread(index: list[int], values: Sequence[Any], size: int) -> tuple[Any, ...]:
    """A tuple of `size` with `values` at `index` and None elsewhere."""
    spread: list[Any] = [None] * size
    for i, value in zip(index, values, strict=True):
        spread[i] = value
    return tuple(spread)
