"""Activation checkpointing: forget what a part of the network computed, and compute it again when `backward` needs it.

Two ways, as in PyTorch. With `use_reentrant=False` each tensor that would be kept is replaced by a place to fill; the
first one that `backward` asks for runs the function again, which fills them all. With `use_reentrant=True` the whole
part is one `Function` whose backward runs forward and backward inside itself. (Chen et al., Training Deep Nets with
Sublinear Memory Cost, arXiv:1604.06174.)
"""

from __future__ import annotations

import contextlib
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.autograd import Function
from pellucid.autograd.graph import Node, saved_tensors_hooks
from pellucid.engine.core.backward import current_pass
from pellucid.engine.core.graph import SavedTensor
from pellucid.utils.checkpoint_log import OperatorLog

Contexts = Callable[[], tuple[Any, Any]]
ADVICE = (
    "\nTip: to see a comparison between the operators of the original forward and of the recomputation, pass "
    "debug=True to checkpoint(). The function must do the same both times: no branches on what changes in between."
)
EXPLICIT = (
    "{}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint without "
    "use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the "
    "current default behavior, you can pass use_reentrant=True."
)


class CheckpointError(RuntimeError):
    """The recomputation did not do what the forward pass had done.

    >>> from pellucid.utils.checkpoint import CheckpointError
    >>> issubclass(CheckpointError, RuntimeError)
    True
    """


class _Settings:
    """What the two context managers below override; None leaves it to the arguments of `checkpoint`."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, whether recomputation stops as soon as it has all that `backward` needs (the default) or runs to the end.

    >>> from pellucid.utils.checkpoint import set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...     pass
    """
    before, _Settings.early_stop = _Settings.early_stop, enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside, whether errors list the operators of both runs, whatever `checkpoint(debug=...)` says; None leaves it to
    that.

    >>> from pellucid.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass
    """
    before, _Settings.debug = _Settings.debug, enabled
    try:
        yield
    finally:
        _Settings.debug = before


def noop_context_fn() -> tuple[Any, Any]:
    """The default `context_fn`: nothing around the forward pass, nothing around the recomputation.

    >>> from pellucid.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose intermediate tensors are not kept but computed again during `backward`.

    `preserve_rng_state` draws the same random numbers (the same dropout masks) the second time. Without reentrance:
    `context_fn` returns two context managers, for the forward pass and for the recomputation; `determinism_check`
    "default" raises CheckpointError when shapes, dtypes or devices differ the second time, "none" does not look;
    `early_stop` ends the recomputation at the last tensor needed; `debug` lists the operators of both runs in the
    error.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda t: (t * t).exp(), x, use_reentrant=False).sum().backward(); x.grad
    tensor([5.4366, 5.4366])
    """
    if use_reentrant is None:
        warnings.warn(EXPLICIT.format("torch.utils.checkpoint"), stacklevel=2)
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    debug = debug if _Settings.debug is None else _Settings.debug
    early_stop = early_stop if _Settings.early_stop is None else _Settings.early_stop
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if not pellucid.is_grad_enabled():
        forward_context, _ = context_fn()
        with forward_context:
            return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, _Surroundings(preserve_rng_state), early_stop, determinism_check, debug)
    forward_context, frame.recomputation_context = context_fn()
    with frame.log(0), saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = function(*args, **kwargs)
    frame.is_complete = True
    return result


class _Surroundings:
    """What the first run saw that the second must see too: the random state and autocast."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.rng_state = pellucid.get_rng_state() if preserve_rng_state else None
        self.autocast = _autocast()

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """The same random numbers and autocast inside; the present random state again afterwards."""
        with pellucid.random.fork_rng(enabled=self.rng_state is not None):
            if self.rng_state is not None:
                pellucid.set_rng_state(self.rng_state)
            if self.autocast is None:
                yield
            else:
                with pellucid.amp.autocast("cpu", **self.autocast):
                    yield


def _autocast() -> dict[str, Any] | None:
    """The settings of autocast; None where it cannot be on, since nobody has imported it."""
    if "pellucid.amp" not in sys.modules:
        return None
    return {
        "enabled": pellucid.is_autocast_enabled("cpu"),
        "dtype": pellucid.get_autocast_dtype("cpu"),
        "cache_enabled": pellucid.is_autocast_cache_enabled(),
    }


class _Place:
    """Stands in the graph for a tensor that was not kept; `tensor` is there after recomputation."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self) -> None:
        self.tensor: Tensor | None = None


class _Stop(Exception):
    """Ends a recomputation that has filled every place."""


class _Inputs(Node):
    """Names the keeper of a checkpoint's inputs in errors."""

    __slots__ = ()


