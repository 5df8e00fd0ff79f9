"""`Function`: a differentiable step written by the user, with its own forward and backward.

The node that `backward` runs for it is here; the engine that runs it is engine/core/backward.py.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.engine.core import graph
from pellucid.engine.core.modes import state

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor, and the view must be its first Tensor argument. You should either make sure the input is not a "
    "view (using .clone() for example) or split the Function in two, one of which does the inplace and returns a "
    "single Tensor."
)


class FunctionCtx:
    """What `forward` leaves for `backward`: saved tensors, marks on tensors, and any attribute you set.

    >>> import pellucid as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, dy):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * dy
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward(); x.grad
    tensor(6.)
    """

    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self.needs_input_grad = ()
        self.to_save: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self.materialize_grads = True
        self._saved: Any = ()
        self._forward = False  # while `jvp` runs, whose saved tensors are those of `save_for_forward`
        self._node: weakref.ref[graph.Node] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs, outputs or None for `backward`, where `saved_tensors` gives them; other values go on `ctx`
        itself.

        A tensor that is written to before `backward` then raises an error instead of giving a wrong gradient.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, where `saved_tensors` gives them."""
        for each in tensors:
            if each is not None and not isinstance(each, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Tell that these inputs were written to; each of them must be returned."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Tell that these outputs have no gradient; `backward` gets zeros for them."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Removed in PyTorch: sharing is found without it. Always raises."""
        raise ValueError(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked; leave the "
            "call away."
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for outputs through which no gradient came."""
        self.materialize_grads = bool(value)

    def name(self) -> str:
        """The name of the node, such as `SquareBackward`."""
        node = self._node() if self._node is not None else None
        return node.name() if node is not None else type(self).__name__

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`; RuntimeError when one was written to since, or after they were
        freed.
        """
        if self._forward:
            return self.saved_for_forward
        if self._saved is graph.RELEASED:
            raise RuntimeError(FREED)
        node = self._node() if self._node is not None else None
        return tuple([None if each is None else each.get(node) for each in self._saved])


class FunctionNode(graph.Node):
    """The node of a `Function`: what its `backward` is called on. Attributes that are not the node's are its ctx's."""

    __slots__ = ("context", "function", "takes_tensor")
    runs_on_nothing = True

    def __init__(
        self,
        function: type[Function],
        context: FunctionCtx,
        edges: tuple[Any, ...],
        takes_tensor: tuple[bool, ...],
        outputs: Sequence[Any],
    ) -> None:
        metas = tuple([each._meta if isinstance(each, Tensor) else None for each in outputs])
        super().__init__(edges, metas)  # type: ignore[arg-type]
        self.function = function
        self.context = context
        self.takes_tensor = takes_tensor  # for each argument of forward

    def __getattr__(self, name: str) -> Any:
        if name in ("context", "function"):
            raise AttributeError(name)
        try:
            return getattr(self.context, name)
        except AttributeError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def name(self) -> str:
        return type(self).__name__

    @property
    def _forward_cls(self) -> type[Function]:
        return self.function

    def release(self) -> None:
        if self.context._saved:
            self.context._saved = graph.RELEASED

    def apply(self, gradients: list[Any]) -> list[Any]:
        context = self.context
        if context.materialize_grads:
            gradients = [
                graph.zeros(meta) if gradient is None and meta is not None else gradient
                for gradient, meta in zip(gradients, self.output_metas, strict=True)
            ]
        found = self._user_backward()(context, *gradients)
        found = found if isinstance(found, tuple) else (found,)
        expected = len(self.takes_tensor)
        if len(found) > expected and all(each is None for each in found[expected:]):
            found = found[:expected]
        if len(found) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(found)})"
            )
        return [each for position, each in enumerate(found) if self._is_wanted(position, each)]

    def _is_wanted(self, position: int, gradient: Any) -> bool:
        """Whether this gradient belongs to a tensor argument; RuntimeError when it is nothing that could."""
        if not self.takes_tensor[position]:
            if gradient is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {position + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
            return False
        if gradient is not None and not isinstance(gradient, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
        return True

    def _user_backward(self) -> Callable[..., Any]:
        function = self.function
        if function.vjp is not Function.vjp:
            if function.backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                    "You should only implement one of them."
                )
            return function.vjp
        return function.backward


class Function:
    """A differentiable step of your own: subclass it with static `forward` and `backward`, and call `apply`.

    Either `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`. `backward(ctx, *grads)`
    gets a gradient per output and returns one per argument of `forward`, None where there is none. It is recorded
    itself, so that second gradients work, unless it is marked `once_differentiable`.

    >>> import pellucid as torch
    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, dy):
    ...         (y,) = ctx.saved_tensors
    ...         return dy * y
    >>> x = torch.zeros(2, requires_grad=True)
    >>> Exp.apply(x).sum().backward(); x.grad
    tensor([1., 1.])
    """

    generate_vmap_rule = False
    _node_type: type[FunctionNode] = FunctionNode

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node_type = type(
            cls.__name__ + "Backward", (FunctionNode,), {"__slots__": (), "__module__": cls.__module__}
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method: make forward and backward static, and call the class's apply."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; to be overridden. Nothing inside is recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill `ctx` after a `forward` that does not take it; to be overridden."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Give the gradients of the inputs; to be overridden (or `vjp`, which is the same under another name)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Give the tangents of the outputs for those of the inputs; to be overridden for forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Give the outputs of a batch and the axes of its samples, for inputs with samples along `in_dims`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record the step. Only tensors among the positional arguments get gradients."""
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, {}
        if not state.stack:
            return _recorded(cls, args, None, kwargs)[0]
        transforms = importlib.import_module("pellucid.autograd.function_transforms")  # few programs need it
        return transforms.applied(cls, args, functools.partial(_recorded, kwargs=kwargs))[0]


def _recorded(cls: Any, args: tuple[Any, ...], compute: Any, kwargs: dict[str, Any]) -> tuple[Any, FunctionCtx]:
    """Run `forward` (or `compute`, which stands for it) and record the step; its result and its ctx."""
    has_setup = cls.setup_context is not Function.setup_context
    context = FunctionCtx()
    context.needs_input_grad = tuple([isinstance(each, Tensor) and each.requires_grad for each in args])
    tensors = [each for each in args if isinstance(each, Tensor)]
    is_recorded = state.grad_enabled and True in context.needs_input_grad
    edges = tuple([graph.gradient_edge(each) for each in tensors]) if is_recorded else ()
    before = state.grad_enabled
    try:
        if compute is not None:
            result = compute()  # with the levels outside, which may record
            state.grad_enabled = False
        else:
            state.grad_enabled = False
            result = cls.forward(*args) if has_setup else cls.forward(context, *args, **kwargs)
        if has_setup:
            cls.setup_context(context, args, result)
    finally:
        state.grad_enabled = before
    outputs = list(result) if isinstance(result, tuple) else [result]
    node = None
    if is_recorded:
        takes_tensor = tuple([isinstance(each, Tensor) for each in args])
        node = cls._node_type(cls, context, edges, takes_tensor, outputs)
        context._node = weakref.ref(node)
    outputs = _Wrapping(context, node, tensors, outputs).outputs()
    if node is not None:
        context._saved = _saved(context, node)
    elif state.stack:
        context._saved = [None if each is None else graph.SavedTensor(each) for each in context.to_save]
    context.to_save = ()
    return (tuple(outputs) if isinstance(result, tuple) else outputs[0]), context


class _Wrapping:
    """Gives the raw outputs of a `forward` their place in the graph, as their relation to the inputs demands."""

    def __init__(self, context: FunctionCtx, node: FunctionNode | None, inputs: list[Any], outputs: list[Any]) -> None:
        self.node = node
        self.raw = outputs
        self.inputs = {id(each) for each in inputs}
        self.first_input = inputs[0] if inputs else None
        self.dirty = {id(each) for each in context.dirty_tensors}
        self.fixed = {id(each) for each in context.non_differentiable}
        self.context = context

    def outputs(self) -> list[Any]:
        """The outputs as the user gets them."""
        if not self.dirty and not self.fixed and self._are_fresh():
            for number, each in enumerate(self.raw):
                _set_history(each, self.node, number)
            return self.raw
        returned = {id(each) for each in self.raw}
        if not self.dirty <= returned:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        wrapped = [self._wrap(number, each) for number, each in enumerate(self.raw)]
        differentiable = [each for each in wrapped if isinstance(each, Tensor) and self._is_ours(each)]
        for raw, each in zip(self.raw, wrapped, strict=True):
            if isinstance(each, Tensor) and each._base is not None and not self._is_dirty_input(raw):
                each._origin = "multi" if len(differentiable) > 1 and self._is_ours(each) else "custom"
        return wrapped

    def _are_fresh(self) -> bool:
        """Whether every output is a new tensor with a gradient: the common case."""
        return self.node is not None and all(
            [
                isinstance(each, Tensor)
                and each._base is None
                and each._meta.dtype.category >= 2
                and id(each) not in self.inputs
                for each in self.raw
            ]
        )

    def _is_ours(self, tensor: Any) -> bool:
        return self.node is not None and tensor._grad_fn is self.node

    def _is_dirty_input(self, tensor: Any) -> bool:
        return id(tensor) in self.inputs and id(tensor) in self.dirty

    def _wrap(self, number: int, output: Any) -> Any:
        if not isinstance(output, Tensor):
            return output
        is_input = id(output) in self.inputs
        has_gradient = output.dtype.is_floating_point or output.dtype.is_complex
        if self.node is None or id(output) in self.fixed or not has_gradient:
            return self._without_gradient(output, is_input)
        if id(output) in self.dirty:
            return self._rewritten(number, output, is_input)
        if is_input:  # a view, since the tensor itself keeps its own history
            output = _view_of(output)
        _set_history(output, self.node, number)
        return output

    def _without_gradient(self, output: Any, is_input: bool) -> Any:
        if is_input and id(output) not in self.dirty:
            return output.detach() if output.requires_grad and self.node is not None else _view_of(output)
        if self.node is not None and output.requires_grad:
            return output.detach()
        return output

    def _rewritten(self, number: int, output: Any, is_input: bool) -> Any:
        """An input that `forward` wrote to: its history now ends in this step."""
        if output.is_leaf and output.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not is_input:
            warnings.warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no "
                "need to pass it to mark_dirty().",
                stacklevel=4,
            )
        assert self.node is not None
        if output._base is not None:
            if len(self.raw) > 1 or output is not self.first_input:
                raise RuntimeError(DIRTY_VIEW)
            graph.rebase_history(output, self.node)
        else:
            graph.rebase_history(output, self.node)
            output._output_nr = number
        return output


def _set_history(tensor: Any, node: FunctionNode | None, number: int) -> None:
    tensor._grad_fn = node
    tensor._output_nr = number
    tensor._needs_grad = True


def _view_of(tensor: Any) -> Any:
    with pellucid.no_grad():
        return tensor.view_as(tensor)


def _saved(context: FunctionCtx, node: FunctionNode) -> list[Any]:
    """The tensors of `save_for_backward` as the graph keeps them; an output is kept without the node that keeps it."""
    kept: list[Any] = []
    for position, each in enumerate(context.to_save):
        if each is None:
            kept.append(None)
        elif not isinstance(each, Tensor):
            kind = type(each).__name__
            raise TypeError(f"save_for_backward can only save variables, but argument {position} is of type {kind}")
        else:
            is_output = each._grad_fn is node
            kept.append(graph.SavedTensor(each, is_output=is_output, number=each._output_nr if is_output else 0))
    return kept


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot be differentiated itself: what it returns raises an error in a second backward.

    >>> import pellucid as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, dy):
    ...         return 2 * dy
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with pellucid.no_grad():
            outputs = fn(ctx, *args)
        is_needed = any(isinstance(each, Tensor) and each.requires_grad for each in args)
        if not pellucid.is_grad_enabled() or not is_needed:
            return outputs
        items = outputs if isinstance(outputs, tuple) else (outputs,)
        guarded = tuple([_fail_in_second_backward(each) if isinstance(each, Tensor) else each for each in items])
        return guarded if isinstance(outputs, tuple) else guarded[0]

    return wrapper


class Error(graph.Node):
    """The history of a gradient that must not be differentiated."""

    __slots__ = ()

    def apply(self, gradients: list[Any]) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _fail_in_second_backward(gradient: Tensor) -> Tensor:
    guarded = gradient.detach()
    guarded._grad_fn = Error((), (guarded._meta,))
    guarded._needs_grad = True
    return guarded


class InplaceFunction(Function):
    """PyTorch's base for Functions with an `inplace` setting; `Function` with `mark_dirty` does the same.

    >>> import pellucid as torch
    >>> issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


BackwardCFunction = FunctionNode