class _Frame:
    """One call of a checkpointed function: how to run it again, and the places to fill then, in order."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        surroundings: _Surroundings,
        early_stop: bool,
        determinism_check: str,
        debug: bool,
    ) -> None:
        self.function = function
        self.kwargs = kwargs
        # Kept as the graph keeps tensors: a write to one is noticed, and an outer checkpoint need not hold them.
        self.args = [SavedTensor(each) if isinstance(each, Tensor) else each for each in args]
        self.keeper = _Inputs((), ())
        self.surroundings = surroundings
        self.early_stop = early_stop
        self.is_checked = determinism_check == "default"
        self.logs = (OperatorLog(), OperatorLog()) if debug else None
        self.recomputation_context: Any = contextlib.nullcontext()
        self.places: list[weakref.ref[_Place]] = []
        self.facts: list[tuple[Any, ...]] = []
        self.differences: list[str] = []
        self.filled = 0
        self.is_complete = False

    def log(self, run: int) -> Any:
        return self.logs[run] if self.logs is not None else contextlib.nullcontext()

    def pack(self, tensor: Tensor) -> _Place:
        place = _Place()
        self.places.append(weakref.ref(place))
        self.facts.append(_facts(tensor))
        return place

    def unpack(self, place: _Place) -> Tensor:
        if place.tensor is None:
            self._recompute()
        if place.tensor is None:
            self._fail_by_count(self.filled)
        return place.tensor  # type: ignore[return-value]

    def _recompute(self) -> None:
        """Run the function again, up to the last place; CheckpointError when it keeps other tensors than before."""
        args = [self._argument(each) for each in self.args]
        self.filled = 0
        self.differences = []
        hooks = saved_tensors_hooks(self._fill, _as_it_is)
        with contextlib.suppress(_Stop), pellucid.enable_grad(), self.surroundings.restored():
            with self.log(1), hooks, self.recomputation_context:
                self.function(*args, **self.kwargs)
        if self.filled != len(self.places):
            self._fail_by_count(self.filled)
        if self.differences:
            self._fail(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during "
                "the forward pass.\n" + "".join(self.differences)
            )

    def _argument(self, kept: Any) -> Any:
        if not isinstance(kept, SavedTensor):
            return kept
        tensor = kept.get(self.keeper)
        return tensor.detach().requires_grad_(tensor.requires_grad)

    def _fill(self, tensor: Tensor) -> Tensor:
        """The recomputation's pack hook: put the tensor in its place."""
        position = self.filled
        self.filled += 1
        tensor = tensor.detach() if tensor.requires_grad else tensor
        if position >= len(self.places):
            if self.is_complete:
                self._fail(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    "forward pass."
                )
            self.filled -= 1  # asked for while the forward pass still runs, by a gradient taken inside it
            return tensor
        place = self.places[position]()
        if place is not None:
            place.tensor = tensor
            self._compare(position, tensor)
        if self.early_stop and self.filled == len(self.places):
            raise _Stop
        return tensor

    def _compare(self, position: int, tensor: Tensor) -> None:
        before, now = self.facts[position], _facts(tensor)
        if self.is_checked and before != now:
            self.differences.append(
                f"tensor at position {position}:\nsaved metadata: {_described(before)}\n"
                f"recomputed metadata: {_described(now)}\n"
            )

    def _fail_by_count(self, count: int) -> None:
        self._fail(
            "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
            f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
            f"Number of tensors saved during recomputation: {count}."
        )

    def _fail(self, message: str) -> None:
        if self.logs is None:
            raise CheckpointError(message + ADVICE)
        first, second = (log.text() for log in self.logs)
        raise CheckpointError(
            f"{message}\nOperators executed during the original forward:\n\n{first}\n\n"
            f"Operators executed during recomputation:\n\n{second}"
        )


def _facts(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype, tensor.device


def _described(facts: tuple[Any, ...]) -> str:
    shape, dtype, device = facts
    return str({"shape": shape, "dtype": dtype, "device": device})


def _as_it_is(packed: Tensor) -> Tensor:
    return packed


class CheckpointFunction(Function):
    """The reentrant way: forward keeps only the inputs; backward runs the function again and differentiates that.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import CheckpointFunction
    >>> x = torch.ones(1, requires_grad=True)
    >>> CheckpointFunction.apply(torch.exp, True, x).backward(); x.grad
    tensor([2.7183])
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(each, Tensor) else each for each in args]
        ctx.tensor_indices = [position for position, each in enumerate(args) if isinstance(each, Tensor)]
        ctx.save_for_backward(*[each for each in args if isinstance(each, Tensor)])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        running = current_pass()
        if running is not None and running.targets is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for position, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.restored(), pellucid.enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        ends = [
            (output, gradient)
            for output, gradient in zip(outputs, gradients, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not ends:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        pellucid.autograd.backward([output for output, _ in ends], [gradient for _, gradient in ends])
        return (None, None, *[each.grad if isinstance(each, Tensor) else None for each in detached])


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple cut from their history, requiring grad as before; other values as they are.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import detach_variable
    >>> detach_variable((torch.ones(1, requires_grad=True), 3))
    (tensor([1.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        [each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs]
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when no tensor among the inputs requires grad, since then nothing gets one.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import check_backward_validity
    >>> check_backward_validity((torch.ones(1, requires_grad=True),))
    """
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,  # noqa: A002 - PyTorch's name
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Run a `Sequential` or a list of modules in `segments` parts, checkpointing each part but the last.

    >>> import pellucid as torch
    >>> from pellucid.utils.checkpoint import checkpoint_sequential
    >>> checkpoint_sequential([torch.exp, torch.neg], 2, torch.zeros(2), use_reentrant=False)
    tensor([-1., -1.])
    """
    if use_reentrant is None:
        warnings.warn(EXPLICIT.format("torch.utils.checkpoint.checkpoint_sequential"), stacklevel=2)
        use_reentrant = True
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, pellucid.nn.Sequential) else list(functions)
    size = len(steps) // segments
    last = size * (segments - 1)
    for start in range(0, last, size) if size else ():
        part = _Chain(steps[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return _Chain(steps[last:])(input)


class _Chain:
    """Functions applied one after the other."""

    def __init__(self, functions: list[Callable[[Any], Any]]) -> None:
        self.functions = functions

    def __call__(self, value: Any) -> Any:
        for function in self.functions:
            value = function(value)
        return value
